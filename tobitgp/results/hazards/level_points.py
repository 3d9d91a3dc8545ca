r"""Averages over rows of survival and density, where hazards of rows are multiples of a few: (PH3) of the theory pages.

Under a draw, survival to a time is a smooth function of the log level of a row. A weighted sum over the rows is
therefore a weighted sum over a few Chebyshev points between the least and the largest level (L. N. Trefethen,
*Approximation Theory and Approximation Practice*, SIAM 2013, theorem 8.2).
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.polynomial import chebyshev

from tobitgp.distributions.piecewise import Piecewise
from tobitgp.typing import Array

_DIGITS = 25.0  # minus the log of the relative accuracy at worst, 1e-11
_BLOCK = 100_000  # numbers that a cache holds


class Levels(NamedTuple):
    """Levels (J, S) of J points under S draws, and the weight of each in every group of rows, (G, J, S)."""

    level: Array
    weight: Array


def summed_over_rows(y: Piecewise, draws: Array, share: Array, times: Array, after: float = 0.0) -> tuple[Array, Array]:
    """Survival and density of a new response given survival of ``after``, summed over rows, (G, m) each.

    Shapes: draws (S,) and share (G, n) are weights of draws and rows, times (m,).
    """
    start = y.hazards_at(np.full((1, 1), after)).cumulative
    before = y.level * start
    chance = draws * np.exp(before.min(axis=1, keepdims=True) - before)
    chance /= chance.sum(axis=1, keepdims=True)  # of draws, given survival of ``after``
    start = np.broadcast_to(start, chance.shape)
    survival, density = np.zeros((2, len(share), len(times)))
    for g in np.unique(y.group).tolist():
        rows = np.flatnonzero(y.group == g)
        profile = replace(y, level=np.ones((1, y.level.shape[1])), group=y.group[rows[:1]])
        rate, cumulative = (each[0] for each in profile.hazards_at(times[None, :, None]))
        cumulative = np.maximum(cumulative - start[rows[0]], 0.0)
        points = _points(np.log(y.level[rows]), share[:, rows], chance[rows], cumulative)
        for level, weight in zip(points.level, np.moveaxis(points.weight, 1, 0), strict=True):
            left = np.exp(-level * cumulative)
            survival += weight @ left.T
            density += (weight * level) @ (left * rate).T
    return survival, density


def fewer_rows(y: Piecewise, share: Array) -> tuple[Piecewise, Array]:
    """Rows and shares (n, S) whose averages of survival are those of all rows, to 1e-11."""
    levels, weights, groups = [], [], []
    for g in np.unique(y.group).tolist():
        rows = np.flatnonzero(y.group == g)
        none = np.zeros((1, y.level.shape[1]))
        points = _points(np.log(y.level[rows]), np.ones((1, len(rows))), share[rows], none)
        levels.append(points.level)
        weights.append(points.weight[0])
        groups.append(np.full(len(points.level), g))
    return replace(y, level=np.concatenate(levels), group=np.concatenate(groups)), np.concatenate(weights)


def _points(log: Array, share: Array, chance: Array, cumulative: Array) -> Levels:
    """Points that replace rows of log levels (n, S) and shares (G, n) at cumulative hazards (m, S) of level 1.

    Survival is analytic, and at most one, where the imaginary part of the log level is at most pi / 2. Its Chebyshev
    series converges at the rate of the ellipse that touches this strip. Accuracy is relative to the survival of the
    row and the draw that survive longest.
    """
    low, high = log.min(axis=0), log.max(axis=0)
    centre, half = 0.5 * (low + high), np.maximum(0.5 * (high - low), 1e-8)
    reach = 0.5 * np.pi / float(half.max())
    fallen = float((np.exp(low) * cumulative).min(axis=1).max(initial=0.0))
    digits = _DIGITS + np.log(log.size) + fallen + 2.0 * float(half.max())
    size = max(digits / np.arcsinh(reach), 2.0)
    if not 2.0 * size < len(log):
        return Levels(np.exp(log), share[:, :, None] * chance)
    count = int(np.ceil(size))
    at = chebyshev.chebpts1(count)
    moments = _chebyshev_sums((log - centre) / half, share, chance, count)
    moments[:, 0] *= 0.5
    weight = np.einsum("kj,gks->gjs", chebyshev.chebvander(at, count - 1).T, moments) * (2.0 / count)
    return Levels(np.exp(centre + half * at[:, None]), weight)


def _chebyshev_sums(at: Array, share: Array, chance: Array, count: int) -> Array:
    """Sums (G, k, S) over rows of their Chebyshev polynomials, times shares and chances."""
    out = np.zeros((len(share), count, at.shape[1]))
    size = max(_BLOCK // at.shape[1], 1)
    for first in range(0, len(at), size):
        rows = slice(first, first + size)
        x, weight = at[rows], share[:, rows]
        before, now, twice = chance[rows], chance[rows] * x, 2.0 * x
        for k in range(count):
            out[:, k] += weight @ before
            following = twice * now
            following -= before
            before, now = now, following
    return out
