"""The summary and the figures of a mixture; matplotlib is loaded when one is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tobitgp.data.arrays import CensoredResponse
from tobitgp.errors import SpecError
from tobitgp.formula.functions import nearest
from tobitgp.mixture import MixtureFit
from tobitgp.mixture.evidence_bound import Bayes, Points
from tobitgp.mixture.fitted_mixture import HELD
from tobitgp.report.axes import (
    BLUE,
    GREY,
    INK,
    LEVELS,
    Level,
    closing_what_fails,
    draw_rows,
    finish,
    given_or_new,
    log_scale,
    response_name,
    row_kinds,
)
from tobitgp.report.plots import POINTS, draw_kaplan_meier, draw_numbers, is_discrete, rows_above_zero, time_grid
from tobitgp.report.residual_figures import dots, draw_envelope, normal_quantiles
from tobitgp.report.term_figures import (
    drawn_along,
    factor_columns,
    grid_frame,
    held_words,
    label_axis,
    place,
    say_above,
)
from tobitgp.results.fit import Fit
from tobitgp.results.parameter_tables import parameter_frame
from tobitgp.results.prediction import residual_series
from tobitgp.results.summary_notes import model_title, row_notes
from tobitgp.results.words import Notes, SummaryTable, Words, not_converged, noted, rows_of, untested
from tobitgp.typing import Array

if TYPE_CHECKING:
    from tobitgp.results.parameter_estimates import CovKind

CurveEnds = tuple[Array, Array, Array]

_CRITERIA = {"log_evidence": "log evidence (ELBO + log K!)", "bic": "BIC"}
_MOST_BINS = 60
_COMPONENTS = LEVELS[1:-1]


def mixture_words(results: Fit, alpha: float = 0.05, kind: CovKind | None = None) -> Words:
    """Contents of the summary of a fitted mixture."""
    fit, family = results.parts.fit, results.parts.family
    rows = rows_of(parameter_frame(results, alpha, kind)[np.tile(fit.shown, len(results.parts.names) // fit.k)])
    unknown = dict.fromkeys((name for name, _ in rows), "(not determined)")
    counts = [
        (f"component {i + 1}", (f"{fit.counts[i]:.1f}", f"{fit.exact_counts[i]:.1f}"))
        for i in np.flatnonzero(fit.shown)
    ]
    components = f"{fit.n_effective} used, at most {fit.k}" if fit.process else component_number(results)
    return Words(
        model_title(results, "mixture", positive=family.support != "real"),
        [("Components:", components)],
        [*component_tables(rows, unknown), SummaryTable("Expected rows", counts, "all", columns=("uncensored",))],
        _notes(results, kind),
        details=[
            *[("ELBO:", f"{results.elbo:.3f}")] * results.parts.bayes,
            ("Starts:", str(len(fit.ends))),
            ("Passes:", str(fit.passes)),
        ],
    )


def component_tables(rows: Sequence[tuple[str, Any]], unknown: Mapping[str, str]) -> list[SummaryTable]:
    """Weights of components, and their other parameters."""
    weights = [row for row in rows if row[0].startswith("weight[")]
    rest = [row for row in rows if not row[0].startswith("weight[")]
    return [
        SummaryTable("Weights", untested(weights), "estimate", unknown),
        SummaryTable("Components", untested(rest), "estimate", unknown),
    ]


def component_number(results: Fit) -> str:
    """How many components there are, in words."""
    fit, tried = results.parts.fit, results.parts.tried
    return str(fit.k) if tried is None else f"{fit.k}, best of {tried.numbers.min()} to {tried.numbers.max()}"


def _notes(results: Fit, kind: CovKind | None) -> Notes:
    """Notes for the reader."""
    parts, fit = results.parts, results.parts.fit
    warnings = list(fit.notes)
    if not results.converged:
        warnings[0] = not_converged(results._search_message)
    empty, found = fit.k - int(fit.shown.sum()), []
    if empty:
        hold = "components have" if empty > 1 else "component has"
        found.append(f"{empty} {hold} fewer than {HELD:g} rows, and {'is' if empty == 1 else 'are'} not in the tables.")
    scale = ["mean and sd are those of the logarithm of the response."] * bool(
        parts.family.logarithm and "mean" in parts.family.parameters
    )
    if isinstance(fit.model, Points):
        found += [_floor_note(fit)] * (parts.family.free_of == "location and scale")
    else:
        found += ["Shapes are point estimates, at the maximum of the bound."] * (parts.family.name == "weibull")
        if results.log_evidence != results.elbo:
            found.append("Log evidence is ELBO + log K!, for the K! orders of the components.")
        found.append(f"Prior of a component (priors=): {_prior(fit.model, fit)}.")
    return [
        *noted("warning", warnings),
        *row_notes(results, times=parts.family.support == "real"),
        *noted("scale", scale),
        *noted("parameters", found),
        *noted("errors", [_errors_note(results, kind)]),
    ]


def _floor_note(fit: MixtureFit) -> str:
    floor = getattr(fit.method, "floor", None)
    if floor is not None:
        return f"Variances are held above {floor:g} of that of the rows; see tg.EMCM(floor=)."
    return "No sd is far below the distance between the rows next to its mean, where the likelihood is unbounded."


def _errors_note(results: Fit, kind: CovKind | None) -> str:
    scales = "intervals have the shape of each posterior, of weights on the logit scale"
    if not results.parts.bayes:
        return f"Standard errors are from the observed information; {scales}."
    if kind == "vb":
        return (
            "Standard errors are those of the variational posterior, which treats censored rows as observed: "
            f"too small if rows are censored; {scales}."
        )
    return f"Standard errors are by linear response, which accounts for censoring; {scales}."


def _prior(model: Bayes, fit: MixtureFit) -> str:
    """Hyper-parameters of the prior in the user's units."""
    prior, found, weights = model.prior, model.prior_at(fit.state), model.weights
    shift = model.family.prior_to_working(np.zeros_like(found), fit.units)
    factor = model.family.prior_to_working(np.ones_like(found), fit.units) - shift
    words = [f"{value:.4g}" for value in model.family.prior_to_user(found, fit.units)]
    for at, shape, rate in zip(prior.learnt.tolist(), prior.shape, prior.rate, strict=True):
        words[at] = f"gamma({shape:g}, {rate * factor[at]:.4g}), learnt as {words[at]}"
    values = ", ".join(map(" ".join, zip(model.family.hyperparameters, words, strict=True)))
    if weights.concentration is None:
        return f"{values}; concentration of the weights gamma({weights.shape:g}, {weights.rate:g})"
    return f"{values}; concentration of the weights {weights.concentration:g}"


