"""Contents of the columns of all partitions, so that each partition is read as part of the whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.table import Column, ColumnKind, Table
from tobitgp.data.text_limits import is_absent, is_limit, is_unread
from tobitgp.errors import DataError

_WORDS = {"number": "numbers", "boolean": "True and False", "date": "dates", "duration": "durations", "factor": "text"}


@dataclass(frozen=True, slots=True)
class ColumnType:
    """What a column holds."""

    kind: ColumnKind
    known: bool  # false where every value is missing, so that other partitions decide
    levels: tuple[Any, ...]  # of a factor: all of an input, those of a response that show whether limits are among them
    place: str  # a partition that holds this, for messages


Schema = dict[str, ColumnType]


def describe_table(table: Table, place: str, inputs: Sequence[str]) -> Schema:
    """Types of a partition's columns."""
    found = {}
    for name, column in table.columns.items():
        levels = column.levels or ()
        if name not in inputs:
            kinds = {(is_limit(level), is_absent(level), is_unread(level)): level for level in reversed(levels)}
            levels = tuple(kinds.values())
        found[name] = ColumnType(column.kind, not column.missing.all(), levels, place)
    return found


def merge_schemas(schemas: Sequence[Schema], text_names: Sequence[str]) -> Schema:
    """Types of the columns of all partitions."""
    return {name: _merge(name, [schema[name] for schema in schemas], name in text_names) for name in schemas[0]}


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
        raise DataError(f"Column {name!r} holds {held}. Convert it to the same type everywhere.")
    if all(item.levels == known[0].levels for item in known):
        return known[0]
    levels = {level for item in known for level in item.levels}
    try:
        return replace(known[0], levels=tuple(sorted(levels)))
    except TypeError:
        several = ", ".join(sorted({type(level).__name__ for level in levels}))
        remedy = "Convert it to text by .astype(str)"
        raise DataError(f"Column {name!r} has categories of several types ({several}). {remedy}.") from None


def head(schema: Schema) -> Table:
    """A table of one row with the types of all partitions, whose columns miss what is missing in every row."""
    columns = {}
    for name, item in schema.items():
        factor, absent = item.kind == "factor", np.array([not item.known])
        values = np.zeros(1, dtype=np.intp) - absent if factor else np.where(absent, np.nan, 0.0)
        columns[name] = Column(name, values, absent, item.kind, item.levels if factor else None)
    return Table(columns, pd.RangeIndex(1))


def conform(table: Table, schema: Schema, inputs: Sequence[str]) -> Table:
    """A partition's table with columns of the types of all, factors among the inputs with its levels."""
    columns = {name: _conform(column, schema[name], name in inputs) for name, column in table.columns.items()}
    return Table(columns, table.index)


def _conform(column: Column, common: ColumnType, is_input: bool) -> Column:
    if common.kind != "factor":
        nothing = np.full(len(column.missing), np.nan)
        return column if column.kind == common.kind else Column(column.name, nothing, column.missing, common.kind)
    if column.levels is None:  # numbers as text, for a response that is text elsewhere
        seen, codes = np.unique(column.values[~column.missing], return_inverse=True)
        spelled = np.full(len(column.missing), -1, dtype=np.intp)
        spelled[~column.missing] = codes
        levels = tuple(str(float(value)) for value in seen)
        column = Column(column.name, spelled, column.missing, "factor", levels)
    if not is_input or column.levels == common.levels:
        return column
    place = {level: i for i, level in enumerate(common.levels)}
    codes = np.array([*(place[level] for level in column.levels or ()), -1], dtype=np.intp)
    return replace(column, values=codes[column.values.astype(np.intp)], levels=common.levels)
