"""Non-parametric estimates of distributions from censored values, and counts of dominated pairs.

Kaplan, Meier (1958), Nonparametric estimation from incomplete observations, *JASA* 53, 457-481, of right-censored
times; of intervals that of Turnbull [1]_, by the algorithm of [2]_.

References
----------
.. [1] B. W. Turnbull, "The empirical distribution function with arbitrarily grouped, censored and truncated data",
   *JRSS B* 38 (1976), 290-295.
.. [2] J. A. Wellner and Y. Zhan, "A hybrid algorithm for computation of the nonparametric maximum likelihood estimator
   from censored data", *JASA* 92 (1997), 945-959.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from tobitgp.typing import Array, BoolArray, IntArray


class SurvivalSteps(NamedTuple):
    """The parts of the Kaplan-Meier estimate, (m,) each."""

    times: Array  # distinct ones, ascending
    events: Array  # weight of the events at each
    at_risk: Array  # weight of the rows at risk just before each

    @property
    def survival(self) -> Array:
        r"""Survival after each time, :math:`S(t) = \prod_{s \le t} (1 - d_s / n_s)`."""
        return np.asarray(np.cumprod(1.0 - self.events / self.at_risk), dtype=np.float64)

    @property
    def se(self) -> Array:
        """Greenwood's standard error of survival after each time; NaN once survival is 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.survival * np.sqrt(np.cumsum(self.events / (self.at_risk * self._staying))))

    @property
    def _staying(self) -> Array:
        return self.at_risk - self.events

    def interval(self, level: float = 0.95, scale: str = "log-log") -> tuple[Array, Array]:
        """Ends of Greenwood's intervals of survival after each time; survival itself where it is 0 or 1."""
        inner = (self.survival > 0.0) & (self.survival < 1.0)
        lower, upper = probability_interval(self.survival, self.se, level, scale)
        return np.where(inner, lower, self.survival), np.where(inner, upper, self.survival)


def probability_interval(value: Array, se: Array, level: float, scale: str) -> tuple[Array, Array]:
    """Ends of Wald's intervals of probabilities on a scale, ``"plain"``, ``"log"`` or ``"log-log"``; inside [0, 1]."""
    reach = float(ndtri(0.5 * (1.0 + level))) * se
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if scale == "plain":
            lower, upper = value - reach, value + reach
        elif scale == "log":
            ratio = np.exp(reach / value)
            lower, upper = value / ratio, value * ratio
        else:
            power = np.exp(reach / np.abs(value * np.log(value)))
            lower, upper = value**power, value ** (1.0 / power)
    return np.clip(lower, 0.0, 1.0), np.clip(upper, 0.0, 1.0)


_FLAT = 1.5e-8  # difference of probabilities that is rounding


def first_below(times: Array, survival: Array, height: float) -> float:
    """Time at which a curve of steps falls below a height, the middle where it stays there; infinite if it never is."""
    reached = np.flatnonzero(survival <= height + _FLAT)
    if not len(reached):
        return np.inf
    below = np.flatnonzero(survival < height - _FLAT)
    return float(0.5 * (times[reached[0]] + times[below[0] if len(below) else -1]))


class IncidenceSteps(NamedTuple):
    """What Aalen and Johansen's estimate of one cause is made of, (m,) each."""

    times: Array  # distinct ones, ascending
    cases: Array  # weight of the events of the cause at each
    events: Array  # weight of the events of any cause
    at_risk: Array  # weight of the rows at risk just before each

    @property
    def before(self) -> Array:
        """Probability of no event before each time."""
        return np.append(1.0, np.cumprod(1.0 - self.events / self.at_risk))[:-1]

    @property
    def incidence(self) -> Array:
        r"""Incidence up to each time, :math:`F(t) = \sum_{s \le t} S(s-)\, d_s / n_s`."""
        return np.asarray(np.cumsum(self.before * self.cases / self.at_risk))

    @property
    def se(self) -> Array:
        """Standard error by the delta method, the events at each time multinomial, (NPT4)."""
        n, share, F = self.at_risk, self.cases / self.at_risk, self.incidence
        staying = n - self.events
        other = np.divide(self.events, n * staying, out=np.zeros_like(n), where=staying > 0.0)
        own, cross = self.before**2 * share * (1.0 - share) / n, self.before * share / n
        sums = (np.cumsum(each) for each in (own + 2.0 * cross * F + other * F**2, cross + other * F, other))
        constant, linear, square = sums
        return np.sqrt(np.maximum(constant - 2.0 * linear * F + square * F**2, 0.0))


