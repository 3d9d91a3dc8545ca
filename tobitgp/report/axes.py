"""Axes to draw into: their colours and texts, and the points, surfaces and rows that figures share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np
import pandas as pd

from tobitgp.data.arrays import CensoredResponse
from tobitgp.errors import SpecError
from tobitgp.typing import Array, BoolArray

if TYPE_CHECKING:
    from tobitgp.report.terms import Level

_CONTROLS = [*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029]
_DIRECTIONS = [0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
_VISIBLE = {code: repr(chr(code))[1:-1] for code in _CONTROLS + _DIRECTIONS}


def printable(text: str) -> str:
    r"""Text in one line, with characters that steer a terminal or turn the direction of writing spelt out.

    A level named by such characters could otherwise break a table, hide a row, or read as another name.
    """
    return text.translate(_VISIBLE)


def printable_lines(text: object) -> str:
    r"""As `printable`, line by line."""
    return "\n".join(printable(line) for line in str(text).split("\n"))


def as_label(text: object) -> str:
    r"""Text that matplotlib draws as it stands: dollars are no marks of mathematics, and legends show all names."""
    label = printable(str(text)).replace("$", r"\$")
    return f" {label}" if label.startswith("_") else label


def response_name(model: Any) -> str:
    """Name of the response on an axis: of ``Surv(time, event)`` that of the time alone."""
    response = model.spec.response
    time = response.value.text.strip("`") if response.kind == "surv" else ""
    return time if time and "`" not in time else model.endog_names


BLUE, VERMILION, GREEN, ORANGE, GREY, INK = "#0072B2", "#D55E00", "#009E73", "#E69F00", "#777777", "#222222"
PURPLE, SKY, OLIVE = "#CC79A7", "#56B4E9", "#8A7A00"
LEVELS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, OLIVE, INK)
P = ParamSpec("P")
T = TypeVar("T")
WIDE, SQUARE = (6.4, 4.2), (4.8, 4.6)
LABELLED, _CROWDED = 30, 100
_LONGEST = 16
_STEPS = 12
_EDGE = {"markeredgecolor": "white", "markeredgewidth": 0.4}


def given_or_new(ax: Any, size: tuple[float, float] = WIDE) -> Any:
    """The axes given, or new ones where there are none."""
    if hasattr(ax, "get_xaxis_transform"):
        return ax
    if ax is not None:
        raise SpecError(f"ax= takes matplotlib axes, not {type(ax).__name__}; other things are given by their names.")
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]


def closing_what_fails(draw: Callable[P, T]) -> Callable[P, T]:
    """A drawing that leaves no figure open where it fails."""

    @wraps(draw)
    def careful(*args: P.args, **kwargs: P.kwargs) -> T:
        import matplotlib.pyplot as plt

        before = set(plt.get_fignums())
        try:
            return draw(*args, **kwargs)
        except BaseException:
            for number in set(plt.get_fignums()) - before:
                plt.close(number)
            raise

    return careful


def shorten(text: str) -> str:
    """Text of at most 16 characters."""
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1].rstrip() + "…"


def draw_points(ax: Any, table: pd.DataFrame, levels: pd.Series[Any]) -> None:
    """Draw a point for each level of a factor, with its interval where there is one."""
    x = np.arange(len(table))
    if "lower" in table:
        ax.vlines(x, table["lower"], table["upper"], color=BLUE, linewidth=1.8)
    ax.plot(x, table["estimate"].to_numpy(), "o", color=BLUE, markersize=6, zorder=3)
    ax.set_xticks(x, [as_label(level) for level in levels])
    ax.set_xlim(-0.6, len(table) - 0.4)


def draw_groups(ax: Any, table: pd.DataFrame, column: str, label: str) -> None:
    """Draw random intercepts in the order of their means, with names as long as there is room for them."""
    table = table.sort_values("estimate", kind="stable")
    n = len(table)
    x, crowded = np.arange(n), n > _CROWDED
    ax.axhline(0.0, color=GREY, linewidth=0.7, zorder=1)
    if "lower" in table and crowded:
        ax.fill_between(x, table["lower"], table["upper"], step="mid", color=BLUE, alpha=0.3, linewidth=0)
    elif "lower" in table:
        ax.vlines(x, table["lower"], table["upper"], color=BLUE, linewidth=float(np.clip(120.0 / n, 0.5, 1.8)))
    look = {"markersize": float(np.clip(160.0 / n, 1.8, 6.0)), "zorder": 3}
    ax.plot(x, table["estimate"].to_numpy(), "o", color=BLUE, **look)
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
