"""A formula meets partitioned data: a first pass learns levels, codings and counts; rows stay where they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import itemgetter
from typing import Any, Literal

import numpy as np
import pandas as pd

from tobitgp.data.columns import check_slopes
from tobitgp.data.design import DesignState, group_levels, input_names, learn_part
from tobitgp.data.linear import Independence, check_independence, representatives, row_wise
from tobitgp.data.partition import (
    Learnt,
    Schema,
    Seen,
    describe,
    keep_rows,
    make_rows,
    merge_schemas,
    pick_rows,
    read_partition,
    recode,
)
from tobitgp.data.partition import head as head_of
from tobitgp.data.prepare import Complete, Counted, check_request, recognise, text_names
from tobitgp.data.response import Censored
from tobitgp.data.sources import Source
from tobitgp.data.table import Column, Table, join_tables
from tobitgp.data.training_summary import RowFacts
from tobitgp.engines import Partitions, Store
from tobitgp.errors import DataError, SpecError
from tobitgp.formula.functions import nearest
from tobitgp.formula.spec import ModelSpec, ScaleSpec
from tobitgp.typing import IntArray

EXAMPLES = 20_000


@dataclass(frozen=True, slots=True)
class PartitionedData:
    """Everything a fit needs from partitioned data."""

    partitions: Partitions  # some may be without rows
    columns: tuple[str, ...]  # of the linear part
    state: DesignState
    found: RowFacts  # what is remembered of the rows
    examples: Table  # inputs in some of the rows
    counts: dict[str, int]  # as in ``TrainingData``
    store: Store | None  # where arrays of partitions in this process are kept


def prepare_partitions(
    spec: ModelSpec,
    source: Source,
    *,
    scale: ScaleSpec | None = None,
    weights: str | None = None,
    var_weights: str | None = None,
    missing: Literal["drop", "raise"] = "drop",
    censored: Censored = "model",
    log_time: bool = False,
    store: Store | None = None,
) -> PartitionedData:
    """Read the training rows where they are; see :func:`tobitgp.data.prepare.prepare`."""
    check_request(spec, scale, source.columns, missing, censored)
    beside = {"weights": weights, "var_weights": var_weights}
    for what, name in beside.items():
        _check_weights(what, name, source.columns)
    parts = [spec] if scale is None else [spec, scale]
    for part in parts:
        row_wise(part)
    inputs = input_names(spec, scale)
    names = tuple(dict.fromkeys((*spec.names(), *inputs)))
    frames = source.choose([*dict.fromkeys((*names, *filter(None, beside.values())))])
    tables = frames.map(read_partition, spec, inputs, names, weights, var_weights, store)
    spec, schema = _learn_schema(spec, scale, inputs, tables)

    kept = tables.map(keep_rows, spec, scale, inputs, schema, missing, censored, log_time, store)
    seen, counted = _count(kept, missing)
    state = _learn(spec, scale, inputs, seen)
    if var_weights is not None:
        total, count = np.sum([item.precision for item in seen], axis=0)
        state = replace(state, var_weight=(var_weights, float(total / count)))
    made = kept.map(make_rows, state, store)
    facts = _judge_designs(made, state)
    examples = kept.collect(pick_rows, _some([item.counted.used for item in seen]))
    n_data = sum(item.complete.n for item in seen)
    data = PartitionedData(
        made.map(itemgetter(0)),
        state.linear.columns,
        state,
        facts,
        state.recode(join_tables(examples)),
        {**counted.kinds, "dropped": n_data - sum(counted.kinds.values())},
        store,
    )
    if store is not None:
        store.forget("tables")
    return data


def _check_weights(what: str, name: Any, columns: Sequence[Any]) -> None:
    if name is None:
        return
    if not isinstance(name, str):
        raise SpecError(f"{what}= of partitioned data is the name of one of their columns.")
    if name not in columns:
        raise DataError(f"The data have no column {name!r} for the {what}{nearest(name, list(columns))}")


def _learn_schema(
    spec: ModelSpec, scale: ScaleSpec | None, inputs: Sequence[str], tables: Partitions
) -> tuple[ModelSpec, Schema]:
    """What the columns of all partitions hold, and the formula as it reads once that is known."""
    described = tables.collect(describe, inputs)
    if not sum(n for n, _ in described):
        raise DataError("The data have no rows")
    schema = merge_schemas([item for _, item in described], text_names(spec, inputs))
    return recognise(spec, scale, head_of(schema)), schema


def _count(kept: Partitions, missing: Literal["drop", "raise"]) -> tuple[list[Seen], Counted]:
    """A pass over the rows as typed columns: what they tell before there is a design, and how many are used."""
    seen: list[Seen] = kept.collect(itemgetter(1))
    reduce(Complete.merge, [item.complete for item in seen]).judge(missing)
    counted = reduce(Counted.merge, [item.counted for item in seen])
    counted.judge(missing)
    return seen, counted


def _learn(spec: ModelSpec, scale: ScaleSpec | None, inputs: Sequence[str], seen: Sequence[Seen]) -> DesignState:
    """What is to be replayed, from rows that stand for all and from the levels of all."""
    distinct = {name: _union([item.distinct[name] for item in seen]) for name in seen[0].distinct}
    used = {
        name: tuple(column.levels[int(code)] for code in column.values)
        for name, column in distinct.items()
        if column.levels is not None
    }
    table = join_tables([item.examples for item in seen])
    parts = [spec] if scale is None else [spec, scale]
    table = table.take(np.logical_or.reduce([representatives(part, table) for part in parts]))
    columns = {n: recode(c, used[n]) if n in used else c for n, c in table.columns.items()}
    states = [learn_part(part, Table(columns, table.index))[1] for part in parts]
    groups = group_levels(spec, Table(distinct, pd.RangeIndex(0)))
    levels = {name: used.get(name) for name in inputs}
    return DesignState(
        spec, levels, states[0].coded, states[0].linear, groups, states[1] if scale is not None else None
    )


def _judge_designs(made: Partitions, state: DesignState) -> RowFacts:
    """A pass over the rows as arrays: refuse columns that say the same, and remember what is asked of rows later."""
    learnt: list[Learnt] = made.collect(itemgetter(1))
    for i, learned in enumerate(state.parts):
        found = reduce(Independence.merge, [item.independence[i] for item in learnt])
        check_independence(found, learned.linear.columns, learned.spec.part)
    largest = zip(*(item.largest for item in learnt), strict=True)
    check_slopes(state.spec, tuple(np.max(X, axis=0)[None] for X in largest))
    return reduce(RowFacts.merge, [item.facts for item in learnt])


def _union(columns: Sequence[Column]) -> Column:
    values = np.unique(np.concatenate([column.values for column in columns]))
    first = columns[0]
    return replace(first, values=values, missing=np.zeros(len(values), dtype=bool))


def _some(counts: Sequence[int]) -> tuple[IntArray, ...]:
    """Positions in each partition of rows to take examples from: all, or some where there are many."""
    total = sum(counts)
    chosen = np.arange(total)
    if total > EXAMPLES:
        chosen = np.sort(np.random.default_rng(0).choice(total, EXAMPLES, replace=False))
    return split_positions(chosen, counts)


def split_positions(positions: IntArray, counts: Sequence[int]) -> tuple[IntArray, ...]:
    """Ascending positions among all rows as positions in each partition."""
    starts = np.cumsum([0, *counts])
    cuts = np.split(positions, np.searchsorted(positions, starts[1:-1]))
    return tuple(at - start for at, start in zip(cuts, starts[:-1], strict=True))
