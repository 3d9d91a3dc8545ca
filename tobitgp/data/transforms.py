"""Rows of data in pieces that teach formulaic as much as all rows would."""

from __future__ import annotations

import ast

import numpy as np

from tobitgp.data.evaluate import bare_column, evaluate
from tobitgp.data.table import Table
from tobitgp.errors import SpecError
from tobitgp.formula.functions import FUNCTIONS
from tobitgp.formula.spec import Expression, LinearPart
from tobitgp.formula.syntax import Syntax, read_expression
from tobitgp.typing import BoolArray

_SPLINES = ("bs", "cs", "cr", "cc")


def row_wise(part: LinearPart) -> list[Expression]:
    """Refuse terms that learn more from the rows than levels and ranges."""
    syntax = read_expression(part.linear, part.functions)
    own = dict(part.functions)
    ranges = []
    for node in ast.walk(syntax.tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        name = syntax.name(node.func)
        if name in own or name not in FUNCTIONS or FUNCTIONS[name].kind != "basis":
            continue
        remedy = _remedy(syntax, node, name)
        if remedy:
            what = f"{syntax.text(node)} learns from all rows at once, and these data come in pieces"
            raise SpecError(f"{what}; write {remedy}")
        if name in _SPLINES:
            ranges.append(Expression(syntax.text(node.args[0]), 0, part.functions))
    return ranges


def representatives(part: LinearPart, table: Table) -> BoolArray:
    """Rows with every level of the factors in a linear part, and the ends of what its splines are of.

    Those of the representatives of several pieces put together are representatives of them all.

    Gives (n,).
    """
    chosen = np.zeros(table.n, dtype=bool)
    if table.n == 0:
        return chosen
    chosen[0] = True
    for name in part.names("linear"):
        if table.columns[name].levels is not None:
            chosen[np.unique(table.columns[name].values, return_index=True)[1]] = True
    for coding in part.codings:
        column = bare_column(coding, table)
        if column is None or column.levels is None:
            chosen[np.unique(evaluate(coding, table), return_index=True)[1]] = True
    for item in row_wise(part):
        values = evaluate(item, table)
        chosen[[int(np.argmin(values)), int(np.argmax(values))]] = True
    return chosen


def _remedy(syntax: Syntax, node: ast.Call, name: str) -> str:
    """What to write in place of a transform that learns from all rows; empty where none does."""
    x = syntax.text(node.args[0])
    given = dict(zip(FUNCTIONS[name].options, node.args[1:], strict=False))
    given |= {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
    if name == "center":
        return f"I({x} - m) with a number m, or {x} alone: an intercept takes up its mean"
    if name == "scale":
        return f"I(({x} - m) / s) with numbers m and s, or {x} alone"
    if name == "poly":
        degree = syntax.text(given["degree"]) if "degree" in given else "1"
        return "" if _literal(given.get("raw")) else f"poly({x}, {degree}, raw=True)"
    if _literal(given.get("constraints")) is not None:
        return f"bs({x}, knots=[...]), which needs no constraints"
    if _literal(given.get("df")) is not None:
        return f"{name}({x}, knots=[...])"
    return ""


def _literal(node: ast.expr | None) -> object:
    return None if node is None else ast.literal_eval(node)
