"""Pictures of a fit. matplotlib is loaded when one is drawn."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.shapes import CensoredResponse
from tobitgp.errors import SpecError
from tobitgp.formula.functions import nearest
from tobitgp.report.grid import coded_columns, grid_frame, held_words, label_axis, place, runs
from tobitgp.report.protocols import Fit
from tobitgp.typing import Array

# Okabe and Ito's colours, which colour-blind readers can tell apart.
BLUE, VERMILION, GREEN, ORANGE, GREY, INK = "#0072B2", "#D55E00", "#009E73", "#E69F00", "#777777", "#222222"


def plot_fit(results: Fit, ax: Any = None, *, x: str | None = None, interval: float | None = 0.95) -> Any:
    """Draw the fit with its band over the data.

    A panel shows one input: the posterior mean of f along it (for log-time families the median of the response, on a
    log axis), all other inputs held at their median, or most frequent level, which a line above the panel names. Exact
    rows are dots; left-censored rows point down from their limit and right-censored ones up from theirs;
    interval-censored rows are bars. Limits are thin dashed lines.

    Parameters
    ----------
    results : Fit
        A ``GPResults``.
    ax : matplotlib axes, optional
        Draw into these; only for a single panel.
    x : str, optional
        Column to show. By default every column in a ``gp()`` term, or, without such terms, every column of numbers or
        dates of the linear part.
    interval : float or None
        Probability of the band; None for no band.

    Returns
    -------
    matplotlib axes, or an array of them
        One for each panel.

    Raises
    ------
    SpecError
        If there is no such column, nothing to draw, ``ax`` for several panels, or an interval outside (0, 1).
    """
    covariates = results.model.data.frame
    if covariates is None:
        raise SpecError("This fit holds no training rows, so there is nothing to draw; use predict() with new data.")
    columns = _panels(results, covariates, x)
    if ax is not None:
        if len(columns) > 1:
            raise SpecError(
                f"ax= takes one panel, and this fit has {len(columns)}: choose one of {_listed(columns)} by x=."
            )
        draw_panel(ax, results, covariates, columns[0], interval)
        ax.set_ylabel(results.model.endog_names)
        ax.legend(fontsize="small", framealpha=0.9, edgecolor="none")
        return ax
    import matplotlib.pyplot as plt

    across = min(len(columns), 3)
    down = -(-len(columns) // across)
    size = (6.4, 4.4) if len(columns) == 1 else (3.9 * across, 0.6 + 3.3 * down)
    figure, grid = plt.subplots(down, across, figsize=size, squeeze=False, sharey=True, layout="constrained")
    axes = grid.ravel()
    for panel, column in zip(axes, columns, strict=False):
        draw_panel(panel, results, covariates, column, interval)
    for panel in axes[len(columns) :]:
        panel.set_visible(False)
    for k, panel in enumerate(axes[: len(columns)]):
        panel.set_ylabel(results.model.endog_names if k % across == 0 else "")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, fontsize="small", frameon=False)
    return axes[0] if len(columns) == 1 else axes[: len(columns)]


def draw_panel(ax: Any, results: Fit, covariates: pd.DataFrame, column: str, interval: float | None) -> None:
    """Draw data, limits, curve and band along one column."""
    grid = grid_frame(covariates, column, factors=coded_columns(results))
    log_time = results.parts.gp.family.log_time
    what = "median" if log_time else "latent"
    x_grid, x_data = place(grid[column]), place(covariates[column])
    table = results.predict(grid, what, interval=interval, se=True)
    _draw_rows(ax, x_data, results.parts.rows.response)
    if interval is not None:
        look = {"color": BLUE, "alpha": 0.2, "linewidth": 0}
        ax.fill_between(x_grid, table["lower"], table["upper"], label=f"{100 * interval:g}% band", **look)
    name = "median" if log_time else "posterior mean of f"
    ax.plot(x_grid, table["mean"], color=BLUE, linewidth=1.8, label=name, zorder=3)
    if log_time:
        ax.set_yscale("log")
    label_axis(ax, column, x_grid)
    ax.spines[["top", "right"]].set_visible(False)
    held = held_words(grid, column)
    if held:
        ax.set_title(textwrap.fill(held, 52), loc="left", fontsize="small", color=GREY)


def _draw_rows(ax: Any, x: Any, response: CensoredResponse) -> None:
    """Markers for the rows by what is known of them, and the limits."""
    lower, upper = response.lower, response.upper
    exact, left, right = lower == upper, np.isneginf(lower), np.isposinf(upper)
    between = ~(exact | left | right)
    size = float(np.clip(3000.0 / max(len(x), 1), 8.0, 26.0))
    look = {"linestyle": "none", "markersize": np.sqrt(size), "alpha": 0.75 if len(x) < 500 else 0.4, "zorder": 2}
    look["rasterized"] = len(x) > 5000
    for rows, y, marker, colour, label in (
        (exact, lower, "o", INK, "exact"),
        (left, upper, "v", VERMILION, "left-censored"),
        (right, lower, "^", GREEN, "right-censored"),
    ):
        if rows.any():
            face = {"markerfacecolor": colour, "markeredgecolor": "white", "markeredgewidth": 0.4}
            bigger = {"markersize": 1.35 * look["markersize"]} if marker != "o" else {}
            ax.plot(x[rows], y[rows], marker, label=f"{label} ({rows.sum()})", **{**look, **face, **bigger})
    if between.any():
        label = f"interval ({between.sum()})"
        ax.vlines(x[between], lower[between], upper[between], color=ORANGE, linewidth=1.6, alpha=0.8, label=label)
    label = "limit"
    for limit in (response.limit_lower, response.limit_upper):
        if _draw_limit(ax, x, limit, label):
            label = "_nolegend_"


def _draw_limit(ax: Any, x: Any, limit: Array, label: str) -> bool:
    """Draw a line where the limit is one number, steps where it changes seldom along x; else nothing."""
    known = np.isfinite(limit)
    if not known.any():
        return False
    look = {"color": GREY, "linewidth": 0.9, "linestyle": (0, (4, 3)), "zorder": 1, "label": label}
    if np.ptp(limit[known]) == 0.0:
        ax.axhline(limit[known][0], **look)
        return True
    order = np.argsort(x[known], kind="stable")
    steps = limit[known][order]
    if np.count_nonzero(np.diff(steps)) > max(2, len(steps) // 4):
        return False
    ax.plot(x[known][order], steps, drawstyle="steps-mid", **look)
    return True


def _panels(results: Fit, covariates: pd.DataFrame, x: str | None) -> list[str]:
    """Columns to show."""
    coded = coded_columns(results)
    along = [str(c) for c in covariates.columns if runs(covariates[c]) and c not in coded]
    if x is not None:
        if x not in along:
            raise SpecError(
                f"x={x!r} is no input of this model that is numbers or dates{nearest(str(x), along)}; "
                f"it has {_listed(along)}."
            )
        return [x]
    used = results.model.spec.names("gp") or results.model.spec.names("linear")
    columns = [name for name in used if name in along]
    if not columns:
        raise SpecError("This model has no input of numbers or dates to draw its fit along.")
    return columns


def _listed(names: list[str]) -> str:
    return ", ".join(repr(name) for name in names) or "none"
