"""Factors of numbers and dates, which one table keeps as categories and another as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np

from tobitgp.data.table import Column
from tobitgp.data.values import date_text, plain_levels


def holds_numbers(levels: Sequence[Any] | None) -> bool:
    """Whether the levels of a factor are numbers or truth values, some of them at least."""
    return bool(levels) and all(isinstance(level, Real) for level in levels or ())


def as_numbers(column: Column) -> Column:
    """A factor whose levels are numbers as a column of these, any other column as it is."""
    if not holds_numbers(column.levels):
        return column
    levels = column.levels or ()
    values = np.array([*levels, np.nan], dtype=np.float64)[column.values.astype(np.intp)]
    kind = "boolean" if all(isinstance(level, bool) for level in levels) else "number"
    return Column(column.name, values, column.missing, kind)  # type: ignore[arg-type]


def like_training(column: Column, levels: tuple[Any, ...] | None) -> Column:
    """A column of new rows as a factor where it was one in training, of numbers or dates, and the other way round."""
    if levels is None:
        return as_numbers(column)
    if column.levels is not None or not (column.kind == "date" or holds_numbers(levels)):
        return column
    seen, codes = np.unique(column.values[~column.missing], return_inverse=True)
    values = np.full(len(column.missing), -1, dtype=np.intp)
    values[~column.missing] = codes
    found = tuple(map(date_text, seen)) if column.kind == "date" else plain_levels(seen.tolist())
    return replace(column, values=values, kind="factor", levels=found)
