"""What was learned from the training rows, to be replayed on new ones: terms, levels and codings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.absorbed import Columns, as_dense
from tobitgp.data.arrays import Design, Groups, ScaleDesign
from tobitgp.data.censored_response import read_limits
from tobitgp.data.columns import (
    bare_column,
    check_dates,
    check_inputs,
    evaluate,
    finite,
    known_inputs,
    process_inputs,
    require_columns,
)
from tobitgp.data.frames import read_weights
from tobitgp.data.linear_columns import LinearState, learn_linear, replay_linear, row_wise
from tobitgp.data.spellings import open_far, read_window
from tobitgp.data.table import Column, Table, column_names, like_training, read_table
from tobitgp.data.values import plain_levels
from tobitgp.errors import DataError, SpecError, UnseenLevelError
from tobitgp.formula.spec import INPUT_ROLES as INPUT_ROLES
from tobitgp.formula.spec import CureSpec, Expression, GPTerm, LinearPart, ModelSpec, ParameterSpec, Role, ScaleSpec
from tobitgp.typing import Array, BoolArray, Frame, IntArray

FactorLevel = str | bool | int | float

MAX_NUMBERS = 20
MAX_WHOLE = 2.0**53


def _unseen(what: str, unseen: Iterable[Any], levels: tuple[Any, ...], rows: str) -> UnseenLevelError:
    """Error for levels that the training data had not."""
    new = ", ".join(str(level) for level in list(unseen)[:5])
    seen = ", ".join(str(level) for level in levels[:12]) + (", ..." if len(levels) > 12 else "")
    return UnseenLevelError(
        f"{what} has levels that were not seen in training: {new} (in {rows}). The levels of training are {seen}."
    )


def _other_type(column: Column, *, text_before: bool) -> DataError:
    """Error for a column of another type than in training."""
    was, now = ("text", "numbers") if text_before else ("numbers", "text")
    return DataError(f"Column {column.name!r} held {was} in training and holds {now} now. Convert it to {was}.")


def _check_text(column: Column, levels: Sequence[Any], known: Sequence[Any]) -> None:
    """Levels must be text if those of training were: 20 and "20" look alike."""
    text, text_before = (any(isinstance(level, str) for level in each) for each in (levels, known))
    if levels and text != text_before:
        raise _other_type(column, text_before=text_before)


def _column(term: GPTerm, table: Table) -> Column:
    """The column of groups; of several columns one with a level for each combination that occurs, as ``a:b``."""
    assert term.by is not None
    columns = [bare_column(part, table) for part in term.crossed or (term.by,)]
    assert all(column is not None for column in columns)
    first, *others = (column for column in columns if column is not None)
    if not others:
        return first
    names, levels, position = [first.name], *_distinct(first)
    for column in others:
        more, at = _distinct(column)
        used, position = np.unique(position * len(more) + at, return_inverse=True)
        pairs = (divmod(i, len(more)) for i in used.tolist())
        levels = tuple(f"{_escaped(levels[i], len(names) > 1)}:{_escaped(more[j])}" for i, j in pairs)
        names.append(column.name)
    return Column(":".join(names), position, np.zeros(table.n, dtype=bool), "factor", levels)


def _escaped(level: FactorLevel, joined: bool = False) -> str:
    """Text of a level, with its colons escaped, since colons separate levels."""
    return str(level) if joined else str(level).replace("\\", "\\\\").replace(":", "\\:")


def _group_levels(term: GPTerm, table: Table) -> tuple[FactorLevel, ...] | None:
    """Levels of the group of a process; many numbers make no curves."""
    if term.by is None:
        return None
    column = _column(term, table)
    values, _ = _distinct(column)
    if column.kind in ("factor", "boolean") or not term.factors:
        return values
    slope = f"{term.by.text}:gp({', '.join(item.text for item in term.inputs)})"
    if term.written.partition("(")[0].strip() == "s":
        other = f"For a curve at each of its values, write {term.read_as}"
        raise SpecError(f"With numbers, {term.written} is a varying slope in mgcv. Write {slope}. {other}.")
    if len(values) > MAX_NUMBERS:
        numbers = f"each number in column {column.name!r}: {len(values)}, at most {MAX_NUMBERS}"
        what = f"{term.name} has a curve for {numbers}"
        remedy = f"convert them to text: df[{column.name!r}] = df[{column.name!r}].astype(str)"
        raise SpecError(f"{what}. For a varying slope, write {slope}. If the numbers name groups, {remedy}.")
    return values


def _distinct(column: Column) -> tuple[tuple[FactorLevel, ...], IntArray]:
    """Levels that occur, and each row's position among them."""
    used, position = np.unique(column.values, return_inverse=True)
    if column.levels is not None:
        return tuple(_plain(column.levels[int(code)]) for code in used), position.astype(np.intp)
    if len(used) and np.abs(used).max() >= MAX_WHOLE:
        remedy = f"Convert it to text: df[{column.name!r}] = df[{column.name!r}].astype(str)"
        raise DataError(f"Column {column.name!r} holds numbers that are too large to distinguish groups. {remedy}.")
    kind = bool if column.kind == "boolean" else _plain
    return tuple(kind(value) for value in used), position.astype(np.intp)


