"""How far values of expressions are off because numbers are rounded, and which of two are then the same."""

from __future__ import annotations

import ast
from dataclasses import replace

import numpy as np

from tobitgp.data.columns import evaluate
from tobitgp.data.table import Table
from tobitgp.data.values import EPS
from tobitgp.formula.spec import Expression
from tobitgp.formula.syntax import called, names_in, read_expression
from tobitgp.typing import Array, BoolArray

_ULPS = 4.0  # of each column, and of what is computed
_MOST = 64.0  # of the largest value, where a function jumps


def rounding(expression: Expression | None, table: Table) -> Array:
    """Bound of the rounding error of an expression in every row, to first order; gives (n,)."""
    if expression is None:
        return np.zeros(table.n)
    syntax, value = read_expression(expression.text, expression.functions), evaluate(expression, table)
    names = {name.id for name in names_in(syntax.tree)} & set(table.columns)
    own = {called(node) for node in ast.walk(syntax.tree)} & set(syntax.own)
    finest = max([EPS, *(table.columns[name].precision for name in names)])
    error = _ULPS * EPS * np.abs(value)
    for name in () if own else names:
        column = table.columns[name]
        if column.levels is None:
            with np.errstate(all="ignore"):
                values: Array = np.multiply(column.values, 1.0 + _ULPS * column.precision, dtype=np.float64)
                nudged = replace(column, values=values)
                moved = evaluate(expression, replace(table, columns={**table.columns, name: nudged}))
                error = error + np.abs(moved - value)
    largest = float(np.max(np.abs(value), where=np.isfinite(value), initial=0.0))
    with np.errstate(over="ignore"):
        return np.minimum(np.where(np.isfinite(error), error, 0.0), _MOST * finest * largest)


def same(a: Array, b: Array, error: Array) -> BoolArray:
    """Where two values are equal but for rounding; shapes: a, b, error (n,)."""
    with np.errstate(invalid="ignore"):
        return np.asarray((a == b) | (np.abs(a - b) <= error))
