"""Values and non-detects as laboratories write them in a column of text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from tobitgp.data.table import Column, Table
from tobitgp.errors import DataError
from tobitgp.typing import Array, IntArray

_NUMBER = r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?"
_WRITTEN = re.compile(
    rf"(?P<before>uj?)?\s*(?P<sign>[<>]=?|[≤≥])?\s*(?P<number>{_NUMBER})\s*(?P<after>uj?|j)?", re.IGNORECASE
)
_ABSENT = re.compile(
    r"n\.?\s?d\.?|b[dq]l|bloq|<\s*(?:m?dl|l?lo[dq]|rl|pql)|not\sdetected|non-?detect(?:ed)?", re.IGNORECASE
)
_COMMA = re.compile(r".*[0-9],[0-9].*", re.DOTALL)
_UNIT = re.compile(rf"[<>=≤≥\s]*{_NUMBER}\s*(?!uj?$|j$)(?P<unit>[^\W\d_].*|[%‰°].*)", re.IGNORECASE)
_SIDES = {"<": -1, "≤": -1, "": 0, ">": 1, "≥": 1}


class Written(NamedTuple):
    """What a text says of a value."""

    value: float  # NaN where nothing was detected below a limit that the text does not name
    side: int  # -1 below the value, 0 at it, 1 above

    @property
    def absent(self) -> bool:
        """Whether it is a non-detect without its limit, as ``ND``."""
        return self.value != self.value


def read_text(level: Any) -> Written | None:
    """Read ``3.1``, ``<0.5``, ``>100``, ``0.5 U``, ``0.7 J`` or ``ND``; None for anything else."""
    text = level.strip() if isinstance(level, str) else ""
    if _ABSENT.fullmatch(text):
        return Written(np.nan, -1)
    match = _WRITTEN.fullmatch(text)
    if match is None:
        return None
    side = _SIDES[(match["sign"] or "")[:1]]
    undetected = "u" in f"{match['before'] or ''}{match['after'] or ''}".lower()
    if undetected and side > 0:
        return None
    return Written(float(match["number"]), -1 if undetected else side)


def is_limit(level: Any) -> bool:
    """Tell whether a value is text such as ``<0.5``."""
    written = read_text(level)
    return written is not None and written.side != 0 and not written.absent


def is_absent(level: Any) -> bool:
    """Tell whether a value is text such as ``ND``."""
    written = read_text(level)
    return written is not None and written.absent


def read_detects(column: Column, table: Table) -> tuple[Array, IntArray]:
    """Read numbers and limits from a column of text; gives values, NaN where a limit is not named, and sides (n,)."""
    assert column.levels is not None
    found = [read_text(level) for level in column.levels]
    codes = column.values.astype(np.intp)
    wrong = np.array([written is None for written in found], dtype=bool)[codes]
    if wrong.any():
        levels = [column.levels[i] for i in dict.fromkeys(codes[wrong].tolist())]
        shown = ", ".join(map(repr, levels[:5]))
        remedy = _remedy(column, levels)
        raise DataError(f"Column {column.name!r} holds {shown} in {table.rows(wrong)}; {remedy}")
    values = np.array([np.nan if written is None else written.value for written in found])[codes]
    return values, np.array([0 if written is None else written.side for written in found], dtype=np.intp)[codes]


def _remedy(column: Column, wrong: Sequence[Any]) -> str:
    """What to write where text is neither a number nor a limit."""
    name = column.name
    if all(isinstance(level, Real) and not isinstance(level, bool) for level in column.levels or ()):
        return f"it is categorical; df[{name!r}].astype(float) makes numbers of its levels"
    texts = [level.strip() for level in wrong if isinstance(level, str)]
    if any(map(_COMMA.fullmatch, texts)):
        points, none = (f"df[{name!r}] = df[{name!r}].replace(',', {to!r}, regex=True)" for to in (".", ""))
        return f"numbers are written without commas: {points} where they are decimal, {none} where they part thousands"
    units = list(dict.fromkeys(match["unit"] for match in map(_UNIT.fullmatch, texts) if match))
    if not units:
        return "a response of text holds numbers and limits such as '<0.5' and '>100' only"
    listed = ", ".join(map(repr, units[:5]))
    if len(units) > 1:
        return f"{listed} are no part of a number: bring the column to one unit, and leave the unit out"
    pattern = r"\s*" + re.escape(units[0])
    code = f"df[{name!r}] = df[{name!r}].replace({pattern!r}, '', regex=True)"
    return f"{listed} is no part of a number (of qualifiers, U, UJ and J are read); remove it: {code}"
