"""The seasonal Kendall test: trends of values with non-detects, compared within seasons only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import chdtrc

from tobitgp.data.frames import aligned
from tobitgp.errors import DataError
from tobitgp.nondetects.kendall import (
    FEW,
    KendallScore,
    check_ranks,
    concordance,
    monte_carlo,
    nada_tail,
    permuted_scores,
    score_tail,
)
from tobitgp.nondetects.sample import Sample, groups_of
from tobitgp.nondetects.sample_results import PERMUTATIONS, NondetectResults, describe, in_words, read_count
from tobitgp.nondetects.theil_sen import (
    SlopeSteps,
    check_slope,
    lowest,
    median_residual,
    residuals,
    slope_interval,
    steps_of,
)
from tobitgp.nondetects.value_order import dropped_note, order_of, read_columns
from tobitgp.numerics.sampling import generator
from tobitgp.results.words import LabelledValues
from tobitgp.typing import Array, BoolArray

_LEAST_ROWS, _LEAST_YEARS = 4, 10


class Season(NamedTuple):
    """Rows of one season."""

    name: str
    y: Sample
    time: Sample


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SeasonalKendallResults(NondetectResults):
    """A trend of values with non-detects within seasons: (NDT27) to (NDT29) of the theory pages.

    Attributes
    ----------
    title, method, samples, notes
        As in :class:`tobitgp.nondetects.group_tests.GroupResults`.
    statistic, pvalue : float
        S summed over seasons, a number of pairs, and its p-value. The p-value is by permutations within seasons of at
        most 200 rows, otherwise by the normal approximation. With ``serial=True`` it is by the normal approximation,
        since permuted rows would not keep their correlation.
    tau : float
        Correlation, a pure number.
    intercept, slope : float
        Intercept in the units of y, and slope in the units of y per unit of time.
    variance : float
        Variance of S of the residuals, in units of squared numbers of pairs; it includes the covariances of
        seasons if ``serial=True``.
    seasons : DataFrame
        ``n, S, variance, tau, z, pvalue, pvalue_nada, slope`` by season; p-values by the normal approximation.
    heterogeneity : Series of float
        ``chi2, df, pvalue`` of the test for equal trends in all seasons; pure numbers.
    pvalue_normal, pvalue_permutation, pvalue_error
        As in :class:`tobitgp.nondetects.kendall.KendallResults`.
    steps : Steps
        The sum of S as a function of the slope.
    """

    tau: float
    intercept: float
    slope: float
    variance: float
    seasons: pd.DataFrame
    heterogeneity: pd.Series[float]
    pvalue_normal: float
    pvalue_permutation: float
    pvalue_error: float
    steps: SlopeSteps

    @property
    def params(self) -> pd.Series[float]:
        """Correlation, a pure number, intercept, in units of y, and slope, y per time, by name."""
        return pd.Series({"tau": self.tau, "Intercept": self.intercept, "slope": self.slope})

    def conf_int(self, alpha: float = 0.05) -> pd.DataFrame:
        """Interval of the slope, in units of y per time: values that the test does not reject."""
        ends = super().conf_int(alpha)
        ends.loc["slope"] = slope_interval(self.steps, self.variance, None, alpha)
        return ends

    def _numbers(self) -> LabelledValues:
        rows = [("S, all seasons:", f"{self.statistic:.0f}"), ("P-value, normal:", in_words(self.pvalue_normal))]
        if not np.isnan(self.pvalue_permutation):
            rows.append(("P-value, permutations:", f"{in_words(self.pvalue_permutation)} (+-{self.pvalue_error:.1g})"))
        chi2, df, p = self.heterogeneity
        return [*rows, (f"Equal trends, chi2({df:.0f}):", f"{chi2:.3f}, p = {in_words(p)}")]

    def _tables(self) -> dict[str, pd.DataFrame]:
        return {"season": self.seasons}


def seasonal_kendall(
    y: Any,
    time: Any,
    season: Any,
    censored: Any = None,
    *,
    serial: bool = False,
    floor: float | None = None,
    n_permutations: int = PERMUTATIONS,
    rng: int | np.random.Generator | None = None,
) -> SeasonalKendallResults:
    """Test for a trend over time of values with non-detects, compared within seasons only.

    S and its variance are sums over seasons. The slope is common to all seasons, and is the one at which the sum of S
    of the residuals is zero: (NDT27) to (NDT29) of the theory pages.

    Parameters
    ----------
    y, time : array of float (n,)
        Detected values and limits of non-detects, in any units, or text such as ``"<0.5"``; times in any units, dates
        as decimal years. Rows that lack a value or a season are dropped and counted.
    season : sequence of labels (n,)
        Season of each row. Seasons with fewer than 4 rows, or with no two values of known order, are dropped, with a
        note.
    censored : array (n,), optional
        Flags 0 and 1, or booleans: 1 for non-detects.
    serial : bool
        Whether seasons of one year may be correlated. If so, ``time`` must be in years, at least 10, with one value per
        season and year.
    floor
        As in :func:`tobitgp.nondetects.theil_sen`.
    n_permutations : int
        Number of permutations within seasons; none are drawn if ``serial``.
    rng : int or numpy Generator, optional
        Generator or seed of the permutations; None uses a fixed seed.

    Returns
    -------
    SeasonalKendallResults
        S, correlation (a pure number), slope in units of y per time, and a table of seasons.

    Raises
    ------
    DataError
        If lengths differ, flags are not 0 or 1, no season has 4 rows, a season has fewer than 4 distinct times, or
        ``serial`` has fewer than 10 years or two values in one season of a year.
    SpecError
        If values are right-censored or lie in intervals.

    References
    ----------
    .. [1] R. M. Hirsch, J. R. Slack and R. A. Smith, "Techniques of trend analysis for monthly water quality data",
       *Water Resources Research* 18 (1982), 107-121.
    .. [2] E. J. Dietz and T. J. Killeen, "A nonparametric multivariate test for monotone trend with pharmaceutical
       applications", *JASA* 76 (1981), 169-174.
    .. [3] G. van Belle and J. P. Hughes, "Nonparametric tests for trend in water quality", *Water Resources Research*
       20 (1984), 127-136.

    Examples
    --------
    >>> import numpy as np
    >>> import tobitgp as tg
    >>> year, season = np.repeat(np.arange(2000, 2010), 2), np.tile(["wet", "dry"], 10)
    >>> y = 3.0 + 0.1 * (year - 2000) + (season == "wet") + np.tile([0.0, 0.9, -0.6, 0.4], 5)
    >>> res = tg.nondetects.seasonal_kendall(np.maximum(y, 3.2), year, season, y < 3.2)
    >>> int(res.statistic), round(res.slope, 2), round(res.pvalue_normal, 4)
    (45, 0.1, 0.0051)
    """
    read_count(n_permutations, "n_permutations")
    y, time, season, censored = aligned({"y": y, "time": time, "season": season, "y_censored": censored}).values()
    (of_y, of_time), kept = read_columns({"y": (y, censored), "time": (time, None)}, season=season)
    seasons, rows, notes = _split(of_y, of_time, pd.Series(season).reset_index(drop=True)[kept])
    for s in seasons:
        check_ranks(s.y, s.time, f" in season {s.name!r}")
    check_slope([(s.y, s.time) for s in seasons])
    found = [concordance(s.y, s.time) for s in seasons]
    score = sum(f.score for f in found)
    normal, p, error = score_tail(score, _variance(seasons, serial)), np.nan, np.nan
    drawn = not serial and all(len(s.y) <= FEW for s in seasons)
    if drawn:
        stream = generator(rng)
        each = [permuted_scores(order_of(s.y), order_of(s.time), n_permutations, stream) for s in seasons]
        p, error = monte_carlo(score, np.sum(each, axis=0))
    steps = steps_of([(s.y, s.time) for s in seasons])
    slope = steps.zero()
    how = "covariances of seasons" if serial else "normal approximation"
    used_y, used_time = of_y.take(rows), of_time.take(rows)
    return SeasonalKendallResults(
        title="Seasonal Kendall test with non-detects",
        method=f"{n_permutations} permutations within seasons" if drawn else how,
        samples=describe({"all": used_y} | {s.name: s.y for s in seasons}),
        statistic=float(score),
        pvalue=p if drawn else normal,
        notes=(*dropped_note(kept), *notes, "Rows are compared within seasons; S, its variance and pairs are summed."),
        tau=score / sum(f.pairs for f in found),
        intercept=median_residual(used_y, used_time, slope, lowest(used_y, floor)),
        slope=slope,
        variance=_variance([s._replace(y=residuals(s.y, s.time, slope)) for s in seasons], serial),
        seasons=_table(seasons, found),
        heterogeneity=_heterogeneity([f.score / np.sqrt(f.variance) for f in found]),
        pvalue_normal=normal,
        pvalue_permutation=p,
        pvalue_error=error,
        steps=steps,
    )


def _split(y: Sample, time: Sample, labels: pd.Series[Any]) -> tuple[list[Season], BoolArray, list[str]]:
    """Seasons with enough rows, their rows, and a note on those without."""
    y.check_left("seasonal_kendall()")
    groups = groups_of(labels)
    used = {k: r for k, r in groups.items() if r.sum() >= _LEAST_ROWS and order_of(y.take(r)).scores().any()}
    rule = f"{_LEAST_ROWS} rows, and two values of which one is known to be larger"
    if not used:
        raise DataError(f"No season has {rule}; rows: {', '.join(f'{k} {r.sum()}' for k, r in groups.items())}.")
    short = [f"{name} ({rows.sum()})" for name, rows in groups.items() if name not in used]
    notes = [f"Seasons without {rule}, were dropped (rows): {', '.join(short)}."] if short else []
    seasons = [Season(name, y.take(rows), time.take(rows)) for name, rows in used.items()]
    return seasons, np.any(list(used.values()), axis=0), notes


def _variance(seasons: Sequence[Season], serial: bool) -> float:
    """Variance of S summed over seasons."""
    alone = sum(concordance(s.y, s.time).variance for s in seasons)
    return alone + (float(_covariances(seasons).sum()) if serial else 0.0)


def _covariances(seasons: Sequence[Season]) -> Array:
    """Covariances of the seasons' S if values of one year are correlated, (k, k), 0 on the diagonal; (NDT29)."""
    years = [np.floor(s.time.values).astype(int) for s in seasons]
    every = np.unique(np.concatenate(years))
    if len(every) < _LEAST_YEARS:
        raise DataError(f"serial=True needs {_LEAST_YEARS} years of data, and there are {len(every)}.")
    signs = np.zeros((len(seasons), len(every), len(every)))
    for k, (season, year) in enumerate(zip(seasons, years, strict=True)):
        found, counts = np.unique(year, return_counts=True)
        if counts.max() > 1:
            raise DataError(
                f"serial=True takes one value a year in each season; {season.name} has {counts.max()} in "
                f"{found[counts.argmax()]}. Take finer seasons, or one value of each."
            )
        at = np.searchsorted(every, year)
        signs[k][np.ix_(at, at)] = order_of(season.y).signs()
    flat, rows = signs.reshape(len(seasons), -1), signs.sum(axis=2)
    out = (0.5 * flat @ flat.T + rows @ rows.T) / 3.0
    np.fill_diagonal(out, 0.0)
    return np.asarray(out)


def _heterogeneity(z: Sequence[float]) -> pd.Series[float]:
    """Chi-squared of equal trends in all seasons, (NDT28)."""
    squares, df = float(np.sum((np.array(z) - np.mean(z)) ** 2)), len(z) - 1
    return pd.Series({"chi2": squares, "df": df, "pvalue": chdtrc(df, squares) if df else np.nan})


def _table(seasons: Sequence[Season], found: Sequence[KendallScore]) -> pd.DataFrame:
    """Results of each season by itself."""
    rows = {}
    for s, f in zip(seasons, found, strict=True):
        z = f.score / np.sqrt(f.variance)
        slope = steps_of([(s.y, s.time)]).zero()
        p = [score_tail(f.score, f.variance), nada_tail(f.score, s.y, s.time)]
        rows[s.name] = [len(s.y), f.score, f.variance, f.tau[0], z, *p, slope]
    return pd.DataFrame.from_dict(
        rows, orient="index", columns=["n", "S", "variance", "tau", "z", "pvalue", "pvalue_nada", "slope"]
    )
