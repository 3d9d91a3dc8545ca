"""Axes to draw into: their colours and texts, and the points, curves, surfaces and rows that figures share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, NamedTuple, ParamSpec, TypeVar

import numpy as np
import pandas as pd

from tobitgp.data.arrays import CensoredResponse
from tobitgp.data.values import printable
from tobitgp.errors import SpecError
from tobitgp.typing import Array, BoolArray, IntArray

P = ParamSpec("P")
T = TypeVar("T")

BLUE, VERMILION, GREEN, ORANGE, GREY, INK = "#0072B2", "#D55E00", "#009E73", "#E69F00", "#777777", "#222222"
LEVELS = (BLUE, VERMILION, GREEN, "#CC79A7", ORANGE, "#56B4E9", "#8A7A00", INK)
WIDE, SQUARE = (6.4, 4.2), (4.8, 4.6)
EDGE = {"markeredgecolor": "white", "markeredgewidth": 0.4}
MANY = 5000  # points of one kind, of which figures hold pixels, or a sample
_ACROSS = 3
_LABELLED, _CROWDED = 30, 100
_LONGEST = 16
_STEPS = 12
_ON_MAP = 1000  # rows of one kind


class Level(NamedTuple):
    """One level of a group."""

    label: str  # at most 16 characters where these tell levels apart
    rows: BoolArray  # (n,), the training rows in it
    colour: str


def as_label(text: object) -> str:
    r"""Text that matplotlib draws without change: dollars do not mark mathematics, and legends show all names."""
    label = printable(str(text)).replace("$", r"\$")
    return f" {label}" if label.startswith("_") else label


def shorten(text: str) -> str:
    """Text of at most 16 characters."""
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1].rstrip() + "…"


def shorten_all(texts: Sequence[str]) -> list[str]:
    """The same for several; those that would look alike keep their ends too, or are left as they are."""
    short = [shorten(text) for text in texts]
    if len(set(short)) == len(set(texts)):
        return short
    keep = _LONGEST // 2
    short = [text if len(text) <= _LONGEST else f"{text[: keep - 1]}…{text[-keep:]}" for text in texts]
    return short if len(set(short)) == len(set(texts)) else list(texts)


def response_name(model: Any) -> str:
    """Name of the response on an axis: of ``Surv(time, event)`` that of the time alone."""
    response = model.spec.response
    time = response.value.text.strip("`") if response.kind == "surv" else ""
    return time if time and "`" not in time else model.endog_names


def given_or_new(ax: Any, size: tuple[float, float] = WIDE) -> Any:
    """The axes given, or new ones where there are none."""
    if hasattr(ax, "get_xaxis_transform"):
        return ax
    if ax is not None:
        raise SpecError(f"ax= must be matplotlib axes, not {type(ax).__name__}. Give other arguments by name.")
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]


def panel_axes(n: int, height: float, above: float = 0.0, **options: Any) -> Any:
    """Axes of n panels, three in a row."""
    import matplotlib.pyplot as plt

    across, down = min(n, _ACROSS), -(-n // _ACROSS)
    size = (6.4, 4.4) if n == 1 else (3.9 * across, above + height * down)
    _, grid = plt.subplots(down, across, figsize=size, squeeze=False, layout="constrained", **options)
    for ax in grid.ravel()[n:]:
        ax.set_visible(False)
    return grid.ravel()[:n]


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


def finish(ax: Any, x: object, y: object, *, legend: str = "best", title: str = "", **more: Any) -> Any:
    """Name the axes, remove the top and right spines, and draw a legend at the given place.

    ``"outside"`` is to the right of the axes and ``"below"`` under them.
    """
    ax.set(xlabel=as_label(x), ylabel=as_label(y), **more)
    ax.spines[["top", "right"]].set_visible(False)
    if legend and ax.get_legend_handles_labels()[0]:
        place: dict[str, Any] = {"loc": legend}
        if legend == "outside":
            place = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
        elif legend == "below":
            place = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.16), "ncols": 2}
        look = {"fontsize": "small", "title_fontsize": "small", "framealpha": 0.9, "edgecolor": "none"}
        ax.legend(title=as_label(title) or None, **look, **place)
    return ax


def plain_numbers(axis: Any, low: float, high: float) -> None:
    """Label a logarithmic axis in plain numbers, between powers of ten too where there are few."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    few = np.log10(high) - np.log10(low) < 3.0
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def log_scale(ax: Any) -> None:
    """Make the vertical axis of what is drawn logarithmic, in plain numbers."""
    ax.set_yscale("log")
    plain_numbers(ax.yaxis, *ax.get_ylim())


