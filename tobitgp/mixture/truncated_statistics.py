r"""Probabilities and means of statistics below, above and between ends, of densities, one for a component.

A density is integrated on an unbounded coordinate of its support, in panels of 7 Gauss-Legendre nodes that become
wider away from its mode. Where it falls steeply, each node has 96 nodes for itself, up to where the density has fallen
by 40 nats, so that relative precision is kept in tails. Polynomials through the nodes of a panel give all ends of rows
there the logarithm of the nearer tail, and the means of statistics in it. The other tail follows from the whole;
intervals are differences of tails, or have nodes for themselves where a difference would cancel.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tobitgp.numerics.unimodal import FALL, Domain, Range, find_range
from tobitgp.typing import Array, IntArray

_PANELS, _OUTER, _NODES = 40, 18, 8  # on either side of a mode, beyond them, and nodes in each
_STEEP = 1.5  # nats that a density changes in a panel up to which its nodes are enough for each other
_ALONE, _AIM, _MOST_FALL, _TRIES, _NEAR = 16, 52.0, 75.0, 80, 1e-4
_CANCELS = 0.5  # ratio of tails from which an interval has nodes for itself
_X, _W = np.polynomial.legendre.leggauss(_NODES)
_PARTS = np.array([0.0, 0.02, 0.08, 0.25, 0.5, 0.75, 1.0])  # of a range that an end has for itself, from the end on


def _composite_rule() -> tuple[Array, Array]:
    """Nodes and weights on (0, 1), in parts."""
    x, w = np.polynomial.legendre.leggauss(_ALONE)
    half = 0.5 * np.diff(_PARTS)[:, None]
    return (_PARTS[:-1, None] + half * (1.0 + x)).ravel(), (half * w).ravel()


_ONES = _composite_rule()
_EDGES = np.linspace(0.0, 1.0, _PANELS + 1) ** 2  # of panels, from a mode to where a density has fallen
_TO_POWERS = np.linalg.inv(np.vander(0.5 * (1.0 + _X), _NODES))  # of the place in a panel, from values at nodes


def _rest_rule() -> Array:
    """Weights (nodes, nodes) of integrals from each node to the end of its panel, by values at all."""
    values = np.polynomial.legendre.legvander(_X, _NODES)
    coefficients = (values[:, :-1] * _W[:, None]).T * (np.arange(_NODES) + 0.5)[:, None]
    part = np.zeros((_NODES, _NODES))
    part[:, 0] = 1.0 + _X
    order = np.arange(1, _NODES)
    part[:, 1:] = (values[:, 2:] - values[:, :-2]) / (2 * order + 1)
    return _W - part @ coefficients


_REST = _rest_rule()


class Truncated(NamedTuple):
    """Of K components and n ranges of values."""

    log_p: Array  # (K, n), log probability
    mean: Array  # (S, K, n), means of the statistics there


@dataclass(frozen=True, slots=True)
class Members:
    """K members of a family, as functions of a value."""

    statistic: Callable[[Array], tuple[Array, ...]]
    log_base: Callable[[Array], Array]
    eta: Array  # (S, K)
    log_partition: Array  # (K,)
    mean: Array | None = None  # (S, K), of the statistics, where it is known

    def log_density(self, y: Array, which: IntArray | slice = slice(None)) -> tuple[Array, tuple[Array, ...]]:
        """Log densities, and statistics, at values (K, ...) or (...); components of entries (m, ...) by ``which``."""
        T = self.statistic(y)
        up = (-1, *(1,) * (y.ndim - 1))
        out = self.log_base(y) - self.log_partition[which].reshape(up)
        for eta, one in zip(self.eta, T, strict=True):
            out = out + eta[which].reshape(up) * one
        return out, T


class TailSums(ABC):
    """Where K distributions have their probability."""

    mean: Array  # (S, K)

    @abstractmethod
    def whole(self) -> Array:
        """Probability of all values, (K,), which is 1."""

    @abstractmethod
    def one_sided(self, x: Array) -> tuple[Truncated, Truncated]:
        """At most x, and above x, (n,) or (K, n)."""

    @abstractmethod
    def between(self, lower: Array, upper: Array) -> Truncated:
        """Above lower and at most upper, (n,), either of which may be infinite."""


@dataclass(frozen=True, slots=True)
class Lines:
    """K densities on the unbounded coordinate of their support."""

    members: Members
    support: Domain

    def log_density(self, z: Array, which: IntArray | slice = slice(None)) -> tuple[Array, tuple[Array, ...]]:
        """As of `Members`, at coordinates."""
        log_f, T = self.members.log_density(self.support.at(z), which)
        return log_f + self.support.log_slope(z), T

    def beyond(self, which: IntArray, z: Array, side: Array, size: Array) -> tuple[Array, Array]:
        """Log tails (m,), and means of the statistics (S, m), by nodes up to where a density has fallen by 40 nats."""
        limit, top = self.support.largest, self.log_density(z, which)[0]
        slope = (top - self.log_density(z + side * _NEAR * size, which)[0]) / (_NEAR * size)
        step = np.where(slope * size > FALL, FALL / slope, size)
        low, high = np.zeros_like(z), np.full_like(z, np.inf)
        for _ in range(_TRIES):
            end = np.clip(z + side * step, -limit, limit)
            fall = top - self.log_density(end, which)[0]
            short, long = (fall < FALL) & (np.abs(end) < limit), ~(fall <= _MOST_FALL) & ~(fall < FALL)
            if not (short | long).any():
                break
            low, high = np.where(short, step, low), np.where(long, step, high)
            change = np.clip(np.sqrt(_AIM / np.maximum(np.nan_to_num(fall, nan=np.inf), 1e-3)), 0.2, 4.0)
            known = np.isfinite(high) & (low > 0.0)
            step = np.where(short | long, np.where(known, 0.5 * (low + high), step * change), step)
        return self.inside(which, z, end)

    def inside(self, which: IntArray, low: Array, high: Array) -> tuple[Array, Array]:
        """Log probability (m,) between coordinates, and means of the statistics (S, m), by nodes of each."""
        x, w = _ONES
        low, high = (np.clip(end, -self.support.largest, self.support.largest) for end in (low, high))
        way = (high - low)[:, None]
        log_f, T = self.log_density(low[:, None] + way * x, which)
        top = log_f.max(axis=1, keepdims=True)
        weight = w * np.exp(log_f - top)
        total = weight.sum(axis=1)
        mean = np.stack([(weight * one).sum(axis=1) / total for one in T])
        return np.log(total) + np.log(np.abs(way[:, 0])) + top[:, 0], mean


@dataclass(frozen=True, slots=True)
class DensityTails(TailSums):
    """Polynomials of the log tail beyond a place, away from the mode, and of the means of the statistics there."""

    lines: Lines
    mean: Array  # (S, K)
    mode: Array  # (K,), coordinates
    size: Array  # (K,), of the part in which the densities lie
    pieces: tuple[Any, ...] | None  # of each component, with 1 + S values; None where ends are few

    def whole(self) -> Array:
        each = np.arange(len(self.mode))
        sides = (self.lines.beyond(each, self.mode, np.full(len(each), side), self.size)[0] for side in (-1.0, 1.0))
        return np.exp(next(sides)) + np.exp(next(sides))

    def one_sided(self, x: Array) -> tuple[Truncated, Truncated]:
        z = np.broadcast_to(self.lines.support.coordinate(x), (len(self.mode), x.shape[-1]))
        both = self._nearer_tail(z)
        log_p, mean, left = both[0], both[1:], z < self.mode[:, None]
        p = np.exp(log_p)
        other = np.log1p(-p)
        rest = (self.mean[:, :, None] - p * mean) / (1.0 - p)
        below = Truncated(np.where(left, log_p, other), np.where(left, mean, rest))
        return below, Truncated(np.where(left, other, log_p), np.where(left, rest, mean))

    def between(self, lower: Array, upper: Array) -> Truncated:
        (low_below, low_above), (high_below, high_above) = self.one_sided(lower), self.one_sided(upper)
        left = high_below.log_p < low_above.log_p
        near = Truncated(*(np.where(left, one, other) for one, other in zip(high_below, low_above, strict=True)))
        far = Truncated(*(np.where(left, one, other) for one, other in zip(low_below, high_above, strict=True)))
        ratio = np.exp(far.log_p - near.log_p)
        log_p = near.log_p + np.log1p(-ratio)
        mean = (near.mean - ratio * far.mean) / (1.0 - ratio)
        close = ~(ratio <= _CANCELS)
        if close.any():
            which, row = np.nonzero(close)
            z = (self.lines.support.coordinate(end)[row] for end in (lower, upper))
            log_p[which, row], mean[:, which, row] = self.lines.inside(which, *z)
        return Truncated(log_p, mean)

    def _nearer_tail(self, z: Array) -> Array:
        """Log probability, and means of the statistics, (1 + S, K, n), beyond z (K, n) away from the modes."""
        out, outside = np.zeros((1 + len(self.mean), *z.shape)), np.ones(z.shape, dtype=np.bool_)
        for j, piece in enumerate(self.pieces or ()):
            out[:, j] = piece(z[j]).T
            outside[j] = (z[j] < piece.x[0]) | (z[j] > piece.x[-1])
        gone = np.isinf(z)
        which, row = np.nonzero(outside & ~gone)
        if len(which):
            some = z[which, row]
            side = np.where(some < self.mode[which], -1.0, 1.0)
            out[0, which, row], out[1:, which, row] = self.lines.beyond(which, some, side, self.size[which])
        out[0, gone], out[1:, gone] = -np.inf, 0.0
        return out


def density_tails(members: Members, support: Domain, *, many: bool = True) -> DensityTails:
    """What K densities have in their tails; many ends of rows are worth panels."""
    lines, k, S = Lines(members, support), *reversed(members.eta.shape)
    found = find_range(lambda z: lines.log_density(z)[0], k, support.largest)
    size = found.high - found.low
    pieces = _all_pieces(lines, found, size, S) if many else None
    mean = members.mean
    if mean is None:
        each = np.arange(k)
        left, right = (lines.beyond(each, found.mode, np.full(k, side), size) for side in (-1.0, 1.0))
        mean = np.exp(left[0]) * left[1] + np.exp(right[0]) * right[1]
    return DensityTails(lines, mean, found.mode, size, pieces)


def _all_pieces(lines: Lines, found: Range, size: Array, S: int) -> tuple[Any, ...]:
    """Polynomials of each component."""
    k, sides = len(size), np.array([-1.0, 1.0])
    length = np.abs(np.stack([found.low, found.high], axis=1) - found.mode[:, None])[:, :, None]
    far = np.abs(np.stack([found.far_low, found.far_high], axis=1) - found.mode[:, None])[:, :, None] / length
    outer = np.maximum(far, 1.0 + 1e-6) ** (np.arange(1, _OUTER + 1) / _OUTER)
    edges = length * np.concatenate([np.broadcast_to(_EDGES, (k, 2, _PANELS + 1)), outer], axis=2)
    half = 0.5 * np.diff(edges, axis=2)[..., None]
    away = edges[..., :-1, None] + half * (1.0 + _X)
    z = found.mode[:, None, None, None] + sides[:, None, None] * away
    log_f, T = lines.log_density(z)
    density = half * np.exp(log_f)
    values = np.stack([density, *(density * one for one in T)])[..., :_PANELS, :]
    tails = np.empty((1 + S, *z.shape))
    steep = ~(np.ptp(log_f, axis=3) < _STEEP)
    steep[:, :, _PANELS:] = True
    which, side, _ = np.nonzero(steep)
    at = (np.repeat(which, _NODES), z[steep].ravel(), np.repeat(sides[side], _NODES))
    log_p, mean = lines.beyond(*at, size[at[0]])
    ends = np.tile(np.arange(k), 2), np.concatenate([found.low, found.high]), np.repeat(sides, k)
    log_rest, rest = lines.beyond(*ends, size[ends[0]])
    beyond = np.stack([np.exp(log_rest), *(np.exp(log_rest) * rest)]).reshape(1 + S, 2, k).swapaxes(1, 2)
    whole = values @ _W
    summed = np.cumsum(np.concatenate([beyond[..., None], whole[..., :0:-1]], axis=3), axis=3)[..., ::-1]
    sums = summed[..., None] + values @ _REST.T
    tails[..., :_PANELS, :] = np.stack([np.log(sums[0]), *(sums[1:] / sums[0])])
    tails[0, steep], tails[1:, steep] = log_p.reshape(-1, _NODES), mean.reshape(S, -1, _NODES)
    return tuple(_pieces(found.mode[j], edges[j], tails[:, j]) for j in range(k))


def _pieces(mode: Array, edges: Array, tails: Array) -> Any:
    """Polynomials of 1 + S values on either side of a mode from those at the nodes of panels, (1 + S, 2, P, nodes)."""
    from scipy.interpolate import PPoly

    values = np.concatenate([tails[:, 0, ::-1, ::-1], tails[:, 1]], axis=1)  # along the coordinate
    x = np.concatenate([mode - edges[0, ::-1], mode + edges[1, 1:]])
    first = values[:, :, :1]
    powers = _TO_POWERS @ np.moveaxis(values - first, 2, 1)  # (1 + S, nodes, panels), falling
    powers[:, -1] += first[:, :, 0]
    powers /= np.diff(x) ** np.arange(_NODES - 1, -1, -1)[:, None]
    return PPoly.construct_fast(np.ascontiguousarray(np.moveaxis(powers, 0, 2)), x)
