"""What is remembered of the training rows where the rows themselves are not kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from tobitgp.data.arrays import CensoredResponse, Groups
from tobitgp.data.design import DesignState
from tobitgp.data.moments import Moments
from tobitgp.data.table import Column, Table, iso_date, read_table
from tobitgp.errors import SpecError
from tobitgp.typing import Array

if TYPE_CHECKING:
    from tobitgp.data.prepare import TrainingData

NO_ROWS = "This fit holds no training rows (it was loaded from a file, or made from partitioned data)"


def held_rows(training: TrainingData | None) -> TrainingData:
    """The training rows of a fit."""
    if training is None:
        raise SpecError(f"{NO_ROWS}: give new=...")
    return training


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """One input column in the rows used."""

    kind: Literal["number", "boolean", "factor", "date"]
    minimum: float  # of numbers and truth values; NaN for the others, as the next two
    maximum: float
    sd: float
    typical: Any  # weighted mean of numbers, else the value with most weight
    example: Any  # a value that occurs


@dataclass(frozen=True, slots=True)
class Facts:
    """What tables and predictions ask of the training rows."""

    n: int  # rows used
    nobs: float  # their frequency weights, summed
    counts: dict[str, int]  # as in ``TrainingData``
    any_censored: bool  # whether a row is modelled as censored
    limits_known: bool  # whether the limits of the instrument are
    mean_limits: tuple[float, float]  # weighted means of the limits, NaN where they are unknown
    mean_window: tuple[float, float]  # weighted means of the ends of the window
    names: tuple[str, ...]  # columns of the data that the formula names, in the data's order
    columns: dict[str, ColumnFacts]  # of the inputs; empty where the fit was made without its data


@dataclass(frozen=True, slots=True)
class ColumnMeasure:
    """One input column in some of the rows."""

    weights: dict[float, float]  # weight of each value of truth values and numbers in ``C(...)``
    weighted: Moments  # of numbers, with the weights of the rows
    plain: Moments  # of numbers, without the weights


@dataclass(frozen=True, slots=True)
class RowFacts:
    """What some of the rows tell of the facts of all."""

    n: int
    nobs: float
    any_censored: bool
    ends: Array  # (4,), weighted sums of the limits of the instrument and of the ends of the windows
    columns: dict[str, ColumnMeasure]
    groups: tuple[Array | None, ...]  # (size,), weight of each group of each process

    @property
    def mean_limits(self) -> tuple[float, float]:
        """Weighted means of the limits of the instrument, NaN where they are unknown."""
        return float(self.ends[0] / self.nobs), float(self.ends[1] / self.nobs)

    @property
    def mean_window(self) -> tuple[float, float]:
        """Weighted means of the ends of the windows."""
        return float(self.ends[2] / self.nobs), float(self.ends[3] / self.nobs)


def remember(
    training: TrainingData,
    names: Iterable[str],
    covariates: pd.DataFrame | None,
    together: Sequence[Sequence[str]] = (),
) -> Facts:
    """Facts of the training rows."""
    if covariates is None:
        table = Table({}, training.index[training.kept])
    else:
        table = read_table(covariates, [str(name) for name in covariates.columns])
    table = training.state.recode(table)
    return make_facts(training.state, training.found, training.counts, names, table, together)


def measure_facts(
    state: DesignState, response: CensoredResponse, groups: Sequence[Groups | None], table: Table
) -> RowFacts:
    """What some rows tell of the facts of all."""
    weight = response.weight
    ends = (response.limit_lower, response.limit_upper, response.entry, response.exit)
    return RowFacts(
        len(weight),
        float(weight.sum()),
        bool((response.lower != response.upper).any()),
        np.array([(end * weight).sum() for end in ends]),
        {name: _measure(state, column, weight) for name, column in table.columns.items()},
        group_weights(groups, weight),
    )


def group_weights(groups: Sequence[Groups | None], weight: Array) -> tuple[Array | None, ...]:
    """Weight of each group of each process, (size,) each."""
    return tuple(
        None if g is None else np.asarray(np.bincount(g.code, weights=weight, minlength=g.size), dtype=np.float64)
        for g in groups
    )


def make_facts(
    state: DesignState,
    found: RowFacts,
    counts: dict[str, int],
    names: Iterable[str],
    examples: Table,
    together: Sequence[Sequence[str]] = (),
) -> Facts:
    """Facts from what all rows tell."""
    columns = {
        name: _column_facts(examples.columns[name], found.columns[name], row)
        for name, row in _example_rows(examples, together).items()
    }
    return Facts(
        found.n,
        found.nobs,
        dict(counts),
        found.any_censored,
        not np.isnan(found.mean_limits).any(),
        found.mean_limits,
        found.mean_window,
        tuple(names),
        columns,
    )


def constant_column(state: DesignState, facts: ColumnFacts, name: str, value: Any, n: int) -> Any:
    """Column of n rows that holds one value, and is read as the training column was; gives (n,)."""
    levels = state.levels.get(name)
    if levels is not None:
        codes = np.full(n, levels.index(value), dtype=np.intp)
        return pd.Categorical.from_codes(codes, categories=pd.Index(levels))
    return pd.DatetimeIndex([value] * n) if facts.kind == "date" else np.full(n, value)


def _measure(state: DesignState, column: Column, weight: Array) -> ColumnMeasure:
    values = np.asarray(column.values, dtype=np.float64)
    weights: dict[float, float] = {}
    if column.kind in ("boolean", "factor") or coded_values(state, column.name) is not None:
        seen, codes = np.unique(values, return_inverse=True)
        weights = dict(zip(seen.tolist(), np.bincount(codes, weights=weight).tolist(), strict=True))
    numbers = values[:, None] if column.levels is None else np.empty((len(values), 0))
    return ColumnMeasure(weights, Moments.of(numbers, weight), Moments.of(numbers, np.ones(len(values))))


def _column_facts(column: Column, found: ColumnMeasure, row: int) -> ColumnFacts:
    heaviest = max(sorted(found.weights), key=found.weights.__getitem__) if found.weights else None
    example, plain, none = float(column.values[row]), found.plain, (np.nan, np.nan, np.nan)
    if column.levels is not None:
        assert heaviest is not None
        return ColumnFacts("factor", *none, column.levels[int(heaviest)], column.levels[int(example)])
    if column.kind == "date":
        return ColumnFacts("date", *none, None, iso_date(example))
    numbers = float(plain.minimum[0]), float(plain.maximum[0]), float(plain.spread[0])
    if column.kind == "boolean":
        return ColumnFacts("boolean", *numbers, bool(heaviest), bool(example))
    typical = float(found.weighted.mean[0]) if heaviest is None else heaviest
    return ColumnFacts("number", *numbers, typical, example)


def coded_values(state: DesignState, name: str) -> Array | None:
    """Values of a column of numbers that stands in ``C(...)`` on its own, None for any other column."""
    for part in state.parts:
        for coding, seen in zip(part.spec.codings, part.coded, strict=True):
            if coding.text.strip("`") == name and len(seen):
                return seen
    return None


def _example_rows(table: Table, together: Sequence[Sequence[str]]) -> dict[str, int]:
    """Row each column takes its example from: near the median of its numbers, the same within an expression."""
    group = {name: {name} for name in table.columns}
    for used in together:
        joined = set().union(*(group[name] for name in used if name in group))
        group |= dict.fromkeys(joined, joined)
    rows: dict[str, int] = {}
    for name, members in group.items():
        numbers = sorted(item for item in members if table.columns[item].kind not in ("factor", "date"))
        x = table.columns[numbers[0]].values if numbers else np.zeros(1)
        rows[name] = int(np.argmin(np.abs(x - np.median(x))))
    return rows
