"""Rows as a mixture takes them, by kind and on the scale that is modelled, and how far they are apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from tobitgp.data.arrays import take
from tobitgp.typing import Array, IntArray

Support = Literal["real", "positive", "counts"]
MixtureRowKind = Literal["exact", "left", "right", "interval", "outside"]  # the last one of windows
KINDS: tuple[MixtureRowKind, ...] = ("exact", "left", "right", "interval")


class MixtureUnits(NamedTuple):
    """Modelled value = (y - shift) / scale, y the response or its logarithm."""

    shift: float = 0.0
    scale: float = 1.0


@dataclass(frozen=True, slots=True)
class MixtureRows:
    """Rows of one kind, on the scale that is modelled."""

    kind: MixtureRowKind
    lower: Array  # (n,), the value lies in (lower, upper]; equal on exact rows
    upper: Array  # (n,)
    width: Array  # (n,), ``upper - lower``, taken before anything was rounded away; of exact rows `rounding_of_ties`
    weight: Array  # (n,), frequency weights, > 0

    def __getitem__(self, rows: slice | IntArray) -> MixtureRows:
        """Some of the rows."""
        return take(self, rows)

    def __len__(self) -> int:
        return len(self.lower)


class Raw(NamedTuple):
    """Informative rows, in the user's units, checked; (n,) each, and their positions among all given."""

    lower: Array
    upper: Array
    weight: Array
    position: IntArray
    entry: Array  # windows (entry, exit] outside which they could not have been seen, infinite where there is none
    exit: Array

    def of_kinds(self) -> list[IntArray]:
        """Which rows are of each of `KINDS`."""
        conditions = [self.lower == self.upper, np.isneginf(self.lower), np.isposinf(self.upper)]
        kinds = np.select(conditions, [0, 1, 2], 3)
        return [np.flatnonzero(kinds == i) for i in range(len(KINDS))]


@dataclass(frozen=True, slots=True)
class WorkingRows:
    """All that a fit sees of the rows; (MIX15) of the theory pages."""

    parts: tuple[MixtureRows, ...]  # one for each kind that occurs
    units: MixtureUnits
    constant: float  # what the log likelihood of these rows needs to be that of the response as written
    total: float  # weight of all rows
    exact: float  # weight of the exact rows
    windows: MixtureRows | None = None  # outside which rows could not have been seen, where there are any

    def joined(self) -> tuple[Array, Array, Array]:
        """Ends and weights of the rows of all parts, (n,) each."""
        columns = zip(*((part.lower, part.upper, part.weight) for part in self.parts), strict=True)
        lower, upper, weight = map(np.concatenate, columns)
        return lower, upper, weight


_PART = 0.3  # of the distance of rows; the standard deviation of rounding is 0.29 units
_FEWEST = 3
_EQUAL = 1e-14  # distance of values, in their size, that rounding makes
_OF_WIDTH = 1.0 / 3.0  # of an interval, a part of which takes nothing from the probability of its inside
_MOST = 0.001**0.5  # of the standard deviation of all rows


@dataclass(frozen=True, slots=True)
class RowSpacing:
    """Where rows lie, each value as often as it is there, or often enough: how narrow a component may be.

    A Gaussian component on one value, or on equal ones, has an infinite likelihood. A bound of its spread in proportion
    to that of all rows ends this, also for groups that are narrow relative to the distance between them. So the bound
    is local, (EM8) of the theory pages: a part of the distance from the mean to the nearest log2(n) rows (about as many
    of n values crowd together by chance), or of the unit to which equal values were rounded. It is never above .0316 of
    the standard deviation of all rows. Hathaway (1985), A constrained formulation of maximum-likelihood estimation for
    normal mixture distributions, *Annals of Statistics* 13, 795-800, says why a bound is needed.
    """

    rows: int  # how many next to a mean say how far apart rows lie there
    values: Array  # (m,), ascending
    unit: Array  # (m,), what a value may have been rounded to; 0 of one that is there once

    def least(self, centre: Array) -> Array:
        """Smallest standard deviations of components with these means, of any shape."""
        values, unit, end = self.values, self.unit, len(self.values) - 1
        at = values.searchsorted(centre)
        runs = np.arange(-self.rows, 1).reshape(-1, *(1,) * centre.ndim)
        first = np.minimum(np.maximum(at + runs, 0), max(end + 1 - self.rows, 0))
        last = np.minimum(first + self.rows - 1, end)
        reach = np.maximum(centre - values[first], values[last] - centre).min(axis=0)
        left, right = np.maximum(at - 1, 0), np.minimum(at, end)
        unit = np.where(centre - values[left] < values[right] - centre, unit[left], unit[right])
        return np.minimum(_PART * np.maximum(reach, unit), _MOST)


def spacing_of(working: WorkingRows) -> RowSpacing:
    """Where rows lie on the scale that is modelled: values, limits, and middles of intervals."""
    values, weight, width = (np.concatenate(each) for each in zip(*map(_places, working.parts), strict=True))
    same = _EQUAL * (np.abs(values).max() + abs(working.units.shift) / working.units.scale)
    order = np.argsort(values, kind="stable")
    values, weight, width = values[order], weight[order], width[order]
    first = np.flatnonzero(np.diff(values, prepend=-np.inf) > same)
    values, weight, width = values[first], np.add.reduceat(weight, first), np.maximum.reduceat(width, first)
    gaps = np.diff(values, prepend=-np.inf, append=np.inf)
    typical = float(np.median(gaps[1:-1])) if len(values) > 1 else np.inf
    rows = max(_FEWEST, int(np.log2(working.total))) if working.total > 1.0 else _FEWEST
    copies = np.where(width > 0.0, rows, np.clip(np.rint(weight), 1, rows)).astype(np.intp)
    rounded = np.where(copies > 1, np.minimum(np.minimum(gaps[:-1], gaps[1:]), typical), 0.0)
    unit = np.maximum(np.where(width > 0.0, _OF_WIDTH * width, rounded), same)
    return RowSpacing(rows, np.repeat(values, copies), np.repeat(unit, copies))


def _places(rows: MixtureRows) -> tuple[Array, Array, Array]:
    """Where rows lie, their weights, and widths of intervals; (n,) each."""
    if rows.kind == "interval":
        return rows.lower + 0.5 * rows.width, rows.weight, rows.width
    ends = rows.lower if rows.kind == "right" else rows.upper
    return ends, rows.weight, np.zeros(len(rows))


Floor = float | Array | RowSpacing


def least(floor: Floor, centre: Array) -> Array:
    """Smallest spreads about centres; a table (S, 1) of statistics is the same everywhere."""
    if isinstance(floor, np.ndarray) and floor.ndim == 2:
        return floor
    return floor.least(centre) if isinstance(floor, RowSpacing) else np.broadcast_to(floor, centre.shape)
