"""From partitioned rows to what a fit works on: a sample in memory, and all rows where they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from operator import itemgetter

import numpy as np

from tobitgp.data.arrays import Rows, draw_rows
from tobitgp.data.outcome import outcome
from tobitgp.data.partition import DataPartition, naming
from tobitgp.data.partitions import PartitionedData, split_positions
from tobitgp.data.prepare import join
from tobitgp.data.standardisation import KnownRows, Standard, row_kinds
from tobitgp.engines import LocalPartitions, Partitions, Store
from tobitgp.errors import SpecError
from tobitgp.formula.spec import ModelSpec
from tobitgp.inference import search
from tobitgp.inference.model import GPModel, Plan, block_inputs, make_plan, scale_problem
from tobitgp.inference.parameters import Given
from tobitgp.inference.partitioned import PartitionedRows, RowPartition, cut_parts, examples
from tobitgp.likelihoods import Family
from tobitgp.priors.kernel_block import all_inputs
from tobitgp.priors.prior import LinearPrior
from tobitgp.typing import Array, IntArray


def assemble_partitions(
    spec: ModelSpec,
    data: PartitionedData,
    family: Family,
    given: Given,
    *,
    limits: bool = False,
    size: int | None = None,
    rng: int | np.random.Generator | None = None,
) -> tuple[Plan, GPModel, PartitionedRows | None]:
    """Standardise rows where they are; see :func:`tobitgp.inference.model.plan_rows`."""
    if given.side_noises == "row":
        raise SpecError(
            "tg.VI(side_noise='row') has a parameter for each censored row, which partitioned data do not name; "
            "side_noise='shared' has one for each side."
        )
    size = search.SAMPLE_ROWS if size is None else size
    partitions = data.partitions.map(know_rows, family.log_time, data.store)
    plan = make_plan(spec, data.columns, partitions, family, given)
    model = plan.build(take_sample(partitions, plan, size, rng), limits=limits)
    if plan.measured.n <= size:
        return plan, model, None
    rows = gather_parts(partitions, plan, limits=limits, store=data.store)
    if data.store is not None:
        data.store.forget("known")
    first_gp = 0 if model.linear is None else 1
    inputs = [
        _all_inputs(rows.partitions, first_gp + t) if gp.inducing is None else None
        for t, gp in enumerate(model.prior.gps)
    ]
    return plan, replace(model, prior=model.prior.induced_by(inputs)), rows


def _all_inputs(parts: Partitions, block: int) -> Array:
    """Distinct inputs (M, d) of a block in all rows."""
    return all_inputs(np.concatenate(parts.collect(distinct_inputs, block)))


def distinct_inputs(part: RowPartition, block: int) -> Array:
    """Distinct inputs (M, d) of a block."""
    return all_inputs(part.inputs[block].X) if len(part) else part.inputs[block].X


def gather_parts(partitions: Partitions, plan: Plan, *, limits: bool, store: Store | None) -> PartitionedRows:
    """All rows, standardised where they are; partitions without rows are left out."""
    counts = np.array([[part[k] for k in plan.standard.kinds] for part in plan.counts])
    before = [tuple(row) for row in (np.cumsum(counts, axis=0) - counts).tolist()]
    made = partitions.at(np.flatnonzero(counts.sum(axis=1)).tolist()).map(
        make_parts, plan.standard, plan.linear, limits, before, store
    )
    if isinstance(made, LocalPartitions):
        parts: Partitions = LocalPartitions([part for few in made.items for part in few])
    else:
        parts = made.map(itemgetter(0))
    kinds = examples([join(rows) for rows in zip(*parts.collect(example_rows), strict=True)])
    return PartitionedRows(parts, kinds, plan.measured.n, plan.measured.weight)


def know_rows(partition: DataPartition, log_time: bool, store: Store | None) -> KnownRows:
    """What is known of a partition's rows on the scale that is modelled."""
    with naming(partition.place):
        known = outcome(partition.response, log_time=log_time, labels=partition.labels.to_numpy())
    rows = KnownRows(partition.response, known, partition.design, partition.number)
    return rows if store is None else store.keep("known", rows)


def make_parts(
    rows: KnownRows,
    standard: Standard,
    linear: LinearPrior | None,
    limits: bool,
    before: Sequence[tuple[int, ...]],
    store: Store | None,
) -> tuple[RowPartition, ...]:
    """A partition's rows standardised and sorted by kind: in this process cut for its threads, else one part.

    ``before`` holds for every partition how many rows of each kind are in those before it.
    """
    problem = scale_problem(rows, standard, limits)
    inputs = block_inputs(problem, linear)
    if store is None:
        return (RowPartition(problem.rows, inputs, before=before[rows.number]),)
    return store.keep("parts", cut_parts(problem, inputs, before=before[rows.number]))


def example_rows(part: RowPartition) -> tuple[Rows, ...]:
    """A row of every kind, or none where there is none."""
    return tuple(examples([rows])[0] if len(rows) else rows for rows in part.rows)


def take_sample(
    partitions: Partitions, plan: Plan, size: int, rng: int | np.random.Generator | None = None
) -> KnownRows:
    """Rows of all partitions, every kind in proportion, in the order of the data."""
    kinds, totals = plan.standard.kinds, [int(plan.measured.counts[k]) for k in plan.standard.kinds]
    drawn = [np.arange(n) for n in totals] if sum(totals) <= size else draw_rows(totals, size, rng)
    split = [
        split_positions(at, [int(counts[k]) for counts in plan.counts]) for k, at in zip(kinds, drawn, strict=True)
    ]
    chosen = [dict(zip(kinds, at, strict=True)) for at in zip(*split, strict=True)]
    return join(partitions.collect(take_rows, chosen))


def take_rows(rows: KnownRows, chosen: Sequence[dict[int, IntArray]]) -> KnownRows:
    """Rows of a partition at positions among those of each kind, given for every partition."""
    kind = row_kinds(rows.known)
    at = [np.flatnonzero(kind == k)[positions] for k, positions in chosen[rows.number].items()]
    return rows.rows(np.sort(np.concatenate(at)))
