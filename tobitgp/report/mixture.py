"""The summary and the figures of a mixture; matplotlib is loaded when one is drawn."""

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
from typing import TYPE_CHECKING, Any

from scipy.special import ndtri

from tobitgp.report.axes import BLUE, GREY, INK, LEVELS, as_label, closing_what_fails, given_or_new, response_name
from tobitgp.report.plots import draw_kaplan_meier, draw_numbers, time_grid
from tobitgp.report.residuals import draw_envelope
from tobitgp.typing import Array

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
    if parts.family.logarithm:
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


Ends = tuple[Array, Array, Array]
_CRITERIA = {"log_evidence": "log evidence (ELBO + log K!)", "bic": "BIC"}
_POINTS = 401
_MARKS = 5000
_MOST_BINS = 60
_COMPONENTS = tuple(colour for colour in LEVELS if colour not in (INK,))


@closing_what_fails
def plot_components(results: MixtureResults, ends: Ends, ax: Any = None) -> Any:
    """Draw the mixture and its components over the data.

    Where all censored rows are right-censored, survival: that of the mixture, those of the components times their
    weights, which add up to it, and Kaplan and Meier's estimate. Otherwise densities, of counts probabilities, over a
    histogram of the exact rows whose area is their share of all rows; censored rows are marked at their limits.

    Shapes: ends (n,).
    """
    ax = given_or_new(ax)
    lower, upper, _ = ends
    right = np.isposinf(upper)
    if right.any() and (right | (lower == upper)).all():
        x = _times(results, ends)
        draw_kaplan_meier(ax, *ends)
        _draw_mixture(ax, results, x, np.exp(results.predictive.distribution.log_sf(x)), step=_discrete(results))
        ax.set_ylabel("survival")
        ax.set_ylim(0.0, 1.03)
    else:
        x = _values(results, ends)
        bars = _draw_histogram(ax, results, ends, x)
        _draw_mixture(ax, results, x, np.exp(results.predictive.distribution.log_density(x)), step=False, top=bars)
        _mark_censored(ax, ends)
        ax.set_ylabel("probability" if _discrete(results) else "density")
    return _finish(ax, results)


@closing_what_fails
def plot_mixture_evidence(results: MixtureResults, ax: Any = None) -> Any:
    """Draw the evidence of each number of components that was tried; of one number the ascent of its objective."""
    ax = given_or_new(ax)
    tried = results.parts.tried
    if tried is not None:
        numbers = [int(number) for number in tried.numbers]
        best = numbers.index(int(results.selection.index[0]))
        return draw_numbers(ax, numbers, tried.values, best, _CRITERIA[tried.by])
    history = results.fit_history
    ax.plot(history["pass"], history.iloc[:, 1], color=BLUE, linewidth=1.4)
    ax.set_xlabel("accepted pass of the last ascent")
    ax.set_ylabel("ELBO" if results.parts.bayes else "log likelihood")
    ax.ticklabel_format(axis="y", useOffset=False)
    ax.margins(y=0.12)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


@closing_what_fails
def plot_scores(results: MixtureResults, ax: Any = None) -> Any:
    """Draw quantile residuals against normal quantiles with a 95% envelope; censored rows at a random point."""
    ax = given_or_new(ax)
    r = np.sort(results.residuals("quantile").dropna().to_numpy())
    draw_envelope(ax, len(r))
    z = ndtri((np.arange(len(r)) + 0.5) / len(r))
    look = {"linestyle": "none", "markeredgecolor": "white", "markeredgewidth": 0.4, "rasterized": len(r) > _MARKS}
    ax.plot(z, r, "o", color=INK, markersize=4.5, alpha=0.8 if len(r) < 500 else 0.4, **look)
    ax.set_xlabel("normal quantile")
    ax.set_ylabel("quantile residual")
    ax.legend(fontsize="small", framealpha=0.9, edgecolor="none", loc="upper left")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _finish(ax: Any, results: MixtureResults) -> Any:
    ax.set_xlabel(as_label(response_name(results.model)))
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(fontsize="small", framealpha=0.9, edgecolor="none")
    return ax


def _discrete(results: MixtureResults) -> bool:
    return results.parts.family.support == "counts"


def _finite(ends: Ends) -> Array:
    both = np.concatenate(ends[:2])
    return both[np.isfinite(both)]


