"""Hazards that are constant in bands of time, for rows and draws: (PH3) of the theory pages."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev

from tobitgp.distributions.response import RowDistributions
from tobitgp.engines import row_chunks
from tobitgp.results.hazards.cells import band_of
from tobitgp.results.hazards.hazard_parts import LogHazards
from tobitgp.typing import Array, IntArray

_BLOCK = 100_000  # numbers that a cache holds
_NODES, _ACCURATE = 24, 1e-10  # points between which areas are interpolated, and their last coefficients in areas
_SHORT = 1e-5  # cumulative hazard of a band, below which survival falls along a line in it
_FAR = 300.0  # logarithms of hazards whose products and sums are numbers


@dataclass(frozen=True, slots=True)
class Hazards:
    """Hazards ``level[i] rate[group[i], k]`` of n rows in K bands, of S draws of the parameters or at the estimates."""

    cuts: Array  # (K + 1,)
    level: Array  # (n, S)
    rate: Array  # (P, K, S)
    group: IntArray  # (n,)
    at_cuts: Array  # (P, K + 1, S), cumulative hazards of level 1 at the ends of the bands
    begin: Array  # (P,), first entries, before which hazards are 0

    @classmethod
    def of(cls, cuts: Array, log: LogHazards) -> Hazards:
        """From their logarithms."""
        rate, level = (np.exp(np.clip(x, -_FAR, _FAR)) for x in (log.profile, log.level))
        ends = np.maximum(cuts, log.begin[:, None])
        steps = np.cumsum(rate * np.diff(ends, axis=1)[..., None], axis=1)
        at_cuts = np.concatenate([np.zeros_like(steps[:, :1]), steps], axis=1)
        return cls(cuts, level, rate, log.group, at_cuts, log.begin)

    def cumulative(self, times: Array) -> Array:
        """Cumulative hazards since the first entry at times (n, m) of each row, (n, m, S)."""
        band, of = band_of(times, self.cuts), self.group[:, None]
        left = np.maximum(times - np.maximum(self.cuts[band], self.begin[of]), 0.0)[..., None]
        return self.level[:, None] * (self.at_cuts[of, band] + self.rate[of, band] * left)

    def survived(self, times: Array, *, rates: bool = False) -> tuple[Array, Array]:
        """Log mean survival over the draws at times (n, m), and with ``rates`` hazards of those who survive, (n, m)."""
        log_S, hazard, size = np.empty(times.shape), np.empty(times.shape), self.level.shape[1]
        band = band_of(times, self.cuts)
        left = np.maximum(times - np.maximum(self.cuts[band], self.begin[self.group, None]), 0.0)
        for rows in self._blocks():
            level, group = self.level[rows], self.group[rows]
            for j in range(times.shape[1]):
                at, since = band[rows, j], left[rows, j]
                alike = all((each == each[0]).all() for each in (group, at, since))
                some = slice(1 if alike else None)
                of, at = group[some], at[some]
                rate = self.rate[of, at]
                H = level * (self.at_cuts[of, at] + rate * since[some, None])
                least = H.min(axis=1)
                weight = np.exp(np.subtract(least[:, None], H, out=H), out=H)
                total = weight.sum(axis=1)
                log_S[rows, j] = np.log(total / size) - least
                if rates:
                    hazard[rows, j] = np.einsum("ns,ns,ns->n", weight, level, np.broadcast_to(rate, H.shape)) / total
        return log_S, hazard

    def _blocks(self) -> list[slice]:
        """Rows whose draws fit in a cache."""
        return list(row_chunks(0, len(self.level), max(_BLOCK // max(self.level.shape[1], 1), 1)))

    def at(self, times: Array) -> Array:
        """Cumulative hazards (n, S) at times (S,) of each draw."""
        band, draw = band_of(times, self.cuts), np.arange(len(times))
        left = np.maximum(times - np.maximum(self.cuts[band], self.begin[:, None]), 0.0)
        return self.level * (self.at_cuts[:, band, draw] + self.rate[:, band, draw] * left)[self.group]

    def hazard(self, times: Array) -> Array:
        """Hazards at times (n, m), (n, m, S)."""
        of = self.group[:, None]
        seen = (times >= self.begin[of])[..., None]
        return self.level[:, None] * np.where(seen, self.rate[of, band_of(times, self.cuts)], 0.0)

    def time_at(self, goal: Array) -> Array:
        """Times (n, S) at which cumulative hazards reach a goal, infinite where they do not."""
        with np.errstate(divide="ignore", invalid="ignore"):
            goal = goal / self.level
            H, last = self.at_cuts, self.rate.shape[1] - 1
            band = np.minimum((H[self.group, 1:] < goal[:, None]).sum(axis=1), last)
            of, draw = self.group[:, None], np.arange(H.shape[2])
            time = np.maximum(self.cuts[band], self.begin[of]) + (goal - H[of, band, draw]) / self.rate[of, band, draw]
        return np.where(H[self.group, -1] < goal, np.inf, time)

    def restricted_mean(self, t: float, after: float = 0.0) -> Array:
        """Area below survival for a time t from ``after`` on, given survival of that, (n, S)."""
        if len(self.level) > 2 * _NODES and (self.group == self.group[0]).all():
            found = self._interpolated_mean(t, after)
            if found is not None:
                return found
        begin = np.clip(self.begin, after, after + t)
        width = np.diff(np.clip(self.cuts, begin[:, None], after + t), axis=1)[..., None]
        bands = np.flatnonzero((width > 0.0).any(axis=(0, 2)))
        step, out = self.rate * width, np.zeros_like(self.level)
        reached = np.cumsum(step, axis=1)
        for rows in self._blocks():
            level, of, area = self.level[rows], self.group[rows], out[rows]
            of = of[:1] if (of == of[0]).all() else of
            least, alive = level.min(axis=0), np.ones_like(level)
            for k in bands.tolist():
                left = np.multiply(level, -reached[of, k])
                gone = alive - np.exp(left, out=left)
                if (least * step[of, k]).min() > _SHORT:
                    area += gone * (1.0 / self.rate[of, k])
                else:
                    gap = level * step[of, k]
                    mean = np.where(gap > _SHORT, gone / np.maximum(gap, _SHORT), 0.5 * (alive + left))
                    area += width[of, k] * level * mean
                alive = left
            area /= level
            area += (begin - after)[of, None]
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


@dataclass(frozen=True, slots=True)
class BandDistributions(RowDistributions):
    """Times of n rows under S draws of their hazards: values (n, 1) or (n, S), beside several times (n, m, 1 or S)."""

    hazards: Hazards
    several: bool = False

    log = True

    @property
    def location(self) -> Array:  # type: ignore[override]
        """Log times at which the cumulative hazard is one, or those of the last band."""
        level = self.hazards.level
        found = np.log(np.minimum(self.hazards.time_at(np.ones_like(level)), self.hazards.cuts[-1]))
        return found[:, None] if self.several else found

    @property
    def width(self) -> Array:
        """About how far log times lie apart."""
        return np.ones_like(self.location)

    def take(self, rows: Any) -> BandDistributions:
        """Rows, or ``(rows, None)`` of them beside several times."""
        at, several = (rows[0], True) if isinstance(rows, tuple) else (rows, self.several)
        known = replace(self.hazards, level=self.hazards.level[at], group=self.hazards.group[at])
        return BandDistributions(known, several)

    def _rates(self, y: Array) -> tuple[Array, Array]:
        """Cumulative hazards and hazards at times."""
        known = self.hazards
        n, S = known.level.shape
        times = y if self.several else np.asarray(y)[..., None, :]
        times = np.broadcast_to(times, (n, *times.shape[-2:]))
        if times.shape[-1] == 1:
            H, h = known.cumulative(times[..., 0]), known.hazard(times[..., 0])
        else:
            band, of, draw = band_of(times, known.cuts), known.group[:, None, None], np.arange(S)
            since = times - np.maximum(known.cuts[band], known.begin[of])
            level, rate = known.level[:, None], known.rate[of, band, draw]
            H = level * (known.at_cuts[of, band, draw] + rate * np.maximum(since, 0.0))
            h = level * np.where(times >= known.begin[of], rate, 0.0)
        return (H, h) if self.several else (H[:, 0], h[:, 0])

    def logsf(self, y: Array) -> Array:
        """Log probability of more than y."""
        return -self._rates(y)[0]

    def log_hazard(self, y: Array) -> Array:
        """Log hazards at times."""
        with np.errstate(divide="ignore"):
            return np.log(self._rates(y)[1])

    def logpdf(self, y: Array) -> Array:
        """Log density."""
        return self.log_hazard(y) + self.logsf(y)

    def modelled_hazard(self, x: Array) -> tuple[Array, Array]:
        """Cumulative hazards and hazards on the scale of log time."""
        y = np.exp(x)
        H, h = self._rates(y)
        return H, h * y
