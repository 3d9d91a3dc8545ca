"""What the columns of data in pieces hold, and one piece's columns made to fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.detects import holds_limits
from tobitgp.data.table import Column, Table
from tobitgp.errors import DataError

_WORDS = {"number": "numbers", "boolean": "True and False", "date": "dates", "duration": "durations", "factor": "text"}


@dataclass(frozen=True, slots=True)
class ColumnType:
    """What a column holds."""

    kind: str
    known: bool  # false where every value is missing, so that other pieces decide
    levels: tuple[Any, ...]  # of a factor
    place: str  # A piece that holds this, for messages

    @classmethod
    def of(cls, column: Column, place: str, *, input_column: bool) -> ColumnType:
        """Of one column of a piece."""
        factor = column.levels is not None
        kinds = {"factor": factor, "boolean": column.boolean, "date": column.dates, "duration": column.duration}
        kind = next((kind for kind, held in kinds.items() if held), "number")
        levels = column.levels or ()
        return cls(kind, not column.missing.all(), levels if input_column else _witnesses(column), place)


Schema = dict[str, ColumnType]


def describe_table(table: Table, place: str, inputs: Sequence[str]) -> Schema:
    """Types of a piece's columns."""
    return {name: ColumnType.of(column, place, input_column=name in inputs) for name, column in table.columns.items()}


def merge_schemas(schemas: Sequence[Schema], text_names: Sequence[str]) -> Schema:
    """Types of the columns of all pieces."""
    return {name: _merge(name, [schema[name] for schema in schemas], name in text_names) for name in schemas[0]}


def conform(table: Table, schema: Schema, inputs: Sequence[str]) -> Table:
    """A piece's table with columns of the types of the whole, factors among the inputs with its levels."""
    columns = {name: _conform(column, schema[name], name in inputs) for name, column in table.columns.items()}
    return Table(columns, table.index)


def head(schema: Schema) -> Table:
    """A table of one row with the types of the whole, whose columns miss what is missing in every row."""
    columns = {}
    for name, item in schema.items():
        factor, absent = item.kind == "factor", np.array([not item.known])
        values = np.zeros(1, dtype=np.intp) - absent if factor else np.where(absent, np.nan, 0.0)
        levels = item.levels if factor else None
        columns[name] = Column(name, values, absent, levels, *_flags(item))
    return Table(columns, pd.RangeIndex(1))


def recode(column: Column, levels: tuple[Any, ...]) -> Column:
    """A factor with other levels, all of its own that occur among them."""
    if column.levels == levels:
        return column
    place: Mapping[Any, int] = {level: i for i, level in enumerate(levels)}
    codes = np.array([*(place.get(level, -1) for level in column.levels or ()), -1], dtype=np.intp)
    return Column(column.name, codes[column.values.astype(np.intp)], column.missing, levels)


def _witnesses(column: Column) -> tuple[Any, ...]:
    """Levels that tell as much of a column of text as all of them: a limit and another."""
    if column.levels is None or len(column.levels) < 2:
        return column.levels or ()
    found: dict[bool, Any] = {}
    for level in column.levels:
        found.setdefault(holds_limits(replace(column, levels=(level,))), level)
        if len(found) == 2:
            break
    return tuple(found.values())


def _merge(name: str, types: Sequence[ColumnType], may_mix: bool) -> ColumnType:
    known = [item for item in types if item.known]
    if not known:
        return types[0]
    kinds = list(dict.fromkeys(item.kind for item in known))
    if set(kinds) == {"number", "factor"} and may_mix:
        known = [item for item in known if item.kind == "factor"]
    elif len(kinds) > 1:
        a, b = (next(item for item in known if item.kind == kind) for kind in kinds[:2])
        held = f"{_WORDS[a.kind]} in {a.place} and {_WORDS[b.kind]} in {b.place}"
        raise DataError(f"Column {name!r} holds {held}; make it the same everywhere")
    levels = known[0].levels
    if any(item.levels != levels for item in known):
        levels = _union(name, known)
    return replace(known[0], levels=levels)


def _union(name: str, types: Sequence[ColumnType]) -> tuple[Any, ...]:
    try:
        return tuple(sorted({level for item in types for level in item.levels}))
    except TypeError:
        kinds = ", ".join(sorted({type(level).__name__ for item in types for level in item.levels}))
        remedy = "make text of it by .astype(str)"
        raise DataError(f"Column {name!r} has categories of several types ({kinds}); {remedy}") from None


def _conform(column: Column, whole: ColumnType, is_input: bool) -> Column:
    flags = _flags(whole)
    if whole.kind != "factor":
        if column.levels is None and (column.boolean, column.dates, column.duration) == flags:
            return column
        values = np.full(len(column.missing), np.nan)
        return Column(column.name, values, column.missing, None, *flags)
    if column.levels is None:
        column = _spell(column)
    return recode(column, whole.levels) if is_input else column


def _flags(item: ColumnType) -> tuple[bool, bool, bool]:
    return item.kind == "boolean", item.kind == "date", item.kind == "duration"


def _spell(column: Column) -> Column:
    """Numbers as text, for a response that is text elsewhere."""
    seen, codes = np.unique(column.values[~column.missing], return_inverse=True)
    spelled = np.full(len(column.missing), -1, dtype=np.intp)
    spelled[~column.missing] = codes
    return Column(column.name, spelled, column.missing, tuple(str(float(value)) for value in seen))
