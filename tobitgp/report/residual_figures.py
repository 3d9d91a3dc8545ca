"""Figures that check a fit: residuals, calibration, the search. matplotlib is loaded when one is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import betaincinv, ndtri

from tobitgp.distributions.power_normal import TINY
from tobitgp.errors import SpecError
from tobitgp.numerics.nonparametric import kaplan_meier, risk_sets, turnbull
from tobitgp.report.axes import (
    BLUE,
    EDGE,
    GREY,
    INK,
    MANY,
    ORANGE,
    SQUARE,
    closing_what_fails,
    finish,
    given_or_new,
    row_kinds,
)
from tobitgp.report.term_figures import curve_words
from tobitgp.results.fit import Fit
from tobitgp.results.prediction import residual_series
from tobitgp.typing import Array, BoolArray, IntArray

if TYPE_CHECKING:
    from tobitgp.diagnostics.residual_tests import PredictedSurvival

GROUPS = 10
_ROWS = 5000
_LEAST_GROUP = 10
_TOL = 1e-6
_FAR = 8.0
_MOST_HAZARD = 600.0  # of which the exponential is a number
_RIGHT = {"color": GREY, "alpha": 0.18, "linewidth": 0, "label": "95% if the model is right"}


@closing_what_fails
def plot_residuals(results: Fit) -> Any:
    """Draw quantile residuals against the fit and against normal quantiles; censored rows are triangles."""
    import matplotlib.pyplot as plt

    kept, response = results.parts.rows.kept, results.parts.rows.response
    r = residual_series(results, "quantile", None).to_numpy()[kept]
    fit = results._location()
    _, axes = plt.subplots(1, 2, figsize=(8.4, 3.9), layout="constrained", sharey=True)
    normal = np.empty(len(r))
    normal[np.argsort(r, kind="stable")] = normal_quantiles(len(r))
    axes[0].axhline(0.0, color=GREY, linewidth=0.9)
    draw_envelope(axes[1], len(r))
    for label, rows, marker, colour in row_kinds(response.lower, response.upper):
        look = {"markersize": 4.5 if marker == "o" else 5.5, "color": colour, "label": label, **dots(len(r))}
        for ax, x in zip(axes, (fit, normal), strict=True):
            ax.plot(x[rows], r[rows], marker, **look)
    finish(axes[0], results._location_words or curve_words(results), "quantile residual", legend="")
    finish(axes[1], "normal quantile", "", legend="upper left")
    return axes


def normal_quantiles(n: int) -> Array:
    """Where n sorted residuals are expected."""
    return np.asarray(ndtri((np.arange(n) + 0.5) / n))


def dots(n: int) -> dict[str, Any]:
    """How n residuals are drawn."""
    return {"alpha": 0.8 if n < 500 else 0.4, "rasterized": n > MANY, **EDGE}


def draw_envelope(ax: Any, n: int) -> None:
    """Line of equality, and where each order statistic of n normal values lies with probability 95%."""
    k = np.unique(np.round(np.geomspace(1, n, min(n, 100))).astype(int))
    k = np.unique(np.concatenate([k, n + 1 - k])).astype(np.float64)
    x: Array = ndtri((k - 0.5) / n)
    low, high = (ndtri(betaincinv(k, n + 1.0 - k, p)) for p in (0.025, 0.975))
    ax.fill_between(x, low, high, **_RIGHT)
    ax.plot(x[[0, -1]], x[[0, -1]], color=GREY, linewidth=0.9)


@closing_what_fails
def plot_evidence(results: Fit, ax: Any = None) -> Any:
    """Draw the log posterior density of the hyper-parameters after each stage of the fit."""
    history = results._search
    history = history[~history["stage"].str.startswith(("another", "highest", "screening"))]
    history = history.assign(total=history["evaluations"].cumsum())
    if "rough search" in set(history["stage"]):
        # The first search then used some of the rows, and its density is not part of this curve.
        history = history[history["stage"] != "search"]
    if not len(history):
        raise SpecError("This fit has no history to draw.")
    ax = given_or_new(ax, (6.4, 4.0))
    ax.plot(history["total"], history["log_posterior"], "o-", color=BLUE, linewidth=1.4, markersize=5)
    for k, row in enumerate(history.itertuples()):
        side, reach = ("right", -4) if k == len(history) - 1 > 0 else ("left", 4)
        look = {"textcoords": "offset points", "ha": side, "fontsize": "small", "color": INK}
        ax.annotate(str(row.stage), (row.total, row.log_posterior), xytext=(reach, -14), **look)
    ax.margins(x=0.1, y=0.25)
    ax.ticklabel_format(axis="y", useOffset=False)
    return finish(ax, "evaluations", "log posterior density", legend="")


class Curve(NamedTuple):
    """Distribution function that was seen: a line through (m,) points, and the name of its estimate."""

    x: Array
    below: Array
    label: str


@closing_what_fails
def plot_calibration(ends: PredictedSurvival, ax: Any = None) -> Any:
    """Draw the distribution of the rows' predicted probabilities, which is uniform if the model is right."""
    above = np.where(np.isneginf(ends.upper), np.inf, -np.expm1(ends.upper))
    lower, upper, weight = _some(-np.expm1(ends.lower), above, ends.weight)
    seen = distribution(lower, upper, weight)
    shown, u = np.isfinite(seen.x), np.linspace(0.0, 1.0, 201)
    error = np.sqrt(u * (1.0 - u) / max(weight[lower == upper].sum(), 1))
    ax = _beside_diagonal(ax, seen.x[shown], seen.below[shown], u, error, seen.label)
    return finish(ax, "predicted probability (CDF)", "proportion of rows")