def kaplan_meier(time: Array, seen: BoolArray, weight: Array, entry: Array | None = None) -> tuple[Array, Array]:
    """Survival from right-censored times at the distinct ones, (m,) each."""
    sets = risk_sets(time, seen, weight, entry)
    return sets.times, sets.survival


def aalen_johansen(
    time: Array, seen: BoolArray, case: BoolArray, weight: Array, entry: Array | None = None
) -> tuple[Array, Array]:
    """Incidence of one kind of event at the distinct times."""
    steps = incidence_steps(time, seen, case, weight, entry)
    return steps.times, steps.incidence


def incidence_steps(
    time: Array, seen: BoolArray, case: BoolArray, weight: Array, entry: Array | None = None
) -> IncidenceSteps:
    """Events of one cause, those of any, and rows at risk at the distinct times."""
    times, events, at_risk = risk_sets(time, seen, weight, entry)
    return IncidenceSteps(times, risk_sets(time, case, weight, entry).events, events, at_risk)


def risk_sets(time: Array, seen: BoolArray, weight: Array, entry: Array | None = None) -> SurvivalSteps:
    """Events and rows at risk at the distinct times."""
    times, at = np.unique(time, return_inverse=True)
    events, leaving = (np.asarray(np.bincount(at, weights=w), dtype=np.float64) for w in (weight * seen, weight))
    at_risk = np.cumsum(leaving[::-1])[::-1]
    if entry is not None:
        first = np.searchsorted(times, entry, side="right")
        late = np.cumsum(np.bincount(first, weights=weight, minlength=len(times) + 1)[::-1])[::-1]
        # Rounding of the difference must not leave fewer than those who leave.
        at_risk = np.maximum(at_risk - late[1:], leaving)
    return SurvivalSteps(times, events, at_risk)


_HALVINGS = 30
_EM_STEPS = 3


@dataclass(frozen=True, slots=True)
class Turnbull:
    """Distribution that makes the intervals most probable."""

    left: Array  # (m,), of the intervals (left, right] that carry mass, ascending and apart from each other
    right: Array  # (m,)
    mass: Array  # (m,), probability of each
    survival: Array  # (m,), probability of values beyond ``right``
    log_likelihood: float  # sum of the logarithms of the rows' probabilities
    gap: float  # how far the log likelihood may at most lie below its maximum
    iterations: int


def turnbull(lower: Array, upper: Array, weight: Array, *, tol: float = 1e-9, max_iter: int = 2000) -> Turnbull:
    r"""Nonparametric maximum likelihood of rows in intervals, :math:`\max_F \sum_i c_i \log\{F(u_i) - F(l_i)\}`."""
    # Mass can lie in the innermost intersections of the rows' intervals only. It is found by steps in turn of EM and of
    # the iterative convex minorant, and a pass costs as much as there are rows.
    left, right, first, last = _innermost(lower, upper)
    n, F = float(weight.sum()), _start(first, last, np.isinf(upper), weight, len(left))
    gap = np.inf
    for iteration in range(1, max_iter + 1):  # noqa: B007
        for _ in range(_EM_STEPS):
            F, slack = _em_step(F, first, last, weight)
        gap = n * slack
        if slack <= tol:
            break
        F = _minorant_step(F, first, last, weight)
    return Turnbull(left, right, np.diff(F), 1.0 - F[1:], _log_likelihood(F, first, last, weight), gap, iteration)


