"""Summaries of processes."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tobitgp.formula.spec import GPTerm
from tobitgp.inference.evidence import COARSE
from tobitgp.inference.fitted import bound_words, coarse_remedy, coarse_words, rounding_words
from tobitgp.kinds.process import ProcessParts
from tobitgp.report import summary
from tobitgp.report.summary import FitSummary, Rows, Section, number
from tobitgp.results.hazard_ratios import HAZARD, ODDS
from tobitgp.results.parameter_estimates import slope_posterior
from tobitgp.results.priors import PriorRow, line_rows, linear_rows
from tobitgp.results.process.process_effects import scale_at_means
from tobitgp.typing import Array

if TYPE_CHECKING:
    from tobitgp.results.process.process_results import GPResults
    from tobitgp.results.results import Results

_PLAIN = 6  # columns that every table of estimates has; those after it are factors
ROBUST = {
    "HC0": "heteroscedasticity-consistent (HC0)",
    "HC1": "heteroscedasticity-consistent (HC1)",
    "cluster": "clustered",
}
_RATIOS = {HAZARD: "hazard ratio", ODDS: "odds ratio"}
_RATIO_NOTES = {
    HAZARD: "Hazard ratios are exp(-coef / sigma), the same at all times; of processes between the inputs named.",
    ODDS: "Odds ratios are exp(coef / sigma), of surviving any time; of processes between the inputs named.",
}
_NOTED_PRIORS = 8
_ROOM = 25
_NO_EVIDENCE = {
    "local": "Log evidence (local) is that of parabolas below the likelihoods of the censored rows. With censoring "
    "noise above 0 these are not the likelihoods of the data, whose evidence it may exceed; ELBO is a bound in any "
    "case. Posterior sds at censored rows are too small.",
    "monte_carlo": "Log evidence (monte_carlo) averages over fixed draws and errs to either side; ELBO is a bound.",
    "karlova": "Log evidence (karlova) is no bound: it may exceed the evidence. Hyper-parameters are from exact "
    "variational inference; ELBO is a bound.",
}


def summarise_process(results: GPResults, alpha: float = 0.05, ratios: pd.DataFrame | None = None) -> FitSummary:
    """Summary of a fitted Gaussian process."""
    label = f"Log evidence ({results.evidence_kind}):"
    numbers: dict[str, float | str] = {label: results.log_evidence, "ELBO:": results.elbo}
    if np.isfinite(results.log_evidence_integrated):
        numbers["Log evidence, integrated:"] = results.log_evidence_integrated
    numbers["Passes over the data:"] = str(sum(stage[2] for stage in results.parts.fitted.trace.stages))
    sections, notes = _sections(results, alpha), _notes(results)
    if ratios is not None:
        sections, notes = [*sections, ratio_section(ratios, alpha)], [*notes, ratio_note(results, ratios)]
    return summary.build_summary(
        results, _title(results), _model_rows(results), numbers, sections, notes, scale_formula(results)
    )


def ratio_section(ratios: pd.DataFrame, alpha: float) -> Section:
    """Table of hazard ratios or odds ratios."""
    name = _RATIOS[ratios.columns[2]]
    rows = []
    for label, (value, error, ratio, low, high, z, p) in summary.frame_rows(ratios):
        cells = summary.estimate_row(label, np.array([ratio, error, z, p, low, high]))
        rows.append([label, number(value), *cells[2:3], cells[1], *cells[3:]])
    return Section(["", f"log {name}", "std err", name, "z", "P>|z|", *summary.interval_headers(alpha)], rows)


def ratio_note(results: Results, ratios: pd.DataFrame) -> str:
    """What ratios are, and given what."""
    given = any(not term.factors for term in results.model.spec.gps)
    return _RATIO_NOTES[ratios.columns[2]] + given * " They are conditional on the random effects."


def scale_formula(results: Results) -> dict[str, str]:
    """The formula of log sigma, where there is one."""
    scale = results.model.spec.scale
    return {} if scale is None else {"log(sigma):": scale.formula}


def _title(results: GPResults) -> str:
    positive, terms = results.parts.family.log_time, results.parts.gp.terms
    if not any(term.factors for term in terms):
        return summary.model_title(results, positive=positive, added="with random effects" if terms else "")
    if positive:
        return summary.model_title(results, positive=True, added="with Gaussian processes")
    return summary.model_title(results, "Gaussian process regression", positive=False)


def _model_rows(results: GPResults) -> Rows:
    fitted, gp = results.parts.fitted, results.parts.gp
    J = len(fitted.points)
    hyper = "fixed" if not fitted.parameters.n_free else f"averaged, {J} points" if J > 1 else "at the maximum"
    moved = ", inducing moved" if any(name == "moved" for name, *_ in fitted.trace.stages) else ""
    levels = results.parts.state.group_levels
    field, first = fitted.points[0].field, 0 if gp.linear is None else 1
    standing = frozenset() if field is None else frozenset((field.blocks - first).tolist())
    how = "" if field is None else f", {field.structure.label}"
    terms = [
        line
        for i, (term, effects) in enumerate(zip(gp.terms, gp.effects, strict=True))
        for line in _term_words(term, effects, levels[i], how if i in standing else "")
    ]
    gain = fitted.neighbours_gain
    by_inducing = gp.terms and (np.isnan(gain) or fitted.nats_left > 0.0)
    gap = [("Approximation gap:", f"{fitted.nats_left:.2g} nats")] if by_inducing else []
    return [
        ("Dep. variable:", _short(results.model.endog_names)),
        ("Family:", gp.family.name),
        ("Method:", results.method),
        *(("GP terms:" * (k == 0), line) for k, line in enumerate(terms)),
        ("Hyper-parameters:", hyper),
        ("Basis functions:", f"{fitted.n_features}{moved}"),
        *gap,
        *([] if np.isnan(gain) else [("Twice the neighbours:", f"{gain:+.2g} nats")]),
        ("Effective df:", f"{results.df_model:.2f}"),
    ]


def _kernel(term: GPTerm, effects: Sequence[str]) -> str:
    """Kernels of a term, as in ``linear x rbf``."""
    if not term.factors:
        return "normal" if len(effects) < 2 else f"normal, {len(effects)} coefficients"
    return " x ".join(f.kernel + (" (ARD)" if f.ard and len(f.inputs) > 1 else "") for f in term.factors)


def _term_words(term: GPTerm, effects: Sequence[str], levels: Sequence[Any] | None, how: str) -> list[str]:
    """Name, kernels, number of groups and structure of a term, in lines that leave space for the next column."""
    kinds = "groups" if not term.factors else "correlated levels" if term.cor else "levels"
    what = _kernel(term, effects) + ("" if levels is None else f", {len(levels)} {kinds}") + how
    line = f"{_short(term.name)} {what}"
    return [line] if len(line) <= _ROOM else [_short(term.name), *textwrap.wrap(what, _ROOM)]


def _short(name: str, size: int = 24) -> str:
    return name if len(name) <= size else name[: size - 3] + "..."


def _sections(results: GPResults, alpha: float) -> list[Section]:
    """Tables of coefficients and of hyper-parameters."""
    rows, ends = list(summary.frame_rows(results.summary_frame(alpha))), summary.interval_headers(alpha)
    p, parameters = len(results.parts.gp.columns), results.parts.fitted.parameters
    coefficients = [summary.estimate_row(name, row) for name, row in [*rows[:p], *slope_rows(results.parts, alpha)]]
    curves = curve_names(results.parts)
    hyper = []
    for i, (name, row) in enumerate(zip(parameters.names, (row for _, row in rows[p:]), strict=True)):
        name = curves.get(name, name)
        cells = [name, number(row[0]), "", "", "", "(fixed)"]
        if parameters.free[i]:
            cells = [*summary.estimate_row(name, row, tests=False, unknown="(at bound)"), _prior(results, i)]
        hyper.append(cells)
    return [
        Section(["", "coef", "std err", "z", "P>|z|", *ends], coefficients),
        Section(["", "value", "std err", *ends, "prior"], hyper),
    ]


def curve_names(parts: ProcessParts) -> dict[str, str]:
    """What tables call the sd of a process beside its line, by the name of the parameter."""
    names = [term.name for term in parts.gp.terms if term.line]
    return {f"sd({name})": f"sd (curve) {name}" for name in names}


def slope_rows(parts: ProcessParts, alpha: float, sign: float = 1.0) -> list[tuple[str, Array]]:
    """Names and numbers of the slopes of processes, as those of coefficients."""
    found = slope_posterior(parts.fitted, parts.gp)
    mean, ends = sign * found.coefficients(), np.sort(sign * found.interval(alpha), axis=1)
    numbers = np.column_stack([mean, found.errors(), sign * found.z_values(), found.p_values(), ends])
    return list(zip(parts.gp.slopes, numbers, strict=True))


def _prior(results: GPResults, i: int) -> str:
    """Prior of a hyper-parameter in the user's units."""
    parameters = results.parts.fitted.parameters
    if not np.isfinite(parameters.prior_sd[i]):
        return "none"
    if parameters.roles[i] == "scale":
        mean, sd = (float(x[i] * parameters.units[i]) for x in (parameters.prior_mean, parameters.prior_sd))
        return f"normal({mean:.3g}, {sd:.3g})"
    if parameters.correlations[i]:
        return next(f"LKJ({term.eta:g})" for term in parameters.effects if term.cors.start <= i < term.cors.stop)
    median = float(np.exp(parameters.prior_mean[i]) * parameters.units[i])
    return f"lognormal({median:.3g}, {parameters.prior_sd[i]:.2g})"


