"""Tests of paired values with non-detects: signs, signed ranks, and the likelihood of differences in intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import bdtrc, ndtri

from tobitgp.api import fit
from tobitgp.errors import DataError
from tobitgp.method_settings import read_choice
from tobitgp.nondetects.kendall import normal_tail
from tobitgp.nondetects.sample import Sample
from tobitgp.nondetects.sample_results import NondetectResults, describe, in_words
from tobitgp.nondetects.value_order import dropped_note, read_columns
from tobitgp.results.predict import check_alpha
from tobitgp.results.words import LabelledValues
from tobitgp.typing import Array

_LEAST = 2
_ROUNDING = 4 * np.finfo(np.float64).eps  # of a difference, in its terms


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class PairedResults(NondetectResults):
    """A test of pairs of values with non-detects: (NDT33) to (NDT35) of the theory pages.

    Attributes
    ----------
    title, method, samples, notes
        As in :class:`tobitgp.nondetects.group_tests.GroupResults`.
    statistic, pvalue : float
        z for signed ranks and the likelihood, or the number of positive differences for the sign test; and the p-value.
    estimates : Series of float
        Differences x - y, in the units of x, or ratios, by name.
    bse : Series of float
        Standard errors in the same units, on the log scale for a ratio; NaN if there is no interval.
    counts : dict of int
        Numbers of pairs with x above y, with x below y, and of ties.
    pvalue_ties : float
        P-value of the sign test with ties counted, a probability; NaN for other methods.
    ratio : bool
        Whether the first estimate is a ratio.
    """

    estimates: pd.Series[float]
    bse: pd.Series[float]
    counts: dict[str, int]
    pvalue_ties: float = np.nan
    ratio: bool = False

    @property
    def params(self) -> pd.Series[float]:
        """Mean difference x - y, in units of x, and its standard deviation, or the estimates of the method, by name."""
        return self.estimates

    def conf_int(self, alpha: float = 0.05) -> pd.DataFrame:
        """Interval of the mean difference, in units of x, or of the ratio; NaN for other estimates."""
        reach = float(ndtri(1.0 - 0.5 * check_alpha(alpha))) * self.bse
        ends = {"lower": self.estimates - reach, "upper": self.estimates + reach}
        if self.ratio:
            ends = {"lower": self.estimates / np.exp(reach), "upper": self.estimates * np.exp(reach)}
        return pd.DataFrame(ends)

    def _numbers(self) -> LabelledValues:
        whole = float(self.statistic).is_integer()
        rows = [("Statistic:", f"{self.statistic:.0f}" if whole else f"{self.statistic:.4f}")]
        rows.append(("P-value:", in_words(self.pvalue)))
        if not np.isnan(self.pvalue_ties):
            rows.append(("P-value, ties counted:", in_words(self.pvalue_ties)))
        return [*rows, *((f"Pairs {name}:", str(count)) for name, count in self.counts.items())]


def test_paired(
    x: Any,
    y: Any,
    x_censored: Any = None,
    y_censored: Any = None,
    *,
    method: str = "signed_rank",
    log: bool = False,
) -> PairedResults:
    """Test whether the values of pairs differ, where both may be non-detects: (NDT33) to (NDT35) of the theory pages.

    Parameters
    ----------
    x, y : array of float (n,)
        Detected values and limits of non-detects, in one unit, or text such as ``"<0.5"``. Pairs that lack a value are
        dropped and counted.
    x_censored, y_censored : array (n,), optional
        Flags 0 and 1, or booleans: 1 for non-detects.
    method : {"signed_rank", "sign", "mle"}
        ``"signed_rank"`` is Wilcoxon's test with zeros after Pratt, ``"sign"`` the sign test. Both treat pairs of
        unknown order as ties: two non-detects, and a non-detect whose limit is above the detect. ``"mle"`` is the z
        test of the mean of normal differences, each of which lies in an interval, since a non-detect is between 0 and
        its limit.
    log : bool
        Whether to take differences of logarithms, for a ratio of geometric means.

    Returns
    -------
    PairedResults
        Statistic and p-value, pure numbers; for ``"mle"`` also the mean difference, in units of x, with its interval.

    Raises
    ------
    DataError
        If lengths differ, flags are not 0 or 1, all pairs are ties, or values are not positive where they must be.
    SpecError
        If the method is unknown, or values are right-censored or lie in intervals.

    References
    ----------
    .. [1] J. W. Pratt, "Remarks on zeros and ties in the Wilcoxon signed rank procedures", *JASA* 54 (1959), 655-667.
    .. [2] D. Y. T. Fong, C. W. Kwan, K. F. Lam and K. S. L. Lam, "Use of the sign test for the median in the presence
       of ties", *The American Statistician* 57 (2003), 237-240.

    Examples
    --------
    >>> import tobitgp as tg
    >>> june = [0.38, 0.04, "<0.01", 0.03, 0.03, 0.05, 0.02, "<0.01", 0.11, 0.09]
    >>> sept = [2.66, 0.63, 0.59, 0.05, 0.84, 0.58, 0.02, "<0.01", 0.09, 0.31]
    >>> res = tg.nondetects.test_paired(june, sept, method="sign")
    >>> res.counts, round(res.pvalue, 4)
    ({'x > y': 1, 'x < y': 7, 'tied': 2}, 0.0703)
    """
    read_choice("method", method, _TESTS)
    (of_x, of_y), kept = read_columns({"x": (x, x_censored), "y": (y, y_censored)})
    for sample in (of_x, of_y):
        sample.check_left("test_paired()")
        if log:
            sample.check_positive("log=True")
        elif method == "mle":
            sample.take(sample.censored).check_positive("method='mle'")
    difference = _tied_differences(of_x, of_y, log)
    found = _TESTS[method](of_x, of_y, difference, log)
    signs = {"x > y": difference > 0.0, "x < y": difference < 0.0, "tied": difference == 0.0}
    return PairedResults(
        title="Paired test with non-detects",
        samples=describe({"x": of_x, "y": of_y}),
        counts={name: int(rows.sum()) for name, rows in signs.items()},
        **found | {"notes": (*dropped_note(kept), *found["notes"])},
    )


def _tied_differences(x: Sample, y: Sample, log: bool) -> Array:
    """Differences x - y, or of logarithms, and 0 if the order is not known; (NDT33)."""
    a, b = (np.log(s.values) if log else s.values for s in (x, y))
    out = _without_rounding(a - b, _ROUNDING * np.maximum(np.abs(a), np.abs(b)))
    equal = (out == 0.0) & (x.censored ^ y.censored)
    out[x.censored & y.censored | x.censored & (out > 0.0) | y.censored & (out < 0.0)] = 0.0
    # A non-detect at the value of the detect is below it, by less than any other difference.
    least = 0.5 * np.abs(out[out != 0.0]).min(initial=1.0)
    out[equal] = np.where(x.censored[equal], -least, least)
    return out


def _without_rounding(difference: Array, error: Array) -> Array:
    """Differences, with sizes made equal if they agree up to the rounding errors of their pairs."""
    order = np.argsort(np.abs(difference))
    size, error = np.abs(difference)[order], error[order]
    apart = np.diff(size, prepend=0.0) > error + np.concatenate([[0.0], error[:-1]])
    _, first, group = np.unique(np.cumsum(apart), return_index=True, return_inverse=True)
    out = np.empty_like(difference)
    out[order] = np.where(apart.cumsum() == 0, 0.0, size[first][group])
    return np.copysign(out, difference)


def _check_untied(difference: Array) -> Array:
    """Differences that are not ties."""
    if not difference.any():
        raise DataError(f"All {len(difference)} pairs are ties, or of unknown order.")
    return difference[difference != 0.0]


def _sign(x: Sample, y: Sample, difference: Array, log: bool) -> dict[str, Any]:
    """Binomial test of the signs of pairs without ties, and Fong's p with ties counted; (NDT34)."""
    untied, n = _check_untied(difference), len(difference)
    above = int((untied > 0.0).sum())
    larger, ties = max(above, len(untied) - above), n - len(untied)
    middle = (n - ties + 1) // 2
    share = pd.Series({"share x > y": above / len(untied)})
    return {
        "method": "sign test",
        "statistic": float(above),
        "pvalue": min(1.0, 2.0 * float(bdtrc(larger - 1, len(untied), 0.5))),
        "pvalue_ties": min(1.0, float(bdtrc(larger - 1, n, 0.5) / bdtrc(middle - 1, n, 0.5))),
        "estimates": share,
        "bse": share * np.nan,
        "notes": ("Pairs of unknown order are ties; p is binomial without them, and after Fong et al. with them.",),
    }


