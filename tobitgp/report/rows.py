"""The rows of the data in a picture: what is known of each, limits and windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tobitgp.data.shapes import CensoredResponse
from tobitgp.report.colours import GREEN, GREY, INK, ORANGE, VERMILION
from tobitgp.report.levels import Level
from tobitgp.typing import Array, BoolArray

_EDGE = {"markeredgecolor": "white", "markeredgewidth": 0.4}


def draw_rows(ax: Any, x: Any, response: CensoredResponse, levels: Sequence[Level] = ()) -> None:
    """Draw markers for the rows by what is known of them, the limits, and the window.

    Shapes: x (n,).
    """
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
            own = look | ({"markersize": 1.35 * look["markersize"]} if marker != "o" else {})
            label = f"{label} ({rows.sum()})"
            for at, shade, shown in _shades(rows, colour, label, levels):
                ax.plot(x[at], y[at], marker, color=shade, label=shown, **own, **_EDGE)
    label = f"interval ({between.sum()})"
    for at, shade, shown in _shades(between, ORANGE, label, levels) if between.any() else []:
        ax.vlines(x[at], lower[at], upper[at], color=shade, linewidth=1.6, alpha=0.8, label=shown)
    for label, pair, dashes in (
        ("limit", (response.limit_lower, response.limit_upper), (4, 3)),
        ("window", (response.entry, response.exit), (1, 2)),
    ):
        for end in pair:
            if _draw_limit(ax, x, end, label, dashes):
                label = "_nolegend_"


def _shades(rows: BoolArray, colour: str, label: str, levels: Sequence[Level]) -> list[tuple[BoolArray, str, str]]:
    """Rows of one kind with their colour and label; with levels, level by level after a dark entry of the legend."""
    if not levels:
        return [(rows, colour, label)]
    return [(np.zeros_like(rows), INK, label), *((rows & level.rows, level.colour, "_nolegend_") for level in levels)]


def _draw_limit(ax: Any, x: Any, limit: Array, label: str, dashes: tuple[int, int]) -> bool:
    """Draw a line where the limit is one number, steps where it changes seldom along x; else nothing."""
    known = np.isfinite(limit)
    if not known.any():
        return False
    look = {"color": GREY, "linewidth": 0.9, "linestyle": (0, dashes), "zorder": 1, "label": label}
    if np.ptp(limit[known]) == 0.0:
        ax.axhline(limit[known][0], **look)
        return True
    order = np.argsort(x[known], kind="stable")
    steps = limit[known][order]
    if np.count_nonzero(np.diff(steps)) > max(2, len(steps) // 4):
        return False
    ax.plot(x[known][order], steps, drawstyle="steps-mid", **look)
    return True
