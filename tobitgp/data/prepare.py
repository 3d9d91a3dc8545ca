"""ModelSpec + data frame -> the arrays of the training rows."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy.typing as npt
import pandas as pd

from tobitgp.data.beside import read_weights
from tobitgp.data.checks import check_dates
from tobitgp.data.detects import spell_numbers
from tobitgp.data.response import Censored, build_response, recognise_text, unknown_rows
from tobitgp.data.shapes import CensoredResponse, Design
from tobitgp.data.state import DesignState, fit_design, input_names
from tobitgp.data.table import Table, column_names, read_table
from tobitgp.errors import DataError, SpecError, user_level
from tobitgp.formula.scale import refuse_response
from tobitgp.formula.spec import ModelSpec, ScaleSpec
from tobitgp.formula.variables import unknown_column
from tobitgp.typing import BoolArray, Frame, IntArray


@dataclass(frozen=True, slots=True)
class TrainingData:
    """Everything a fit needs from the data.

    Attributes
    ----------
    response : CensoredResponse
        Of the n rows that are kept.
    design : Design
        Of the same rows.
    state : DesignState
        Replays the covariates on new data; its ``spec`` is the one given, with what the data added to it.
    index : pandas.Index, length n_data
        Row labels of the data.
    kept : (n_data,) array of bool
        Rows of the data that are used.
    counts : dict of int
        Rows that are ``exact``, ``left``, ``right`` and ``interval`` censored, and ``dropped`` (missing values or
        weight 0). Censored rows are counted by their kind whether they are modelled, left out (``censored="drop"``:
        then they are in none of the arrays) or taken as exact (``"ignore"``).
    """

    response: CensoredResponse
    design: Design
    state: DesignState
    index: pd.Index
    kept: BoolArray
    counts: dict[str, int]

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
    missing: Literal["drop", "raise"] = "drop",
    censored: Censored = "model",
) -> TrainingData:
    """Read the training rows.

    Parameters
    ----------
    spec : ModelSpec
    data : DataFrame or dict of columns
        Never modified.
    scale : ScaleSpec, optional
        Of the log noise scale; one scale without.
    weights : str or (n_data,) array, optional
        Frequency weights, or the column that holds them; rows of weight 0 are left out, as if they were not there.
        A Series finds its rows by the labels of a DataFrame.
    missing : {"drop", "raise"}
        What to do with rows in which the response or an input is missing; rows of weight 0 may miss anything.
    censored : {"model", "drop", "ignore"}
        Model censored rows, leave them out, or take their limits as exact values, of intervals the middle.

    Returns
    -------
    TrainingData

    Raises
    ------
    FormulaError
        If a formula names a column that is not there, or the noise scale depends on the response.
    DataError
        If the data cannot be used; the message names column and rows.
    SpecError
        For unknown options.

    Warns
    -----
    UserWarning
        When rows are dropped, and when values lie strictly beyond their limits.

    Examples
    --------
    >>> from tobitgp.formula import parse_formula
    >>> data = {"x": [1.0, 2.0, 3.0], "y": [0.0, 0.5, 2.0]}
    >>> training = prepare(parse_formula("y ~ gp(x) | censor(0)"), data)
    >>> training.response.upper, training.counts["left"]
    (array([0. , 0.5, 2. ]), 1)
    """
    _check_option("missing", missing, ("drop", "raise"))
    _check_option("censored", censored, ("model", "drop", "ignore"))
    _check_columns(spec, scale, data)
    inputs = input_names(spec, scale)
    table = read_table(_spell_response(spec, inputs, data), dict.fromkeys((*spec.names(), *inputs)))
    index, n_data = table.index, table.n
    if n_data == 0:
        raise DataError("The data have no rows")
    check_dates(spec, table)
    if scale is not None:
        check_dates(scale, table)
    spec = recognise_text(spec, table)
    weight = read_weights(weights, data, n_data)
    kept = _complete_rows(spec, inputs, table, weight > 0, missing)
    if not kept.any():
        words = _missing_words(spec, inputs, table.take(weight > 0))
        raise DataError(f"No row is left: {words}; {int((weight == 0).sum())} of weight 0")
    table, weight = table.take(kept), weight[kept]
    response, kind = build_response(spec, table, weight, censored=censored)
    counts = _count(kind, n_data)
    if censored == "drop" and kind.any():
        exact = kind == 0
        if not exact.any():
            raise DataError(f"No row is left: all {len(kind)} are censored, and censored='drop' leaves them out")
        table, response = table.take(exact), _take(response, exact)
        kept[kept] = exact
    design, state = fit_design(spec, table, scale)
    return TrainingData(response, design, state, index, kept, counts)


def _check_option(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise SpecError(f"{name}= is one of {', '.join(repr(item) for item in allowed)}, not {value!r}")


def _check_columns(spec: ModelSpec, scale: ScaleSpec | None, data: Frame) -> None:
    """Refuse columns that are not there, and a noise scale that depends on the response."""
    present = column_names(data)
    known = set(present)
    for part in (spec,) if scale is None else (spec, scale):
        for variable in sorted(part.variables, key=lambda item: item.start):
            if variable.name not in known:
                raise unknown_column(part.formula, variable.name, variable.start, present)
    if scale is not None:
        refuse_response(scale, spec)


def _spell_response(spec: ModelSpec, inputs: Sequence[str], data: Frame) -> Frame:
    """Data in which a response of numbers and text, ``<0.5`` among them, is all text."""
    return spell_numbers(data, [name for name in spec.names("response") if name not in inputs], mixed_only=True)


def _complete_rows(spec: ModelSpec, inputs: Sequence[str], table: Table, counted: BoolArray, missing: str) -> BoolArray:
    """Rows that count in which something is known of the response, and no input is missing."""
    incomplete = counted & (unknown_rows(spec, table) | table.missing(inputs))
    if incomplete.any():
        words = _missing_words(spec, inputs, table.take(counted))
        if missing == "raise":
            raise DataError(f"{words}; first in {table.rows(incomplete)}")
        count = int(incomplete.sum())
        if count < int(counted.sum()):
            dropped = f"{count} of {table.n} rows {'is' if count == 1 else 'are'} dropped"
            warnings.warn(f"{dropped}: {words}", UserWarning, stacklevel=user_level())
    return counted & ~incomplete


def _missing_words(spec: ModelSpec, inputs: Sequence[str], table: Table) -> str:
    names = dict.fromkeys((*spec.names("response"), *inputs))
    counts = {repr(name): int(table.columns[name].missing.sum()) for name in names}
    if spec.response.kind == "interval":
        counts = {f"both ends of {spec.response.label}": int(unknown_rows(spec, table).sum()), **counts}
    listed = ", ".join(f"{name} ({count})" for name, count in counts.items() if count)
    return f"missing values in {listed or 'no column'}"


def _count(kind: IntArray, n_data: int) -> dict[str, int]:
    sides = {"exact": 0, "left": -1, "right": 1, "interval": 2}
    counts = {name: int((kind == side).sum()) for name, side in sides.items()}
    return {**counts, "dropped": n_data - len(kind)}


def _take(response: CensoredResponse, rows: BoolArray) -> CensoredResponse:
    names = ("lower", "upper", "limit_lower", "limit_upper", "entry", "exit", "weight")
    return CensoredResponse(*(getattr(response, name)[rows] for name in names))
