"""Averages of survival of rows whose hazards are steps: at many times, (PH13), and their medians, (STD1)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import comb, factorial

import numpy as np

from tobitgp.distributions.averaged import Averaged
from tobitgp.distributions.piecewise import Piecewise
from tobitgp.distributions.response import RowDistributions
from tobitgp.typing import Array

_M, _WIDTH = 4, 0.7  # order of derivatives, and cumulative hazard of a panel: errors are 1e-11 of its survival
_SOON, _SMALL = 0.1, 0.05  # cumulative hazards and probabilities up to which complements keep their digits
_STEPS, _CLOSE = 60, 1e-13  # of the search of medians


@dataclass(frozen=True, slots=True)
class SurvivalPanels:
    """Averaged survival of n rows, at many times, by its derivatives at both ends of P panels: (PH13)."""

    ends: Array  # (P + 1,)
    least: Array  # (n, P + 1), logarithms of what survival and derivatives are divided by
    below: Array  # (n, P + 1), one minus survival
    first: Array  # (M + 2, n, P), derivatives but for their signs, at the start of each panel
    last: Array  # (M + 2, n, P), and at its end

    @classmethod
    def of(cls, y: Averaged, until: float, most: int) -> SurvivalPanels | None:
        """Up to a time, or nothing where that takes too many panels."""
        each = y.each
        assert isinstance(each, Piecewise)
        jumps = np.unique(each.jumps)
        knots = np.append(jumps[:1], jumps[(jumps > jumps[0]) & (jumps < until)])
        knots = np.append(knots, max(until, np.nextafter(knots[-1], np.inf)))
        high = np.array(
            [each.hazard(np.full((1, 1), 0.5 * (a + b))).max(initial=0.0) * (b - a) for a, b in pairwise(knots)]
        )
        parts = np.maximum(np.ceil(np.minimum(high, 1e9) / _WIDTH), 1.0).astype(np.intp)
        if parts.sum() > most:
            return None
        inner = [np.linspace(a, b, k, endpoint=False) for (a, b), k in zip(pairwise(knots), parts, strict=True)]
        return cls._of_ends(each, y.weight, np.append(np.concatenate(inner), knots[-1]))

    @classmethod
    def _of_ends(cls, y: Piecewise, weight: Array, ends: Array) -> SurvivalPanels:
        n, size = len(y.level), len(ends) - 1
        least, below = np.empty((2, n, size + 1))
        first, last = np.empty((2, _M + 2, n, size))
        most = y.level.max(initial=1e-300)
        level, middles = y.level / most, 0.5 * (ends[1:] + ends[:-1])
        rates = [most * y.hazards_at(np.full((1, 1), middle)).rate for middle in middles.tolist()]
        for p, end in enumerate(ends.tolist()):
            risen = -y.logsf(np.full((1, 1), end))
            least[:, p] = risen.min(axis=1)
            below[:, p] = -np.expm1(-risen) @ weight if least[:, p].min(initial=np.inf) < _SOON else 1.0
            alive = np.subtract(least[:, p, None], risen, out=risen)
            np.exp(alive, out=alive)
            alive *= weight
            for j in range(_M + 2):
                if p > 0:
                    last[j, :, p - 1] = _sums(alive, rates[p - 1], j)
                if p < size:
                    first[j, :, p] = _sums(alive, rates[p], j)
                alive *= level
        return cls(ends, least, below, first, last)

    def rates(self, times: Array) -> tuple[Array, Array]:
        """Hazards and cumulative hazards (n, m) at times that rows share, (1, m), or their own, (n, m)."""
        p = np.clip(np.searchsorted(self.ends, times, side="left") - 1, 0, len(self.ends) - 2)
        width = self.ends[p + 1] - self.ends[p]
        u = np.maximum(times - self.ends[p], 0.0) / width
        before, after = _basis(u, width), _basis(1.0 - u, width)
        row, shared = np.arange(len(self.least))[:, None], len(times) == 1

        def at(values: Array) -> Array:
            return values[..., p[0]] if shared else values[..., row, p]

        def between(start: Array, end: Array) -> Array:
            return np.einsum("jnm,jnm->nm", *np.broadcast_arrays(start, before)) + np.einsum(
                "jnm,jnm->nm", *np.broadcast_arrays(end, after)
            )

        sign = (-1.0) ** np.arange(_M + 1)[:, None, None]
        first, last, least = at(self.first), at(self.last), at(self.least[:, :-1])
        with np.errstate(all="ignore"):
            last = last * np.exp(least - at(self.least[:, 1:]))
            alive = between(sign * first[:-1], last[:-1])
            density = between(sign * first[1:], last[1:])
            cumulative = least - np.log(alive)
            # One minus survival keeps the digits of small cumulative hazards.
            scale = np.exp(-least)
            ends = (-scale * sign * first[:-1], -scale * last[:-1])
            ends[0][0], ends[1][0] = at(self.below[:, :-1]), at(self.below[:, 1:])
            below = between(*ends)
            cumulative = np.where((cumulative < 2.0 * _SMALL) & (below < _SMALL), -np.log1p(-below), cumulative)
            early = times < self.ends[0]
            return np.where(early, 0.0, density / alive), np.where(early, 0.0, np.maximum(cumulative, 0.0))


def _sums(alive: Array, rate: Array, power: int) -> Array:
    """Sums (n,) over draws of products with a power of rates, of each row or of all."""
    if len(rate) == 1:
        return alive @ rate[0] ** power
    return np.einsum("ns,ns->n", alive, rate**power)


def _basis(u: Array, width: Array) -> Array:
    """Polynomials (M + 1, ...) that have one derivative at 0, and no others there and at 1."""
    fall, growing = (1.0 - u) ** (_M + 1), [comb(_M + k, k) * u**k for k in range(_M + 1)]
    sums = np.cumsum(growing, axis=0)[::-1]
    return np.stack([fall * (u * width) ** j / factorial(j) * sums[j] for j in range(_M + 1)])


def averaged_step_median(y: RowDistributions, share: Array, after: float, last: float) -> Array:
    """Times (S,) after ``after`` at which averages of survival given that of ``after`` are one half: (STD1).

    Infinite where they stay above that until ``last``. Halving finds the step; in a step the average is convex, and
    Newton's method rises to the root. Shapes: y (n, S), share (n, S) or (n, 1) adds up to one.
    """
    jumps, last = np.unique(y.jumps), max(after, last)
    ends = np.concatenate([[after], jumps[(jumps > after) & (jumps < last)], [last]])
    before = y.logsf(np.full((1, 1), after))

    def left(times: Array) -> Array:
        return share * np.exp(y.logsf(times[None]) - before)

    low, high = np.zeros(y.shape[-1], dtype=np.intp), np.full(y.shape[-1], len(ends) - 1)
    while (high - low > 1).any():
        middle = (low + high) // 2
        above = left(ends[middle]).sum(axis=0) > 0.5
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    start, width = ends[low], ends[low + 1] - ends[low]
    alive, rate, since = left(start), y.hazard((start + 0.5 * width)[None]), np.zeros(len(start))
    for _ in range(_STEPS):
        now = alive * np.exp(-rate * since)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = (now.sum(axis=0) - 0.5) / (now * rate).sum(axis=0)
        step = np.where(np.isfinite(step), np.minimum(step, width - since), width - since)
        since = since + step
        if (np.abs(step) <= _CLOSE * (start + since)).all():
            break
    never = left(np.full(len(start), last)).sum(axis=0) > 0.5
    return np.where(never, np.inf, start + since - after)