@closing_what_fails
def plot_calibration_at(
    time: float,
    survival: Array,
    rows: tuple[Array, BoolArray, Array, Array],
    ax: Any = None,
    since: float | None = None,
) -> Any:
    """Draw predicted probabilities (n,) of an event by a time, in groups, against Kaplan-Meier estimates."""
    ax = given_or_new(ax, SQUARE)
    parts = _tenths(survival, rows[2])
    x = np.array([1.0 - np.average(survival[at], weights=rows[2][at]) for at in parts])
    y, low, high = np.array([_event_by(time, rows, at) for at in parts]).T
    top = min(1.0, 1.08 * float(np.nanmax([x, high])))
    ax.plot([0.0, top], [0.0, top], color=GREY, linewidth=0.9)
    look = {"fmt": "o", "color": BLUE, "ecolor": BLUE, "elinewidth": 1.1, "markersize": 5}
    label = f"{len(parts)} groups of rows, Kaplan-Meier with 95% interval"
    ax.errorbar(x, y, yerr=[y - low, high - y], label=label, **look)
    given = "" if since is None else f" from {since:g}"
    words = f"predicted probability of an event{given} by {time:g}"
    return finish(ax, words, "observed proportion", xlim=(0.0, top), ylim=(0.0, top))


@closing_what_fails
def plot_cox_snell(ends: PredictedSurvival, ax: Any = None) -> Any:
    """Draw the cumulative hazard of Cox-Snell residuals, which is the diagonal if the model is right."""
    lower, upper, weight = _some(-ends.lower, -ends.upper, ends.weight)
    seen = distribution(lower, upper, weight)
    shown = (seen.below < 1.0) & np.isfinite(seen.x)
    x, hazard = seen.x[shown], -np.log1p(-seen.below[shown])
    line = np.linspace(0.0, 1.05 * max(float(x.max(initial=0.0)), float(hazard.max(initial=0.0)), 1e-3), 201)
    error = np.sqrt(np.expm1(np.minimum(line, _MOST_HAZARD)) / max(weight[lower == upper].sum(), 1))
    ax = _beside_diagonal(ax, x, hazard, line, error, seen.label)
    return finish(ax, "Cox-Snell residual", "cumulative hazard")


