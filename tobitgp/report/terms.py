"""Figures of the terms of f, and the grids, axes and levels that these share with figures of a fit.

matplotlib is loaded when one is drawn.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

import numpy as np
import pandas as pd

from tobitgp.data.design import NUMERIC_ROLES
from tobitgp.errors import SpecError
from tobitgp.formula.spec import GPTerm
from tobitgp.report.axes import (
    BLUE,
    GREY,
    INK,
    LEVELS,
    as_label,
    closing_what_fails,
    draw_groups,
    draw_points,
    draw_surface,
    shorten,
)
from tobitgp.typing import Array, BoolArray

if TYPE_CHECKING:
    from tobitgp.results.process.results import GPResults
    from tobitgp.results.results import Results

GRID = 201


def grid_frame(
    covariates: pd.DataFrame, column: str | None, *, factors: frozenset[str] = frozenset(), size: int = GRID
) -> pd.DataFrame:
    """Covariates along one column, the others at a typical value that occurs."""
    out = {}
    for name in covariates.columns:
        values = covariates[name].reset_index(drop=True)
        if name == column:
            out[name] = _even_steps(values, size)
        else:
            number = runs(values) and name not in factors
            at = (
                values.argsort().iloc[(len(values) - 1) // 2] if number else values[values == values.mode()[0]].index[0]
            )
            out[name] = values.iloc[[at] * size].reset_index(drop=True)
    return pd.DataFrame(out)


def is_number(values: pd.Series[Any]) -> bool:
    """Whether a column holds numbers, truth values aside."""
    return bool(pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values))


def factor_columns(results: Results) -> frozenset[str]:
    """Columns that are factors by ``C(...)``, or groups of ``by=`` or ``re()`` and nothing else."""
    spec = results.model.spec
    coded = {coding.text.strip("`") for coding in spec.codings}
    return frozenset(coded | set(spec.names("by")) | (set(spec.names("re")) - set(spec.names(*NUMERIC_ROLES))))


def held_words(grid: pd.DataFrame, column: str, left_out: Sequence[str] = ()) -> str:
    """Words for the inputs that are held, and for the terms that are left out."""
    words = []
    for name in grid.columns:
        if name != column:
            value = grid[name].iloc[0]
            if is_date(grid[name]):
                value = pd.Timestamp(value).strftime("%Y-%m-%d")
            words.append(f"{name} = {value:.3g}" if isinstance(value, float | np.floating) else f"{name} = {value}")
    shown = ", ".join(words[:4]) + (f", {len(words) - 4} more held" if len(words) > 4 else "")
    rest = f"{', '.join(left_out)} left out" if left_out else ""
    return "; ".join(filter(None, [f"at {shown}" if shown else "", rest]))


def say_above(ax: Any, words: str) -> None:
    """Write a line, or several short ones, above a panel."""
    if words:
        ax.set_title(textwrap.fill(as_label(words), 46), loc="left", fontsize="small", color=GREY)


def is_date(values: pd.Series[Any]) -> bool:
    """Whether a column holds dates, of pandas or of Python."""
    return pd.api.types.infer_dtype(values) in ("datetime64", "datetime", "date")


def runs(values: pd.Series[Any]) -> bool:
    """Whether a column can be drawn along: numbers or dates."""
    return is_number(values) or is_date(values)


def place(values: pd.Series[Any]) -> Any:
    """Where a column of numbers or dates stands on an axis: floats, or dates in UTC."""
    if is_date(values):
        return pd.to_datetime(values, utc=True).dt.tz_localize(None).to_numpy()
    return values.to_numpy(dtype=np.float64)


def label_axis(ax: Any, column: str, x: Any, *, side: Literal["x", "y"] = "x") -> None:
    """Name the axis along a column, with short dates where it holds dates."""
    ax.set(**{f"{side}label": as_label(column)})
    if x.dtype.kind == "M":
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

        axis, locator = getattr(ax, f"{side}axis"), AutoDateLocator(minticks=3, maxticks=8)
        axis.set_major_locator(locator)
        axis.set_major_formatter(ConciseDateFormatter(locator))


def _even_steps(values: pd.Series[Any], size: int) -> pd.Series[Any]:
    if is_date(values):
        dates = pd.to_datetime(values)
        return pd.Series(pd.date_range(dates.min(), dates.max(), periods=size))
    return pd.Series(np.linspace(float(values.min()), float(values.max()), size))


def curve_words(results: Results) -> str:
    """What the curve of a figure is."""
    return "estimate" if results.method == "mle" else "posterior mean of f"


class Level(NamedTuple):
    """One level of a group."""

    label: str  # at most 16 characters
    rows: BoolArray  # (n,), the training rows in it
    colour: str


def read_levels(results: Results, t: int) -> list[Level]:
    """Levels of the group of one process, in their order."""
    names, groups = results.parts.state.group_levels[t], results.parts.rows.design.groups[t]
    assert names is not None
    assert groups is not None
    return [Level(shorten(str(name)), groups.code == k, LEVELS[k % len(LEVELS)]) for k, name in enumerate(names)]


def group_name(results: Results, t: int) -> str:
    """Column of the groups of one process."""
    by = results.model.spec.gps[t].by
    assert by is not None
    return by.text.strip("`")


def level_grids(grid: pd.DataFrame, column: str, values: pd.Series[Any], levels: Sequence[Level]) -> pd.DataFrame:
    """Rows of a grid once for each level, with the level in its column."""
    at = np.repeat([int(np.argmax(level.rows)) for level in levels], len(grid))
    stacked = pd.concat([grid] * len(levels), ignore_index=True)
    return stacked.assign(**{column: values.iloc[at].reset_index(drop=True)})


def label_ends(ax: Any, y: Sequence[float] | Array, levels: Sequence[Level]) -> None:
    """Write the name of each level right of the end of its curve, moved apart where they would touch."""
    if not levels:
        return
    ends = [(ax.get_xlim()[1], value) for value in y]
    height = ax.transAxes.inverted().transform(ax.transData.transform(ends))[:, 1]
    line = 10.0 / (72.0 * ax.get_position().height * ax.figure.get_size_inches()[1])
    places = spread_out(np.clip(height, 0.0, 1.0), line)
    for level, place in zip(levels, places, strict=True):
        look = {"color": level.colour, "fontsize": "small", "va": "center", "annotation_clip": False}
        ax.annotate(as_label(level.label), (1.01, place), xycoords="axes fraction", **look)


def spread_out(places: Array, gap: float) -> Array:
    """Places (k,) in their order, moved as little as it takes for neighbours to be ``gap`` apart."""
    order = np.argsort(places, kind="stable")
    blocks: list[tuple[float, int]] = []
    for k, value in enumerate(places[order]):
        mean, size = float(value) - gap * k, 1
        while blocks and blocks[-1][0] > mean:
            before, count = blocks.pop()
            mean, size = (before * count + mean * size) / (count + size), count + size
        blocks.append((mean, size))
    level = np.concatenate([np.full(size, mean) for mean, size in blocks])
    out = np.empty(len(places))
    out[order] = level + gap * np.arange(len(places))
    return out


BANDS = 8
_DRAWN_ROWS = 5000
_SURFACE = 61


@dataclass(frozen=True, slots=True)
class Panel:
    """One figure of a term."""

    term: str
    columns: tuple[str, ...]  # one that is drawn along, two of a surface
    t: int | None = None  # place among the processes
    held: tuple[str, ...] = ()  # the term's other columns
    slope: tuple[str, ...] = field(default=())  # columns that the term is a slope of

    @property
    def label(self) -> str:
        """What is drawn."""
        return f"slope of {' times '.join(self.slope)}" if self.slope else self.term


@closing_what_fails
def plot_terms(
    results: Results, terms: Sequence[tuple[str, int | None, list[str]]], *, interval: float | None = 0.95
) -> Any:
    """Draw each term of f along each of its columns, with its band.

    A column of numbers or dates gives a curve over ticks at the data, a factor a point for each level. A process with
    ``by=`` gives a curve for each level, with bands up to eight levels; a random intercept the levels in the order of
    their means. ``z:gp(x)`` is drawn at z = 1, which is the slope of z along x. A process of two columns is drawn as a
    surface over both, its posterior mean alone, with the data as dots. What else a term depends on is held at its
    median, or most frequent level, which a line above the panel says.
    """
    covariates = results.model.data.frame
    if covariates is None:
        raise SpecError("This fit holds no training rows, so there is nothing to draw; use predict(what='terms').")
    panels = [panel for term in terms for panel in _panels(results, covariates, *term)]
    if not panels:
        raise SpecError("This model has no term to draw.")
    import matplotlib.pyplot as plt

    across = min(len(panels), 3)
    down = -(-len(panels) // across)
    size = (6.4, 4.4) if len(panels) == 1 else (3.9 * across, 3.1 * down)
    _, grid = plt.subplots(down, across, figsize=size, squeeze=False, layout="constrained")
    axes = grid.ravel()
    for ax, panel in zip(axes, panels, strict=False):
        _draw(ax, results, covariates, panel, interval)
    for ax in axes[len(panels) :]:
        ax.set_visible(False)
    return axes[0] if len(panels) == 1 else axes[: len(panels)]


def _panels(results: Results, covariates: pd.DataFrame, name: str, t: int | None, columns: list[str]) -> list[Panel]:
    """Figures of one term."""
    if t is None:
        return [Panel(name, (c,), held=tuple(o for o in columns if o != c)) for c in columns]
    term = results.model.spec.gps[t]
    if not term.factors:
        return [Panel(name, (group_name(results, t),), t)]
    slope = _slope_columns(term, columns)
    rest = [c for c in columns if c not in slope]
    factors = factor_columns(results)
    if term.by is None and len(rest) == 2 and all(runs(covariates[c]) and c not in factors for c in rest):
        return [Panel(name, tuple(rest), t, slope=slope)]
    return [Panel(name, (c,), t, tuple(o for o in rest if o != c), slope) for c in rest]


def _slope_columns(term: GPTerm, columns: list[str]) -> tuple[str, ...]:
    """Columns whose slope varies along other inputs of the term."""
    linear = [f.inputs[0].text.strip("`") for f in term.factors if f.kernel == "linear" and len(f.inputs) == 1]
    found = tuple(name for name in linear if name in columns)
    others = [x.text for x in term.inputs if x.text.strip("`") not in found]
    return found if others and len(found) < len(columns) else ()


def _draw(ax: Any, results: Results, covariates: pd.DataFrame, panel: Panel, interval: float | None) -> None:
    column, t = panel.columns[0], panel.t
    ax.spines[["top", "right"]].set_visible(False)
    term = None if t is None else results.model.spec.gps[t]
    if t is not None and term is not None and not term.factors:
        table = cast("GPResults", results).group_effects(panel.term, interval=interval).droplevel("term")
        draw_groups(ax, table, column, panel.label)
        return
    if len(panel.columns) == 2:
        _draw_surface(ax, results, covariates, panel)
        return
    grid = _grid(results, covariates, panel, column)
    levels = [] if t is None or term is None or term.by is None else read_levels(results, t)
    ax.axhline(0.0, color=GREY, linewidth=0.7, zorder=1)
    if levels and t is not None:
        _draw_levels(ax, results, covariates, panel, grid, levels, interval)
    elif runs(covariates[column]) and column not in factor_columns(results):
        _draw_curve(ax, _table(results, grid, panel, interval), place(grid[column]), BLUE, 0.2)
    else:
        draw_points(ax, _table(results, grid, panel, interval), grid[column])
    if runs(covariates[column]) and column not in factor_columns(results):
        label_axis(ax, column, place(grid[column]))
        _draw_ticks(ax, place(covariates[column]))
    ax.set_xlabel(as_label(column))
    ax.set_ylabel(as_label(panel.label))
    _say_held(ax, grid, panel, len(levels))


def _grid(results: Results, covariates: pd.DataFrame, panel: Panel, column: str) -> pd.DataFrame:
    """Rows along one column, or at each level of a factor; a slope is the term where its column is 1."""
    factors = factor_columns(results)
    values = covariates[column]
    if runs(values) and column not in factors:
        grid = grid_frame(covariates, column, factors=factors)
    else:
        levels = values.drop_duplicates().sort_values().reset_index(drop=True)
        grid = grid_frame(covariates, None, factors=factors, size=len(levels)).assign(**{column: levels})
    return grid.assign(**dict.fromkeys(panel.slope, 1))


def _table(results: Results, grid: pd.DataFrame, panel: Panel, interval: float | None) -> pd.DataFrame:
    table: Any = results.predict(grid, "terms", interval=interval, se=True)
    return table[panel.term]


def _draw_levels(
    ax: Any,
    results: Results,
    covariates: pd.DataFrame,
    panel: Panel,
    grid: pd.DataFrame,
    levels: list[Level],
    interval: float | None,
) -> None:
    """Draw a curve for each level, with bands while they can be told apart."""
    assert panel.t is not None
    few, group = len(levels) <= BANDS, group_name(results, panel.t)
    x = place(grid[panel.columns[0]])
    table = _table(results, level_grids(grid, group, covariates[group], levels), panel, interval if few else None)
    for k, level in enumerate(levels):
        part = table.iloc[k * len(grid) : (k + 1) * len(grid)]
        if few:
            _draw_curve(ax, part, x, level.colour, 0.4 / max(len(levels), 3))
        else:
            ax.plot(x, part["estimate"], color=BLUE, linewidth=0.8, alpha=0.6, zorder=3)
    if few:
        label_ends(ax, table["estimate"].to_numpy()[len(grid) - 1 :: len(grid)], levels)


def _draw_curve(ax: Any, table: pd.DataFrame, x: Any, colour: str, alpha: float) -> None:
    if "lower" in table:
        ax.fill_between(x, table["lower"], table["upper"], color=colour, alpha=alpha, linewidth=0)
    ax.plot(x, table["estimate"], color=colour, linewidth=1.8, zorder=3)


def _draw_ticks(ax: Any, values: Any) -> None:
    """Draw ticks at the data."""
    ticks = np.unique(values)[:_DRAWN_ROWS]
    look = {"color": INK, "linestyle": "none", "markersize": 6, "alpha": 0.5, "clip_on": False}
    ax.plot(ticks, np.zeros(len(ticks)), "|", transform=ax.get_xaxis_transform(), **look)


def _draw_surface(ax: Any, results: Results, covariates: pd.DataFrame, panel: Panel) -> None:
    across, up = panel.columns
    factors = factor_columns(results)
    x, y = (grid_frame(covariates, c, factors=factors, size=_SURFACE)[c] for c in panel.columns)
    grid = grid_frame(covariates, None, factors=factors, size=_SURFACE**2)
    grid[across] = pd.concat([x] * _SURFACE, ignore_index=True)
    grid[up] = y.repeat(_SURFACE).reset_index(drop=True)
    grid = grid.assign(**dict.fromkeys(panel.slope, 1))
    mean = _table(results, grid, panel, None)["estimate"].to_numpy().reshape(_SURFACE, _SURFACE)
    draw_surface(ax, (place(x), place(y)), mean, tuple(place(covariates[c]) for c in panel.columns), panel.label)
    label_axis(ax, across, place(x))
    label_axis(ax, up, place(y), side="y")


def _say_held(ax: Any, grid: pd.DataFrame, panel: Panel, n_levels: int) -> None:
    held = held_words(grid[[*panel.columns, *panel.held]], panel.columns[0])
    many = f"{n_levels} levels, without bands" if n_levels > BANDS else ""
    words = "; ".join(filter(None, [many, held]))
    say_above(ax, words)
