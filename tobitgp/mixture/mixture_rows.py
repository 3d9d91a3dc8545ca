"""Rows as a mixture takes them: by kind, on the scale that is modelled, equal ones together; how far they are apart."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from scipy.special import gammaln

from tobitgp.data.arrays import take
from tobitgp.data.outcome import refuse_rows
from tobitgp.errors import DataError, SpecError
from tobitgp.typing import Array, IntArray

if TYPE_CHECKING:
    from tobitgp.mixture.family import Family


Support = Literal["real", "positive", "counts"]
Kind = Literal["exact", "left", "right", "interval"]
KINDS: tuple[Kind, ...] = ("exact", "left", "right", "interval")
_SAMPLE = 4096
_MOSTLY_DISTINCT = 0.8
_SAME = 1e-9  # of the range, within which values are one
_WIDEST = 5.0  # rounding, in typical distances between values


class Units(NamedTuple):
    """Modelled value = (y - shift) / scale, y the response or its logarithm."""

    shift: float = 0.0
    scale: float = 1.0


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of one kind, on the scale that is modelled."""

    kind: Kind
    lower: Array  # (n,), the value lies in (lower, upper]; equal on exact rows
    upper: Array  # (n,)
    width: Array  # (n,), ``upper - lower``, taken before anything was rounded away; of exact rows `rounding_of_ties`
    weight: Array  # (n,), frequency weights, > 0

    def __getitem__(self, rows: slice | IntArray) -> Rows:
        """Some of the rows."""
        return take(self, rows)

    def __len__(self) -> int:
        return len(self.lower)


class Raw(NamedTuple):
    """Rows that say something, in the user's units, checked; (n,) each, and where they stood among all given."""

    lower: Array
    upper: Array
    weight: Array
    position: IntArray

    def of_kinds(self) -> list[IntArray]:
        """Which rows are of each of `KINDS`."""
        conditions = [self.lower == self.upper, np.isneginf(self.lower), np.isposinf(self.upper)]
        kinds = np.select(conditions, [0, 1, 2], 3)
        return [np.flatnonzero(kinds == i) for i in range(len(KINDS))]


@dataclass(frozen=True, slots=True)
class Working:
    """All that a fit sees of the rows; (MIX15) of the theory pages."""

    parts: tuple[Rows, ...]  # one for each kind that occurs
    units: Units
    constant: float  # what the log likelihood of these rows needs to be that of the response as written
    total: float  # weight of all rows
    exact: float  # weight of the exact rows

    def joined(self) -> tuple[Array, Array, Array]:
        """Ends and weights of the rows of all parts, (n,) each."""
        columns = zip(*((part.lower, part.upper, part.weight) for part in self.parts), strict=True)
        lower, upper, weight = map(np.concatenate, columns)
        return lower, upper, weight


def read_rows(
    family: Family, lower: Array, upper: Array, weight: Array | None = None, labels: Array | None = None
) -> Raw:
    """Check rows (n,) and bring them to a common form; those that exclude nothing contribute 0 and are left out."""
    lower, upper = np.array(lower, dtype=np.float64), np.array(upper, dtype=np.float64)
    weight = np.ones(len(lower)) if weight is None else np.asarray(weight, dtype=np.float64)
    _refuse_impossible(family, lower, upper, weight, labels)
    if family.support != "real":
        lower[(lower < 0.0) if family.support == "counts" else (lower <= 0.0) & (lower != upper)] = -np.inf
    if family.support == "counts":
        lower, upper = np.floor(lower), np.floor(upper)
        with np.errstate(invalid="ignore"):
            single = upper - np.maximum(lower, -1.0) == 1.0
        lower[single] = upper[single]
    says = ~(np.isneginf(lower) & np.isposinf(upper)) & (weight > 0.0)
    return Raw(lower[says], upper[says], weight[says], np.flatnonzero(says))


