"""From when on curves are judged, and at which times."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tobitgp.errors import DataError, SpecError
from tobitgp.metrics.curves import Curves
from tobitgp.metrics.read import RightCensored, read_column
from tobitgp.typing import Array, BoolArray


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
