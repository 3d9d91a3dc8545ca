"""Batches of rows, which every epoch cuts anew from a random order, from wherever the rows lie."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

import numpy as np

from tobitgp.data.arrays import KindRows, join, take
from tobitgp.engines import Partitions
from tobitgp.errors import SpecError
from tobitgp.inference.partitioned import RowPartition
from tobitgp.priors.structure import Inputs
from tobitgp.typing import IntArray

LEAST_STEPS = 100
TOGETHER = 50_000  # rows that are brought from their partitions at once


@dataclass(frozen=True, slots=True)
class Batches:
    """How steps by batches of rows go, (SVI4) of the theory pages."""

    size: int
    epochs: int | None  # None for as many as make a hundred steps
    delay: float | None  # None for as many steps as the rows of the pilot would make
    forgetting: float

    def refuse(self, why: str) -> NoReturn:
        """Say that a fit takes no batches."""
        raise SpecError(f"batch={self.size}: {why}. Leave batch= out.")

    def per_epoch(self, n: int) -> int:
        """Batches into which n rows are cut."""
        if self.size > n:
            self.refuse(f"the data have {n:,} rows, and a batch is some of them")
        return round(n / self.size)

    def n_epochs(self, n: int) -> int:
        """Passes over n rows."""
        return -(-LEAST_STEPS // self.per_epoch(n)) if self.epochs is None else self.epochs

    def step_length(self, t: int, pilot: int) -> float:
        """Of step t = 1, 2, ... after a pilot of so many rows."""
        delay = pilot / self.size if self.delay is None else self.delay
        return float((delay + t) ** -self.forgetting)


class RowsOfKind(NamedTuple):
    """Rows of one kind with their inputs in each block."""

    rows: KindRows
    inputs: tuple[Inputs, ...]


def batches(partitions: Partitions, batch: Batches, rng: np.random.Generator) -> Iterator[RowPartition]:
    """The batches of one epoch: each row is in one of them, and each kind in all of them in proportion."""
    counts = np.sum(partitions.collect(row_counts), axis=0)
    n_batches = batch.per_epoch(int(counts.sum()))
    orders = [rng.permutation(count) for count in counts]
    ends = [count * np.arange(n_batches + 1) // n_batches for count in counts]
    together = max(1, TOGETHER // batch.size)
    for first in range(0, n_batches, together):
        last = min(first + together, n_batches)
        drawn = [order[end[first] : end[last]] for order, end in zip(orders, ends, strict=True)]
        found = join(partitions.collect(rows_at, [np.sort(at) for at in drawn]))
        places = [np.argsort(np.argsort(at)) for at in drawn]
        for t in range(first, last):
            at = [place[end[t] - end[first] : end[t + 1] - end[first]] for place, end in zip(places, ends, strict=True)]
            some = [RowsOfKind(*take(tuple(kind), one)) for kind, one in zip(found, at, strict=True)]
            yield RowPartition(tuple(kind.rows for kind in some), join([kind.inputs for kind in some]))


def row_counts(part: RowPartition) -> IntArray:
    """Number of rows of each kind."""
    return np.array([len(rows) for rows in part.rows])


def rows_at(part: RowPartition, chosen: Sequence[IntArray]) -> tuple[RowsOfKind, ...]:
    """Those rows of each kind, at ascending positions among all of the kind, that are in the part."""
    found, start = [], 0
    before = part.before or (0,) * len(part.rows)
    for rows, at, first in zip(part.rows, chosen, before, strict=True):
        own = at[slice(*np.searchsorted(at, (first, first + len(rows))))] - first
        found.append(RowsOfKind(rows[own], take(part.inputs, start + own)))
        start += len(rows)
    return tuple(found)