def arrange(family: Family, raw: Raw, units: Units, *, collapse: bool = True, ties: bool = False) -> Working:
    """Sort rows by kind on the scale that is modelled, and put equal ones together where there are many.

    With ``ties``, exact rows that share a value are taken for rounded, as are times of 0 in exponential components.
    """
    lower, upper, width = to_working(family, raw, units)
    exact, parts = raw.lower == raw.upper, []
    if ties and exact.any():
        width[exact] = rounding_of_ties(lower[exact], raw.weight[exact])
        if family.free_of == "scale" and not family.logarithm:  # at 0 such a density has no bound
            ends = np.concatenate([lower, upper])
            at_zero = exact & (lower == 0.0)
            lower[at_zero] = upper[at_zero] = 0.25 * ends[(ends > 0.0) & np.isfinite(ends)].min(initial=1.0)
    for kind, at in zip(KINDS, raw.of_kinds(), strict=True):
        if len(at):
            part = Rows(kind, lower[at], upper[at], width[at], raw.weight[at])
            parts.append(_collapse(part) if collapse else part)
    y, w = raw.lower[exact], raw.weight[exact]
    total, seen = float(raw.weight.sum()), float(w.sum())
    constant = -seen * float(np.log(units.scale))
    if family.logarithm:
        constant -= float(w @ np.log(y))
    if family.support == "counts":
        constant -= float(w @ gammaln(y + 1.0))
    return Working(tuple(parts), units, constant, total, seen)


def rounding_of_ties(y: Array, weight: Array) -> Array:
    """Widths (n,) within which values (n,) that several rows share were rounded, (MIX22); 0 for those of one row.

    The distance to the nearest other value, where it is no more than five typical ones; 1 where there is one value.
    """
    order = np.argsort(y)
    new = np.diff(y[order]) > _SAME * np.ptp(y)
    group = np.concatenate([[0], np.cumsum(new)])
    total = np.bincount(group, weights=weight[order])
    gaps = np.diff(y[order][np.concatenate([[True], new])])
    if not len(gaps):
        return np.ones(len(y))
    nearest = np.minimum(np.append(gaps, np.inf), np.insert(gaps, 0, np.inf))
    by_size = np.argsort(nearest)
    middle = np.searchsorted(np.cumsum(total[by_size]), 0.5 * total.sum())
    width = np.minimum(nearest, _WIDEST * nearest[by_size][middle])
    out = np.empty(len(y))
    out[order] = np.where(total > 1.0, width, 0.0)[group]
    return out


def subset(working: Working, size: int) -> Working:
    """About ``size`` rows with the weight of all, every kind in proportion and evenly over its values."""
    rows = sum(len(part) for part in working.parts)
    parts = []
    for part in working.parts:
        keep = min(len(part), max(2, round(size * len(part) / rows)))
        order = np.lexsort((part.upper, part.lower))
        edges = np.linspace(0.0, len(part), keep + 1)
        some = part[order[(0.5 * (edges[1:] + edges[:-1])).astype(np.intp)]]
        parts.append(replace(some, weight=some.weight * (part.weight.sum() / some.weight.sum())))
    return replace(working, parts=tuple(parts))


def to_working(family: Family, raw: Raw, units: Units) -> tuple[Array, Array, Array]:
    """Ends and width on the scale that is modelled, (n,) each."""
    lower, upper = raw.lower, raw.upper
    shift, scale = units
    with np.errstate(divide="ignore", invalid="ignore"):
        if family.logarithm:
            width = np.where(lower > 0.0, np.log1p((upper - lower) / np.maximum(lower, 1e-300)), np.inf) / scale
            lower, upper = np.log(np.maximum(lower, 0.0)), np.log(upper)
        else:
            width = (upper - lower) / scale
    return (lower - shift) / scale, (upper - shift) / scale, width


