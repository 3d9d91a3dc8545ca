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
from tobitgp.typing import Array, BoolArray, IntArray

_NODES = 8  # in each panel
_ROUND, _PER_SIZE = 9.0, 4.0  # nats up to which panels have one width, and how many there are in that of a density
_PER_UNIT = 2.0  # how many there are at least in a unit of a coordinate of which values are exponentials
_DEEP = 600.0  # nats up to which panels are narrow
_WIDE = np.arange(1, 13) / 12  # edges of those beyond, as powers of how much further they go
_PLACES = np.linspace(0.0, 1.0, 200)  # at which a fall is computed
_LARGEST, _LEAST = 2e4, 1e-14  # nats that count, and width of a density as a share of its place
_SIDES = np.array([-1.0, 1.0])
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
_FALLING = np.arange(_NODES - 1, -1, -1)
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
    """Truncated moments of K components and n ranges of values."""

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

    def tail(self, x: Array, *, above: bool) -> Truncated:
        """Above x, or at most x."""
        return self.one_sided(x)[above]

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
        nearer = self._nearer_tail(z)
        return self._tail(z, nearer.copy(), above=False), self._tail(z, nearer, above=True)

    def tail(self, x: Array, *, above: bool) -> Truncated:
        z = np.broadcast_to(self.lines.support.coordinate(x), (len(self.mode), x.shape[-1]))
        return self._tail(z, self._nearer_tail(z), above=above)

    def _tail(self, z: Array, nearer: Array, *, above: bool) -> Truncated:
        """On one side, from the nearer tails, whose entries of the other side are overwritten."""
        rest = (z < self.mode[:, None]) == above
        for j, some in enumerate(map(np.flatnonzero, rest)):
            if len(some):
                p, mean = np.exp(nearer[0, j, some]), nearer[1:, j, some]
                nearer[0, j, some] = np.log1p(-p)
                nearer[1:, j, some] = (self.mean[:, j, None] - p * mean) / (1.0 - p)
        return Truncated(nearer[0], nearer[1:])

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


def density_tails(members: Members, support: Domain, within: tuple[float, float] | None = None) -> DensityTails:
    """What K densities have in their tails; many ends of rows are worth panels, for coordinates within two ends."""
    lines, k = Lines(members, support), members.eta.shape[1]
    found = find_range(lambda z: lines.log_density(z)[0], k, support.largest)
    size = found.high - found.low
    pieces = None if within is None else _all_pieces(lines, found, size, within)
    mean = members.mean
    if mean is None:
        each = np.arange(k)
        left, right = (lines.beyond(each, found.mode, np.full(k, side), size) for side in (-1.0, 1.0))
        mean = np.exp(left[0]) * left[1] + np.exp(right[0]) * right[1]
    return DensityTails(lines, mean, found.mode, size, pieces)


class Panels(NamedTuple):
    """Panels on one side of a mode, as distances from it."""

    narrow: Array  # (P + 1,), edges of those whose nodes are enough for each other
    kept: int  # how many of them ends may lie in; beyond them the density falls by 40 nats
    wide: Array  # (Q,), edges of further ones

    @property
    def edges(self) -> Array:
        """Edges of panels in which ends may lie."""
        return np.append(self.narrow[: self.kept + 1], self.wide)


def _panels(lines: Lines, found: Range, within: tuple[float, float]) -> list[Panels]:
    """Those of each component on the left and on the right."""
    mode, near = found.mode, np.maximum(found.near, _LEAST * np.maximum(np.abs(found.mode), 1.0))
    far = np.abs(np.stack([found.far_low, found.far_high], axis=1) - mode[:, None])
    wanted = np.clip(np.stack([mode - within[0], within[1] - mode], axis=1), near[:, None], far)
    away = near[:, None, None] * np.sinh(np.arcsinh(far / near[:, None])[:, :, None] * _PLACES)
    fall = found.top[:, None, None] - lines.log_density(mode[:, None, None] + _SIDES[:, None] * away)[0]
    fall = np.maximum.accumulate(np.fmax(np.fmin(fall, _LARGEST), 0.0), axis=2)
    count = _PER_SIZE * np.arcsinh(away / near[:, None, None]) + _in_nats(fall)
    if np.isfinite(lines.support.low) or np.isfinite(lines.support.high):  # values are exponentials of coordinates
        count += _PER_UNIT * away
    sides = [(j, s) for j in range(len(mode)) for s in (0, 1)]
    return [_panels_of(away[at], fall[at], count[at], wanted[at], far[at]) for at in sides]


