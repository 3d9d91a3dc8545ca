"""Rows of several responses, stacked: one row for each value, every response in units of its own spread."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.prepare import prepare
from tobitgp.errors import DataError
from tobitgp.formula import parse_formula, parse_scale_formula
from tobitgp.formula.several import LOWER, RESPONSE, STACKED, UNIT, UPPER, Wide
from tobitgp.typing import Array

Ends = tuple[Array, Array]
Functions = Mapping[str, Callable[..., Any]] | None


@dataclass(frozen=True, slots=True)
class Stack:
    """How rows of several responses are stacked; of a log-time family values are only divided."""

    wide: Wide
    covariates: tuple[str, ...]  # columns beside those of the responses
    log_time: bool
    centre: Array  # (J,), of values, or of their logarithms
    scale: Array  # (J,)

    def rows(self, data: pd.DataFrame, units: Any) -> pd.DataFrame:
        """All J n rows, those of one response together, without their values; units (n,)."""
        parts = [data[list(self.covariates)].assign(**{RESPONSE: label, UNIT: units}) for label in self.wide.labels]
        rows = pd.concat(parts, ignore_index=True)
        return rows.assign(**{RESPONSE: pd.Categorical(rows[RESPONSE], categories=self.wide.labels)})

    def known(self, data: pd.DataFrame, units: Any, ends: Ends) -> pd.DataFrame:
        """The rows of which something is known, with their ends, (n, J) each."""
        lower, upper = (self.standardised(end).T.ravel() for end in ends)
        rows = self.rows(data, units).assign(**{LOWER: lower, UPPER: upper})
        return rows[rows[LOWER].notna()]

    def standardised(self, y: Array) -> Array:
        """Values (..., J) in units of their spread."""
        return np.asarray(y / np.exp(self.centre) if self.log_time else (y - self.centre) / self.scale)

    def values(self, y: Array) -> Array:
        """Standardised values (..., J) as they were."""
        return np.asarray(y * np.exp(self.centre) if self.log_time else self.centre + self.scale * y)


def learn_stack(
    wide: Wide,
    data: pd.DataFrame,
    ends: Ends,
    *,
    functions: Functions = None,
    log_time: bool = False,
    beside: Sequence[str] = (),
) -> Stack:
    """Learn how rows are stacked from ends (n, J) of the responses; ``beside`` are columns that options name."""
    columns = [c for c in data.columns if c not in STACKED]
    spec = parse_formula(wide.stacked, [*columns, *STACKED], functions)
    scale = parse_scale_formula(wide.scale, [*columns, *STACKED], functions)
    used = [v.name for v in (*spec.variables, *scale.variables) if v.name not in STACKED]
    centre, spread = np.zeros(len(wide.labels)), np.ones(len(wide.labels))
    for j, (low, high) in enumerate(zip(ends[0].T, ends[1].T, strict=True)):
        end = np.where(np.isfinite(high), high, low)
        end = end[np.isfinite(end)]
        if log_time:
            centre[j] = np.log(end[end > 0.0]).mean() if (end > 0.0).any() else 0.0
        elif len(end):
            centre[j], spread[j] = end.mean(), end.std() or 1.0
    return Stack(wide, tuple(dict.fromkeys((*used, *beside))), log_time, centre, spread)


def read_ends(wide: Wide, data: pd.DataFrame, functions: Functions = None, *, log_time: bool = False) -> Ends:
    """Ends (n, J) of what is known of every response, NaN where it is missing."""
    ends = np.full((2, len(data), len(wide.labels)), np.nan)
    for j, formula in enumerate(wide.formulas):
        spec = parse_formula(formula, list(data.columns), functions)
        there = np.flatnonzero(data[[v.name for v in spec.variables]].notna().all(axis=1))
        if not len(there):
            raise DataError(f"The response {wide.labels[j]} has no value in these rows.")
        read = prepare(spec, data.iloc[there], log_time=log_time)
        ends[:, there[read.kept], j] = read.response.lower, read.response.upper
    return ends[0], ends[1]
