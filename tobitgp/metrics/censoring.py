"""When rows are censored, and how much a row that was not stands for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tobitgp.errors import DataError
from tobitgp.typing import Array, BoolArray


@dataclass(frozen=True, slots=True)
class CensoringTimes:
    """Kaplan and Meier's estimate of the distribution of censoring times.

    Attributes
    ----------
    times : (m,) array
        At which a row ended, ascending.
    survival : (m,) array
        Estimated probability of being censored later than each.
    censored : bool
        Whether any row was.
    """

    times: Array
    survival: Array
    censored: bool

    def weights(self, time: Array, what: str) -> Array:
        """One over the probability of being censored later than each time.

        Parameters
        ----------
        time : (q,) array
        what : str
            What the times are, in the message.

        Returns
        -------
        (q,) array

        Raises
        ------
        DataError
            If a time is beyond all rows, or all that were followed so long were censored by then.
        """
        after = np.searchsorted(self.times, time, side="right")
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


def censoring_times(time: Array, event: BoolArray) -> CensoringTimes:
    """Estimate when rows are censored, from times at which events come before censorings.

    Parameters
    ----------
    time : (n,) array
    event : (n,) array of bool

    Returns
    -------
    CensoringTimes

    Examples
    --------
    >>> G = censoring_times(np.array([1.0, 2.0, 2.0, 3.0]), np.array([True, True, False, True]))
    >>> print(G.survival, G.weights(np.array([1.5, 2.0]), "time"))
    [1.  0.5 0.5] [1. 2.]
    """
    times, at = np.unique(time, return_inverse=True)
    events, leaving = np.bincount(at, weights=event), np.bincount(at)
    at_risk = np.cumsum(leaving[::-1])[::-1] - events
    censored = leaving - events
    hazard = np.divide(censored, at_risk, out=np.zeros(len(times)), where=at_risk > 0.0)
    return CensoringTimes(times, np.asarray(np.cumprod(1.0 - hazard)), bool(censored.any()))