def _innermost(lower: Array, upper: Array) -> tuple[Array, Array, IntArray, IntArray]:
    """Innermost intersections, and for each row the first that it holds and the last plus one."""
    # At one time come first points, then the ends of intervals and points, then the begins of intervals.
    n = len(lower)
    values, at = np.unique(np.concatenate([lower, upper]), return_inverse=True)
    begin = 3 * at[:n] + np.where(lower == upper, 0, 2)
    end = 3 * at[n:] + 1
    begins, ends = np.unique(begin), np.unique(end)
    next_end = np.searchsorted(ends, begins)
    closing = np.append(ends, ends[-1] + 1)[next_end]
    inner = np.append(begins[1:], ends[-1] + 1) > closing
    starts, stops = begins[inner], closing[inner]
    first, last = np.searchsorted(starts, begin), np.searchsorted(stops, end, side="right")
    return values[starts // 3], values[stops // 3], first, last


def _start(first: IntArray, last: IntArray, right: BoolArray, weight: Array, m: int) -> Array:
    """Kaplan-Meier estimate with interval-censored rows placed at the middle of their intervals; no mass is 0."""
    seen = ~right | (last - first == 1)
    at, survival = kaplan_meier(np.where(seen, (first + last) // 2, first - 0.5), seen, weight)
    F = 1.0 - np.append(1.0, survival)[np.searchsorted(at, np.arange(m + 1.0))]
    F[m] = 1.0
    return np.asarray(F)


def _em_step(F: Array, first: IntArray, last: IntArray, weight: Array) -> tuple[Array, float]:
    """Distribution function after a step of EM, and the slack before it, the greatest slope a row less 1."""
    # By concavity no distribution has a log likelihood higher by more than n times the slack.
    share = weight / (F[last] - F[first])
    m = len(F) - 1
    slope = np.cumsum(np.bincount(first, share, m + 1) - np.bincount(last, share, m + 1))[:m] / weight.sum()
    mass = np.diff(F) * slope
    out = np.append(0.0, np.cumsum(mass))
    return out / out[-1], float(slope.max() - 1.0)


def _minorant_step(F: Array, first: IntArray, last: IntArray, weight: Array) -> Array:
    """Newton's step with the diagonal of the Hessian, by isotonic regression, halved until the likelihood rises."""
    from scipy.optimize import isotonic_regression

    if len(F) == 2:
        return F
    m = len(F) - 1
    p = F[last] - F[first]
    slope = (np.bincount(last, weight / p, m + 1) - np.bincount(first, weight / p, m + 1))[1:m]
    curvature = (np.bincount(last, weight / p**2, m + 1) + np.bincount(first, weight / p**2, m + 1))[1:m]
    target = np.clip(isotonic_regression(F[1:m] + slope / curvature, weights=curvature).x, 0.0, 1.0)
    before = _log_likelihood(F, first, last, weight)
    step = np.append(np.append(0.0, target), 1.0) - F
    for _ in range(_HALVINGS):
        if _log_likelihood(F + step, first, last, weight) > before:
            return np.asarray(F + step)
        step = 0.5 * step
    return F


def _log_likelihood(F: Array, first: IntArray, last: IntArray, weight: Array) -> float:
    """Sum of the logarithms of the rows' probabilities; -inf if one is 0."""
    p = F[last] - F[first]
    return float(weight @ np.log(p)) if (p > 0.0).all() else -np.inf


def mass_below(ranks: IntArray, weight: Array, first: IntArray, below: IntArray) -> Array:
    r"""Weight of the values below a bound among the first of a sequence, :math:`\sum_{k < f,\, r_k < b} w_k`, (q,)."""
    # The values are split by one binary digit at a time, the highest first, and keep their order within both halves, so
    # that a question visits one half of each split: n values and q questions cost (n + q) log n (Claude, Navarro and
    # Ordóñez, 2015, The wavelet matrix, Information Systems 47, 15-32).
    total = np.zeros(len(first))
    start, stop = np.zeros_like(first), first
    for bit in reversed(range(int(max(ranks.max(initial=0), below.max(initial=0))).bit_length())):
        small = (ranks >> bit) & 1 == 0
        count, mass = (np.append(0, np.cumsum(values)) for values in (small, weight * small))
        low, high = count[start], count[stop]
        over = (below >> bit) & 1 == 1
        total += np.where(over, mass[stop] - mass[start], 0.0)
        start = np.where(over, count[-1] + start - low, low)
        stop = np.where(over, count[-1] + stop - high, high)
        order = np.concatenate([np.flatnonzero(small), np.flatnonzero(~small)])
        ranks, weight = ranks[order], weight[order]
    return total