def row_kinds(lower: Array, upper: Array) -> list[tuple[str, BoolArray, str, str]]:
    """Kinds of rows that there are: what a legend calls them, which they are, their marker and their colour."""
    exact, left, right = lower == upper, np.isneginf(lower), np.isposinf(upper)
    kinds = (
        ("exact", exact, "o", INK),
        ("left-censored", left, "v", VERMILION),
        ("right-censored", right, "^", GREEN),
        ("interval", ~(exact | left | right), "s", ORANGE),
    )
    return [(f"{name} ({rows.sum()})", rows, marker, colour) for name, rows, marker, colour in kinds if rows.any()]


def draw_curve(
    ax: Any,
    x: Any,
    table: pd.DataFrame,
    colour: str = BLUE,
    *,
    of: str = "estimate",
    alpha: float = 0.2,
    label: str | None = None,
    band: str | None = None,
    steps: bool = False,
) -> None:
    """Draw a column of a table along x, over the band between lower and upper if it has them."""
    if "lower" in table:
        look = {"color": colour, "alpha": alpha, "linewidth": 0, "label": band}
        ax.fill_between(x, table["lower"], table["upper"], **look, **({"step": "post"} if steps else {}))
    drawn = "steps-post" if steps else "default"
    ax.plot(x, table[of].to_numpy(), color=colour, linewidth=1.8, label=label, drawstyle=drawn, zorder=3)


def draw_curves(
    ax: Any, x: Any, table: pd.DataFrame, levels: Sequence[Level], alpha: float = 0.2, **words: Any
) -> None:
    """Draw the curves of a table, one level after the other, in their colours; without levels one in blue."""
    for k, colour in enumerate([level.colour for level in levels] or [BLUE]):
        part = table.iloc[k * len(x) : (k + 1) * len(x)]
        draw_curve(ax, x, part, colour, alpha=alpha, **(words if k == 0 else {}))


def draw_points(ax: Any, table: pd.DataFrame) -> None:
    """Draw a point for each row of a table, smaller where there are many, with its interval where there is one."""
    n = len(table)
    x = np.arange(n)
    if "lower" in table and n > _CROWDED:
        ax.fill_between(x, table["lower"], table["upper"], step="mid", color=BLUE, alpha=0.3, linewidth=0)
    elif "lower" in table:
        ax.vlines(x, table["lower"], table["upper"], color=BLUE, linewidth=float(np.clip(120.0 / n, 0.5, 1.8)))
    size = float(np.clip(160.0 / n, 1.8, 6.0))
    ax.plot(x, table["estimate"].to_numpy(), "o", color=BLUE, markersize=size, zorder=3)


def draw_groups(ax: Any, table: pd.DataFrame, column: str) -> None:
    """Draw random intercepts in the order of their means, with names as long as there is space for them."""
    table, n = table.sort_values("estimate", kind="stable"), len(table)
    draw_points(ax, table)
    ax.set_xlim(-0.02 * n - 0.5, 1.02 * n - 0.5)
    if n > _LABELLED:
        ax.set_xticks([])
        ax.set_xlabel(f"{as_label(column)}: {n} groups by their means")
        return
    names = [as_label(name) for name in shorten_all([str(level) for level in table.index])]
    upright = n > 8 or sum(map(len, names)) > 30
    room = 60.0 * ax.get_position().width * ax.figure.get_size_inches()[0] / n
    size = float(np.clip(room, 5.0, 8.5)) if upright else None
    ax.set_xticks(np.arange(n), names, rotation=90 if upright else 0, fontsize=size)
    ax.set_xlabel(as_label(column))


def draw_surface(ax: Any, at: tuple[Any, Any], height: Array, rows: tuple[Any, ...], label: str) -> None:
    """Draw filled contours of heights (k, k) at (k,) values each way, symmetric about zero, with the data as dots."""
    from matplotlib.ticker import MaxNLocator

    reach = float(np.abs(height).max()) or 1.0
    edges = MaxNLocator(_STEPS, symmetric=True).tick_values(-reach, reach)
    filled = ax.contourf(*at, height, levels=edges, cmap="PuOr_r")
    filled.set_edgecolor("face")
    rows = tuple(each[_some(np.ones(len(each), dtype=bool))] for each in rows)
    size = float(np.clip(60.0 / np.sqrt(max(len(rows[0]), 1)), 1.0, 3.5))
    ax.plot(*rows, "o", color=INK, markersize=size, markeredgewidth=0, alpha=0.45, rasterized=len(rows[0]) > MANY)
    bar = ax.figure.colorbar(filled, ax=ax, label=label)
    bar.outline.set_visible(False)


