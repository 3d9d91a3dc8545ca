"""What is remembered of the training rows where the rows themselves are not kept."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

import numpy as np
import pandas as pd

from tobitgp.data.arrays import CensoredResponse, Groups
from tobitgp.data.design import NUMERIC_ROLES, DesignState
from tobitgp.data.linear_columns import linear_terms
from tobitgp.data.moments import Moments
from tobitgp.data.row_weights import Fractions
from tobitgp.data.table import Column, Table, iso_date
from tobitgp.errors import SpecError
from tobitgp.formula.linear_terms import mentions
from tobitgp.typing import Array

T = TypeVar("T")
NO_ROWS = "This fit holds no training rows (it was loaded from a file, or made from partitioned data)"


def held_rows(training: T | None) -> T:
    """The training rows of a fit."""
    if training is None:
        raise SpecError(f"{NO_ROWS}. Give new=...")
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

    def suits(self, levels: tuple[Any, ...] | None) -> bool:
        """Whether these are facts of a column with these levels, or of numbers or dates."""
        if levels is not None or self.kind == "factor":
            return levels is not None and self.kind == "factor" and self.typical in levels and self.example in levels
        if self.kind == "date":
            return self.typical is None and isinstance(self.example, str)
        values = (self.typical, self.example, self.minimum, self.maximum, self.sd)
        return all(isinstance(value, (int, float)) and math.isfinite(value) for value in values)


class OnDemand:
    """A field that is given as a value, or as a function without arguments that is called on first access."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, item: Any, owner: type | None = None) -> Any:
        if item is None:
            raise AttributeError(self.name)  # tells dataclasses that there is no default
        value = item.__dict__[self.name]
        if callable(value):
            value = item.__dict__[self.name] = value()
        return value

    def __set__(self, item: Any, value: Any) -> None:
        item.__dict__[self.name] = value


@dataclass(frozen=True)
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
    columns: dict[str, ColumnFacts] = OnDemand()  # type: ignore[assignment]  # of the inputs; empty without data


@dataclass(frozen=True, slots=True)
class ColumnMeasure:
    """One input column in some of the rows."""

    weights: dict[float, float]  # weight of each value of truth values and numbers in ``C(...)``
    weighted: Moments  # of numbers, with the weights of the rows
    plain: Moments  # of numbers, without the weights


@dataclass(frozen=True, slots=True)
class RowFacts:
    """Contribution of some of the rows to the facts about all."""

    n: int
    nobs: float
    any_censored: bool
    ends: Array  # (4,), weighted sums of the limits of the instrument and of the ends of the windows
    columns: dict[str, ColumnMeasure]  # of partitions, whose rows are not looked at again
    groups: tuple[Array | None, ...]  # (size,), weight of each group of each process
    fractions: Fractions  # among the frequency weights

    @property
    def mean_limits(self) -> tuple[float, float]:
        """Weighted means of the limits of the instrument, NaN where they are unknown."""
        return float(self.ends[0] / self.nobs), float(self.ends[1] / self.nobs)

    @property
    def mean_window(self) -> tuple[float, float]:
        """Weighted means of the ends of the windows."""
        return float(self.ends[2] / self.nobs), float(self.ends[3] / self.nobs)


def measure_facts(response: CensoredResponse, groups: Sequence[Groups | None]) -> RowFacts:
    """Contribution of some rows to the facts about all, except those about their columns."""
    weight = response.weight
    ends = (response.limit_lower, response.limit_upper, response.entry, response.exit)
    return RowFacts(
        len(weight),
        float(weight.sum()),
        bool((response.lower != response.upper).any()),
        np.array([(end * weight).sum() for end in ends]),
        {},
        tuple(
            None if g is None else np.asarray(np.bincount(g.code, weights=weight, minlength=g.size), dtype=np.float64)
            for g in groups
        ),
        Fractions.of(weight),
    )


def measure_columns(state: DesignState, table: Table, weight: Array) -> dict[str, ColumnMeasure]:
    """Contribution of some rows to the facts about the columns of all."""
    return {name: _measure(state, column, weight) for name, column in table.columns.items()}


def facts_of(found: RowFacts, counts: dict[str, int], names: Iterable[str], columns: Any) -> Facts:
    """Facts of what all rows tell; those of columns, or what gives these."""
    known = not np.isnan(found.mean_limits).any()
    means = found.mean_limits, found.mean_window
    return Facts(found.n, found.nobs, dict(counts), found.any_censored, known, *means, tuple(names), columns)


def facts_of_columns(state: DesignState, found: RowFacts, table: Table) -> dict[str, ColumnFacts]:
    """Facts of every column; those of numbers that name groups have the level of most weight for typical value."""
    rows = _example_rows(table, columns_together(state))
    columns = {name: _column_facts(table.columns[name], found.columns[name], row) for name, row in rows.items()}
    for term, levels, weight in zip(state.spec.processes, state.group_levels, found.groups, strict=True):
        name = term.group
        if name not in columns or levels is None or weight is None:
            continue
        also_number = not term.factors and name in state.spec.names(*NUMERIC_ROLES)
        if columns[name].kind == "number" and not also_number:
            columns[name] = replace(columns[name], typical=levels[int(np.argmax(weight))])
    return columns


def columns_together(state: DesignState) -> list[list[str]]:
    """For each expression of the model the input columns it uses."""
    texts = [name for part in state.parts for name, _ in linear_terms(part.linear)]
    texts += [x.text for part in state.parts for x in part.spec.offsets]
    texts += [x.text for term in state.spec.processes for x in term.inputs]
    return [[name for name in state.input_names if mentions(text, name)] for text in texts]


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
    """Values of a numeric column that is a term ``C(...)`` by itself, None for any other column."""
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
