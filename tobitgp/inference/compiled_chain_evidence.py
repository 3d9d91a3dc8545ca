"""Evaluations by the compiled core together with a Markov chain, which links the rows of all partitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tobitgp.compiled import library
from tobitgp.data.arrays import join, take
from tobitgp.engines import LocalPartitions
from tobitgp.inference.compiled import Beside, CompiledPlan
from tobitgp.inference.feature_posterior import Settled
from tobitgp.inference.method import Method
from tobitgp.inference.partitioned import PartitionedRows, RowPartition, Sites
from tobitgp.likelihoods.row_terms import Likelihood
from tobitgp.priors.compiled_chain import describe, is_known
from tobitgp.priors.markov import Markov
from tobitgp.priors.structure import Block, StructuredTerm
from tobitgp.typing import Array, BoolArray, IntArray


@dataclass(frozen=True, slots=True)
class ChainPlan:
    """Like `CompiledPlan`, for models in which some of the blocks are part of a chain."""

    plan: CompiledPlan  # of the other blocks, for all rows in one part
    structure: Markov
    standing: BoolArray  # which of the blocks' parameters are those of the chain
    knot: np.ndarray  # (n,), where each of these rows stands in the chain
    order: IntArray  # (n,), which they are of those of all partitions, one after the other

    @classmethod
    def of(cls, data: PartitionedRows, blocks: Sequence[Block]) -> ChainPlan | None:
        """None where there is no chain, or the core is not there or does not know the rows or the blocks."""
        knots = next((block.knots for block in blocks if isinstance(block, StructuredTerm)), None)
        if knots is None or not isinstance(data.partitions, LocalPartitions):
            return None
        structure = knots.structure
        if not isinstance(structure, Markov) or not is_known(structure.smoothness):
            return None
        stands = [isinstance(block, StructuredTerm) for block in blocks]
        others = [t for t, in_chain in enumerate(stands) if not in_chain]
        knot = structure.rank[knots.of_row]
        part, order = _gathered(data.partitions.items, others, knot)
        here = replace(data, partitions=LocalPartitions([part]))
        plan = CompiledPlan.of(here, [blocks[t] for t in others], together=True)
        if plan is None:
            return None
        standing = np.repeat(stands, [block.n_parameters for block in blocks])
        return cls(plan, structure, standing, knot[order].astype(np.int32), order)

    @property
    def windowed(self) -> bool:
        """Whether some rows are truncated."""
        return self.plan.windowed

    @property
    def stored(self) -> int:
        """The first row whose features are kept: all are."""
        return self.plan.stored

    def settle(
        self,
        data: PartitionedRows,
        theta: Array,
        method: Method,
        likelihood: Likelihood,
        noise: library.Noise,
        *,
        slopes: bool,
    ) -> Settled:
        """Find the fixed point from the sites of the rows; who called completes its posterior."""
        assert isinstance(data.partitions, LocalPartitions)
        parts, stands = data.partitions.items, np.zeros(len(theta), dtype=np.bool_)
        stands[: len(self.standing)] = self.standing
        chain, held = describe(self.structure.smoothness, theta[stands], self.structure.gap)
        beside = Beside(chain, held, self.knot, np.empty(int(stands.sum())))
        here = replace(data, partitions=LocalPartitions([replace(self.plan.part, sites=_joined(parts, self.order))]))
        found = self.plan.settle(here, theta[~stands], method, likelihood, noise, slopes=slopes, beside=beside)
        gradient = None
        if found.gradient is not None:
            gradient = np.empty(len(theta))
            gradient[stands], gradient[~stands] = beside.gradient, found.gradient
        assert isinstance(found.data.partitions, LocalPartitions)
        there = LocalPartitions(_cut(found.data.partitions.items[0].sites, parts, self.order))
        return replace(found, theta=theta, gradient=gradient, data=data.starting(there), complete=None)


def _gathered(parts: Sequence[RowPartition], blocks: Sequence[int], knot: IntArray) -> tuple[RowPartition, IntArray]:
    """Rows of all parts by kind and then by knot, with the inputs of some blocks, and where they were."""
    kinds = np.concatenate([np.repeat(np.arange(len(part.rows)), list(map(len, part.rows))) for part in parts])
    rows, order = [], []
    for kind, of_kind in enumerate(zip(*(part.rows for part in parts), strict=True)):
        places = np.flatnonzero(kinds == kind)
        along = np.argsort(knot[places], kind="stable")
        rows.append(join(of_kind)[along])
        order.append(places[along])
    both = np.concatenate(order)
    inputs = (join([part.inputs[t] for part in parts]).rows(both) for t in blocks)
    return RowPartition(tuple(rows), tuple(inputs)), both


def _joined(parts: Sequence[RowPartition], order: IntArray) -> Sites | None:
    """Sites to start from."""
    sites = [part.sites for part in parts if part.sites is not None]
    return take(join(sites), order) if sites else None


def _cut(sites: Sites, parts: Sequence[RowPartition], order: IntArray) -> list[RowPartition]:
    """The parts, each with the sites of its rows."""
    both = np.empty((2, len(order)))
    both[:, order] = sites.lambda1, sites.lambda2
    ends = np.cumsum(list(map(len, parts)))[:-1]
    return [replace(part, sites=Sites(*own)) for part, own in zip(parts, np.split(both, ends, axis=1), strict=True)]