def _plain(level: Any) -> FactorLevel:
    """Level as text or a Python number, whole ones as int."""
    if isinstance(level, bool | np.bool_):
        return bool(level)
    if isinstance(level, int | float | np.number):
        return int(level) if float(level).is_integer() else float(level)
    return str(level)


def _code(column: Column, known: tuple[FactorLevel, ...]) -> tuple[IntArray, list[FactorLevel]]:
    """Code of each row, and the levels that are not known."""
    values, position = _distinct(column)
    _check_text(column, values, known)
    places = {level: i for i, level in enumerate(known)}
    new = [level for level in values if level not in places]
    places |= {level: -1 - i for i, level in enumerate(new)}
    return np.array([places[level] for level in values], dtype=np.intp)[position], new


@dataclass(frozen=True, slots=True)
class PartState:
    """How linear terms are made from data."""

    spec: LinearPart
    coded: tuple[Array, ...]  # values of each ``C(...)`` of numbers seen in training, in the order of ``spec.codings``
    linear: LinearState

    def replay(self, table: Table) -> Columns:
        """Build the same columns on other rows; gives (n, p)."""
        for coding, seen in zip(self.spec.codings, self.coded, strict=True):
            values = evaluate(coding, table) if len(seen) else np.empty(0)
            unseen = ~np.isin(values, seen)
            if unseen.any():
                shown = dict.fromkeys(f"{value:g}" for value in values[unseen])
                levels = tuple(f"{value:g}" for value in seen)
                raise _unseen(f"C({coding.text})", shown, levels, table.rows(unseen))
        return replay_linear(self.linear, self.spec, table)

    def offset(self, table: Table) -> Array:
        """Sum of the offsets, (n,)."""
        offset = np.zeros(table.n)
        for item in self.spec.offsets:
            offset += finite(evaluate(item, table), table, f"offset({item.text})")
        return offset


def learn_part(spec: LinearPart, table: Table) -> PartState:
    """Remember how the columns of some rows are made."""
    coded = tuple(_coded_values(coding, table) for coding in spec.codings)
    return PartState(spec, coded, learn_linear(spec, table))


def _coded_values(coding: Expression, table: Table) -> Array:
    """Distinct values of a ``C(...)`` of numbers; empty for a factor."""
    column = bare_column(coding, table)
    if column is not None and column.levels is not None:
        return np.empty(0)
    return np.unique(evaluate(coding, table))


NUMERIC_ROLES = ("linear", "gp", "offset", "slope", "se")


