"""A response written as text, in which ``<0.5`` and ``>100`` are censored."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.table import Column, Table, column_names
from tobitgp.errors import DataError
from tobitgp.typing import Array, Frame, IntArray

_VALUE = re.compile(r"\s*([<>]?)\s*([-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)\s*")
_SIDES = {"<": -1, "": 0, ">": 1}


def read_detects(column: Column, table: Table) -> tuple[Array, IntArray]:
    """Read numbers and limits from a column of text.

    Gives values, kind (n,).
    """
    assert column.levels is not None
    matches = [_VALUE.fullmatch(level) if isinstance(level, str) else None for level in column.levels]
    codes = column.values.astype(np.intp)
    wrong = np.array([match is None for match in matches], dtype=bool)[codes]
    if wrong.any():
        shown = ", ".join(repr(column.levels[i]) for i in list(dict.fromkeys(codes[wrong].tolist()))[:5])
        allowed = "a response of text holds numbers and limits such as '<0.5' and '>100' only"
        if all(isinstance(level, Real) and not isinstance(level, bool) for level in column.levels):
            allowed = f"it is categorical; df[{column.name!r}].astype(float) makes numbers of its levels"
        raise DataError(f"Column {column.name!r} holds {shown} in {table.rows(wrong)}; {allowed}")
    found = [match.groups() if match else ("", "nan") for match in matches]
    values = np.array([float(number) for _, number in found])[codes]
    return values, np.array([_SIDES[sign] for sign, _ in found], dtype=np.intp)[codes]


def holds_limits(column: Column) -> bool:
    """Tell whether a column of text holds values such as ``<0.5``."""
    return any(
        isinstance(level, str) and _VALUE.fullmatch(level) is not None and level.strip()[0] in "<>"
        for level in column.levels or ()
    )


def spell_numbers(data: Frame, names: Iterable[str], *, mixed_only: bool = False) -> Frame:
    """Write the numbers of a response as text, so that they may stand beside limits."""
    spelled = {}
    for name in set(names) & set(column_names(data)):
        column = data[name]
        values = column if isinstance(column, pd.Series) else _plain_series(column)
        if values is not None and (_mixes(values) if mixed_only else not isinstance(values.dtype, pd.CategoricalDtype)):
            text = [str(value) if _is_number(value) else value for value in values]
            spelled[name] = pd.Series(text, index=values.index, dtype=object).where(values.notna(), None)
    if not spelled:
        return data
    return data.assign(**spelled) if isinstance(data, pd.DataFrame) else {**data, **spelled}


def _plain_series(values: Any) -> pd.Series[Any] | None:
    """A column of a dict that could mix text and numbers."""
    usual = isinstance(values, list | tuple) or (isinstance(values, np.ndarray) and values.ndim == 1)
    return pd.Series(list(values), dtype=object) if usual else None


def _mixes(values: pd.Series[Any]) -> bool:
    """Whether objects are numbers and text, both of them."""
    if values.dtype != object:
        return False
    present = values[values.notna()]
    text = present.map(lambda value: isinstance(value, str))
    return bool(text.any() and not text.all() and present[~text].map(_is_number).all())


def _is_number(value: Any) -> bool:
    return isinstance(value, Real | Decimal) and not isinstance(value, bool | np.bool_)
