"""Summaries of fits with a parametric baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tobitgp.data.training_summary import NO_ROWS
from tobitgp.errors import SpecError
from tobitgp.report import summary
from tobitgp.report.summaries import ROBUST
from tobitgp.report.summary import FitSummary, Section, number
from tobitgp.report.terms import grid_frame

if TYPE_CHECKING:
    from tobitgp.kinds.parametric import ParametricParts
    from tobitgp.results.parametric.results import ParametricHazardResults

_TITLES = {"hazard": "Proportional hazards", "odds": "Proportional odds", "probit": "Probit survival model"}
_OF = {
    "hazard": "Coefficients are logarithms of hazard ratios.",
    "odds": "Coefficients are logarithms of odds ratios of the event before any time.",
    "probit": "Coefficients are differences of minus the probit of survival; no ratio is the same at all times.",
}
_RATIOS = {"hazard": "hazard ratio", "odds": "odds ratio"}


def summarise_parametric(results: ParametricHazardResults, alpha: float = 0.05) -> FitSummary:
    """Summary: coefficients, ratios, parameters of the baseline."""
    parts, frame, ends = results.parts, results.summary_frame(alpha), summary.interval_headers(alpha)
    p = len(results.model.exog_names)
    baseline = parts.baseline.words
    if results.knots:
        baseline = f"{baseline}, df = {parts.baseline.size}"
    model = [
        ("Dep. variable:", results.model.endog_names),
        ("Baseline:", baseline),
        ("Link:", parts.link),
        ("Method:", "maximum likelihood"),
        ("Covariance:", results.cov_type),
        ("Df model:", f"{results.df_model:g}"),
        ("Iterations:", str(parts.maximum.iterations)),
    ]
    numbers: dict[str, float | str] = {"Log-likelihood:": results.llf, "AIC:": results.aic, "BIC:": results.bic}
    rows = [summary.estimate_row(name, row[:6]) for name, row in summary.frame_rows(frame)]
    ratios = [
        [name, *map(number, row[6:])]
        for name, row in summary.frame_rows(frame.iloc[:p])
        if parts.link in _RATIOS and parts.written.is_own(name)
    ]
    columns = ["std err", "z", "P>|z|", *ends]
    sections = [
        Section(["", "coef", *columns], rows[:p]),
        Section(["", _RATIOS.get(parts.link, ""), *ends], ratios),
        Section(["", "baseline", *columns], rows[p:]),
    ]
    title = _TITLES[parts.link] + ("" if parts.frailty is None else " with a gamma frailty")
    if parts.frailty is not None:
        model.insert(2, ("Frailty:", f"{parts.frailty}, {len(parts.groups)} groups"))
    return summary.build_summary(results, title, model, numbers, sections, _notes(results))


def _notes(results: ParametricHazardResults) -> list[str]:
    """What a reader should know, most urgent first."""
    notes, message = [], results.parts.maximum.message
    if not results.converged:
        notes.append(f"NOT CONVERGED: {message} Read no number here as final.")
    notes.append(_OF[results.parts.link])
    notes.append(_baseline_note(results))
    if results.parts.frailty is not None:
        notes.append("Coefficients are given the frailty, of mean 1 and variance theta; predictions average over it.")
    notes += [*summary.censoring_note(results), *summary.response_notes(results)]
    errors = ROBUST.get(results.cov_type, "from the observed information")
    logs = ["the shape"] * results.parts.baseline.positive + ["theta"] * (results.parts.frailty is not None)
    log = f"; intervals of {' and '.join(logs)} are formed on the log scale" if logs else ""
    notes.append(f"Standard errors are {errors}{log}.")
    return notes


def _baseline_note(results: ParametricHazardResults) -> str:
    """What the parameters of the baseline are."""
    if results.knots:
        shown = ", ".join(f"{knot:.4g}" for knot in np.unique(results.knots))
        return f"The baseline is a natural cubic spline of log time with knots at the times {shown}."
    if results.parts.baseline.positive:
        return "Cumulative hazards are exp(Intercept + x'b) t^shape."
    return "Hazards are exp(Intercept + x'b + shape t), shape in units of 1 / time."


def typical_rows(parts: ParametricParts) -> pd.DataFrame:
    """A row with typical covariates, one for each stratum."""
    if parts.covariates is None:
        raise SpecError(f"{NO_ROWS}, so there is nothing to draw; use plot_hazard(df=...) with times=.")
    coded = frozenset(coding.text.strip("`") for coding in parts.spec.codings)
    typical = grid_frame(parts.covariates, None, factors=coded, size=1)
    if parts.written.stratum is None:
        return typical if len(typical) else pd.DataFrame(index=[0])
    column = parts.written.stratum.strip("`")
    strata = sorted(parts.covariates[column].unique(), key=str)
    rows = [typical.assign(**{column: stratum}) for stratum in strata]
    return pd.concat(rows).set_axis([f"{column} = {stratum}" for stratum in strata])
