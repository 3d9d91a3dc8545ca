r"""Sums over counts beyond those that are added up one by one: integrals between half counts.

Where a probability changes by a factor :math:`e^{-s}` from count to count,

.. math:: \sum_{y > x} f(y) = \frac{s/2}{\sinh(s/2)} \int_{x + 1/2}^\infty f(y) \, dy,

which holds between two ends too, and for tails below x, where s is negative. The mean of a statistic that grows by d
from count to count is larger than that of the integral by :math:`d \{\coth(s/2) / 2 - 1/s\}`. Both are exact for
geometric tails. Others change slowly far out, and s is taken at the end where they are largest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tobitgp.mixture.truncated_statistics import Lines, Members
from tobitgp.numerics.unimodal import Domain, find_range
from tobitgp.typing import Array, IntArray

_ALL = 1.0 - 1e-16
_FLAT = 1e-6  # of s, below which there is nothing to correct


@dataclass(frozen=True, slots=True)
class FarCounts:
    """Counts above a last one, of K members."""

    lines: Lines
    base: Array  # (S,), what statistics are above
    last: float
    mode: Array  # (K,), coordinates
    size: Array  # (K,)

    def sums(self, which: IntArray, x: Array, start: Array, whole: Array, *, above: bool) -> Array:
        """Logs (1 + S, m) of sums of probabilities, and of these times statistics, beyond x or up to x.

        Components are ``which``; ``start`` are the sums up to the last one, ``whole`` those of all counts.
        """
        z = self.lines.support.coordinate(x + 0.5)
        right = z >= self.mode[which]
        nearer = np.empty((1 + len(self.base), len(x)))
        nearer[:, right] = self._corrected(which[right], x[right], *self._beyond(which[right], z[right]))
        left = ~right
        end = np.full(int(left.sum()), self.lines.support.coordinate(np.array(self.last + 0.5)))
        inside = self.lines.inside(which[left], z[left], end)
        nearer[:, left] = np.logaddexp(start[:, left], self._corrected(which[left], x[left], *inside))
        other = whole + np.log1p(-np.minimum(np.exp(nearer - whole), _ALL))
        return np.where(right == above, nearer, other)

    def beyond_last(self) -> Array:
        """Logs (1 + S, K) of sums beyond the last one."""
        each = np.arange(len(self.mode))
        end = np.full(len(each), self.lines.support.coordinate(np.array(self.last + 0.5)))
        out = self._corrected(each, np.full(len(each), self.last), *self._beyond(each, np.maximum(end, self.mode)))
        left = np.flatnonzero(end < self.mode)
        if len(left):
            after = self._in_logs(*self._beyond(left, self.mode[left]))
            out[:, left] = np.logaddexp(after, self._in_logs(*self.lines.inside(left, self.mode[left], end[left])))
        return out

    def _beyond(self, which: IntArray, z: Array) -> tuple[Array, Array]:
        return self.lines.beyond(which, z, np.ones_like(z), self.size[which])

    def _corrected(self, which: IntArray, x: Array, log_p: Array, mean: Array) -> Array:
        """Sums from integrals that end half a count above x."""
        (log_f, T), (log_next, T_next) = (self.lines.members.log_density(y, which) for y in (x, x + 1.0))
        s = log_f - log_next
        known = np.abs(s) > _FLAT
        s = np.where(known, s, 1.0)
        log_p = log_p + np.where(known, np.log(np.abs(s)) - 0.5 * np.abs(s) - np.log(-np.expm1(-np.abs(s))), 0.0)
        step = np.stack([high - low for high, low in zip(T_next, T, strict=True)])
        mean = mean + np.where(known, 0.5 / np.tanh(0.5 * s) - 1.0 / s, 0.0) * step
        return self._in_logs(log_p, mean)

    def _in_logs(self, log_p: Array, mean: Array) -> Array:
        return np.concatenate([log_p[None], log_p + np.log(mean - self.base[:, None])])


def far_counts(members: Members, least: float, last: float, base: Array) -> FarCounts:
    """Counts above ``last`` of all members."""
    lines = Lines(members, Domain(least - 1.0, np.inf))
    k = len(members.log_partition)
    found = find_range(lambda z: lines.log_density(z)[0], k, lines.support.largest)
    return FarCounts(lines, base, last, found.mode, found.high - found.low)
