"""Roots of covariances along their principal axes."""

from __future__ import annotations

import numpy as np

from tobitgp.typing import Array

_NOTHING = 1e-14  # of the largest variance
_ROUNDING = 1e-13  # of the largest curvature


def definite(H: Array) -> Array:
    """Nearest matrix with eigenvalues of at least a twentieth, or of the rounding error of the largest."""
    if not len(H):
        return H
    values, vectors = np.linalg.eigh(H)
    return (vectors * np.maximum(values, max(0.05, _ROUNDING * values[-1]))) @ vectors.T


def principal_root(H: Array) -> Array:
    """``T`` with ``T T' = H^-1``, made definite, along its principal axes, signs fixed by each axis's largest entry."""
    if not len(H):
        return H
    values, vectors = np.linalg.eigh(definite(H))
    return _signed(vectors) / np.sqrt(values)


def principal_axes(V: Array) -> Array:
    """``T`` with ``T T' = V``, the longest axis first; none for directions that ``V`` leaves out."""
    if not len(V):
        return V
    values, vectors = (found[..., ::-1] for found in np.linalg.eigh(V))
    open_ = values > _NOTHING * values[0]
    axes = _signed(vectors[:, open_]) * np.sqrt(values[open_])
    return np.where(V.diagonal()[:, None] > 0.0, axes, 0.0)


def _signed(vectors: Array) -> Array:
    return np.asarray(vectors * np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]))