def _notes(results: GPResults) -> list[str]:
    """What a reader should know, most urgent first."""
    fitted, gp = results.parts.fitted, results.parts.gp
    notes = [*_warnings(results), *summary.censoring_note(results), *summary.weights_note(results)]
    if gp.family.log_time:
        notes.append("Coefficients, sd() and sigma are on the scale of the logarithm of the response.")
    else:
        notes += summary.times_note(results)
    notes += summary.response_notes(results)
    if gp.columns:
        notes.append(_linear_note(results, len(fitted.points)))
    centred = _centred(results)
    if centred:
        notes.append(
            f"Coefficients hold the level of {', '.join(centred)}: as a term it is measured from its average over the "
            "rows, by= curves from that over the rows of their level."
        )
    if gp.slopes:
        listed = ", ".join(name + _prior_words(row) for name, row in line_rows(gp))
        notes.append(
            "A process of one input is a linear effect, slope(...), and a curve about it, whose standard deviation "
            f"is the parameter sd(...). Priors of slopes: {listed}."
        )
    if fitted.parameters.n_free:
        whence = "posterior moments of" if fitted.has_moments else "curvature of the log posterior in"
        notes.append(
            f"Hyper-parameters: value at the maximum, standard error and interval from the {whence} their logarithms"
            f"{_of_scales(results)}; priors are lognormal(median, sd of the logarithm), and no part of the evidence."
        )
    notes += _effects_note(results)
    where = ["at the means of the columns of log(sigma)"] if "scale" in fitted.parameters.roles else []
    if any(term.name.startswith("sigma: ") for term in gp.terms):
        where.append("where processes of log(sigma) are 0")
    if where:
        notes.append(f"sigma is that of rows {' and '.join(where)}.{_scale_at_means(results)}")
    return notes


