"""Baseline hazards and Schoenfeld residuals of proportional hazards under the names of statsmodels' PHReg."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.absorbed import as_dense
from tobitgp.diagnostics.training_draws import training_rows
from tobitgp.errors import SpecError
from tobitgp.results.counterfactuals import column_levels
from tobitgp.results.hazards.cells import at_risk
from tobitgp.results.hazards.partial_likelihood import risk_sets_of
from tobitgp.results.hazards.proportionality import strata_of, tested_columns
from tobitgp.results.why_not import where_defined
from tobitgp.typing import Array


def _at_zero(results: Any) -> dict[Any, pd.DataFrame]:
    """A row for each stratum by its level, 0 without strata: numbers at 0, factors at their first level."""
    parts, stratum = results.parts, results.parts.written.stratum
    levels = {name: column_levels(parts, name) for name in parts.facts.columns}
    row = {name: 0.0 if of is None else of[0] for name, of in levels.items()}
    name = None if stratum is None else stratum.strip("`")
    if name is None:
        return {0: pd.DataFrame([row])}
    training_rows(parts, "The baseline of each stratum")
    return {level: pd.DataFrame([row | {name: level}]) for level in pd.factorize(parts.covariates[name], sort=True)[1]}


def _hazard_of(results: Any, row: pd.DataFrame, times: Any) -> Array:
    at = np.atleast_1d(np.asarray(times, dtype=float))
    order, place = np.unique(at, return_inverse=True)
    found = results.predict_cumulative_hazard(row, order).to_numpy()[:, 0][place]
    return np.asarray(found if np.ndim(times) else found[0])


@where_defined
def baseline_cumulative_hazard_function(results: Any) -> dict[Any, Callable[[Any], Array]]:
    """Functions of time that return the baseline cumulative hazard, by level of the strata; 0 without strata.

    The hazard, integrated over time, is a dimensionless number. Numbers are at 0, factors at their first level;
    ``predict_cumulative_hazard`` has other rows. See (PH1) or (PH7) of the theory pages.
    """
    return {level: partial(_hazard_of, results, row) for level, row in _at_zero(results).items()}


@where_defined
def baseline_cumulative_hazard(results: Any) -> list[tuple[Array, Array, Array]]:
    """Times, cumulative hazard and survival probability, (m,) each, in one tuple per stratum.

    These are ``baseline_cumulative_hazard_function`` at the ends of the rows; (PH1) or (PH7) of the theory pages.
    """
    training = training_rows(results.parts, "baseline_cumulative_hazard")
    ends = at_risk(training.response).exit
    written, covariates = results.parts.written, results.parts.covariates
    name, out = None if written.stratum is None else written.stratum.strip("`"), []
    for level, hazard in baseline_cumulative_hazard_function(results).items():
        times = np.unique(ends if name is None else ends[(covariates[name] == level).to_numpy()])
        H = hazard(times)
        out.append((times, H, np.exp(-H)))
    return out


@where_defined
def schoenfeld_residuals(results: Any) -> pd.DataFrame:
    r"""Covariates of each event less their mean over the risk set, :math:`x_i - \sum_j r_j x_j / \sum_j r_j`.

    Rows are those used, columns those of the model, in its units; NaN in rows without an event. Relative hazards r are
    those of the fit; rows with the same time are all at risk at that time. ``proportionality`` tests these residuals.

    References
    ----------
    D. Schoenfeld (1982), Partial residuals for the proportional hazards regression model, *Biometrika* 69, 239-241.
    """
    parts = results.parts
    if getattr(parts, "link", "hazard") != "hazard":
        raise SpecError(f"Schoenfeld residuals require proportional hazards, and this fit has link={parts.link!r}.")
    training = training_rows(parts, "schoenfeld_residuals")
    risk, columns = at_risk(training.response), tested_columns(parts, parts.written)
    X = as_dense(training.design.H)[:, columns]
    log_ratio = results._log_relative_hazards
    ratio = risk.weight * np.exp(log_ratio - log_ratio.max(initial=-np.inf))
    out = np.full(X.shape, np.nan)
    for here, sets in risk_sets_of(risk, strata_of(parts, parts.written, len(X))):
        r, x, first = ratio[here], X[here], sets.share == 0.0  # before any of the events at a time has left
        mean = sets.turns(r[:, None] * x)[first] / np.maximum(sets.turns(r), sets.events(r)[sets.time])[first, None]
        out[here[sets.dead]] = x[sets.dead] - mean[sets.of_dead]
    names = [parts.state.linear.columns[j] for j in columns]
    return pd.DataFrame(out, index=training.labels, columns=names)
