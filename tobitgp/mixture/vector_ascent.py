r"""EM for mixtures of normal vectors with censored coordinates: (MOV2) to (MOV6) of the theory pages.

Covariances keep a least eigenvalue in units of the covariance R of all rows. The matrix of such eigenvalues with the
highest likelihood has those of :math:`R^{-1/2} S R^{-1/2}` clipped, S the one without a bound, so that no step lowers
the likelihood.

References
----------
Lee and Scott (2012), EM algorithms for multivariate Gaussian mixture models with truncated and censored data,
*Computational Statistics & Data Analysis* 56, 2816-2829. Ingrassia and Rocci (2007), Constrained monotone EM algorithms
for finite mixture of multivariate Gaussians, *Computational Statistics & Data Analysis* 51, 5339-5351.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from tobitgp.errors import NumericalError
from tobitgp.mixture.methods import EMCM
from tobitgp.mixture.vector_rows import VectorRows, expected
from tobitgp.numerics.linear_algebra import History, extrapolated, remember
from tobitgp.typing import Array, BoolArray

_STILL, _LONGEST_RATIO = 3, 0.99
_DROP = 1e-10  # of the log likelihood, which rounding makes
_APPROXIMATE = 1e-4  # nats of a row of unit weight with more than two censored coordinates
_SPAN = 1e-6
_AT_FLOOR = 1.05


class VectorState(NamedTuple):
    """A mixture of normal vectors."""

    weights: Array  # (K,)
    means: Array  # (K, D)
    covariances: Array  # (K, D, D)


class VectorSums(NamedTuple):
    """Sums of a pass over the rows, about the means of its state."""

    value: float  # log likelihood
    probabilities: Array  # (n, K), of the components of each row
    counts: Array  # (K,)
    first: Array  # (K, D)
    second: Array  # (K, D, D)


@dataclass(frozen=True, slots=True)
class EigenvalueFloor:
    """The least eigenvalue of covariances in units of a covariance ``root root'``."""

    root: Array  # (D, D)
    least: float

    def eigenvalues(self, covariances: Array) -> tuple[Array, Array]:
        """Eigenvalues and vectors of covariances (K, D, D) in these units."""
        inner = np.linalg.solve(self.root, np.linalg.solve(self.root, covariances).transpose(0, 2, 1))
        values, vectors = np.linalg.eigh(0.5 * (inner + inner.transpose(0, 2, 1)))
        return values, vectors

    def above(self, covariances: Array) -> Array:
        """The covariances, none with a smaller eigenvalue."""
        values, vectors = self.eigenvalues(covariances)
        if (values >= self.least).all():
            return covariances
        outer = self.root @ vectors
        return np.asarray((outer * np.maximum(values, self.least)[:, None]) @ outer.transpose(0, 2, 1))

    def held(self, covariances: Array) -> BoolArray:
        """Which of them have an eigenvalue at the floor, (K,)."""
        return np.asarray(self.eigenvalues(covariances)[0][:, 0] < _AT_FLOOR * self.least)


class VectorAscent(NamedTuple):
    """Where an ascent ended."""

    state: VectorState
    trace: Array  # log likelihood after each pass
    converged: bool

    @property
    def value(self) -> float:
        """Log likelihood."""
        return float(self.trace[-1])


def sum_rows(rows: VectorRows, state: VectorState) -> VectorSums:
    """One pass over the rows."""
    each = expected(rows, state.means, state.covariances)
    with np.errstate(divide="ignore"):
        log_p = each.log_p.T + np.log(state.weights)
    total = logsumexp(log_p, axis=1)
    r = np.exp(log_p - total[:, None])
    away, share = each.mean - state.means[:, None], (rows.weight[:, None] * r).T
    first = np.einsum("kn,kni->ki", share, away)
    second = np.einsum("kn,knij->kij", share, each.cov) + (away * share[:, :, None]).transpose(0, 2, 1) @ away
    return VectorSums(float(rows.weight @ total), r, rows.weight @ r, first, second)


def improved(state: VectorState, sums: VectorSums, floor: EigenvalueFloor) -> VectorState:
    """The state of the M step; a component without rows stays where it is."""
    there = sums.counts > 0.0
    counts = np.where(there, sums.counts, 1.0)
    move = sums.first / counts[:, None]
    S = sums.second / counts[:, None, None] - move[:, :, None] * move[:, None, :]
    S = np.where(there[:, None, None], 0.5 * (S + S.transpose(0, 2, 1)), state.covariances)
    return VectorState(sums.counts / sums.counts.sum(), state.means + move, floor.above(S))


def ascend(
    rows: VectorRows, state: VectorState, floor: EigenvalueFloor, method: EMCM, max_iter: int | None = None
) -> VectorAscent:
    """Passes until the gain that is left is below ``tol`` per unit of weight, with extrapolation where it rises."""
    total, slack = rows.weight.sum(), _APPROXIMATE * rows.approximate
    sums, history, still, before = sum_rows(rows, state), None, 0, np.inf
    trace = [sums.value]
    for _ in range(method.max_iter if max_iter is None else max_iter):
        image, jumped = improved(state, sums, floor), False
        moved = image
        if method.relax:
            x = _flat(state)
            history = remember(history, x, _flat(image) - x)
            jumped = len(history.dX) > 1
            moved = _extrapolated(history, image, floor) if jumped else image
        found = sum_rows(rows, moved)
        if jumped and not found.value >= sums.value:
            moved, history = image, None
            found = sum_rows(rows, moved)
        gain = found.value - sums.value
        if gain < -_DROP * abs(sums.value):
            if method.check and -gain > slack:
                raise NumericalError(f"The log likelihood fell by {-gain:.3g} in a step of EM.")
            return VectorAscent(state, np.array(trace), converged=-gain <= slack)
        ratio = min(max(gain / before, 0.0), _LONGEST_RATIO) if before > 0.0 else 0.0
        still = still + 1 if gain / (1.0 - ratio) < method.tol * total else 0
        state, sums, before = moved, found, max(gain, 0.0)
        trace.append(sums.value)
        if still == _STILL:
            return VectorAscent(state, np.array(trace), converged=True)
    return VectorAscent(state, np.array(trace), converged=False)


def _extrapolated(history: History, like: VectorState, floor: EigenvalueFloor) -> VectorState:
    """The state that the last steps lead to; the image where it is none."""
    x = extrapolated(history, np.ones_like(history.point), _SPAN)
    (k, D), lower = like.means.shape, np.tril_indices(like.means.shape[1])
    log_w, means, roots = np.split(x, [k, k + k * D])
    L = np.zeros((k, D, D))
    L[:, lower[0], lower[1]] = roots.reshape(k, -1)
    if not (np.isfinite(x).all() and np.abs(log_w - log_w.max()).max() < 500.0):
        return like
    w = np.exp(log_w - log_w.max())
    return VectorState(w / w.sum(), means.reshape(k, D), floor.above(L @ L.transpose(0, 2, 1)))


def _flat(state: VectorState) -> Array:
    """Log weights, means and roots of covariances, in which steps are extrapolated."""
    lower = np.tril_indices(state.means.shape[1])
    roots = np.linalg.cholesky(state.covariances)[:, lower[0], lower[1]]
    return np.concatenate([np.log(np.maximum(state.weights, 1e-300)), state.means.ravel(), roots.ravel()])
