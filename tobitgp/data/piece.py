"""What is done with one piece of the data, wherever it is, and what it tells of the whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.beside import read_weights
from tobitgp.data.checks import check_inputs
from tobitgp.data.evaluate import bare_column
from tobitgp.data.facts import RowFacts, measure_facts
from tobitgp.data.linear import Independence
from tobitgp.data.prepare import spell_response
from tobitgp.data.response import Censored
from tobitgp.data.schema import Schema, conform, describe_table
from tobitgp.data.shapes import CensoredResponse, Design
from tobitgp.data.sources import Loader
from tobitgp.data.state import DesignState
from tobitgp.data.table import Column, RowNames, Table, read_table
from tobitgp.data.transforms import representatives
from tobitgp.data.used import SIDES, Complete, Counted, complete_rows, known_response
from tobitgp.engines import Store
from tobitgp.errors import TobitGPError
from tobitgp.formula.spec import ModelSpec, ScaleSpec
from tobitgp.typing import Array, IntArray


@dataclass(frozen=True, slots=True)
class Tabled:
    """A piece whose columns are typed."""

    number: int
    place: str  # its name in messages
    table: Table
    weight: Array | None  # (n,), frequencies, None: ones; and variance weights
    precision: Array | None  # (n,), frequencies, None: ones; and variance weights


@dataclass(frozen=True, slots=True)
class Kept:
    """Rows of a piece that are used."""

    number: int
    place: str
    table: Table  # their inputs
    response: CensoredResponse
    precision: Array | None  # (n,), variance weights


@dataclass(frozen=True, slots=True)
class RowPiece:
    """Rows of a piece as arrays."""

    number: int
    place: str
    labels: pd.Index
    response: CensoredResponse
    design: Design


@dataclass(frozen=True, slots=True)
class Seen:
    """What the rows of a piece tell before there is a design."""

    complete: Complete
    counted: Counted
    distinct: dict[str, Column]  # codes of factors and values of other groups that occur, each once
    examples: Table  # representatives of the rows, for formulaic
    precision: tuple[float, float] = (0.0, 0.0)  # sum of the variance weights


@dataclass(frozen=True, slots=True)
class Learnt:
    """What the design of a piece tells."""

    independence: tuple[Independence, ...]  # of the linear part, and of the noise scale where it has a formula
    largest: tuple[Array, ...]  # (d_t,), absolute values of each process's inputs
    facts: RowFacts


def read_piece(
    piece: Loader,
    spec: ModelSpec,
    inputs: Sequence[str],
    names: Sequence[str],
    weights: str | None,
    var_weights: str | None,
    store: Store | None,
) -> Tabled:
    """Read and type the columns of a piece."""
    with naming(piece.place):
        frame = piece.load()
        table = read_table(spell_response(spec, inputs, frame), names)
        weight = None if weights is None else read_weights(weights, frame, table.n)
        precision = None if var_weights is None else read_weights(var_weights, frame, table.n, "var_weights")
    tabled = Tabled(piece.number, piece.place, table, weight, precision)
    return tabled if store is None else store.keep("tables", tabled)


def describe(piece: Tabled, inputs: Sequence[str]) -> tuple[int, Schema]:
    """Number of rows, and types of the columns."""
    return piece.table.n, describe_table(piece.table, piece.place or "some rows", inputs)


def keep_rows(
    piece: Tabled,
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
    table = conform(piece.table, schema, inputs)
    weight = np.ones(table.n) if piece.weight is None else piece.weight
    with naming(piece.place):
        rows, complete = complete_rows(spec, inputs, table, weight)
        complete = replace(complete, incomplete=complete.incomplete.inside(piece.place))
        if missing == "raise" and complete.incomplete.count:
            return None, Seen(
                complete,
                Counted(dict.fromkeys(SIDES, 0), 0, RowNames(0, ()), RowNames(0, ())),
                {},
                table.pick(_NONE),
            )
        table = table.take(rows)
        response, used, counted = known_response(spec, table, weight[rows], censored, log_time=log_time)
        counted = counted.inside(piece.place)
        table = Table({name: table.columns[name] for name in inputs}, table.index).take(used)
        check_inputs(inputs, table)
    distinct = {name: _distinct(table.columns[name]) for name in inputs if table.columns[name].levels is not None}
    for term in spec.gps:
        column = None if term.by is None else bare_column(term.by, table)
        if column is not None:
            distinct[column.name] = _distinct(column)
    parts = [spec] if scale is None else [spec, scale]
    examples = table.take(np.logical_or.reduce([representatives(part, table) for part in parts]))
    precision = None if piece.precision is None else piece.precision[rows][used]
    total = (0.0 if precision is None else float(precision @ response.weight), float(response.weight.sum()))
    kept = Kept(piece.number, piece.place, table, response, precision)
    return kept if store is None else store.keep("rows", kept), Seen(complete, counted, distinct, examples, total)


def make_rows(piece: tuple[Kept, Seen], state: DesignState, store: Store | None) -> tuple[RowPiece, Learnt]:
    """Build the design of a piece."""
    kept = piece[0]
    with naming(kept.place):
        design = state.build(kept.table)
    if kept.precision is not None and state.var_weight is not None:
        design = replace(design, spread=np.sqrt(state.var_weight[1] / kept.precision))
    facts = measure_facts(state, kept.response, design.groups, state.recode(kept.table))
    H = [design.H] if design.scale is None else [design.H, design.scale.W]
    largest = tuple(np.abs(X).max(axis=0, initial=0.0) for X in design.X)
    rows = RowPiece(kept.number, kept.place, kept.table.index, kept.response, design)
    rows = rows if store is None else store.keep("rows", rows)
    return rows, Learnt(tuple(map(Independence.of, H)), largest, facts)


def pick_rows(piece: tuple[Kept, Seen], positions: Sequence[IntArray]) -> Table:
    """Inputs in the rows of a piece at some positions, given for every piece."""
    return piece[0].table.pick(positions[piece[0].number])


def first(pair: tuple[Any, Any]) -> Any:
    """First of two."""
    return pair[0]


def second(pair: tuple[Any, Any]) -> Any:
    """Second of two."""
    return pair[1]


@contextmanager
def naming(place: str) -> Iterator[None]:
    """Say in errors which piece they are about."""
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
