"""The Akritas-Theil-Sen line: the slope for which residuals have no rank correlation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtri

from tobitgp.data.values import counted
from tobitgp.errors import DataError, SpecError
from tobitgp.nondetects.kendall import check_ranks, concordance, score_tail
from tobitgp.nondetects.sample import Sample
from tobitgp.nondetects.sample_results import NondetectResults, describe, in_words, read_resamples
from tobitgp.nondetects.value_order import dropped_note, order_of, read_columns
from tobitgp.numerics.nonparametric import turnbull
from tobitgp.numerics.sampling import generator
from tobitgp.results.predict import check_alpha
from tobitgp.results.words import LabelledValues
from tobitgp.typing import Array

_MOST_PAIRS = 20_000_000


class SlopeSteps(NamedTuple):
    """Kendall's S of the residuals y - b x and x, which falls in b by steps at the slopes of pairs."""

    slope: Array  # (m,), ascending
    after: Array  # (m,), S beyond each
    before: float  # S below the first

    def crossing(self, level: float) -> tuple[float, float]:
        """Where the falling S reaches a level: the interval with that value, or the slope at which S jumps past it."""
        first = int(np.searchsorted(-self.after, -level))
        if first == len(self.slope):
            return np.inf, np.inf
        at = float(self.slope[first])
        return (at, at) if self.after[first] < level else (at, float(np.append(self.slope, np.inf)[first + 1]))

    def zero(self) -> float:
        """The slope at which S changes its sign, or the middle of the interval with S = 0."""
        return 0.5 * sum(self.crossing(0.0))

    def inverted(self, reach: float) -> tuple[float, float]:
        """Slopes at which S is at most ``reach`` from zero."""
        lower = self.crossing(reach)[0] if self.before > reach else -np.inf
        return lower, self.crossing(-reach)[1]


def steps_of(groups: Sequence[tuple[Sample, Sample]]) -> SlopeSteps:
    """S as a function of the slope, summed over groups of y and x that are compared within themselves, (NDT24)."""
    parts = [_steps_within(y, x) for y, x in groups]
    slope, drop = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
    order = np.argsort(slope, kind="stable")
    before = sum(part[2] for part in parts)
    return SlopeSteps(slope[order], before - np.cumsum(drop[order]), before)


def _steps_within(y: Sample, x: Sample) -> tuple[Array, Array, float]:
    """Slopes of the pairs of one group, by how much S falls at each, and S below all of them."""
    upper, lower = np.nonzero(order_of(x).signs() > 0)
    run, rise = x.values[upper] - x.values[lower], y.values[upper] - y.values[lower]
    seen, moves = ~y.censored, run > 0.0
    level = float(order_of(y).signs()[upper, lower][~moves].sum())
    upper, lower = upper[moves], lower[moves]
    drop = seen[upper].astype(np.float64) + seen[lower]
    return (rise[moves] / run[moves])[drop > 0], drop[drop > 0], level + float(seen[upper].sum())


def residuals(y: Sample, x: Sample, slope: float) -> Sample:
    """Values y - b x, of non-detects limits."""
    line = slope * x.values
    return replace(y, lower=y.lower - line, upper=y.upper - line)


