"""Times of rows with a parametric baseline, which some may never reach."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from tobitgp.errors import BoundaryWarning, user_level
from tobitgp.results.survival import Times
from tobitgp.typing import Array


@dataclass(frozen=True, slots=True)
class TimesWithin(Times):
    """Times of rows that are ordered by their means up to the longest follow-up, since many medians may be infinite."""

    last: float

    def order(self) -> Array:
        return self.clipped(self.last, None)["mean"]


@dataclass(frozen=True, slots=True)
class TimesOfBaseline(TimesWithin):
    """Times of rows with a parametric baseline."""

    defective: bool

    def percentile(self, p: float, after: Array | None) -> Array:
        """Warns where survival does not fall so far."""
        found = super(TimesOfBaseline, self).percentile(p, after)
        if self.defective:
            warn_infinite(found)
        return found

    def mean(self) -> Array:
        """Warns where it is infinite."""
        found = super(TimesOfBaseline, self).mean()
        if self.defective:
            warn_infinite(found)
        return found


def warn_infinite(times: Array) -> None:
    """Warn that some rows may never have the event."""
    if np.isposinf(times).any():
        warnings.warn(
            "The hazard decreases so fast (negative shape) that some subjects never have the event. Survival "
            "does not fall far enough, and some times are infinite. Use predict_restricted_mean(t=), which is finite.",
            BoundaryWarning,
            stacklevel=user_level(),
        )
