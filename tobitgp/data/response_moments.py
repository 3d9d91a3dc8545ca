"""Mean and spread that a response would have had, were all of it seen, from moments of what was seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tobitgp.data.moments import Moments
from tobitgp.numerics.censored_normal import fit_censored_normal
from tobitgp.typing import Array


@dataclass(frozen=True, slots=True)
class ResponseMoments:
    """Moments (1,) of what is known of a response.

    Attributes
    ----------
    seen : Moments
        Of exact values and mid-points of intervals.
    below, above : Moments
        Of the limits of left-censored and of right-censored rows.
    """

    seen: Moments
    below: Moments
    above: Moments

    @classmethod
    def of(cls, lower: Array, upper: Array, weight: Array) -> ResponseMoments:
        """Moments of rows with ends (n,) and weights (n,); equal ends are exact, rows without a finite end drop out."""
        low, high = np.isfinite(lower), np.isfinite(upper)
        return cls(
            Moments.of((0.5 * lower + 0.5 * upper)[low & high, None], weight[low & high]),
            Moments.of(upper[high & ~low, None], weight[high & ~low]),
            Moments.of(lower[low & ~high, None], weight[low & ~high]),
        )

    @property
    def all(self) -> Moments:
        """Of values and limits as if they were one and the same."""
        return self.seen.merge(self.below).merge(self.above)

    def merge(self, other: ResponseMoments) -> ResponseMoments:
        """Moments of both sets of rows together."""
        return ResponseMoments(
            self.seen.merge(other.seen), self.below.merge(other.below), self.above.merge(other.above)
        )

    def rounded(self) -> ResponseMoments:
        """As `Moments.rounded`."""
        return ResponseMoments(self.seen.rounded(), self.below.rounded(), self.above.rounded())

    def mean_and_sd(self) -> tuple[float, float]:
        """Mean and sd of a normal response, censored rows taken as such, all on one side at their mean limit.

        Where the bulk is censored, values and limits together spread far less than the response does. Without an exact
        value, or a spread, theirs are all there is.

        Examples
        --------
        >>> y = np.array([-1.0, 0.0, 1.0, 2.0])
        >>> ResponseMoments.of(y, y, np.ones(4)).mean_and_sd()
        (0.5, 1.118033988749895)
        >>> unseen = np.where(y <= 0.0, -np.inf, y)
        >>> print(*np.round(ResponseMoments.of(unseen, np.maximum(y, 0.0), np.ones(4)).mean_and_sd(), 2))
        0.19 1.49
        """
        plain, seen = self.all, self.seen
        if self.below.weight + self.above.weight <= 0.0 or seen.weight <= 0.0 or plain.spread[0] <= 0.0:
            return float(plain.mean[0]), float(plain.spread[0])
        share = np.array([part.weight for part in (seen, self.below, self.above)]) / plain.weight
        centre, unit = seen.mean[0], seen.spread[0] or plain.spread[0]
        limits = [(part.mean[0] - centre) / unit if part.weight > 0.0 else 0.0 for part in (self.below, self.above)]
        mean, sd = fit_censored_normal(share, seen.spread[0] / unit, np.array(limits))
        return float(centre + unit * mean), float(unit * sd)
