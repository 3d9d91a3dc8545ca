"""What the pictures of terms are made of besides curves: levels with their intervals, and surfaces."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tobitgp.report.colours import BLUE, GREY, INK
from tobitgp.report.levels import shorten
from tobitgp.report.text import as_label
from tobitgp.typing import Array

LABELLED, _CROWDED = 30, 100
_STEPS = 12


def draw_points(ax: Any, table: pd.DataFrame, levels: pd.Series[Any]) -> None:
    """Draw a point for each level of a factor, with its interval where there is one."""
    x = np.arange(len(table))
    if "lower" in table:
        ax.vlines(x, table["lower"], table["upper"], color=BLUE, linewidth=1.8)
    ax.plot(x, table["mean"].to_numpy(), "o", color=BLUE, markersize=6, zorder=3)
    ax.set_xticks(x, [as_label(level) for level in levels])
    ax.set_xlim(-0.6, len(table) - 0.4)


def draw_groups(ax: Any, table: pd.DataFrame, column: str, label: str) -> None:
    """Draw random intercepts in the order of their means, with names as long as there is room for them."""
    table = table.sort_values("mean", kind="stable")
    n = len(table)
    x, crowded = np.arange(n), n > _CROWDED
    ax.axhline(0.0, color=GREY, linewidth=0.7, zorder=1)
    if "lower" in table and crowded:
        ax.fill_between(x, table["lower"], table["upper"], step="mid", color=BLUE, alpha=0.3, linewidth=0)
    elif "lower" in table:
        ax.vlines(x, table["lower"], table["upper"], color=BLUE, linewidth=float(np.clip(120.0 / n, 0.5, 1.8)))
    look = {"markersize": float(np.clip(160.0 / n, 1.8, 6.0)), "zorder": 3}
    ax.plot(x, table["mean"].to_numpy(), "o", color=BLUE, **look)
    ax.set_xlim(-0.02 * n - 0.5, 1.02 * n - 0.5)
    ax.set_ylabel(as_label(label))
    if n > LABELLED:
        ax.set_xticks([])
        ax.set_xlabel(f"{as_label(column)}: {n} groups by their means")
        return
    names = [as_label(shorten(str(level))) for level in table.index]
    upright = n > 8 or sum(map(len, names)) > 30
    room = 60.0 * ax.get_position().width * ax.figure.get_size_inches()[0] / n
    ax.set_xticks(x, names, rotation=90 if upright else 0, fontsize=float(np.clip(room, 5.0, 8.5)) if upright else None)
    ax.set_xlabel(as_label(column))


def draw_surface(ax: Any, at: tuple[Any, Any], height: Array, rows: tuple[Any, ...], label: str) -> None:
    """Draw a filled contour, its colours symmetric about zero, with the data as dots.

    Shapes: at (k,), height (k, k), rows (n,).
    """
    from matplotlib.ticker import MaxNLocator

    reach = float(np.abs(height).max()) or 1.0
    edges = MaxNLocator(_STEPS, symmetric=True).tick_values(-reach, reach)
    filled = ax.contourf(*at, height, levels=edges, cmap="PuOr_r")
    filled.set_edgecolor("face")
    size = float(np.clip(60.0 / np.sqrt(max(len(rows[0]), 1)), 1.0, 3.5))
    ax.plot(*rows, "o", color=INK, markersize=size, markeredgewidth=0, alpha=0.45, rasterized=len(rows[0]) > 5000)
    bar = ax.figure.colorbar(filled, ax=ax, label=as_label(label))
    bar.outline.set_visible(False)
