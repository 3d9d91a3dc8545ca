r"""Probabilities and means of statistics of counts below, above and between ends: sums, and integrals far out.

Sums over counts beyond those that are added up one by one: integrals between half counts.

Where a probability changes by a factor :math:`e^{-s}` from count to count,

.. math:: \sum_{y > x} f(y) = \frac{s/2}{\sinh(s/2)} \int_{x + 1/2}^\infty f(y) \, dy,

which holds between two ends too, and for tails below x, where s is negative. The mean of a statistic that grows by d
from count to count is larger than that of the integral by :math:`d \{\coth(s/2) / 2 - 1/s\}`. Both are exact for
geometric tails. Others change slowly far out, and s is taken at the end where they are largest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tobitgp.errors import NumericalError
from tobitgp.mixture.truncated_statistics import Lines, Members, TailSums, Truncated
from tobitgp.numerics.unimodal import FALL, Domain, find_range
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


_FIRST_COUNTS, _MOST_COUNTS = 64, 2**20
_SUMMED = 2**12  # counts without an end, which are added up one by one


@dataclass(frozen=True, slots=True)
class CountTails(TailSums):
    """Probabilities of counts from the least one on."""

    mean: Array
    least: float
    base: Array  # (S, 1, 1), what statistics are above
    below: Array  # (1 + S, K, m), logs of sums up to each count, of probabilities and of these times statistics
    above: Array  # (1 + S, K, m), the same beyond each count
    far: FarCounts | None  # beyond the last of these counts, where anything is

    @property
    def _total(self) -> Array:
        """Logs (1 + S, K, 1) of the sums over all counts."""
        return np.logaddexp(self.below[:, :, -1:], self.above[:, :, -1:])

    def whole(self) -> Array:
        return np.exp(self._total[0, :, 0])

    def one_sided(self, x: Array) -> tuple[Truncated, Truncated]:
        return self._at(self.below, x, "below"), self._at(self.above, x, "above")

    def between(self, lower: Array, upper: Array) -> Truncated:
        high, low = self._sums(self.below, upper, above=False), self._sums(self.above, lower, above=True)
        left = high[0] < low[0]
        near = np.where(left, high, low)
        far = np.where(left, self._sums(self.below, lower, above=False), self._sums(self.above, upper, above=True))
        share = np.minimum(np.exp(far - near), 1.0 - 1e-16)
        return self._truncated(near + np.where(np.isneginf(far), 0.0, np.log1p(-share)))

    def _at(self, sums: Array, x: Array, side: str) -> Truncated:
        return self._truncated(self._sums(sums, x, above=side == "above"))

    def _truncated(self, logs: Array) -> Truncated:
        return Truncated(logs[0], self.base + np.exp(logs[1:] - logs[0]))

    def _sums(self, sums: Array, x: Array, *, above: bool) -> Array:
        """Sums (1 + S, K, n) up to x or beyond it."""
        at = np.broadcast_to(np.floor(x) - self.least, (sums.shape[1], x.shape[-1]))
        inside = (at >= 0.0) & (at < sums.shape[2])
        places = np.where(inside, at, 0.0).astype(np.intp)
        out = np.take_along_axis(sums, np.broadcast_to(places, (len(sums), *places.shape)), axis=2)
        whole = self._total
        before, after = at < 0.0, at >= sums.shape[2]
        nothing = np.full_like(out, -np.inf)
        for where, full in ((before, above), (after, not above)):
            out = np.where(where, np.broadcast_to(whole, out.shape) if full else nothing, out)
        if self.far is not None:
            which, row = np.nonzero(after & np.isfinite(at))
            start, total = self.below[:, which, -1], whole[:, which, 0]
            out[:, which, row] = self.far.sums(which, at[which, row] + self.least, start, total, above=above)
        return out


def count_tails(members: Members, least: float, most: float, largest: float) -> CountTails:
    """Sums over counts up to a last one, as far as probabilities reach beyond the largest of the rows."""
    size, far_out = _FIRST_COUNTS, False
    while True:
        last = min(most, max(largest, least) + size)
        if np.isinf(most) and last - least > _SUMMED:
            last, far_out = least + _SUMMED, True
        if last - least > _MOST_COUNTS:
            raise NumericalError(
                f"Components have more than {_MOST_COUNTS:,} counts, too many to add up. Express the response in "
                "larger units, or use a family of positive values, e.g. family='gamma'."
            )
        y = least + np.arange(last - least + 1.0)
        log_f, T = members.log_density(np.broadcast_to(y, (len(members.log_partition), len(y))))
        fallen = log_f.max(axis=1) - log_f[:, -1] > FALL
        from_end = log_f[:, min(len(y) - 1, int(max(largest - least, 0.0)))] - log_f[:, -1] > FALL
        if last == most or far_out or (fallen & from_end).all():
            break
        size *= 2
    base = np.stack([one.min() for one in T])[:, None, None]
    logs = np.stack([log_f, *(log_f + np.log(one - low) for one, low in zip(T, base, strict=True))])
    below = np.logaddexp.accumulate(logs, axis=2)
    above, far = np.full_like(logs, -np.inf), None
    if far_out:
        far = far_counts(members, least, last, base[:, 0, 0])
        above[:, :, -1] = far.beyond_last()
    rest = np.concatenate([above[:, :, -1:], logs[:, :, :0:-1]], axis=2)
    above[:, :, :-1] = np.logaddexp.accumulate(rest, axis=2)[:, :, :0:-1]
    total = np.logaddexp(below[:, :, -1], above[:, :, -1])
    return CountTails(base[..., 0] + np.exp(total[1:] - total[0]), least, base, below, above, far)
