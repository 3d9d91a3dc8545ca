"""Cox's partial likelihood: risk sets with Efron's treatment of ties, its maximum, and score residuals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tobitgp.results.hazards.cells import AtRisk
from tobitgp.typing import Array, IntArray

_STEPS, _LONGEST, _SMALL = 12, 2.0, 1e-8  # of Newton's method, and of its steps in log hazards
_FAR = 300.0  # logarithms of hazards below the largest, whose sums are numbers
_TIES = 200  # events at one time that leave the risk set one after the other; more of them leave in groups


class Partial(NamedTuple):
    """The partial likelihood at some log hazards, and its derivatives in coefficients of X and of X g(t)."""

    value: float
    U: Array  # (p,), scores of X g(t)
    U_x: Array  # (p,), scores of X
    of_x: Array  # (p, p), information of X
    of_both: Array  # (p, p)
    of_g: Array  # (p, p), information of X g(t)
    change: Array  # (p,), of the coefficients from where the search began


@dataclass(frozen=True, slots=True)
class RiskSets:
    """Sums over rows at risk at m times of events; those at one time leave in turns, as Efron has them."""

    risk: AtRisk
    dead: IntArray  # rows with an event, in the order of their times
    of_dead: IntArray  # the time of each, among the m
    by_exit: IntArray  # (n,), rows in the order of their exits
    exited: IntArray  # (m,), how many of these have left before each time
    by_entry: IntArray  # (n,)
    entered: IntArray  # (m,), how many have entered before each time
    time: IntArray  # (M,), the time of each turn
    share: Array  # (M,), of the events at that time that have left before
    mass: Array  # (M,), weight of the events of a turn

    @classmethod
    def of(cls, risk: AtRisk, *, sampling: bool = False) -> RiskSets:
        """From rows at risk; a weight of w is w events, a ``sampling`` weight one that counts w times."""
        dead = np.flatnonzero(risk.event & (risk.weight > 0.0))
        dead = dead[np.argsort(risk.exit[dead], kind="stable")]
        times, of_dead = np.unique(risk.exit[dead], return_inverse=True)
        weight = np.bincount(of_dead, risk.weight[dead])
        number = np.bincount(of_dead) if sampling else np.round(weight)
        turns = np.clip(number, 1, _TIES).astype(np.intp)
        time = np.repeat(np.arange(len(times)), turns)
        turn = np.arange(len(time)) - np.repeat(np.cumsum(turns) - turns, turns)
        by_exit, by_entry = np.argsort(risk.exit, kind="stable"), np.argsort(risk.entry, kind="stable")
        exited, entered = np.searchsorted(risk.exit[by_exit], times), np.searchsorted(risk.entry[by_entry], times)
        share, mass = turn / turns[time], (weight / turns)[time]
        return cls(risk, dead, of_dead, by_exit, exited, by_entry, entered, time, share, mass)

    def events(self, values: Array) -> Array:
        """Sums (m, ...) over the events at each time of values (n, ...)."""
        return _together(values[self.dead], self.of_dead)

    def turns(self, values: Array) -> Array:
        """Sums (M, ...) of values (n, ...) over the rows that are at risk in each turn."""
        late = _from(values[self.by_exit], self.exited) - _from(values[self.by_entry], self.entered)
        share = self.share.reshape(-1, *[1] * (values.ndim - 1))
        return np.asarray(late[self.time] - share * self.events(values)[self.time])

    def lived(self, values: Array) -> Array:
        """Sums (n, k) over the turns in which each row is at risk of values (M, k): the adjoint of `turns`."""
        at_times = _together(values, self.time)
        sums = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(at_times, axis=0)])
        out = np.empty((len(self.by_exit), values.shape[1]))
        rows = np.arange(len(out))
        out[self.by_exit] = sums[np.searchsorted(self.exited, rows, side="right")]
        out[self.by_entry] -= sums[np.searchsorted(self.entered, rows, side="right")]
        out[self.dead] -= _together(self.share[:, None] * values, self.time)[self.of_dead]
        return out


def _together(values: Array, group: IntArray) -> Array:
    """Sums (m, ...) of values (n, ...) by their group, of m that each have values and are in order."""
    return np.asarray(np.add.reduceat(values, np.flatnonzero(np.diff(group, prepend=-1)), axis=0))


def _from(values: Array, first: IntArray) -> Array:
    """Sums (m, ...) of values (n, ...) from some place on."""
    sums = np.concatenate([np.cumsum(values[::-1], axis=0)[::-1], np.zeros((1, *values.shape[1:]))])
    return np.asarray(sums[first])


def risk_sets_of(risk: AtRisk, stratum: IntArray, *, sampling: bool = False) -> list[tuple[IntArray, RiskSets]]:
    """Rows of every stratum (n,) in which an event was seen, and its risk sets."""
    strata = [np.flatnonzero(stratum == code) for code in np.unique(stratum[risk.event])]
    return [(here, RiskSets.of(risk.rows(here), sampling=sampling)) for here in strata]


def maximise(X: Array, sets: Sequence[tuple[IntArray, RiskSets]], log_hazard: Array, g: Array | None = None) -> Partial:
    """The partial likelihood at its maximum in the coefficients of X, by Newton's method from some log hazards."""
    g, change = np.zeros(len(X)) if g is None else g, np.zeros(X.shape[1])
    for _ in range(_STEPS):
        made = [_scores(X[here], each, log_hazard[here], g[here]) for here, each in sets]
        sums = [np.sum(values, axis=0) for values in zip(*made, strict=True)]
        move = np.linalg.pinv(sums[3], hermitian=True) @ sums[2]
        step = X @ move
        furthest = float(np.abs(step).max(initial=0.0))
        if furthest < _SMALL:
            break
        scale = min(1.0, _LONGEST / furthest)
        log_hazard, change = log_hazard + scale * step, change + scale * move
    value, U, U_x, of_x, of_both, of_g = sums
    return Partial(float(value), U, U_x, of_x, of_both, of_g, change)


