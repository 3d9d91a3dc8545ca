"""The window outside which a row could not have been seen: truncation and delayed entry."""

from __future__ import annotations

import numpy as np

from tobitgp.data.evaluate import evaluate
from tobitgp.data.table import Table
from tobitgp.errors import DataError
from tobitgp.formula.spec import Expression, ModelSpec
from tobitgp.typing import Array


def read_window(spec: ModelSpec, table: Table) -> tuple[Array, Array]:
    """Ends of each row's window.

    Gives entry, exit (n,).
    """
    window = spec.truncation
    if window is None:
        return np.full(table.n, -np.inf), np.full(table.n, np.inf)
    return _end(window.lower, -np.inf, table), _end(window.upper, np.inf, table)


def _end(expression: Expression | None, without: float, table: Table) -> Array:
    if expression is None:
        return np.full(table.n, without)
    values = evaluate(expression, table)
    lacking = np.isnan(values)
    if lacking.any():
        raise DataError(
            f"The window end {expression.text} is missing in {table.rows(lacking)}; write {without} where there is none"
        )
    return values
