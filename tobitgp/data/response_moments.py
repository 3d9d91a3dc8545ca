"""Mean and spread that a response would have had, were all of it seen, from moments of what was seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tobitgp.data.moments import Moments
from tobitgp.numerics.censored_normal import fit_censored_normal, known_range, telling_ends
from tobitgp.typing import Array


@dataclass(frozen=True, slots=True)
class ResponseMoments:
    """Moments (1,) of what is known of a response."""

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
        """Of values and limits as if they were one and the same."""
        return self.seen.merge(self.below).merge(self.above)

    def merge(self, other: ResponseMoments) -> ResponseMoments:
        """Moments of both sets of rows together."""
        return ResponseMoments(
            self.seen.merge(other.seen),
            self.below.merge(other.below),
            self.above.merge(other.above),
            self.width.merge(other.width),
            self.apart or other.apart,
        )

    def rounded(self) -> ResponseMoments:
        """As `Moments.rounded`."""
        return ResponseMoments(
            self.seen.rounded(), self.below.rounded(), self.above.rounded(), self.width.rounded(), self.apart
        )

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