def draw_map(
    ax: Any,
    at: tuple[Any, Any],
    height: Array,
    places: Sequence[Any],
    response: CensoredResponse,
    label: str,
    *,
    log: bool,
) -> None:
    """Draw filled contours of a response (k, k), and n rows at their places in the colours of their observations."""
    from matplotlib.colors import LogNorm, Normalize

    value = np.where(np.isneginf(response.lower), response.upper, response.lower)
    least = -np.inf
    if log:  # the limit of zeros is next to 0, and estimates there may be anything
        value = np.where(value < np.finfo(float).tiny, 0.0, value)
        least = 0.1 * float(value[value > 0.0].min(initial=np.inf))
    low, high = _span(np.concatenate([height[height >= least], value]), log)
    norm = LogNorm(low, high) if log else Normalize(low, high)
    edges = np.geomspace(low, high, _STEPS + 1) if log else np.linspace(low, high, _STEPS + 1)
    look = {"cmap": "viridis", "norm": norm}
    filled = ax.contourf(*at, np.clip(height, low, high), levels=edges, extend="both", **look)
    filled.set_edgecolor("face")
    size = float(np.clip(3000.0 / max(len(value), 1), 8.0, 36.0))
    edge = {"edgecolors": "white", "linewidths": 0.6, "rasterized": len(value) > MANY}
    for words, rows, marker, _ in row_kinds(response.lower, response.upper):
        some = _some(rows)
        shown = np.where(value[some] > 0.0, value[some], low) if log else value[some]
        ax.scatter(*(p[some] for p in places), c=shown, marker=marker, s=size, zorder=3, **look, **edge)
        ax.plot([], [], marker, color=INK, label=words + f", {len(some)} drawn" * (len(some) < int(rows.sum())))
    bar = ax.figure.colorbar(filled, ax=ax, label=label)
    bar.set_ticks(_round_numbers(low, high, log))
    bar.ax.yaxis.set_major_formatter("{x:g}")
    bar.ax.minorticks_off()
    bar.ax.set_ylim(low, high)
    bar.outline.set_visible(False)


def _span(values: Array, log: bool) -> tuple[float, float]:
    """Ends of colours: all but the lowest and highest hundredth of the numbers, above zero for logarithms."""
    known = values[np.isfinite(values) & ((values > 0.0) | (not log))]
    low, high = np.quantile(known, [0.01, 0.99]).tolist() if len(known) else (1.0, 1.0)
    wide = 1e-9 * max(abs(low), abs(high))
    if high - low > wide:
        return low, high
    return (0.5 * low, 2.0 * low) if log else (low - 0.5 * abs(low) - 0.5, low + 0.5 * abs(low) + 0.5)


def _some(rows: BoolArray) -> IntArray:
    """Places of the rows that are drawn on a map, of many a sample that leaves the map to be seen."""
    at = np.flatnonzero(rows)
    return at if len(at) <= _ON_MAP else np.sort(np.random.default_rng(0).choice(at, _ON_MAP, replace=False))


def _round_numbers(low: float, high: float, log: bool) -> list[float]:
    """Round numbers between two ends, no more than ten of them."""
    from matplotlib.ticker import LogLocator, MaxNLocator

    def inside(ticks: Any) -> list[float]:
        return [float(t) for t in ticks if low <= t <= high]

    for subs in ((1.0, 2.0, 5.0), (1.0,)) if log else ():
        found = inside(LogLocator(subs=subs, numticks=100).tick_values(low, high))
        if 3 <= len(found) <= 10:
            return found
    if log and high > 1e4 * low:
        return inside(LogLocator(numticks=8).tick_values(low, high))
    return inside(MaxNLocator(6).tick_values(low, high))


def draw_rows(ax: Any, x: Any, response: CensoredResponse, levels: Sequence[Level] = ()) -> None:
    """Draw n rows at x (n,) by type of censoring, in the colours of their levels, and their limits and window."""
    lower, upper = response.lower, response.upper
    y = np.where(np.isneginf(lower), upper, lower)
    size = float(np.sqrt(np.clip(3000.0 / max(len(x), 1), 8.0, 26.0)))
    look = {"alpha": 0.75 if len(x) < 500 else 0.4, "rasterized": len(x) > MANY, "zorder": 2, **EDGE}
    for label, rows, marker, colour in row_kinds(lower, upper):
        shades = [(rows, colour, label)]
        if levels:
            dark = (np.zeros_like(rows), INK, label)  # in the legend alone
            shades = [dark, *((rows & level.rows, level.colour, "_nolegend_") for level in levels)]
        for at, shade, shown in shades:
            if marker == "s":
                ax.vlines(x[at], lower[at], upper[at], color=shade, linewidth=1.6, alpha=0.8, label=shown)
            else:
                wide = size if marker == "o" else 1.35 * size
                ax.plot(x[at], y[at], marker, color=shade, label=shown, markersize=wide, **look)
    for label, pair, dashes in (
        ("limit", (response.limit_lower, response.limit_upper), (4, 3)),
        ("window", (response.entry, response.exit), (1, 2)),
    ):
        for end in pair:
            if _draw_limit(ax, x, end, label, dashes):
                label = "_nolegend_"


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
