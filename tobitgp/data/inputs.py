"""Inputs of each process, row by row."""

from __future__ import annotations

import numpy as np

from tobitgp.data.evaluate import bare_column, evaluate, finite
from tobitgp.data.table import Table
from tobitgp.errors import DataError
from tobitgp.formula.spec import Expression, GPFactor, GPTerm, ModelSpec
from tobitgp.typing import Array


def process_inputs(term: GPTerm, table: Table) -> Array:
    """Evaluate the inputs of one process.

    Gives (n, d).
    """
    X = np.empty((table.n, len(term.inputs)))
    for j, (factor, item) in enumerate(_pairs(term)):
        column = bare_column(item, table)
        if factor.kernel == "linear" and column is not None and column.kind == "factor":
            raise DataError(
                f"Column {column.name!r} holds text, and {term.name} has a slope of it; {_remedy(term, item)}"
            )
        X[:, j] = finite(evaluate(item, table), table, f"The input {item.text} of {term.name}")
    return X


def check_slopes(spec: ModelSpec, X: tuple[Array, ...]) -> None:
    """Refuse a linear kernel of an input that is always 0.

    Shapes: X (n, d_t).
    """
    for term, inputs in zip(spec.gps, X, strict=True):
        for (factor, item), values in zip(_pairs(term), inputs.T, strict=True):
            if factor.kernel == "linear" and not values.any():
                raise DataError(
                    f"The input {item.text} of {term.name} is 0 in every row and has no slope; leave it out"
                )


def _pairs(term: GPTerm) -> list[tuple[GPFactor, Expression]]:
    """Every input with the factor it belongs to."""
    return [(factor, item) for factor in term.factors for item in factor.inputs]


def _remedy(term: GPTerm, item: Expression) -> str:
    """Say how to have a curve for each level of a column of text."""
    others = [factor for factor in term.factors if item not in factor.inputs]
    if len(others) > 1 or term.by is not None:
        return f"a curve for each level is by={item.text} in gp(), or C({item.text}) in the product"
    inputs = ", ".join(other.text for factor in others for other in factor.inputs) or "x"
    return f"write gp({inputs}, by={item.text}) for one curve a level"
