"""Distributions of the response in rows as recorded: inside a window, clipped at limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from tobitgp.distributions.response import RowDistributions
from tobitgp.distributions.row_integrals import mean_between, quantile_inside
from tobitgp.numerics.log_probabilities import log_complement
from tobitgp.typing import Array, BoolArray, IntArray

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

    @property
    def counts(self) -> bool:
        """Whether values are whole numbers."""
        return self.y.discrete

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
        """Sum over counts that are no atoms, up to those of hardly any probability."""
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
