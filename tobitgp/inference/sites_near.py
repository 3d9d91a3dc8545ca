"""Sites at parameters near those at which they are known, from which few iterations are left.

Predicted are ``lambda1 / sqrt(lambda2)`` and ``log lambda2`` of each row, which are nearly straight in log parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tobitgp.data.arrays import join
from tobitgp.engines import LocalPartitions
from tobitgp.inference.feature_posterior import Settled
from tobitgp.inference.partitioned import PartitionedRows, Sites
from tobitgp.typing import Array

_SAME_WAY = 1.0 - 1e-9  # cosine


@dataclass(frozen=True, slots=True)
class SitesNear:
    """Sites at one place, their slopes there, and how they bend on the way to others."""

    free: Array  # (k,), the place
    data: PartitionedRows  # with the sites there
    slopes: Array  # (k, 2, n), of what is predicted, by the free parameters
    bends: tuple[tuple[Array, Array], ...] = ()  # steps (k,), and what sites (2, n) differ there from straight ones

    @classmethod
    def between(
        cls,
        free: Array,
        data: PartitionedRows,
        steps: Array,
        below: Sequence[Settled | None],
        above: Sequence[Settled | None],
    ) -> SitesNear | None:
        """From fixed points a step (k,) below and above each parameter; None where one is lacking."""
        slopes = []
        for step, low, high in zip(steps, below, above, strict=True):
            if low is None or high is None or not (low.converged and high.converged):
                return None
            slopes.append((predicted(high.data) - predicted(low.data)) / (2.0 * step))
        return cls(free, data, np.array(slopes))

    def at(self, free: Array) -> PartitionedRows:
        """The rows with sites predicted for other parameters, along a known bend where there is one."""
        step = free - self.free
        change = np.tensordot(step, self.slopes, 1)
        for other, bend in self.bends:
            if step @ other > _SAME_WAY * np.sqrt((step @ step) * (other @ other)):
                change += bend * (step @ step) / (other @ other)
                break
        return moved(self.data, change)

    def bent(self, places: list[tuple[Array, PartitionedRows]]) -> SitesNear:
        """The same, once the sites at some places are known."""
        here, bends = predicted(self.data), []
        for free, data in places:
            step = free - self.free
            bends.append((step, predicted(data) - here - np.tensordot(step, self.slopes, 1)))
        return replace(self, bends=tuple(bends))


def predicted(data: PartitionedRows) -> Array:
    """What is predicted, of the sites of all rows, (2, n); zero where the precision is not positive."""
    sites = _joined(data)
    there = sites.lambda2 > 0.0
    precision = np.where(there, sites.lambda2, 1.0)
    return np.where(there, [sites.lambda1 / np.sqrt(precision), np.log(precision)], 0.0)


def moved(data: PartitionedRows, change: Array) -> PartitionedRows:
    """The rows with what is predicted changed by (2, n); sites without a positive precision stay."""
    sites, (scaled, log) = _joined(data), predicted(data) + change
    precision = np.exp(log)
    good = (sites.lambda2 > 0.0) & np.isfinite(scaled) & np.isfinite(precision)
    lambda1 = np.where(good, scaled * np.sqrt(precision), sites.lambda1)
    lambda2 = np.where(good, precision, sites.lambda2)
    assert isinstance(data.partitions, LocalPartitions)
    ends = np.cumsum([len(part) for part in data.partitions.items])[:-1]
    cut = zip(data.partitions.items, np.split(lambda1, ends), np.split(lambda2, ends), strict=True)
    return data.starting(LocalPartitions([replace(part, sites=Sites(*own)) for part, *own in cut]))


def mirrored(data: PartitionedRows, other: PartitionedRows) -> PartitionedRows:
    """The rows with sites as far from those of ``data`` as ``other`` has, to the other side."""
    return moved(data, predicted(data) - predicted(other))


def _joined(data: PartitionedRows) -> Sites:
    assert isinstance(data.partitions, LocalPartitions)
    return join([part.sites for part in data.partitions.items if part.sites is not None])
