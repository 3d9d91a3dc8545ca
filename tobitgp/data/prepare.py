"""A specification and a table, or partitions of one, become the arrays of the training rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from tobitgp.data.absorbed import Absorbed
from tobitgp.data.arrays import CensoredResponse, Design, join, merge
from tobitgp.data.censored_response import Censored, recognise_duration, recognise_text
from tobitgp.data.columns import check_dates, check_slopes
from tobitgp.data.design import DesignState, input_names, learn_design
from tobitgp.data.linear_columns import check_independence, row_wise
from tobitgp.data.partition import (
    Complete,
    DataPartition,
    Learnt,
    Missing,
    Request,
    SeenRows,
    UsedRows,
    describe,
    keep_rows,
    make_rows,
    naming,
    pick_rows,
    read_partition,
)
from tobitgp.data.row_weights import are_whole, effective_weight
from tobitgp.data.schema import Schema, head, merge_schemas
from tobitgp.data.sources import InMemory, Loader, PartitionedSource
from tobitgp.data.table import Table, join_tables, read_table
from tobitgp.data.training_summary import (
    ColumnFacts,
    Facts,
    RowFacts,
    facts_of,
    facts_of_columns,
    measure_columns,
)
from tobitgp.engines import LocalPartitions, Partitions, Store
from tobitgp.errors import DataError, SpecError
from tobitgp.formula.functions import nearest
from tobitgp.formula.spec import ModelSpec, ScaleSpec
from tobitgp.typing import Array, BoolArray, Frame, IntArray

EXAMPLES = 20_000


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a fit needs from data, wherever their rows are."""

    state: DesignState  # replays the covariates on new data
    found: RowFacts  # what is remembered of the rows
    counts: dict[str, int]  # rows that are ``exact``, ``left``, ``right`` and ``interval`` censored, and ``dropped``

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of the linear part."""
        return self.state.linear.columns


@dataclass(frozen=True, slots=True)
class TrainingData(Prepared):
    """Everything a fit needs from data in memory."""

    response: CensoredResponse  # of the n rows that are kept
    design: Design  # of the same rows
    index: pd.Index  # row labels of the data
    kept: BoolArray  # (n_data,), rows of the data that are used
    stated_sampling: bool = field(default=False, kw_only=True)  # whether weights are said to be those of a sample

    @property
    def sampling(self) -> bool:
        """Whether weights are those of a sample, which have no unit: said to be, or no frequencies."""
        return self.stated_sampling or not are_whole(self.response.weight)

    @property
    def tested_weight(self) -> Array:
        """Weights (n,) in tests: frequencies, or sampling weights whose sum is Kish's effective sample size."""
        return effective_weight(self.response.weight) if self.sampling else self.response.weight

    def weight_among(self, rows: IntArray) -> Array:
        """The same of some rows, (m,), which stand for all."""
        weight = self.response.weight[rows]
        return effective_weight(weight) if self.sampling else weight

    @property
    def labels(self) -> npt.NDArray[Any]:
        """Labels (n,) of the rows that are kept."""
        return self.index[self.kept].to_numpy()

    def facts(self, names: Iterable[str], covariates: pd.DataFrame | None) -> Facts:
        """Facts kept about the rows; those about their columns are computed on demand from the covariates."""
        columns: Any = {} if covariates is None else partial(self.column_facts, covariates)
        return facts_of(self.found, self.counts, names, columns)

    def column_facts(self, covariates: pd.DataFrame) -> dict[str, ColumnFacts]:
        """What is remembered of the inputs."""
        table = self.state.recode(read_table(covariates, self.state.input_names))
        found = replace(self.found, columns=measure_columns(self.state, table, self.response.weight))
        return facts_of_columns(self.state, found, table)


