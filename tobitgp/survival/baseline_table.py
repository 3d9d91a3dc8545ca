"""Table 1: what the columns of the data are in each group, with tests and standardised differences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.frames import reads_frames
from tobitgp.data.table import column_names, in_days
from tobitgp.errors import DataError, SpecError
from tobitgp.nondetects.group_tests import test_groups
from tobitgp.nondetects.means import kaplan_meier_of
from tobitgp.nondetects.sample import Sample
from tobitgp.nondetects.sample_results import read_count
from tobitgp.report.group_curves import Seen
from tobitgp.survival.comparing_times import logrank_test
from tobitgp.survival.curve_tables import median_with_limits, turnbull_of
from tobitgp.survival.grouped_times import check_column, check_values, in_memory, in_words, read_times, with_groups
from tobitgp.typing import Array, BoolArray, Frame, IntArray

_LEVELS = 50


@dataclass(frozen=True, slots=True)
class _Groups:
    """Rows of each group, all together last."""

    by: str | None
    names: list[str]
    rows: list[BoolArray]  # (n,) each

    @property
    def compared(self) -> list[BoolArray]:
        return self.rows[:-1]


@dataclass(frozen=True, slots=True)
class _TableLine:
    """A line of the table."""

    variable: str
    statistic: str
    cells: list[str]  # of the groups, then of all rows
    missing: int = 0
    test: str = ""
    pvalue: float = np.nan
    smd: float = np.nan


@reads_frames
def table_one(
    data: Frame,
    by: str | None = None,
    columns: Sequence[str] | None = None,
    *,
    nonnormal: Sequence[str] = (),
    categorical: Sequence[str] = (),
    digits: int = 3,
) -> pd.DataFrame:
    """Summarise the columns of the data by group, with tests and standardised differences (Table 1 of a report).

    Parameters
    ----------
    data : DataFrame or dict of columns
        A row for each subject; never modified. Durations are numbers of days.
    by : str, optional
        Column of groups; without it, there is one column for all rows.
    columns : sequence of str, optional
        What to summarise, all columns but ``by`` by default: names of columns, or responses with censoring as left
        of ``~`` in a formula, e.g. ``"Surv(time, event)"`` or ``"crp | censor(nondetect=below)"``.
    nonnormal : sequence of str
        Columns of numbers to summarise by medians and quartiles.
    categorical : sequence of str
        Columns of numbers that are codes of categories. Text, categories and truth values are categorical anyway.
    digits : int
        Number of significant digits; percentages have one decimal.

    Returns
    -------
    DataFrame
        Indexed by ``variable`` and ``statistic``: mean (sd), median [quartiles], or the number and percentage of each
        level, in the units of the column. Of a response with censoring, it is the median with its 95% limits, from the
        Kaplan-Meier estimate of right-censored rows. With non-detects it has no limits, and is ``<x`` if the median
        lies below the smallest detect x. With intervals it is the interval that holds the median of the Turnbull
        estimate. A column for each group and ``overall`` has the statistics as
        text. ``missing`` is the number of rows without a value, which are left out. ``test`` and ``pvalue`` are those
        of a comparison of the groups: analysis of variance, Kruskal-Wallis, chi-squared (Yates' correction with two
        levels and two groups), log-rank, or Peto-Peto of non-detects. ``smd`` is the standardised mean difference, a
        pure number, the mean over pairs with more than two groups. It is infinite if two groups have no level in
        common, or different means and no variance. It is NaN with censoring.

    Raises
    ------
    DataError
        For columns that are missing, a categorical column with more than 50 levels, or one that holds lists or dicts.
    FormulaError
        If a response with censoring cannot be read.
    SpecError
        If ``columns``, ``nonnormal`` or ``categorical`` is not a list of names, or ``digits`` is not a positive whole
        number.

    References
    ----------
    .. [1] D. Yang and J. E. Dalton, "A unified approach to measuring the effect size between two groups using SAS",
       SAS Global Forum 2012, paper 335.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung")
    >>> table = tg.table_one(lung, "sex", ["age", "ph_ecog", "Surv(time, event)"], categorical=["ph_ecog"])
    >>> table.loc[("age", "mean (sd)"), ["1", "2", "overall", "test"]].tolist()
    ['63.3 (9.14)', '61.1 (8.85)', '62.4 (9.07)', 'analysis of variance']
    >>> round(float(table.loc[("age", "mean (sd)"), "smd"]), 3)
    0.252
    >>> table.loc[("Surv(time, event)", "median (95% limits)"), ["1", "2", "test"]].tolist()
    ['270 (212, 310)', '426 (348, 550)', 'log-rank']
    """
    digits = read_count(digits, "digits")
    frame = in_days(in_memory(data))
    names = column_names(frame)
    if by is not None:
        check_column(by, names, "by")
        frame = with_groups(frame, [by])
    frame = frame.reset_index(drop=True)
    groups = _read_groups(frame, by)
    chosen = _read_columns(columns, names, by)
    for argument, given in (("nonnormal", nonnormal), ("categorical", categorical)):
        for name in _names(given, argument):
            check_column(name, names, argument)
    lines = [_TableLine("n", "", [str(int(rows.sum())) for rows in groups.rows])]
    for name in chosen:
        if name not in names:
            lines.append(_censored(frame, name, groups, digits))
        elif name in categorical or not _is_number(frame[name]):
            lines += _categories(frame[name], name, groups)
        else:
            lines.append(_numbers(frame[name], name, groups, digits, normal=name not in nonnormal))
    return _table(lines, groups)


def _read_groups(frame: pd.DataFrame, by: str | None) -> _Groups:
    every = np.ones(len(frame), dtype=np.bool_)
    if by is None:
        return _Groups(None, ["overall"], [every])
    levels = pd.Categorical(frame[by]).remove_unused_categories()
    rows = [np.asarray(levels.codes == k) for k in range(len(levels.categories))]
    names = [in_words([level]) for level in levels.categories]
    taken = sorted({"overall", "missing", "test", "pvalue", "smd"} & set(names))
    if taken:
        raise DataError(f"by={by!r}: a group has the name {taken[0]!r} of a column of the table. Rename the group.")
    return _Groups(by, [*names, "overall"], [*rows, every])


def _read_columns(columns: Any, names: Sequence[Any], by: str | None) -> list[Any]:
    if columns is None:
        return [name for name in names if name != by]
    chosen = _names(columns, "columns")
    for name in chosen:
        if name not in names and not (isinstance(name, str) and ("(" in name or "|" in name)):
            check_column(name, names, "columns")
    return chosen


def _names(given: Any, argument: str) -> list[Any]:
    """A list of names of columns."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        example = [given] if isinstance(given, str) else ["age", "sex"]
        raise SpecError(f"{argument}={given!r}: {argument} must be a list of names, e.g. {argument}={example!r}.")
    return list(given)


