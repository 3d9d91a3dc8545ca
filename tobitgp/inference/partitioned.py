"""The rows of a fit in partitions, which threads or machines work on side by side.

A partition is a value: a pass over it makes a new partition and leaves the old one as it was. A partition that is lost
with its machine can therefore be made again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tobitgp.data.arrays import KindRows, Problem, join, take
from tobitgp.engines import LocalPartitions, Partitions, row_chunks
from tobitgp.priors.structure import Inputs
from tobitgp.typing import Array

PART_ROWS = 25_000


@dataclass(frozen=True, slots=True)
class Sites:
    """Natural parameters of the rows' sites, (n,) each."""

    lambda1: Array
    lambda2: Array

    def copy(self) -> Sites:
        """Independent copy."""
        return Sites(self.lambda1.copy(), self.lambda2.copy())

    def rows(self, at: slice) -> Sites:
        """Those of some rows."""
        return Sites(self.lambda1[at], self.lambda2[at])

    def plus(self, step: Sites, rho: float) -> Sites:
        """These and ``rho`` times a step."""
        return Sites(self.lambda1 + rho * step.lambda1, self.lambda2 + rho * step.lambda2)


@dataclass(frozen=True, slots=True)
class RowPartition:
    """Some of the rows."""

    rows: tuple[KindRows, ...]  # of one kind each, in the order of kinds; a kind may have none
    inputs: tuple[Inputs, ...]  # of each block, all kinds after one another
    sites: Sites | None = None  # where to start from; None where nothing is known
    before: tuple[int, ...] = ()  # how many rows of each kind are in the parts before; empty in the first
    kept: Any = None  # of its rows, where features stay while parameters move

    def __len__(self) -> int:
        return sum(map(len, self.rows))

    def places(self, span: slice) -> slice:
        """Where some of its rows are among those of all parts, one part after the other."""
        return slice(span.start + sum(self.before), span.stop + sum(self.before))


@dataclass(frozen=True, slots=True)
class PartitionedRows:
    """All rows of a fit."""

    partitions: Partitions
    kinds: tuple[KindRows, ...]  # A row of every kind that occurs
    n: int
    weight: float  # sum of frequency weights
    warm: bool = False  # whether the partitions have sites to start from
    lean: bool = False  # whether each visit makes their features anew, which takes no memory

    def starting(self, partitions: Partitions) -> PartitionedRows:
        """The same rows with these sites to start from."""
        return replace(self, partitions=partitions, warm=True)

    @property
    def n_scales(self) -> int:
        """Number of columns of log sigma."""
        scales = next((rows.scales for rows in self.kinds if rows.scales is not None), None)
        return 0 if scales is None else scales.shape[1] - 1

    def at_scale(self, gamma: Array) -> PartitionedRows:
        """The same rows and sites with the noise that coefficients (q,) of the columns of log sigma give them."""
        kinds = tuple(rows.at_scale(gamma) for rows in self.kinds)
        return replace(self, partitions=self.partitions.map(part_at_scale, gamma), kinds=kinds)

    def thawed(self) -> PartitionedRows:
        """The same rows and sites with nothing kept of their features."""
        return replace(self, partitions=self.partitions.map(without_features))

    def inputs(self, block: int) -> Inputs:
        """Those of all rows in one block, one partition after the other."""
        return join(self.partitions.collect(block_inputs, block))

    def cold(self) -> PartitionedRows:
        """The same rows with nothing known of their sites."""
        return replace(self, partitions=self.partitions.map(without_sites), warm=False)


def cut(problem: Problem, inputs: Sequence[Inputs], sites: Sites | None = None) -> PartitionedRows:
    """Cut a problem in memory into parts of about equal size, each with its share of every kind."""
    parts, weight = LocalPartitions(cut_parts(problem, inputs, sites)), float(problem.weight.sum())
    return PartitionedRows(parts, examples(problem.rows), problem.n, weight, sites is not None)


def cut_parts(
    problem: Problem, inputs: Sequence[Inputs], sites: Sites | None = None, before: Sequence[int] = ()
) -> tuple[RowPartition, ...]:
    """The parts of :func:`cut`, where there are others before them with so many rows of each kind."""
    earlier = before or [0] * len(problem.rows)
    partitions = max(1, round(problem.n / PART_ROWS))
    starts = np.cumsum([0, *map(len, problem.rows)])
    parts = []
    for i in range(partitions):
        spans = [slice(i * n // partitions, (i + 1) * n // partitions) for n in map(len, problem.rows)]
        rows = tuple(r[span] for r, span in zip(problem.rows, spans, strict=True))
        places = [slice(s.start + first, s.stop + first) for s, first in zip(spans, starts[:-1], strict=True)]
        at = places[0] if len(places) == 1 else np.concatenate([np.arange(p.start, p.stop) for p in places])
        counts = tuple(int(n) + span.start for n, span in zip(earlier, spans, strict=True))
        parts.append(RowPartition(rows, take(tuple(inputs), at), take(sites, at), counts))
    return tuple(parts)


def examples(rows: Sequence[KindRows]) -> tuple[KindRows, ...]:
    """A row of every kind, one that is truncated from above where there are such rows."""
    found = []
    for kind in rows:
        if len(kind):
            at = 0 if kind.window is None else int(np.argmax(np.isfinite(kind.window.exit)))
            found.append(kind[slice(at, at + 1)])
    return tuple(found)


def block_inputs(part: RowPartition, block: int) -> Inputs:
    """Inputs in one block."""
    return part.inputs[block]


def part_at_scale(part: RowPartition, gamma: Array) -> RowPartition:
    """The same rows with the noise that coefficients (q,) of the columns of log sigma give them."""
    return replace(part, rows=tuple(rows.at_scale(gamma) for rows in part.rows))


def without_sites(part: RowPartition) -> RowPartition:
    """The same rows with nothing known of their sites."""
    return replace(part, sites=None)


def without_features(part: RowPartition) -> RowPartition:
    """The same rows and sites with nothing kept."""
    return replace(part, kept=None)


def with_floor(part: RowPartition) -> RowPartition:
    """The same rows, of a warm start, no site of negative precision."""
    assert part.sites is not None
    return replace(part, sites=Sites(part.sites.lambda1, np.maximum(part.sites.lambda2, 0.0)))


def spans(rows: Sequence[KindRows], size: int) -> list[tuple[KindRows, slice]]:
    """Chunks of at most ``size`` rows of one kind, and their places in the part."""
    out, start = [], 0
    for kind in rows:
        for span in row_chunks(start, start + len(kind), size):
            out.append((kind[slice(span.start - start, span.stop - start)], span))
        start += len(kind)
    return out
