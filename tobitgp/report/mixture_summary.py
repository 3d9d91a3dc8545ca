"""The summary of a fitted mixture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tobitgp.mixture import MixtureFit
from tobitgp.mixture.fitted import HELD
from tobitgp.mixture.model import Bayes, Points
from tobitgp.report.summary import (
    FitSummary,
    Section,
    build_summary,
    censoring_note,
    converged_row,
    count_rows,
    frame_rows,
    interval_headers,
    model_title,
    number,
    response_notes,
    times_note,
)

if TYPE_CHECKING:
    from tobitgp.results.estimates import CovKind
    from tobitgp.results.mixture.results import MixtureResults

_METHODS = {
    "vbcm": "variational Bayes (vbcm)",
    "svbcm": "stochastic VB (svbcm)",
    "em": "maximum likelihood (em)",
}


def summarise_mixture(results: MixtureResults, alpha: float = 0.05, kind: CovKind | None = None) -> FitSummary:
    """Summary of a fitted mixture."""
    fit, family = results.parts.fit, results.parts.family
    model = [
        ("Dep. variable:", results.model.endog_names),
        ("Family:", family.name),
        ("Components:", _number(results)),
        ("Method:", _METHODS[results.method]),
        ("Starts:", str(len(fit.ends))),
        ("Passes:", str(fit.passes)),
        converged_row(results.converged),
    ]
    if results.parts.bayes:
        numbers = {"ELBO:": results.elbo, "Log evidence:": results.log_evidence}
    else:
        numbers = {"Log-likelihood:": results.llf, "AIC:": results.aic, "BIC:": results.bic}
    data = [*count_rows(results), *((label, f"{value:.3f}") for label, value in numbers.items())]
    title = model_title(results, "mixture", positive=family.support != "real")
    sections = [_estimates(results, alpha, kind), _components(results)]
    return build_summary(title, {"Formula:": results.formula}, model, data, sections, _notes(results, kind))


def _number(results: MixtureResults) -> str:
    fit, tried = results.parts.fit, results.parts.tried
    if fit.process:
        return f"{results.n_effective} used, at most {fit.k}"
    return str(fit.k) if tried is None else f"{fit.k}, best of {tried.numbers.min()} to {tried.numbers.max()}"


def _estimates(results: MixtureResults, alpha: float, kind: CovKind | None) -> Section:
    frame, fit, rows = results.summary_frame(alpha, kind), results.parts.fit, []
    shown = np.tile(fit.shown, len(frame) // fit.k)
    for name, (value, error, _, _, lower, upper) in frame_rows(frame[shown]):
        cells = [number(error), number(lower), number(upper)]
        if error == 0.0 or np.isnan(error):
            cells = ["(not determined)" if error else "(fixed)", "", ""]
        rows.append([name, number(value), *cells])
    return Section(["", "value", "std err", *interval_headers(alpha)], rows)


def _components(results: MixtureResults) -> Section:
    """What each component explains."""
    fit = results.parts.fit
    rows = [
        [f"component {i + 1}", f"{fit.counts[i]:.1f}", f"{fit.exact_counts[i]:.1f}"] for i in np.flatnonzero(fit.shown)
    ]
    return Section(["", "expected rows", "exact ones"], rows)


def _notes(results: MixtureResults, kind: CovKind | None) -> list[str]:
    """What a reader should know, most urgent first."""
    parts, fit = results.parts, results.parts.fit
    notes = list(fit.notes)
    if not results.converged:
        notes[0] = f"NOT CONVERGED: {notes[0]} Read no number here as final."
    notes += censoring_note(results)
    empty = fit.k - int(fit.shown.sum())
    if empty:
        hold = "components hold" if empty > 1 else "component holds"
        notes.append(f"{empty} {hold} less than {HELD:g} rows, and stand{'s' * (empty == 1)} in no table.")
    if parts.family.name == "lognormal":
        notes.append("mean and sd are those of the logarithm of the response.")
    if parts.family.support == "real":
        notes += times_note(results)
    notes += response_notes(results)
    notes.append(_errors_note(results, kind))
    if isinstance(fit.model, Points):
        if parts.family.free_of == "location and scale":
            notes.append(f"Variances are held above {fit.model.floor:g} of that of the rows; see tg.EMCM(floor=).")
        return notes
    if "shape" in parts.family.parameters:
        notes.append("Shapes are point estimates, at the maximum of the bound.")
    if results.log_evidence != results.elbo:
        notes.append("Log evidence is ELBO + log K!, for the K! orders of the components.")
    return [*notes, f"Prior of every component, by the names of priors=: {_prior(fit.model, fit)}."]


def _errors_note(results: MixtureResults, kind: CovKind | None) -> str:
    scales = "intervals have the shape of each posterior, of weights they are formed on the logit scale"
    if not results.parts.bayes:
        return f"Standard errors are from the observed information; {scales}."
    if kind == "vb":
        return (
            "Standard errors are those of the variational posterior itself, which takes censored rows for seen ones: "
            f"too small where rows are censored; {scales}."
        )
    return f"Standard errors are by linear response, which allows for what censoring hides; {scales}."


def _prior(model: Bayes, fit: MixtureFit) -> str:
    """Hyper-parameters of the prior in the user's units, of which the ones within are a shifted multiple."""
    zero = np.zeros(len(model.prior))
    shift = model.family.prior_to_working(zero, fit.units)
    factor = model.family.prior_to_working(zero + 1.0, fit.units) - shift
    named = zip(model.family.hyperparameters, (model.prior - shift) / factor, strict=True)
    values, weights = ", ".join(f"{name} {value:.4g}" for name, value in named), model.weights
    if weights.concentration is None:
        return f"{values}; concentration of the weights gamma({weights.shape:g}, {weights.rate:g})"
    return f"{values}; concentration of the weights {weights.concentration:g}"
