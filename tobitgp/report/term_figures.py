"""Figures of the terms of f, and the grids, axes and levels that these share with figures of a fit.

matplotlib is loaded when a figure is drawn.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
import pandas as pd

from tobitgp.data.columns import errors_of_inputs
from tobitgp.data.design import NUMERIC_ROLES
from tobitgp.errors import SpecError
from tobitgp.formula.spec import GPTerm
from tobitgp.report.axes import (
    BLUE,
    GREY,
    INK,
    LEVELS,
    MANY,
    Level,
    as_label,
    closing_what_fails,
    draw_curves,
    draw_groups,
    draw_points,
    draw_surface,
    panel_axes,
    response_name,
    shorten_all,
)
from tobitgp.results.fit import Fit
from tobitgp.results.prediction import predict
from tobitgp.results.terms import effect_suffixes
from tobitgp.typing import Array

GRID = 201
BANDS = 8
_SURFACE = 61
_LONG = 26  # of a label next to a panel
_TICKS = 6  # of numbers along an axis, so that those of years have space
_YEAR = pd.Timedelta(days=365.2425)


def grid_frame(
    covariates: pd.DataFrame, column: str | None, *, factors: frozenset[str] = frozenset(), size: int = GRID
) -> pd.DataFrame:
    """Covariates along one column, the others at a typical value that occurs."""
    out = {}
    for name in covariates.columns:
        values = covariates[name].reset_index(drop=True)
        if name == column:
            out[name] = _even_steps(values, size)
            continue
        if runs(values) and name not in factors:
            at = values.argsort().iloc[(len(values) - 1) // 2]
        else:
            at = values[values == values.mode()[0]].index[0]
        out[name] = values.iloc[[at] * size].reset_index(drop=True)
    return pd.DataFrame(out)


def _even_steps(values: pd.Series[Any], size: int) -> pd.Series[Any]:
    if is_date(values):
        dates = pd.to_datetime(values)
        return pd.Series(pd.date_range(dates.min(), dates.max(), periods=size))
    return pd.Series(np.linspace(float(values.min()), float(values.max()), size))


def factor_columns(results: Fit) -> frozenset[str]:
    """Columns that are factors by ``C(...)``, strata, or groups of ``by=`` or ``re()`` and nothing else."""
    spec = results.model.spec
    coded = {coding.text.strip("`") for coding in spec.codings}
    groups = set(spec.names("by")) | (set(spec.names("re")) - set(spec.names(*NUMERIC_ROLES)))
    return results.parts.strata | coded | groups


def is_date(values: pd.Series[Any]) -> bool:
    """Whether a column holds dates, of pandas or of Python."""
    return pd.api.types.infer_dtype(values) in ("datetime64", "datetime", "date")


def runs(values: pd.Series[Any]) -> bool:
    """Whether a column holds numbers, truth values aside, or dates."""
    number = pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)
    return bool(number or is_date(values))


def drawn_along(results: Fit, covariates: pd.DataFrame) -> list[str]:
    """Columns along which curves are drawn: numbers or dates, and no factors."""
    factors = factor_columns(results)
    return [str(name) for name in covariates.columns if runs(covariates[name]) and name not in factors]


def held_words(held: pd.DataFrame) -> str:
    """Words for the inputs that are held where they are in the first row of a table."""
    words = []
    for name in held.columns:
        value = held[name].iloc[0]
        if is_date(held[name]):
            value = pd.Timestamp(value).strftime("%Y-%m-%d")
        words.append(f"{name} = {value:.4g}" if isinstance(value, float | np.floating) else f"{name} = {value}")
    shown = ", ".join(words[:4]) + (f", {len(words) - 4} more held" if len(words) > 4 else "")
    return f"at {shown}" if shown else ""


def say_above(ax: Any, *words: str) -> None:
    """Write a line, or several short ones, above a panel."""
    text = "; ".join(filter(None, words))
    if text:
        ax.set_title(textwrap.fill(as_label(text), 46), loc="left", fontsize="small", color=GREY)


def place(values: pd.Series[Any]) -> Any:
    """Where a column of numbers or dates is placed on an axis: floats, or dates in UTC."""
    if is_date(values):
        return pd.to_datetime(values, utc=True).dt.tz_localize(None).to_numpy()
    return values.to_numpy(dtype=np.float64)


def label_axis(ax: Any, column: str, x: Any, *, side: Literal["x", "y"] = "x", season: bool = False) -> None:
    """Name the axis along a column, with short dates where it holds dates: months alone where they are of any year."""
    ax.set(**{f"{side}label": as_label(column)})
    axis = getattr(ax, f"{side}axis")
    if x.dtype.kind == "M":
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, DateFormatter, MonthLocator

        locator = MonthLocator(bymonth=range(1, 13, 2)) if season else AutoDateLocator(minticks=3, maxticks=8)
        axis.set_major_locator(locator)
        axis.set_major_formatter(DateFormatter("%b") if season else ConciseDateFormatter(locator))
    elif side == "x":
        from matplotlib.ticker import MaxNLocator

        long = np.abs(x).max() >= 1000.0 and np.ptp(x) < 10.0  # numbers such as 2010.5
        axis.set_major_locator(MaxNLocator(_TICKS - 2 * long, steps=[1, 2, 2.5, 5, 10]))
        axis.get_major_formatter().set_useOffset(False)


def curve_words(results: Fit) -> str:
    """Label of the curve of a figure."""
    return "estimate" if results.method == "mle" else "posterior mean of f"


def scale_words(results: Fit) -> str:
    """The scale of f and its terms."""
    parts = results.parts
    if parts.scale_of_effects:
        return parts.scale_of_effects
    name = as_label(response_name(results.model))
    return f"log {name}" if parts.family.log_time else f"in {name}"


def read_levels(results: Fit, t: int) -> list[Level]:
    """Levels of the group of one process, in their order."""
    names, groups = results.parts.state.group_levels[t], results.parts.rows.design.groups[t]
    assert names is not None
    assert groups is not None
    short = shorten_all([str(name) for name in names])
    return [Level(name, groups.code == k, LEVELS[k % len(LEVELS)]) for k, name in enumerate(short)]


def group_name(results: Fit, t: int) -> str:
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
    from scipy.optimize import isotonic_regression

    order, apart = np.argsort(places, kind="stable"), gap * np.arange(len(places))
    out = np.empty(len(places))
    out[order] = isotonic_regression(places[order] - apart).x + apart
    return out


@dataclass(frozen=True, slots=True)
class Panel:
    """One figure of a term."""

    term: str
    columns: tuple[str, ...]  # one that is drawn along, two of a surface
    t: int | None = None  # place among the processes
    held: tuple[str, ...] = ()  # the term's other columns
    slope: tuple[str, ...] = ()  # columns that the term is a slope of

    @property
    def label(self) -> str:
        """Description of what is drawn."""
        return f"slope of {' times '.join(self.slope)}" if self.slope else self.term


@closing_what_fails
def plot_terms(
    results: Fit,
    terms: Sequence[tuple[str, int | None, list[str]]],
    *,
    interval: float | None = 0.95,
    sharey: bool = True,
) -> Any:
    """Draw each term of f along each of its columns, with its band; a slope, e.g. of z in ``z:gp(x)``, at z = 1.

    With ``sharey``, curves and points share a scale; slopes and surfaces have separate scales.
    """
    covariates = results.model.data.frame
    if covariates is None:
        raise SpecError("This fit holds no training rows, so there is nothing to draw; use predict(what='terms').")
    covariates = covariates.drop(columns=errors_of_inputs(results.model.spec), errors="ignore")
    panels = [panel for term in terms for panel in term_panels(results, covariates, *term)]
    if not panels:
        raise SpecError("This model has no term to draw.")
    axes = panel_axes(len(panels), 3.1)
    for ax, panel in zip(axes, panels, strict=True):
        ax.spines[["top", "right"]].set_visible(False)
        draw = _draw_surface if len(panel.columns) == 2 else _draw_term
        draw(ax, results, covariates, panel, interval)
    shared = [ax for ax, panel in zip(axes, panels, strict=True) if len(panel.columns) == 1 and not panel.slope]
    if sharey and shared:
        low, high = np.array([ax.get_ylim() for ax in shared]).T
        for ax in shared:
            ax.set_ylim(low.min(), high.max())
    return axes[0] if len(panels) == 1 else axes


def _label(results: Fit, panel: Panel) -> str:
    """What is drawn, and on what scale."""
    return f"{as_label(panel.label)}\n{scale_words(results)}"


def term_panels(results: Fit, covariates: pd.DataFrame, name: str, t: int | None, columns: list[str]) -> list[Panel]:
    """Figures of one term."""
    term = None if t is None else results.model.spec.gps[t]
    if t is not None and term is not None and not term.factors:
        suffixes = effect_suffixes(results.parts.state.effect_columns[t])
        return [Panel(name + suffix, (group_name(results, t),), t) for suffix in suffixes]
    slope = () if term is None else _slope_columns(term, columns)
    rest = [c for c in columns if c not in slope]
    along = drawn_along(results, covariates)
    if term is not None and term.by is None and len(rest) == 2 and all(c in along for c in rest):
        return [Panel(name, tuple(rest), t, slope=slope)]
    return [Panel(name, (c,), t, tuple(o for o in rest if o != c), slope) for c in rest]


def _slope_columns(term: GPTerm, columns: list[str]) -> tuple[str, ...]:
    """Columns whose slope varies along other inputs of the term."""
    linear = [f.inputs[0].text.strip("`") for f in term.factors if f.kernel == "linear" and len(f.inputs) == 1]
    found = tuple(name for name in linear if name in columns)
    others = [x.text for x in term.inputs if x.text.strip("`") not in found]
    return found if others and len(found) < len(columns) else ()


def _table(results: Fit, grid: pd.DataFrame, panel: Panel, interval: float | None) -> pd.DataFrame:
    """The term at the rows of a grid; a slope is the term where its column is one above its origin."""
    above = {name: 1.0 + _origin(results, panel, name) for name in panel.slope}
    table: Any = predict(results, grid.assign(**above), "terms", interval=interval, se=True)
    return table[panel.term]


def _origin(results: Fit, panel: Panel, column: str) -> float:
    """Where the term is 0 along a column whose slope is drawn."""
    assert panel.t is not None
    gp = results.parts.gp
    inputs = [item.text.strip("`") for item in gp.terms[panel.t].inputs]
    return float(gp.problem.units.x_centre[panel.t][inputs.index(column)])


def _draw_term(ax: Any, results: Fit, covariates: pd.DataFrame, panel: Panel, interval: float | None) -> None:
    """Draw a term along one column: a curve, one for each level of a group, or a point for each level of a factor."""
    column, t = panel.columns[0], panel.t
    ax.axhline(0.0, color=GREY, linewidth=0.7, zorder=1)
    ax.set_ylabel(_label(results, panel), fontsize="small" if len(panel.label) > _LONG else None)
    term = None if t is None else results.model.spec.gps[t]
    if term is not None and not term.factors:
        kind: Any = results  # that has random effects
        effects = kind.group_effects(term.name, interval=interval)
        draw_groups(ax, pd.DataFrame(effects.loc[panel.term]), column)
        return
    values, factors = covariates[column], factor_columns(results)
    along, period = column in drawn_along(results, covariates), _period(term, column)
    if along and period:
        values, ends = _fold(values, period)
        grid = grid_frame(covariates, column, factors=factors).assign(**{column: _even_steps(ends, GRID)})
    elif along:
        grid = grid_frame(covariates, column, factors=factors)
    else:
        found = values.drop_duplicates().sort_values().reset_index(drop=True)
        grid = grid_frame(covariates, None, factors=factors, size=len(found)).assign(**{column: found})
    levels, rows, n = [], grid, len(grid)
    if t is not None and term is not None and term.by is not None:
        levels, group = read_levels(results, t), group_name(results, t)
        rows = level_grids(grid, group, covariates[group], levels)
    few = len(levels) <= BANDS
    table = _table(results, rows, panel, interval if few else None)
    if not along and not levels:
        draw_points(ax, table)
        ax.set_xticks(np.arange(n), [as_label(level) for level in grid[column]])
        ax.set_xlim(-0.6, n - 0.4)
    elif few:
        draw_curves(ax, place(grid[column]), table, levels, 0.4 / max(len(levels), 3) if levels else 0.2)
        label_ends(ax, table["estimate"].to_numpy()[n - 1 :: n], levels)
    else:
        curves = table["estimate"].to_numpy().reshape(len(levels), n).T
        ax.plot(place(grid[column]), curves, color=BLUE, linewidth=0.8, alpha=0.6, zorder=3)
    if along:
        label_axis(ax, column, place(grid[column]), season=period == 1.0)
        ticks = np.unique(place(values))[:MANY]
        look = {"color": INK, "linestyle": "none", "markersize": 6, "alpha": 0.5, "clip_on": False}
        ax.plot(ticks, np.zeros(len(ticks)), "|", transform=ax.get_xaxis_transform(), **look)
    ax.set_xlabel(as_label(column))
    many = "" if few else f"{len(levels)} levels, without bands"
    say_above(ax, many, held_words(grid[list(panel.held)]))


def _period(term: GPTerm | None, column: str) -> float:
    """Known period of a term along a column, of dates in years; 0 where there is none."""
    if term is None or len(term.factors) != 1 or len(term.inputs) != 1:
        return 0.0
    along = term.inputs[0].text.replace("`", "") in (column, f"decimal_year({column})")
    return (term.factors[0].period or 0.0) if along else 0.0


def _fold(values: pd.Series[Any], period: float) -> tuple[pd.Series[Any], pd.Series[Any]]:
    """Values folded into one period near their middle, of dates one from New Year on, and the ends of that."""
    start: Any
    span: Any = period
    if is_date(values):
        values = pd.Series(place(values))
        start, span = pd.Timestamp(cast("pd.Timestamp", values.median()).year, 1, 1), period * _YEAR
    else:
        start = float(np.floor(values.median() / period) * period)
    return start + (values - start) % span, pd.Series([start, start + span])


def surface_frame(
    results: Fit, covariates: pd.DataFrame, columns: tuple[str, ...]
) -> tuple[pd.DataFrame, list[pd.Series[Any]]]:
    """Covariates over two columns, the first running fastest, the others at typical values; and the columns' steps."""
    factors = factor_columns(results)
    x, y = (grid_frame(covariates, c, factors=factors, size=_SURFACE)[c] for c in columns)
    both = (pd.concat([x] * _SURFACE, ignore_index=True), y.repeat(_SURFACE).reset_index(drop=True))
    grid = grid_frame(covariates, None, factors=factors, size=_SURFACE**2)
    return grid.assign(**dict(zip(columns, both, strict=True))), [x, y]


def _draw_surface(ax: Any, results: Fit, covariates: pd.DataFrame, panel: Panel, _: float | None) -> None:
    """Draw the posterior mean of a term over two columns."""
    grid, (x, y) = surface_frame(results, covariates, panel.columns)
    mean = _table(results, grid, panel, None)["estimate"].to_numpy().reshape(_SURFACE, _SURFACE)
    rows = tuple(place(covariates[c]) for c in panel.columns)
    draw_surface(ax, (place(x), place(y)), mean, rows, _label(results, panel))
    label_axis(ax, panel.columns[0], place(x))
    label_axis(ax, panel.columns[1], place(y), side="y")
