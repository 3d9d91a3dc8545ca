"""What is done with one partition of the data, wherever it is, and what it tells of all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.arrays import CensoredResponse, Design
from tobitgp.data.columns import bare_column, check_inputs
from tobitgp.data.design import DesignState
from tobitgp.data.linear import Independence, representatives
from tobitgp.data.prepare import SIDES, Complete, Counted, complete_rows, known_response, spell_response
from tobitgp.data.response import Censored
from tobitgp.data.row_arguments import read_weights
from tobitgp.data.sources import Loader
from tobitgp.data.spellings import holds_limits
from tobitgp.data.table import Column, RowNames, Table, read_table
from tobitgp.data.training_summary import RowFacts, measure_facts
from tobitgp.engines import Store
from tobitgp.errors import DataError, TobitGPError
from tobitgp.formula.spec import ModelSpec, ScaleSpec
from tobitgp.typing import Array, IntArray

_WORDS = {"number": "numbers", "boolean": "True and False", "date": "dates", "duration": "durations", "factor": "text"}


@dataclass(frozen=True, slots=True)
class ColumnType:
    """What a column holds."""

    kind: str
    known: bool  # false where every value is missing, so that other partitions decide
    levels: tuple[Any, ...]  # of a factor
    place: str  # A partition that holds this, for messages

    @classmethod
    def of(cls, column: Column, place: str, *, input_column: bool) -> ColumnType:
        """Of one column of a partition."""
        factor = column.levels is not None
        kinds = {"factor": factor, "boolean": column.boolean, "date": column.dates, "duration": column.duration}
        kind = next((kind for kind, held in kinds.items() if held), "number")
        levels = column.levels or ()
        return cls(kind, not column.missing.all(), levels if input_column else _witnesses(column), place)


Schema = dict[str, ColumnType]


def describe_table(table: Table, place: str, inputs: Sequence[str]) -> Schema:
    """Types of a partition's columns."""
    return {name: ColumnType.of(column, place, input_column=name in inputs) for name, column in table.columns.items()}


def merge_schemas(schemas: Sequence[Schema], text_names: Sequence[str]) -> Schema:
    """Types of the columns of all partitions."""
    return {name: _merge(name, [schema[name] for schema in schemas], name in text_names) for name in schemas[0]}


def conform(table: Table, schema: Schema, inputs: Sequence[str]) -> Table:
    """A partition's table with columns of the types of all, factors among the inputs with its levels."""
    columns = {name: _conform(column, schema[name], name in inputs) for name, column in table.columns.items()}
    return Table(columns, table.index)


def head(schema: Schema) -> Table:
    """A table of one row with the types of all partitions, whose columns miss what is missing in every row."""
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


def _conform(column: Column, common: ColumnType, is_input: bool) -> Column:
    flags = _flags(common)
    if common.kind != "factor":
        if column.levels is None and (column.boolean, column.dates, column.duration) == flags:
            return column
        values = np.full(len(column.missing), np.nan)
        return Column(column.name, values, column.missing, None, *flags)
    if column.levels is None:
        column = _spell(column)
    return recode(column, common.levels) if is_input else column


def _flags(item: ColumnType) -> tuple[bool, bool, bool]:
    return item.kind == "boolean", item.kind == "date", item.kind == "duration"


def _spell(column: Column) -> Column:
    """Numbers as text, for a response that is text elsewhere."""
    seen, codes = np.unique(column.values[~column.missing], return_inverse=True)
    spelled = np.full(len(column.missing), -1, dtype=np.intp)
    spelled[~column.missing] = codes
    return Column(column.name, spelled, column.missing, tuple(str(float(value)) for value in seen))


@dataclass(frozen=True, slots=True)
class Tabled:
    """A partition whose columns are typed."""

    number: int
    place: str  # its name in messages
    table: Table
    weight: Array | None  # (n,), frequencies, None: ones; and variance weights
    precision: Array | None  # (n,), frequencies, None: ones; and variance weights


@dataclass(frozen=True, slots=True)
class Kept:
    """Rows of a partition that are used."""

    number: int
    place: str
    table: Table  # their inputs
    response: CensoredResponse
    precision: Array | None  # (n,), variance weights


@dataclass(frozen=True, slots=True)
class DataPartition:
    """Rows of a partition as arrays."""

    number: int
    place: str
    labels: pd.Index
    response: CensoredResponse
    design: Design


@dataclass(frozen=True, slots=True)
class Seen:
    """What the rows of a partition tell before there is a design."""

    complete: Complete
    counted: Counted
    distinct: dict[str, Column]  # codes of factors and values of other groups that occur, each once
    examples: Table  # representatives of the rows, for formulaic
    precision: tuple[float, float] = (0.0, 0.0)  # sum of the variance weights


