"""Test rows that a score over time judges: those at risk at a landmark, their curves, and weights for censoring."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tobitgp.errors import DataError, SpecError
from tobitgp.metrics.metric_arguments import RightCensored, check_order, read_both, read_column
from tobitgp.metrics.survival_curves import CensoringTimes, Interpolation, censoring_times, read_curves
from tobitgp.typing import Array, BoolArray


class Judged(NamedTuple):
    """Test rows at risk, of weights above 0, and what is predicted of them at some times."""

    rows: RightCensored
    censoring: CensoringTimes  # of the training rows
    grid: Array  # (m,), times
    values: Array  # (m, n), survival, one minus the incidence of the cause that is asked for, or scores

    def event_weights(self) -> Array:
        """Inverse probabilities (n,) of not being censored before one's event, 0 without an event by the last time."""
        time, out = self.rows.time, np.zeros(len(self.rows.time))
        needed = self.rows.event & (time <= self.grid.max())
        out[needed] = self.censoring.weights(time[needed], "the event of a test row at time", event=True)
        return out


def read_judged(
    train: Any,
    test: Any,
    frame: Any,
    times: Any,
    *,
    interpolation: Interpolation,
    entry: Any,
    weights: Any,
    landmark: Any,
    cause: Any,
    scored: bool = False,
) -> Judged:
    """Arguments of a measure; ``frame`` holds survival curves, or where ``scored`` a score for each row."""
    seen, rows = read_both(train, test, entry, weights, cause)
    n = len(rows.time)
    since, at_risk = _read_landmark(landmark, rows)
    if scored:
        check_order(**{"the time of test": test[0], "survival_frame": frame})
        score = read_column("survival_frame", frame, n, infinite=True)
    else:
        curves = read_curves(frame, n, interpolation, test[0], None if cause is None else since)
    if times is None:
        if scored:
            raise DataError("times are needed beside scores.")
        times = frame.index[frame.index >= since]
    grid = _read_times(times, rows.time[at_risk], since)
    if scored:
        values = np.broadcast_to(score, (len(grid), n))
    else:
        values = curves.at(grid, slice(None), "times holds")
        before = curves.at(np.array([since]), slice(None), "landmark") if since else np.ones((1, n))
        values = np.divide(values, before, out=np.zeros_like(values), where=before > 0.0)
    return Judged(rows.rows(at_risk), censoring_times(seen, since), grid, values[:, at_risk])


def _read_landmark(landmark: Any, rows: RightCensored) -> tuple[float, BoolArray]:
    """Time from which on rows are judged, and which rows are at risk then."""
    late = rows.entry > 0.0
    if landmark is None:
        if late.any():
            raise DataError(
                f"{late.sum()} of the {len(late)} test rows entered after time 0, and nothing is known of others until "
                "then: choose a time from which on the rows at risk are judged, as landmark=10."
            )
        return 0.0, rows.weight > 0.0
    if not isinstance(landmark, (int, float, np.number)) or isinstance(landmark, bool):
        raise SpecError(f"landmark={landmark!r}: a time is needed.")
    last = rows.time.max()
    if not 0.0 <= landmark < last:
        raise DataError(f"landmark={landmark:g}: a time of 0 or more and below {last:g}, the last of test, is needed.")
    at_risk = (rows.entry <= landmark) & (landmark < rows.time) & (rows.weight > 0.0)
    if not at_risk.any():
        raise DataError(f"landmark={landmark:g}: no test row is at risk then.")
    return float(landmark), at_risk


def _read_times(times: Any, followed: Array, since: float) -> Array:
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
