"""Robust regression on order statistics: non-detects are imputed from a line through the detects' quantiles."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from tobitgp.errors import DataError, user_level
from tobitgp.nondetects.sample import Sample, read_values
from tobitgp.nondetects.sample_results import PrintsSummary, report, sample_table
from tobitgp.typing import Array, BoolArray, IntArray

if TYPE_CHECKING:
    from tobitgp.results.summary import FitSummary

MOST_CENSORED = 0.8


@dataclass(frozen=True, slots=True, repr=False)
class RegressionOnOrderStatistics(PrintsSummary):
    """A sample with non-detects imputed from the line of (NDT5) of the theory pages; prints as its summary.

    Attributes
    ----------
    values : (n,) array
        Detects, and imputed values of non-detects, each in ascending order; in the units of y.
    censored : (n,) array of bool
        True where a value is imputed.
    positions : (n,) array
        Plotting positions of Helsel and Cohn, probabilities.
    intercept, slope : float
        Intercept and slope of the line, on the scale of log y.
    dropped : int
        Number of non-detects above the largest detect, which the method cannot place.
    limits : (m,) array
        Distinct limits, in the units of y.
    name : str
        Name of the values.
    """

    values: Array
    censored: BoolArray
    positions: Array
    intercept: float
    slope: float
    dropped: int
    limits: Array
    name: str

    @property
    def mean(self) -> float:
        """Mean of the imputed sample, in the units of y."""
        return float(self.values.mean())

    @property
    def sd(self) -> float:
        """Standard deviation of the imputed sample, with n - 1, in the units of y."""
        return float(self.values.std(ddof=1))

    def quantile(self, p: Any) -> Any:
        """Quantiles of the imputed sample, interpolated (type 7), in the units of y."""
        return np.quantile(self.values, p)

    @property
    def correlation(self) -> float:
        """Correlation of the detects' logarithms with their normal quantiles (PPCC), a pure number."""
        seen = ~self.censored
        return float(np.corrcoef(np.log(self.values[seen]), ndtri(self.positions[seen]))[0, 1])

    def summary_frame(self) -> pd.DataFrame:
        """One row: ``n, nondetects, dropped, mean, sd, median, intercept, slope, ppcc``; units of y, or of log y."""
        row = {
            "n": len(self.values),
            "nondetects": int(self.censored.sum()),
            "dropped": self.dropped,
            "mean": self.mean,
            "sd": self.sd,
            "median": float(self.quantile(0.5)),
            "intercept": self.intercept,
            "slope": self.slope,
            "ppcc": self.correlation,
        }
        return pd.DataFrame([row], index=[self.name])

    def summary(self) -> FitSummary:
        """Line, moments and quartiles, as statsmodels prints them."""
        from tobitgp.results.summary import Section, number

        samples = sample_table({self.name: (len(self.values), int(self.censored.sum()), self.limits)})
        quartiles = zip(("lower quartile", "median", "upper quartile"), self.quantile([0.25, 0.5, 0.75]), strict=True)
        known = [("mean", self.mean), ("sd", self.sd), *quartiles]
        line = [("intercept of log", self.intercept), ("slope of log", self.slope)]
        section = Section(["Estimates", "estimate"], [[name, number(value)] for name, value in (*known, *line)])
        notes = [f"{self.dropped} non-detects above the largest detect are left out."] * bool(self.dropped)
        numbers = [("PPCC:", f"{self.correlation:.4f}")]
        return report("Regression on order statistics", "line of log detects", numbers, samples, [section], notes)


