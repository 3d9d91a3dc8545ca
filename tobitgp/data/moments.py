"""Moments of columns and of a censored response, combined from those of parts of the rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tobitgp.data.absorbed import Absorbed, Columns
from tobitgp.numerics.linear_algebra import triangle
from tobitgp.numerics.normal_functions import fit_censored_normal, known_range, telling_ends
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
        mean = _average(X, weight)
        mean = np.where(minimum == maximum, minimum, mean)
        rest = X - mean
        tail = _average(rest, weight)
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
        """Mean and spread to 32 binary digits, so that they do not depend on the order of sums.

        The numbers that standardise rows are arbitrary within such limits. A search that starts from exactly equal
        numbers takes the same path for every partition of the rows.
        """
        spread = round_to(self.spread, self.spread)
        mean = np.where(spread > 0.0, round_to(self.mean, self.spread), self.mean)
        return Moments(self.weight, mean, np.zeros_like(mean), spread, self.minimum, self.maximum)


@dataclass(frozen=True, slots=True)
class Joint:
    """Weighted products of a constant and some columns, as an upper factor (q, 1 + d) of them."""

    factor: Array

    @classmethod
    def of(cls, H: Columns, weight: Array) -> Joint:
        """Products of columns (n, d), but for an absorbed factor's, with weights (n,)."""
        common = H.common if isinstance(H, Absorbed) else H
        root = np.sqrt(weight)[:, None]
        return cls(triangle(np.hstack([root, root * common])))

    def merge(self, other: Joint) -> Joint:
        """Products of both sets of rows together."""
        return Joint(triangle(np.concatenate([self.factor, other.factor])))


def column_moments(H: Columns, weight: Array) -> Moments:
    """Moments of linear columns (n, p), those of an absorbed factor indicators, with weights (n,)."""
    if not isinstance(H, Absorbed):
        return Moments.of(H, weight)
    common, rows = Moments.of(H.common, weight), H.sums(np.ones(len(H)))
    share = H.sums(weight) / (common.weight or 1.0)
    minimum, maximum = (rows == len(H)).astype(np.float64), (rows > 0.0).astype(np.float64)
    mean = np.where(minimum == maximum, minimum, share)
    own = mean, np.zeros(H.size), np.sqrt(mean * (1.0 - mean)), minimum, maximum
    of_common = common.mean, common.tail, common.spread, common.minimum, common.maximum
    return Moments(common.weight, *map(H.join, of_common, own))


def root_mean_square(X: Array, weight: Array) -> Array:
    """Weighted root mean square of columns, (d,); squares neither overflow nor underflow; X (n, d), weight (n,)."""
    largest = np.abs(X).max(axis=0)
    unit = np.where(largest > 0, largest, 1.0)
    return np.asarray(unit * np.sqrt(_average((X / unit) ** 2, weight)))


def _average(X: Array, weight: Array) -> Array:
    """As numpy's, which takes longer to look at its arguments than at few rows."""
    return np.asarray((X * weight[:, None]).sum(axis=0) / weight.sum())


def round_to(values: Array, unit: Array) -> Array:
    """Values to the 32nd binary digit of a unit that is not negative, as they are where it is 0."""
    exponent = np.frexp(unit)[1] - _DIGITS
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.ldexp(values, -exponent)
        return np.where((unit > 0.0) & np.isfinite(scaled), np.ldexp(np.rint(scaled), exponent), values)


@dataclass(frozen=True, slots=True)
class ResponseMoments:
    """Moments (1,) of what is known about a response."""

    seen: Moments  # of exact values and mid-points of intervals
    below: Moments  # of the limits of left-censored and of right-censored rows
    above: Moments  # of the limits of left-censored and of right-censored rows
    width: Moments  # of what lies between the ends of the values seen
    apart: bool  # whether some values are known to differ

    @classmethod
    def of(cls, lower: Array, upper: Array, weight: Array, known: tuple[float, float] | None = None) -> ResponseMoments:
        """Moments of rows with ends (n,) and weights (n,); equal ends are exact, rows without a finite end drop out.

        ``known`` is the :func:`known_range` of all rows, of these by default; ends far beyond it count as open.
        """
        bottom, top = known_range(lower, upper) if known is None else known
        lower, upper = telling_ends(lower, upper, bottom, top)
        low, high = np.isfinite(lower), np.isfinite(upper)
        ends = lower[low & high], upper[low & high]
        return cls(
            Moments.of((0.5 * ends[0] + 0.5 * ends[1])[:, None], weight[low & high]),
            Moments.of(upper[high & ~low, None], weight[high & ~low]),
            Moments.of(lower[low & ~high, None], weight[low & ~high]),
            Moments.of((ends[1] - ends[0])[:, None], weight[low & high]),
            bottom < top,
        )

    @property
    def all(self) -> Moments:
        """Moments of values and limits treated alike."""
        return self.seen.merge(self.below).merge(self.above)

    def rounded(self) -> ResponseMoments:
        """As `Moments.rounded`."""
        seen, below, above, width = (part.rounded() for part in (self.seen, self.below, self.above, self.width))
        return ResponseMoments(seen, below, above, width, self.apart)

    def mean_and_sd(self) -> tuple[float, float]:
        """Mean and sd of a normal response, censored rows taken as such, half of a side a spread off its mean limit.

        Where the bulk is censored, values and limits together spread far less than the response does. Without an exact
        value, or a spread, theirs are all there is; where nothing tells values apart, what is between the ends of
        intervals spreads them.
        """
        plain, seen = self.all, self.seen
        if not self.apart:
            return float(plain.mean[0]), max(float(plain.spread[0]), float(self.width.mean[0]) / np.sqrt(12.0))
        if self.below.weight + self.above.weight <= 0.0 or seen.weight <= 0.0 or plain.spread[0] <= 0.0:
            return float(plain.mean[0]), float(plain.spread[0])
        centre, unit = seen.mean[0], seen.spread[0] or plain.spread[0]
        share, limits = [seen.weight / plain.weight], []
        for part in (self.below, self.above):
            share += 2 * [0.5 * part.weight / plain.weight]
            at = (part.mean[0] - centre) / unit if part.weight > 0.0 else 0.0
            limits += [at - part.spread[0] / unit, at + part.spread[0] / unit]
        mean, sd = fit_censored_normal(np.array(share), seen.spread[0] / unit, np.array(limits))
        return float(centre + unit * mean), float(unit * sd)