def median_residual(y: Sample, x: Sample, slope: float, floor: float) -> float:
    """Turnbull's median of y - b x, non-detects between ``floor`` and their limits, (NDT25)."""
    rows = ~x.censored
    line, c = slope * x.values[rows], y.censored[rows]
    upper = y.values[rows] - line
    lower = np.where(c, floor - line, upper)
    found = turnbull(lower, upper, np.ones(len(upper)))
    at = int(np.argmax(found.survival <= 0.5 + 1e-9))
    ends = found.left[at], found.right[at]
    return float(ends[1] if np.isinf(ends[0]) else 0.5 * sum(ends))


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class TheilSenResults(NondetectResults):
    """The Akritas-Theil-Sen line through values with non-detects: (NDT24) to (NDT26) of the theory pages.

    Attributes
    ----------
    title, method, samples, notes
        As in :class:`tobitgp.nondetects.group_tests.GroupResults`.
    statistic, pvalue : float
        Kendall's S of y and x, a number of pairs, and its p-value by the normal approximation.
    intercept : float
        Intercept in the units of y.
    slope : float
        Slope in units of y per x.
    tau_a : float
        Kendall's correlation, a pure number.
    variance : float
        Variance of S of the residuals over all permutations, in units of squared numbers of pairs.
    steps : Steps
        S as a function of the slope.
    draws : array of float (bootstrap,), optional
        Slopes of resampled rows, in units of y per x.
    """

    intercept: float
    slope: float
    tau_a: float
    variance: float
    steps: SlopeSteps
    draws: Array | None = None

    @property
    def params(self) -> pd.Series[float]:
        """Intercept, in units of y, and slope, y per x, by name."""
        return pd.Series({"Intercept": self.intercept, "slope": self.slope})

    def conf_int(self, alpha: float = 0.05) -> pd.DataFrame:
        """Interval of the slope, in units of y per x: slopes that the test does not reject, or bootstrap quantiles."""
        ends = super().conf_int(alpha)
        ends.loc["slope"] = slope_interval(self.steps, self.variance, self.draws, alpha)
        return ends

    def _numbers(self) -> LabelledValues:
        rows = [("S:", f"{self.statistic:.0f}"), ("tau-a:", f"{self.tau_a:.4f}")]
        return [*rows, ("P-value, normal:", in_words(self.pvalue))]


def slope_interval(steps: SlopeSteps, variance: float, draws: Array | None, alpha: float) -> tuple[float, float]:
    """Ends of an interval of the slope, (NDT26), or quantiles of draws where there are some."""
    check_alpha(alpha)
    if draws is None:
        return steps.inverted(float(ndtri(1.0 - 0.5 * alpha)) * float(np.sqrt(variance)))
    lower, upper = np.quantile(draws, [0.5 * alpha, 1.0 - 0.5 * alpha])
    return float(lower), float(upper)


def resampled_slopes(groups: Sequence[tuple[Sample, Sample]], draws: int, rng: np.random.Generator) -> Array:
    """Slopes of rows drawn with replacement within groups; draws without a slope are drawn again."""
    found: list[float] = []
    while len(found) < draws:
        drawn = []
        for y, x in groups:
            rows = rng.integers(len(y), size=len(y))
            drawn.append((y.take(rows), x.take(rows)))
        steps = steps_of(drawn)
        if len(steps.slope) and np.isfinite(steps.zero()):
            found.append(steps.zero())
    return np.array(found)