def _collapse(part: Rows) -> Rows:
    """Give equal rows one place with the sum of their weights, where a sample shows that many are equal."""
    ends = part.lower if part.kind == "right" else part.upper
    if part.kind == "interval":
        ends = part.lower + 1j * part.upper
    sample = ends[:: max(1, len(part) // _SAMPLE)]
    if len(np.unique(sample)) > _MOSTLY_DISTINCT * len(sample):
        return part
    _, first, inverse = np.unique(ends, return_index=True, return_inverse=True)
    weight = np.bincount(inverse.ravel(), weights=part.weight).astype(np.float64)
    return replace(part[first], weight=weight)


def _refuse_impossible(family: Family, lower: Array, upper: Array, weight: Array, labels: Array | None) -> None:
    """Refuse rows of probability 0, and rows that are none; lower, upper, weight, labels (n,)."""
    if not len(lower) == len(upper) == len(weight) or lower.ndim != 1:
        raise DataError(f"lower, upper and weight need one length, not {len(lower)}, {len(upper)} and {len(weight)}.")
    exact = lower == upper
    refuse_rows(np.isnan(lower) | np.isnan(upper) | (exact & np.isinf(lower)), "Ends are missing", lower, labels)
    refuse_rows(lower > upper, "A lower end lies above its upper end", lower, labels)
    refuse_rows(np.isposinf(lower) | np.isneginf(upper), "The interval is empty", lower, labels)
    refuse_rows(~((weight >= 0.0) & np.isfinite(weight)), "Weights must be finite and not negative", weight, labels)
    if family.support == "counts":
        whole = (lower == np.floor(lower)) & (lower >= 0.0)
        refuse_rows(exact & ~whole, "Counts are whole numbers of at least 0", lower, labels)
        refuse_rows(~exact & (upper < 0.0), "A count cannot lie below 0", upper, labels)
        with np.errstate(invalid="ignore"):
            empty = np.floor(upper) == np.floor(lower)
        refuse_rows(~exact & empty, "The interval holds no whole number, from", lower, labels)
    if family.support == "positive":
        bad, least = (lower <= 0.0, "positive") if family.logarithm else (lower < 0.0, "at least 0")
        refuse_rows(exact & bad, f"Times must be {least}", lower, labels)
        refuse_rows(~exact & (upper <= 0.0), "A time cannot be left-censored at or below 0", upper, labels)


def check_number(k: Any, rows: int | None = None) -> int:
    """The number of components."""
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise SpecError(f"mixture({k!r}): the number of components is a whole number of at least 1.")
    if rows is not None and k > rows:
        raise SpecError(f"mixture({k}) has more components than there are rows that say something ({rows}).")
    return int(k)


_PART = 0.3  # of the distance of rows; a unit of rounding has .29 of itself for standard deviation
_FEWEST = 3
_EQUAL = 1e-14  # distance of values, in their size, that rounding makes
_OF_WIDTH = 1.0 / 3.0  # of an interval, a part of which takes nothing from the probability of its inside
_MOST = 0.001**0.5  # of the standard deviation of all rows


@dataclass(frozen=True, slots=True)
class RowSpacing:
    """Where rows lie, each value as often as it is there, or often enough: how narrow a component may be.

    A Gaussian component on one value, or on equal ones, has an infinite likelihood. A bound of its spread in proportion
    to that of all rows ends this, and holds groups too that are narrow beside the distance between them. So the bound
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


def spacing_of(working: Working) -> RowSpacing:
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


def _places(rows: Rows) -> tuple[Array, Array, Array]:
    """Where rows lie, their weights, and widths of intervals; (n,) each."""
    if rows.kind == "interval":
        return rows.lower + 0.5 * rows.width, rows.weight, rows.width
    ends = rows.lower if rows.kind == "right" else rows.upper
    return ends, rows.weight, np.zeros(len(rows))


Floor = float | Array | RowSpacing


def least(floor: Floor, centre: Array) -> Array:
    """Smallest spreads about centres."""
    return floor.least(centre) if isinstance(floor, RowSpacing) else np.broadcast_to(floor, centre.shape)
