"""Tests of whether groups of values with non-detects come from one distribution."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import chdtrc, ndtri

from tobitgp.api import fit
from tobitgp.data.values import counted
from tobitgp.errors import DataError, SpecError
from tobitgp.method_settings import read_choice
from tobitgp.model import Model
from tobitgp.nondetects.sample import Sample, groups_of, sample_of
from tobitgp.nondetects.sample_results import (
    PERMUTATIONS,
    NondetectResults,
    describe,
    in_words,
    read_count,
)
from tobitgp.nondetects.value_order import flipped, order_of, peto_scores, recensored
from tobitgp.numerics.rank_tests import (
    TimesOfGroups,
    Weighting,
    fleming_harrington,
    gehan,
    log_rank,
    prentice,
    tarone_ware,
)
from tobitgp.numerics.sampling import generator
from tobitgp.results.predict import check_alpha
from tobitgp.results.words import LabelledValues
from tobitgp.typing import Array, BoolArray, Frame, IntArray

GroupRows = dict[str, BoolArray]

# Of lifelines' multivariate_logrank_test on flipped values, with the name that tables have.
_WEIGHTS: dict[str, tuple[str, Weighting]] = {
    "peto": ("Peto-Peto, weights S (G-rho with rho = 1)", fleming_harrington(1.0)),
    "peto-prentice": ("Peto-Peto, weights by Prentice's estimate", prentice),
    "gehan": ("Gehan, hypergeometric variance", gehan),
    "tarone-ware": ("Tarone-Ware", tarone_ware),
    "logrank": ("log-rank", fleming_harrington()),
}
_METHODS = (*_WEIGHTS, "mle", "permutation")
_ADJUST = ("holm", "bonferroni", "hommel", "fdr_bh", "fdr_by")


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class GroupResults(NondetectResults):
    """A test of k groups of values with non-detects: (NDT30) to (NDT32) of the theory pages.

    Attributes
    ----------
    title, method : str
        What was computed, and the method.
    samples : DataFrame
        One row per sample: n, number and share of non-detects, and their limits in the units of y.
    statistic, pvalue : float
        Chi-squared statistic with ``df`` degrees of freedom, and its p-value.
    notes : tuple of str
        Notes that the summary prints.
    df : int
        Number of groups less one.
    estimates : Series of float
        Mean Gehan scores by group, pure numbers between -1 (values below all others) and 1; with ``"mle"``, ratios of
        geometric means by pair.
    errors : Series of float
        Standard errors of the logarithms of the ratios, pure numbers; NaN for scores.
    pairwise : DataFrame
        ``statistic, pvalue, pvalue_adjusted`` by pair, for three groups or more; pure numbers.
    pvalue_error : float
        Monte Carlo standard error of ``pvalue``, a probability; NaN without permutations.
    """

    df: int
    estimates: pd.Series[float]
    errors: pd.Series[float]
    pairwise: pd.DataFrame
    pvalue_error: float = np.nan

    @property
    def params(self) -> pd.Series[float]:
        """Mean scores by group, pure numbers between -1 and 1, or ratios of geometric means by pair."""
        return self.estimates

    def conf_int(self, alpha: float = 0.05) -> pd.DataFrame:
        """Intervals of ratios of geometric means, pure numbers, formed on the log scale; NaN for scores."""
        reach = np.exp(float(ndtri(1.0 - 0.5 * check_alpha(alpha))) * self.errors)
        return pd.DataFrame({"lower": self.estimates / reach, "upper": self.estimates * reach})

    def _numbers(self) -> LabelledValues:
        error = "" if np.isnan(self.pvalue_error) else f" (+-{self.pvalue_error:.1g})"
        name = "Statistic:" if error else f"Chi2({self.df}):"
        return [(name, f"{self.statistic:.4f}"), ("P-value:", in_words(self.pvalue) + error)]

    def _tables(self) -> dict[str, pd.DataFrame]:
        return {"pair": self.pairwise} if len(self.pairwise) else {}


def test_groups(
    formula: str,
    data: Frame,
    *,
    method: str = "peto",
    adjust: str = "holm",
    recensor: bool = False,
    n_permutations: int = PERMUTATIONS,
    rng: int | np.random.Generator | None = None,
) -> GroupResults:
    """Test whether groups of values with non-detects come from one distribution.

    The signs of the values are reversed, so that non-detects are right-censored, and rank tests of survival times
    compare the groups, (NDT30) to (NDT32) of the theory pages. No non-detect is replaced by a number.

    Parameters
    ----------
    formula : str
        ``"conc ~ zone | censor(nondetect=nd)"``: any response of :func:`tobitgp.fit`, and one column of groups.
    data : DataFrame or dict of columns
        Never modified; rows that lack a value are dropped and counted.
    method : {"peto", "peto-prentice", "gehan", "tarone-ware", "logrank", "mle", "permutation"}
        The first five are weights of the log-rank family; all of them but ``"logrank"`` weight high concentrations
        more. ``"peto"`` has weights S(t), the G-rho family with rho = 1 (R's ``survdiff``, NADA). ``"peto-prentice"``
        has those of Prentice's estimate (EnvStats). ``"permutation"`` permutes the scores of Peto and Peto. ``"mle"``
        is the likelihood ratio test of log-normal distributions with a common log scale, with ratios of geometric
        means.
    adjust : {"holm", "bonferroni", "hommel", "fdr_bh", "fdr_by"}
        Adjustment of the p-values of pairs, by its name in statsmodels.
    recensor : bool
        Whether to treat all values below the highest limit as non-detects at that limit.
    n_permutations, rng
        As in :func:`tobitgp.nondetects.kendall`.

    Returns
    -------
    GroupResults
        Statistic, p-value, and mean scores or ratios of geometric means; pure numbers.

    Raises
    ------
    FormulaError
        If the formula cannot be read.
    DataError
        If there is only one group, or no detected value; for ``method="mle"`` also if there are fewer than two distinct
        detected values, or a group has none.
    SpecError
        If the right-hand side is not one column, a choice is unknown, or values are right-censored or lie in intervals,
        which only ``method="mle"`` supports.

    References
    ----------
    .. [1] R. Peto and J. Peto, "Asymptotically efficient rank invariant test procedures", *JRSS A* 135 (1972), 185-207.
    .. [2] D. R. Helsel, *Statistics for Censored Environmental Data Using Minitab and R*, 2nd ed., Wiley, 2012,
       ch. 9-10.

    Examples
    --------
    >>> import tobitgp as tg
    >>> data = {"zinc": ["<10", "12", "15", "<10", "20", "<3", "4", "9", "<10", "7"], "zone": list("aaaaabbbbb")}
    >>> res = tg.nondetects.test_groups("zinc ~ zone", data)
    >>> round(res.statistic, 3), res.df, round(res.pvalue, 4)
    (3.75, 1, 0.0528)
    """
    read_choice("method", method, _METHODS)
    read_choice("adjust", adjust, _ADJUST)
    read_count(n_permutations, "n_permutations")
    sample, groups = _read(formula, data)
    if method != "mle":
        sample.check_left(f"method={method!r}")
    if recensor:
        sample = recensored(sample)
    _check_groups(sample, groups, method)
    test = _Test(method, n_permutations, rng)
    statistic, p, error = test(sample, groups)
    ratios, errors = _ratios(sample, groups) if method == "mle" else _mean_scores(sample, groups)
    return GroupResults(
        title="Test of groups with non-detects",
        method=_label(method, n_permutations),
        samples=describe({name: sample.take(rows) for name, rows in groups.items()}),
        statistic=statistic,
        pvalue=p,
        notes=tuple(_notes(sample, method, adjust, recensor, len(groups))),
        df=len(groups) - 1,
        estimates=ratios,
        errors=errors,
        pairwise=_pairwise(test, sample, groups, adjust),
        pvalue_error=error,
    )


def _read(formula: str, data: Frame) -> tuple[Sample, GroupRows]:
    """The response of a formula, and the rows of each group of its one column on the right-hand side."""
    model = Model(formula, data, family="gaussian")
    names = [v.name for v in model.spec.variables if v.role == "linear"]
    if len(names) != 1 or model.spec.processes:
        raise SpecError(f"{formula!r} must have one column of groups right of '~', as in 'conc ~ zone'.")
    frame = model.data.frame
    assert frame is not None
    return sample_of(model, model.endog_names), groups_of(frame[names[0]].reset_index(drop=True))


def _check_groups(sample: Sample, groups: GroupRows, method: str) -> None:
    """Raise an error for one group or too few detects; for a likelihood also for a group without detects."""
    if len(groups) < 2:
        raise DataError(f"All rows are in the group {next(iter(groups))!r}; a comparison needs two at least.")
    sample.check_detects(least=2 if method == "mle" else 1)
    for name, rows in groups.items() if method == "mle" else ():
        part = sample.take(rows)
        if not len(part.detects):
            raise DataError(
                f"The group {name!r} has no detected value in {len(part)} rows, and method='mle' estimates its mean; "
                "the other methods compare it."
            )


@dataclass(frozen=True, slots=True)
class _Test:
    """The test of a method, applied to all groups and to pairs of groups."""

    method: str
    draws: int
    rng: int | np.random.Generator | None

    def __call__(self, sample: Sample, groups: GroupRows) -> tuple[float, float, float]:
        """Statistic, p and its Monte Carlo error of some groups, other rows left out."""
        rows = np.any(list(groups.values()), axis=0)
        part, code = sample.take(rows), _codes(groups)[rows]
        if self.method == "mle":
            res = _fit_lognormal(part, code)
            ratio = max(2.0 * (res.llf - res.llnull), 0.0)
            return ratio, float(chdtrc(code.max(), ratio)), np.nan
        if not order_of(part).scores().any():
            return 0.0, 1.0, np.nan  # no two values are of known order
        if self.method == "permutation":
            return _permuted(part, code, self.draws, generator(self.rng))
        n, at = len(part), (~part.censored).astype(int)
        times = TimesOfGroups(flipped(part), at, np.ones(n), np.full(n, -np.inf), code)
        statistic, df, p = log_rank(times, len(groups), np.zeros(n, dtype=int), _WEIGHTS[self.method][1]).statistic
        return statistic, p if df else 1.0, np.nan


def _permuted(sample: Sample, code: IntArray, draws: int, rng: np.random.Generator) -> tuple[float, float, float]:
    """Weighted squares of groups' mean scores, (NDT32), and how often those of permuted scores are as large."""
    from scipy.stats import permutation_test

    scores = peto_scores(sample)

    def between(*parts: Array, axis: int = -1) -> Any:
        return sum(part.sum(axis=axis) ** 2 / part.shape[axis] for part in parts)

    parts = [scores[code == k] for k in np.unique(code)]
    options: dict[str, Any] = {"alternative": "greater", "n_resamples": draws, "batch": 1000, "rng": rng}
    found = permutation_test(parts, between, vectorized=True, **options)
    p = float(found.pvalue)
    exact = len(found.null_distribution) < draws
    return (
        float(found.statistic) / float(np.var(scores, ddof=1)),
        p,
        0.0 if exact else float(np.sqrt(p * (1.0 - p) / draws)),
    )


def _fit_lognormal(sample: Sample, code: IntArray) -> Any:
    """Lognormal distributions of groups, whose logarithms have one standard deviation."""
    sample.check_positive("method='mle'")
    data = {"lower": np.maximum(sample.lower, 0.0), "upper": sample.upper, "group": [f"{k:09d}" for k in code]}
    return fit("interval(lower, upper) ~ group", data, family="lognormal")


def _ratios(sample: Sample, groups: GroupRows) -> tuple[pd.Series[float], pd.Series[float]]:
    """Ratios of geometric means of all pairs of groups, and standard errors of their logarithms."""
    res = _fit_lognormal(sample, _codes(groups))
    k, (below, above) = len(groups), np.transpose(list(combinations(range(len(groups)), 2)))
    contrasts = np.eye(k)[above] - np.eye(k)[below]
    contrasts[:, 0] = 0.0  # the intercept
    cov = res.cov_params().to_numpy()[:k, :k]
    index = [f"{b} / {a}" for a, b in combinations(groups, 2)]
    logs, errors = contrasts @ res.params.to_numpy()[:k], np.sqrt(np.sum(contrasts @ cov * contrasts, axis=1))
    return pd.Series(np.exp(logs), index=index), pd.Series(errors, index=index)


def _mean_scores(sample: Sample, groups: GroupRows) -> tuple[pd.Series[float], pd.Series[float]]:
    """Mean scores after Gehan over the number of other rows."""
    scores = order_of(sample).scores() / (len(sample) - 1.0)
    means = pd.Series({name: float(scores[rows].mean()) for name, rows in groups.items()})
    return means, means * np.nan


def _codes(groups: GroupRows) -> IntArray:
    """Numbers of the groups of the rows."""
    return np.asarray(np.select(list(groups.values()), list(range(len(groups)))), dtype=np.intp)


def _pairwise(test: _Test, sample: Sample, groups: GroupRows, adjust: str) -> pd.DataFrame:
    """The test of each pair of groups, where there are three or more, with adjusted p-values."""
    columns = ["statistic", "pvalue", "pvalue_adjusted"]
    if len(groups) < 3:
        return pd.DataFrame(columns=columns, dtype=np.float64)
    from statsmodels.stats.multitest import multipletests

    pairs = list(combinations(groups, 2))
    found = np.array([test(sample, {name: groups[name] for name in pair})[:2] for pair in pairs])
    adjusted = multipletests(found[:, 1], method=adjust)[1]
    return pd.DataFrame(np.column_stack([found, adjusted]), index=[f"{a} - {b}" for a, b in pairs], columns=columns)


def _label(method: str, draws: int) -> str:
    """Name of a method in tables."""
    if method == "mle":
        return "likelihood ratio, lognormal"
    return _WEIGHTS[method][0] if method in _WEIGHTS else f"Peto-Peto scores, {draws} permutations"


def _notes(sample: Sample, method: str, adjust: str, recensor: bool, k: int) -> list[str]:
    notes = [f"Left out: {counted(sample.dropped, 'row')} without a value."] if sample.dropped else []
    if recensor:
        notes.append("Values below the highest limit were made non-detects at that limit.")
    what = {"mle": "ratios of geometric means"}.get(method, "mean scores after Gehan, between -1 (low) and 1 (high)")
    notes.append(f"Estimates: {what}.")
    return [*notes, f"P-values of pairs are adjusted by {adjust}."] if k > 2 else notes