def _times(results: MixtureResults, ends: Ends) -> Array:
    return time_grid(ends, discrete=_discrete(results), real=results.parts.family.support == "real")


def _values(results: MixtureResults, ends: Ends) -> Array:
    """Values over which densities are drawn: where the data are, and most of the mixture near them."""
    values, predictive = _finite(ends), results.predictive
    span = max(values.max() - values.min(), 1e-12 * max(1.0, float(np.abs(values).max())))
    low = max(float(predictive.ppf(0.002)), values.min() - 0.3 * span)
    high = min(float(predictive.ppf(0.998)), values.max() + 0.3 * span)
    low, high = min(low, values.min()), max(high, values.max())
    if _discrete(results):
        return np.arange(max(np.floor(low), 0.0), np.ceil(high) + 1.0)
    if results.parts.family.support == "positive":
        low = max(low, 1e-3 * (high - low))
    return np.linspace(low, high, _POINTS)


def _draw_mixture(ax: Any, results: MixtureResults, x: Array, parts: Array, *, step: bool, top: float = 0.0) -> None:
    """Draw weighted components (K, n) and their sum, no higher than what bars need."""
    weights = results.predictive.weights
    each = weights[:, None] * parts
    style = {"drawstyle": "steps-post"} if step else {}
    marker = {"marker": "o", "markersize": 3.5} if _discrete(results) and not step else {}
    if len(weights) > 1:
        for k in np.flatnonzero(results.parts.fit.shown):
            colour = _COMPONENTS[1:][k % (len(_COMPONENTS) - 1)]
            label = f"component {k + 1} ({100 * weights[k]:.0f}%)"
            ax.plot(x, each[k], color=colour, linestyle=(0, (4, 2)), label=label, zorder=3, **style, **marker)
    total = each.sum(axis=0)
    ax.plot(x, total, color=BLUE, linewidth=2.6, alpha=0.8, label="mixture", zorder=2, **style, **marker)
    if top > 0.0:
        ax.set_ylim(0.0, 1.08 * max(top, min(float(total.max()), 3.0 * top)))


def _draw_histogram(ax: Any, results: MixtureResults, ends: Ends, x: Array) -> float:
    """Draw bars over the exact rows; their height, 0 without such rows."""
    lower, upper, weight = ends
    exact = lower == upper
    if not exact.any():
        return 0.0
    values, share = lower[exact], weight[exact] / weight.sum()
    if _discrete(results):
        edges = np.arange(values.min() - 0.5, values.max() + 1.0)
    else:
        edges = np.histogram_bin_edges(values, bins="auto")
        if len(edges) > _MOST_BINS:
            edges = np.linspace(values.min(), values.max(), _MOST_BINS + 1)
    heights, _ = np.histogram(values, bins=edges, weights=share)
    heights = heights / np.diff(edges)
    label = f"exact rows ({exact.sum()})"
    look = {"color": GREY, "alpha": 0.35, "edgecolor": "white", "linewidth": 0.6, "label": label}
    ax.bar(edges[:-1], heights, np.diff(edges), align="edge", zorder=1, **look)
    return float(heights.max())


def _mark_censored(ax: Any, ends: Ends) -> None:
    """Mark censored rows at the foot of the figure."""
    lower, upper, _ = ends
    left, right = np.isneginf(lower), np.isposinf(upper)
    look = {"linestyle": "none", "clip_on": False, "alpha": 0.6, "zorder": 4, "transform": ax.get_xaxis_transform()}
    for rows, at, marker, name in ((left, upper, "<", "left"), (right, lower, ">", "right")):
        if rows.any():
            places = np.unique(at[rows])
            ax.plot(places, np.zeros(len(places)), marker, color=INK, label=f"{name}-censored ({rows.sum()})", **look)
    between = ~(left | right | (lower == upper))
    if between.any():
        pairs = np.unique(np.column_stack([lower[between], upper[between]]), axis=0)
        height = np.linspace(0.015, 0.06, len(pairs)) if len(pairs) > 1 else np.array([0.03])
        lines = {"transform": ax.get_xaxis_transform(), "color": INK, "alpha": 0.4, "linewidth": 1.0}
        ax.hlines(height, pairs[:, 0], pairs[:, 1], label=f"interval ({between.sum()})", **lines)
