"""Spellings of censoring: two ends, codes, and windows of truncation."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from tobitgp.data.columns import bare_column, call_by_name, evaluate
from tobitgp.data.table import Column, Table, column_names, holds_numbers
from tobitgp.data.text_limits import is_absent
from tobitgp.data.values import plain_levels
from tobitgp.errors import DataError
from tobitgp.formula.spec import CODES, STATUS_WORDS, Expression, Flag, ModelSpec, TruncationSpec
from tobitgp.formula.syntax import names_in, read_expression
from tobitgp.typing import Array, BoolArray, Frame, IntArray


def spell_numbers(data: Frame, names: Iterable[str], *, mixed_only: bool = False) -> Frame:
    """Write the numbers of a response as text, so that a column may also contain limits."""
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


FAR = 1e140  # squares are formed of ends, and of their ratios to what is small


def read_end(end: Expression, side: str, absent: float, table: Table) -> Array:
    """Values of one end, ``absent`` where it is open."""
    values = evaluate(end, table)
    wrong = _broken(end, values, table)
    if wrong.any():
        raise DataError(f"The {side} end {end.text} is not a number in {table.rows(wrong)}.")
    wrong = values == -absent
    if wrong.any():
        raise DataError(
            f"The {side} end {end.text} is {-absent} in {table.rows(wrong)}. Write {absent} for an open end."
        )
    return np.where(np.isnan(values), absent, values)


def check_ends(lower: Array, upper: Array, table: Table) -> None:
    """Raise an error if the lower end is above the upper end."""
    wrong = lower > upper
    if wrong.any():
        shown = "; ".join(map(_apart, lower[wrong][:3], upper[wrong][:3]))
        raise DataError(f"The lower end is above the upper end in {table.rows(wrong)} ({shown}).")


def _apart(low: float, high: float) -> str:
    """Two numbers, with as many digits as tell them apart."""
    digits = 6 if f"{low:g}" != f"{high:g}" else 17
    return f"{low:.{digits}g} and {high:.{digits}g}"


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
    """Rows in which an end is not a number though its columns are present; these raise an error later."""
    names = {name.id for name in names_in(read_expression(end.text).tree)}
    return np.isnan(values) & ~table.missing(names & set(table.columns))


def code_names(spec: ModelSpec) -> tuple[str, ...]:
    """Columns of the codes of censoring without which a row says nothing.

    A blank remark is none of the marks that ``nondetect=remark == '<'`` compares it with, as in pandas: the row has a
    value.
    """
    names = spec.names("event")
    if spec.flag is None or spec.flag.codes != "nondetect":
        return names
    tree = read_expression(spec.flag.text).tree
    marks = [node for node in ast.walk(tree) if isinstance(node, ast.Compare) and _is_mark(node)]
    compared = {id(side) for node in marks for side in (node.left, *node.comparators)}
    bare = {name.id for name in names_in(tree) if id(name) not in compared}
    return tuple(name for name in names if name in bare)


def _is_mark(node: ast.Compare) -> bool:
    """Whether a column is compared with one mark."""
    sides = (node.left, node.comparators[0])
    return isinstance(node.ops[0], ast.Eq | ast.NotEq) and any(isinstance(side, ast.Constant) for side in sides)


def read_flag(flag: Flag, spec: ModelSpec, table: Table) -> IntArray:
    """Find out how each row is censored; gives (n,)."""
    for name in code_names(spec):
        missing = table.columns[name].missing
        if missing.any():
            what = f"The event column {name!r}" if flag.codes == "event" else f"The column {name!r} of {flag.how}...)"
            codes = "0 or 1" if len(CODES[flag.codes]) == 2 else "one of its codes"
            raise DataError(f"{what} is missing in {table.rows(missing)}. It must be {codes} everywhere.")
    tree = read_expression(flag.text).tree
    if isinstance(tree, ast.Constant) and isinstance(tree.value, str):
        return np.full(table.n, STATUS_WORDS[tree.value], dtype=np.intp)
    column = bare_column(flag.expression, table)
    if column is not None and column.levels is not None and not holds_numbers(column.levels):
        return _from_words(flag, column, table)
    return _from_numbers(flag, evaluate(flag.expression, table), table)


def _from_words(flag: Flag, column: Column, table: Table) -> IntArray:
    """Codes of a column of text, which only ``status=`` knows."""
    assert column.levels is not None
    if flag.codes != "status":
        _refuse_text(flag, column)
    kinds: list[int | None] = [STATUS_WORDS.get(level) for level in column.levels]
    codes = column.values.astype(np.intp)
    wrong = np.array([kind is None for kind in kinds])[codes]
    if wrong.any():
        shown = ", ".join(repr(column.levels[i]) for i in dict.fromkeys(codes[wrong].tolist()))
        known = ", ".join(repr(word) for word in STATUS_WORDS)
        raise DataError(f"The status {column.name!r} holds {shown} in {table.rows(wrong)}. It must be one of {known}.")
    return np.array([kind or 0 for kind in kinds], dtype=np.intp)[codes]


def _refuse_text(flag: Flag, column: Column) -> NoReturn:
    assert column.levels is not None
    listed = ", ".join(repr(level) for level in column.levels[:6])
    what = f"The event column {column.name!r}" if flag.codes == "event" else f"The column {column.name!r}"
    if flag.codes == "survival":
        remedy = "0 means right-censored, 1 an event, 2 left-censored, 3 an interval"
        raise DataError(f"{what} must hold the codes 0, 1, 2 and 3, not {listed}. {remedy}.")
    raise DataError(f"{what} must hold 0 and 1 or False and True, not {listed}; {_say_which(flag, column.levels)}.")


_MARKS = {
    "nondetect": re.compile(r"<.*|≤.*|u[a-z]?|-1|y|yes|t|true|left|cen(?:s|sored)?", re.IGNORECASE),
    "event": re.compile(
        r"events?|de(?:ad|ath|ceased)|died|fail(?:ed|ure)|relapsed?|recurrence|y|yes|t|true|uncensored|observed",
        re.IGNORECASE,
    ),
}
_NO_MARKS = {
    "nondetect": re.compile(r"=|>.*|det(?:ect(?:ed)?|s)?|n|no|f|false|none|exact|uncensored|0|", re.IGNORECASE),
    "event": re.compile(r"alive|living|cen(?:s|sored)?|n|no|f|false|none|lost.*|0|", re.IGNORECASE),
}


def _say_which(flag: Flag, levels: Sequence[Any]) -> str:
    """How to say which levels mark a row: those that are known to, or the other one of two; else any, as an example."""
    marks = "nondetect" if flag.codes == "nondetect" else "event"
    meaning = "value is a detection limit" if marks == "nondetect" else "value is an event"
    words = {level: str(level).strip() for level in levels}
    found = [
        x for x, word in words.items() if _MARKS[marks].fullmatch(word) or (marks == "nondetect" and is_absent(word))
    ]
    others = [x for x in words if x not in found and not _NO_MARKS[marks].fullmatch(words[x])]
    chosen, causes = found or (others if len(others) == 1 else []), _all_causes(flag, marks, words)
    if chosen:
        tests = [f"{flag.text} == {level!r}" for level in chosen]
        text = tests[0] if len(tests) == 1 else " + ".join(f"({test})" for test in tests)
        return f"{causes}say which {meaning}, as in {flag.how}{text})"
    each = " or ".join(f"{flag.how}{flag.text} == {level!r})" for level in [*others, *levels][:2])
    return f"{causes}say which {meaning}: {each}"


def _all_causes(flag: Flag, marks: str, words: Mapping[Any, str]) -> str:
    """How to say that levels are causes, of which every row has one."""
    if marks != "event" or not flag.how.startswith("Surv(") or any(map(_NO_MARKS[marks].fullmatch, words.values())):
        return ""
    return f"if all are causes and no row is censored, write {flag.how}{flag.text}, censored=None); else "


def _from_numbers(flag: Flag, values: Array, table: Table) -> IntArray:
    known = CODES[flag.codes]
    wrong = ~np.isin(values, list(known))
    if wrong.any():
        listed = ", ".join(f"{value:g}" for value in np.unique(values)[:6])
        place = table.rows(wrong)
        if len(known) > 2:
            words = {-1: "left", 0: "exact", 1: "right", 2: "interval"}
            meaning = ", ".join(f"{code:g} ({words[kind]})" for code, kind in sorted(known.items()))
            raise DataError(f"The codes {flag.text} must be {meaning}, but hold {listed} (see {place}).")
        what = call_by_name("event", flag.expression, table) if flag.codes == "event" else flag.text
        numbers = plain_levels(np.unique(values))
        if flag.codes != "nondetect" and numbers == (1, 2):
            numbers = (2,)  # as Surv of R reads them
        raise DataError(f"{what} must be 0 or 1, but holds {listed} (see {place}); {_say_which(flag, numbers)}.")
    kinds = np.zeros(table.n, dtype=np.intp)
    for code, kind in known.items():
        kinds[values == code] = kind
    return kinds


def read_window(spec: ModelSpec, table: Table) -> tuple[Array, Array]:
    """Ends of each row's window; gives entry, exit (n,)."""
    window = spec.truncation or TruncationSpec()
    entry = read_bound(window.lower, -np.inf, table, "entry", "none")
    return entry, read_bound(window.upper, np.inf, table, "exit", "none")


def read_bound(bound: Expression | None, absent: float, table: Table, what: str, without: str) -> Array:
    """A limit or the end of a window in each row, which may be open and not missing."""
    if bound is None:
        return np.full(table.n, absent)
    values = evaluate(bound, table)
    wrong = np.isnan(values)
    if wrong.any():
        missing = f"The {what} {bound.text} is missing in {table.rows(wrong)}"
        raise DataError(f"{missing}. Write {absent} where there is {without}.")
    return values
