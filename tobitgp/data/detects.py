"""A response written as text, in which ``<0.5`` and ``>100`` are censored."""

from __future__ import annotations

import re

import numpy as np

from tobitgp.data.table import Column, Table
from tobitgp.errors import DataError
from tobitgp.typing import Array, IntArray

_VALUE = re.compile(r"\s*([<>]?)\s*([-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)\s*")
_SIDES = {"<": -1, "": 0, ">": 1}


def read_detects(column: Column, table: Table) -> tuple[Array, IntArray]:
    """Read numbers and limits from a column of text.

    Parameters
    ----------
    column : Column
        A factor without missing values.
    table : Table
        For the labels of the rows.

    Returns
    -------
    values : (n,) array
    kind : (n,) array of int
        -1 where the value is below, 1 where it is above, 0 where it is the number itself.

    Raises
    ------
    DataError
        Quoting text that is neither.

    Examples
    --------
    >>> import pandas as pd
    >>> from tobitgp.data.table import read_table
    >>> table = read_table({"y": ["<0.5", "1.2", "> 10"]}, ["y"])
    >>> read_detects(table.columns["y"], table)
    (array([ 0.5,  1.2, 10. ]), array([-1,  0,  1]))
    """
    assert column.levels is not None
    matches = [_VALUE.fullmatch(level) if isinstance(level, str) else None for level in column.levels]
    codes = column.values.astype(np.intp)
    wrong = np.array([match is None for match in matches], dtype=bool)[codes]
    if wrong.any():
        shown = ", ".join(repr(column.levels[i]) for i in list(dict.fromkeys(codes[wrong].tolist()))[:5])
        allowed = "a response of text holds numbers and limits such as '<0.5' and '>100' only"
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
