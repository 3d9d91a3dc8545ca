"""Times with the groups that a formula names right of ``~``."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.outcome import check_entry
from tobitgp.data.table import RowNames, column_names
from tobitgp.errors import DataError, FormulaError, SpecError, user_level
from tobitgp.formula.formula_terms import split_parts
from tobitgp.formula.functions import nearest
from tobitgp.formula.linear_terms import flatten
from tobitgp.formula.parse import as_written, cut_formula, one_line
from tobitgp.formula.syntax import called, is_dot, read_side
from tobitgp.model import Model
from tobitgp.report.group_curves import Seen
from tobitgp.typing import Array, BoolArray, Frame, IntArray

_ROUNDING = 1.5e-8
SCALES = ("log", "log-log", "plain")
_WRITTEN = "write Surv(time, event) ~ group, or ~ 1 for all rows together"


@dataclass(frozen=True, slots=True)
class GroupedTimes:
    """Times with their limits, and the group of each."""

    formula: str  # without groups
    seen: Seen
    rows: pd.DataFrame  # all columns of the rows used
    by: tuple[str, ...]  # columns of the groups
    keys: list[tuple[Any, ...]]  # their values in each group, in order
    group: IntArray  # (n,)
    code: IntArray  # (n,), 0 of a censored row, else the number of the cause, from 1 on
    causes: tuple[Any, ...]  # in the order of their numbers

    def parts(self) -> Iterator[tuple[tuple[Any, ...], BoolArray]]:
        """Each group with its rows."""
        for k, key in enumerate(self.keys):
            yield key, self.group == k

    def table(self, parts: Sequence[pd.DataFrame], index: Sequence[str]) -> pd.DataFrame:
        """Tables of the groups below each other, their values in front of the columns that index each."""
        self.check_names([*index, *parts[0].columns])
        made = [part.set_index(list(index)) for part in parts]
        if not self.by:
            return made[0]
        return pd.concat(made, keys=self.keys, names=[*self.by, *index])

    def check_names(self, columns: Sequence[str]) -> None:
        """Raise an error for groups by a column that has the name of one of the table."""
        taken = next((name for name in self.by if name in columns), None)
        if taken is not None:
            raise DataError(f"The column of groups {taken!r} has the name of a column of the table. Rename it.")

    def check_right(self, what: str) -> None:
        """Raise an error for rows that are censored otherwise than to the right."""
        if not self.seen.right:
            raise SpecError(
                f"{what} requires rows that are uncensored or right-censored; some are left-censored or lie in "
                "intervals. Use tg.survival.turnbull() and tg.survival.quantiles()."
            )

    def check_groups(self, what: str) -> None:
        """Raise an error for one group, and rows without an event."""
        if len(self.keys) < 2:
            named = in_words(self.keys[0]) if self.by else "1"
            raise DataError(
                f"{what} requires two groups at least; right of '~' there is only {named}. Name a column of groups, "
                "e.g. Surv(time, event) ~ sex."
            )
        if not (self.code > 0).any():
            raise DataError(f"{what} requires an event; all rows are censored.")

    def strata(self, strata: str | Sequence[str] | None) -> IntArray:
        """Stratum of each row."""
        if strata is None:
            return np.zeros(len(self.group), dtype=np.intp)
        names = list(strata) if isinstance(strata, list | tuple) else [strata]
        for name in names:
            check_column(name, list(self.rows.columns), "strata")
        check_values(self.rows[names])
        lacking = int(self.rows[names].isna().any(axis=1).sum())
        if lacking:
            have = "row has" if lacking == 1 else "rows have"
            raise DataError(f"strata={strata!r}: {lacking} {have} no value. Drop such rows, or fill the values in.")
        return np.asarray(self.rows.groupby(names, observed=True).ngroup(), dtype=np.intp)


def check_column(name: Any, columns: Sequence[Any], argument: str) -> None:
    """Raise an error for a column that the data lack."""
    if name not in list(columns):
        raise DataError(f"{argument}={name!r}: the data have no such column{nearest(str(name), columns) or '.'}")


def check_values(columns: pd.DataFrame) -> None:
    """Raise an error for columns of categories some of which are lists, dicts or other containers."""
    for name, column in columns.items():
        for label, value in column.items() if column.dtype == object else ():
            try:
                hash(value)
            except TypeError:
                raise DataError(
                    f"The column {name!r} holds a {type(value).__name__} in {RowNames(1, (str(label),))}, which is "
                    "neither a number nor a category. Leave the column out, or put text or numbers in it."
                ) from None


def read_times(formula: str, data: Frame, weights: str | None) -> GroupedTimes:
    """Read a response of any kind, one event or none of each row."""
    return _read(formula, data, weights, "gaussian")


def read_causes(formula: str, data: Frame, weights: str | None) -> GroupedTimes:
    """Read ``Surv(time, cause)``."""
    read = _read(formula, data, weights, "weibull")
    if len(read.causes) < 2:
        raise SpecError(
            f"{formula!r} has one kind of event, and this is of competing ones. Use tg.survival.kaplan_meier() and "
            "tg.survival.logrank_test(), or write a column of causes, Surv(time, cause)."
        )
    return read


def in_memory(data: Frame) -> pd.DataFrame:
    """The data as a data frame."""
    if isinstance(data, pd.DataFrame):
        return data
    if not isinstance(data, Mapping):
        raise DataError(
            f"The data must be a data frame or a dict of columns in memory, not {type(data).__name__}. Read them first."
        )
    try:
        return pd.DataFrame(data)
    except ValueError as error:
        raise DataError(f"The columns of the data do not make a table: {error}. Give columns of one length.") from error


def _read(formula: str, data: Frame, weights: str | None, family: str) -> GroupedTimes:
    base, by = _split(formula)
    frame = in_memory(data)
    if weights is not None and not isinstance(weights, str):
        raise SpecError("weights= must be the name of a column of frequencies.")
    columns = column_names(frame)
    for name in by:
        if name not in columns:
            raise DataError(f"The data have no column {name!r} for the groups{nearest(name, columns) or '.'}")
    frame = frame.reset_index(drop=True)  # rows are found by their labels, which may be there twice
    frame = with_groups(frame, by)
    model = _model(formula, base, frame, family, weights)
    training = model.training
    if model.has_causes and hasattr(training, "code"):
        rows, code = frame[training.kept], training.code
        causes: tuple[Any, ...] = tuple(key for key in model.counts if key not in ("censored", "dropped"))
    else:
        rows, response = frame.loc[training.labels.astype(int)], training.response
        code, causes = np.asarray(response.lower == response.upper, dtype=np.intp), (1,)
    response = training.response
    if np.isfinite(response.exit).any():
        raise SpecError("Right truncation has no nonparametric estimate here. Leave the upper end of truncate() out.")
    keys, group = _groups(rows, by)
    lower, upper, entry = _made_equal(response.lower, response.upper, response.entry)
    check_entry(np.where(np.isposinf(upper), lower, upper), entry, rows.index.to_numpy())
    seen = Seen(lower, upper, response.weight, entry)
    return GroupedTimes(base, seen, rows, by, keys, group, code, causes)


def with_groups(frame: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Rows whose group is known; warns of others."""
    check_values(frame[list(by)])
    there = frame[list(by)].notna().all(axis=1)
    if there.all():
        return frame
    lacking, named = int((~there).sum()), ", ".join(map(repr, by))
    message = f"{lacking} of {len(frame)} rows {'is' if lacking == 1 else 'are'} dropped: missing values in {named}"
    warnings.warn(message, UserWarning, stacklevel=user_level())
    return frame[there]


