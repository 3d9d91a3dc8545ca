"""Dates, which columns hold in days since 1970, in years."""

from __future__ import annotations

from typing import Any

import numpy as np

from tobitgp.typing import Array

DAY = 86_400_000_000  # microseconds


def decimal_years(days: Any) -> Array:
    """Years with the fraction of the year that has passed."""
    days = np.asarray(days, dtype=np.float64)
    missing = np.isnan(days)
    moments = np.rint(np.where(missing, 0.0, days) * DAY).astype("datetime64[us]")
    year = moments.astype("datetime64[Y]")
    start, end = year.astype("datetime64[us]"), (year + np.timedelta64(1, "Y")).astype("datetime64[us]")
    years: Array = year.astype(np.int64) + 1970.0 + (moments - start) / (end - start)
    return np.where(missing, np.nan, years)
