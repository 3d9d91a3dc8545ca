"""Summaries of processes and of regressions."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tobitgp.formula.spec import GPTerm
from tobitgp.inference.evidence import COARSE
from tobitgp.inference.fitted import bound_words, coarse_remedy, coarse_words, rounding_words
from tobitgp.report.summary import (
    FitSummary,
    Rows,
    Section,
    build_summary,
    censoring_note,
    converged_row,
    count_rows,
    estimate_row,
    frame_rows,
    interval_headers,
    model_title,
    number,
    response_notes,
    times_note,
    weights_note,
)

if TYPE_CHECKING:
    from tobitgp.results.process.results import GPResults
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tobitgp.results.regression.results import RegressionResults

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


def summarise_process(results: GPResults, alpha: float = 0.05) -> FitSummary:
    """Summary of a fitted Gaussian process."""
    return build_summary(
        _title(results),
        {"Formula:": results.formula},
        _model_rows(results),
        _data_rows(results),
        _sections(results, alpha),
        _notes(results),
    )


def _title(results: GPResults) -> str:
    positive, terms = results.parts.family.log_time, results.parts.gp.terms
    if not any(term.factors for term in terms):
        return model_title(results, positive=positive, added="with random effects" if terms else "")
    if positive:
        return model_title(results, positive=True, added="with Gaussian processes")
    return model_title(results, "Gaussian process regression", positive=False)


def _model_rows(results: GPResults) -> Rows:
    fitted, gp = results.parts.fitted, results.parts.gp
    J = len(fitted.points)
    hyper = "fixed" if not fitted.parameters.n_free else f"averaged, {J} points" if J > 1 else "at the maximum"
    moved = ", inducing moved" if any(name == "moved" for name, *_ in fitted.trace.stages) else ""
    rows = [
        ("Dep. variable:", _short(results.model.endog_names)),
        ("Family:", gp.family.name),
        ("Method:", results.method),
    ]
    for i, term in enumerate(gp.terms):
        words = _term_words(term, results.parts.state.group_levels[i])
        rows += [("GP terms:" * (i == k == 0), line) for k, line in enumerate(words)]
    gap = [("Approximation gap:", f"{fitted.nats_left:.2g} nats")] if gp.terms else []
    return [
        *rows,
        ("Hyper-parameters:", hyper),
        ("Basis functions:", f"{fitted.n_features}{moved}"),
        *gap,
        ("Effective df:", f"{results.df_model:.2f}"),
        converged_row(fitted.trace.converged),
    ]


def _kernel(term: GPTerm) -> str:
    """Kernels of a term, as in ``linear x rbf``."""
    if not term.factors:
        return "normal"
    return " x ".join(f.kernel + (" (ARD)" if f.ard and len(f.inputs) > 1 else "") for f in term.factors)


def _term_words(term: GPTerm, levels: Sequence[Any] | None) -> list[str]:
    """Name, kernels and number of groups of a term, in lines that leave room for the column beside them."""
    kinds = "groups" if not term.factors else "levels"
    what = _kernel(term) + ("" if levels is None else f", {len(levels)} {kinds}")
    line = f"{_short(term.name)} {what}"
    return [line] if len(line) <= _ROOM else [_short(term.name), *textwrap.wrap(what, _ROOM)]


def _data_rows(results: GPResults) -> Rows:
    fitted = results.parts.fitted
    rows = [
        *count_rows(results),
        (f"Log evidence ({results.evidence_kind}):", f"{results.log_evidence:.3f}"),
        ("ELBO:", f"{results.elbo:.3f}"),
    ]
    if np.isfinite(results.log_evidence_integrated):
        rows.append(("Log evidence, integrated:", f"{results.log_evidence_integrated:.3f}"))
    return [*rows, ("Passes over the data:", str(sum(stage[2] for stage in fitted.trace.stages)))]


def _short(name: str, size: int = 24) -> str:
    return name if len(name) <= size else name[: size - 3] + "..."


def _sections(results: GPResults, alpha: float) -> list[Section]:
    """Tables of coefficients and of hyper-parameters."""
    rows, ends = list(frame_rows(results.summary_frame(alpha))), interval_headers(alpha)
    p, parameters = len(results.parts.gp.columns), results.parts.fitted.parameters
    coefficients = [estimate_row(name, row) for name, row in rows[:p]]
    hyper = []
    for i, (_, row) in enumerate(rows[p:]):
        free = bool(parameters.free[i])
        numbers = [number(row[j]) if free else "" for j in (1, 4, 5)]
        if np.isnan(row[1]):
            numbers = ["(at bound)", "", ""]
        hyper.append([parameters.names[i], number(row[0]), *numbers, _prior(results, i) if free else "(fixed)"])
    return [
        Section(["", "coef", "std err", "z", "P>|z|", *ends], coefficients),
        Section(["", "value", "std err", *ends, "prior"], hyper),
    ]


def _prior(results: GPResults, i: int) -> str:
    """Prior of a hyper-parameter in the user's units."""
    parameters = results.parts.fitted.parameters
    if not np.isfinite(parameters.prior_sd[i]):
        return "none"
    median = float(np.exp(parameters.prior_mean[i]) * parameters.units[i])
    return f"lognormal({median:.3g}, {parameters.prior_sd[i]:.2g})"


