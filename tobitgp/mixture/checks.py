"""What rows a family can have produced."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from tobitgp.errors import DataError, SpecError
from tobitgp.typing import Array, BoolArray

Support = Literal["real", "positive", "counts"]
_SHOWN = 5


def refuse_impossible(
    support: Support, logarithm: bool, lower: Array, upper: Array, weight: Array, labels: Array | None = None
) -> None:
    """Refuse rows of probability 0, and rows that are none.

    Shapes: lower, upper, weight, labels (n,).
    """
    if not len(lower) == len(upper) == len(weight) or lower.ndim != 1:
        raise DataError(f"lower, upper and weight need one length, not {len(lower)}, {len(upper)} and {len(weight)}.")
    exact = lower == upper
    _refuse(np.isnan(lower) | np.isnan(upper) | (exact & np.isinf(lower)), "Ends are missing", lower, labels)
    _refuse(lower > upper, "A lower end lies above its upper end", lower, labels)
    _refuse(np.isposinf(lower) | np.isneginf(upper), "The interval is empty", lower, labels)
    _refuse(~((weight >= 0.0) & np.isfinite(weight)), "Weights must be finite and not negative", weight, labels)
    if support == "counts":
        whole = (lower == np.floor(lower)) & (lower >= 0.0)
        _refuse(exact & ~whole, "Counts are whole numbers of at least 0", lower, labels)
        _refuse(~exact & (upper < 0.0), "A count cannot lie below 0", upper, labels)
        with np.errstate(invalid="ignore"):
            empty = np.floor(upper) == np.floor(lower)
        _refuse(~exact & empty, "The interval holds no whole number, from", lower, labels)
    if support == "positive":
        least = "positive" if logarithm else "at least 0"
        _refuse(exact & ((lower <= 0.0) if logarithm else (lower < 0.0)), f"Times must be {least}", lower, labels)
        _refuse(~exact & (upper <= 0.0), "A time cannot be left-censored at or below 0", upper, labels)


def check_number(k: Any, rows: int | None = None) -> int:
    """The number of components."""
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise SpecError(f"mixture({k!r}): the number of components is a whole number of at least 1.")
    if rows is not None and k > rows:
        raise SpecError(f"mixture({k}) has more components than there are rows that say something ({rows}).")
    return int(k)


def _refuse(bad: BoolArray, what: str, values: Array, labels: Array | None) -> None:
    rows = np.flatnonzero(bad)
    if len(rows):
        more = f" and {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else ""
        some = rows[:_SHOWN]
        named = ", ".join(str(row if labels is None else labels[row]) for row in some)
        shown = ", ".join(f"{value:g}" for value in values[some])
        one = len(rows) == 1
        raise DataError(f"{what}: row{'' if one else 's'} {named}{more} hold{'s' * one} {shown}. Correct or drop them.")
