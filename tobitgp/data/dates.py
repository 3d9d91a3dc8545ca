"""Dates as numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tobitgp.typing import Array


def decimal_years(dates: pd.Series[Any]) -> Array:
    """Years with the fraction of the year that has passed, dates with a time zone in UTC.

    Parameters
    ----------
    dates : Series of dates, with or without a time zone

    Returns
    -------
    (n,) array
        NaN where the date is missing.

    Examples
    --------
    >>> decimal_years(pd.Series(pd.to_datetime(["2020-01-01", "2020-07-02", None])))
    array([2020. , 2020.5,    nan])
    """
    index = pd.DatetimeIndex(pd.to_datetime(dates, utc=True)).tz_localize(None)
    moments = index.to_numpy().astype("datetime64[us]")
    year = moments.astype("datetime64[Y]")
    start, end = year.astype("datetime64[us]"), (year + np.timedelta64(1, "Y")).astype("datetime64[us]")
    missing = np.isnat(moments)
    years: Array = np.where(missing, 0, year.astype(np.int64)) + 1970.0 + (moments - start) / (end - start)
    return np.where(missing, np.nan, years)


def iso_date(years: float) -> str:
    """ISO text of a moment in years, to the millisecond, in UTC.

    Examples
    --------
    >>> iso_date(2020.5)
    '2020-07-02T00:00:00+00:00'
    """
    year = int(np.floor(years))
    start, end = np.datetime64(f"{year:04d}", "ms"), np.datetime64(f"{year + 1:04d}", "ms")
    moment = start + np.timedelta64(round((years - year) * int((end - start).astype(np.int64))), "ms")
    return str(pd.Timestamp(moment).tz_localize("UTC").isoformat())
