"""The summary of a fit: what was modelled, the coefficients, the hyper-parameters, and what a reader should know."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tobitgp.data.state import DesignState
from tobitgp.formula.spec import GPTerm, ModelSpec
from tobitgp.inference.evidence import COARSE
from tobitgp.inference.warnings import bound_words, coarse_remedy, coarse_words, rounding_words

if TYPE_CHECKING:
    from tobitgp.results.process.results import GPResults
    from tobitgp.results.regression.results import TobitResults

WIDTH = 78
_NOTED_PRIORS = 8
_ROOM = 25
_NO_EVIDENCE = {
    "local": "Log evidence (local) is that of parabolas below the likelihoods of the censored rows. With side noises "
    "above 0 these are not the likelihoods of the data, whose evidence it may exceed; ELBO is a bound in any case. "
    "Posterior sds at censored rows are too small.",
    "monte_carlo": "Log evidence (monte_carlo) averages over fixed draws and errs to either side; ELBO is a bound.",
    "karlova": "Log evidence (karlova) is no bound: it may exceed the evidence. Hyper-parameters are from exact "
    "variational inference; ELBO is a bound.",
}


def summarise(results: GPResults, alpha: float = 0.05) -> Any:
    """Summary of a fitted Gaussian process."""
    from tobitgp.report.tables import FitSummary, column_widths, make_table, total_width

    head, estimates = side_by_side(_model_lines(results), _data_lines(results)), _estimates(results, alpha)
    widths = [total_width(column_widths(head))]
    widths += [total_width(column_widths([headers, *rows])) for headers, rows in estimates]
    width = max(WIDTH, *widths)
    tables = [
        make_table(formula_rows(results.formula, width), "l", title=_title(results), width=width),
        make_table(head, "rlr", width=width, widen=(1, 3)),
    ]
    tables += [make_table(rows, "r" * (len(headers) - 1), headers=headers, width=width) for headers, rows in estimates]
    return FitSummary(tables, _notes(results), width)


def number(value: float) -> str:
    """Four decimals where they show something, four digits elsewhere; blank for NaN."""
    if np.isnan(value):
        return ""
    size = abs(value)
    if size and (size >= 1e5 or size < 1e-3):
        return f"{value:.4g}"
    return f"{value:.{4 if size < 1e3 else 2}f}"


def _title(results: GPResults) -> str:
    kind = "Truncated" if only_truncated(results) else "Tobit"
    return f"{kind} Gaussian Process Regression" if results.parts.gp.terms else f"{kind} Linear Regression"


def only_truncated(results: GPResults | TobitResults) -> bool:
    """Whether rows have a window and none is censored."""
    return results.model.spec.truncation is not None and not results.counts[["left", "right", "interval"]].any()


def formula_rows(formula: str, width: int, label: str = "Formula:") -> list[list[str]]:
    """The formula in lines of a table of some width."""
    lines = textwrap.wrap(formula.strip(), width - len(label) - 2) or [""]
    return [[label * (i == 0), line] for i, line in enumerate(lines)]


def side_by_side(left: list[tuple[str, str]], right: list[tuple[str, str]]) -> list[list[str]]:
    """Rows of two labels and two values."""
    left, right = list(left), list(right)
    size = max(len(left), len(right))
    left += [("", "")] * (size - len(left))
    right += [("", "")] * (size - len(right))
    return [[*a, *b] for a, b in zip(left, right, strict=True)]


def _model_lines(results: GPResults) -> list[tuple[str, str]]:
    fitted, gp = results.parts.fitted, results.parts.gp
    free, J = fitted.parameters.n_free, len(fitted.points)
    hyper = "fixed" if not free else f"averaged, {J} points" if J > 1 else "at the maximum"
    lines = [
        ("Dep. variable:", _short(results.model.endog_names)),
        ("Family:", gp.family.name),
        ("Method:", results.method),
    ]
    for i, term in enumerate(gp.terms):
        words = _term_words(term, results.parts.state.group_levels[i])
        lines += [("GP terms:" * (i == k == 0), line) for k, line in enumerate(words)]
    moved = ", inducing moved" if any(name == "moved" for name, *_ in fitted.trace.stages) else ""
    lines += [("Hyper-parameters:", hyper), ("Features:", f"{fitted.n_features}{moved}")]
    if gp.terms:
        lines.append(("Nats left out:", f"{fitted.nats_left:.2g}"))
    sweeps = sum(stage[2] for stage in fitted.trace.stages)
    return [*lines, ("Effective df:", f"{results.df_model:.2f}"), ("Sweeps over rows:", str(sweeps))]


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


def _data_lines(results: GPResults) -> list[tuple[str, str]]:
    counts, fitted = results.counts, results.parts.fitted
    lines = [("No. observations:", f"{results.nobs:.10g}"), ("  exact:", str(counts["exact"]))]
    lines += [(f"  {kind}-censored:", str(counts[kind])) for kind in ("left", "right", "interval")]
    lines += [
        ("Rows dropped:", str(counts["dropped"])),
        (f"Log evidence ({results.evidence_kind}):", f"{results.log_evidence:.3f}"),
    ]
    lines.append(("ELBO:", f"{results.elbo:.3f}"))
    if np.isfinite(results.log_marginal):
        lines.append(("Log marginal:", f"{results.log_marginal:.3f}"))
    return [*lines, ("Converged:", "yes" if fitted.trace.converged else "NO, see notes")]


def _short(name: str, size: int = 24) -> str:
    return name if len(name) <= size else name[: size - 3] + "..."


def _estimates(results: GPResults, alpha: float) -> list[tuple[list[str], list[list[str]]]]:
    """Header and rows of the table of coefficients, where there are any, and of that of hyper-parameters."""
    frame = results.summary_frame(alpha)
    ends = [f"[{0.5 * alpha:.3g}", f"{1.0 - 0.5 * alpha:.3g}]"]
    p, parameters = len(results.parts.gp.columns), results.parts.fitted.parameters
    tables = []
    if p:
        rows = [coefficient_row(name, row) for name, row in zip(frame.index[:p], frame.to_numpy()[:p], strict=True)]
        tables.append((["", "coef", "std err", "z", "P>|z|", *ends], rows))
    rows = []
    for i, row in enumerate(frame.to_numpy()[p:]):
        free = bool(parameters.free[i])
        numbers = [number(row[j]) if free else "" for j in (1, 4, 5)]
        if np.isnan(row[1]):
            numbers = ["(at bound)", "", ""]
        rows.append([parameters.names[i], number(row[0]), *numbers, _prior(results, i) if free else "(fixed)"])
    tables.append((["", "value", "std err", *ends, "prior"], rows))
    return tables


def coefficient_row(name: str, row: Any) -> list[str]:
    """Cells of a coefficient: name, value, error, z, tail, interval."""
    coef, error, z, p, lower, upper = row
    if error == 0.0:
        return [name, number(coef), "(fixed)", "", "", "", ""]
    if np.isnan(error):
        return [name, number(coef), "nan", "", "", "", ""]
    return [name, number(coef), number(error), f"{z:.3f}", f"{p:.3f}", number(lower), number(upper)]


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
    notes = [*_doubts(results), *_censoring_notes(results), *noise_note(results.parts.state)]
    if gp.family.log_time:
        notes.append("Coefficients, sd() and sigma are on the scale of the logarithm of the response.")
    else:
        notes += times_note(results.model.spec, gp.family.name)
    notes += response_notes(results.model.spec)
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


def _doubts(results: GPResults) -> list[str]:
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


def _censoring_notes(results: GPResults) -> list[str]:
    """Say of a fit without censoring whether there was any in the data, and what became of it."""
    counts = results.counts
    rows = int(counts[["left", "right", "interval"]].sum())
    if not rows:
        kind = "truncated" if only_truncated(results) else "ordinary"
        noise = "Gaussian " if results.parts.gp.family.law.gaussian else ""
        return [f"No row is censored: this is {kind} {noise}regression."]
    if results.evidence_kind != "exact":
        return []
    if results.parts.facts.n == int(counts["exact"]):
        return [f"{rows} censored rows were left out (censored='drop')."]
    return [f"The limits of {rows} censored rows were taken as values (censored='ignore')."]


def noise_note(state: DesignState) -> list[str]:
    """Say of variance weights what they did."""
    if state.var_weight is None:
        return []
    name, mean = state.var_weight
    of = f" ({name})" if name else ""
    return [
        f"Noise variance sigma^2 / w, with w = var_weights{of} / {mean:.4g}, their mean; sigma is that of a row of "
        "average weight."
    ]


def times_note(spec: ModelSpec, family: str) -> list[str]:
    """Say of ``Surv(time, event)`` that its times may be negative, unless their logarithm is taken there."""
    response = spec.response
    if response.flag is None or response.flag.codes != "event" or re.search(r"\blog\w*\(", response.value.text):
        return []
    law = {"gaussian": "normal"}.get(family, family)
    return [f"Times are modelled as {law}, and may be negative; family='weibull' or 'lognormal' keeps them positive."]


def response_notes(spec: ModelSpec) -> list[str]:
    """Say of which response the estimates are where ``truncate(...)`` is written, and in which unit dates differ."""
    y, days = spec.response.value.text, spec.response.duration
    notes = [f"{days} is a duration in days."] if days else []
    if spec.truncation is not None and spec.response.kind == "value":
        notes.append(f"Estimates are of {y} before truncation; predict(what='observed') is its mean in the window.")
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
