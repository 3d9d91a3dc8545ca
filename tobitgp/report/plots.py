"""Figures of a fit, of its survival curves, and of models that were ranked. matplotlib is loaded when one is drawn."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tobitgp.errors import SpecError
from tobitgp.formula.functions import nearest
from tobitgp.report.axes import BLUE, VERMILION, as_label, closing_what_fails, draw_rows, given_or_new, response_name
from tobitgp.report.terms import (
    Level,
    curve_words,
    factor_columns,
    grid_frame,
    group_name,
    held_words,
    label_axis,
    label_ends,
    level_grids,
    place,
    read_levels,
    runs,
    say_above,
)
from tobitgp.typing import Array

if TYPE_CHECKING:
    from tobitgp.results.results import Results
from collections.abc import Callable

from tobitgp.numerics.nonparametric import kaplan_meier, km_interval, risk_sets
from tobitgp.report.axes import INK, LEVELS

CURVES = 6
_SHOWN_ROLES = ("linear", "gp", "by", "offset")
_LONG = 40
_CRITERIA = {"aic": "AIC", "bic": "BIC"}
_RING: dict[str, Any] = {
    "color": VERMILION,
    "markersize": 11,
    "markerfacecolor": "none",
    "markeredgewidth": 1.6,
    "linestyle": "none",
}
Terms = Sequence[tuple[str, int | None, list[str]]]


@closing_what_fails
def plot_fit(
    results: Results, terms: Terms, ax: Any = None, *, x: str | None = None, interval: float | None = 0.95
) -> Any:
    """Draw the fit with its band over the data.

    A panel shows one input: the posterior mean of f along it (for log-time families the median of the response, on a
    log axis), all other inputs held at their median, or most frequent level, which a line above the panel names. Exact
    rows are dots; left-censored rows point down from their limit and right-censored ones up from theirs;
    interval-censored rows are bars. Limits are thin dashed lines, ends of the window of truncated rows dotted ones.
    Random intercepts are left out, so that the curve is that of the population. Where a process along the input has a
    curve for each level of a group, up to six levels are drawn, each in its colour, the rows too; otherwise the group
    is held at its most frequent level.
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
        ax = given_or_new(ax)
        curves = draw_panel(ax, results, terms, columns[0], interval)
        ax.set_ylabel(as_label(response_name(results.model)))
        ax.legend(fontsize="small", framealpha=0.9, edgecolor="none")
        label_ends(ax, *curves)
        return ax
    import matplotlib.pyplot as plt

    across = min(len(columns), 3)
    down = -(-len(columns) // across)
    size = (6.4, 4.4) if len(columns) == 1 else (3.9 * across, 0.6 + 3.3 * down)
    figure, grid = plt.subplots(down, across, figsize=size, squeeze=False, sharey=True, layout="constrained")
    axes = grid.ravel()
    drawn = [draw_panel(panel, results, terms, column, interval) for panel, column in zip(axes, columns, strict=False)]
    for panel in axes[len(columns) :]:
        panel.set_visible(False)
    for k, (panel, curves) in enumerate(zip(axes, drawn, strict=False)):
        panel.set_ylabel(as_label(response_name(results.model)) if k % across == 0 else "")
        label_ends(panel, *curves)
    entries: dict[str, Any] = {}
    for panel in axes[: len(columns)]:
        handles, labels = panel.get_legend_handles_labels()
        entries = dict(zip(labels, handles, strict=True)) | entries
    figure.legend(
        entries.values(), entries.keys(), loc="outside upper center", ncols=3, fontsize="small", frameon=False
    )
    return axes[0] if len(columns) == 1 else axes[: len(columns)]


def draw_panel(
    ax: Any, results: Results, terms: Terms, column: str, interval: float | None
) -> tuple[Sequence[float] | Array, list[Level]]:
    """Draw data, limits, curves and bands along one column."""
    covariates = results.model.data.frame
    assert covariates is not None
    spec = results.model.spec
    left_out = [term.name for term in spec.gps if not term.factors]
    scale = results.parts.state.scale
    shown = {*spec.names(*_SHOWN_ROLES), *(() if scale is None else scale.spec.names())}
    used = [name for name in covariates.columns if name in shown]
    grid = grid_frame(covariates[used], column, factors=factor_columns(results))
    t = _curves_along(results, terms, column)
    levels, group = ([], None) if t is None else (read_levels(results, t), group_name(results, t))
    rows = grid if group is None else level_grids(grid, group, covariates[group], levels)
    what = "median" if results.parts.family.log_time else "latent"
    table: Any = results.predict(rows, what, interval=interval, se=True, exclude=left_out)
    draw_rows(ax, place(covariates[column]), results.parts.rows.response, levels)
    x, n, words = place(grid[column]), len(grid), curve_words(results)
    for k, colour in enumerate([level.colour for level in levels] or [BLUE]):
        _draw_curve(ax, x, table.iloc[k * n : (k + 1) * n], colour, interval, what, words=words, first=k == 0)
    if what == "median":
        ax.set_yscale("log")
    label_axis(ax, column, x)
    ax.spines[["top", "right"]].set_visible(False)
    say_above(ax, held_words(grid.drop(columns=[] if group is None else group), column, left_out))
    return (table["estimate"].to_numpy()[n - 1 :: n] if levels else []), levels


def _draw_curve(
    ax: Any,
    x: Any,
    table: pd.DataFrame,
    colour: str,
    interval: float | None,
    what: str,
    *,
    words: str,
    first: bool,
) -> None:
    hidden = "_nolegend_"
    if interval is not None:
        look = {"color": colour, "alpha": 0.2, "linewidth": 0}
        label = f"{100 * interval:g}% band" if first else hidden
        ax.fill_between(x, table["lower"], table["upper"], label=label, **look)
    name = "median" if what == "median" else words
    ax.plot(x, table["estimate"], color=colour, linewidth=1.8, label=as_label(name) if first else hidden, zorder=3)


def _curves_along(results: Results, terms: Terms, column: str) -> int | None:
    """Process that has a few curves along a column."""
    state, gps = results.parts.state, results.model.spec.gps
    for _, t, columns in terms:
        if t is not None and gps[t].factors and column in columns and gps[t].by is not None:
            levels = state.group_levels[t]
            if levels is not None and len(levels) <= CURVES:
                return t
    return None


def _panels(results: Results, covariates: pd.DataFrame, x: str | None) -> list[str]:
    """Columns to show."""
    factors = factor_columns(results)
    along = [str(c) for c in covariates.columns if runs(covariates[c]) and c not in factors]
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


@closing_what_fails
def plot_ranking(table: pd.DataFrame, names: Sequence[str], ax: Any = None) -> Any:
    """Draw the criterion of each model; the best is ringed.

    Numbers of components stand along the axis and are joined by a line; other models stand below each other.
    """
    values, kind = table["value"], str(table["kind"].iloc[0])
    label = _CRITERIA.get(kind, f"log evidence ({kind})")
    found = [re.fullmatch(r"mixture\((\d+)\)", name) for name in names]
    numbers = [int(match.group(1)) for match in found if match is not None]
    along = len(numbers) == len(names)
    ax = given_or_new(ax, (6.4, 4.0) if along else (6.4, 1.2 + 0.34 * len(names)))
    heights: Array = np.asarray(values.reindex(list(names)), dtype=np.float64)
    best = list(names).index(str(values.index[0]))
    if along:
        return draw_numbers(ax, numbers, heights, best, label)
    places = np.arange(len(names))
    ax.plot(heights, places, "o", color=BLUE, markersize=6)
    ax.plot(heights[best], places[best], "o", label=f"best: {as_label(_short(names[best]))}", **_RING)
    ax.set_yticks(places, [as_label(_short(name)) for name in names], fontsize="small")
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_xlabel(label)
    ax.margins(x=0.12)
    ax.grid(axis="y", linewidth=0.4)
    return _finish(ax, "x")


def draw_numbers(ax: Any, numbers: Sequence[int], values: Array, best: int, label: str) -> Any:
    """Draw a criterion over the number of components into axes."""
    ax.plot(numbers, values, "o-", color=BLUE, linewidth=1.4, markersize=5)
    words = f"best: {numbers[best]} component{'s' * (numbers[best] > 1)}"
    ax.plot(numbers[best], values[best], "o", label=words, **_RING)
    ax.set_xticks(numbers)
    ax.set_xlabel("components")
    ax.set_ylabel(label)
    ax.margins(y=0.12)
    return _finish(ax, "y")


def _finish(ax: Any, along: str) -> Any:
    ax.ticklabel_format(axis=along, useOffset=False)
    ax.legend(fontsize="small", frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _short(name: str) -> str:
    return name if len(name) <= _LONG else f"{name[: _LONG - 3]}..."


Ends = tuple[Array, ...]
_POINTS, _MARKS, _CELLS = 401, 5000, 2_000_000


@closing_what_fails
def plot_survival(
    results: Results,
    ends: Ends | None,
    label: str,
    ax: Any = None,
    *,
    df: Any = None,
    times: Any = None,
    interval: float | None = 0.95,
    center: str = "median",
) -> Any:
    """Draw survival over time.

    Shapes: ends (n,).
    """
    ax, x = given_or_new(ax), _grid(results, ends, times, label)
    window = results.parts.spec.truncation
    if df is None and ends is not None and (window is None or window.upper is None):
        draw_kaplan_meier(ax, *ends)
    if df is None and label != "mixture":
        _draw_line(ax, x, results._average_curve("survival", x), _averaged(ends))
    else:
        _draw_rows(ax, results.predict_survival_function, x, results, label, df, interval, center)
    ax.set_ylabel("survival")
    ax.set_ylim(0.0, 1.03)
    return _finish_survival(ax, results)


@closing_what_fails
def plot_hazard(
    results: Results,
    ends: Ends | None,
    label: str,
    ax: Any = None,
    *,
    df: Any = None,
    times: Any = None,
    interval: float | None = 0.95,
    center: str = "median",
) -> Any:
    """Draw the hazard over time; arguments as of :func:`plot_survival`, averages weighted by survival."""
    ax, x = given_or_new(ax), _grid(results, ends, times, label)
    x = x[1:] if times is None else x
    if df is None and label != "mixture":
        _draw_line(ax, x, results._average_curve("hazard", x), _averaged(ends))
    else:
        _draw_rows(ax, results.predict_hazard, x, results, label, df, interval, center)
    ax.set_ylabel("hazard")
    ax.set_ylim(bottom=0.0)
    return _finish_survival(ax, results)


def draw_kaplan_meier(ax: Any, lower: Array, upper: Array, weight: Array, entry: Array | None = None) -> None:
    """Draw Kaplan and Meier's estimate where no row is censored but to the right."""
    seen = lower == upper
    if not (seen | np.isposinf(upper)).all():
        return
    times, survival = kaplan_meier(lower, seen, weight, entry)
    first = -np.inf if entry is None else float(entry.min())
    start = first if np.isfinite(first) else min(0.0, times[0])
    steps = np.concatenate([[start], times]), np.concatenate([[1.0], survival])
    late = entry is not None and not np.isneginf(entry).all()
    if late:
        ends = km_interval(*risk_sets(lower, seen, weight, entry)[1:])
        ax.fill_between(times, *ends, step="post", color=INK, alpha=0.12, linewidth=0)
    label = f"Kaplan-Meier{', late entry' * late} ({weight @ seen:.10g} of {weight.sum():.10g} seen)"
    ax.step(*steps, where="post", color=INK, linewidth=1.0, label=label)
    censored = np.unique(lower[~seen])
    if 0 < len(censored) <= _MARKS:
        height = survival[np.searchsorted(times, censored)]
        ax.plot(censored, height, "|", color=INK, markersize=7, label="right-censored")


def time_grid(ends: Ends, *, discrete: bool, real: bool) -> Array:
    """Times from 0, or the first, to a little beyond the last."""
    both = np.concatenate(ends[:2])
    values = both[np.isfinite(both)]
    low, high = values.min(), values.max()
    first = low if real and low < 0.0 else 0.0
    last = high + 0.15 * max(high - first, 1e-300)
    if discrete:
        return np.arange(0.0, np.ceil(last) + 1.0)
    return np.linspace(first, last, _POINTS)


def _grid(results: Results, ends: Ends | None, times: Any, label: str) -> Array:
    if times is not None:
        return np.asarray(times, dtype=np.float64)
    if ends is None:
        raise SpecError("This fit holds no training rows, which say how far to draw: give times=...")
    family = results.parts.family
    real = family.support == "real" if label == "mixture" else not family.log_time
    grid = time_grid(ends, discrete=_discrete(results), real=real)
    # The average over many rows is smooth, and its cost that of rows times points.
    return grid if label == "mixture" else grid[:: int(np.clip(len(grid) * len(ends[0]) // _CELLS, 1, 8))]


def _averaged(ends: Ends | None) -> str:
    assert ends is not None
    return f"average of {ends[2].sum():.10g} rows"


def _draw_rows(
    ax: Any,
    predict: Callable[..., pd.DataFrame],
    x: Array,
    results: Results,
    label: str,
    df: Any,
    interval: float | None,
    center: str,
) -> None:
    """Draw a curve for each row, the first in blue."""
    if center not in ("median", "mean"):
        raise SpecError(f"center={center!r}: 'median' or 'mean' is needed.")
    style: dict[str, Any] = {"step": "post"} if _discrete(results) else {}
    table = predict(df, x, interval=interval)
    each = 1 if interval is None else 4
    n = table.shape[1] // each
    if n > len(LEVELS):
        raise SpecError(f"df= has {n} rows, and {len(LEVELS)} curves are the most that can be told apart.")
    for i, colour in zip(range(n), LEVELS, strict=False):
        curve, row = table.iloc[:, each * i : each * (i + 1)].to_numpy(), table.columns[each * i]
        name = label if df is None else as_label(row if interval is None else row[0])
        if interval is not None:
            look = {"label": f"{100 * interval:g}% band"} if i == 0 else {}
            ax.fill_between(x, curve[:, 2], curve[:, 3], color=colour, alpha=0.2, linewidth=0, **look, **style)
        _draw_line(ax, x, curve[:, int(interval is not None and center == "median")], name, colour, step=bool(style))


def _draw_line(ax: Any, x: Array, y: Array, label: str, colour: str = BLUE, *, step: bool = False) -> None:
    ax.plot(x, y, color=colour, linewidth=1.8, label=label, drawstyle="steps-post" if step else "default")


def _discrete(results: Results) -> bool:
    return getattr(results.parts.family, "support", "") == "counts"


def _finish_survival(ax: Any, results: Results) -> Any:
    ax.set_xlabel(as_label(response_name(results.model)))
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(fontsize="small", framealpha=0.9, edgecolor="none")
    return ax
