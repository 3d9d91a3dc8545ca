"""Two ends between which a value lies: ``interval(lo, hi)`` and its other spellings."""

from __future__ import annotations

import numpy as np

from tobitgp.data.evaluate import evaluate
from tobitgp.data.table import Table
from tobitgp.errors import DataError
from tobitgp.formula.spec import Expression, ModelSpec
from tobitgp.formula.syntax import read_expression, used_names
from tobitgp.typing import Array, BoolArray

FAR = 1e140  # squares are formed of ends, and of their ratios to what is small


def read_ends(spec: ModelSpec, table: Table) -> tuple[Array, Array]:
    """Ends of each row of ``interval(lo, hi)``.

    Gives lower, upper (n,).
    """
    assert spec.response.upper is not None
    lower = read_end(spec.response.value, "lower", -np.inf, table)
    upper = read_end(spec.response.upper, "upper", np.inf, table)
    check_ends(lower, upper, table)
    return lower, upper


def read_end(end: Expression, side: str, absent: float, table: Table) -> Array:
    """Values of one end, ``absent`` where it is open."""
    values = evaluate(end, table)
    nan = np.isnan(values)
    wrong = nan & ~_missing(end, table)
    if wrong.any():
        raise DataError(f"The {side} end {end.text} is not a number in {table.rows(wrong)}")
    wrong = values == -absent
    if wrong.any():
        raise DataError(f"The {side} end {end.text} is {-absent} in {table.rows(wrong)}; an open end there is {absent}")
    return np.where(nan, absent, values)


def check_ends(lower: Array, upper: Array, table: Table) -> None:
    """Refuse ends in the wrong order."""
    wrong = lower > upper
    if wrong.any():
        pairs = zip(lower[wrong][:3], upper[wrong][:3], strict=True)
        shown = "; ".join(f"{low:g} and {up:g}" for low, up in pairs)
        raise DataError(f"The lower end is above the upper end in {table.rows(wrong)} ({shown})")


def open_far(lower: Array, upper: Array) -> tuple[Array, Array]:
    """Ends beyond what can be computed with, 1e140 in size, as infinite ones; equal ends stay what they are.

    Shapes: lower, upper (n,).
    """
    same = lower == upper
    return np.where((lower < -FAR) & ~same, -np.inf, lower), np.where((upper > FAR) & ~same, np.inf, upper)


def open_rows(spec: ModelSpec, table: Table) -> BoolArray:
    """Rows of ``interval(lo, hi)`` with both ends open, which say nothing of the value."""
    assert spec.response.upper is not None
    lower, upper = evaluate(spec.response.value, table), evaluate(spec.response.upper, table)
    nothing: BoolArray = (np.isnan(lower) | (lower < -FAR)) & (np.isnan(upper) | (upper > FAR))
    return nothing & ~(_broken(spec.response.value, lower, table) | _broken(spec.response.upper, upper, table))


def _broken(end: Expression, values: Array, table: Table) -> BoolArray:
    """Rows in which an end is no number though its columns are there; they are refused later."""
    return np.isnan(values) & ~_missing(end, table)


def _missing(end: Expression, table: Table) -> BoolArray:
    """Rows in which a column of an end is missing."""
    return table.missing(name for name in used_names(read_expression(end.text)) if name in table.columns)