@dataclass(frozen=True, slots=True)
class PartitionedData(Prepared):
    """Everything a fit needs from partitioned data."""

    partitions: Partitions  # some may be without rows
    examples: Table  # inputs in some of the rows
    store: Store | None  # where arrays of partitions in this process are kept
    source: PartitionedSource
    kept: Partitions  # of (n,), rows of the data that are used

    def column(self, name: str, read: Callable[[str, Frame], Any]) -> npt.NDArray[Any]:
        """A column of the data in the rows used, (n,), as ``read`` gives it of a partition."""
        values = self.source.choose([name]).collect(_read_column, name, read)
        pairs = zip(values, self.kept.collect(_itself), strict=True)
        return np.concatenate([each[kept] for each, kept in pairs])

    def fetch(self, store: Store) -> LocalPartitions:
        """Partitions that have rows, in this process: on a cluster every iteration would wait for all workers."""
        full = self.partitions.at([i for i, size in enumerate(self.partitions.collect(_size)) if size])
        if isinstance(full, LocalPartitions):
            return full
        return LocalPartitions([store.keep("fetched", full.at([i]).collect(_itself)[0]) for i in range(len(full))])

    def gather(self) -> GatheredData:
        """The rows of all partitions after one another, in files where they are many."""
        store, rows, labels = self.store or Store(), [], []
        for part in self.fetch(store).items:
            H = part.design.H
            H = store.keep("dense", H.dense()) if isinstance(H, Absorbed) else H
            rows.append((replace(part.response, closed=None), replace(part.design, H=H)))
            labels.append(part.labels)
        response, design = join(rows, partial(store.join, "gathered"))
        index = labels[0].append(labels[1:])
        read = self.state, self.found, self.counts, response, design, index, np.ones(len(index), dtype=np.bool_)
        for stage in ("fetched", "dense", "rows"):
            store.forget(stage)
        return GatheredData(*read, replace(self, partitions=LocalPartitions(())))

    def facts(self, names: Iterable[str], covariates: pd.DataFrame | None = None) -> Facts:
        """What is remembered of the rows, their columns too."""
        return facts_of(self.found, self.counts, names, facts_of_columns(self.state, self.found, self.examples))


@dataclass(frozen=True, slots=True)
class GatheredData(TrainingData):
    """Rows of partitioned data after one another, whose columns are not kept."""

    partitioned: PartitionedData  # without its partitions

    def facts(self, names: Iterable[str], covariates: pd.DataFrame | None) -> Facts:
        """What is remembered of the rows, their columns too."""
        return self.partitioned.facts(names)


def _itself(partition: Any) -> Any:
    return partition


def _size(partition: DataPartition) -> int:
    return len(partition.labels)


def _read_column(partition: Loader, name: str, read: Callable[[str, Frame], Any]) -> npt.NDArray[Any]:
    with naming(partition.place):
        return np.asarray(read(name, partition.load()))


def prepare(
    spec: ModelSpec,
    data: Frame,
    *,
    scale: ScaleSpec | None = None,
    weights: str | Any | None = None,
    var_weights: str | Any | None = None,
    missing: Missing = "drop",
    censored: Censored = "model",
    log_time: bool = False,
) -> TrainingData:
    """Read the training rows of data in memory, which are one partition; weights, var_weights (n_data,).

    The formulas were read with the names of the data's columns, and so name no others.
    """
    _check_options(missing, censored)
    inputs = input_names(spec, scale)
    asked = Request(spec, scale, inputs, weights, var_weights, missing, censored, log_time, whole=True, store=None)
    found = _read(LocalPartitions([InMemory(0, data)]), asked)
    kept: UsedRows = found.kept.collect(attrgetter("kept"))[0]
    rows: DataPartition = found.made.collect(itemgetter(0))[0]
    index = found.tables.collect(attrgetter("table.index"))[0]
    return TrainingData(found.state, found.facts, found.counts, rows.response, rows.design, index, kept.rows)


