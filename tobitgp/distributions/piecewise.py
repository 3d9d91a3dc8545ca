"""Times whose hazards are constant in bands of time, in rows and draws of the parameters: (PH3) of the theory pages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import chebyshev

from tobitgp.distributions.response import RowDistributions
from tobitgp.numerics.log_probabilities import log_complement
from tobitgp.typing import Array, IntArray

_BLOCK = 100_000  # numbers that a cache holds
_NODES, _ACCURATE = 24, 1e-10  # points between which areas are interpolated, and their last coefficients in areas
_SHORT = 1e-5  # cumulative hazard of a band, below which survival falls along a line in it
_FAR = 300.0  # logarithms of hazards whose products and sums are numbers


class HazardsAt(NamedTuple):
    """Hazards of level 1 at some times of rows, and the cumulative ones up to there."""

    rate: Array
    cumulative: Array


@dataclass(frozen=True, slots=True)
class Piecewise(RowDistributions):
    """Hazards ``level[i] rate[group[i], k]`` of rows in K bands, under S draws.

    After the last band the hazard goes on, or is 0: of what is not known nothing happens.
    """

    cuts: Array  # (K + 1,)
    level: Array  # (n, ..., S)
    rate: Array  # (P, K, S)
    group: IntArray  # (n, ...)
    at_cuts: Array  # (P, K + 1, S), cumulative hazards of level 1 at the ends of the bands
    begin: Array  # (P,), first entries, before which hazards are 0
    goes_on: bool = True

    log = True
    stepwise = True

    @classmethod
    def of_logs(cls, cuts: Array, level: Array, profile: Array, group: IntArray, begin: Array) -> Piecewise:
        """From logarithms of the levels and rates."""
        rate, level = (np.exp(np.clip(x, -_FAR, _FAR)) for x in (profile, level))
        ends = np.maximum(cuts, begin[:, None])
        steps = np.cumsum(rate * np.diff(ends, axis=1)[..., None], axis=1)
        at_cuts = np.concatenate([np.zeros_like(steps[:, :1]), steps], axis=1)
        return cls(cuts, level, rate, group, at_cuts, begin)

    @property
    def location(self) -> Array:  # type: ignore[override]
        """Logarithms of the times at which cumulative hazards are 1."""
        return np.clip(self.reached(np.ones(self.shape)), -_FAR, _FAR)

    @property
    def jumps(self) -> Array:
        return np.union1d(self.cuts, self.begin)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.level.shape

    def take(self, rows: Any) -> Piecewise:
        return replace(self, level=self.level[rows], group=self.group[rows])

    def of_bands(self) -> Array:
        """Hazards of rows in all bands, (n, K, S)."""
        return self.level[:, None] * self.rate[self.group]

    def hazards_at(self, times: Array) -> HazardsAt:
        """At times that all draws share, (n, ..., 1), or that each has, (n, ..., S)."""
        times = np.asarray(times)
        of: Any = 0 if len(self.begin) == 1 else self.group
        places: tuple[IntArray, ...] = ()
        if times.shape[-1:] in ((), (1,)):
            t = times[..., 0] if times.ndim else times
            band = band_of(t, self.cuts)
        else:
            t, places = times, (np.arange(self.rate.shape[2]),)
            band, of = band_of(t, self.cuts), of if isinstance(of, int) else of[..., None]
        within = t if self.goes_on else np.minimum(t, self.cuts[-1])
        left = np.maximum(within - np.maximum(self.cuts[band], self.begin[of]), 0.0)
        known = (t >= self.begin[of]) & (self.goes_on | (t <= self.cuts[-1]))
        if not places:
            left, known = left[..., None], known[..., None]
        rate = self.rate[(of, band, *places)]
        return HazardsAt(np.where(known, rate, 0.0), self.at_cuts[(of, band, *places)] + rate * left)

    # -- tails and hazards --------------------------------------------------------------------------------------------

    def logsf(self, y: Array) -> Array:
        return -self.level * self.hazards_at(y).cumulative

    def log_tails(self, y: Array) -> tuple[Array, Array]:
        above = self.logsf(y)
        return above, log_complement(above)

    def logpdf(self, y: Array) -> Array:
        at = self.hazards_at(y)
        with np.errstate(divide="ignore"):
            return np.log(self.level * at.rate) - self.level * at.cumulative

    def hazard(self, y: Array) -> Array:
        return self.level * self.hazards_at(y).rate

    def log_hazard(self, y: Array) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(self.hazard(y))

    def modelled_hazard(self, x: Array) -> tuple[Array, Array]:
        times = self.response(x)
        at = self.hazards_at(times)
        return self.level * at.cumulative, self.level * (at.rate * times)

    # -- times at which cumulative hazards are reached ----------------------------------------------------------------

    def reached(self, goal: Array) -> Array:
        return self.modelled(self._time_at(goal))

    def survived(self, log_p: Array) -> Array:
        return self._time_at(-np.minimum(log_p, 0.0))

    def remaining(self, p: float, start: Array) -> Array:
        return np.maximum(self._time_at(self.level * self.hazards_at(start).cumulative - np.log(p)) - start, 0.0)

    def _time_at(self, goal: Array) -> Array:
        """Times at which cumulative hazards reach a goal, infinite where they never do."""
        of: Any = 0 if len(self.begin) == 1 else self.group
        with np.errstate(divide="ignore", invalid="ignore"):
            goal, H, last = goal / self.level, self.at_cuts, self.rate.shape[1] - 1
            band = np.zeros(goal.shape, dtype=np.intp)
            for k in range(last):
                band += H[of, k + 1] < goal
            own, draw = of if isinstance(of, int) else of[..., None], np.arange(H.shape[2])
            since = np.maximum(self.cuts[band], self.begin[own])
            time = since + (goal - H[own, band, draw]) / self.rate[own, band, draw]
        return time if self.goes_on else np.where(H[of, -1] < goal, np.inf, time)

    # -- means --------------------------------------------------------------------------------------------------------

    def mean(self) -> Array:
        return self._area(np.zeros(1), np.full(1, np.inf))

    def conditional_mean(self, lower: Array, upper: Array) -> Array:
        low, high = np.maximum(lower, 0.0), np.asarray(upper)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            left = self.logsf(high) - self.logsf(low)
            rest = np.where(np.isposinf(high), 0.0, np.exp(left) * np.where(np.isposinf(high), 0.0, high - low))
            value = low + (self._area(low, high) - rest) / -np.expm1(left)
            return np.where(low == high, low, np.clip(value, low, high))

    def observed_mean(self, lower: Array, upper: Array, entry: Array, exit: Array, *, fast: bool = False) -> Array:
        low, high = np.maximum(lower, 0.0), np.asarray(upper)
        window = np.isfinite(entry) | np.isfinite(exit)
        if not low.size or window.any() or np.ptp(low) > 0.0 or np.ptp(high) > 0.0 or not np.isfinite(high).all():
            return RowDistributions.observed_mean(self, lower, upper, entry, exit, fast=fast)
        after, last = float(low.flat[0]), float(high.flat[0])
        return after + np.exp(self.logsf(np.full(1, after))) * self.restricted_mean(last - after, after)

    def _area(self, lower: Array, upper: Array) -> Array:
        """Area below survival between ends of each row, given survival of the first."""
        own: Any = 0 if len(self.begin) == 1 else self.group[..., None]
        start = self.hazards_at(lower).cumulative
        begin = np.clip(self.begin[own], lower, upper)
        area = begin - lower + np.zeros(self.shape)
        ends = [*self.cuts[1:-1].tolist(), np.inf if self.goes_on else self.cuts[-1]]
        for k, end in enumerate(ends):
            first, last = np.clip(np.maximum(self.cuts[k], self.begin[own]), lower, upper), np.clip(end, begin, upper)
            rate = self.level * self.rate[own if isinstance(own, int) else own[..., 0], k]
            alive = np.exp(-self.level * (self.hazards_at(first).cumulative - start))
            width = np.maximum(last - first, 0.0)
            area = area + alive * -np.expm1(-rate * width) / rate
        if self.goes_on:
            return area
        beyond = np.maximum(upper - np.maximum(self.cuts[-1], lower), 0.0)
        with np.errstate(invalid="ignore"):  # of no time after the last band
            return area + np.where(
                beyond > 0.0, np.exp(-self.level * (self.hazards_at(upper).cumulative - start)) * beyond, 0.0
            )

    def _blocks(self) -> Iterator[slice]:
        """Rows whose draws fit in a cache."""
        size = max(_BLOCK // max(self.level.shape[1], 1), 1)
        return (slice(first, first + size) for first in range(0, len(self.level), size))

    def restricted_mean(self, t: float, after: float | Array = 0.0) -> Array:
        """Area below survival for a time t from ``after`` on, of all rows or each (n,), given survival of that."""
        if self.level.ndim != 2:
            flat = replace(self, level=self.level.reshape(-1, self.level.shape[-1]), group=self.group.ravel())
            return flat.restricted_mean(t, after).reshape(self.shape)
        start, out = np.broadcast_to(after, len(self.level))[:, None], np.empty_like(self.level)
        if start.max(initial=0.0) + t > self.cuts[-1] and not self.goes_on:
            return self._area(start, start + t)
        pairs = np.stack([self.group, start[:, 0]])
        for rows in rows_of_groups(np.unique(pairs, axis=1, return_inverse=True)[1].ravel(), 2 * _NODES):
            y, found = self.take(rows), None
            if len(rows) > 2 * _NODES and (pairs[:, rows] == pairs[:, rows[:1]]).all():
                found = y._interpolated_mean(t, float(start[rows[0], 0]))
            out[rows] = y._summed_mean(t, start[rows]) if found is None else found
        return out

    def _summed_mean(self, t: float, start: Array) -> Array:
        """`restricted_mean` from ``start`` (n, 1) on by areas in bands."""
        begin, out = np.clip(self.begin[self.group, None], start, start + t), np.empty_like(self.level)
        width = np.diff(np.clip(np.append(self.cuts[:-1], np.inf), begin, start + t), axis=1)[..., None]
        for rows in self._blocks():
            level, of, wide = self.level[rows], self.group[rows], width[rows]
            of, wide = (each[:1] if (each == each[0]).all() else each for each in (of, wide))
            area, alive = out[rows], np.ones_like(level)
            area[:] = (begin - start)[rows]
            for k in np.flatnonzero((wide > 0.0).any(axis=(0, 2))).tolist():
                gap = level * (self.rate[of, k] * wide[:, k])
                left = np.negative(gap)
                left = alive * np.exp(left, out=left)
                mean = (alive - left) / np.maximum(gap, _SHORT)
                if not gap.min() > _SHORT:
                    mean = np.where(gap > _SHORT, mean, 0.5 * (alive + left))
                area += wide[:, k] * mean
                alive = left
        return out

    def _interpolated_mean(self, t: float, after: float) -> Array | None:
        """`restricted_mean` from its values at Chebyshev points of the log level, or nothing if these are too few."""
        log = np.log(self.level)
        low, high = log.min(axis=0), log.max(axis=0)
        centre, half = 0.5 * (low + high), np.maximum(0.5 * (high - low), 1e-8)
        points = chebyshev.chebpts1(_NODES)
        nodes = replace(self, level=np.exp(centre + half * points[:, None]), group=self.group[:_NODES])
        coefficients = chebyshev.chebvander(points, _NODES - 1).T @ nodes.restricted_mean(t, after) * (2.0 / _NODES)
        coefficients[0] *= 0.5
        if not np.abs(coefficients[-2:]).max() <= _ACCURATE * t:  # NaN is not accurate either
            return None
        for rows in self._blocks():
            log[rows] = chebyshev.chebval((log[rows] - centre) / half, coefficients, tensor=False)
        return log


def rows_of_groups(group: IntArray, least: int) -> Iterator[IntArray]:
    """Rows of each group of more than ``least``, and those of all smaller ones together."""
    order = np.argsort(group, kind="stable")
    each = np.split(order, np.flatnonzero(np.diff(group[order])) + 1)
    few = [rows for rows in each if len(rows) <= least]
    yield from (rows for rows in each if len(rows) > least)
    if few:
        yield np.sort(np.concatenate(few))


def band_of(times: Array, cuts: Array) -> IntArray:
    """The band in which each time lies, the last of later ones."""
    return np.clip(np.searchsorted(cuts, times, side="left") - 1, 0, len(cuts) - 2)
