"""Contents of summaries of processes, also after power transformations."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from tobitgp.formula.spec import GPTerm
from tobitgp.inference.evidence import COARSE
from tobitgp.inference.fitted import bound_words, coarse_remedy, coarse_words, rounding_words
from tobitgp.kinds.process import ProcessParts
from tobitgp.results.fit import Fit
from tobitgp.results.parameter_estimates import slope_posterior
from tobitgp.results.parameter_tables import parameter_frame
from tobitgp.results.priors import PriorRow, line_rows, linear_rows
from tobitgp.results.process.process_effects import scale_at_means
from tobitgp.results.summary_notes import model_title, power_notes, ratio_words, row_notes, scale_formula, times_note
from tobitgp.results.words import (
    RESPONSE,
    LabelledValues,
    Notes,
    SummaryTable,
    Words,
    not_converged,
    noted,
    rows_of,
    untested,
)

_NOTED_PRIORS = 8
_ROOM = 25
_NO_EVIDENCE = {
    "local": "Log evidence (local) replaces the likelihoods of censored rows by parabolas below them. With "
    "censoring noise above 0 it may exceed the evidence of the data; ELBO is always a bound. Posterior sds at "
    "censored rows are too small.",
    "monte_carlo": "Log evidence (monte_carlo) averages over fixed draws and may be above or below the "
    "evidence; ELBO is a bound.",
    "karlova": "Log evidence (karlova) is not a bound: it may exceed the evidence. Hyper-parameters are from exact "
    "variational inference; ELBO is a bound.",
}


def process_words(results: Fit, alpha: float = 0.05) -> Words:
    """Contents of the summary of a fitted Gaussian process."""
    criteria: dict[str, float | str] = {f"Log evidence ({results.evidence_kind}):": results.log_evidence}
    if not results.parts.noise_free:
        criteria["ELBO:"] = results.elbo
    if np.isfinite(results.log_evidence_integrated):
        criteria["Log evidence, integrated:"] = results.log_evidence_integrated
    criteria["Passes over the data:"] = str(sum(stage[2] for stage in results.parts.fitted.trace.stages))
    tables, notes = _tables(results, alpha), [*_warnings(results), *row_notes(results), *_notes(results)]
    formulas, ratios = scale_formula(results), ratio_words(results)
    return Words(_title(results), _model_rows(results), criteria, tables, notes, formulas, ratios)


def power_words(results: Any, alpha: float = 0.05) -> Words:
    """Contents of the summary of a process, or a regression with priors, after a power transformation."""
    model = [
        (RESPONSE, results.model.endog_names),
        ("Family:", "boxcox"),
        ("Method:", results.method),
        ("Powers averaged:", str(len(results.parts.powers))),
    ]
    criteria: dict[str, float | str] = {"Log evidence:": results.log_evidence}
    if np.isfinite(results.log_evidence_integrated):
        criteria["Log evidence, integrated:"] = results.log_evidence_integrated
    p, best = len(results.model.exog_names), results.parts.fits[results.parts.best]
    called = curve_names(best)
    rows = [(called.get(name, name), row) for name, row in rows_of(parameter_frame(results, alpha), slice(6))]
    power = results.power_interval(1.0 - alpha)
    of_power = ("power", [power[name] for name in ("estimate", "se", "lower", "upper")])
    tables = [
        SummaryTable("coef", [*rows[:p], *slope_rows(best, alpha)]),
        SummaryTable("value", [*untested(rows[p:]), of_power]),
    ]
    at = f"Coefficients and hyper-parameters are those at the power {results.power:.3g}."
    notes = [
        *noted("warning", [not_converged(results._search_message)] * (not results.converged)),
        *row_notes(results),
        *power_notes(results, results.parts.powers),
        *noted("coefficients", [at]),
        *noted("predictions", ["Predictions average over the powers."]),
    ]
    title = model_title(results, "Gaussian process" if results.parts.spec.gps else "regression", positive=True)
    return Words(title, model, criteria, tables, notes)


def _title(results: Fit) -> str:
    positive, terms = results.parts.family.log_time, results.parts.gp.terms
    if not any(term.factors for term in terms):
        return model_title(results, positive=positive, added="with random effects" if terms else "")
    if positive:
        return model_title(results, positive=True, added="with Gaussian processes")
    return model_title(results, "Gaussian process regression", positive=False)


def _model_rows(results: Fit) -> LabelledValues:
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
        (RESPONSE, _short(results.model.endog_names)),
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


def _tables(results: Fit, alpha: float) -> list[SummaryTable]:
    """Tables of coefficients and of hyper-parameters."""
    rows, parameters = rows_of(parameter_frame(results, alpha), slice(6)), results.parts.fitted.parameters
    p, curves = len(results.parts.gp.columns), curve_names(results.parts)
    hyper = [(curves.get(name, name), row) for name, row in untested(rows[p:])]
    priors = {name: _prior(results, i) for i, (name, _) in enumerate(hyper) if parameters.free[i]}
    unknown = dict.fromkeys((name for name, _ in hyper), "(at bound)")
    return [
        SummaryTable("coef", [*rows[:p], *slope_rows(results.parts, alpha)]),
        SummaryTable("value", hyper, unknown, last=("prior", priors)),
    ]


def curve_names(parts: ProcessParts) -> dict[str, str]:
    """Labels in tables of the sd of a process with a linear effect, by the name of the parameter."""
    names = [term.name for term in parts.gp.terms if term.line]
    return {f"sd({name})": f"sd (curve) {name}" for name in names}


def slope_rows(parts: ProcessParts, alpha: float, sign: float = 1.0) -> list[tuple[str, Any]]:
    """Names and numbers of the slopes of processes, as those of coefficients."""
    found = slope_posterior(parts.fitted, parts.gp)
    mean, ends = sign * found.coefficients(), np.sort(sign * found.interval(alpha), axis=1)
    numbers = np.column_stack([mean, found.errors(), sign * found.z_values(), found.p_values(), ends])
    return list(zip(parts.gp.slopes, numbers, strict=True))


def _prior(results: Fit, i: int) -> str:
    """Prior of a hyper-parameter in the user's units."""
    parameters = results.parts.fitted.parameters
    if not np.isfinite(parameters.prior_sd[i]):
        return "none"
    if parameters.roles[i] == "scale":
        mean, sd = (float(x[i] * parameters.units[i]) for x in (parameters.prior_mean, parameters.prior_sd))
        return f"normal({mean:.3g}, {sd:.3g})"
    if parameters.correlations[i]:
        return next(term.words for term in parameters.effects if term.cors.start <= i < term.cors.stop)
    density = parameters.densities[i] if parameters.densities else None
    if density is not None:
        return density._words
    median = float(np.exp(parameters.prior_mean[i]) * parameters.units[i])
    return f"lognormal({median:.3g}, {parameters.prior_sd[i]:.2g})"


