"""Survival functions of a mixture, as lifelines' fitters give them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.table import read_table
from tobitgp.errors import SpecError
from tobitgp.mixture import MixtureFit
from tobitgp.results import mixture_scales
from tobitgp.results.mixture_parts import MixtureParts, covariance_of, training_ends
from tobitgp.results.mixture_scales import MixtureQuantity
from tobitgp.results.predict import check_level
from tobitgp.typing import Array, Frame

Curve = Callable[[MixtureFit, Array, "float | None"], MixtureQuantity]
CURVES: dict[str, Curve] = {
    "survival": mixture_scales.survival,
    "cumulative_hazard": mixture_scales.cumulative_hazard,
    "hazard": mixture_scales.hazard,
}
_NUMBER = (int, float, np.integer, np.floating)


def curve_table(
    parts: MixtureParts, of: str, df: Frame | None, times: Any, conditional_after: Any, interval: float | None
) -> pd.DataFrame:
    """A curve over time for each row.

    Parameters
    ----------
    parts : MixtureParts
    of : str
        A key of ``CURVES``.
    df : DataFrame or dict of columns, or None
        One curve, called 0, without.
    times : (m,) array or None
    conditional_after : float, (n,) array or None
    interval : float or None

    Returns
    -------
    DataFrame
        Times in the index; a column for each row, of ``(row, mean|lower|upper)`` with ``interval``.
    """
    level, index = check_level(interval), row_index(df)
    grid, after = _read_times(parts, times), read_after(conditional_after, len(index))
    V = None if level is None else covariance_of(parts)
    made: dict[float | None, dict[str, Array]] = {
        start: CURVES[of](parts.fit, grid, start).statistics(V, level, se=False) for start in dict.fromkeys(after)
    }
    names = ["mean"] if level is None else ["mean", "lower", "upper"]
    columns = {(row, name): made[start][name] for row, start in enumerate(after) for name in names}
    labels = [index[row] for row, _ in columns]
    header = pd.Index(labels, name=index.name)
    if level is not None:
        header = pd.MultiIndex.from_arrays([labels, [name for _, name in columns]], names=["row", "statistic"])
    values = np.column_stack(list(columns.values())) if columns else np.empty((len(grid), 0))
    return pd.DataFrame(values, index=pd.Index(grid), columns=header)


def percentiles(parts: MixtureParts, df: Frame | None, p: Any, conditional_after: Any) -> pd.Series[float]:
    """Times at which survival falls to ``p``, one for each row, counted from ``conditional_after``."""
    if isinstance(p, bool) or not isinstance(p, _NUMBER) or not 0.0 < p < 1.0:
        raise SpecError(f"p={p!r}: a probability of survival strictly between 0 and 1 is needed, as p=0.5.")
    index = row_index(df)
    after, predictive = read_after(conditional_after, len(index)), parts.fit.predictive()
    made = {
        start: predictive.ppf(1.0 - p) if start is None else predictive.remaining(float(p), start)
        for start in dict.fromkeys(after)
    }
    return pd.Series([float(made[start]) for start in after], index=index, name=float(p))


def row_index(df: Frame | None) -> pd.Index:
    """Labels of the rows that curves are asked for."""
    return pd.RangeIndex(1) if df is None else read_table(df, []).index


def read_after(conditional_after: Any, n: int) -> list[float | None]:
    """Times survived already, one for each row.

    Raises
    ------
    SpecError
        If they are neither one number nor one for each row.
    """
    if conditional_after is None:
        return [None] * n
    try:
        values = np.asarray(conditional_after, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.array([np.nan])
    if values.ndim > 1 or (values.ndim == 1 and len(values) != n) or not np.isfinite(values).all():
        raise SpecError(f"conditional_after= takes one finite number, or one for each of the {n} rows.")
    return [float(value) for value in np.broadcast_to(values, n)]


def _read_times(parts: MixtureParts, times: Any) -> Array:
    """Times asked for; the ends of the training rows without."""
    if times is None:
        ends = np.concatenate(training_ends(parts)[:2])
        return np.unique(ends[np.isfinite(ends)])
    try:
        grid = np.atleast_1d(np.asarray(times, dtype=np.float64))
    except (TypeError, ValueError):
        grid = np.full((1, 1), np.nan)
    if grid.ndim != 1 or not np.isfinite(grid).all():
        raise SpecError("times= takes a list of finite numbers, as times=[10, 20, 50].")
    return grid