def _made_equal(*columns: Array) -> list[Array]:
    """Times of which those that differ by rounding are equal, as in R: sums such as age + months / 12 have ties."""
    values = np.unique(np.concatenate([column[np.isfinite(column)] for column in columns]))
    if not len(values):
        return [*columns]
    apart = np.diff(values, prepend=-np.inf) > _ROUNDING * float(np.abs(values).mean())
    first = values[apart][np.cumsum(apart) - 1]
    at = (np.minimum(np.searchsorted(values, column), len(values) - 1) for column in columns)
    return [np.where(np.isfinite(column), first[each], column) for column, each in zip(columns, at, strict=True)]


def _model(formula: str, base: str, frame: pd.DataFrame, family: str, weights: str | None) -> Model:
    try:
        return Model(base, frame, family=family, weights=weights)
    except FormulaError as error:
        raise as_written(error, one_line(formula)) from None
    except SpecError as error:
        if "Competing risks" not in str(error):
            raise
        raise SpecError(
            f"{formula!r} has several causes of events. Use tg.survival.cumulative_incidence() and "
            "tg.survival.gray_test(), or compare the column of causes with one, Surv(time, cause == 1)."
        ) from None


def _split(formula: str) -> tuple[str, tuple[str, ...]]:
    """The formula with ``1`` instead of the groups, and the columns of the groups."""
    if not isinstance(formula, str):
        raise FormulaError(f"A formula must be text, e.g. 'Surv(time, event) ~ sex', not {type(formula).__name__}.")
    formula, before, _, after = cut_formula(formula, _WRITTEN)
    if not before or not after:
        raise FormulaError(f"Both sides of '~' must be there; {_WRITTEN}.", formula)
    right = read_side(formula, after)
    node, parts = split_parts(right)
    names: list[str] = []
    for sign, term in flatten(node):
        inner = term.args[0] if isinstance(term, ast.Call) and called(term) == "C" and len(term.args) == 1 else term
        if isinstance(term, ast.Constant) and term.value == 1 and sign > 0:
            continue
        if sign < 0 or not isinstance(inner, ast.Name) or is_dot(inner):
            right.fail(term, f"Right of '~' must be columns of groups, e.g. sex + arm, not {right.text(term)}.")
        names += [inner.id] if inner.id not in names else []
    left = formula[before[0].start : before[-1].start + len(before[-1].text)]
    return " | ".join([f"{left} ~ 1", *(right.text(part) for part in parts)]), tuple(names)


def _groups(rows: pd.DataFrame, by: Sequence[str]) -> tuple[list[tuple[Any, ...]], IntArray]:
    """Values that occur together, in the order of categories or sorted, and the number of each row's."""
    if not by:
        return [()], np.zeros(len(rows), dtype=np.intp)
    grouped = rows.groupby(list(by), observed=True, sort=True)
    code = np.asarray(grouped.ngroup(), dtype=np.intp)
    first = np.unique(code, return_index=True)[1]
    return [tuple(row) for row in rows[list(by)].iloc[first].astype(object).to_numpy()], code


def in_words(key: Sequence[Any]) -> str:
    """Values of a group, with commas between them."""
    return ", ".join(f"{value:.10g}" if isinstance(value, float) else str(value) for value in key)
