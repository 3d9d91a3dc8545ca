"""Survival curves of any model, read at any time, and the times at which they are judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from tobitgp.errors import DataError, SpecError
from tobitgp.metrics.read import RightCensored, check_order, read_column
from tobitgp.typing import Array, BoolArray, IntArray


def read_landmark(landmark: Any, rows: RightCensored) -> tuple[float, BoolArray]:
    """Time from which on rows are judged, and which rows are at risk then."""
    late = rows.entry > 0.0
    if landmark is None:
        if late.any():
            raise DataError(
                f"{late.sum()} of the {len(late)} test rows entered after time 0, and nothing is known of others until "
                "then: choose a time from which on the rows at risk are judged, as landmark=10."
            )
        return 0.0, np.ones(len(late), dtype=bool)
    number = isinstance(landmark, (int, float, np.number)) and not isinstance(landmark, bool)
    if not number or not 0.0 <= float(landmark) < np.inf:
        raise SpecError(f"landmark={landmark!r}: a time of 0 or more is needed.")
    at_risk = (rows.entry <= landmark) & (landmark < rows.time)
    if not rows.weight[at_risk].any():
        raise DataError(f"landmark={landmark:g}: no test row is at risk then.")
    return float(landmark), at_risk


def read_times(times: Any, followed: Array, since: float) -> Array:
    """Times at which test rows are judged."""
    grid = read_column("times", [times] if pd.api.types.is_scalar(times) else times)
    last = followed.max()
    bad = (grid < since) | (grid >= last)
    if bad.any():
        first = f"{since:g}, the landmark, or more" if since else "0 or more"
        raise DataError(
            f"times holds {grid[bad][0]:g}: times of {first} and below {last:g} are needed, the longest time in "
            "test, after which nothing is known of its rows."
        )
    return grid


def default_times(frame: pd.DataFrame, since: float) -> Any:
    """Times of a table of curves, from the landmark on."""
    return frame.index[frame.index >= since] if since else frame.index


def survival_since(curves: Curves, grid: Array, since: float) -> Array:
    """Survival of each row at times (m, n), given that of the landmark."""
    survival = curves.at(grid, slice(None), "times holds")
    if not since:
        return survival
    before = curves.at(np.array([since]), slice(None), "landmark")
    return np.divide(survival, before, out=np.zeros_like(survival), where=before > 0.0)


Interpolation = Literal["linear", "step"]
_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class Curves:
    """Survival curves on a grid."""

    times: Array  # (m,), ascending; the first is 0 where the grid is of positive times
    survival: Array  # (m, n), A column for each row
    step: bool  # whether curves are constant from one time of the grid to the next, not linear

    def at(self, time: Array, row: IntArray | slice, what: str) -> Array:
        """Survival at times.

        Shapes: time, row (q,); gives (q,).
        """
        outside = (time < self.times[0]) | (time > self.times[-1])
        if outside.any():
            raise DataError(
                f"{what} {time[outside][0]:g} lies outside the times {self.times[0]:g} to {self.times[-1]:g} of the "
                "survival frame: predict the curves at times that reach as far, or ask for times within."
            )
        left = np.searchsorted(self.times, time, side="right") - 1
        if self.step or len(self.times) == 1:
            return self.survival[left, row]
        right = np.minimum(left + 1, len(self.times) - 1)
        gap = self.times[right] - self.times[left]
        share = np.divide(time - self.times[left], gap, out=np.zeros(len(time)), where=gap > 0.0)
        if isinstance(row, slice):
            share = share[:, None]
        return np.asarray((1.0 - share) * self.survival[left, row] + share * self.survival[right, row])


def read_curves(frame: Any, n: int | None, interpolation: Interpolation) -> Curves:
    """Curves from a table with times in the index and a column for each row."""
    if interpolation not in get_args(Interpolation):
        raise SpecError(f'interpolation={interpolation!r}: "linear" or "step" is needed.')
    if not isinstance(frame, pd.DataFrame):
        raise SpecError(
            "survival_frame= takes a DataFrame with times in the index and a column for each row, as "
            f"predict_survival_function gives it, not {type(frame).__name__}."
        )
    if frame.columns.nlevels == 2 and "mean" in frame.columns.get_level_values(1):
        frame = frame.xs("mean", axis=1, level=1)
    times = read_column("the index of survival_frame", frame.index)
    if (times < 0.0).any():
        raise DataError(f"the index of survival_frame holds {times.min():g}: times of 0 or more are needed.")
    survival = _numbers(frame)
    if n is not None and survival.shape[1] != n:
        turned = "; its transpose has as many as are needed" if len(times) == n else ""
        raise DataError(f"survival_frame has {survival.shape[1]} columns where {n} are needed, one a row{turned}.")
    order = np.argsort(times)
    times, survival = times[order], np.clip(survival[order], 0.0, 1.0)
    if (np.diff(times) == 0.0).any():
        raise DataError(f"the index of survival_frame holds {times[1:][np.diff(times) == 0.0][0]:g} more than once.")
    if times[0] > 0.0:
        times, survival = np.append(0.0, times), np.vstack([np.ones(survival.shape[1]), survival])
    return Curves(times, survival, interpolation == "step")


def read_test_curves(frame: Any, time: Any, n: int | None, interpolation: Interpolation) -> Curves:
    """Curves of rows in their order; see `read_curves` and `check_order`."""
    if isinstance(frame, pd.DataFrame) and frame.columns.nlevels == 1:
        check_order(time=time, **{"the columns of survival_frame": pd.Series(0.0, index=frame.columns)})
    return read_curves(frame, n, interpolation)


def survival_at(survival_frame: pd.DataFrame, time: Any, *, interpolation: Interpolation = "linear") -> Array:
    """Each row's probability of survival at a time of its own.

    Parameters
    ----------
    survival_frame : DataFrame
        Times in the index, a column for each of the n rows; see `brier_score`.
    time : (n,) array
        On the scale of the index; survival is 1 at -inf and 0 at inf, so that ends of intervals can be given.
    interpolation : {"linear", "step"}
        See `brier_score`.

    Returns
    -------
    (n,) array

    Raises
    ------
    DataError
        If a time lies outside the curves.
    SpecError
        If there are no curves in ``survival_frame``.

    Examples
    --------
    >>> frame = pd.DataFrame({"a": [0.9, 0.5], "b": [0.8, 0.7]}, index=[1.0, 3.0])
    >>> print(survival_at(frame, [2.0, 3.0]), survival_at(frame, [2.0, 3.0], interpolation="step"))
    [0.7 0.7] [0.9 0.7]
    """
    curves = read_test_curves(survival_frame, time, None, interpolation)
    own = read_column("time", time, curves.survival.shape[1], infinite=True)
    known = np.flatnonzero(np.isfinite(own))
    out = np.where(own > 0.0, 0.0, 1.0)
    out[known] = curves.at(own[known], known, "the time")
    return out


def _numbers(frame: pd.DataFrame) -> Array:
    """Probabilities, rounding aside."""
    try:
        survival = frame.to_numpy(dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("survival_frame holds what is no number: probabilities of survival are needed.") from None
    bad = ~((survival >= -_ROUNDING) & (survival <= 1.0 + _ROUNDING))
    if bad.any():
        at, column = np.argwhere(bad)[0]
        raise DataError(
            f"survival_frame holds {survival[at, column]:g} at time {frame.index[at]} in column "
            f"{frame.columns[column]!r}: probabilities of survival are needed."
        )
    return survival
