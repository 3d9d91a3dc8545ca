r"""Distributions of the response in rows as recorded: inside a window, clipped at limits.

Means of functions of the response over an interval, in rows: adaptive panels between quantiles, and far tails.

Panels end at quantiles inside the interval, so that each holds a known probability. A panel is halved until twelve
Gauss points give this probability, and the halves the same integral as the whole. Beyond the last quantiles the
integral is :math:`\int g(Q(e^{-s})) e^{-s} ds`, Q the value that is exceeded (or not reached) with a probability.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from tobitgp.distributions.response import RowDistributions, same_as
from tobitgp.numerics.log_probabilities import log_complement
from tobitgp.typing import Array, BoolArray, IntArray

Integrand = Callable[[IntArray, Array], Array]  # of rows (P,) and values (P, k)

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
_HALF = float(np.log(0.5))
_TINY = float(np.nextafter(0.0, 1.0))  # above what is 0
_LAST = 36.0  # minus the logarithm of the probability at which far tails begin
_ORDERS = np.linspace(np.log(2.0), _LAST, 13)
_FAR = _LAST * 1.12 ** np.arange(27)  # ends of panels of far tails, up to probabilities of exp(-685)
_BACK = 8  # nodes between which a slope is taken
_SHOWS = 1e-14  # share of an integral from which a far tail is added
_CLOSE, _MOST = 1e-11, 40  # of a panel; halvings
_CELLS = 400_000  # panels of all rows that are held at once


def mean_between(y: RowDistributions, g: Integrand, lower: Array, upper: Array, log_total: Array) -> Array:
    """Integrals (n,) of g times the density of y over (lower, upper), (n,); infinite where g grows too fast.

    Densities are those of y divided by the exponentials of ``log_total``.
    """
    out, lower = np.zeros(len(lower)), np.maximum(lower, _TINY) if y.log else lower
    with np.errstate(all="ignore"):
        known = np.flatnonzero(y.log_mass(lower, upper) > -np.inf)
        for span in np.array_split(known, max(1, len(known) * 2 * len(_ORDERS) // _CELLS)):
            if len(span):
                out[span] = _OfRows(y, g, span, lower[span], upper[span], log_total[span]).integral()
    return out


def quantile_inside(y: RowDistributions, log_p: Array, log_q: Array, lower: Array, upper: Array) -> Array:
    """Values that are exceeded with probabilities p = 1 - q inside (lower, upper], formed from the smaller tail."""
    with np.errstate(all="ignore"):
        above = np.logaddexp(log_p + y._above(lower), log_q + y._above(upper))
        below = np.logaddexp(log_q + y._below(upper), log_p + y._below(lower))
        left = np.where(below < _HALF, log_complement(below), above)
        return np.clip(y.survived(left), lower, upper)


class _OfRows:
    """Integrals of some rows."""

    def __init__(
        self, y: RowDistributions, g: Integrand, rows: IntArray, lower: Array, upper: Array, log_total: Array
    ) -> None:
        self.y, self.g, self.rows = y, g, rows
        self.lower, self.upper, self.log_total = lower, upper, log_total
        self.inside = y.take(rows).beside()
        self.log_mass = y.take(rows).log_mass(lower, upper) - log_total

    def integral(self) -> Array:
        """Integral over the panels, and over the tails beyond them where these matter."""
        above, below = self._values(-_ORDERS, above=True), self._values(-_ORDERS, above=False)
        ends = np.maximum.accumulate(np.column_stack([below[:, ::-1], above[:, 1:]]), axis=1)
        bounded = np.isfinite(self.lower) & ((self.lower > _TINY) | (not self.y.log)), np.isfinite(self.upper)
        first, last = np.where(bounded[0], self.lower, ends[:, 0]), np.where(bounded[1], self.upper, ends[:, -1])
        total = self._panels(np.column_stack([first, ends, last]))
        size = np.maximum(np.abs(total), np.exp(self.log_mass))
        for known, end, side in zip(bounded, (below[:, -1:], above[:, -1:]), (False, True), strict=True):
            edge = np.abs(self.g(self.rows, end)[:, 0]) * np.exp(self.log_mass - _LAST)
            at = np.flatnonzero(~known & (edge > _SHOWS * size))
            if len(at):
                total[at] += self._tail(at, above=side)
        return total

    def _values(self, log_p: Array, *, above: bool) -> Array:
        """Values (n, k) inside the interval that are exceeded, or not, with probabilities."""
        rest = np.log1p(-np.exp(log_p))
        p, q = (log_p, rest) if above else (rest, log_p)
        return quantile_inside(self.inside, p, q, self.lower[:, None], self.upper[:, None])

    def _panels(self, ends: Array) -> Array:
        """Sum over panels, each halved until it is right."""
        jumps = np.clip(self.y.jumps, ends[:, :1], ends[:, -1:])
        ends = np.sort(np.concatenate([ends, jumps], axis=1), axis=1) if jumps.size else ends
        x = np.log(ends) if self.y.log else ends
        place = np.repeat(np.arange(len(x)), x.shape[1] - 1)
        low, high = x[:, :-1].ravel(), x[:, 1:].ravel()
        some = high > low
        place, low, high = place[some], low[some], high[some]
        total, whole = np.zeros(len(x)), self._gauss(place, low, high)[1]
        scale = np.exp(self.log_mass)
        for _ in range(_MOST):
            middle = 0.5 * (low + high)
            left, right = self._gauss(place, low, middle), self._gauss(place, middle, high)
            true = self._mass(place, low, high)
            halves = left[1] + right[1]
            wrong = np.abs(left[0] + right[0] - true) > _CLOSE * true + 1e-15 * scale[place]
            wrong |= np.abs(halves - whole) > _CLOSE * np.abs(halves) + 1e-13 * scale[place]
            wrong &= (middle > low) & (middle < high)
            np.add.at(total, place[~wrong], halves[~wrong])
            if not wrong.any():
                return total
            place = np.tile(place[wrong], 2)
            low, high = np.append(low[wrong], middle[wrong]), np.append(middle[wrong], high[wrong])
            whole = np.append(left[1][wrong], right[1][wrong])
        np.add.at(total, place, whole)
        return total

    def _gauss(self, place: IntArray, low: Array, high: Array) -> tuple[Array, Array]:
        """Integrals (P,) of the density, and of g times the density, over panels."""
        half = 0.5 * (high - low)
        x = low[:, None] + half[:, None] * (1.0 + _NODES)
        value, rows = self._response(x), self.rows[place]
        log_density = self.y.take(rows).beside().logpdf(value) - self.log_total[place, None]
        density = np.exp(log_density + (x if self.y.log else 0.0))
        weight = density * half[:, None] * _WEIGHTS
        g = np.where(weight > 0.0, self.g(rows, value), 0.0)
        return weight.sum(axis=1), (weight * g).sum(axis=1)

    def _mass(self, place: IntArray, low: Array, high: Array) -> Array:
        """Probabilities (P,) of panels."""
        log_mass = self.y.take(self.rows[place]).log_mass(self._response(low), self._response(high))
        return np.exp(log_mass - self.log_total[place])

    def _response(self, x: Array) -> Array:
        return np.exp(x) if self.y.log else x

    def _tail(self, at: IntArray, *, above: bool) -> Array:
        """Integrals (n,) beyond the last quantiles of some rows."""
        part = _OfRows(self.y, self.g, self.rows[at], self.lower[at], self.upper[at], self.log_total[at])
        half = 0.5 * np.diff(_FAR)[:, None]
        s = (_FAR[:-1, None] + half * (1.0 + _NODES)).ravel()
        log_weight = np.log((half * _WEIGHTS).ravel()) - s
        value = part.g(part.rows, part._values(-s, above=above))
        log_value, rise = _continued(np.log(np.abs(value)), s)
        sign = np.where(value[:, 0] < 0.0, -1.0, 1.0)
        integral = np.exp(np.logaddexp.reduce(log_value + log_weight + part.log_mass[:, None], axis=1))
        return sign * np.where(rise < 1.0, integral, np.inf)


def _continued(log_value: Array, s: Array) -> tuple[Array, Array]:
    """Logarithms (n, k) of values, straight in s from where quantiles are too large for numbers, and their slope."""
    still = ~(np.abs(np.diff(log_value, axis=1)) > 0.0) | ~np.isfinite(log_value[:, 1:])
    last = np.clip(np.where(still.any(axis=1), np.argmax(still, axis=1) - 1, len(s) - 1), _BACK, len(s) - 1)
    row = np.arange(len(log_value))
    end = log_value[row, last]
    rise = (end - log_value[row, last - _BACK]) / (s[last] - s[last - _BACK])
    on = end[:, None] + rise[:, None] * (s - s[last, None])
    return np.where(np.arange(len(s)) > last[:, None], on, log_value), rise


_LARGEST = 1e300  # beyond which a time never comes
_NONE = -690.0  # log probability below which 0 and infinity have none
_REST, _COUNTS = 1e-17, 4_000_000  # probability of larger counts that are left out; rows times counts


@dataclass(frozen=True)
class ShownRows:
    """Distributions of n rows inside a window, clipped at limits: what `ResponseDistribution` asks of them."""

    y: RowDistributions
    lower: Array  # (n,) each, infinite where there is none
    upper: Array
    entry: Array
    exit: Array

    counts = same_as("y.discrete")  # whether values are whole numbers

    def take(self, rows: Any) -> ShownRows:
        """Some of the rows."""
        return ShownRows(self.y.take(rows), *(end[rows] for end in self.ends))

    @property
    def ends(self) -> tuple[Array, Array, Array, Array]:
        """Limits and window."""
        return self.lower, self.upper, self.entry, self.exit

    @cached_property
    def windowed(self) -> bool:
        """Whether any row has a window."""
        return bool((np.isfinite(self.entry) | np.isfinite(self.exit)).any())

    @cached_property
    def total(self) -> Array:
        """Log probability of the window."""
        return self.y.log_mass(self.entry, self.exit) if self.windowed else np.zeros(self.lower.shape)

    @cached_property
    def first(self) -> Array:
        """Lowest value that is possible."""
        least = 0.0 if self.y.log or self.counts else -np.inf
        return np.maximum(self.lower, np.fmin(np.fmax(self.entry, least), self.upper))

    @cached_property
    def last(self) -> Array:
        """Largest value that is possible."""
        return np.minimum(self.upper, np.fmax(self.exit, self.lower))

    def log_below(self, x: Array) -> Array:
        """Log probability of at most x in the window, whatever the limits."""
        if not self.windowed:
            return self.y._below(x)
        return self.y.log_mass(self.entry, np.minimum(x, self.exit)) - self.total

    def log_above(self, x: Array) -> Array:
        """Log probability of more than x in the window, whatever the limits."""
        if self.windowed:
            return self.y.log_mass(np.maximum(x, self.entry), self.exit) - self.total
        above = self.y._above(x)
        zero = self.y.log & (x == 0.0)  # which a distribution may count as survived
        return np.where(zero, log_complement(self.y.logcdf(np.zeros_like(x))), above) if zero.any() else above

    def log_atoms(self) -> tuple[Array, Array]:
        """Log probabilities of the lowest and the largest value, -inf where these have none."""
        at_first, at_last = self.lower >= self.first, self.upper <= self.last
        below = np.where(at_first & np.isfinite(self.first), self.log_below(self.first), -np.inf)
        end = np.ceil(self.upper) - 1.0 if self.counts else self.upper
        above = np.where(at_last & np.isfinite(self.last), self.log_above(end), -np.inf)
        if self.y.log:
            zero = self.log_below(np.zeros_like(self.first))
            below = np.where(~at_first & (self.first == 0.0) & (zero > _NONE), zero, below)
            above = np.maximum(above, self._log_never())
        return below, above

    def log_density(self, x: Array) -> Array:
        """Log density, or probability of an atom or a count."""
        below, above = self.log_atoms()
        inside = (x > self.first) & (x < self.last) | (x == self.first) & np.isneginf(below)
        inside |= (x == self.last) & np.isneginf(above) & np.isfinite(self.last)
        if self.counts:
            inside &= x == np.floor(x)
        with np.errstate(all="ignore"):
            value = np.where(inside, self.y.logpdf(np.where(inside, x, 1.0)) - self.total, -np.inf)
            value = np.where((x == self.first) & ~np.isneginf(below), below, value)
            value = np.where((x == self.last) & ~np.isneginf(above), above, value)
            return np.where(np.isnan(x), np.nan, value)

    def log_atom(self, x: Array) -> Array:
        """Log probability of a single value: that of an atom or a count."""
        if self.counts:
            return self.log_density(x)
        below, above = self.log_atoms()
        return np.where(x == self.first, below, np.where(x == self.last, above, -np.inf))

    def log_tails(self, x: Array) -> tuple[Array, Array]:
        """Log probabilities of at most x, and of more."""
        low, high, missing = x < self.first, x >= self.last, np.isnan(x)
        at = np.where(low | high | missing, np.where(np.isfinite(self.first), self.first, 0.0), x)
        with np.errstate(all="ignore"):
            below = np.where(high, 0.0, np.where(low, -np.inf, self.log_below(at)))
            above = np.where(high, -np.inf, np.where(low, 0.0, self.log_above(at)))
        return np.where(missing, np.nan, below), np.where(missing, np.nan, above)

    def quantile(self, log_q: Array, log_p: Array) -> Array:
        """Value at the order q = 1 - p, within the limits."""
        with np.errstate(all="ignore"):
            inside = partial(quantile_inside, self.y, log_p, log_q, self.entry, self.exit)
            x = inside() if self.windowed else self.y.survived(log_p)
        x = np.clip(x, self.first, self.last)
        x = np.where(np.isneginf(log_q), self.first, np.where(np.isneginf(log_p), self.last, x))
        return np.where(np.isnan(log_q) | np.isnan(log_p), np.nan, x)

    def mean_of(self, g: Callable[[IntArray, Array], Array]) -> Array:
        """``E g(row, y)``, (n,): the atoms, and the integral or the sum between them; g of rows (k,), values (k, m)."""
        rows = np.arange(len(self.first))
        with np.errstate(all="ignore"):
            out = np.zeros(len(rows))
            for log_p, end in zip(self.log_atoms(), (self.first, self.last), strict=True):
                out += np.where(np.isneginf(log_p), 0.0, np.exp(log_p) * g(rows, end[:, None])[:, 0])
            if self.counts:
                return out + self._sum_between(g)
            last = np.where(np.isneginf(self._log_never()), self.last, _LARGEST)
            return out + mean_between(self.y, g, self.first, last, self.total)

    def possible_under(self, other: ShownRows) -> BoolArray:
        """Whether every value that is possible in a row is possible under the other distribution."""
        inside = (self.first >= other.first) & (self.last <= other.last)
        if self.counts:
            return inside
        for log_p, end in zip(self.log_atoms(), (self.first, self.last), strict=True):
            inside &= (log_p < _NONE) | ~np.isneginf(other.log_atom(end))
        return inside

    def _log_never(self) -> Array:
        """Log probability of an infinite time, -inf where there is none."""
        if not self.y.log:
            return np.full(self.last.shape, -np.inf)
        never = self.log_above(np.full_like(self.last, _LARGEST))
        return np.where(np.isposinf(self.last) & (never > _NONE), never, -np.inf)

    def _sum_between(self, g: Callable[[IntArray, Array], Array]) -> Array:
        """Sum over counts that are not atoms, up to counts of negligible probability."""
        most = np.minimum(self.last, self.y.survived(np.full(self.first.shape, np.log(_REST))))
        counts, out = np.arange(0.0, np.max(most, initial=0.0) + 1.0), np.zeros(len(self.first))
        of_each = max(_COUNTS // len(counts), 1)
        for start in range(0, len(out), of_each):
            rows = np.arange(start, min(start + of_each, len(out)))
            part, x = self.take((rows, None)), np.broadcast_to(counts, (len(rows), len(counts)))
            below, above = part.log_atoms()
            atom = (x == part.first) & ~np.isneginf(below) | (x == part.last) & ~np.isneginf(above)
            log_p = np.where(atom, -np.inf, part.log_density(x))
            out[rows] = np.where(np.isneginf(log_p), 0.0, np.exp(log_p) * g(rows, x)).sum(axis=1)
        return out