def _notes(results: GPResults) -> list[str]:
    """What a reader should know, most urgent first."""
    fitted, gp = results.parts.fitted, results.parts.gp
    notes = [*_warnings(results), *censoring_note(results), *weights_note(results)]
    if gp.family.log_time:
        notes.append("Coefficients, sd() and sigma are on the scale of the logarithm of the response.")
    else:
        notes += times_note(results)
    notes += response_notes(results)
    if gp.columns:
        notes.append(_linear_note(results, len(fitted.points)))
    centred = _centred(results)
    if centred:
        notes.append(
            f"Coefficients hold the level of {', '.join(centred)}: as a term it is measured from its average over the "
            "rows, by= curves from that over the rows of their level."
        )
    if fitted.parameters.n_free:
        whence = "posterior moments of" if fitted.has_moments else "curvature of the log posterior in"
        notes.append(
            f"Hyper-parameters: value at the maximum, standard error and interval from the {whence} their logarithms; "
            "priors are lognormal(median, sd of the logarithm), and no part of the evidence."
        )
    return notes


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
    pairs = zip(gp.terms, point.levels[gp.linear is not None :], strict=True)
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
    for j, name in enumerate(gp.columns):
        mean, sd = float(gp.linear.mean[j]), float(gp.linear.sd[j])
        if sd == 0.0:
            continue
        where = ""
        if j == gp.linear.intercept:
            mean, where = mean + gp.problem.units.centre, " at the columns' means" if len(gp.columns) > 1 else ""
        words.append(f"{name} normal({mean:.3g}, {sd:.3g}){where}")
    if len(words) > _NOTED_PRIORS:
        words = [*words[: _NOTED_PRIORS - 1], f"and {len(words) - _NOTED_PRIORS + 1} more"]
    return ", ".join(words) or "all coefficients are fixed"


_PLAIN = 6  # columns that every table of estimates has; those after it are factors
_ROBUST = {
    "HC0": "heteroscedasticity-consistent (HC0)",
    "HC1": "heteroscedasticity-consistent (HC1)",
    "cluster": "clustered",
}


def summarise_regression(results: RegressionResults, alpha: float = 0.05) -> FitSummary:
    """Summary of a regression fitted by maximum likelihood."""
    scale = results.model.spec.scale
    formulas = {"Formula:": results.formula} | ({} if scale is None else {"log(sigma):": scale.formula})
    model = [
        ("Dep. variable:", results.model.endog_names),
        ("Family:", results.parts.family.name),
        ("Method:", "maximum likelihood"),
        ("Covariance:", results.cov_type),
        ("Df model:", f"{results.df_model:g}"),
        ("Df residuals:", f"{results.df_resid:g}"),
        ("Iterations:", str(results.parts.maximum.iterations)),
        converged_row(results.converged),
    ]
    data = [
        *count_rows(results),
        ("Log-likelihood:", f"{results.llf:.3f}"),
        ("LL-null:", number(results.llnull)),
        ("AIC:", f"{results.aic:.3f}"),
        ("BIC:", f"{results.bic:.3f}"),
    ]
    title = model_title(results, positive=results.parts.family.log_time)
    return build_summary(title, formulas, model, data, _regression_sections(results, alpha), _regression_notes(results))


def _regression_sections(results: RegressionResults, alpha: float) -> list[Section]:
    """Tables of coefficients, of the factors by which they multiply times, and of the parameters of the noise."""
    frame, p, ends = results.summary_frame(alpha), len(results.model.exog_names), interval_headers(alpha)
    df_at_bound = results.parts.family.estimate_df and not results.parts.maximum.free[-1]
    coefficients, factors, noise = [], [], []
    for i, (name, row) in enumerate(frame_rows(frame)):
        if i >= p:
            noise.append(estimate_row(name, row[:_PLAIN], at_bound=df_at_bound and name == "df"))
            continue
        coefficients.append(estimate_row(name, row[:_PLAIN]))
        if len(row) > _PLAIN:
            factor, *interval = map(number, row[_PLAIN:])
            factors.append([name, factor, *(["(fixed)", ""] if row[1] == 0.0 else interval)])
    columns = ["std err", "z", "P>|z|", *ends]
    return [
        Section(["", "coef", *columns], coefficients),
        Section(["", "exp(coef)", *ends], factors),
        Section(["", "value", *columns], noise),
    ]


def _regression_notes(results: RegressionResults) -> list[str]:
    """What a reader should know, most urgent first."""
    notes, message = [], results.parts.maximum.message
    if not results.converged:
        rest = "Read no number here as final."
        if results.parts.maximum.unidentified.any():
            rest = "All else is the limit, with its errors; the errors of what runs off are nan."
        notes.append(f"NOT CONVERGED: {message} {rest}")
    elif "df" in results.params.index and message != "converged":
        notes.append(message)
    if results.parts.family.log_time:
        notes.append("Coefficients and sigma are on the scale of the logarithm of the response.")
        notes.append("exp(coef) is the factor by which one unit of a column multiplies the response.")
    else:
        notes += times_note(results)
    notes += [*censoring_note(results), *response_notes(results), *weights_note(results)]
    errors = _ROBUST.get(results.cov_type, "from the observed information")
    notes.append(f"Standard errors are {errors}; intervals of sigma and df are formed on the log scale.")
    return notes
