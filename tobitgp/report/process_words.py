"""Contents of summaries of processes, also after power transformations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from tobitgp.errors import SpecError
from tobitgp.formula.spec import GPTerm
from tobitgp.inference.evidence import COARSE
from tobitgp.inference.fitted import FittedGP, bound_words, rounding_words
from tobitgp.kinds.process import ProcessParts
from tobitgp.results.fit import Fit
from tobitgp.results.parameter_estimates import slope_posterior
from tobitgp.results.parameter_tables import parameter_frame
from tobitgp.results.priors import PriorRow, line_rows, linear_rows
from tobitgp.results.process.process_effects import scale_at_means
from tobitgp.results.process.term_tests import TermTest
from tobitgp.results.summary_notes import (
    known_shape,
    model_title,
    power_notes,
    ratio_words,
    row_notes,
    scale_formula,
    times_note,
)
from tobitgp.results.words import (
    LabelledValues,
    Notes,
    SummaryTable,
    Words,
    not_converged,
    noted,
    rows_of,
    tail,
    untested,
)

_NOTED_PRIORS = 20
_OF_SCALE = "log(sigma)["
_NO_TEST = TermTest(np.nan, np.nan, np.nan)
POSTERIOR = (
    "coef, std err: posterior mean, sd. P>|z|: twice the smaller posterior probability of the two signs. Priors: "
    "res.priors."
)
LINES = "A process of one input is a linear effect, slope(...), plus a curve of standard deviation sd(...)."
TESTS = "edf: effective number of parameters. chi2 tests whether a term is zero, see anova()."
_NO_EVIDENCE = {
    "local": "Parabolas replace likelihoods of censored rows (bound='local'): the log evidence is approximate, "
    "posterior sds at these rows are too small.",
    "monte_carlo": "The log evidence is an average over fixed draws, and not a bound of the evidence; elbo is one.",
    "karlova": "The log evidence (karlova) is not a bound: it may exceed the evidence. Hyper-parameters are from exact "
    "variational inference.",
}


def process_words(results: Fit, alpha: float = 0.05) -> Words:
    """Contents of the summary of a fitted Gaussian process."""
    tests = term_tests_of(results)
    return Words(
        _title(results),
        _facts(results),
        _tables(results, alpha, tests),
        [*_warnings(results), *row_notes(results), *_notes(results, tests)],
        scale_formula(results),
        computation_details(results, results.parts),
        of_ratios=ratio_words(results),
        family=results.parts.family.name + known_shape(results.parts.family),
        effective=True,
    )


def power_words(results: Any, alpha: float = 0.05) -> Words:
    """Contents of the summary of a process, or a regression with priors, after a power transformation."""
    p, best = len(results.model.exog_names), results.parts.fits[results.parts.best]
    tests = term_tests_of(results)
    rows = rows_of(parameter_frame(results, alpha), slice(6))
    power = results.power_interval(1.0 - alpha)
    of_power = ("power", [power[name] for name in ("estimate", "se", "lower", "upper")])
    at = f"Coefficients and hyper-parameters are those at the power {results.power:.3g}."
    notes = [
        *noted("warning", [not_converged(results._search_message)] * (not results.converged)),
        *row_notes(results),
        *power_notes(results, results.parts.powers),
        *noted("coefficients", [at, *[POSTERIOR] * bool(p)]),
        *noted("parameters", [*tests_note(tests), *mode_note(best.fitted, best.fitted.parameters.names)]),
        *noted("predictions", ["Predictions average over the powers."]),
    ]
    return Words(
        model_title(results, "Gaussian process" if results.parts.spec.gps else "regression", positive=True),
        [("Powers averaged:", str(len(results.parts.powers)))],
        [
            SummaryTable("Coefficients", [*rows[:p], *slope_rows(best, alpha)]),
            *term_tables(tests, best),
            SummaryTable("Hyper-parameters", [*untested(rows[p:]), of_power], "estimate"),
        ],
        notes,
        details=computation_details(results, best),
        effective=True,
    )


def _title(results: Fit) -> str:
    positive, terms = results.parts.family.log_time, results.parts.gp.terms
    if not any(term.factors for term in terms):
        return model_title(results, positive=positive, added="with random effects" if terms else "")
    if positive:
        return model_title(results, positive=True, added="with Gaussian processes")
    return model_title(results, "Gaussian process regression", positive=False)


def _facts(results: Fit) -> LabelledValues:
    """What a process has in addition to the facts of all kinds."""
    fitted = results.parts.fitted
    J = len(fitted.points)
    return [
        (
            "Hyper-parameters:",
            "fixed" if not fitted.parameters.n_free else f"averaged, {J} settings" if J > 1 else "posterior mode",
        )
    ]


def computation_details(results: Fit, parts: ProcessParts) -> LabelledValues:
    """How a posterior was computed, and other measures of evidence."""
    fitted, gain = parts.fitted, parts.fitted.neighbours_gain
    moved = ", inducing moved" if any(name == "moved" for name, *_ in fitted.trace.stages) else ""
    by_inducing = parts.gp.terms and (np.isnan(gain) or fitted.nats_left > 0.0)
    priors = [(f"Prior of {name}:", words) for name, words in _linear_priors(parts)[:_NOTED_PRIORS]]
    integrated = getattr(results, "log_evidence_integrated", np.nan)
    elbo = np.nan if parts.noise_free else getattr(results, "elbo", np.nan)
    return [
        ("Log evidence by:", str(results.evidence_kind)),
        *[("ELBO:", f"{elbo:.3f}")] * bool(np.isfinite(elbo)),
        *[("Log evidence, integrated:", f"{integrated:.3f}")] * bool(np.isfinite(integrated)),
        ("Basis functions:", f"{fitted.n_features}{moved}"),
        *[("Approximation gap:", f"{fitted.nats_left:.2g} nats")] * bool(by_inducing),
        *[("Twice the neighbours:", f"{gain:+.2g} nats")] * bool(not np.isnan(gain)),
        ("Passes over the data:", str(sum(stage[2] for stage in fitted.trace.stages))),
        *priors,
    ]


def _kernel(term: GPTerm, effects: Sequence[str]) -> str:
    """Kernels of a term, as in ``linear x rbf``."""
    if not term.factors:
        return "normal" if len(effects) < 2 else f"normal, {len(effects)} coefficients"
    return " x ".join(f.kernel + (" (ARD)" if f.ard and len(f.inputs) > 1 else "") for f in term.factors)


def term_tables(
    tests: Mapping[str, TermTest], parts: ProcessParts, names: Mapping[str, str] = MappingProxyType({})
) -> list[SummaryTable]:
    """Smooth terms and random effects: what they are, effective df and a joint test; none of those without a name."""
    gp, field = parts.gp, parts.fitted.points[0].field
    kept = frozenset() if field is None else frozenset((field.blocks - (gp.linear is not None)).tolist())
    rows: dict[bool, list[tuple[str, TermTest, str]]] = {True: [], False: []}
    for i, (term, effects) in enumerate(zip(gp.terms, gp.effects, strict=True)):
        levels, name = parts.state.group_levels[i], names.get(term.name, term.name)
        if not name:
            continue
        kinds = "groups" if not term.factors else "correlated levels" if term.cor else "levels"
        what = _kernel(term, effects) + ("" if levels is None else f", {len(levels)} {kinds}")
        what += f", {field.structure.label}" if field is not None and i in kept else ""
        rows[bool(term.factors)].append((name, tests.get(name, _NO_TEST), what))
    return [
        _term_table("Smooth terms", rows[True], "kernel"),
        _term_table("Random effects", rows[False], "distribution"),
    ]


def _term_table(heading: str, rows: Sequence[tuple[str, TermTest, str]], last: str) -> SummaryTable:
    """A table of terms, without the columns of tests where no term has one."""
    if all(np.isnan(test.edf) for _, test, _ in rows):
        return SummaryTable(heading, [(name, [what]) for name, _, what in rows], last)
    cells = [
        (name, [f"{test.edf:.2f}", f"{test.df:.2f}", f"{test.chi2:.3f}", tail(test.p), what])
        for name, test, what in rows
    ]
    shown = [(name, ["" if cell == "nan" else cell for cell in row]) for name, row in cells]
    return SummaryTable(heading, shown, "edf", columns=("df", "chi2", "P>chi2", last))


def tests_note(tests: Mapping[str, TermTest]) -> list[str]:
    """What the tests of smooth terms and random effects are, where there is one."""
    return [TESTS] * any(np.isfinite(test.edf) for test in tests.values())


def term_tests_of(results: Fit) -> dict[str, TermTest]:
    """Joint tests of terms by name; none where a kind of fit has none."""
    try:
        return dict(results._term_tests())
    except SpecError:
        return {}


def _tables(results: Fit, alpha: float, tests: Mapping[str, TermTest]) -> list[SummaryTable]:
    """Tables of coefficients, of terms and of hyper-parameters."""
    rows, parameters = rows_of(parameter_frame(results, alpha), slice(6)), results.parts.fitted.parameters
    p = len(results.parts.gp.columns)
    hyper = untested(rows[p:])
    priors = {name: _prior(results, i) for i, (name, _) in enumerate(hyper) if parameters.free[i]}
    unknown = dict.fromkeys((name for name, _ in hyper), "(at bound)")
    last = ("prior", priors) if priors else ("", {})
    return [
        SummaryTable("Coefficients", [*rows[:p], *slope_rows(results.parts, alpha)]),
        *term_tables(tests, results.parts),
        *hyper_tables(hyper, "mode" if priors else "value", unknown, last),
    ]


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


def _notes(results: Fit, tests: Mapping[str, TermTest]) -> Notes:
    """On which scale estimates are, and what tables show of them."""
    fitted, gp = results.parts.fitted, results.parts.gp
    scale = times_note(results)
    if gp.family.log_time:
        scale = ["Coefficients, sd() and sigma are on the log scale of the response."]
    coefficients = [POSTERIOR] if gp.columns else []
    centred = _centred(results)
    if centred:
        verb, its = ("is", "its average") if len(centred) == 1 else ("are", "their averages")
        curves = any(term.by is not None for term in gp.terms if term.name in centred)
        of_level = ", or over those of each level of by=," if curves else ""
        coefficients.append(
            f"{', '.join(centred)} {verb} centred: {its} over the rows{of_level} {verb} part of the coefficients."
        )
    if gp.slopes:
        coefficients.append(LINES)
    hyper = tests_note(tests)
    hyper += mode_note(fitted, fitted.parameters.names)
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


def hyper_tables(
    rows: Sequence[tuple[str, Any]], estimate: str, unknown: Mapping[str, str], last: tuple[str, Mapping[str, str]]
) -> list[SummaryTable]:
    """Coefficients of log(sigma), and the hyper-parameters."""
    found = []
    for heading, of_scale in (("log(sigma)", True), ("Hyper-parameters", False)):
        part = [row for row in rows if row[0].startswith(_OF_SCALE) == of_scale]
        named = any(name in last[1] for name, _ in part)
        found.append(SummaryTable(heading, part, estimate, unknown, last=last if named else ("", {})))
    return found


def mode_note(fitted: FittedGP, names: Sequence[str]) -> list[str]:
    """What the numbers of hyper-parameters are, where any was estimated."""
    whence = "posterior moments" if fitted.has_moments else "the posterior curvature"
    own = ", log(sigma)[...] on its own" if any(name.startswith(_OF_SCALE) for name in names) else ""
    note = f"Hyper-parameters: posterior mode; standard errors and intervals from {whence}, on the log scale{own}."
    return [note] * bool(fitted.parameters.n_free)


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
            f"Priors of {names} and its correlations apply at the means of the other columns; values apply where "
            "these are 0."
        )
    return words


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
        notes.append(
            f"Too few inducing inputs (approximation gap {fitted.nats_left:.3g} nats), so the curve is too smooth. "
            f"Try {fitted.method.written(inducing=None)}."
        )
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


def _linear_priors(parts: ProcessParts) -> list[tuple[str, str]]:
    """Priors of coefficients and of slopes in words, by name."""
    gp, words = parts.gp, []
    for j, (name, row) in enumerate(linear_rows(gp)):
        where = ""
        if gp.linear is not None and j == gp.linear.intercept and len(gp.columns) > 1:
            where = " at the base level" if gp.linear.factor is not None else " at the columns' means"
        if row.distribution != "fixed":
            words.append((name, f"{_prior_words(row)}{where}"))
    return [*words, *((name, _prior_words(row)) for name, row in line_rows(gp))]


def _prior_words(row: PriorRow) -> str:
    return row.distribution + ("" if row.distribution == "flat" else f"({row.location:.3g}, {row.spread:.3g})")
