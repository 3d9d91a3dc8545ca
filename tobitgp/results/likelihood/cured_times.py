"""Times of rows of which some may never have the event."""

from __future__ import annotations

from dataclasses import dataclass

from tobitgp.results.survival import Times
from tobitgp.typing import Array


@dataclass(frozen=True, slots=True)
class TimesWithin(Times):
    """Times of rows that are ordered by their means up to the longest follow-up, since many medians may be infinite."""

    last: float

    def order(self) -> Array:
        """See `Times`."""
        return self.clipped(self.last, None)["mean"]
