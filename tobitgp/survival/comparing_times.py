"""Log-rank tests of survival, and Gray's tests of cumulative incidence, between groups."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.frames import reads_frames
from tobitgp.data.notebook import html_of_text
from tobitgp.errors import DataError, SpecError, user_level
from tobitgp.nondetects.sample_results import in_words
from tobitgp.numerics.rank_tests import TimesOfGroups, fleming_harrington, gray, log_rank
from tobitgp.survival.grouped_times import GroupedTimes, read_causes, read_times
from tobitgp.typing import Array, Frame


@dataclass(frozen=True, slots=True, repr=False)
class LogRank:
    """A log-rank test, or another of its family, (NPT5) and (NPT6); prints as R's ``survdiff``.

    Attributes
    ----------
    statistic, pvalue : float
        Chi-squared with ``df`` degrees of freedom, and its probability.
    df : int
        Rank of the covariance of O - E: the number of groups less one, if all were at risk together; 1 for a trend.
    groups : DataFrame
        Indexed by the columns of groups: ``n``, weight of the rows, ``observed`` and ``expected``, weighted numbers of
        events, ``chi2_expected``, (O - E)^2 / E, and ``chi2_variance``, (O - E)^2 / V, with the variance of O - E.
    method : str
        What was computed.
    """

    statistic: float
    df: int
    pvalue: float
    groups: pd.DataFrame
    method: str

    def __repr__(self) -> str:
        shown = self.groups.rename(columns={"chi2_expected": "(O-E)^2/E", "chi2_variance": "(O-E)^2/V"})
        words = f"{self.method}: chi2({self.df}) = {self.statistic:.5g}, p = {in_words(self.pvalue)}"
        lines = shown.to_string(float_format="{:.5g}".format).splitlines()
        return "\n".join([*(line.rstrip() for line in lines), "", words])

    def _repr_html_(self) -> str:
        """The test and its groups, in a notebook."""
        return html_of_text(self)


@reads_frames
def logrank_test(
    formula: str,
    data: Frame,
    *,
    strata: str | Sequence[str] | None = None,
    rho: float = 0.0,
    gamma: float = 0.0,
    trend: bool = False,
    weights: str | None = None,
) -> LogRank:
    r"""Test whether groups have the same survival, by the log-rank test or another of its family: (NPT5) and (NPT6).

    Parameters
    ----------
    formula : str
        ``"Surv(time, event) ~ sex"``: times left, columns of two or more groups right. Late entry is written
        ``Surv(entry, time, event)``.
    data : DataFrame or dict of columns
        A row for each subject; never modified. Rows without a time or a group are dropped, with a warning.
    strata : str or sequence of str, optional
        Columns within whose values groups are compared.
    rho, gamma : float
        Powers of the weights :math:`S(t-)^\rho \{1 - S(t-)\}^\gamma` of Fleming and Harrington, pure numbers. ``rho=1``
        is the Peto-Peto test, with more weight on early events, ``gamma=1`` puts more on late ones.
    trend : bool
        Test for a hazard that rises or falls along the groups: along their values if there is one column of numbers,
        else along 1, 2, ...
    weights : str, optional
        Column of frequency weights.

    Returns
    -------
    LogRank
        Statistic, p-value, and a table of the groups.

    Raises
    ------
    FormulaError
        If the formula cannot be read.
    DataError
        If there is one group or no event, no event while rows of two groups are at risk (within a stratum), for a
        column that is missing, missing values in ``strata``, or a row that ends at or before its entry.
    SpecError
        If rows are left-censored or lie in intervals, for several causes of events, or a negative power.

    References
    ----------
    .. [1] T. R. Fleming and D. P. Harrington, *Counting Processes and Survival Analysis*, Wiley, 1991, chapter 7.

    Examples
    --------
    >>> import tobitgp as tg
    >>> tg.survival.logrank_test("Surv(time, event) ~ sex", tg.datasets.load("lung"))
          n  observed  expected  (O-E)^2/E  (O-E)^2/V
    sex
    1   138       112    91.582     4.5523     10.327
    2    90        53    73.418     5.6785     10.327
    <BLANKLINE>
    log-rank: chi2(1) = 10.327, p = 0.0013
    """
    for name, power in (("rho", rho), ("gamma", gamma)):
        _check_power(name, power)
    read = read_times(formula, data, weights)
    read.check_right("logrank_test()")
    read.check_groups("logrank_test()")
    k = len(read.keys)
    scores = log_rank(_rows(read, 1), k, read.strata(strata), fleming_harrington(rho, gamma))
    statistic, df, p = scores.trend(_dose(read)) if trend else scores.statistic
    if not df:
        raise DataError(f"logrank_test() has nothing to compare: {_why_nothing(strata)}.")
    excess, variance = scores.observed - scores.expected, np.diag(scores.covariance)
    table = pd.DataFrame(
        {
            "n": np.bincount(read.group, weights=read.seen.weight, minlength=k),
            "observed": scores.observed,
            "expected": scores.expected,
            "chi2_expected": _ratio(excess**2, scores.expected),
            "chi2_variance": _ratio(excess**2, variance),
        },
        index=_index(read),
    )
    read.check_names(list(table.columns))
    name = "log-rank" if not (rho or gamma) else f"Fleming-Harrington, rho = {rho:g}, gamma = {gamma:g}"
    return LogRank(statistic, df, p, table, name + ", trend" * bool(trend) + ", stratified" * (strata is not None))


def _why_nothing(strata: Any) -> str:
    """Why the scores of all groups have variance 0."""
    within = "" if strata is None else f" in each stratum of {strata!r}"
    return f"at each event{within}, the rows at risk belong to one group, or all of them have the event"


def _check_power(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not 0.0 <= value < np.inf:
        raise SpecError(f"{name}={value!r}: {name} must be a number of at least 0, e.g. {name}=1.")


def _rows(read: GroupedTimes, cause: int) -> TimesOfGroups:
    """Rows with the events of a cause as 1, those of others as 2."""
    code = np.where(read.code == 0, 0, np.where(read.code == cause, 1, 2))
    return TimesOfGroups(read.seen.lower, code, read.seen.weight, read.seen.entry, read.group)


def _dose(read: GroupedTimes) -> Array:
    """Numbers of the groups for a trend."""
    values = [key[0] for key in read.keys]
    numbers = len(read.by) == 1 and all(isinstance(value, (int, float, np.number)) for value in values)
    return np.asarray(values if numbers else range(1, len(values) + 1), dtype=np.float64)


def _index(read: GroupedTimes) -> pd.Index[Any]:
    if len(read.by) == 1:
        return pd.Index([key[0] for key in read.keys], name=read.by[0])
    return pd.MultiIndex.from_tuples(read.keys, names=read.by)


def _ratio(a: Array, b: Array) -> Array:
    return np.divide(a, b, out=np.full_like(a, np.nan), where=b > 0.0)


@reads_frames
def gray_test(
    formula: str,
    data: Frame,
    *,
    strata: str | Sequence[str] | None = None,
    rho: float = 0.0,
    weights: str | None = None,
) -> pd.DataFrame:
    r"""Test whether groups have the same cumulative incidence of each cause, by Gray's test: (NPT7) to (NPT9).

    Parameters
    ----------
    formula : str
        ``"Surv(time, cause) ~ arm"``, as in :func:`tobitgp.survival.cumulative_incidence`, with two or more groups.
    data, strata
        As in :func:`tobitgp.survival.logrank_test`.
    rho : float
        Power of the weights :math:`\{1 - F(t-)\}^\rho`, a pure number; ``rho=1`` puts more weight on early events.
    weights : str, optional
        Column of frequency weights.

    Returns
    -------
    DataFrame
        A row for each cause: ``statistic``, chi-squared with ``df`` degrees of freedom, and ``pvalue``. If no event of
        a cause occurs while rows of two groups are at risk, ``df`` is 0 and ``pvalue`` is NaN, with a warning.

    Raises
    ------
    FormulaError
        If the formula cannot be read.
    DataError
        If there is one group, for a column that is missing, or missing values in ``strata``.
    SpecError
        If there is one kind of event, rows entered late, or a power is negative.

    References
    ----------
    .. [1] R. J. Gray, "A class of K-sample tests for comparing the cumulative incidence of a competing risk", *Annals
       of Statistics* 16 (1988), 1141-1154.

    Examples
    --------
    >>> import tobitgp as tg
    >>> data = {"time": range(1, 13), "cause": [1, 2, 1, 0, 1, 1, 2, 2, 0, 2, 1, 2], "arm": list("aaababbabbab")}
    >>> tg.survival.gray_test("Surv(time, cause) ~ arm", data).round(4).reset_index()
       cause  statistic  df  pvalue
    0      1     2.1751   1  0.1403
    1      2     0.0216   1  0.8833
    """
    _check_power("rho", rho)
    read = read_causes(formula, data, weights)
    read.check_groups("gray_test()")
    if read.seen.late:
        raise SpecError(
            "gray_test() does not support late entry. Use logrank_test() of one cause, Surv(t, cause == 1)."
        )
    stratum, k = read.strata(strata), len(read.keys)
    found = [gray(_rows(read, cause), k, stratum, float(rho)).statistic for cause in range(1, len(read.causes) + 1)]
    empty = [repr(cause) for cause, (_, df, _) in zip(read.causes, found, strict=True) if not df]
    if empty:
        message = f"gray_test() has nothing to compare of cause {', '.join(empty)}: {_why_nothing(strata)}."
        warnings.warn(message, UserWarning, stacklevel=user_level())
    return pd.DataFrame(found, columns=["statistic", "df", "pvalue"], index=pd.Index(read.causes, name="cause"))
