"""Kendall's rank correlation where values of both variables may be non-detects."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtr

from tobitgp.errors import ApproximationWarning, DataError, SpecError, user_level
from tobitgp.method_settings import read_choice
from tobitgp.nondetects.resampling import MANY
from tobitgp.nondetects.sample import Sample
from tobitgp.nondetects.sample_results import (
    PERMUTATIONS,
    NondetectResults,
    describe,
    in_words,
    read_count,
)
from tobitgp.nondetects.value_order import Order, dropped_note, order_of, read_columns
from tobitgp.numerics.sampling import generator
from tobitgp.results.words import LabelledValues
from tobitgp.typing import Array

FEW = 200  # rows up to which p comes from permutations
_BLOCK = 1000
_DISTINCT = 4
_METHODS = ("auto", "permutation", "normal")


class KendallScore(NamedTuple):
    """Kendall's S, and the counts from which its correlations and its variance are computed."""

    score: int
    pairs: int  # n (n - 1) / 2
    ordered: tuple[int, int]  # pairs whose order is known in y, in x
    variance: float  # over all permutations

    @property
    def tau(self) -> tuple[float, float]:
        """tau-a and tau-b."""
        return self.score / self.pairs, self.score / float(np.sqrt(float(self.ordered[0]) * self.ordered[1]))


