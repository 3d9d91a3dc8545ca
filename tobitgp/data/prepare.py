"""A specification and a data frame become the arrays of the training rows."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from tobitgp.data.arrays import CensoredResponse, Design
from tobitgp.data.columns import check_dates
from tobitgp.data.design import DesignState, fit_design, input_names
from tobitgp.data.response import (
    Censored,
    read_response,
    recognise_duration,
    recognise_text,
    refuse_misread_limits,
    refuse_unknown_limits,
    unknown_rows,
    warn_beyond,
)
from tobitgp.data.row_arguments import read_weights
from tobitgp.data.spellings import spell_numbers
from tobitgp.data.table import RowNames, Table, column_names, read_table
from tobitgp.errors import DataError, SpecError, user_level
from tobitgp.formula.parse import refuse_response, unknown_column
from tobitgp.formula.spec import ModelSpec, ScaleSpec
from tobitgp.typing import Array, BoolArray, Frame

Item = TypeVar("Item")


def join(items: Sequence[Item]) -> Item:
    """Put the arrays of equal dataclasses, or named tuples, after one another; what is no array is the first's."""
    return items[0] if len(items) == 1 else _join(items)


def _join(items: Sequence[Any]) -> Any:
    first = items[0]
    if isinstance(first, np.ndarray):
        return np.concatenate(items)
    if dataclasses.is_dataclass(first) and not isinstance(first, type):
        names = [field.name for field in dataclasses.fields(first)]
        return type(first)(**{name: _join([getattr(item, name) for item in items]) for name in names})
    if isinstance(first, tuple):
        parts = [_join(entries) for entries in zip(*items, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else tuple(parts)
    return first


SIDES = {"exact": 0, "left": -1, "right": 1, "interval": 2}


@dataclass(frozen=True, slots=True)
class Complete:
    """Which rows are complete."""

    n: int  # rows of the data
    weightless: int  # rows of weight 0, which may miss anything
    incomplete: RowNames  # rows that count, and miss something
    missing: dict[str, int]  # for each column

    def merge(self, other: Complete) -> Complete:
        """Of both sets of rows."""
        return Complete(
            self.n + other.n,
            self.weightless + other.weightless,
            self.incomplete.merge(other.incomplete),
            {name: count + other.missing[name] for name, count in self.missing.items()},
        )

    @property
    def words(self) -> str:
        """What is missing."""
        listed = ", ".join(f"{name} ({count})" for name, count in self.missing.items() if count)
        return f"missing values in {listed or 'no column'}"

    @property
    def _why_none(self) -> str:
        if self.weightless == self.n:
            return f"all {self.n} have weight 0"
        return self.words + (f", and {self.weightless} rows of weight 0" if self.weightless else "")

    def judge(self, missing: Literal["drop", "raise"]) -> None:
        """Say which rows are left out."""
        count, counted = self.incomplete.count, self.n - self.weightless
        if count and missing == "raise":
            raise DataError(f"{self.words}; first in {self.incomplete}")
        if count == counted:
            raise DataError(f"No row is left: {self._why_none}")
        if count:
            dropped = f"{count} of {self.n} rows {'is' if count == 1 else 'are'} dropped"
            warnings.warn(f"{dropped}: {self.words}", UserWarning, stacklevel=user_level())


class Counted(NamedTuple):
    """Rows of each kind, left out or not, and those beyond their limits."""

    kinds: dict[str, int]  # rows that are ``exact``, ``left``, ``right`` and ``interval`` censored
    used: int  # rows that are not left out
    beyond: RowNames
    open: RowNames  # rows that say nothing of a time: it is positive

    def merge(self, other: Counted) -> Counted:
        """Of both sets of rows."""
        kinds = {name: count + other.kinds[name] for name, count in self.kinds.items()}
        return Counted(kinds, self.used + other.used, self.beyond.merge(other.beyond), self.open.merge(other.open))

    def inside(self, place: str) -> Counted:
        """The same, rows named as those of a partition."""
        return self._replace(beyond=self.beyond.inside(place), open=self.open.inside(place))

    def judge(self, missing: Literal["drop", "raise"]) -> None:
        """Say which values were taken for others, and which rows are left out."""
        warn_beyond(self.beyond)
        n = sum(self.kinds.values())
        count = self.open.count
        says = f"{count} row{' says' if count == 1 else 's say'} nothing of a positive response ({self.open})"
        why = "the lower end is not above 0, and the upper one is open"
        if count and missing == "raise":
            raise DataError(f"{says}: {why}")
        if count and not n:
            raise DataError(f"No row is left: {says}; {why}")
        if not self.used:
            raise DataError(f"No row is left: all {n} are censored, and censored='drop' leaves them out")
        if count:
            dropped = "it is dropped" if count == 1 else "they are dropped"
            warnings.warn(f"{says}, and {dropped}: {why}", UserWarning, stacklevel=user_level())


def complete_rows(spec: ModelSpec, inputs: Sequence[str], table: Table, weight: Array) -> tuple[BoolArray, Complete]:
    """Rows of positive weight in which something is known of the response, and no input or code is missing.

    Shapes: weight (n,); gives kept (n,).
    """
    counted = weight > 0
    unknown = unknown_rows(spec, table)
    uncoded = table.missing(spec.names("event"))
    refuse_unknown_limits(spec, table, counted & unknown & ~uncoded)
    incomplete = counted & (unknown | uncoded | table.missing(inputs))
    names = dict.fromkeys((*spec.names("response", "event"), *inputs))
    missing = {repr(name): int((table.columns[name].missing & counted).sum()) for name in names}
    if spec.response.kind == "interval":
        missing = {f"both ends of {spec.response.label}": int((unknown & counted).sum()), **missing}
    found = Complete(table.n, int((~counted).sum()), table.name_rows(incomplete), missing)
    return counted & ~incomplete, found


def known_response(
    spec: ModelSpec, table: Table, weight: Array, censored: Censored, *, log_time: bool = False
) -> tuple[CensoredResponse, BoolArray, Counted]:
    """What is known of the response in complete rows, and which of them are used; weight (n,); gives used (n,)."""
    response, kind, beyond = read_response(spec, table, weight, censored=censored)
    says = ~((kind == 1) & (response.lower <= 0.0)) if log_time else np.ones(table.n, dtype=bool)
    used = says & (kind == 0) if censored == "drop" else says
    kinds = {name: int((kind[says] == side).sum()) for name, side in SIDES.items()}
    counted = Counted(kinds, int(used.sum()), table.name_rows(beyond & says), table.name_rows(~says))
    return response if used.all() else response.rows(used), used, counted


@dataclass(frozen=True, slots=True)
class TrainingData:
    """Everything a fit needs from the data."""

    response: CensoredResponse  # of the n rows that are kept
    design: Design  # of the same rows
    state: DesignState  # replays the covariates on new data
    index: pd.Index  # row labels of the data
    kept: BoolArray  # (n_data,), rows of the data that are used
    counts: dict[str, int]  # rows that are ``exact``

    @property
    def labels(self) -> npt.NDArray[Any]:
        """Labels (n,) of the rows that are kept."""
        return self.index[self.kept].to_numpy()


def prepare(
    spec: ModelSpec,
    data: Frame,
    *,
    scale: ScaleSpec | None = None,
    weights: str | Any | None = None,
    var_weights: str | Any | None = None,
    missing: Literal["drop", "raise"] = "drop",
    censored: Censored = "model",
    log_time: bool = False,
) -> TrainingData:
    """Read the training rows; weights, var_weights (n_data,)."""
    check_request(spec, scale, column_names(data), missing, censored)
    inputs = input_names(spec, scale)
    table = read_table(spell_response(spec, inputs, data), dict.fromkeys((*spec.names(), *inputs)))
    index, n_data = table.index, table.n
    if n_data == 0:
        raise DataError("The data have no rows")
    spec = recognise(spec, scale, table)
    weight = read_weights(weights, data, n_data)
    kept, complete = complete_rows(spec, inputs, table, weight)
    complete.judge(missing)
    table, weight = table.take(kept), weight[kept]
    response, used, counted = known_response(spec, table, weight, censored, log_time=log_time)
    refuse_misread_limits(spec, table)
    counted.judge(missing)
    if not used.all():
        table = table.take(used)
        kept[kept] = used
    counts = {**counted.kinds, "dropped": n_data - sum(counted.kinds.values())}
    design, state = fit_design(spec, table, scale)
    if var_weights is not None:
        w = read_weights(var_weights, data, n_data, "var_weights")[kept]
        mean = float(np.average(w, weights=response.weight))
        design = replace(design, spread=np.sqrt(mean / w))
        state = replace(state, var_weight=(var_weights if isinstance(var_weights, str) else "", mean))
    return TrainingData(response, design, state, index, kept, counts)


def check_request(
    spec: ModelSpec, scale: ScaleSpec | None, columns: Sequence[Any], missing: str, censored: str
) -> None:
    """Refuse unknown options, columns that are not there, and a noise scale that depends on the response."""
    _check_option("missing", missing, ("drop", "raise"))
    _check_option("censored", censored, ("model", "drop", "ignore"))
    known = set(columns)
    for part in (spec,) if scale is None else (spec, scale):
        for variable in sorted(part.variables, key=lambda item: item.start):
            if variable.name not in known:
                raise unknown_column(part.formula, variable.name, variable.start, columns)
    if scale is not None:
        refuse_response(scale, spec)


def recognise(spec: ModelSpec, scale: ScaleSpec | None, table: Table) -> ModelSpec:
    """The model with what the types of its columns say of it; dates in the wrong place are refused."""
    check_dates(spec, table)
    if scale is not None:
        check_dates(scale, table)
    return recognise_duration(recognise_text(spec, table), table)


def spell_response(spec: ModelSpec, inputs: Sequence[str], data: Frame) -> Frame:
    """Data in which a response of numbers and text, ``<0.5`` among them, is all text."""
    return spell_numbers(data, text_names(spec, inputs), mixed_only=True)


def text_names(spec: ModelSpec, inputs: Sequence[str]) -> list[str]:
    """Columns of the response that may hold numbers and text."""
    return [name for name in spec.names("response") if name not in inputs]


def _check_option(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in allowed:
        raise SpecError(f"{name}= is one of {', '.join(repr(item) for item in allowed)}, not {value!r}")