def _is_number(column: pd.Series[Any]) -> bool:
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)


def _table(lines: list[_TableLine], groups: _Groups) -> pd.DataFrame:
    index = pd.MultiIndex.from_tuples(
        [(line.variable, line.statistic) for line in lines], names=["variable", "statistic"]
    )
    table = pd.DataFrame([line.cells for line in lines], index=index, columns=groups.names)
    table["missing"] = [line.missing for line in lines]
    if len(groups.compared) > 1:
        for name in ("test", "pvalue", "smd"):
            table[name] = [getattr(line, name) for line in lines]
    return table


def _numbers(column: pd.Series[Any], name: str, groups: _Groups, digits: int, *, normal: bool) -> _TableLine:
    """Means with standard deviations, or medians with quartiles."""
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    if np.isinf(values).any():
        raise DataError(f"The column {name!r} has infinite values, which have no mean. Correct or drop them.")
    there = ~np.isnan(values)
    parts = [values[rows & there] for rows in groups.rows]
    cells = [_mean(part, digits) if normal else _quartiles(part, digits) for part in parts]
    test, p = _compare_numbers(parts[:-1], normal=normal)
    statistic = "mean (sd)" if normal else "median [quartiles]"
    smd = _over_pairs([part for part in parts[:-1] if len(part)], _mean_difference)
    return _TableLine(name, statistic, cells, int((~there).sum()), test, p, smd)


def _mean(values: Array, digits: int) -> str:
    if not len(values):
        return ""
    sd = float(np.std(values, ddof=1)) if len(values) > 1 else np.nan
    return f"{_number(float(np.mean(values)), digits)} ({_number(sd, digits)})"


def _quartiles(values: Array, digits: int) -> str:
    if not len(values):
        return ""
    low, middle, high = (_number(float(q), digits) for q in np.quantile(values, [0.25, 0.5, 0.75]))
    return f"{middle} [{low}, {high}]"


def _number(value: float, digits: int) -> str:
    """A number without an exponent; all digits before its point are shown."""
    if not np.isfinite(value):
        return "not reached" if value > 0.0 else "NA"
    if value == 0.0:
        return "0"
    places = max(digits - 1 - int(np.floor(np.log10(abs(value)))), 0)
    return f"{value:.{places}f}" if abs(value) >= 1e-4 else f"{value:.{digits}g}"


def _compare_numbers(parts: Sequence[Array], *, normal: bool) -> tuple[str, float]:
    """Analysis of variance with one variance, or Kruskal and Wallis's test."""
    from scipy.stats import f_oneway, kruskal

    parts = [part for part in parts if len(part)]
    name = "analysis of variance" if normal else "Kruskal-Wallis"
    every = np.concatenate(parts) if parts else np.empty(0)
    enough = len(parts) > 1 and len(every) > len(parts) and np.ptp(every) > 0.0
    if not enough or (normal and not any(np.ptp(part) > 0.0 for part in parts)):
        return name, np.nan
    compare: Any = f_oneway if normal else kruskal
    return name, float(compare(*parts).pvalue)


def _over_pairs(parts: Sequence[Any], difference: Callable[[Any, Any], float]) -> float:
    """Mean of a difference over pairs of groups."""
    pairs = [difference(a, b) for a, b in combinations(parts, 2)]
    return float(np.mean(pairs)) if pairs else np.nan


