"""What is remembered of the training rows where the rows themselves are not kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from tobitgp.data.prepare import TrainingData
from tobitgp.data.state import DesignState
from tobitgp.typing import Array

NO_ROWS = "This fit holds no training rows (it was loaded from a file)"


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """One input column in the rows used.

    Attributes
    ----------
    kind : {"number", "boolean", "factor", "date"}
    minimum, maximum, sd : float
        Of numbers and truth values; NaN for the others.
    typical : float, bool, level or None
        Weighted mean of numbers; the level of most weight of factors, truth values and numbers in ``C(...)``.
    example : float, bool, level or str
        A value that occurs, dates as ISO text. Columns that one expression uses together take theirs from one row.
    """

    kind: Literal["number", "boolean", "factor", "date"]
    minimum: float
    maximum: float
    sd: float
    typical: Any
    example: Any


@dataclass(frozen=True, slots=True)
class Facts:
    """What tables and predictions ask of the training rows.

    Attributes
    ----------
    n : int
        Rows used.
    nobs : float
        Their frequency weights, summed.
    counts : dict of int
        As in ``TrainingData``.
    any_censored : bool
        Whether a row is modelled as censored.
    limits_known : bool
        Whether the limits of the instrument are.
    mean_limits : (float, float)
        Weighted means of the limits, NaN where they are unknown.
    names : tuple of str
        Columns of the data that the formula names, in the data's order.
    columns : dict of ColumnFacts
        Of the inputs; empty where the fit was made without its data.
    """

    n: int
    nobs: float
    counts: dict[str, int]
    any_censored: bool
    limits_known: bool
    mean_limits: tuple[float, float]
    names: tuple[str, ...]
    columns: dict[str, ColumnFacts]


def remember(
    training: TrainingData,
    names: Iterable[str],
    covariates: pd.DataFrame | None,
    together: Sequence[Sequence[str]] = (),
) -> Facts:
    """Facts of the training rows.

    Parameters
    ----------
    training : TrainingData
    names : iterable of str
        Columns of the data that the formula names.
    covariates : DataFrame or None
        Inputs in the rows used.
    together : sequence of sequences of str
        For each expression the columns it uses.

    Returns
    -------
    Facts
    """
    response = training.response
    low, high = (float(np.average(x, weights=response.weight)) for x in (response.limit_lower, response.limit_upper))
    columns: dict[str, ColumnFacts] = {}
    if covariates is not None:
        rows = _example_rows(training.state, covariates, together)
        columns = {
            name: _column_facts(training.state, name, covariates[name], response.weight, rows[name])
            for name in map(str, covariates.columns)
        }
    return Facts(
        n=len(response.lower),
        nobs=float(response.weight.sum()),
        counts=dict(training.counts),
        any_censored=bool((response.lower != response.upper).any()),
        limits_known=not (np.isnan(low) or np.isnan(high)),
        mean_limits=(low, high),
        names=tuple(names),
        columns=columns,
    )


def constant_column(state: DesignState, facts: ColumnFacts, name: str, value: Any, n: int) -> Any:
    """Column of n rows that holds one value, and is read as the training column was.

    Parameters
    ----------
    state : DesignState
    facts : ColumnFacts
    name : str
    value : float, bool, level, or ISO text of a date
    n : int

    Returns
    -------
    (n,) array, Categorical, or DatetimeIndex
    """
    levels = state.levels.get(name)
    if levels is not None:
        codes = np.full(n, levels.index(value), dtype=np.intp)
        return pd.Categorical.from_codes(codes, categories=pd.Index(levels))
    return pd.DatetimeIndex([value] * n) if facts.kind == "date" else np.full(n, value)


def _column_facts(state: DesignState, name: str, values: pd.Series[Any], weight: Array, row: int) -> ColumnFacts:
    levels = state.levels.get(name)
    if levels is not None:
        codes = pd.Categorical(values, categories=pd.Index(levels)).codes
        heaviest = levels[int(np.argmax(np.bincount(codes, weights=weight, minlength=len(levels))))]
        return ColumnFacts("factor", np.nan, np.nan, np.nan, heaviest, levels[int(codes[row])])
    if name in _dates(state):
        moment = pd.to_datetime(values, utc=True).iloc[row]
        return ColumnFacts("date", np.nan, np.nan, np.nan, None, moment.isoformat())
    boolean = bool(pd.api.types.is_bool_dtype(values))
    x = values.to_numpy(dtype=np.float64)
    if boolean or coded_values(state, name) is not None:
        seen, codes = np.unique(x, return_inverse=True)
        typical = float(seen[int(np.argmax(np.bincount(codes, weights=weight)))])
    else:
        typical = float(np.average(x, weights=weight))
    example = float(x[row])
    numbers = float(x.min()), float(x.max()), float(x.std())
    if boolean:
        return ColumnFacts("boolean", *numbers, bool(typical), bool(example))
    return ColumnFacts("number", *numbers, typical, example)


def coded_values(state: DesignState, name: str) -> Array | None:
    """Values of a column of numbers that stands in ``C(...)`` on its own, None for any other column."""
    for part in state.parts:
        for coding, seen in zip(part.spec.codings, part.coded, strict=True):
            if coding.text.strip("`") == name and len(seen):
                return seen
    return None


def _dates(state: DesignState) -> set[str]:
    """Inputs that are dates."""
    return {variable.name for part in state.parts for variable in part.spec.variables if variable.date}


def _example_rows(state: DesignState, covariates: pd.DataFrame, together: Sequence[Sequence[str]]) -> dict[str, int]:
    """Row each column takes its example from: near the median of its numbers, the same within an expression."""
    group = {name: {name} for name in map(str, covariates.columns)}
    for used in together:
        joined = set().union(*(group[name] for name in used)) if used else set()
        group |= dict.fromkeys(joined, joined)
    dates = _dates(state)
    rows: dict[str, int] = {}
    for name in group:
        members = sorted(group[name])
        numbers = [item for item in members if state.levels.get(item) is None and item not in dates]
        row = next((rows[item] for item in members if item in rows), 0)
        if numbers and not any(item in rows for item in members):
            x = covariates[numbers[0]].to_numpy(dtype=np.float64)
            row = int(np.argmin(np.abs(x - np.median(x))))
        rows[name] = row
    return rows