def ros(y: Any, censored: Any = None, *, force: bool = False) -> RegressionOnOrderStatistics:
    """Impute non-detects by robust regression on order statistics.

    The logarithms of detects are regressed on normal quantiles at Helsel and Cohn's plotting positions. Non-detects are
    imputed from the regression line at their own positions. Detects are not changed, so only the lower part depends on
    the log-normal shape. Computed by ``statsmodels.imputation.ros``.

    Parameters
    ----------
    y, censored
        As in :func:`tobitgp.nondetects.upper_confidence_limit`.
    force : bool
        Whether to continue if more than 80% are non-detects.

    Returns
    -------
    RegressionOnOrderStatistics
        The imputed sample in the units of y, with mean, sd and quantiles.

    Raises
    ------
    DataError
        If values are not positive, there are fewer than two distinct detects, or more than 80% are non-detects.
    SpecError
        If values are right-censored or lie in intervals.

    Warns
    -----
    UserWarning
        If non-detects above the largest detect are left out.

    References
    ----------
    .. [1] D. R. Helsel and T. A. Cohn, "Estimation of descriptive statistics for multiply censored water quality
       data", Water Resources Research 24 (1988), 1997-2004.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.nondetects.ros(["<1", "0.7", "1.7", "<2", "3.2", "0.5", "2.8", "0.9"])
    >>> res.summary_frame()[["n", "mean", "sd", "median", "ppcc"]].round(3)
       n   mean     sd  median   ppcc
    y  8  1.422  1.041   0.878  0.993
    """
    result = ros_of(read_values(y, censored), force=force)
    if result.dropped:
        warnings.warn(
            f"{result.dropped} non-detects above the largest detect are left out: regression on order statistics "
            "cannot place them.",
            stacklevel=user_level(),
        )
    return result


def ros_of(sample: Sample, *, force: bool = False) -> RegressionOnOrderStatistics:
    """Regression on order statistics of a sample that has been read."""
    from statsmodels.imputation.ros import impute_ros

    sample.check_left("Regression on order statistics")
    sample.check_positive("Regression on order statistics")
    sample.check_detects()
    share = float(sample.censored.mean())
    if share > MOST_CENSORED and not force:
        raise DataError(
            f"{share:.0%} of {sample.name!r} are non-detects, and a line through so few detects says little below "
            "80%: force=True goes on."
        )
    beyond = sample.censored & (sample.values > sample.detects.max())
    kept = sample.take(~beyond)
    if not kept.censored.any():
        values = np.sort(kept.values)
        positions = np.arange(1.0, len(values) + 1.0) / (len(values) + 1.0)
        censored = np.zeros(len(values), dtype=bool)
    else:
        # Its own limits, past which it would put half the limit in the place of non-detects, are not met.
        found = impute_ros(kept.values, kept.censored, max_fraction_censored=1.0, as_array=False)
        values, censored, positions = (found[name].to_numpy() for name in ("final", "cen", "plot_pos"))
    slope, intercept = _line(values[~censored], positions[~censored])
    return RegressionOnOrderStatistics(
        values, censored, positions, intercept, slope, int(beyond.sum()), sample.limits, sample.name
    )


def _line(detects: Array, positions: Array) -> tuple[float, float]:
    """Slope and intercept of log detects on normal quantiles."""
    z, t = ndtri(positions), np.log(detects)
    slope = float((z - z.mean()) @ t / ((z - z.mean()) @ z))
    return slope, float(t.mean() - slope * z.mean())


def ros_means(values: Array, censored: BoolArray, rows: IntArray) -> Array:
    """Means of the imputed samples that each row of ``rows``, indices (B, n), selects from one sample; (B,)."""
    return np.array([_mean(values[row], censored[row]) for row in rows])


def _mean(values: Array, censored: BoolArray) -> float:
    """Mean of one imputed sample, equal to that of `ros_of`, in a hundredth of its time; (NDT4) and (NDT5)."""
    detects = np.sort(values[~censored])
    below = np.sort(values[censored & (values <= detects[-1])])
    if not len(below):
        return float(detects.mean())
    limits, C = np.unique(below, return_counts=True)
    if detects[0] < limits[0]:
        limits, C = np.append(detects[0], limits), np.append(0, C)
    stretch = np.searchsorted(limits, detects, side="right") - 1
    A = np.bincount(stretch, minlength=len(limits))
    B = np.searchsorted(detects, limits) + np.searchsorted(below, limits, side="right")
    p = np.append(1.0 - np.cumprod((B / (A + B))[::-1])[::-1], 0.0)
    first = np.append(0, np.cumsum(A))[stretch]
    rank = np.arange(len(detects)) - first + 1
    positions = 1.0 - p[stretch] + rank * (p[stretch] - p[stretch + 1]) / (A[stretch] + 1.0)
    order = np.concatenate([np.arange(1, count + 1) for count in C])
    places = np.repeat(1.0 - p[:-1], C) * order / (np.repeat(C, C) + 1.0)
    slope, intercept = _line(detects, positions)
    return float((detects.sum() + np.exp(intercept + slope * ndtri(places)).sum()) / (len(detects) + len(below)))