@closing_what_fails
def plot_components(results: Fit, ends: CurveEnds, seen: CensoredResponse, ax: Any = None) -> Any:
    """Draw the mixture and its components: as survival if rows are right-censored or entered late, or as densities.

    With windows that end, a histogram would not show the distribution of the components, and none is drawn.
    """
    ax = given_or_new(ax)
    lower, upper, _ = ends
    right, name, distribution = (
        np.isposinf(upper),
        response_name(results.model),
        results.parts.fit.predictive().distribution,
    )
    late, ended = np.isfinite(seen.entry).any(), np.isfinite(seen.exit).any()
    if (right.any() or late) and (right | (lower == upper)).all() and not ended:
        x = time_grid(results, ends)
        draw_kaplan_meier(ax, *ends, seen.entry)
        _draw_mixture(
            ax, results, x, np.exp(distribution.log_sf(x)), "steps-post" if is_discrete(results) else "default"
        )
        return finish(ax, name, "survival", ylim=(0.0, 1.03))
    x = _values(results, ends)
    bars = 0.0 if ended else _draw_histogram(ax, ends, discrete=is_discrete(results))
    top = _draw_mixture(ax, results, x, np.exp(distribution.log_density(x)))
    if bars > 0.0:
        ax.set_ylim(0.0, 1.08 * max(bars, min(top, 3.0 * bars)))
    _mark_censored(ax, ends)
    return finish(ax, name, "probability" if is_discrete(results) else "density")