def _mean_difference(a: Array, b: Array) -> float:
    if min(len(a), len(b)) < 2:
        return np.nan
    variance = 0.5 * float(np.var(a, ddof=1) + np.var(b, ddof=1))
    gap = abs(float(np.mean(a) - np.mean(b)))
    return gap / np.sqrt(variance) if variance > 0.0 else (0.0 if gap == 0.0 else np.inf)


def _categories(column: pd.Series[Any], name: str, groups: _Groups) -> Iterator[_TableLine]:
    """Numbers and percentages of levels; what is of all levels together is in the first line."""
    from scipy.stats import chi2_contingency

    check_values(column.to_frame())
    levels = pd.Categorical(column).remove_unused_categories()
    if len(levels.categories) > _LEVELS:
        raise DataError(
            f"The column {name!r} has {len(levels.categories)} levels, more than {_LEVELS}. List others in columns=."
        )
    codes: IntArray = np.asarray(levels.codes, dtype=np.intp)
    k = len(levels.categories)
    counts = np.array([np.bincount(codes[rows & (codes >= 0)], minlength=k) for rows in groups.rows])
    compared = counts[:-1][counts[:-1].sum(axis=1) > 0]
    p = np.nan
    if min(compared.shape) > 1:
        found: Any = chi2_contingency(compared[:, compared.sum(axis=0) > 0])
        p = float(found.pvalue)
    smd = _over_pairs([row for row in counts[:-1] if row.sum()], _share_difference)
    first = int((codes < 0).sum()), "chi-squared", p, smd
    for j, level in enumerate(levels.categories):
        cells = [_share(int(row[j]), int(row.sum())) for row in counts]
        yield _TableLine(name, f"{in_words([level])}, n (%)", cells, *(first if j == 0 else ()))


def _share(count: int, n: int) -> str:
    return f"{count} ({100.0 * count / n:.1f})" if n else ""


def _share_difference(a: IntArray, b: IntArray) -> float:
    """Mahalanobis distance of the shares of all levels but one, with the mean of their multinomial covariances."""
    if not (a * b).any():
        return np.inf
    there = a + b > 0  # with a level in common, the covariance of the others is regular
    p, q = a[there] / a.sum(), b[there] / b.sum()
    covariance = 0.5 * (np.diag(p + q) - np.outer(p, p) - np.outer(q, q))[1:, 1:]
    gap = (p - q)[1:]
    return float(np.sqrt(max(float(gap @ np.linalg.solve(covariance, gap)), 0.0)))


def _censored(frame: pd.DataFrame, response: str, groups: _Groups, digits: int) -> _TableLine:
    """Medians of a response with censoring, and the test of its groups."""
    left, bar, part = response.partition("|")
    after = f" | {part.strip()}" if bar else ""
    read = read_times(f"{left.strip()} ~ 1{after}", frame, None)
    used = read.rows.index.to_numpy()
    parts = [read.seen.take(rows[used]) for rows in groups.rows]
    cells = [_median(part, digits) if len(part.lower) else "" for part in parts]
    limits = "median (95% limits)" if read.seen.right else "median"
    test, p = "", np.nan
    if sum(len(part.lower) > 0 for part in parts[:-1]) > 1:
        formula = f"{left.strip()} ~ `{groups.by}`{after}"
        test, p = _compare_times(formula, frame.loc[used], read.seen)
    return _TableLine(response, limits, cells, len(frame) - len(used), test, p)


def _median(seen: Seen, digits: int) -> str:
    if seen.right:
        middle, lower, upper = (_number(value, digits) for value in median_with_limits(seen))
        return f"{middle} ({lower}, {upper})"
    if _are_nondetects(seen):
        sample = Sample("", seen.lower, seen.upper, np.arange(len(seen.lower)))
        if not len(sample.detects):
            return f"<{_number(float(sample.limits[-1]), digits)}"
        found = kaplan_meier_of(sample)
        known = found.quantile(0.5)
        return f"<{_number(float(found.values[0]), digits)}" if np.isnan(known) else _number(known, digits)
    likeliest = turnbull_of(seen)
    at = int(np.flatnonzero(likeliest.survival <= 0.5 + 1e-8)[0])
    left, right = float(likeliest.left[at]), float(likeliest.right[at])
    if left == right:
        return _number(right, digits)
    if np.isneginf(left) or np.isposinf(right):
        return f"<{_number(right, digits)}" if np.isneginf(left) else f">{_number(left, digits)}"
    return f"{_number(left, digits)} to {_number(right, digits)}"


def _are_nondetects(seen: Seen) -> bool:
    return bool((seen.exact | np.isneginf(seen.lower)).all())


def _compare_times(formula: str, frame: pd.DataFrame, seen: Seen) -> tuple[str, float]:
    """The log-rank test of right-censored rows, Peto and Peto's of non-detects; none of others."""
    try:
        if seen.right:
            return "log-rank", logrank_test(formula, frame).pvalue
        if _are_nondetects(seen):
            return "Peto-Peto", test_groups(formula, frame).pvalue
    except DataError:  # without events there is nothing to compare
        pass
    return "", np.nan