def theil_sen(
    y: Any,
    x: Any,
    y_censored: Any = None,
    x_censored: Any = None,
    *,
    floor: float | None = None,
    bootstrap: int | None = None,
    rng: int | np.random.Generator | None = None,
) -> TheilSenResults:
    """Fit the Akritas-Theil-Sen line to values with non-detects.

    The slope b is the one at which Kendall's S of y - b x and x is zero; it is found exactly among the slopes of pairs.
    The intercept is Turnbull's median of the residuals. Without non-detects the slope is that of
    ``scipy.stats.theilslopes``. All pairs are held in memory: 3,000 rows require 400 MB. See (NDT24) to (NDT26) of the
    theory pages.

    Parameters
    ----------
    y, x, y_censored, x_censored
        As in :func:`tobitgp.nondetects.kendall`. Rows with a non-detect in x are not used for the intercept.
    floor : float, optional
        Lowest possible value of y, in its units, above which non-detects lie; used for the intercept. The default is 0
        if all values and limits are positive, otherwise there is no lowest value.
    bootstrap : int, optional
        Number of resamples of rows, at least 200, whose quantiles are the interval of the slope. By default the
        interval contains the slopes that Kendall's test does not reject.
    rng : int or numpy Generator, optional
        Generator or seed of the resamples; None uses a fixed seed.

    Returns
    -------
    TheilSenResults
        Intercept and slope, with an interval of the slope, in units of y and y per x.

    Raises
    ------
    DataError
        As in :func:`tobitgp.nondetects.kendall`; also if all detected values are at one x, or there are too many rows.
    SpecError
        If ``bootstrap`` is not a whole number of at least 200, or values are right-censored or lie in intervals.

    References
    ----------
    .. [1] M. G. Akritas, S. A. Murphy and M. P. LaValley, "The Theil-Sen estimator with doubly censored data and
       applications to astronomy", *JASA* 90 (1995), 170-177.

    Examples
    --------
    >>> import tobitgp as tg
    >>> time = [1, 2, 3, 4, 5, 6, 7, 8]
    >>> res = tg.nondetects.theil_sen(["<1", 1.5, "<1", 2.0, 1.8, 2.6, 2.4, 3.0], time)
    >>> res.params.round(3)
    Intercept    0.6
    slope        0.3
    dtype: float64
    """
    if bootstrap is not None:
        read_resamples(bootstrap)
    (of_y, of_x), kept = read_columns({"y": (y, y_censored), "x": (x, x_censored)})
    check_ranks(of_y, of_x)
    check_slope([(of_y, of_x)])
    found, steps = concordance(of_y, of_x), steps_of([(of_y, of_x)])
    slope = steps.zero()
    draws = None if bootstrap is None else resampled_slopes([(of_y, of_x)], bootstrap, generator(rng))
    return TheilSenResults(
        title="Akritas-Theil-Sen line with non-detects",
        method="slope without rank correlation",
        samples=describe({"y": of_y, "x": of_x}),
        statistic=float(found.score),
        pvalue=score_tail(found.score, found.variance),
        notes=(*dropped_note(kept), interval_note(draws), _intercept_note(of_x)),
        intercept=median_residual(of_y, of_x, slope, lowest(of_y, floor)),
        slope=slope,
        tau_a=found.tau[0],
        variance=concordance(residuals(of_y, of_x, slope), of_x).variance,
        steps=steps,
        draws=draws,
    )


def interval_note(draws: Array | None) -> str:
    """Note on how the interval of a slope was computed."""
    if draws is None:
        return "Interval: slopes that Kendall's test does not reject, by its normal approximation."
    return f"Interval: quantiles over {len(draws)} resamples of rows."


def _intercept_note(x: Sample) -> str:
    left_out = int(x.censored.sum())
    without = f", without {counted(left_out, 'row')} whose x is a non-detect" if left_out else ""
    return f"Intercept: Turnbull's median of residuals{without}."


def lowest(y: Sample, floor: float | None) -> float:
    """Value above which non-detects lie."""
    if floor is None:
        return 0.0 if (y.values > 0.0).all() else -np.inf
    if isinstance(floor, bool) or not isinstance(floor, (int, float, np.number)) or np.isnan(floor):
        raise SpecError(f"floor={floor!r}: must be a number in the units of y.")
    if (y.values < floor).any():
        raise DataError(f"floor={floor:g} lies above the smallest value or limit of y, {y.values.min():g}.")
    return float(floor)


def check_slope(groups: Sequence[tuple[Sample, Sample]]) -> None:
    """Raise an error if no group has detects at two values of x, or the pairs do not fit into memory."""
    pairs = sum(len(y) * (len(y) - 1) // 2 for y, _ in groups)
    if pairs > _MOST_PAIRS:
        raise DataError(
            f"The slope of all pairs of {sum(len(y) for y, _ in groups)} rows would take {pairs * 90e-9:.0f} GB; about "
            "6,000 rows are the most. tg.fit('y ~ x | censor(limit)') takes any number."
        )
    if not any(len(np.unique(x.values[~y.censored & ~x.censored])) > 1 for y, x in groups):
        raise DataError("A slope needs detected values of y at two values of x at least.")
