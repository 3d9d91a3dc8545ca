"""Fit a mixture of normal vectors to rows with censored coordinates: units, starts, and the best of several ends."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tobitgp.errors import DataError, SpecError
from tobitgp.mixture.methods import EMCM
from tobitgp.mixture.vector_ascent import EigenvalueFloor, VectorAscent, VectorState, ascend, sum_rows
from tobitgp.mixture.vector_rows import VectorRows, draw
from tobitgp.numerics.sampling import generator
from tobitgp.typing import Array, BoolArray

FLOOR = 1e-3  # least eigenvalue of covariances in units of that of all rows
_FLOOR_OF_ONE = 1e-10  # the same, in units of variances, of a single component
_SHORT, _LONG = 8, 3  # passes of a short ascent, and the most ascents that go on
_OWN = 0.9  # responsibility of the nearest centre
_SAME = 1e-3  # nats


@dataclass(frozen=True, slots=True)
class VectorFit:
    """A fitted mixture of normal vectors, in the user's units; components by the mean of the first coordinate."""

    weights: Array  # (K,)
    means: Array  # (K, D)
    covariances: Array  # (K, D, D)
    log_likelihood: float
    trace: Array  # (T,), of the best ascent
    ends: Array  # (R,), log likelihoods that ascents reached, the best first
    converged: bool
    counts: Array  # (K,), expected weight of rows
    exact_counts: Array  # (D, K), of rows whose coordinate is exact
    held: BoolArray  # (K,), whether an eigenvalue of the covariance is at its floor
    floor: float

    @property
    def k(self) -> int:
        """Number of components."""
        return len(self.weights)

    @property
    def n_free(self) -> int:
        """Number of parameters, weights counted once less."""
        k, D = self.means.shape
        return k - 1 + k * D + k * D * (D + 1) // 2

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should be warned of, in addition to convergence."""
        if not self.held.any():
            return ()
        which = ", ".join(str(i + 1) for i in np.flatnonzero(self.held))
        return (
            f"The covariance of component {which} has an eigenvalue at its floor, {self.floor:g} of that of all rows, "
            "and no standard errors: the likelihood rises beyond. Fit fewer components, or give tg.EMCM(floor=) a "
            "smaller number.",
        )

    @property
    def state(self) -> VectorState:
        """The mixture."""
        return VectorState(self.weights, self.means, self.covariances)


def fit_vectors(rows: VectorRows, k: int, method: EMCM, rng: int | np.random.Generator | None = None) -> VectorFit:
    """Fit k components to rows, each coordinate of which has values that differ."""
    if k > len(rows):
        raise SpecError(f"mixture({k}): there are only {len(rows)} rows. Use fewer components.")
    known = np.where(np.isfinite(rows.lower), rows.lower, rows.upper)
    known = np.sort(np.where(np.isfinite(known), known, np.nan), axis=0)
    centre, scale = np.nanmean(known, axis=0), np.nanstd(known, axis=0)
    own = rows.standardised(centre, scale).merged()
    one = _single(own, method)
    least = FLOOR if method.floor is None else method.floor
    floor = EigenvalueFloor(np.linalg.cholesky(one.state.covariances[0]), least)
    found = [one] if k == 1 else _several(own, k, floor, method, generator(rng), one.state)
    return _described(own, found, floor if k > 1 else None, centre, scale)


def _single(rows: VectorRows, method: EMCM) -> VectorAscent:
    """The normal distribution with the highest likelihood."""
    D = rows.lower.shape[1]
    start = VectorState(np.ones(1), np.zeros((1, D)), np.eye(D)[None])
    floor = EigenvalueFloor(np.eye(D), _FLOOR_OF_ONE)
    found = ascend(rows, start, floor, method)
    if floor.held(found.state.covariances).any():
        raise DataError(
            "mvbind(): the covariance of the responses is singular: one of them follows from the others, or rows are "
            "too few. Leave a response out."
        )
    return found


def _several(
    rows: VectorRows, k: int, floor: EigenvalueFloor, method: EMCM, rng: np.random.Generator, one: VectorState
) -> list[VectorAscent]:
    """Ascents, the best first: short ones from all starts, of which the best that differ go on."""
    n = method.n_init
    filled = draw(rows, one.means[0], one.covariances[0], n, rng)
    starts = [_start(filled[:, i], rows.weight, k, floor, rng) for i in range(n)]
    short = [ascend(rows, start, floor, method, _SHORT if n > 1 else 0) for start in starts]
    short.sort(key=lambda end: -_worth(end, rows, floor))
    chosen: list[VectorAscent] = []
    for end in short:
        if len(chosen) < _LONG and all(abs(end.value - other.value) > _SAME for other in chosen):
            chosen.append(end)
    ends = [ascend(rows, end.state, floor, method) for end in chosen]
    return sorted(ends, key=lambda end: -_worth(end, rows, floor))


def _worth(end: VectorAscent, rows: VectorRows, floor: EigenvalueFloor) -> float:
    """Log likelihood, less log n for each component at the floor: (EM9)."""
    return end.value - float(floor.held(end.state.covariances).sum() * np.log(rows.weight.sum()))


def _start(y: Array, weight: Array, k: int, floor: EigenvalueFloor, rng: np.random.Generator) -> VectorState:
    """A state from the nearest of k centres, by k-means++ of values (n, D) in units of their covariance."""
    z = np.linalg.solve(floor.root, y.T).T
    share = weight / weight.sum()
    distance = np.empty((len(z), k))
    chance = share
    for j in range(k):
        at = min(int(np.cumsum(chance).searchsorted(rng.random() * chance.sum())), len(z) - 1)
        distance[:, j] = np.square(z - z[at]).sum(axis=1)
        chance = share * distance[:, : j + 1].min(axis=1)
        chance = chance if chance.any() else share
    r = np.full(distance.shape, (1.0 - _OWN) / max(k - 1, 1))
    r[np.arange(len(z)), distance.argmin(axis=1)] = _OWN
    r *= weight[:, None]
    means = r.T @ y / r.sum(axis=0)[:, None]
    away = y[:, None] - means
    S = np.einsum("nk,nki,nkj->kij", r, away, away) / r.sum(axis=0)[:, None, None]
    return VectorState(r.sum(axis=0) / r.sum(), means, floor.above(S))


def _described(
    rows: VectorRows, found: list[VectorAscent], floor: EigenvalueFloor | None, centre: Array, scale: Array
) -> VectorFit:
    """The best end in the user's units, its components in order."""
    best = found[0]
    order = np.argsort(best.state.means[:, 0], kind="stable")
    state = VectorState(*(each[order] for each in best.state))
    r = sum_rows(rows, state).probabilities * rows.weight[:, None]
    jacobian = float(rows.weight @ rows.exact @ np.log(scale))
    held = np.zeros(len(order), dtype=np.bool_) if floor is None else floor.held(state.covariances)
    return VectorFit(
        state.weights,
        centre + scale * state.means,
        np.outer(scale, scale) * state.covariances,
        best.value - jacobian,
        best.trace - jacobian,
        np.array([end.value for end in found]) - jacobian,
        best.converged,
        r.sum(axis=0),
        rows.exact.T @ r,
        held,
        FLOOR if floor is None else floor.least,
    )