@closing_what_fails
def plot_mixture_evidence(results: Any, ax: Any = None) -> Any:
    """Draw the evidence of each number of components that was tried; of one number the ascent of its objective."""
    ax, tried = given_or_new(ax), results.parts.tried
    if tried is not None:
        numbers = [int(number) for number in tried.numbers]
        best = numbers.index(int(results.selection.index[0]))
        return draw_numbers(ax, numbers, tried.values, best, _CRITERIA[tried.by])
    return _draw_passes(results, ax)


@closing_what_fails
def plot_mixture_history(results: Any, ax: Any = None) -> Any:
    """Draw the bound along stochastic steps with a line at its last value, or of other methods after each pass."""
    ax, history = given_or_new(ax), results.fit_history
    if "stage" not in history:
        return _draw_passes(results, ax)
    steps, last = history[history["stage"] == "steps"], float(history["elbo"].iloc[-1])
    ax.plot(steps["step"], steps["elbo"], color=BLUE, linewidth=1.4, label="stochastic steps")
    passes = int(history["pass"].iloc[-1])
    label = f"after {passes} passes" if passes > 1 else "last state"
    ax.axhline(last, color=GREY, linestyle=(0, (4, 2)), linewidth=1.0, label=label)
    return _of_objective(results, ax, "stochastic step", legend="lower right")


def _draw_passes(results: Any, ax: Any) -> Any:
    history = results.fit_history
    history = history[history["pass"] > 0]
    ax.plot(history["pass"], history.iloc[:, -1], color=BLUE, linewidth=1.4)
    return _of_objective(results, ax, "accepted pass of the last ascent", legend="")


def _of_objective(results: Any, ax: Any, x: str, *, legend: str) -> Any:
    ax.ticklabel_format(axis="y", useOffset=False)
    ax.margins(y=0.12)
    return finish(ax, x, "ELBO" if results.parts.bayes else "log likelihood", legend=legend)


@closing_what_fails
def plot_scores(results: Fit, ax: Any = None) -> Any:
    """Draw quantile residuals against normal quantiles with a 95% envelope; censored rows at a random point."""
    ax = given_or_new(ax)
    r = np.sort(residual_series(results, "quantile", None).dropna().to_numpy())
    draw_envelope(ax, len(r))
    ax.plot(normal_quantiles(len(r)), r, "o", color=INK, markersize=4.5, **dots(len(r)))
    return finish(ax, "normal quantile", "quantile residual", legend="upper left")


def _values(results: Fit, ends: CurveEnds) -> Array:
    """Values over which densities are drawn: where the data are, and most of the mixture near them."""
    both, predictive = np.concatenate(ends[:2]), results.parts.fit.predictive()
    values = both[np.isfinite(both)]
    least, most = values.min(), values.max()
    room = 0.3 * max(most - least, 1e-12 * max(1.0, float(np.abs(values).max())))
    low = min(max(float(predictive.ppf(0.002)), least - room), least)
    high = max(min(float(predictive.ppf(0.998)), most + room), most)
    if is_discrete(results):
        return np.arange(max(np.floor(low), 0.0), np.ceil(high) + 1.0)
    if results.parts.family.support == "positive":
        low = max(low, 1e-3 * (high - low))
    return np.linspace(low, high, POINTS)


def _draw_mixture(ax: Any, results: Fit, x: Array, parts: Array, steps: str = "") -> float:
    """Draw weighted components (K, n) and their sum; its maximum."""
    weights = results.parts.fit.predictive().weights
    each = weights[:, None] * parts
    look = {"drawstyle": steps} if steps else {"marker": "o", "markersize": 3.5} if is_discrete(results) else {}
    for k in np.flatnonzero(results.parts.fit.shown) if len(weights) > 1 else []:
        colour, label = _COMPONENTS[k % len(_COMPONENTS)], f"component {k + 1} ({100 * weights[k]:.0f}%)"
        ax.plot(x, each[k], color=colour, linestyle=(0, (4, 2)), label=label, zorder=3, **look)
    total = each.sum(axis=0)
    ax.plot(x, total, color=BLUE, linewidth=2.6, alpha=0.8, label="mixture", zorder=2, **look)
    return float(total.max())


