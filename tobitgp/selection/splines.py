"""Splines of folds end where those of all rows do, so that no row left out lies beyond them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pandas as pd

from tobitgp.data.columns import evaluate
from tobitgp.data.linear_columns import SPLINES
from tobitgp.data.table import read_table
from tobitgp.formula.functions import read_functions
from tobitgp.formula.spec import Expression
from tobitgp.formula.syntax import Token, names_in, read_expression, tokenize

_ENDS = ("lower_bound", "upper_bound", "extrapolation")


def with_ends(formula: str, rows: pd.DataFrame, functions: Mapping[str, Callable[..., Any]] | None) -> str:
    """The formula, in which splines without ends of their own have those of some rows."""
    own = read_functions(functions)
    text, done = "", 0
    for call in _splines(tokenize(formula)):
        if any(token.text in _ENDS for token in call):
            continue
        commas = [k for k, token in enumerate(call) if token.text == "," and _depth(call[:k]) == 0]
        x = Expression(formula[call[0].start : call[commas[0] - 1 if commas else -1].end], 0, own)
        names = {node.id for node in names_in(read_expression(x.text, own).tree)} & set(rows.columns)
        values = evaluate(x, read_table(rows, names))
        ends = f", lower_bound={float(values.min())!r}, upper_bound={float(values.max())!r}"
        text, done = text + formula[done : call[-1].end] + ends, call[-1].end
    return text + formula[done:]


def _splines(tokens: tuple[Token, ...]) -> Iterator[tuple[Token, ...]]:
    """What stands in the brackets of every call of a spline."""
    for k, token in enumerate(tokens):
        if token.text in SPLINES and tokens[k + 1 : k + 2] and tokens[k + 1].role == "call":
            end = next(j for j in range(k + 2, len(tokens) + 1) if _depth(tokens[k + 1 : j]) == 0)
            yield tokens[k + 2 : end - 1]


def _depth(tokens: tuple[Token, ...]) -> int:
    """Number of brackets that are open after some tokens."""
    return sum((token.text in ("(", "[")) - (token.text in (")", "]")) for token in tokens)
