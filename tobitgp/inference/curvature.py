"""The curvature of the objective, from differences of its gradient."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tobitgp.engines import map_independent
from tobitgp.inference.objective import Objective, is_heavy
from tobitgp.typing import Array

WIDTH = 0.02  # of differences, in log parameters
_PART = 0.2  # of a standard deviation
_NOTHING = 1e-14  # of the largest variance
_ROUNDING = 1e-13  # of the largest curvature


def curvature(objective: Objective, free: Array, width: float) -> Array:
    """Hessian (k_free, k_free) of minus the objective by differences of its gradient (HYP2); not yet made definite."""
    G = _gradients(objective, [free + sign * width * e for e in np.eye(len(free)) for sign in (1.0, -1.0)])
    H = (G[1::2] - G[::2]) / (2.0 * width)
    return 0.5 * (H + H.T)


def refined_root(objective: Objective, free: Array, root: Array) -> Array:
    """The root of the inverse curvature, (k_free, k_open), by steps of a part of a standard deviation to one side."""
    here = objective.gradient(objective.posterior(free))
    H = (here - _gradients(objective, list(free + _PART * root.T))) @ root / _PART
    return np.asarray(root @ principal_root(definite(0.5 * (H + H.T))), dtype=np.float64)


def _gradients(objective: Objective, points: Sequence[Array]) -> Array:
    """Gradients (n, k_free) at several points, from the sites last found."""
    whole = objective.whole

    def gradient(point: Array) -> tuple[Array, int]:
        posterior = objective.settle(point, whole)
        return objective.gradient(posterior), posterior.sweeps

    found = map_independent(gradient, points, heavy=is_heavy(whole.n, objective.features))
    objective.evaluations += len(points)
    objective.sweeps += sum(sweeps for _, sweeps in found)
    return np.array([g for g, _ in found])


def whitening(objective: Objective, free: Array) -> Array:
    """Matrix T (k_free, k_free) such that in ``free + T z`` the curvature at ``free`` is about one."""
    H = definite(curvature(objective, free, WIDTH))
    return np.linalg.inv(np.linalg.cholesky(H)).T


def definite(H: Array, floor: float = 0.05) -> Array:
    """Nearest matrix with eigenvalues of at least ``floor``: a direction left open gets the sd ``1 / sqrt(floor)``.

    Beside a curvature so large that ``floor`` is below its rounding error they are as large as that.
    """
    if not len(H):
        return H
    values, vectors = np.linalg.eigh(H)
    return (vectors * np.maximum(values, max(floor, _ROUNDING * values[-1]))) @ vectors.T


def principal_root(H: Array) -> Array:
    """``T`` with ``T T' = H^-1`` along the principal axes of ``H``, signs fixed by each axis's largest entry."""
    if not len(H):
        return H
    values, vectors = np.linalg.eigh(H)
    return _signed(vectors) / np.sqrt(values)


def principal_axes(V: Array) -> Array:
    """``T`` with ``T T' = V``, the longest axis first; none for directions that ``V`` leaves out."""
    values, vectors = (found[..., ::-1] for found in np.linalg.eigh(V))
    open_ = values > _NOTHING * values[0]
    return _signed(vectors[:, open_]) * np.sqrt(values[open_])


def _signed(vectors: Array) -> Array:
    return np.asarray(vectors * np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]))