def _notes(results: Fit) -> Notes:
    """On which scale estimates are, and what tables show of them."""
    fitted, gp = results.parts.fitted, results.parts.gp
    scale = times_note(results)
    if gp.family.log_time:
        scale = ["Coefficients, sd() and sigma are on the log scale of the response."]
    coefficients = [_linear_note(results, len(fitted.points))] if gp.columns else []
    centred = _centred(results)
    if centred:
        verb, its = ("is", "its average") if len(centred) == 1 else ("are", "their averages")
        curves = any(term.by is not None for term in gp.terms if term.name in centred)
        of_level = ", or over those of each level of by=," if curves else ""
        coefficients.append(
            f"{', '.join(centred)} {verb} centred: {its} over the rows{of_level} {verb} part of the coefficients."
        )
    if gp.slopes:
        listed = ", ".join(name + _prior_words(row) for name, row in line_rows(gp))
        coefficients.append(
            "A process of one input is the sum of a linear effect, slope(...), and a curve, whose standard deviation "
            f"is the parameter sd(...). Priors of slopes: {listed}."
        )
    hyper = []
    if fitted.parameters.n_free:
        whence = "posterior moments" if fitted.has_moments else "curvature of the log posterior"
        hyper.append(
            f"Hyper-parameters: posterior mode; standard error and interval from the {whence} on the log scale"
            f"{_of_scales(results)}. Priors: lognormal(median, sd of the log). The log evidence does not include them."
        )
    hyper += _effects_note(results)
    if results.parts.noise_free:
        hyper.append(
            "There is no noise (sigma = 0): the curve interpolates uncensored rows and respects the limits of "
            "the others."
        )
    where = ["at the means of the columns of log(sigma)"] if "scale" in fitted.parameters.roles else []
    if any(term.name.startswith("sigma: ") for term in gp.terms):
        where.append("where processes of log(sigma) are 0")
    if where:
        hyper.append(f"sigma applies to rows {' and '.join(where)}.{_scale_at_means(results)}")
    return [*noted("scale", scale), *noted("coefficients", coefficients), *noted("parameters", hyper)]


def _scale_at_means(results: Fit) -> str:
    """The noise scale at a row that occurs, where sigma is that of a process at 0, which none may have."""
    parts = results.parts
    if not parts.fitted.points[0].noise or not parts.facts.columns:
        return ""
    at = scale_at_means(parts)
    return f" At the means of numbers and the most frequent levels of factors it is {at:.4g}."


def _of_scales(results: Fit) -> str:
    """Notes on coefficients of log sigma."""
    return ", for log(sigma)[...] on their own scale" if "scale" in results.parts.fitted.parameters.roles else ""


def _effects_note(results: Fit) -> list[str]:
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
            f"The priors of {names} and of correlations with it apply to the groups at the means of the other "
            f"columns; their values apply to groups where these columns are 0."
        )
    return [" ".join(words)] if words else []


def _warnings(results: Fit) -> Notes:
    """How far the numbers are to be trusted."""
    fitted = results.parts.fitted
    notes = []
    if not fitted.trace.converged:
        notes.append(not_converged(fitted.trace.message))
    if fitted.trace.fell_back:
        notes.append(
            "Expectation propagation did not converge. Variational inference was used instead, and the evidence "
            "is a bound."
        )
    bound = bound_words(fitted)
    if bound:
        notes.append(bound)
    if fitted.nats_left > COARSE:
        notes.append(f"{coarse_words(fitted)}; {coarse_remedy(fitted, results.nobs)}.")
    elif rounding := rounding_words(fitted, results.nobs):
        notes.append(rounding)
    if results.evidence_kind in _NO_EVIDENCE:
        notes.append(_NO_EVIDENCE[results.evidence_kind])
    return noted("warning", notes)


def _centred(results: Fit) -> list[str]:
    """Processes whose level coefficients hold."""
    gp, point = results.parts.gp, results.parts.fitted.points[0]
    pairs = zip(gp.terms, point.levels[gp.linear is not None :], strict=False)
    return [term.name for term, (mean, _) in pairs if len(mean)]


def _linear_note(results: Fit, J: int) -> str:
    averaged = f"averaged over {J} settings of the hyper-parameters" if J > 1 else "at fixed hyper-parameters"
    return (
        f"Coefficients: posterior mean, sd and quantiles, {averaged}. P>|z|: twice the smaller of the posterior "
        f"probabilities that the coefficient is positive or negative. Priors: {_linear_priors(results)}."
    )


def _linear_priors(results: Fit) -> str:
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
