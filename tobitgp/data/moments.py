"""Moments of columns that can be put together from those of parts of the rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tobitgp.typing import Array

_DIGITS = 32  # with 40, sums in another order end on the other side of a tie in one moment of 500


@dataclass(frozen=True, slots=True)
class Moments:
    """Weighted moments of some columns, finite numbers all of them."""

    weight: float  # sum of the weights; 0 without rows
    mean: Array  # (d,)
    tail: Array  # (d,)
    spread: Array  # (d,), root mean square deviation from the mean; exactly 0 where a column is constant
    minimum: Array  # (d,), ``inf`` and ``-inf`` without rows
    maximum: Array  # (d,), ``inf`` and ``-inf`` without rows

    @classmethod
    def of(cls, X: Array, weight: Array) -> Moments:
        """Moments of columns (n, d) with weights (n,)."""
        total, d = float(weight.sum()), X.shape[1]
        minimum, maximum = X.min(axis=0, initial=np.inf), X.max(axis=0, initial=-np.inf)
        if total <= 0.0:
            return cls(0.0, np.zeros(d), np.zeros(d), np.zeros(d), minimum, maximum)
        mean = np.average(X, axis=0, weights=weight) if d else np.zeros(0)
        mean = np.where(minimum == maximum, minimum, mean)
        rest = X - mean
        tail = np.average(rest, axis=0, weights=weight) if d else np.zeros(0)
        spread = root_mean_square(rest - tail, weight)
        return cls(total, mean + tail, (mean - (mean + tail)) + tail, spread, minimum, maximum)

    @property
    def size(self) -> Array:
        """Root mean square, (d,)."""
        return np.hypot(self.mean, self.spread)

    def merge(self, other: Moments) -> Moments:
        """Moments of both sets of rows together, by Chan's formula with roots, so that no square leaves its range."""
        if other.weight <= 0.0 or self.weight <= 0.0:
            return self if other.weight <= 0.0 else other
        total = self.weight + other.weight
        mine, its = self.weight / total, other.weight / total
        step = (other.mean - self.mean) + (other.tail - self.tail)
        minimum, maximum = np.minimum(self.minimum, other.minimum), np.maximum(self.maximum, other.maximum)
        inside = np.hypot(np.sqrt(mine) * self.spread, np.sqrt(its) * other.spread)
        shift = self.tail + its * step
        mean = np.where(minimum == maximum, minimum, self.mean + shift)
        tail = np.where(minimum == maximum, 0.0, (self.mean - mean) + shift)
        spread = np.hypot(inside, np.sqrt(mine * its) * step)
        return Moments(total, mean, tail, spread, minimum, maximum)

    def rounded(self) -> Moments:
        """Mean and spread to 32 binary digits, beside which the order of sums does not show.

        What rows are standardised by is free within such limits. A search that starts from numbers equal to the last
        digit goes the same way however the rows are cut.
        """
        spread = _round_to(self.spread, self.spread)
        mean = np.where(spread > 0.0, _round_to(self.mean, self.spread), self.mean)
        return Moments(self.weight, mean, np.zeros_like(mean), spread, self.minimum, self.maximum)


def root_mean_square(X: Array, weight: Array) -> Array:
    """Weighted root mean square of columns, (d,); squares neither overflow nor underflow.

    Shapes: X (n, d), weight (n,).
    """
    if not X.shape[1]:
        return np.zeros(0)
    largest = np.abs(X).max(axis=0)
    unit = np.where(largest > 0, largest, 1.0)
    return np.asarray(unit * np.sqrt(np.average((X / unit) ** 2, axis=0, weights=weight)))


def _round_to(values: Array, unit: Array) -> Array:
    """Values to the 32nd binary digit of a unit that is not negative, as they are where it is 0."""
    exponent = np.frexp(unit)[1] - _DIGITS
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.ldexp(values, -exponent)
        return np.where((unit > 0.0) & np.isfinite(scaled), np.ldexp(np.rint(scaled), exponent), values)
