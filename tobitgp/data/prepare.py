"""ModelSpec + data frame -> the arrays of the training rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from tobitgp.data.beside import read_weights
from tobitgp.data.checks import check_dates
from tobitgp.data.detects import spell_numbers
from tobitgp.data.response import Censored, recognise_duration, recognise_text
from tobitgp.data.shapes import CensoredResponse, Design
from tobitgp.data.slips import refuse_misread_limits
from tobitgp.data.state import DesignState, fit_design, input_names
from tobitgp.data.table import Table, column_names, read_table
from tobitgp.data.used import complete_rows, known_response
from tobitgp.errors import DataError, SpecError
from tobitgp.formula.parse import refuse_response, unknown_column
from tobitgp.formula.spec import ModelSpec, ScaleSpec
from tobitgp.typing import BoolArray, Frame


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
    """Read the training rows.

    Shapes: weights, var_weights (n_data,).
    """
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