@dataclass(frozen=True, slots=True)
class Learnt:
    """What the design of a partition tells."""

    independence: tuple[Independence, ...]  # of the linear part, and of the noise scale where it has a formula
    largest: tuple[Array, ...]  # (d_t,), absolute values of each process's inputs
    facts: RowFacts


def read_partition(
    partition: Loader,
    spec: ModelSpec,
    inputs: Sequence[str],
    names: Sequence[str],
    weights: str | None,
    var_weights: str | None,
    store: Store | None,
) -> Tabled:
    """Read and type the columns of a partition."""
    with naming(partition.place):
        frame = partition.load()
        table = read_table(spell_response(spec, inputs, frame), names)
        weight = None if weights is None else read_weights(weights, frame, table.n)
        precision = None if var_weights is None else read_weights(var_weights, frame, table.n, "var_weights")
    tabled = Tabled(partition.number, partition.place, table, weight, precision)
    return tabled if store is None else store.keep("tables", tabled)


def describe(partition: Tabled, inputs: Sequence[str]) -> tuple[int, Schema]:
    """Number of rows, and types of the columns."""
    return partition.table.n, describe_table(partition.table, partition.place or "some rows", inputs)


def keep_rows(
    partition: Tabled,
    spec: ModelSpec,
    scale: ScaleSpec | None,
    inputs: Sequence[str],
    schema: Schema,
    missing: str,
    censored: Censored,
    log_time: bool,
    store: Store | None,
) -> tuple[Kept | None, Seen]:
    """Find the rows that are used, and what they tell; no rows where incomplete ones are refused."""
    table = conform(partition.table, schema, inputs)
    weight = np.ones(table.n) if partition.weight is None else partition.weight
    with naming(partition.place):
        rows, complete = complete_rows(spec, inputs, table, weight)
        complete = replace(complete, incomplete=complete.incomplete.inside(partition.place))
        if missing == "raise" and complete.incomplete.count:
            return None, Seen(
                complete, Counted(dict.fromkeys(SIDES, 0), 0, RowNames(0, ()), RowNames(0, ())), {}, table.pick(_NONE)
            )
        table = table.take(rows)
        response, used, counted = known_response(spec, table, weight[rows], censored, log_time=log_time)
        counted = counted.inside(partition.place)
        table = Table({name: table.columns[name] for name in inputs}, table.index).take(used)
        check_inputs(inputs, table)
    distinct = {name: _distinct(table.columns[name]) for name in inputs if table.columns[name].levels is not None}
    for term in spec.gps:
        column = None if term.by is None else bare_column(term.by, table)
        if column is not None:
            distinct[column.name] = _distinct(column)
    parts = [spec] if scale is None else [spec, scale]
    examples = table.take(np.logical_or.reduce([representatives(part, table) for part in parts]))
    precision = None if partition.precision is None else partition.precision[rows][used]
    total = (0.0 if precision is None else float(precision @ response.weight), float(response.weight.sum()))
    kept = Kept(partition.number, partition.place, table, response, precision)
    return kept if store is None else store.keep("rows", kept), Seen(complete, counted, distinct, examples, total)


def make_rows(partition: tuple[Kept, Seen], state: DesignState, store: Store | None) -> tuple[DataPartition, Learnt]:
    """Build the design of a partition."""
    kept = partition[0]
    with naming(kept.place):
        design = state.build(kept.table)
    if kept.precision is not None and state.var_weight is not None:
        design = replace(design, spread=np.sqrt(state.var_weight[1] / kept.precision))
    facts = measure_facts(state, kept.response, design.groups, state.recode(kept.table))
    H = [design.H] if design.scale is None else [design.H, design.scale.W]
    largest = tuple(np.abs(X).max(axis=0, initial=0.0) for X in design.X)
    rows = DataPartition(kept.number, kept.place, kept.table.index, kept.response, design)
    rows = rows if store is None else store.keep("rows", rows)
    return rows, Learnt(tuple(map(Independence.of, H)), largest, facts)


def pick_rows(partition: tuple[Kept, Seen], positions: Sequence[IntArray]) -> Table:
    """Inputs in the rows of a partition at some positions, given for every partition."""
    return partition[0].table.pick(positions[partition[0].number])


@contextmanager
def naming(place: str) -> Iterator[None]:
    """Say in errors which partition they are about."""
    try:
        yield
    except TobitGPError as error:
        if not place:
            raise
        raise type(error)(f"In {place}: {error}") from None


_NONE = np.empty(0, dtype=np.intp)


def _distinct(column: Column) -> Column:
    values: Any = np.unique(column.values)
    return replace(column, values=values, missing=np.zeros(len(values), dtype=bool))
