"""When rows are censored, and how much a row that was not stands for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tobitgp.errors import DataError
from tobitgp.metrics.read import RightCensored
from tobitgp.numerics.nonparametric import risk_sets
from tobitgp.typing import Array


@dataclass(frozen=True, slots=True)
class CensoringTimes:
    """Kaplan and Meier's estimate of the distribution of censoring times."""

    times: Array  # (m,), at which a row ended, ascending
    survival: Array  # (m,), estimated probability of being censored later than each
    censored: bool  # whether any row was

    def weights(self, time: Array, what: str, *, event: bool = False) -> Array:
        """One over the probability of being censored later than each time, or of events, at it or later.

        Shapes: time (q,); gives (q,).
        """
        after = np.searchsorted(self.times, time, side="left" if event else "right")
        value = np.append(1.0, self.survival)[after]
        outside = (value <= 0.0) | ((time > self.times[-1]) & self.censored)
        if outside.any():
            known = self.times[self.survival > 0.0]
            reach = f"only up to time {known[-1]:g}" if len(known) else "at none of its times"
            raise DataError(
                f"{what} {time[outside].min():g} (one of {outside.sum()} such times) cannot be weighted: the rows of "
                f"train say how probable it is not to be censored {reach}. Ask for earlier times, or take as train "
                "rows that were followed longer."
            )
        return np.asarray(1.0 / value)


def censoring_times(rows: RightCensored, after: float = -np.inf) -> CensoringTimes:
    """Estimate when rows are censored, from times at which events come before censorings."""
    times, censored, at_risk = risk_sets(rows.time, ~rows.event, rows.weight, rows.entry)
    died = np.bincount(np.searchsorted(times, rows.time), weights=rows.weight * rows.event, minlength=len(times))
    hazard = np.divide(censored, np.maximum(at_risk - died, censored), out=np.zeros(len(times)), where=censored > 0.0)
    hazard[times <= after] = 0.0
    return CensoringTimes(times, np.asarray(np.cumprod(1.0 - hazard)), bool(censored.any()))