def _scale_at_means(results: GPResults) -> str:
    """The noise scale at a row that occurs, where sigma is that of a process at 0, which none may have."""
    parts = results.parts
    if not parts.fitted.points[0].noise or not parts.facts.columns:
        return ""
    at = scale_at_means(parts)
    return f" At the means of numbers and the most frequent levels of factors it is {at:.4g}."


def _of_scales(results: GPResults) -> str:
    """What differs of coefficients of log sigma."""
    return ", of log(sigma)[...] as they are" if "scale" in results.parts.fitted.parameters.roles else ""


def _effects_note(results: GPResults) -> list[str]:
    """On what scale correlations of random effects are, and where the priors of intercepts stand."""
    parameters = results.parts.fitted.parameters
    words = []
    if parameters.correlations.any():
        words.append("Correlations: standard error and interval are from Fisher's z.")
    known = np.isfinite(parameters.prior_sd)
    centred = [term for term in parameters.effects if term.centred and known[term.sds].any()]
    if centred:
        names = ", ".join(parameters.names[term.first] for term in centred)
        words.append(
            f"The priors of {names} and of correlations with it are those of the groups at the means of the columns "
            "beside the intercept, the values those where these are 0."
        )
    return [" ".join(words)] if words else []


def _warnings(results: GPResults) -> list[str]:
    """How far the numbers are to be trusted."""
    fitted = results.parts.fitted
    notes = []
    if not fitted.trace.converged:
        notes.append(f"NOT CONVERGED: {fitted.trace.message} Read no number here as final.")
    if fitted.trace.fell_back:
        notes.append(
            "Expectation propagation did not converge; variational inference took over, and the evidence is a bound."
        )
    bound = bound_words(fitted)
    if bound:
        notes.append(bound)
    if fitted.nats_left > COARSE:
        notes.append(f"{coarse_words(fitted)}; {coarse_remedy(fitted.parameters, results.nobs)}.")
    elif rounding := rounding_words(fitted, results.nobs):
        notes.append(rounding)
    if results.evidence_kind in _NO_EVIDENCE:
        notes.append(_NO_EVIDENCE[results.evidence_kind])
    return notes


def _centred(results: GPResults) -> list[str]:
    """Processes whose level coefficients hold."""
    gp, point = results.parts.gp, results.parts.fitted.points[0]
    pairs = zip(gp.terms, point.levels[gp.linear is not None :], strict=False)
    return [term.name for term, (mean, _) in pairs if len(mean)]


def _linear_note(results: GPResults, J: int) -> str:
    averaged = f", averaged over {J} points of the hyper-parameters" if J > 1 else ", at fixed hyper-parameters"
    return (
        f"Coefficients: posterior mean, sd and quantiles{averaged}; P>|z| is twice the posterior probability of the "
        f"less likely sign. Priors: {_linear_priors(results)}."
    )


def _linear_priors(results: GPResults) -> str:
    gp = results.parts.gp
    assert gp.linear is not None
    words = []
    for j, (name, row) in enumerate(linear_rows(gp)):
        where = ""
        if j == gp.linear.intercept and len(gp.columns) > 1:
            at = "base level" if gp.linear.factor is not None else "columns' means"
            where = f" at the {at}"
        if row.distribution != "fixed":
            words.append(f"{name}{_prior_words(row)}{where}")
    if len(words) > _NOTED_PRIORS:
        words = [*words[: _NOTED_PRIORS - 1], f"and {len(words) - _NOTED_PRIORS + 1} more"]
    return ", ".join(words) or "all coefficients are fixed"


def _prior_words(row: PriorRow) -> str:
    return f" {row.distribution}" + ("" if row.distribution == "flat" else f"({row.location:.3g}, {row.spread:.3g})")
