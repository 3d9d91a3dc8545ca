"""The work on one partition of the data, wherever it is, and its contribution to facts about all."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from tobitgp.data.arrays import CensoredResponse, Design
from tobitgp.data.censored_response import (
    Censored,
    read_response,
    refuse_misread_limits,
    refuse_unknown_limits,
    unknown_rows,
    warn_beyond,
)
from tobitgp.data.columns import check_inputs
from tobitgp.data.design import DesignState, representatives
from tobitgp.data.frames import read_weights
from tobitgp.data.linear_columns import Independence
from tobitgp.data.schema import Schema, conform, describe_table
from tobitgp.data.sources import Loader
from tobitgp.data.spellings import code_names, spell_numbers
from tobitgp.data.table import RowNames, Table, read_table
from tobitgp.data.training_summary import RowFacts, measure_columns, measure_facts
from tobitgp.data.values import counted
from tobitgp.engines import Store
from tobitgp.errors import DataError, TobitGPError, user_level
from tobitgp.formula.spec import ModelSpec, ScaleSpec
from tobitgp.typing import Array, BoolArray, IntArray

Missing = Literal["drop", "raise"]
_SIDES = {"exact": 0, "left": -1, "right": 1, "interval": 2}


@dataclass(frozen=True, slots=True)
class Request:
    """What to compute for every partition."""

    spec: ModelSpec
    scale: ScaleSpec | None
    inputs: tuple[str, ...]  # columns right of ``~``
    weights: Any  # a column by name; an array where there is one partition
    var_weights: Any
    missing: Missing
    censored: Censored
    log_time: bool
    whole: bool  # whether there is one partition, of which everything may be learned
    store: Store | None  # where arrays of partitions in this process are kept

    @property
    def text_names(self) -> list[str]:
        """Columns of the response that may hold numbers and text, ``<0.5`` among it."""
        return [name for name in self.spec.names("response") if name not in self.inputs]

    @property
    def names(self) -> tuple[str, ...]:
        """Columns of the data that the formulas name."""
        return tuple(dict.fromkeys((*self.spec.names(), *self.inputs)))

    def named_weights(self, partition: Tabled) -> dict[str, Array]:
        """Weights of a partition, frequencies first, by what messages call them; (n,) each."""
        given = {"weights": (self.weights, partition.weight), "var_weights": (self.var_weights, partition.precision)}
        return {
            f"{what} {name!r}" if isinstance(name, str) else what: values
            for what, (name, values) in given.items()
            if values is not None
        }

    def keep(self, stage: str, value: Any) -> Any:
        """Arrays of a partition where the store keeps them."""
        return value if self.store is None else self.store.keep(stage, value)


@dataclass(frozen=True, slots=True)
class Tabled:
    """A partition whose columns are typed."""

    number: int
    place: str  # its name in messages
    table: Table
    weight: Array  # (n,), frequencies
    precision: Array | None  # (n,), variance weights


@dataclass(frozen=True, slots=True)
class UsedRows:
    """Rows of a partition that are used."""

    number: int
    place: str
    rows: BoolArray  # (n,), which of them they are
    table: Table  # their inputs
    response: CensoredResponse
    precision: Array | None  # variance weights


@dataclass(frozen=True, slots=True)
class DataPartition:
    """Rows of a partition as arrays."""

    number: int
    place: str
    labels: pd.Index
    response: CensoredResponse
    design: Design


@dataclass(frozen=True, slots=True)
class Complete:
    """Which rows are complete."""

    n: int  # rows of the data
    weightless: int  # rows of weight 0, which may miss anything
    incomplete: RowNames  # rows that count, and miss something
    missing: dict[str, int]  # for each column

    def inside(self, place: str) -> Complete:
        """The same, rows named as those of a partition."""
        return replace(self, incomplete=self.incomplete.inside(place))

    def judge(self, missing: Missing) -> None:
        """Report rows that are left out."""
        count, weighted = self.incomplete.count, self.n - self.weightless
        listed = ", ".join(f"{name} ({number})" for name, number in self.missing.items() if number)
        why = f"missing values in {listed or 'no column'}"
        if count and missing == "raise":
            raise DataError(f"The data have {why}, first in {self.incomplete}. Drop these rows, or use missing='drop'.")
        if not weighted:
            raise DataError(f"No row is left: all {self.n} have weight 0. Give positive weights.")
        if count == weighted:
            weightless = f", and {counted(self.weightless, 'row')} of weight 0" if self.weightless else ""
            raise DataError(f"No row is left: {why}{weightless}.")
        if count:
            dropped = f"{count} of {self.n} rows {'is' if count == 1 else 'are'} dropped"
            warnings.warn(f"{dropped}: {why}.", UserWarning, stacklevel=user_level())


@dataclass(frozen=True, slots=True)
class Counted:
    """Complete rows of each kind, left out or not, and those beyond their limits."""

    kinds: dict[str, int]  # rows that are ``exact``, ``left``, ``right`` and ``interval`` censored
    used: int  # rows that are not left out
    beyond: RowNames
    open: RowNames  # rows without information about a time except that it is positive

    def inside(self, place: str) -> Counted:
        """The same, rows named as those of a partition."""
        return replace(self, beyond=self.beyond.inside(place), open=self.open.inside(place))

    def judge(self, missing: Missing) -> None:
        """Report values that were replaced, and rows that are left out."""
        warn_beyond(self.beyond)
        n = sum(self.kinds.values())
        count = self.open.count
        says = f"{count} row{' has' if count == 1 else 's have'} no information about a positive response ({self.open})"
        why = "the lower end is not above 0, and the upper end is open"
        if count and missing == "raise":
            raise DataError(f"{says}: {why}.")
        if count and not n:
            raise DataError(f"No row is left: {says}; {why}.")
        if not self.used:
            raise DataError(f"No row is left: all {n} are censored, and censored='drop' leaves them out.")
        if count:
            dropped = "it is dropped" if count == 1 else "they are dropped"
            warnings.warn(f"{says}, and {dropped}: {why}.", UserWarning, stacklevel=user_level())


class SeenRows(NamedTuple):
    """What the rows of a partition tell before there is a design."""

    counted: Counted
    examples: Table  # rows of which the design of all is learned
    precision: tuple[float, float] = (0.0, 0.0)  # sums of the variance weights, and of the frequencies


class Learnt(NamedTuple):
    """What the design of a partition tells."""

    independence: tuple[Independence, ...]  # of the linear part, and of the noise scale where it has a formula
    slopes: tuple[BoolArray, ...]  # (d_t,), whether an input of a process is ever other than 0
    facts: RowFacts


def read_partition(partition: Loader, asked: Request) -> Tabled:
    """Read and type the columns of a partition."""
    with naming(partition.place):
        frame = partition.load()
        table = read_table(spell_numbers(frame, asked.text_names, mixed_only=True), asked.names)
        weight = read_weights(asked.weights, frame, table.n, gaps=True)
        precision = asked.var_weights
        if precision is not None:
            precision = read_weights(precision, frame, table.n, "var_weights", gaps=True)
    return asked.keep("tables", Tabled(partition.number, partition.place, table, weight, precision))


def describe(partition: Tabled, inputs: Sequence[str]) -> tuple[int, Schema]:
    """Number of rows, and types of the columns."""
    return partition.table.n, describe_table(partition.table, partition.place or "some rows", inputs)


class Found(NamedTuple):
    """The rows of a partition after reading; nothing is kept if incomplete rows raise an error."""

    complete: Complete
    seen: SeenRows | None = None
    kept: UsedRows | None = None


def keep_rows(partition: Tabled, asked: Request, schema: Schema) -> Found:
    """Find the rows that are used, and what they tell."""
    spec, inputs, place = asked.spec, asked.inputs, partition.place
    table = conform(partition.table, schema, inputs)
    with naming(place):
        rows, complete = complete_rows(spec, inputs, table, asked.named_weights(partition))
        complete = complete.inside(place)
        if asked.whole:
            complete.judge(asked.missing)  # before what may be wrong with the rows that are left
        if asked.missing == "raise" and complete.incomplete.count:
            return Found(complete)
        table = table.take(rows)
        response, used, counted = known_response(spec, table, partition.weight[rows], asked.censored, asked.log_time)
        if asked.whole:
            refuse_misread_limits(spec, table)
        table = Table({name: table.columns[name] for name in inputs}, table.index).take(used)
        check_inputs(inputs, table)
    rows[rows] = used
    precision = None if partition.precision is None else partition.precision[rows]
    total = 0.0 if precision is None else float((precision * response.weight).sum())
    examples = table if asked.whole else table.take(representatives(spec, asked.scale, table))
    kept = UsedRows(partition.number, place, rows, table, response, precision)
    seen = SeenRows(counted.inside(place), examples, (total, float(response.weight.sum())))
    return Found(complete, seen, asked.keep("rows", kept))


def complete_rows(
    spec: ModelSpec, inputs: Sequence[str], table: Table, weights: Mapping[str, Array]
) -> tuple[BoolArray, Complete]:
    """Rows of positive weight in which something is known of the response, and no input, code or weight is missing.

    Shapes: weights, the first of them frequencies, (n,); gives kept (n,).
    """
    weight, absent = next(iter(weights.values())), np.isnan(list(weights.values()))
    counted = ~(weight <= 0)
    unknown = unknown_rows(spec, table)
    codes = code_names(spec)
    uncoded = table.missing(codes)
    refuse_unknown_limits(spec, table, counted & unknown & ~uncoded)
    incomplete = counted & (unknown | uncoded | table.missing(inputs) | absent.any(axis=0))
    names = dict.fromkeys((*spec.names("response"), *codes, *inputs))
    missing = {repr(name): int((table.columns[name].missing & incomplete).sum()) for name in names}
    missing |= {name: int((gone & counted).sum()) for name, gone in zip(weights, absent, strict=True)}
    if spec.response.kind == "interval":
        missing = {f"both ends of {spec.response.label}": int((unknown & counted).sum()), **missing}
    found = Complete(table.n, int((~counted).sum()), table.name_rows(incomplete), missing)
    return counted & ~incomplete, found


def known_response(
    spec: ModelSpec, table: Table, weight: Array, censored: Censored, log_time: bool
) -> tuple[CensoredResponse, BoolArray, Counted]:
    """What is known about the response in complete rows, and which of them are used; weight (n,); gives used (n,)."""
    response, kind, beyond = read_response(spec, table, weight, censored=censored)
    says = ~((kind == 1) & (response.lower <= 0.0)) if log_time else np.ones(table.n, dtype=bool)
    used = says & (kind == 0) if censored == "drop" else says
    kinds = {name: int((kind[says] == side).sum()) for name, side in _SIDES.items()}
    counted = Counted(kinds, int(used.sum()), table.name_rows(beyond & says), table.name_rows(~says))
    return response if used.all() else response.rows(used), used, counted


def make_rows(found: Found, asked: Request, state: DesignState) -> tuple[DataPartition, Learnt]:
    """Build the design of a partition."""
    kept = found.kept
    assert kept is not None
    with naming(kept.place):
        design = state.build(kept.table)
    if kept.precision is not None and state.var_weight is not None:
        design = replace(design, spread=np.sqrt(state.var_weight[1] / kept.precision))
    facts = measure_facts(kept.response, design.groups)
    if not asked.whole:
        columns = measure_columns(state, state.recode(kept.table), kept.response.weight)
        facts = replace(facts, columns=columns)
    H = [design.H, *([] if design.scale is None else [design.scale.W])]
    H += [X for X, part in zip(design.X, state.effects, strict=True) if part is not None]
    H += [each.W for each in design.formulas]
    slopes = tuple(np.any(X != 0.0, axis=0) for X in design.X)
    rows = DataPartition(kept.number, kept.place, kept.table.index, kept.response, design)
    return asked.keep("rows", rows), Learnt(tuple(map(Independence.of, H)), slopes, facts)


def pick_rows(found: Found, positions: Sequence[IntArray]) -> Table:
    """Inputs in the rows of a partition at some positions, given for every partition."""
    kept = found.kept
    assert kept is not None
    return kept.table.take(np.isin(np.arange(kept.table.n), positions[kept.number]))


@contextmanager
def naming(place: str) -> Iterator[None]:
    """Say in errors which partition they are about."""
    try:
        yield
    except TobitGPError as error:
        if not place:
            raise
        raise type(error)(f"In {place}: {error}") from None