@dataclass(frozen=True, slots=True)
class DesignState:
    """How the covariates of a model are made from data."""

    spec: ModelSpec
    levels: dict[str, tuple[Any, ...] | None]  # levels of each factor among the inputs; None for a column of numbers
    coded: tuple[Array, ...]  # values of each ``C(...)`` of numbers seen in training, in the order of ``spec.codings``
    linear: LinearState
    group_levels: tuple[tuple[FactorLevel, ...] | None, ...]  # levels of the group of each process
    scale: PartState | None = None  # of the noise scale, where it has a formula; its factors are among ``levels``
    effects: tuple[PartState | None, ...] = ()  # of each process that is a random effect with columns of its own
    var_weight: tuple[str, float] | None = None  # column of the variance weights
    formulas: tuple[PartState, ...] = ()  # of other parameters of the rows

    def inconsistencies(self) -> Iterator[str]:
        """What does not belong together in a state that was read from a file."""
        if tuple(self.levels) != self.input_names or (self.scale is None) != (self.spec.scale is None):
            yield "its columns, or those of its noise scale, are not those of the formula"
        for name, levels in self.levels.items():
            if levels is not None and not all(isinstance(level, (str, int, float, pd.Interval)) for level in levels):
                yield f"the column {name!r:.60} has levels of an unknown type"
            if levels is not None and len(set(levels)) < len(levels):
                yield f"the column {name!r:.60} has a level twice"
        if len(self.group_levels) != len(self.spec.processes):
            yield "its groups are not those of the formula"
        for term, levels in zip(self.spec.processes, self.group_levels, strict=True):
            if (term.by is None) != (levels is None) or (levels is not None and len(set(levels)) < len(levels)):
                yield f"the groups of {term.name} are not those of the formula, or one is twice there"
        for part in self.parts:
            if len(part.coded) != len(part.spec.codings) or any(seen.ndim != 1 for seen in part.coded):
                yield "the values in C(...) are not those of the formula"

    @property
    def parts(self) -> tuple[PartState, ...]:
        """The linear part, those of the noise scale, of random effects, and of other parameters of the rows."""
        parts = (PartState(self.spec, self.coded, self.linear), self.scale, *self.effects, *self.formulas)
        return tuple(part for part in parts if part is not None)

    @property
    def effect_columns(self) -> tuple[tuple[str, ...], ...]:
        """Names of what each process has a standard deviation of: columns of a random effect, correlated curves."""
        named = zip(self.spec.processes, self.effects, self.group_levels, strict=True)
        return tuple(
            tuple(map(str, levels or ())) if term.cor else () if part is None else part.linear.columns
            for term, part, levels in named
        )

    @property
    def scale_columns(self) -> tuple[str, ...]:
        """Names of the coefficients of log sigma, or of the logit of the cured fraction."""
        if self.scale is None:
            return ()
        of = "cured" if isinstance(self.scale.spec, CureSpec) else ScaleSpec.of
        return tuple(f"{of}[{name}]" for name in self.scale.linear.columns)

    @property
    def formula_columns(self) -> dict[str, tuple[str, ...]]:
        """Names of the coefficients of each other parameter of the rows that has a formula."""
        found = {}
        for part in self.formulas:
            assert isinstance(part.spec, ParameterSpec)
            found[part.spec.parameter] = tuple(f"{part.spec.label}[{name}]" for name in part.linear.columns)
        return found

    @property
    def input_names(self) -> tuple[str, ...]:
        """Columns that new data need."""
        return input_names(self.spec, None if self.scale is None else self.scale.spec)

    def replay(self, new_data: Frame) -> tuple[Design, BoolArray]:
        """Build the same covariates on new data; gives usable (n_new,)."""
        names, parts = self.input_names, self.parts
        new_data = known_inputs(self.spec, new_data)
        require_columns(new_data, names)
        table = read_table(new_data, names)
        columns = {name: like_training(column, self.levels[name]) for name, column in table.columns.items()}
        table = Table(columns, table.index)
        for part in parts:
            check_dates(part.spec, table, INPUT_ROLES)
        usable = ~table.missing(names)
        table = table.take(usable)
        check_inputs(names, table)
        design = self.build(table)
        name, mean = self.var_weight or ("", 1.0)
        if name and name in column_names(new_data):  # without its weight the noise of a row is sigma
            w = read_weights(name, new_data, len(usable), "var_weights")[usable]
            design = replace(design, spread=np.sqrt(mean / w))
        return design, usable

    def build(self, table: Table) -> Design:
        """Build the same covariates of typed columns without missing values."""
        parts, groups = self.parts, self._groups(table)
        numeric = dict.fromkeys(name for part in parts for name in part.spec.names(*NUMERIC_ROLES))
        table = self.recode(Table({name: table.columns[name] for name in numeric}, table.index))
        linear = parts[0]
        X = tuple(
            process_inputs(term, table) if part is None else as_dense(part.replay(table))
            for term, part in zip(self.spec.processes, self.effects, strict=True)
        )
        scale = None
        if self.scale is not None:
            scale = ScaleDesign(as_dense(self.scale.replay(table)), self.scale_columns, self.scale.offset(table))
        formulas = tuple(
            ScaleDesign(as_dense(part.replay(table)), columns, part.offset(table))
            for part, columns in zip(self.formulas, self.formula_columns.values(), strict=True)
        )
        return Design(
            linear.replay(table), self.linear.columns, X, linear.offset(table), groups, scale, formulas=formulas
        )

    def _groups(self, table: Table) -> tuple[Groups | None, ...]:
        """Code the group of each row, for each process; groups of ``re()`` that were not seen have codes below 0."""
        found: list[Groups | None] = []
        for term, known in zip(self.spec.processes, self.group_levels, strict=True):
            if known is None:
                found.append(None)
                continue
            code, new = _code(_column(term, table), known)
            if term.factors and new:
                raise _unseen(f"Column {_column(term, table).name!r}", new, known, table.rows(code < 0))
            found.append(Groups(code, len(known)))
        return tuple(found)

    def limits(self, new_data: Frame, usable: BoolArray | None = None) -> tuple[Array, Array]:
        """Limits of the instrument on new data, for predictions on the observed scale.

        Shapes: usable (n_new,); gives lower, upper (n,).
        """
        return open_far(*read_limits(self.spec, self._ends(new_data, usable, "limit", "limits")))

    def window(self, new_data: Frame, usable: BoolArray | None = None) -> tuple[Array, Array]:
        """Window outside which rows of new data cannot be observed, read as :meth:`limits` reads limits."""
        return open_far(*read_window(self.spec, self._ends(new_data, usable, "window", "ends of the window")))

    def _ends(self, new_data: Frame, usable: BoolArray | None, role: Role, what: str) -> Table:
        """Columns of the new data that a role of the response names."""
        names = self.spec.names(role)
        known = set(column_names(new_data))
        lacking = [name for name in names if name not in known]
        if lacking:
            listed = ", ".join(repr(name) for name in lacking)
            raise SpecError(f"The {what} of this model are columns of the data. Add {listed} to the new data.")
        table = read_table(new_data, names)
        check_dates(self.spec, table, (role,))
        return table if usable is None else table.take(usable)

    def recode(self, table: Table) -> Table:
        """A table of inputs with the levels of the training data."""
        return Table({name: self._recode(column, table) for name, column in table.columns.items()}, table.index)

    def _recode(self, column: Column, table: Table) -> Column:
        """Give a column of new data the codes of the training levels."""
        levels = self.levels[column.name]
        column = like_training(column, levels)
        if len(column.values) == 0:
            return replace(column, values=np.empty(0), levels=levels)
        if (levels is None) != (column.levels is None):
            raise _other_type(column, text_before=levels is not None)
        if levels is None or column.levels is None:
            return column
        _check_text(column, column.levels, levels)
        position, old = {level: i for i, level in enumerate(plain_levels(levels))}, column.values.astype(np.intp)
        codes = np.array([position.get(level, -1) for level in column.levels], dtype=np.intp)[old]
        if (codes < 0).any():
            unseen = dict.fromkeys(column.levels[i] for i in old[codes < 0])
            raise _unseen(f"Column {column.name!r}", unseen, levels, table.rows(codes < 0))
        return replace(column, values=codes, levels=levels)