def _signed_rank(x: Sample, y: Sample, difference: Array, log: bool) -> dict[str, Any]:
    """Wilcoxon's signed ranks, normal approximation, zeros after Pratt."""
    from scipy.stats import wilcoxon

    _check_untied(difference)
    options: dict[str, Any] = {"zero_method": "pratt", "method": "asymptotic", "alternative": "greater"}
    found: Any = wilcoxon(difference, **options)
    z = float(found.zstatistic)
    middle = pd.Series(
        {"median of log ratios, ties as 0" if log else "median difference, ties as 0": np.median(difference)}
    )
    return {
        "method": "signed ranks, Pratt's zeros",
        "statistic": z,
        "pvalue": normal_tail(z),
        "estimates": middle,
        "bse": middle * np.nan,
        "notes": ("Pairs of unknown order are ties; differences from a non-detect are those from its limit.",),
    }


def intervals(x: Sample, y: Sample, log: bool) -> tuple[Array, Array]:
    """Bounds on x - y, or on the difference of logarithms, (n,) each; (NDT35)."""
    (a, b), lowest = (np.log(s.values) if log else s.values for s in (x, y)), -np.inf if log else 0.0
    return np.where(x.censored, lowest, a) - b, a - np.where(y.censored, lowest, b)


def _mle(x: Sample, y: Sample, difference: Array, log: bool) -> dict[str, Any]:
    """Normal likelihood of differences in intervals, and the z test of their mean."""
    lower, upper = intervals(x, y, log)
    known = np.isfinite(lower) | np.isfinite(upper)
    _check_spread(lower[known], upper[known])
    res: Any = fit("interval(lower, upper) ~ 1", {"lower": lower[known], "upper": upper[known]}, family="gaussian")
    z = float(res.params["Intercept"] / res.bse["Intercept"])
    mean, sd = res.params[["Intercept", "sigma"]]
    names = ["ratio x / y", "sd of log ratios"] if log else ["mean difference", "sd of differences"]
    lost = int((~known).sum())
    notes = (f"{lost} pairs of two non-detects say nothing of their ratio.",) if lost else ()
    return {
        "method": "normal likelihood of intervals",
        "statistic": z,
        "pvalue": normal_tail(z),
        "estimates": pd.Series([np.exp(mean) if log else mean, sd], index=names),
        "bse": pd.Series([res.bse["Intercept"], np.nan], index=names),
        "ratio": log,
        "notes": (*notes, "One extreme difference can decide a mean; signed ranks ask for less."),
    }


def _check_spread(lower: Array, upper: Array) -> None:
    """Raise an error for differences without a standard deviation."""
    exact = lower[lower == upper]
    if len(np.unique(exact)) < _LEAST:
        raise DataError(
            f"{len(exact)} pairs are detected in both, with {len(np.unique(exact))} distinct differences; "
            f"method='mle' needs {_LEAST}."
        )


_TESTS: dict[str, Callable[[Sample, Sample, Array, bool], dict[str, Any]]] = {
    "signed_rank": _signed_rank,
    "sign": _sign,
    "mle": _mle,
}
