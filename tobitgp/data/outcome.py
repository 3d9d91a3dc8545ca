"""What is known about the rows, on the scale that is modelled."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tobitgp.data.arrays import CensoredResponse, HasRows
from tobitgp.data.table import MAX_ROWS_NAMED, RowNames
from tobitgp.distributions.power_normal import TINY
from tobitgp.errors import DataError, user_level
from tobitgp.typing import Array, BoolArray

_LONE = 0.999  # of the sum of squares about the median; ten rows or more


@dataclass(frozen=True, slots=True)
class Outcome(HasRows):
    """What is known about y, or of log y, row by row."""

    lower: Array  # (n,), y lies in (lower, upper]
    upper: Array  # (n,), y lies in (lower, upper]
    width: Array  # (n,), ``upper - lower``, taken before rounding; infinite on one-sided rows
    entry: Array  # (n,), window outside which the row could not have been seen, infinite without truncation
    exit: Array  # (n,), window outside which the row could not have been seen, infinite without truncation
    span: Array  # (n,), ``exit - entry``
    weight: Array  # (n,), frequency weights
    log_jacobian: float = 0.0

    def __len__(self) -> int:
        return len(self.lower)

    @property
    def exact(self) -> BoolArray:
        """Rows whose value is known, (n,)."""
        return self.lower == self.upper


def outcome(response: CensoredResponse, *, log_time: bool = False, labels: npt.NDArray[Any] | None = None) -> Outcome:
    """Intersect each row with its window, on the scale of the response or of its logarithm; labels (n,)."""
    check_response(response, log_time=log_time, labels=labels)
    lower, upper = response.within_window
    entry, exit, exact = response.entry, response.exit, response.lower == response.upper
    if not log_time:
        with np.errstate(invalid="ignore"):
            return Outcome(lower, upper, upper - lower, entry, exit, exit - entry, response.weight)
    width, span = _log_width(lower, upper), _log_width(entry, exit)
    log_y = np.log(lower[exact])
    jacobian = -float(response.weight[exact] @ log_y)
    with np.errstate(divide="ignore"):
        lower, upper, entry, exit = (np.log(np.maximum(end, 0.0)) for end in (lower, upper, entry, exit))
    return Outcome(lower, upper, width, entry, exit, span, response.weight, jacobian)


def warn_outlier(response: CensoredResponse, *, log_time: bool, labels: npt.NDArray[Any]) -> None:
    """Warn if a single row makes up nearly all of the variance of the response, by its value or its limit.

    A limit does so if it is beyond all observed values, e.g. ``<-100`` among values near 1.
    """
    lower, upper = response.lower, response.upper
    exact = lower == upper
    seen = lower[exact]
    if len(seen) < 10 or (log_time and seen.min() <= 0.0):
        return
    below = np.isneginf(lower) & (upper < seen.min()) & (upper > (TINY if log_time else -np.inf))
    above = np.isposinf(upper) & (lower > seen.max())
    rows = np.flatnonzero(exact | below | above)
    values = np.where(above, lower, upper)[rows]
    modelled = np.log(values) if log_time else values
    distance = np.abs(modelled - np.median(modelled))
    squares = np.square(distance / max(distance.max(), np.finfo(float).tiny))
    worst = int(squares.argmax())
    if squares[worst] > _LONE * squares.sum():
        low, high = np.quantile(seen, [0.25, 0.75])
        side = "below " if below[rows[worst]] else "above " if above[rows[worst]] else ""
        warnings.warn(
            f"Row {labels[rows[worst]]} ({side}{values[worst]:g}) makes up nearly all of the variance of the response, "
            f"half of which lies between {low:g} and {high:g}. Correct it, drop it, or try family='student'.",
            UserWarning,
            stacklevel=user_level(),
        )


def check_response(response: CensoredResponse, *, log_time: bool, labels: npt.NDArray[Any] | None = None) -> None:
    """Raise an error for rows that cannot have been observed."""
    lower, upper, entry, exit, weight = (response.lower, response.upper, response.entry, response.exit, response.weight)
    infinite = np.isinf(lower) & (lower == upper)
    refuse_rows(np.isnan(lower + np.where(np.isinf(upper), 0.0, upper)) | infinite, "Ends are missing", lower, labels)
    refuse_rows(lower > upper, "A lower end is above its upper end", lower, labels)
    refuse_rows(~(entry < exit), "Entry comes at or after exit", entry, labels)
    check_entry(upper, entry, labels)
    exact = lower == upper
    refuse_rows(np.where(exact, lower > exit, lower >= exit), "The row is beyond its exit", lower, labels)
    refuse_rows(~((weight >= 0.0) & np.isfinite(weight)), "Weights must be finite and not negative", weight, labels)
    if log_time:
        upper = np.where(exact, upper, np.minimum(upper, exit))
        remedy = "Drop these rows, or choose a family for all numbers, e.g. 'gaussian'."
        refuse_rows(upper <= 0.0, "The family requires a positive response", upper, labels, remedy)


def check_entry(end: Array, entry: Array, labels: npt.NDArray[Any] | None) -> None:
    """Raise an error for rows that end before they could be seen; shapes (n,)."""
    early = "The row ends at or before its entry, so it cannot have been observed"
    refuse_rows(end <= entry, early, end, labels)


def refuse_rows(
    bad: BoolArray, what: str, values: Array, labels: npt.NDArray[Any] | None, remedy: str = "Correct or drop them."
) -> None:
    """Raise an error for rows, naming the first of them; labels (n,), None for their positions."""
    rows = np.flatnonzero(bad)
    if len(rows):
        some = rows[:MAX_ROWS_NAMED]
        names = RowNames(len(rows), tuple(map(str, some if labels is None else labels[some])))
        shown = ", ".join(f"{value:g}" for value in values[some])
        raise DataError(f"{what}: {names} hold{'s' * (len(rows) == 1)} {shown}. {remedy}")


def _log_width(lower: Array, upper: Array) -> Array:
    """``log upper - log lower`` without cancellation; infinite where an end is."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((lower > 0.0) & np.isfinite(upper), np.log1p((upper - lower) / lower), np.inf)