def input_names(spec: ModelSpec, scale: LinearPart | None = None) -> tuple[str, ...]:
    """Columns right of ``~`` in the formula of a model, and in those of other parameters of its rows."""
    others = (*(() if scale is None else (scale,)), *spec.formulas)
    return tuple(dict.fromkeys((*spec.names(*INPUT_ROLES), *(name for each in others for name in each.names()))))


def learn_design(spec: ModelSpec, scale: ScaleSpec | None, table: Table) -> DesignState:
    """Remember how the covariates of all rows are made, from :func:`representatives` of them or all."""
    columns = {name: _used_levels(table.columns[name]) for name in input_names(spec, scale)}
    table = Table(columns, table.index)
    part, *of_scale = (learn_part(item, table) for item in (spec, scale) if item is not None)
    effects = tuple(None if term.effects is None else learn_part(term.effects, table) for term in spec.processes)
    levels = {name: column.levels for name, column in columns.items()}
    groups = tuple(_group_levels(term, table) for term in spec.processes)
    formulas = tuple(learn_part(each, table) for each in spec.formulas)
    of = of_scale[0] if of_scale else None
    return DesignState(spec, levels, part.coded, part.linear, groups, of, effects, formulas=formulas)


def representatives(spec: ModelSpec, scale: ScaleSpec | None, table: Table) -> BoolArray:
    """Rows with every level of the factors and groups, and the ends of what splines are of; gives (n,).

    Those of the representatives of several partitions put together are representatives of them all.
    """
    chosen = np.zeros(table.n, dtype=bool)
    if table.n == 0:
        return chosen
    chosen[0] = True
    grouped = [_column(term, table) for term in spec.processes if term.by is not None]
    factors = [table.columns[name] for name in input_names(spec, scale) if table.columns[name].levels is not None]
    for column in (*grouped, *factors):
        chosen[np.unique(column.values, return_index=True)[1]] = True
    parts = (spec, scale, *(term.effects for term in spec.processes), *spec.formulas)
    for part in filter(None, parts):
        for coding in part.codings:
            coded = bare_column(coding, table)
            if coded is None or coded.levels is None:
                chosen[np.unique(evaluate(coding, table), return_index=True)[1]] = True
        for item in row_wise(part):
            values = evaluate(item, table)
            chosen[[int(np.argmin(values)), int(np.argmax(values))]] = True
    return chosen


def _used_levels(column: Column) -> Column:
    """Take from a factor the levels that do not occur."""
    if column.levels is None:
        return column
    used, codes = np.unique(column.values.astype(np.intp), return_inverse=True)
    return replace(column, values=codes.astype(np.intp), levels=tuple(column.levels[i] for i in used))
