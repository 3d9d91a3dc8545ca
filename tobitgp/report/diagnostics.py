"""Pictures that check a fit: its terms, its residuals, its search. matplotlib is loaded when one is drawn."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import betaincinv, ndtri

from tobitgp.errors import SpecError
from tobitgp.report.grid import coded_columns, grid_frame, held_words, label_axis, place, runs
from tobitgp.report.plots import BLUE, GREEN, GREY, INK, ORANGE, VERMILION
from tobitgp.report.protocols import Fit
from tobitgp.typing import Array

_DRAWN_ROWS = 5000


def plot_terms(results: Fit, panels: Sequence[tuple[str, str, list[str]]], *, interval: float | None = 0.95) -> Any:
    """Draw each term of f along each of its columns, with its band.

    A column of numbers gives a curve over ticks at the data, a factor a point for each level. What else a term depends
    on is held at its median, or most frequent level, which a line above the panel says.

    Parameters
    ----------
    results : Fit
        A ``GPResults``.
    panels : sequence of (str, str, list of str)
        Term, column, and the term's other columns.
    interval : float or None
        Probability of the band; None for no band.

    Returns
    -------
    matplotlib axes, or an array of them
        One for each panel.
    """
    covariates = results.model.data.frame
    if covariates is None:
        raise SpecError("This fit holds no training rows, so there is nothing to draw; use predict(what='terms').")
    if not panels:
        raise SpecError("This model has no term to draw.")
    import matplotlib.pyplot as plt

    across = min(len(panels), 3)
    down = -(-len(panels) // across)
    size = (6.4, 4.4) if len(panels) == 1 else (3.9 * across, 3.1 * down)
    _, grid = plt.subplots(down, across, figsize=size, squeeze=False, layout="constrained")
    axes = grid.ravel()
    for ax, (term, column, others) in zip(axes, panels, strict=False):
        _draw_term(ax, results, covariates, term, column, interval, others=others)
    for ax in axes[len(panels) :]:
        ax.set_visible(False)
    return axes[0] if len(panels) == 1 else axes[: len(panels)]


def _draw_term(
    ax: Any,
    results: Fit,
    covariates: pd.DataFrame,
    term: str,
    column: str,
    interval: float | None,
    *,
    others: list[str],
) -> None:
    coded = coded_columns(results)
    values = covariates[column]
    number = runs(values) and column not in coded
    if number:
        grid = grid_frame(covariates, column, factors=coded)
    else:
        levels = values.drop_duplicates().sort_values().reset_index(drop=True)
        grid = grid_frame(covariates, None, factors=coded, size=len(levels)).assign(**{column: levels})
    table = results.predict(grid, "terms", interval=interval, se=True)[term]
    ax.axhline(0.0, color=GREY, linewidth=0.7, zorder=1)
    if number:
        x = place(grid[column])
        label_axis(ax, column, x)
        if interval is not None:
            ax.fill_between(x, table["lower"], table["upper"], color=BLUE, alpha=0.2, linewidth=0)
        ax.plot(x, table["mean"], color=BLUE, linewidth=1.8, zorder=3)
        ticks = np.unique(place(values))
        look = {"color": INK, "linestyle": "none", "markersize": 6, "alpha": 0.5, "clip_on": False}
        ax.plot(
            ticks[:_DRAWN_ROWS], np.zeros(len(ticks[:_DRAWN_ROWS])), "|", transform=ax.get_xaxis_transform(), **look
        )
    else:
        x, mean = np.arange(len(grid)), table["mean"].to_numpy()
        if interval is not None:
            ax.vlines(x, table["lower"], table["upper"], color=BLUE, linewidth=1.8)
        ax.plot(x, mean, "o", color=BLUE, markersize=6, zorder=3)
        ax.set_xticks(x, [str(level) for level in grid[column]])
        ax.set_xlim(-0.6, len(grid) - 0.4)
    ax.set_xlabel(column)
    ax.set_ylabel(term)
    ax.spines[["top", "right"]].set_visible(False)
    if others:
        held = held_words(grid[[column, *others]], column)
        ax.set_title(textwrap.fill(held, 52), loc="left", fontsize="small", color=GREY)


def plot_residuals(results: Fit) -> Any:
    """Draw quantile residuals against the fit, and against normal quantiles with a 95% envelope.

    Censored rows stand at a random point of their mass, and are drawn as triangles.

    Parameters
    ----------
    results : Fit
        A ``GPResults``.

    Returns
    -------
    array of 2 matplotlib axes
    """
    import matplotlib.pyplot as plt

    kept, response = results.parts.rows.kept, results.parts.rows.response
    r = results.residuals("quantile").to_numpy()[kept]
    fit = results.predict(None, "latent", interval=None, se=False).to_numpy()[kept]
    left, right = np.isneginf(response.lower), np.isposinf(response.upper)
    exact = response.lower == response.upper
    kinds = (
        ("exact", exact, "o", INK),
        ("left-censored", left, "v", VERMILION),
        ("right-censored", right, "^", GREEN),
        ("interval", ~(exact | left | right), "s", ORANGE),
    )
    _, axes = plt.subplots(1, 2, figsize=(8.4, 3.9), layout="constrained", sharey=True)
    order = np.argsort(r, kind="stable")
    normal = np.empty(len(r))
    normal[order] = ndtri((np.arange(len(r)) + 0.5) / len(r))
    axes[0].axhline(0.0, color=GREY, linewidth=0.9)
    _draw_envelope(axes[1], len(r))
    look = {"linestyle": "none", "markeredgecolor": "white", "markeredgewidth": 0.4}
    look |= {"alpha": 0.8 if len(r) < 500 else 0.4, "rasterized": len(r) > _DRAWN_ROWS}
    for label, rows, marker, colour in kinds:
        if rows.any():
            size = 4.5 if marker == "o" else 5.5
            for ax, x in zip(axes, (fit, normal), strict=True):
                ax.plot(
                    x[rows], r[rows], marker, color=colour, markersize=size, label=f"{label} ({rows.sum()})", **look
                )
    axes[0].set_xlabel("posterior mean of f")
    axes[0].set_ylabel("quantile residual")
    axes[1].set_xlabel("normal quantile")
    axes[1].legend(fontsize="small", framealpha=0.9, edgecolor="none", loc="upper left")
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
    return axes


def _draw_envelope(ax: Any, n: int) -> None:
    """Line of equality, and where each order statistic of n normal values lies with probability 95%."""
    k = np.unique(np.round(np.geomspace(1, n, min(n, 100))).astype(int))
    k = np.unique(np.concatenate([k, n + 1 - k])).astype(np.float64)
    x: Array = ndtri((k - 0.5) / n)
    low, high = (ndtri(betaincinv(k, n + 1.0 - k, p)) for p in (0.025, 0.975))
    ax.fill_between(x, low, high, color=GREY, alpha=0.18, linewidth=0, label="95% if the model is right")
    ax.plot(x[[0, -1]], x[[0, -1]], color=GREY, linewidth=0.9)


def plot_evidence(results: Fit, ax: Any = None) -> Any:
    """Draw the log posterior density of the hyper-parameters after each stage of the fit.

    Parameters
    ----------
    results : Fit
        A ``GPResults``.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes
    """
    history = results.fit_history.assign(total=lambda table: table["evaluations"].cumsum())
    if "approach" in set(history["stage"]):
        # The first search then saw some of the rows, and its density is no part of this curve.
        history = history[history["stage"] != "search"]
    if not len(history):
        raise SpecError("This fit has no history to draw.")
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
    ax.plot(history["total"], history["log_posterior"], "o-", color=BLUE, linewidth=1.4, markersize=5)
    for k, row in enumerate(history.itertuples()):
        side, reach = ("right", -4) if k == len(history) - 1 > 0 else ("left", 4)
        look = {"textcoords": "offset points", "ha": side, "fontsize": "small", "color": INK}
        ax.annotate(str(row.stage), (row.total, row.log_posterior), xytext=(reach, -14), **look)
    ax.margins(x=0.1, y=0.25)
    ax.ticklabel_format(axis="y", useOffset=False)
    ax.set_xlabel("evaluations")
    ax.set_ylabel("log posterior density")
    ax.spines[["top", "right"]].set_visible(False)
    return ax
