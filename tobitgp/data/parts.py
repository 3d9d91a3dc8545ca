"""Linear terms with their offsets, of the mean or of the noise scale: learned in training, replayed on other rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tobitgp.data.evaluate import bare_column, evaluate, finite
from tobitgp.data.levels import unseen_error
from tobitgp.data.linear import LinearState, check_rank, learn_linear, replay_linear
from tobitgp.data.shapes import ScaleDesign
from tobitgp.data.table import Table
from tobitgp.formula.spec import Expression, LinearPart
from tobitgp.typing import Array


@dataclass(frozen=True, slots=True)
class PartState:
    """How linear terms are made from data."""

    spec: LinearPart
    coded: tuple[Array, ...]  # values of each ``C(...)`` of numbers seen in training, in the order of ``spec.codings``
    linear: LinearState

    def replay(self, table: Table) -> Array:
        """Build the same columns on other rows.

        Gives (n, p).
        """
        for coding, seen in zip(self.spec.codings, self.coded, strict=True):
            if len(seen) == 0:
                continue
            values = evaluate(coding, table)
            unseen = ~np.isin(values, seen)
            if unseen.any():
                shown = dict.fromkeys(f"{value:g}" for value in values[unseen])
                levels = tuple(f"{value:g}" for value in seen)
                raise unseen_error(f"C({coding.text})", shown, levels, table.rows(unseen))
        return replay_linear(self.linear, self.spec, table)

    def offset(self, table: Table) -> Array:
        """Sum of the offsets, (n,)."""
        offset = np.zeros(table.n)
        for item in self.spec.offsets:
            offset += finite(evaluate(item, table), table, f"offset({item.text})")
        return offset


def fit_part(spec: LinearPart, table: Table) -> tuple[Array, PartState]:
    """Build the columns of the training rows and remember how; see :func:`learn_part`."""
    H, state = learn_part(spec, table)
    check_rank(H, state.linear.columns, spec.part)
    return H, state


def learn_part(spec: LinearPart, table: Table) -> tuple[Array, PartState]:
    """Build the columns of some rows and remember how.

    Gives H (n, p).
    """
    coded = tuple(coded_values(coding, table) for coding in spec.codings)
    H, linear = learn_linear(spec, table)
    return H, PartState(spec, coded, linear)


def scale_design(state: PartState, W: Array, table: Table) -> ScaleDesign:
    """Covariates of log sigma, its columns under the names of their parameters."""
    columns = tuple(f"log(sigma)[{name}]" for name in state.linear.columns)
    return ScaleDesign(W, columns, state.offset(table))


def coded_values(coding: Expression, table: Table) -> Array:
    """Distinct values of a ``C(...)`` of numbers; empty for a factor."""
    column = bare_column(coding, table)
    if column is not None and column.kind == "factor":
        return np.empty(0)
    return np.unique(evaluate(coding, table))
