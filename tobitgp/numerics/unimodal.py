"""Integrals of many unimodal functions at once: where each of them lies, and nodes for what lies there.

A function is given by its logarithm on an unbounded coordinate. Grids that close in on the maximum, and on where the
function has fallen by 40 nats on either side, need no derivatives. Gauss-Legendre nodes on both sides of the maximum,
which cluster there, are exact to some 1e-12 for functions whose logarithm is concave. Equal steps in an inverse sine of
the distance from it need fewer nodes, which lie where the function does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import log_expit, logit

from tobitgp.typing import Array, BoolArray

FALL = 40.0  # nats below the maximum where a function ends
_LARGEST_LOG = 690.0  # of a coordinate that is exponentiated
_LARGEST = 1e12  # of any other
_DECADES = 8.0  # below the largest coordinate, from which the first grid begins
_FIRST, _GRID = 60, 25  # points of the first grid on either side of 0, and of later ones
_EVENLY = np.linspace(0.0, 1.0, _GRID)
_STEPS = np.array([0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0, 1000.0])  # about a guess
_MOST_ZOOMS = 40
_LEVEL = 0.5  # nats between neighbours on a grid at which the maximum is known well enough
_STEP = 0.18  # between sparse nodes
_SMALLEST = 1e-14  # of a coordinate, that a function may be wide
_FAR = 1e4  # nats below the maximum to which some look
_SHARES = np.concatenate([[0.0], 10.0 ** np.linspace(-15.0, 0.0, 76)])  # of the way to the end of a coordinate

LogIntegrand = Callable[[Array], Array]  # (n, m) coordinates to logarithms (n, m)


@dataclass(frozen=True, slots=True)
class Domain:
    """An open interval, either end of which may be infinite, and an unbounded coordinate that rises in it."""

    low: float = -np.inf
    high: float = np.inf

    @property
    def largest(self) -> float:
        """Largest coordinate."""
        return _LARGEST_LOG if np.isfinite(self.low) or np.isfinite(self.high) else _LARGEST

    def at(self, u: Array) -> Array:
        """Values at coordinates."""
        if np.isfinite(self.low) and np.isfinite(self.high):
            return self.low + (self.high - self.low) * np.exp(log_expit(u))
        if np.isfinite(self.low):
            return self.low + np.exp(u)
        return self.high - np.exp(-u) if np.isfinite(self.high) else u

    def log_slope(self, u: Array) -> Array:
        """Logarithm of the size of the derivative of values in coordinates."""
        if np.isfinite(self.low) and np.isfinite(self.high):
            return np.log(self.high - self.low) + log_expit(u) + log_expit(-u)
        if np.isfinite(self.low):
            return u
        return -u if np.isfinite(self.high) else 0.0 * u

    @np.errstate(divide="ignore", invalid="ignore")
    def coordinate(self, x: Array) -> Array:
        """Coordinates of values; infinite at and beyond the ends."""
        low, high = np.isfinite(self.low), np.isfinite(self.high)
        if low and high:
            return np.asarray(logit(np.clip((x - self.low) / (self.high - self.low), 0.0, 1.0)))
        if low:
            return np.log(np.maximum(x - self.low, 0.0))
        return -np.log(np.maximum(self.high - x, 0.0)) if high else np.asarray(x)

    def inside(self, x: Array) -> BoolArray:
        """Whether values lie inside."""
        return np.asarray((x > self.low) & (x < self.high))


class Range(NamedTuple):
    """Where functions lie, (n,) each."""

    mode: Array
    top: Array  # logarithm there
    low: Array
    high: Array
    near: Array  # distance at which they have fallen by a nat, on the side on which it is shorter
    far_low: Array  # where they have fallen by 10,000 nats, or the end of the coordinate
    far_high: Array
    ends: BoolArray  # whether a function falls by 40 nats on both sides


def find_range(log_function: LogIntegrand, n: int, largest: float, near: tuple[Array, Array] | None = None) -> Range:
    """Maxima of n unimodal functions, and where they have fallen by 40 nats; ``near`` (n,) has a place and a size."""

    def values(u: Array) -> Array:
        out = log_function(u)
        return np.where(np.isfinite(out), out, -np.inf)

    u, rows = _first_grid(n, largest, near), np.arange(n)
    for _ in range(_MOST_ZOOMS):
        f = values(u)
        at = np.argmax(f, axis=1)
        before, after = np.maximum(at - 1, 0), np.minimum(at + 1, u.shape[1] - 1)
        mode, top = u[rows, at], f[rows, at]
        if (top - np.minimum(f[rows, before], f[rows, after]) < _LEVEL).all():
            break
        start, end = (u[rows, place][:, None] for place in (before, after))
        u = start + (end - start) * _EVENLY
    (low, high), width, (far_low, far_high), falls = _ends(values, mode, top, largest)
    return Range(mode, top, low, high, width, far_low, far_high, falls & np.isfinite(top))


def _first_grid(n: int, largest: float, near: tuple[Array, Array] | None) -> Array:
    if near is None:
        decades = largest * 10.0 ** np.linspace(-_DECADES if largest > _LARGEST_LOG else -4.0, 0.0, _FIRST)
        return np.broadcast_to(np.concatenate([-decades[::-1], [0.0], decades]), (n, 2 * _FIRST + 1))
    place, size = (each[:, None] for each in near)
    away = size * _STEPS
    inside = np.clip(np.concatenate([place - away[:, ::-1], place, place + away], axis=1), -largest, largest)
    ends = np.full((n, 1), largest)
    return np.concatenate([-ends, inside, ends], axis=1)


def _ends(values: LogIntegrand, mode: Array, top: Array, largest: float) -> tuple[Array, Array, Array, BoolArray]:
    """Where functions have fallen by 40 nats (2, n), how soon by 1 (n,), by 10,000, and whether by 40 on both sides."""
    way = np.stack([-largest - mode, largest - mode])[:, :, None]

    def fall(share: Array) -> Array:
        u = mode[:, None] + way * share
        f = values(np.concatenate([u[0], u[1]], axis=1))
        return np.asarray(top[:, None] - f.reshape(len(f), 2, -1).swapaxes(0, 1))

    share = np.broadcast_to(_SHARES, (*way.shape[:2], len(_SHARES)))
    fallen = fall(share)
    far = np.argmax(_at_last(fallen >= _FAR), axis=2)
    near = np.abs(way[:, :, 0]) * _SHARES[np.argmax(_at_last(fallen >= 1.0), axis=2)]
    at = np.argmax(_at_last(fallen >= FALL), axis=2)[:, :, None]
    start, end = (np.take_along_axis(share, np.maximum(one, 0), axis=2) for one in (at - 1, at))
    finer = start + (end - start) * _EVENLY
    fallen_finer = fall(finer)
    at = np.argmax(_at_last(fallen_finer >= FALL), axis=2)[:, :, None]
    ends = mode + (way * np.take_along_axis(finer, at, axis=2))[:, :, 0]
    falls = (np.take_along_axis(fallen_finer, at, axis=2) >= FALL).all(axis=(0, 2))
    return ends, near.min(axis=0), mode + way[:, :, 0] * _SHARES[far], np.asarray(falls)


def _at_last(holds: BoolArray) -> BoolArray:
    """With the last place of each line counted in."""
    holds[..., -1] = True
    return holds


class PeakNodes(NamedTuple):
    """PeakNodes (n, m) of integrals over the ranges of n functions, with weights."""

    u: Array
    weight: Array


@cache
def _legendre(size: int) -> tuple[Array, Array]:
    return np.polynomial.legendre.leggauss(size)


def nodes_of(found: Range, size: int) -> PeakNodes:
    """So many Gauss-Legendre nodes on either side of the maxima."""
    x, w = _legendre(size)
    parts = []
    for start, end in ((found.low, found.mode), (found.mode, found.high)):
        half = 0.5 * (end - start)[:, None]
        parts.append((start[:, None] + half * (1.0 + x), half * w))
    return PeakNodes(*(np.concatenate(each, axis=1) for each in zip(*parts, strict=True)))


def sparse_nodes_of(found: Range) -> PeakNodes:
    """PeakNodes at equal steps of ``asinh((u - mode) / near)``, as many for each function."""
    unit = np.maximum(found.near, _SMALLEST * np.maximum(np.abs(found.mode), 1.0))
    low, high = (np.arcsinh((end - found.mode) / unit) for end in (found.low, found.high))
    size = int(np.ceil(np.nanmax((high - low) / _STEP, initial=2.0)))
    t = low[:, None] + (high - low)[:, None] * np.linspace(0.0, 1.0, size + 1)
    step = ((high - low) / size)[:, None]
    return PeakNodes(found.mode[:, None] + unit[:, None] * np.sinh(t), step * unit[:, None] * np.cosh(t))
