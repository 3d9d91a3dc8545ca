"""Values and non-detects as laboratories write them in a column of text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tobitgp.data.table import Column, Table
from tobitgp.errors import DataError
from tobitgp.typing import Array, BoolArray, IntArray

_NUMBER = r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?"
_WRITTEN = re.compile(
    rf"(?P<before>uj?|nd)?\s*(?P<sign>[<>]=?|[≤≥])?\s*(?P<number>{_NUMBER})\s*(?P<after>uj?|j[-+]?)?", re.IGNORECASE
)
_BRACKETS = re.compile(r"nd\s*\((.*)\)", re.IGNORECASE)
_LIMIT = r"limits?|levels?|lo[dqr]|l[dq]|m?[dqr]l|pql"
_ABSENT = re.compile(
    rf"n\.?\s?d\.?|b(?:{_LIMIT})|<\s*[a-z]{{2,5}}|(?:not|none|non|un)[\s-]?detect(?:ed|able|s)?"
    rf"|(?:below|under|less\sthan)\s+(?:[a-z]+\s+){{0,3}}(?:{_LIMIT})(?:\s+of\s+[a-z]+)?",
    re.IGNORECASE,
)
# Letters behind a value, besides U and J, with what they say in the lists of the EPA and the USGS.
_QUALIFIERS = {
    "B": "found in the blank too",
    "D": "measured in a diluted sample",
    "E": "estimated, or beyond the calibrated range",
    "H": "held too long before the analysis",
    "N": "identified tentatively",
}
_LETTERS = "R" + "".join(_QUALIFIERS)
_CODE = re.compile(rf"[<>=≤≥\s]*{_NUMBER}\s*(?=[UJ]*[{_LETTERS}])(?P<code>[UJ{_LETTERS}]{{1,3}}[-+]?)")
_COMMA = re.compile(r".*[0-9],[0-9].*", re.DOTALL)
_UNIT = re.compile(rf"[<>=≤≥\s]*{_NUMBER}\s*(?!uj?$|j$)(?P<unit>[^\W\d_].*|[%‰°].*)", re.IGNORECASE)
_SIDES = {"<": -1, "≤": -1, "": 0, ">": 1, "≥": 1}


class Written(NamedTuple):
    """What a text says of a value."""

    value: float  # NaN where nothing was detected below a limit that the text does not name
    side: int  # -1 below the value, 0 at it, 1 above
    closed: bool = False  # whether it may be the value itself, as in ``<=2``

    @property
    def absent(self) -> bool:
        """Whether it is a non-detect without its limit, as ``ND``."""
        return self.value != self.value


def read_text(level: Any) -> Written | None:
    """Read ``3.1``, ``<0.5``, ``>100``, ``0.5 U``, ``ND(0.5)``, ``0.7 J`` or ``ND``; None for anything else."""
    text = level.strip() if isinstance(level, str) else ""
    if bracketed := _BRACKETS.fullmatch(text):
        text = f"ND {bracketed[1].strip()}"
    if _ABSENT.fullmatch(text):
        return Written(np.nan, -1)
    match = _WRITTEN.fullmatch(text)
    if match is None:
        return None
    sign = match["sign"] or ""
    side = _SIDES[sign[:1]]
    undetected = bool(match["before"]) or "u" in (match["after"] or "").lower()
    if undetected and side > 0:
        return None
    return Written(float(match["number"]), -1 if undetected else side, sign in ("<=", ">=", "≤", "≥"))


def is_limit(level: Any) -> bool:
    """Tell whether a value is text such as ``<0.5``."""
    written = read_text(level)
    return written is not None and written.side != 0 and not written.absent


def is_absent(level: Any) -> bool:
    """Tell whether a value is text such as ``ND``."""
    written = read_text(level)
    return written is not None and written.absent


def is_unread(level: Any) -> bool:
    """Tell whether a value is text that says nothing of a value or a limit."""
    return isinstance(level, str) and read_text(level) is None


def read_detects(column: Column, table: Table) -> tuple[Array, IntArray, BoolArray]:
    """Read numbers and limits from text; gives values, NaN where a limit is not named, sides and closed (n,)."""
    assert column.levels is not None
    found = [read_text(level) for level in column.levels]
    codes = column.values.astype(np.intp)
    wrong = np.array([written is None for written in found], dtype=bool)[codes]
    if wrong.any():
        levels = [column.levels[i] for i in dict.fromkeys(codes[wrong].tolist())]
        shown = ", ".join(map(repr, levels[:5]))
        remedy = _remedy(column, levels)
        raise DataError(f"Column {column.name!r} holds {shown} in {table.rows(wrong)}. {remedy}.")
    read = [Written(np.nan, 0) if written is None else written for written in found]
    values, side = np.array([item.value for item in read]), np.array([item.side for item in read], dtype=np.intp)
    closed = np.array([item.closed for item in read], dtype=bool)
    return values[codes], side[codes], closed[codes]


def _remedy(column: Column, wrong: Sequence[Any]) -> str:
    """What to write where text is neither a number nor a limit."""
    name = column.name
    texts = [level.strip() for level in wrong if isinstance(level, str)]
    if any(map(_COMMA.fullmatch, texts)):
        points, none = (f"df[{name!r}] = df[{name!r}].replace(',', {to!r}, regex=True)" for to in (".", ""))
        return f"Write numbers without commas. Decimal commas: {points}. Separators of thousands: {none}"
    codes = list(dict.fromkeys(match["code"] for match in map(_CODE.fullmatch, texts) if match))
    if codes:
        return _qualified(name, codes)
    units = list(dict.fromkeys(match["unit"] for match in map(_UNIT.fullmatch, texts) if match))
    if not units:
        return (
            "A response of text may hold numbers, limits such as '<0.5' and '>100', and non-detects such as 'ND'. "
            "Replace other text by missing values"
        )
    listed = ", ".join(map(repr, units[:5]))
    if len(units) > 1:
        return f"{listed} are not parts of a number: convert the column to one unit, and remove the unit"
    pattern = r"\s*" + re.escape(units[0])
    code = f"df[{name!r}] = df[{name!r}].replace({pattern!r}, '', regex=True)"
    return f"{listed} is not part of a number (the qualifiers U, UJ and J are read). If it is a unit, remove it: {code}"


def _qualified(name: str, codes: Sequence[str]) -> str:
    """What to do with values that a laboratory has marked by letters."""
    listed = ", ".join(map(repr, codes[:5]))
    if any("R" in code for code in codes):
        code = f"df = df[~df[{name!r}].astype(str).str.contains('[0-9] *[A-Z]*R')]"
        return f"R marks a rejected result, which is unusable; leave these rows out: {code}"
    letters = [letter for letter in _QUALIFIERS if any(letter in code for code in codes)]
    meaning = "; ".join(f"{letter} {_QUALIFIERS[letter]}" for letter in letters)
    pattern = f"[{''.join(letters)}](?=[A-Z+-]*$)"
    code = f"df[{name!r}] = df[{name!r}].replace({pattern!r}, '', regex=True)"
    return (
        f"{listed} is a qualifier of the laboratory, not a unit, and its meaning differs, so look it up (often "
        f"{meaning}); drop rows that are not measurements, and remove the letter from values: {code}"
    )