@closing_what_fails
def plot_predictive_check(ends: tuple[Array, Array, Array], replicates: Array, name: str, ax: Any = None) -> Any:
    """Draw the distribution of the rows and those of replicates (n, draws)."""
    ax = given_or_new(ax)
    seen = distribution(*_some(*ends))
    inside = np.isfinite(seen.x)
    ax.plot(seen.x[inside], seen.below[inside], color=INK, linewidth=1.8, label=f"rows, {seen.label}", zorder=3)
    grid = _grid(seen.x[inside], float(np.median(replicates)))
    if grid[0] > 0.0 and not np.allclose(np.diff(grid), grid[1] - grid[0]):
        ax.set_xscale("log")
    share = ends[2] / ends[2].sum()
    for k, y in enumerate(replicates.T):
        order = np.argsort(y)
        below = np.concatenate([[0.0], np.cumsum(share[order])])[np.searchsorted(y[order], grid, side="right")]
        label = f"{replicates.shape[1]} replicates" if k == 0 else "_nolegend_"
        ax.plot(grid, below, color=ORANGE, linewidth=0.7, alpha=0.35, label=label, zorder=2)
    return finish(ax, name, "cumulative proportion", xlim=(grid[0], grid[-1]), ylim=(0.0, 1.0))


def distribution(lower: Array, upper: Array, weight: Array) -> Curve:
    """Distribution function of values in intervals: Kaplan-Meier steps, or Turnbull's mass drawn evenly."""
    if (event := lower == upper).all() or np.isposinf(upper[~event]).all():
        times, survival = kaplan_meier(lower, event, weight)
        below = np.repeat(1.0 - np.concatenate([[1.0], survival]), 2)
        label = "seen" if event.all() else "Kaplan-Meier"
        return Curve(np.concatenate([np.repeat(times, 2), times[-1:]]), below[1:], label)
    found = turnbull(lower, upper, weight, tol=_TOL)
    x = np.stack([found.left, found.right], axis=1).ravel()
    before = np.concatenate([[1.0], found.survival[:-1]])
    return Curve(x, 1.0 - np.stack([before, found.survival], axis=1).ravel(), "Turnbull")


def _grid(values: Array, middle: float) -> Array:
    """Values of the response to draw at: even, or even in the logarithm of positive values that reach far."""
    low, high = float(values.min()), float(values.max())
    positive = values[values > TINY]  # others are zeros
    if low >= 0.0 and high > _FAR * middle and len(positive):
        return np.geomspace(0.5 * float(positive.min()), 1.5 * high, 401)
    room = 0.05 * (high - low) or 1.0
    return np.linspace(low - room, high + room, 401)


def _tenths(survival: Array, weight: Array) -> list[IntArray]:
    """Rows in groups of nearly equal weight, the least survival last."""
    order = np.argsort(-survival, kind="stable")
    total = weight.sum()
    groups = int(np.clip(total // _LEAST_GROUP, 1, GROUPS))
    group = np.floor(groups * (np.cumsum(weight[order]) - 0.5 * weight[order]) / total).astype(np.intp)
    return [order[group == k] for k in range(groups) if (group == k).any()]


def _event_by(time: float, rows: tuple[Array, BoolArray, Array, Array], at: Any) -> tuple[float, float, float]:
    """Kaplan-Meier probability of an event by a time, and its interval on the scale of log(-log)."""
    sets = risk_sets(*(column[at] for column in rows))
    until = np.flatnonzero(sets.times <= time)
    if not len(until):
        return 0.0, 0.0, 0.0
    lower, upper = (end[until[-1]] for end in sets.interval())
    return 1.0 - sets.survival[until[-1]], 1.0 - upper, 1.0 - lower


def _some(lower: Array, upper: Array, weight: Array) -> tuple[Array, Array, Array]:
    """At most 5000 of the rows: a figure shows no more."""
    if len(lower) <= _ROWS:
        return lower, upper, weight
    at = np.sort(np.random.default_rng(0).choice(len(lower), _ROWS, replace=False))
    return lower[at], upper[at], weight[at]


def _beside_diagonal(ax: Any, x: Array, y: Array, line: Array, error: Array, label: str) -> Any:
    """Draw what was seen, the diagonal, and how far from it a right model may lie by the error at each point of it."""
    ax = given_or_new(ax, SQUARE)
    reach, top = float(ndtri(0.975)) * error, float(line[-1])
    ax.fill_between(line, line - reach, line + reach, **_RIGHT)
    ax.plot([0.0, top], [0.0, top], color=GREY, linewidth=0.9)
    ax.plot(x, y, color=BLUE, linewidth=1.6, label=label)
    ax.set(xlim=(0.0, top), ylim=(0.0, top))
    return ax