def prepare_partitions(
    spec: ModelSpec,
    source: PartitionedSource,
    *,
    scale: ScaleSpec | None = None,
    weights: str | None = None,
    var_weights: str | None = None,
    missing: Missing = "drop",
    censored: Censored = "model",
    log_time: bool = False,
    store: Store | None = None,
) -> PartitionedData:
    """Read the training rows where they are; see :func:`prepare`."""
    _check_options(missing, censored)
    beside = {"weights": weights, "var_weights": var_weights}
    for what, name in beside.items():
        if name is not None and not isinstance(name, str):
            raise SpecError(f"{what}= must be the name of a column if the data are partitioned.")
        if name is not None and name not in source.columns:
            raise DataError(
                f"The data have no column {name!r} for the {what}{nearest(name, list(source.columns)) or '.'}"
            )
    for part in filter(None, (spec, scale, *spec.formulas)):
        row_wise(part)
    inputs = input_names(spec, scale)
    asked = Request(spec, scale, inputs, weights, var_weights, missing, censored, log_time, whole=False, store=store)
    found = _read(source.choose([*dict.fromkeys((*asked.names, *filter(None, beside.values())))]), asked)
    examples = join_tables(found.kept.collect(pick_rows, _some([item.counted.used for item in found.seen])))
    if store is not None:
        store.forget("tables")
    rows, table = found.made.map(itemgetter(0)), found.state.recode(examples)
    kept = found.kept.map(attrgetter("kept.rows"))
    return PartitionedData(found.state, found.facts, found.counts, rows, table, store, source, kept)


class _Read(NamedTuple):
    """Rows after each pass over them, and what is known about all."""

    tables: Partitions  # of Tabled
    kept: Partitions  # of Found
    made: Partitions  # of (DataPartition, Learnt)
    seen: list[SeenRows]
    state: DesignState
    facts: RowFacts
    counts: dict[str, int]


def _read(partitions: Partitions, asked: Request) -> _Read:
    """Type the columns of every partition, find the rows that are used, learn what is replayed, and make the arrays."""
    tables = partitions.map(read_partition, asked)
    spec, schema = _learn_schema(asked, tables)
    asked = replace(asked, spec=spec)
    kept = tables.map(keep_rows, asked, schema)
    complete: Complete = merge(kept.collect(attrgetter("complete")))
    if not asked.whole:
        complete.judge(asked.missing)
    seen: list[SeenRows] = kept.collect(attrgetter("seen"))
    counted = merge([item.counted for item in seen])
    counted.judge(asked.missing)

    state = learn_design(spec, asked.scale, join_tables([item.examples for item in seen]))
    if asked.var_weights is not None:
        total, count = np.sum([item.precision for item in seen], axis=0)
        name = asked.var_weights if isinstance(asked.var_weights, str) else ""
        state = replace(state, var_weight=(name, float(total / count)))
    made = kept.map(make_rows, asked, state)
    learnt: Learnt = merge(made.collect(itemgetter(1)))
    for part, independence in zip(state.parts, learnt.independence, strict=True):
        check_independence(independence, part.linear.columns, part.spec.part)
    check_slopes(spec, learnt.slopes)
    counts = {**counted.kinds, "dropped": complete.n - sum(counted.kinds.values())}
    return _Read(tables, kept, made, seen, state, learnt.facts, counts)


def _check_options(missing: str, censored: str) -> None:
    options = (("missing", missing, ("drop", "raise")), ("censored", censored, ("model", "drop", "ignore")))
    for name, value, allowed in options:
        if not isinstance(value, str) or value not in allowed:
            raise SpecError(f"{name}={value!r}: must be one of {', '.join(repr(item) for item in allowed)}.")


def _learn_schema(asked: Request, tables: Partitions) -> tuple[ModelSpec, Schema]:
    """What the columns of all partitions hold, and the formula as it reads once that is known."""
    described = tables.collect(describe, asked.inputs)
    if not sum(n for n, _ in described):
        raise DataError("The data have no rows. Check the file or the filter.")
    schema = merge_schemas([item for _, item in described], asked.text_names)
    table = head(schema)
    for part in (asked.spec, asked.scale, *asked.spec.formulas):
        if part is not None:
            check_dates(part, table)
    return recognise_duration(recognise_text(asked.spec, table), table), schema


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
