"""The rows of a fit as lifelines' fitters show them, and the row of their central values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tobitgp.diagnostics.training_draws import training_rows
from tobitgp.errors import UnavailableError
from tobitgp.results.survival import read_times
from tobitgp.results.why_not import HAZARDS
from tobitgp.typing import Array, IntArray


def _series(model: Any, values: Array, name: str | None) -> pd.Series[Any]:
    labels = training_rows(model.results_.parts, f"SurvivalModel.{name}").labels
    return pd.Series(values, index=labels, name=name).iloc[_order(model)]


def _order(model: Any) -> IntArray:
    """Places (n,) of the rows as lifelines' fitter shows them: CoxPHFitter sorts rows by strata, time and event."""
    parts = model.results_.parts
    response = parts.rows.response
    if model._kind != "right" or model.results_._kind not in HAZARDS:
        return np.arange(len(response.lower))
    keys = pd.DataFrame({"time": response.lower, "event": response.lower == response.upper})
    strata = {f"stratum {name}": parts.covariates[name].to_numpy() for name in model.strata or ()}
    order = keys.assign(**strata).sort_values([*strata, "time", "event"]).index
    return np.asarray(order, dtype=np.intp)


def _end(model: Any, of: str, column: str) -> pd.Series[Any]:
    name = getattr(model, f"{column}_col")
    if name is None:
        raise UnavailableError(f"SurvivalModel.{column}s: The last fit has other columns. Use timeline and results_.")
    return _series(model, getattr(model.results_.parts.rows.response, of), name)


def durations(model: Any) -> pd.Series[Any]:
    """Times of the rows used, in the unit of the data, by the index of the data."""
    return _end(model, "upper" if model._kind == "left" else "lower", "duration")


def lower_bound(model: Any) -> pd.Series[Any]:
    """Lower bounds of the rows used, in the unit of the data, by the index of the data."""
    return _end(model, "lower", "lower_bound")


def upper_bound(model: Any) -> pd.Series[Any]:
    """Upper bounds of the rows used, in the unit of the data, by the index of the data."""
    return _end(model, "upper", "upper_bound")


def event_observed(model: Any) -> pd.Series[Any]:
    """Whether the time of each row used is that of its event, by the index of the data; without units."""
    response = model.results_.parts.rows.response
    return _series(model, response.lower == response.upper, model.event_col or "E")


def entry(model: Any) -> pd.Series[Any]:
    """Times at which the rows used entered, 0 without late entry, in the unit of the data, by the index of the data."""
    return _series(model, np.maximum(model.results_.parts.rows.response.entry, 0.0), model.entry_col or "entry")


def weights(model: Any) -> pd.Series[Any]:
    """Frequency weights of the rows used, 1 without weights, by the index of the data."""
    return _series(model, model.results_.parts.rows.response.weight, model.weights_col or "weights")


def timeline(model: Any) -> Array:
    """Times (m,), in the unit of the data: ``fit(timeline=)``, or the distinct times of the rows."""
    given = model._settings.timeline
    if given is not None:
        return np.unique(read_times(given))
    ends = np.concatenate(model.results_._training_ends()[:2])
    return np.unique(ends[np.isfinite(ends)])


def central_values(model: Any) -> pd.DataFrame:
    """Medians of numbers, whole for whole numbers, and the most frequent other values; a row for each stratum."""
    training_rows(model.results_.parts, "The central values of the covariates")
    table = model.results_.parts.covariates
    if not model.strata:
        return _central(table, "baseline")
    (stratum,) = model.strata
    rows = [_central(rows, level).assign(**{stratum: level}) for level, rows in table.groupby(stratum, observed=True)]
    return pd.concat(rows)


def _central(table: pd.DataFrame, label: Any) -> pd.DataFrame:
    def value(column: pd.Series[Any]) -> Any:
        number = pd.api.types.is_numeric_dtype(column)
        return column.dtype.type(column.median()) if number else column.mode()[0]

    return pd.DataFrame({name: [value(table[name])] for name in table}, index=[label])


def median_survival_time_(model: Any) -> float:
    """Median time of a row with the central values of the covariates, in the unit of the data."""
    return float(model.predict_median(central_values(model)).iloc[0])


def mean_survival_time_(model: Any) -> float:
    """Mean time of a row with the central values of the covariates, in the unit of the data."""
    return float(model.predict_expectation(central_values(model)).iloc[0])
