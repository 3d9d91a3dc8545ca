"""The summary of a fitted mixture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tobitgp.mixture import MixtureFit
from tobitgp.mixture.fitted import HELD
from tobitgp.mixture.model import Bayes, Points
from tobitgp.mixture.rows import Units
from tobitgp.report.summary import WIDTH, formula_rows, number, response_notes, side_by_side, times_note
from tobitgp.typing import Array

if TYPE_CHECKING:
    from tobitgp.results.mixture.results import MixtureResults

_METHODS = {
    "vbcm": "variational Bayes (vbcm)",
    "svbcm": "stochastic VB (svbcm)",
    "em": "maximum likelihood (em)",
}


def summarise_mixture(results: MixtureResults, alpha: float = 0.05, kind: str = "linear_response") -> Any:
    """Summary of a fitted mixture."""
    from tobitgp.report.tables import FitSummary, column_widths, make_table, total_width

    head = side_by_side(_model_lines(results), _data_lines(results))
    estimates = [_estimates(results, alpha, kind), _components(results)]
    widths = [total_width(column_widths(rows)) for rows in (head, *([h, *rows] for h, rows in estimates))]
    width = max(WIDTH, *widths)
    tables = [
        make_table(formula_rows(results.formula, width), "l", title="Censored Mixture", width=width),
        make_table(head, "rlr", width=width, widen=(1, 3)),
    ]
    tables += [make_table(rows, "r" * (len(headers) - 1), headers=headers, width=width) for headers, rows in estimates]
    return FitSummary(tables, _notes(results, kind), width)


def prior_in_words(fit: MixtureFit) -> str:
    """Hyper-parameters of the prior in the user's units; empty for point estimates."""
    model = fit.model
    if not isinstance(model, Bayes):
        return ""
    names = model.family.hyperparameters
    values = ", ".join(f"{name} {value:.4g}" for name, value in zip(names, _prior(model, fit.units), strict=True))
    weights: Any = model.weights
    if weights.concentration is None:
        return f"{values}; concentration of the weights gamma({weights.shape:g}, {weights.rate:g})"
    return f"{values}; concentration of the weights {weights.concentration:g}"


def _prior(model: Bayes, units: Units) -> Array:
    """The prior in the user's units, of which the one within is a shifted multiple."""
    zero = np.zeros(len(model.prior))
    shift = model.family.prior_to_working(zero, units)
    factor = model.family.prior_to_working(zero + 1.0, units) - shift
    return np.asarray((model.prior - shift) / factor)


def _model_lines(results: MixtureResults) -> list[tuple[str, str]]:
    fit = results.parts.fit
    return [
        ("Dep. variable:", results.model.endog_names),
        ("Family:", results.parts.family.name),
        ("Components:", _number(results)),
        ("Method:", _METHODS[results.method]),
        ("Starts:", str(len(fit.ends))),
        ("Passes:", str(fit.passes)),
        ("Converged:", "yes" if results.converged else "NO, see notes"),
    ]


def _number(results: MixtureResults) -> str:
    fit, tried = results.parts.fit, results.parts.tried
    if fit.process:
        return f"{results.n_effective} used, at most {fit.k}"
    return str(fit.k) if tried is None else f"{fit.k}, best of {tried.numbers.min()} to {tried.numbers.max()}"


def _data_lines(results: MixtureResults) -> list[tuple[str, str]]:
    counts = results.counts
    lines = [("No. observations:", f"{results.nobs:.10g}"), ("  exact:", str(counts["exact"]))]
    lines += [(f"  {kind}-censored:", str(counts[kind])) for kind in ("left", "right", "interval")]
    lines.append(("Rows dropped:", str(counts["dropped"])))
    if results.parts.bayes:
        return [*lines, ("ELBO:", f"{results.elbo:.3f}"), ("Log evidence:", f"{results.log_evidence:.3f}")]
    lines.append(("Log-likelihood:", f"{results.llf:.3f}"))
    return [*lines, ("AIC:", f"{results.aic:.3f}"), ("BIC:", f"{results.bic:.3f}")]


def _estimates(results: MixtureResults, alpha: float, kind: str) -> tuple[list[str], list[list[str]]]:
    frame = results.summary_frame(alpha, kind)  # type: ignore[arg-type]
    ends = [f"[{0.5 * alpha:.3g}", f"{1.0 - 0.5 * alpha:.3g}]"]
    rows, fit = [], results.parts.fit
    shown = np.tile(fit.shown, len(frame) // fit.k)
    for name, (value, error, _, _, lower, upper) in zip(frame.index[shown], frame.to_numpy()[shown], strict=True):
        cells = ["(fixed)", "", ""] if error == 0.0 else [number(error), number(lower), number(upper)]
        rows.append([name, number(value), *(["(not determined)", "", ""] if np.isnan(error) else cells)])
    return ["", "value", "std err", *ends], rows


def _components(results: MixtureResults) -> tuple[list[str], list[list[str]]]:
    """What each component explains."""
    fit = results.parts.fit
    held = np.flatnonzero(fit.shown)
    rows = [[f"component {i + 1}", f"{fit.counts[i]:.1f}", f"{fit.exact_counts[i]:.1f}"] for i in held]
    return ["", "expected rows", "exact ones"], rows


def _notes(results: MixtureResults, kind: str) -> list[str]:
    """What a reader should know, most urgent first."""
    parts, fit = results.parts, results.parts.fit
    notes = list(fit.notes)
    if not results.converged:
        notes[0] = f"NOT CONVERGED: {notes[0]} Read no number here as final."
    notes += _censoring_notes(results)
    empty = fit.k - int(fit.shown.sum())
    if empty:
        hold = "components hold" if empty > 1 else "component holds"
        notes.append(f"{empty} {hold} less than {HELD:g} rows, and stand{'s' * (empty == 1)} in no table.")
    if parts.family.name == "lognormal":
        notes.append("mean and sd are those of the logarithm of the response.")
    if parts.family.support == "real":
        notes += times_note(results.model.spec, parts.family.name)
    notes += response_notes(results.model.spec)
    notes.append(_errors_note(results, kind))
    if isinstance(fit.model, Points):
        if parts.family.free_of == "location and scale":
            notes.append(f"Variances are held above {fit.model.floor:g} of that of the rows; see tg.EMCM(floor=).")
        return notes
    if "shape" in parts.family.parameters:
        notes.append("Shapes are point estimates, at the maximum of the bound.")
    if results.log_evidence != results.elbo:
        notes.append("Log evidence is ELBO + log K!, for the K! orders of the components.")
    return [*notes, f"Prior of every component, by the names of priors=: {prior_in_words(fit)}."]


def _censoring_notes(results: MixtureResults) -> list[str]:
    rows = int(results.counts[["left", "right", "interval"]].sum())
    if rows == 0:
        return ["No row is censored."]
    if results.parts.facts.any_censored:
        return []
    dropped = results.parts.facts.n == int(results.counts["exact"])
    how = "were left out (censored='drop')" if dropped else "were taken at their limits (censored='ignore')"
    return [f"{rows} censored rows {how}."]


def _errors_note(results: MixtureResults, kind: str) -> str:
    scales = "intervals have the shape of each posterior, of weights they are formed on the logit scale"
    if not results.parts.bayes:
        return f"Standard errors are from the observed information; {scales}."
    if kind == "vb":
        return (
            "Standard errors are those of the variational posterior itself, which takes censored rows for seen ones: "
            f"too small where rows are censored; {scales}."
        )
    return f"Standard errors are by linear response, which allows for what censoring hides; {scales}."
