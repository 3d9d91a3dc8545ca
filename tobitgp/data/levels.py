"""Groups of rows: the levels of ``by=`` and ``re()``, and the code of each row."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tobitgp.data.evaluate import bare_column
from tobitgp.data.shapes import Groups
from tobitgp.data.table import Column, Table
from tobitgp.errors import DataError, SpecError, UnseenLevelError
from tobitgp.formula.spec import GPTerm, ModelSpec
from tobitgp.typing import IntArray

Level = str | bool | int | float

MAX_NUMBERS = 20
MAX_WHOLE = 2.0**53


def group_levels(spec: ModelSpec, table: Table) -> tuple[tuple[Level, ...] | None, ...]:
    """Levels of the group of each process."""
    return tuple(None if term.by is None else _levels(term, _column(term, table)) for term in spec.gps)


def find_groups(
    spec: ModelSpec, table: Table, levels: tuple[tuple[Level, ...] | None, ...]
) -> tuple[Groups | None, ...]:
    """Code the group of each row, for each process."""
    found: list[Groups | None] = []
    for term, known in zip(spec.gps, levels, strict=True):
        if known is None:
            found.append(None)
            continue
        code, new = _code(_column(term, table), known)
        if term.factors and new:
            raise unseen_error(f"Column {_column(term, table).name!r}", new, known, table.rows(code < 0))
        found.append(Groups(code, len(known)))
    return tuple(found)


def unseen_error(what: str, unseen: Iterable[Any], levels: tuple[Any, ...], rows: str) -> UnseenLevelError:
    """Error for levels that the training data had not."""
    new = ", ".join(str(level) for level in list(unseen)[:5])
    seen = ", ".join(str(level) for level in levels[:12]) + (", ..." if len(levels) > 12 else "")
    return UnseenLevelError(f"{what} has levels that were not seen in training: {new} (in {rows}); seen were {seen}")


def _column(term: GPTerm, table: Table) -> Column:
    assert term.by is not None
    column = bare_column(term.by, table)
    assert column is not None
    return column


def _levels(term: GPTerm, column: Column) -> tuple[Level, ...]:
    """Levels of one column; many numbers make no curves."""
    values, _ = _distinct(column)
    if column.kind == "factor" or column.boolean or not term.factors:
        return values
    assert term.by is not None
    slope = f"{term.by.text}:gp({', '.join(item.text for item in term.inputs)})"
    if term.written.partition("(")[0].strip() == "s":
        other = f"a curve at each of its values is {term.read_as}"
        raise SpecError(f"By a column of numbers {term.written} is a varying slope in mgcv: write {slope}; {other}")
    if len(values) > MAX_NUMBERS:
        what = (
            f"{term.name} has a curve for each number in column {column.name!r}: {len(values)}, at most {MAX_NUMBERS}"
        )
        remedy = f"make text of them: df[{column.name!r}] = df[{column.name!r}].astype(str)"
        raise SpecError(f"{what}; a varying slope is written {slope}; where the numbers name groups, {remedy}")
    return values


def _distinct(column: Column) -> tuple[tuple[Level, ...], IntArray]:
    """Levels that occur, and each row's position among them."""
    used, position = np.unique(column.values, return_inverse=True)
    if column.levels is not None:
        return tuple(_plain(column.levels[int(code)]) for code in used), position.astype(np.intp)
    if len(used) and np.abs(used).max() >= MAX_WHOLE:
        remedy = f"make text of it: df[{column.name!r}] = df[{column.name!r}].astype(str)"
        raise DataError(f"Column {column.name!r} holds numbers too large to tell groups apart; {remedy}")
    kind = bool if column.boolean else _plain
    return tuple(kind(value) for value in used), position.astype(np.intp)


def _plain(level: Any) -> Level:
    """Level as text or a Python number, whole ones as int."""
    if isinstance(level, bool | np.bool_):
        return bool(level)
    if isinstance(level, int | float | np.number):
        return int(level) if float(level).is_integer() else float(level)
    return str(level)


def _code(column: Column, known: tuple[Level, ...]) -> tuple[IntArray, list[Level]]:
    """Code of each row, and the levels that are not known."""
    values, position = _distinct(column)
    if values and any(isinstance(level, str) for level in values) != any(isinstance(level, str) for level in known):
        was, now = ("text", "numbers") if isinstance(known[0], str) else ("numbers", "text")
        raise DataError(f"Column {column.name!r} held {was} in training and holds {now} now")
    places = {level: i for i, level in enumerate(known)}
    new = [level for level in values if level not in places]
    places |= {level: -1 - i for i, level in enumerate(new)}
    return np.array([places[level] for level in values], dtype=np.intp)[position], new
