r"""The Kaplan-Meier estimate of a sample with non-detects, its moments and its quantiles.

With the signs of values turned round, non-detects are right-censored times [1]_, so that

.. math:: F(x) = \prod_{u > x} (1 - d_u / n_u)

over detected values u, with :math:`d_u` detects there and :math:`n_u` values, of either kind, not above u: (NDT1) to
(NDT3) of the theory pages.

References
----------
.. [1] D. R. Helsel, *Statistics for Censored Environmental Data Using Minitab and R*, Wiley, 2012, chapter 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from scipy.special import stdtrit

from tobitgp.nondetects.sample import Sample
from tobitgp.nondetects.sample_results import read_choice
from tobitgp.numerics.nonparametric import RiskSets, risk_sets
from tobitgp.typing import Array, BoolArray, IntArray

Tail = Literal["efron", "smallest_detect", "bounds"]
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class KaplanMeier:
    """Distribution function of a sample: steps at detected values, and what remains below the smallest of them."""

    values: Array  # (m,), distinct detected values, ascending
    cdf: Array  # (m,), F at each
    lower: Array  # (m,), ends of 95% intervals of F just below each, on the scale of log(-log)
    upper: Array  # (m,)
    mass_below: float  # F below the smallest detect
    smallest: float  # of all values, a limit where mass remains below the smallest detect
    n: int
    mean: float  # NaN if only its bounds are known
    bounds: tuple[float, float]  # of the mean, with the remaining mass at 0 and at the smallest detect
    sd: float
    se: float  # of the mean

    def quantile(self, p: float) -> float:
        """The least value with F at least p; NaN if that lies below the smallest limit."""
        if p <= self.mass_below + _ROUNDING:
            return np.nan
        return float(self.values[np.searchsorted(self.cdf, p - _ROUNDING)])

    def t_limit(self, confidence: float) -> float:
        """One-sided limit of the mean by Student's t on n - 1 degrees of freedom; below the mean under one half."""
        return self.mean + float(stdtrit(self.n - 1, confidence)) * self.se


def check_tail(km_tail: str) -> None:
    """Refuse a convention that nobody has."""
    read_choice(km_tail, "km_tail", get_args(Tail))


def kaplan_meier_of(sample: Sample, km_tail: Tail = "efron") -> KaplanMeier:
    """Estimate F, and the moments under a convention for the mass below the smallest detect."""
    check_tail(km_tail)
    sample.check_left("Kaplan-Meier")
    if km_tail == "bounds":
        sample.check_positive("km_tail='bounds', whose lower bound is 0,")
    sets = risk_sets(-sample.values, ~sample.censored, np.ones(len(sample)))
    seen = (sets.events > 0.0)[::-1]
    u, before = -sets.times[::-1], sets.survival[::-1]
    cdf = np.append(before[1:], 1.0)[seen]
    mass = cdf - before[seen]
    values, below, smallest = u[seen], float(before[0]), float(u[0])
    at = smallest if km_tail == "efron" else float(values[0])
    mean = float(mass @ values + below * at)
    bounds = (float(mass @ values), float(mass @ values + below * values[0]))
    sd = float(np.sqrt(mass @ (values - mean) ** 2 + below * (at - mean) ** 2))
    se = standard_error(sets, -at)
    if km_tail == "bounds" and below > _ROUNDING:
        mean = sd = se = np.nan
    lower, upper = (end[::-1][seen] for end in sets.interval())
    return KaplanMeier(values, cdf, lower, upper, below, smallest, len(sample), mean, bounds, sd, se)


def standard_error(sets: RiskSets, end: float) -> float:
    """Greenwood's standard error of the mean, with the factor m / (m - 1) of m events; areas up to ``end``."""
    widths = np.diff(np.minimum(np.append(sets.times, end), end))
    area = np.cumsum((widths * sets.survival)[::-1])[::-1]
    used = (sets.events > 0.0) & (area > 0.0)
    d, n = sets.events[used], sets.at_risk[used]
    m = sets.events.sum()
    with np.errstate(divide="ignore"):  # one detect has no standard error
        return float(np.sqrt(np.sum(area[used] ** 2 * d / (n * (n - d))) * m / (m - 1.0)))


def km_means(values: Array, censored: BoolArray, rows: IntArray, km_tail: Tail) -> Array:
    """Means of samples that each row of ``rows``, indices (B, n), makes of one sample; (B,)."""
    u, code = np.unique(values, return_inverse=True)
    B, m = len(rows), len(u)
    at = (np.arange(B)[:, None] * m + code[rows]).ravel()
    counts = np.bincount(at, minlength=B * m).reshape(B, m)
    events = np.bincount(at, weights=~censored[rows].ravel(), minlength=B * m).reshape(B, m)
    at_risk = np.maximum(np.cumsum(counts, axis=1), 1)
    below = np.cumprod((1.0 - events / at_risk)[:, ::-1], axis=1)[:, ::-1]  # F just below each value
    mass = np.diff(below, axis=1, append=1.0)
    first = u[np.argmax((counts if km_tail == "efron" else events) > 0, axis=1)]
    return np.asarray(mass @ u + below[:, 0] * first)
