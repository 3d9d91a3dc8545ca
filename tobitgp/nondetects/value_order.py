"""The order of values with non-detects: columns read together, known orders of pairs, and scores instead of ranks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from tobitgp.data.frames import aligned
from tobitgp.data.values import counted
from tobitgp.errors import DataError
from tobitgp.formula.functions import decimal_years
from tobitgp.nondetects.sample import Sample, read_values
from tobitgp.numerics.nonparametric import kaplan_meier
from tobitgp.typing import Array, BoolArray

Signs = npt.NDArray[np.int8]
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}\b.*")
_EPOCH, _DAY = np.datetime64(0, "us"), np.timedelta64(1, "D")


def read_columns(columns: Mapping[str, tuple[Any, Any]], **labels: Any) -> tuple[list[Sample], BoolArray]:
    """Samples of the rows in which no column and no label lacks a value, and which rows these are.

    A column is given by its values and its flags or None. Dates are decimal years. Series are matched by their labels.
    """
    flags_of = {f"{name}_censored": flags for name, (_, flags) in columns.items()}
    given = aligned({name: values for name, (values, _) in columns.items()} | flags_of | labels)
    every = {name: _array(given[name], name) for name in columns}
    every |= {name: np.asarray(given[name], dtype=object) for name in labels}
    every |= {name: np.asarray(given[name]) for name in flags_of if given[name] is not None}
    if wrong := [name for name, array in every.items() if array.ndim != 1]:
        raise DataError(f"{wrong[0]} must have one value for each row, and has {every[wrong[0]].ndim} dimensions.")
    if len({len(array) for array in every.values()}) > 1:
        raise DataError(f"Lengths differ: {', '.join(f'{len(array)} of {name}' for name, array in every.items())}.")
    kept = ~np.any([pd.isna(array) for array in every.values()], axis=0)
    if not kept.any():
        raise DataError(f"No row has a value in each of {', '.join(every)}.")
    rows = {name: array[kept] for name, array in every.items()}
    return [read_values(rows[name], rows.get(f"{name}_censored"), name) for name in columns], kept


def _array(values: Any, name: str) -> Any:
    """Values as an array, dates as decimal years."""
    array = np.asarray(values)
    if array.dtype.kind in "OU" and array.ndim == 1:
        text = next((value for value in array if isinstance(value, str)), "")
        if _DATE.fullmatch(text):
            raise DataError(f"{name} holds dates as text, such as {text!r}: make dates of them by pd.to_datetime().")
        if pd.api.types.infer_dtype(array, skipna=True) in ("date", "datetime"):
            array = pd.to_datetime(array, utc=True).tz_localize(None).to_numpy()
    return decimal_years((array - _EPOCH) / _DAY) if array.dtype.kind == "M" else array


def dropped_note(kept: BoolArray) -> tuple[str, ...]:
    """Say how many rows lacked a value."""
    lost = int((~kept).sum())
    return (f"Left out: {lost} of {counted(len(kept), 'row')} without a value.",) if lost else ()


class Order(NamedTuple):
    """Bounds on values, by which the order of some pairs is known: i is above j if ``low[i] > high[j]``.

    A non-detect is below a detect at or above its limit; the order of two non-detects is unknown.
    """

    low: Array  # (n,), -inf of a non-detect
    high: Array  # (n,), just below the limit of a non-detect

    def signs(self, rows: slice = slice(None)) -> Signs:
        """Comparisons of some rows with all, (b, n): 1 above, -1 below, 0 equal or unknown."""
        over, under = self.low[rows, None] > self.high, self.high[rows, None] < self.low
        return np.asarray(over.astype(np.int8) - under.astype(np.int8))

    def scores(self) -> Array:
        """Number of values known to be below each value, less the number known to be above it, (n,)."""
        below = np.searchsorted(np.sort(self.high), self.low, side="left")
        above = len(self.low) - np.searchsorted(np.sort(self.low), self.high, side="right")
        return np.asarray(below - above, dtype=np.float64)


def order_of(sample: Sample) -> Order:
    """The known order of the values of a sample."""
    y, c = sample.values, sample.censored
    below = np.nextafter(y, -np.inf)
    return Order(np.where(c, -np.inf, y), np.where(c, below, y))


def gehan_scores(y: Any, censored: Any = None) -> Array:
    """Gehan scores: the number of values known to be below each value, less the number known to be above it.

    They replace ranks if there are several limits, for example in rank correlations, ordinations, and tests of the
    Kruskal-Wallis type; (NDT30) of the theory pages.

    Parameters
    ----------
    y : array of float (n,)
        Detected values and limits of non-detects, in any units, or text such as ``"<0.5"``.
    censored : array (n,), optional
        Flags 0 and 1, or booleans: 1 for non-detects.

    Returns
    -------
    array of float (n,)
        Scores, pure numbers between -(n - 1) and n - 1, which sum to zero.

    Raises
    ------
    DataError
        If flags are not 0 or 1, or a value is missing.
    SpecError
        If values are right-censored or lie in intervals.

    References
    ----------
    .. [1] E. A. Gehan, "A generalized Wilcoxon test for comparing arbitrarily singly-censored samples", *Biometrika* 52
       (1965), 203-223.

    Examples
    --------
    >>> import tobitgp as tg
    >>> tg.nondetects.gehan_scores(["<1", "2", "<3", "4", "4"])
    array([-3., -1., -2.,  3.,  3.])
    """
    y, censored = aligned({"y": y, "censored": censored}).values()
    array = np.asarray(y)
    if pd.isna(array).any():
        raise DataError(f"Value {int(np.argmax(pd.isna(array)))} of y is missing, and scores are of all rows.")
    sample = read_values(array, censored)
    if sample.dropped:
        raise DataError(f"{sample.dropped} flags are missing, and scores are of all rows.")
    sample.check_left("gehan_scores()")
    return order_of(sample).scores()


def flipped(sample: Sample) -> Array:
    """Ranks of values and limits from the highest down, (n,): non-detects are right-censored times."""
    _, rank = np.unique(-sample.values, return_inverse=True)
    return np.asarray(rank + 1.0, dtype=np.float64)


def peto_scores(sample: Sample) -> Array:
    """Scores of Peto and Peto, (n,): F(y) + F(y-) - 1 for a detect, F(y-) - 1 for a non-detect; (NDT31)."""
    time, seen = flipped(sample), ~sample.censored
    times, after = kaplan_meier(time, seen, np.ones(len(time)))
    survival = np.append(1.0, after)
    at = np.searchsorted(times, time) + 1
    return np.asarray(np.where(seen, survival[at] + survival[at - 1], survival[at]) - 1.0)


def recensored(sample: Sample) -> Sample:
    """All values below the highest limit as non-detects at that limit."""
    below = sample.values <= sample.limits.max(initial=-np.inf)
    below &= sample.censored | (sample.values < sample.limits.max(initial=-np.inf))
    upper = np.where(below, sample.limits.max(initial=-np.inf), sample.upper)
    return replace(sample, lower=np.where(below, -np.inf, sample.lower), upper=upper)