def information(X: Array, sets: Sequence[tuple[IntArray, RiskSets]], log_hazard: Array) -> Array:
    """Minus the second derivatives (p, p) of the partial likelihood in the coefficients of X, at some log hazards."""
    each = [_scores(X[here], own, log_hazard[here], np.zeros(len(here)))[3] for here, own in sets]
    return np.asarray(np.sum(each, axis=0))


def _scores(X: Array, sets: RiskSets, log_hazard: Array, g: Array) -> tuple[float, Array, Array, Array, Array, Array]:
    """The logarithm of the partial likelihood and its derivatives, as of `Partial`."""
    at = np.zeros(len(sets.exited))
    at[sets.of_dead] = g[sets.dead]
    at = at[sets.time]
    hazard, total, mean, log_hazard = _means(X, sets, log_hazard)
    weight, seen = sets.risk.weight[sets.dead], sets.risk.weight[sets.dead, None] * X[sets.dead]
    powers = np.column_stack([np.ones_like(at), at, at**2])
    shares = hazard[:, None] * sets.lived(powers * (sets.mass / total)[:, None])
    of = [
        (X.T * share) @ X - (mean.T * (sets.mass * power)) @ mean
        for share, power in zip(shares.T, powers.T, strict=True)
    ]
    value = float(weight @ log_hazard[sets.dead] - sets.mass @ np.log(total))
    return value, g[sets.dead] @ seen - (at * sets.mass) @ mean, seen.sum(axis=0) - sets.mass @ mean, *of


def _means(X: Array, sets: RiskSets, log_hazard: Array) -> tuple[Array, Array, Array, Array]:
    """Weighted hazards (n,), their sums (M,) and means of X (M, p) in each turn, and logarithms of hazards (n,)."""
    log_hazard = np.maximum(log_hazard - log_hazard.max(), -_FAR)
    hazard = sets.risk.weight * np.exp(log_hazard)
    # Rounding of differences of sums must not leave less than those who have the event.
    total = np.maximum(sets.turns(hazard), (1.0 - sets.share) * sets.events(hazard)[sets.time])
    return hazard, total, sets.turns(hazard[:, None] * X) / total[:, None], log_hazard


def score_residuals(X: Array, sets: RiskSets, log_hazard: Array, g: Array) -> tuple[Array, Array]:
    """Parts (n, p) of the scores of X and of X g(t) that belong to one copy of each row.

    With their weights they add up to the scores. Lin and Wei (1989), with Efron's treatment of ties.
    """
    _, total, mean, log_hazard = _means(X, sets, log_hazard)
    hazard, dead, rate = np.exp(log_hazard), sets.of_dead, sets.mass / total
    at = np.zeros(len(sets.exited))
    at[dead] = g[sets.dead]
    typical = _together(mean, sets.time) / np.bincount(sets.time)[:, None]

    def parts(of_time: Array) -> Array:
        lived = sets.lived((of_time[sets.time] * rate)[:, None] * np.column_stack([np.ones(len(mean)), mean]))
        found = -hazard[:, None] * (lived[:, [0]] * X - lived[:, 1:])
        found[sets.dead] += of_time[dead][:, None] * (X[sets.dead] - typical[dead])
        return np.asarray(found)

    return parts(np.ones(len(at))), parts(at)
