"""Numbers and levels as they were meant, whatever type a column keeps them in."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.formula.functions import DAY
from tobitgp.typing import Array

_CONTROLS = [*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029]
_DIRECTIONS = [0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
_VISIBLE = {code: repr(chr(code))[1:-1] for code in _CONTROLS + _DIRECTIONS}
EPS = float(np.finfo(np.float64).eps)


def days_since_1970(dates: pd.Series[Any]) -> Array:
    """Days since the beginning of 1970, dates with a time zone in UTC; gives (n,)."""
    index = pd.DatetimeIndex(pd.to_datetime(dates, utc=True)).tz_localize(None)
    moments = index.to_numpy().astype("datetime64[us]")
    return np.where(np.isnat(moments), np.nan, moments.astype(np.int64) / DAY)


def precision_of(dtype: Any) -> float:
    """Relative spacing of the numbers that a column of a type can hold."""
    dtype = getattr(dtype, "numpy_dtype", dtype)
    return float(np.finfo(dtype).eps) if isinstance(dtype, np.dtype) and dtype.kind == "f" else EPS


def as_written(values: Array, dtype: Any) -> Array:
    """Numbers of a column in less than double precision as the shortest decimals that round to them; values (n,)."""
    dtype = getattr(dtype, "numpy_dtype", dtype)
    if not isinstance(dtype, np.dtype) or dtype.kind != "f" or dtype.itemsize >= values.itemsize:
        return values
    kept, out = values.astype(dtype), values.copy()
    left = np.isfinite(values) & (values != 0.0)
    with np.errstate(all="ignore"):
        size = np.floor(np.log10(np.abs(values)))
        for digits in range(np.finfo(dtype).precision, np.finfo(dtype).precision + 4):
            power = np.where(left, digits - 1.0 - size, 0.0)
            up, down = 10.0 ** np.maximum(power, 0.0), 10.0 ** np.maximum(-power, 0.0)
            decimal = np.rint(values * up / down) / up * down
            found = left & (decimal.astype(dtype) == kept)
            out[found] = decimal[found]
            left &= ~found
    return out


def plain_levels(levels: Iterable[Any]) -> tuple[Any, ...]:
    """Levels of a factor as text or numbers: whole numbers without a fraction, durations in days, dates as text."""
    levels = list(levels)
    if levels and all(isinstance(level, datetime.timedelta | np.timedelta64) for level in levels):
        levels = (pd.to_timedelta(levels) / pd.Timedelta(days=1)).tolist()
    if levels and all(isinstance(level, Real) for level in levels):
        if all(isinstance(level, bool | np.bool_) for level in levels):
            return tuple(map(bool, levels))
        numbers = np.array(levels, dtype=np.float64)
        if isinstance(levels[0], np.floating):
            numbers = as_written(numbers, levels[0].dtype)
        whole = bool(np.all(np.isfinite(numbers) & (np.floor(numbers) == numbers)))
        return tuple(int(level) if whole else float(number) for level, number in zip(levels, numbers, strict=True))
    if levels and all(isinstance(level, datetime.date | np.datetime64) for level in levels):
        return tuple(map(date_text, days_since_1970(pd.Series(levels, dtype=object))))
    return tuple(str(level) if isinstance(level, pd.Interval | pd.Period) else level for level in levels)


def date_text(days: float) -> str:
    """A moment in days since 1970 as ISO text, without its time at midnight."""
    moment = np.datetime64(0, "us") + np.timedelta64(round(days * DAY), "us")
    return str(moment).removesuffix("T00:00:00.000000")


def counted(number: int, noun: str) -> str:
    """A number with a noun, e.g. ``1 row`` and ``3 rows``."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def printable(text: str) -> str:
    r"""Text in one line, with characters that steer a terminal or turn the direction of writing spelt out.

    A level named by such characters could otherwise break a table, hide a row, or read as another name.
    """
    return text.translate(_VISIBLE)


def printable_lines(text: object) -> str:
    r"""As `printable`, line by line."""
    return "\n".join(printable(line) for line in str(text).split("\n"))