def _in_nats(fall: Array) -> Array:
    """How many panels a fall needs: their width is even near the mode of a normal density, and a nat further out."""
    return np.where(fall < _ROUND, 2.0 * np.sqrt(_ROUND * fall), _ROUND + fall)


def _panels_of(away: Array, fall: Array, count: Array, wanted: float, far: float) -> Panels:
    last = min(wanted, float(np.interp(_DEEP, fall, away)))
    until = max(last, float(np.interp(np.interp(last, away, fall) + FALL, fall, away)))
    inside, most = np.interp([last, until], away, count)
    if not np.isfinite(most):
        return Panels(np.array([0.0, np.nan]), 1, np.zeros(0))
    kept, spare = int(np.ceil(inside)), int(np.ceil(most - inside))
    spared = inside + (most - inside) * np.arange(1, spare + 1) / max(spare, 1)
    places = np.concatenate([inside * np.arange(kept + 1) / kept, spared])
    wide = last * (far / last) ** _WIDE if wanted > last else np.zeros(0)
    return Panels(np.interp(places, count, away), kept, wide[: np.searchsorted(wide, wanted) + 1])


def _all_pieces(lines: Lines, found: Range, size: Array, within: tuple[float, float]) -> tuple[Any, ...]:
    """Polynomials of each component."""
    panels = _panels(lines, found, within)
    lengths = [len(one.narrow) - 1 for one in panels]
    side = np.repeat(np.arange(len(panels)), lengths)
    start, end = (np.concatenate([one.narrow[at] for one in panels])[:, None] for at in (slice(-1), slice(1, None)))
    half = 0.5 * (end - start)
    z = found.mode[side // 2, None] + _SIDES[side % 2, None] * (start + half * (1.0 + _X))
    log_f, T = lines.log_density(z, side // 2)
    density = half * np.exp(log_f)
    values, steep = np.stack([density, *(density * one for one in T)]), ~(np.ptp(log_f, axis=1) < _STEEP)
    first = np.cumsum([0, *lengths])
    tails = []
    for i, one in enumerate(panels):
        of = slice(first[i], first[i + 1])
        summed, alone = _summed(values[:, of], one.kept), np.append(steep[of][: one.kept], np.full(len(one.wide), True))
        tails.append(_by_nodes(lines, found.mode, size, i, one.edges, summed, alone) if alone.any() else summed)
    pairs = zip(found.mode, panels[::2], panels[1::2], tails[::2], tails[1::2], strict=True)
    return tuple(_pieces(mode, left.edges, right.edges, *both) for mode, left, right, *both in pairs)


def _summed(values: Array, kept: int) -> Array:
    """Tails (1 + S, kept, nodes) beyond nodes from integrals over panels."""
    inward = np.cumsum((values @ _W)[:, ::-1], axis=1)[:, ::-1]
    sums = values[:, :kept] @ _REST.T
    some = min(kept, values.shape[1] - 1)
    sums[:, :some] += inward[:, 1 : some + 1, None]
    return np.concatenate([np.log(sums[:1]), sums[1:] / sums[0]])


def _by_nodes(lines: Lines, mode: Array, size: Array, i: int, edges: Array, summed: Array, alone: BoolArray) -> Array:
    """Tails in all panels of a side, those in some of them by nodes of each."""
    tails = np.zeros((len(summed), len(alone), _NODES))
    tails[:, : summed.shape[1]] = summed
    away = edges[:-1, None][alone] + 0.5 * np.diff(edges)[alone, None] * (1.0 + _X)
    j, sign = np.full(away.size, i // 2), np.full(away.size, _SIDES[i % 2])
    log_p, mean = lines.beyond(j, mode[j] + sign * away.ravel(), sign, size[j])
    tails[0, alone], tails[1:, alone] = log_p.reshape(-1, _NODES), mean.reshape(len(mean), -1, _NODES)
    return tails


def _pieces(mode: Array, before: Array, after: Array, left: Array, right: Array) -> Any:
    """Polynomials of 1 + S values on either side of a mode from those at the nodes of panels, (1 + S, P, nodes)."""
    from scipy.interpolate import PPoly

    values = np.concatenate([left[:, ::-1, ::-1], right], axis=1)  # along the coordinate
    x = np.concatenate([mode - before[::-1], mode + after[1:]])
    first = values[:, :, :1]
    powers = (values - first) @ _TO_POWERS.T  # (1 + S, P, nodes), falling
    powers[:, :, -1] += first[:, :, 0]
    powers /= (x[1:] - x[:-1])[:, None] ** _FALLING
    return PPoly.construct_fast(np.ascontiguousarray(powers.transpose(2, 1, 0)), x)
