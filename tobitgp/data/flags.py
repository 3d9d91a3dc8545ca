"""Codes of each row: exact, left-, right- or interval-censored."""

from __future__ import annotations

import ast
from typing import NoReturn

import numpy as np

from tobitgp.data.evaluate import bare_column, call_by_name, evaluate
from tobitgp.data.table import Column, Table
from tobitgp.errors import DataError
from tobitgp.formula.spec import CODES, STATUS_WORDS, Flag, ModelSpec
from tobitgp.formula.syntax import read_expression
from tobitgp.typing import Array, IntArray


def read_flag(flag: Flag, spec: ModelSpec, table: Table) -> IntArray:
    """Find out how each row is censored.

    Gives (n,).
    """
    for name in spec.names("event"):
        missing = table.columns[name].missing
        if missing.any():
            what = f"The event column {name!r}" if flag.codes == "event" else f"The column {name!r} of {flag.how}...)"
            codes = "0 or 1" if len(CODES[flag.codes]) == 2 else "one of its codes"
            raise DataError(f"{what} is missing in {table.rows(missing)}; it must be {codes} everywhere")
    tree = read_expression(flag.text).tree
    if isinstance(tree, ast.Constant) and isinstance(tree.value, str):
        return np.full(table.n, STATUS_WORDS[tree.value], dtype=np.intp)
    column = bare_column(flag.expression, table)
    if column is not None and column.levels is not None:
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
        raise DataError(f"The status {column.name!r} holds {shown} in {table.rows(wrong)}; it must be one of {known}")
    return np.array([kind or 0 for kind in kinds], dtype=np.intp)[codes]


def _refuse_text(flag: Flag, column: Column) -> NoReturn:
    assert column.levels is not None
    listed = ", ".join(repr(level) for level in column.levels[:6])
    what = f"The event column {column.name!r}" if flag.codes == "event" else f"The column {column.name!r}"
    if flag.codes == "survival":
        remedy = "0 is right-censored, 1 an event, 2 left-censored, 3 an interval"
        raise DataError(f"{what} must hold the codes 0, 1, 2 and 3, not {listed}; {remedy}")
    meaning = "value is a detection limit" if flag.codes == "nondetect" else "value is an event"
    remedy = f"say which {meaning}, as in {flag.how}{flag.text} == {column.levels[-1]!r})"
    raise DataError(f"{what} must hold 0 and 1 or False and True, not {listed}; {remedy}")


def _from_numbers(flag: Flag, values: Array, table: Table) -> IntArray:
    known = CODES[flag.codes]
    wrong = ~np.isin(values, list(known))
    if wrong.any():
        listed = ", ".join(f"{value:g}" for value in np.unique(values)[:6])
        place = table.rows(wrong)
        if len(known) > 2:
            words = {-1: "left", 0: "exact", 1: "right", 2: "interval"}
            meaning = ", ".join(f"{code:g} ({words[kind]})" for code, kind in sorted(known.items()))
            raise DataError(f"The codes {flag.text} must be {meaning}, but hold {listed} (see {place})")
        what = call_by_name("event", flag.expression, table) if flag.codes == "event" else flag.text
        meaning = "value is a detection limit" if flag.codes == "nondetect" else "value is an event"
        remedy = f"say which {meaning}, as in {flag.how}{flag.text} == {values.max():g})"
        raise DataError(f"{what} must be 0 or 1, but holds {listed} (see {place}); {remedy}")
    kinds = np.zeros(table.n, dtype=np.intp)
    for code, kind in known.items():
        kinds[values == code] = kind
    return kinds