def concordance(y: Sample, x: Sample) -> KendallScore:
    """Compare all pairs of rows, (NDT20) and (NDT22), a thousand rows with all at a time."""
    of_y, of_x, n = order_of(y), order_of(x), len(y)
    score, in_y, in_x = 0, 0, 0
    for start in range(0, n, _BLOCK):
        rows = slice(start, start + _BLOCK)
        a, b = of_y.signs(rows), of_x.signs(rows)
        score += int(np.sum(a * b, dtype=np.int64))
        in_y, in_x = in_y + int(np.count_nonzero(a)), in_x + int(np.count_nonzero(b))
    triples = [float(np.sum(order.scores() ** 2)) - count for order, count in ((of_y, in_y), (of_x, in_x))]
    variance = triples[0] * triples[1] / (n * (n - 1.0) * (n - 2.0)) + float(in_y) * in_x / (2.0 * n * (n - 1.0))
    return KendallScore(score // 2, n * (n - 1) // 2, (in_y // 2, in_x // 2), variance)


def nada_variance(y: Sample, x: Sample) -> float:
    """Variance of S as in the R package NADA, with its corrections for ties and non-detects, (NDT23)."""
    n = len(y)
    below = []
    for sample in (y, x):
        order = np.lexsort([~sample.censored, sample.values])
        below.append(float(np.flatnonzero(sample.censored[order]).sum()))
    limits = [_ties(sample.values[sample.censored]) for sample in (y, x)]
    detects = [_ties(sample.detects) for sample in (y, x)]
    unordered = sum(below) - 2.0 * below[0] * below[1] / (n * (n - 1.0)) - sum(float(np.sum(t - 1.0)) for t in limits)
    full = n * (n - 1.0) * (2.0 * n + 5.0) / 18.0
    return full - _tie_correction(n, *limits) - _tie_correction(n, *detects) - unordered


def _ties(values: Array) -> Array:
    """Sizes of groups of equal values."""
    return np.asarray(np.unique(values, return_counts=True)[1], dtype=np.float64)


def _tie_correction(n: int, t: Array, u: Array) -> float:
    """Reduction of the variance of S by groups of ties of sizes t in one variable and u in the other."""
    pairs, triples = ([float(np.prod([g - k for k in range(m)], axis=0).sum()) for g in (t, u)] for m in (2, 3))
    alone = sum(float(np.sum(g * (g - 1.0) * (2.0 * g + 5.0))) for g in (t, u))
    return (
        alone / 18.0
        - triples[0] * triples[1] / (9.0 * n * (n - 1.0) * (n - 2.0))
        - pairs[0] * pairs[1] / (2.0 * n * (n - 1.0))
    )


def normal_tail(z: float) -> float:
    """Two-sided p-value of a standard normal statistic."""
    return float(2.0 * ndtr(-abs(z)))


def score_tail(score: float, variance: float) -> float:
    """Two-sided p-value of S by its normal approximation, with a correction for continuity."""
    return normal_tail((abs(score) - 1.0) / np.sqrt(variance)) if score else 1.0


def nada_tail(score: float, y: Sample, x: Sample) -> float:
    """Two-sided p-value by `nada_variance`, NaN if that is not positive, which can occur for few rows with ties."""
    variance = nada_variance(y, x)
    if variance > 0.0:
        return score_tail(score, variance)
    warnings.warn(
        f"The p-value pvalue_nada is NaN: the variance of S by NADA's formula is {variance:.3g}, not positive. "
        "Use pvalue.",
        ApproximationWarning,
        stacklevel=user_level(),
    )
    return float("nan")


def permuted_scores(y: Order, x: Order, draws: int, rng: np.random.Generator) -> Array:
    """S of values of y that are paired with those of x at random, (draws,)."""
    a, b = y.signs().astype(np.float32), x.signs().astype(np.float32).ravel()
    orders = (rng.permutation(len(a)) for _ in range(draws))
    return np.array([0.5 * float(a[np.ix_(p, p)].ravel() @ b) for p in orders])


def monte_carlo(found: float, scores: Array) -> tuple[float, float]:
    """Give p = (1 + K) / (1 + R), where K of R scores are as large as the observed one, and its Monte Carlo error."""
    draws = len(scores)
    p = (1.0 + np.count_nonzero(np.abs(scores) >= abs(found) * (1.0 - 1e-12))) / (1.0 + draws)
    return float(p), float(np.sqrt(p * (1.0 - p) / draws))


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class KendallResults(NondetectResults):
    """Kendall's rank correlation of variables with non-detects: (NDT20) to (NDT23) of the theory pages.

    Attributes
    ----------
    title, method, samples, notes
        As in :class:`tobitgp.nondetects.group_tests.GroupResults`.
    statistic, pvalue : float
        Kendall's S, a number of pairs, and its p-value by ``method``.
    tau_a, tau_b : float
        Correlations, pure numbers: S divided by the number of all pairs, and by the geometric mean of the numbers of
        pairs whose order is known in y and in x.
    variance : float
        Variance of S over all permutations, in units of squared numbers of pairs.
    pvalue_normal : float
        P-value, a probability, by the normal approximation, with a continuity correction.
    pvalue_nada : float
        P-value, a probability, with the variance of the R package NADA, which is too large if many values are
        non-detects.
    pvalue_permutation, pvalue_error : float
        Probability by permutations and its Monte Carlo standard error; NaN if none were drawn.
    n_pairs : int
        Number of pairs.
    n_ordered : (int, int)
        Numbers of pairs whose order is known in y, and in x.
    """

    tau_a: float
    tau_b: float
    variance: float
    pvalue_normal: float
    pvalue_nada: float
    pvalue_permutation: float
    pvalue_error: float
    n_pairs: int
    n_ordered: tuple[int, int]

    @property
    def params(self) -> pd.Series[float]:
        """Both correlations, by name; pure numbers."""
        return pd.Series({"tau-a": self.tau_a, "tau-b": self.tau_b})

    def _numbers(self) -> LabelledValues:
        rows = [("S:", f"{self.statistic:.0f}"), ("Variance of S:", f"{self.variance:.1f}")]
        rows += [("P-value, normal:", in_words(self.pvalue_normal)), ("P-value, NADA's:", in_words(self.pvalue_nada))]
        if not np.isnan(self.pvalue_permutation):
            shown = f"{in_words(self.pvalue_permutation)} (+-{self.pvalue_error:.1g})"
            rows.append(("P-value, permutations:", shown))
        return rows


def kendall(
    y: Any,
    x: Any,
    y_censored: Any = None,
    x_censored: Any = None,
    *,
    method: str = "auto",
    n_permutations: int = PERMUTATIONS,
    rng: int | np.random.Generator | None = None,
) -> KendallResults:
    """Kendall's rank correlation of two variables with non-detects.

    A pair of rows counts if its order is known in both variables. The order is known for two detects, and for a
    non-detect and a detect at or above its limit. Without non-detects the result is that of
    ``scipy.stats.kendalltau``: (NDT20) to (NDT23) of the theory pages.

    Parameters
    ----------
    y, x : array of float (n,)
        Detected values and limits of non-detects, in any units, or text such as ``"<0.5"``; dates are decimal years.
        Rows that lack a value in either are dropped and counted.
    y_censored, x_censored : array (n,), optional
        Flags 0 and 1, or booleans: 1 for non-detects.
    method : {"auto", "permutation", "normal"}
        Method of ``pvalue``. ``"auto"`` uses permutations if n is at most 200, otherwise the normal approximation.
        ``"normal"`` draws no permutations.
    n_permutations : int
        Number of permutations.
    rng : int or numpy Generator, optional
        Generator or seed of the permutations; None uses a fixed seed.

    Returns
    -------
    KendallResults
        S and both correlations with p-values; pure numbers.

    Raises
    ------
    DataError
        If lengths differ, flags are not 0 or 1, x has fewer than 4 distinct values, or either variable has no two
        values of known order.
    SpecError
        If the method is unknown, permutations are requested for more than 5,000 rows, ``n_permutations`` is not a
        positive whole number, or values are right-censored or lie in intervals.

    References
    ----------
    .. [1] D. R. Helsel, *Statistics for Censored Environmental Data Using Minitab and R*, 2nd ed., Wiley, 2012, ch. 11.
    .. [2] B. W. Brown, M. Hollander and R. M. Korwar, "Nonparametric tests of independence for censored data, with
       applications to heart transplant studies", in *Reliability and Biometry*, SIAM, 1974, 327-354.

    Examples
    --------
    >>> import tobitgp as tg
    >>> time = [1, 2, 3, 4, 5, 6, 7, 8]
    >>> res = tg.nondetects.kendall(["<1", 1.5, "<1", 2.0, 1.8, 2.6, 2.4, 3.0], time)
    >>> int(res.statistic), round(res.tau_a, 3), round(res.pvalue, 3)
    (21, 0.75, 0.008)
    """
    read_choice("method", method, _METHODS)
    read_count(n_permutations, "n_permutations")
    (of_y, of_x), kept = read_columns({"y": (y, y_censored), "x": (x, x_censored)})
    check_ranks(of_y, of_x)
    found = concordance(of_y, of_x)
    normal, p, error = score_tail(found.score, found.variance), np.nan, np.nan
    drawn = method == "permutation" or (method == "auto" and len(of_y) <= FEW)
    if drawn and len(of_y) > MANY:
        raise SpecError(f"method='permutation' keeps all pairs, and takes {MANY} rows: of {len(of_y)} use 'normal'.")
    if drawn:
        scores = permuted_scores(order_of(of_y), order_of(of_x), n_permutations, generator(rng))
        p, error = monte_carlo(found.score, scores)
    tau_a, tau_b = found.tau
    return KendallResults(
        title="Kendall's rank correlation with non-detects",
        method=f"{n_permutations} permutations" if drawn else "normal approximation",
        samples=describe({"y": of_y, "x": of_x}),
        statistic=float(found.score),
        pvalue=p if drawn else normal,
        notes=(*dropped_note(kept), "Pairs without a known order count as neither concordant nor discordant."),
        tau_a=tau_a,
        tau_b=tau_b,
        variance=found.variance,
        pvalue_normal=normal,
        pvalue_nada=nada_tail(found.score, of_y, of_x),
        pvalue_permutation=p,
        pvalue_error=error,
        n_pairs=found.pairs,
        n_ordered=found.ordered,
    )


def check_ranks(y: Sample, x: Sample, of: str = "") -> None:
    """Raise an error for too few distinct x, and for variables in which no order is known."""
    count = len(np.unique(x.values))
    if count < _DISTINCT:
        raise DataError(f"{x.name!r}{of} has {count} distinct values; a rank correlation needs {_DISTINCT}.")
    for sample in (y, x):
        sample.check_left("Kendall's correlation")
        if not order_of(sample).scores().any():
            raise DataError(f"{sample.name!r}{of} has no two values of which one is known to be larger.")
