"""Linear columns that are products of data columns, and of codings of factors, without a run of formulaic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tobitgp.data.table import Column, Table
from tobitgp.typing import Array


def multiplied(model_spec: Any, table: Table, aliases: Mapping[str, str]) -> Array | None:
    """Columns (n, p) of what formulaic learned; None if a term is no such product, or a factor has a new level.

    A term may have one factor and two columns of numbers, whose products do not depend on the order.
    """
    bare = {aliases.get(name, name): column for name, column in table.columns.items()}
    codings, made = model_spec.factor_contrasts, []
    for scoped in (scoped for item in model_spec.structure for scoped in item.scoped_terms):
        of_term = [
            (bare.get(each.factor.expr), codings.get(each.factor.factor), each.reduced) for each in scoped.factors
        ]
        coded = [each for each in (_coded(*each) for each in of_term) if each is not None]
        if scoped.scale != 1 or len(coded) < len(of_term):
            return None
        factors = sum(coding is not None for _, coding, _ in of_term)
        if factors > 1 or len(of_term) - factors > 2:
            return None
        product = np.ones((table.n, 1))
        for each in coded:
            product = product * each
        made.append(product)
    H = np.concatenate(made, axis=1) if made else np.empty((table.n, 0))
    return H if H.shape[1] == len(model_spec.column_names) else None


def _coded(column: Column | None, coding: Any, reduced: bool) -> Array | None:
    """Columns (n, k) that stand for a data column."""
    if column is None or (coding is None) != (column.levels is None):
        return None
    if column.levels is None:
        return np.asarray(column.values, dtype=np.float64)[:, None] if column.values.dtype.kind == "f" else None
    if list(coding.levels) != list(column.levels) or (column.values < 0).any():
        return None
    matrix = np.asarray(coding.contrasts.get_coding_matrix(coding.levels, reduced), dtype=np.float64)
    return np.asarray(matrix[column.values])