def _draw_histogram(ax: Any, ends: CurveEnds, *, discrete: bool) -> float:
    """Draw bars over the exact rows, whose area is their share of all; their height, 0 without such rows."""
    lower, upper, weight = ends
    exact = lower == upper
    if not exact.any():
        return 0.0
    values, share = lower[exact], weight[exact] / weight.sum()
    if discrete:
        edges = np.arange(values.min() - 0.5, values.max() + 1.0)
    else:
        edges = np.histogram_bin_edges(values, bins="auto")
        if len(edges) > _MOST_BINS:
            edges = np.linspace(values.min(), values.max(), _MOST_BINS + 1)
    heights = np.histogram(values, bins=edges, weights=share)[0] / np.diff(edges)
    look = {
        "color": GREY,
        "alpha": 0.35,
        "edgecolor": "white",
        "linewidth": 0.6,
        "label": f"exact rows ({exact.sum()})",
    }
    ax.bar(edges[:-1], heights, np.diff(edges), align="edge", zorder=1, **look)
    return float(heights.max())


def _mark_censored(ax: Any, ends: CurveEnds) -> None:
    """Mark censored rows at the foot of the figure."""
    lower, upper, _ = ends
    look = {"color": INK, "transform": ax.get_xaxis_transform()}
    sides = {"v": ("<", upper), "^": (">", lower)}
    for label, rows, kind, _ in row_kinds(lower, upper):
        if kind in sides:
            marker, at = sides[kind]
            places = np.unique(at[rows])
            dots = {"linestyle": "none", "clip_on": False, "alpha": 0.6, "zorder": 4, **look}
            ax.plot(places, np.zeros(len(places)), marker, label=label, **dots)
        elif kind == "s":
            pairs = np.unique(np.column_stack([lower[rows], upper[rows]]), axis=0)
            height = np.linspace(0.015, 0.06, len(pairs)) if len(pairs) > 1 else np.array([0.03])
            ax.hlines(height, pairs[:, 0], pairs[:, 1], label=label, alpha=0.4, linewidth=1.0, **look)


@closing_what_fails
def plot_component_curves(results: Any, x: str | None, ax: Any = None) -> Any:
    """Draw the median of each component along a column over the rows, in the colour of their likeliest component."""
    covariates = results.model.data.frame
    if covariates is None:
        raise SpecError("This fit holds no training rows, so there is nothing to draw. Use predict() with new data.")
    columns = drawn_along(results, covariates)
    if x is None and not columns:
        raise SpecError("plot_components() requires a column of numbers, and this model has none.")
    if x is not None and x not in columns:
        listed = ", ".join(map(repr, columns)) or "none"
        raise SpecError(
            f"x={x!r}: x must be a column of numbers of this model{nearest(str(x), columns)}. The model has {listed}."
        )
    column = columns[0] if x is None else x
    ax = given_or_new(ax)
    likeliest = results.predict(what="component").dropna().to_numpy().argmax(axis=1)
    colours = [LEVELS[k % len(LEVELS)] for k in range(results.n_components)]
    levels = [Level(f"component {k + 1}", likeliest == k, colour) for k, colour in enumerate(colours)]
    draw_rows(ax, place(covariates[column]), results.parts.rows.response, levels)
    grid = grid_frame(covariates, column, factors=factor_columns(results))
    at = place(grid[column])
    for k, (curve, colour) in enumerate(zip(results._component_medians(grid), colours, strict=True)):
        ax.plot(at, curve, color=colour, linewidth=1.8, label=f"component {k + 1}", zorder=3)
    if results.parts.family.log_time and rows_above_zero(results):
        log_scale(ax)
    finish(ax, column, response_name(results.model))
    label_axis(ax, column, at)
    say_above(ax, held_words(grid.drop(columns=[column])))
    return ax
