"""Figures of a mixture. matplotlib is loaded when one is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri

from tobitgp.report.axes import BLUE, GREY, INK, LEVELS, as_label, closing_what_fails, given_or_new, response_name
from tobitgp.report.plots import draw_numbers
from tobitgp.report.residuals import draw_envelope
from tobitgp.report.survival import draw_kaplan_meier, time_grid
from tobitgp.typing import Array

if TYPE_CHECKING:
    from tobitgp.results.mixture.results import MixtureResults

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
