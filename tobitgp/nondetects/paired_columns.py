"""Columns of one length that are read together, and what is known of the order of values with non-detects."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from tobitgp.data.row_arguments import aligned
from tobitgp.errors import DataError
from tobitgp.formula.functions import decimal_years
from tobitgp.nondetects.sample import Sample, read_values
from tobitgp.typing import Array, BoolArray

Signs = npt.NDArray[np.int8]
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}\b.*")
_EPOCH, _DAY = np.datetime64(0, "us"), np.timedelta64(1, "D")


def read_columns(columns: Mapping[str, tuple[Any, Any]], **labels: Any) -> tuple[list[Sample], BoolArray]:
    """Samples of the rows in which no column and no label lacks a value, and which rows these are.

    A column is its values and its flags, or None; dates are decimal years. Series are matched by their labels.
    """
    flags_of = {f"{name}_censored": flags for name, (_, flags) in columns.items()}
    given = aligned({name: values for name, (values, _) in columns.items()} | flags_of | labels)
    columns = {name: (given[name], given[f"{name}_censored"]) for name in columns}
    labels = {name: given[name] for name in labels}
    arrays = {
        name: (_array(values, name), flags if flags is None else np.asarray(flags))
        for name, (values, flags) in columns.items()
    }
    every = {name: values for name, (values, _) in arrays.items()} | {
        k: np.asarray(v, dtype=object) for k, v in labels.items()
    }
    every |= {f"{name}_censored": flags for name, (_, flags) in arrays.items() if flags is not None}
    if wrong := [name for name, array in every.items() if array.ndim != 1]:
        raise DataError(f"{wrong[0]} must have one value for each row, and has {every[wrong[0]].ndim} dimensions.")
    if len({len(array) for array in every.values()}) > 1:
        raise DataError(f"Lengths differ: {', '.join(f'{len(array)} of {name}' for name, array in every.items())}.")
    kept = ~np.any([pd.isna(array) for array in every.values()], axis=0)
    if not kept.any():
        raise DataError(f"No row has a value in each of {', '.join(every)}.")
    samples = []
    for name, (values, flags) in arrays.items():
        samples.append(read_values(values[kept], None if flags is None else flags[kept], name))
    return samples, kept


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
    return (f"{lost} of {len(kept)} rows lack a value and were dropped.",) if lost else ()


class Order(NamedTuple):
    """Ends of what is known of values: i is surely above j where ``low[i] > high[j]``.

    A non-detect is below a detect at or above its limit; two non-detects have no order.
    """

    low: Array  # (n,), -inf of a non-detect
    high: Array  # (n,), just below the limit of a non-detect

    def signs(self, rows: slice = slice(None)) -> Signs:
        """Comparisons of some rows with all, (b, n): 1 above, -1 below, 0 equal or unknown."""
        over, under = self.low[rows, None] > self.high, self.high[rows, None] < self.low
        return np.asarray(over.astype(np.int8) - under.astype(np.int8))

    def scores(self) -> Array:
        """Number of values surely below each less that of values surely above it, (n,)."""
        below = np.searchsorted(np.sort(self.high), self.low, side="left")
        above = len(self.low) - np.searchsorted(np.sort(self.low), self.high, side="right")
        return np.asarray(below - above, dtype=np.float64)


def order_of(sample: Sample) -> Order:
    """What is known of the order of the values of a sample."""
    y, c = sample.values, sample.censored
    below = np.nextafter(y, -np.inf)
    return Order(np.where(c, -np.inf, y), np.where(c, below, y))
