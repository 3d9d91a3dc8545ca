"""Dates and durations as numbers of days."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tobitgp.formula.functions import DAY
from tobitgp.typing import Array


def days_since_1970(dates: pd.Series[Any]) -> Array:
    """Days since the beginning of 1970, dates with a time zone in UTC.

    Gives (n,).
    """
    index = pd.DatetimeIndex(pd.to_datetime(dates, utc=True)).tz_localize(None)
    moments = index.to_numpy().astype("datetime64[us]")
    return np.where(np.isnat(moments), np.nan, moments.astype(np.int64) / DAY)


def is_duration(series: pd.Series[Any]) -> bool:
    """Whether a column holds durations, of numpy, pandas, Arrow or Python."""
    if getattr(series.dtype, "kind", "O") != "O":
        return getattr(series.dtype, "kind", "O") == "m"
    return pd.api.types.infer_dtype(series, skipna=True) in ("timedelta", "timedelta64")


def days_long(durations: pd.Series[Any]) -> Array:
    """Durations in days, NaN where missing."""
    known = durations.where(durations.notna(), None) if durations.dtype == object else durations
    days: Array = known.to_numpy(dtype="timedelta64[us]") / np.timedelta64(1, "D")
    return days


def in_days(frame: pd.DataFrame) -> pd.DataFrame:
    """The same columns, durations in days."""
    return frame.assign(**{str(name): days_long(frame[name]) for name in frame if is_duration(frame[name])})


def iso_date(days: float) -> str:
    """ISO text of a moment in days since 1970, to the millisecond, in UTC."""
    moment = np.datetime64(0, "ms") + np.timedelta64(round(days * (DAY // 1000)), "ms")
    return str(pd.Timestamp(moment).tz_localize("UTC").isoformat())
