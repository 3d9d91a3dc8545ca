"""Figures of a fit, of its survival curves, and of models that were ranked. matplotlib is loaded when one is drawn."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.errors import SpecError
from tobitgp.formula.functions import nearest
from tobitgp.numerics.nonparametric import risk_sets
from tobitgp.report.axes import (
    BLUE,
    INK,
    LEVELS,
    MANY,
    ORANGE,
    VERMILION,
    Level,
    as_label,
    closing_what_fails,
    draw_curve,
    draw_curves,
    draw_map,
    draw_rows,
    finish,
    given_or_new,
    log_scale,
    panel_axes,
    response_name,
)
from tobitgp.report.group_curves import FEW, Seen, draw_groups, groups_size, log_rank, log_rank_words, read_groups
from tobitgp.report.term_figures import (
    curve_words,
    drawn_along,
    factor_columns,
    grid_frame,
    group_name,
    held_words,
    label_axis,
    label_ends,
    level_grids,
    place,
    read_levels,
    say_above,
    surface_frame,
    term_panels,
)
from tobitgp.results.curves import average_curve, predict_hazard, predict_survival_function
from tobitgp.results.fit import Fit
from tobitgp.results.prediction import predict
from tobitgp.typing import Array

PlottedTerms = Sequence[tuple[str, int | None, list[str]]]
SeenEnds = tuple[Array, ...]

CURVES = 6
_SHOWN_ROLES = ("linear", "gp", "by", "offset")
_LONG = 40
_CRITERIA = {"aic": "AIC", "bic": "BIC"}
_RING = {"color": VERMILION, "markersize": 11, "markerfacecolor": "none", "markeredgewidth": 1.6, "linestyle": "none"}
POINTS, _CELLS = 401, 2_000_000


@closing_what_fails
def plot_fit(
    results: Fit, terms: PlottedTerms, ax: Any = None, *, x: str | None = None, interval: float | None = 0.95
) -> Any:
    """Draw the fit with its band over the data, a panel for each input, the others held at typical values."""
    covariates = results.model.data.frame
    if covariates is None:
        raise SpecError("This fit holds no training rows, so there is nothing to draw. Use predict() with new data.")
    panels = _panels(results, covariates, terms, x)
    if ax is None:
        axes = panel_axes(len(panels), 3.3, above=0.6, sharey=all(len(columns) == 1 for columns in panels))
    elif len(panels) == 1:
        axes = [given_or_new(ax)]
    else:
        names = _listed([name for columns in panels for name in columns])
        raise SpecError(f"ax= requires one panel, and this fit has {len(panels)}. Choose one of {names} by x=.")
    drawn: list[tuple[Sequence[float] | Array, list[Level]]] = []
    for panel, columns in zip(axes, panels, strict=True):
        if len(columns) == 2:
            _draw_map(panel, results, columns)
            drawn.append(([], []))
        else:
            drawn.append(_draw_panel(panel, results, terms, columns[0], interval))
    entries: dict[str, Any] = {}
    alike = all(len(columns) == 1 for columns in panels)
    for k, (panel, columns, curves) in enumerate(zip(axes, panels, drawn, strict=True)):
        if len(columns) == 1:
            panel.set_ylabel("" if k % 3 and alike else as_label(response_name(results.model)))
        label_ends(panel, *curves)
        handles, labels = panel.get_legend_handles_labels()
        entries = dict(zip(labels, handles, strict=True)) | entries
    if ax is not None:
        ax.legend(fontsize="small", framealpha=0.9, edgecolor="none")
        return ax
    look = {"loc": "outside upper center", "ncols": 3, "fontsize": "small", "frameon": False}
    axes[0].figure.legend(entries.values(), entries.keys(), **look)
    return axes[0] if len(panels) == 1 else axes


def _draw_panel(
    ax: Any, results: Fit, terms: PlottedTerms, column: str, interval: float | None
) -> tuple[Sequence[float] | Array, list[Level]]:
    """Draw data, limits, curves and bands along one column; the ends of the curves of levels."""
    covariates, left_out = _shown(results)
    grid = grid_frame(covariates, column, factors=factor_columns(results))
    t = _curves_along(results, terms, column)
    levels, group = ([], None) if t is None else (read_levels(results, t), group_name(results, t))
    rows = grid if group is None else level_grids(grid, group, covariates[group], levels)
    log_time = results.parts.family.log_time
    table: Any = predict(
        results, rows, "median" if log_time else "latent", interval=interval, se=True, exclude=left_out
    )
    draw_rows(ax, place(covariates[column]), results.parts.rows.response, levels)
    at = place(grid[column])
    words: dict[str, Any] = {"label": "median" if log_time else curve_words(results)}
    if interval is not None:
        words["band"] = f"{100 * interval:g}% band"
    draw_curves(ax, at, table, levels, **words)
    spec = results.model.spec
    if spec.truncation is not None and not spec.names("window", "limit") and not levels:
        inside: Any = predict(results, rows, "observed", exclude=left_out)
        ax.plot(at, inside, color=ORANGE, linewidth=1.4, label="mean in the window", zorder=3)
    if log_time and rows_above_zero(results):
        log_scale(ax)
    label_axis(ax, column, at)
    ax.spines[["top", "right"]].set_visible(False)
    rest = f"{', '.join(left_out)} left out" if left_out else ""
    say_above(ax, held_words(grid.drop(columns=[column] if group is None else [column, group])), rest)
    return (table["estimate"].to_numpy()[len(at) - 1 :: len(at)] if levels else []), levels


def _shown(results: Fit) -> tuple[pd.DataFrame, list[str]]:
    """Columns that a figure of the fit is over, and the random effects that it leaves out."""
    covariates = results.model.data.frame
    assert covariates is not None
    spec, others = results.model.spec, results.parts.state.parts[1:]
    shown = {*spec.names(*_SHOWN_ROLES), *(name for part in others for name in part.spec.names())}
    used = [name for name in covariates.columns if name in shown]
    return covariates[used], [term.name for term in spec.gps if not term.factors]


def _draw_map(ax: Any, results: Fit, columns: tuple[str, ...]) -> None:
    """Draw the fit over two columns as a map, and the rows on it in the colours of their responses."""
    covariates, left_out = _shown(results)
    log_time, names = results.parts.family.log_time, list(columns)
    grid, (x, y) = surface_frame(results, covariates, columns)
    table: Any = predict(results, grid, "median" if log_time else "latent", exclude=left_out)
    height = table.to_numpy().reshape(len(y), len(x))
    rows, label = results.parts.rows.response, as_label(response_name(results.model))
    draw_map(
        ax,
        (place(x), place(y)),
        height,
        [place(covariates[c]) for c in columns],
        rows,
        label,
        log=log_time and rows_above_zero(results),
    )
    label_axis(ax, columns[0], place(x))
    label_axis(ax, columns[1], place(y), side="y")
    rest = f"{', '.join(left_out)} left out" if left_out else ""
    say_above(ax, held_words(grid.drop(columns=names)), rest)


def rows_above_zero(results: Fit) -> bool:
    """Whether no training row is at 0, so that a logarithmic axis shows all."""
    return bool((results.parts.rows.response.upper > 0.0).all())


def _curves_along(results: Fit, terms: PlottedTerms, column: str) -> int | None:
    """Process that has a few curves along a column."""
    for _, t, columns in terms:
        if t is not None and column in columns and results.model.spec.gps[t].factors:
            levels = results.parts.state.group_levels[t]
            if levels is not None and len(levels) <= CURVES:
                return t
    return None


def _panels(results: Fit, covariates: pd.DataFrame, terms: PlottedTerms, x: str | None) -> list[tuple[str, ...]]:
    """Columns of each panel: one that a curve runs along, two of a map where one process alone is over both."""
    along = drawn_along(results, covariates)
    if x is not None:
        if x not in along:
            raise SpecError(
                f"x={x!r} is not an input of this model with numbers or dates{nearest(str(x), along)}. It has "
                f"{_listed(along)}."
            )
        return [(x,)]
    used = results.model.spec.names("gp") or results.model.spec.names("linear")
    columns = [name for name in used if name in along]
    if not columns:
        raise SpecError("This model has no input of numbers or dates to draw its fit along.")
    alone = {name for name in columns if sum(name in of for _, _, of in terms) == 1}
    maps = {
        name: panel.columns
        for term in terms
        for panel in term_panels(results, covariates, *term)
        if len(panel.columns) == 2 and not panel.slope and alone.issuperset(panel.columns)
        for name in panel.columns
    }
    return list(dict.fromkeys(maps.get(name, (name,)) for name in columns))


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names)) or "none"


@closing_what_fails
def plot_ranking(table: pd.DataFrame, names: Sequence[str], ax: Any = None) -> Any:
    """Draw the criterion of each model below the other, or along numbers of components; the best is ringed."""
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
    places, short = np.arange(len(names)), [as_label(_short(name)) for name in names]
    ax.plot(heights, places, "o", color=BLUE, markersize=6)
    ax.plot(heights[best], places[best], "o", label=f"best: {short[best]}", **_RING)
    ax.set_yticks(places, short, fontsize="small")
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.margins(x=0.12)
    ax.grid(axis="y", linewidth=0.4)
    return _finish_ranking(ax, "x", label)


def draw_numbers(ax: Any, numbers: Sequence[int], values: Array, best: int, label: str) -> Any:
    """Draw a criterion over the number of components into axes."""
    ax.plot(numbers, values, "o-", color=BLUE, linewidth=1.4, markersize=5)
    words = f"best: {numbers[best]} component{'s' * (numbers[best] > 1)}"
    ax.plot(numbers[best], values[best], "o", label=words, **_RING)
    ax.set_xticks(numbers)
    ax.set_xlabel("components")
    ax.margins(y=0.12)
    return _finish_ranking(ax, "y", label)


def _finish_ranking(ax: Any, along: str, label: str) -> Any:
    ax.set(**{f"{along}label": label})
    ax.ticklabel_format(axis=along, useOffset=False)
    ax.legend(fontsize="small", frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _short(name: str) -> str:
    return name if len(name) <= _LONG else f"{name[: _LONG - 3]}..."


@closing_what_fails
def plot_over_time(
    of: str,
    results: Fit,
    ends: SeenEnds | None,
    ax: Any = None,
    *,
    df: Any = None,
    times: Any = None,
    interval: float | None = 0.95,
    center: str = "median",
) -> Any:
    """Draw survival or the hazard over time: of rows, of a mixture, or the average of the training rows."""
    survival, mixture = of == "survival", results.parts.spec.mixture is not None
    ax, x = given_or_new(ax), _grid(results, ends, times, mixture)
    window = results.parts.spec.truncation
    if not survival and times is None:
        x = x[1:]
    elif survival and df is None and ends is not None and (window is None or window.upper is None):
        draw_kaplan_meier(ax, *ends)
    if df is None and not mixture:
        average = pd.DataFrame({"estimate": average_curve(results, of, x)})
        assert ends is not None
        draw_curve(ax, x, average, label=f"average of {ends[2].sum():.10g} rows")
    else:
        _draw_rows(ax, x, results, of, df, interval, center)
    ax.set_ylim(0.0, 1.03 if survival else None)
    name = "net survival" if survival and results._of_cause else of
    return finish(ax, response_name(results.model), name, legend="outside" if len(ax.lines) > FEW else "best")


@closing_what_fails
def plot_averages(
    results: Fit, ends: SeenEnds, ax: Any = None, *, times: Any, labels: pd.Series[Any] | None, at_risk: bool
) -> Any:
    """Draw the average survival of the rows of each group, or of all, over the steps of the same rows."""
    seen = Seen(*ends)
    groups, by = read_groups(seen, labels), "" if labels is None else str(labels.name)
    grid = _grid(results, ends, times, mixture=False)
    x = grid[grid >= seen.start] if seen.start else grid
    ax = given_or_new(ax, groups_size(groups, at_risk=at_risk))
    curves = average_curve(results, "survival", x, np.stack([group.rows for group in groups]), after=seen.start)
    for curve, colour in zip(curves, LEVELS, strict=False):
        draw_curve(ax, x, pd.DataFrame({"estimate": curve}), colour)
    ax.plot([], [], color=INK, linewidth=1.8, label="average of the fit")
    names = response_name(results.model), "survival"
    draw_groups(ax, seen, groups, until=float(x[-1]), names=names, by=by, at_risk=at_risk)
    say_above(ax, log_rank_words(log_rank(seen, groups)))
    return ax


def _draw_rows(ax: Any, x: Array, results: Fit, of: str, df: Any, interval: float | None, center: str) -> None:
    """Draw a curve for each row, the first in blue."""
    if center not in ("median", "mean"):
        raise SpecError(f"center={center!r}: center must be 'median' or 'mean'.")
    curve_of = predict_survival_function if of == "survival" else predict_hazard
    table = curve_of(results, df, x, interval=interval)
    columns = ["mean"] if interval is None else ["mean", "median", "lower", "upper"]
    each = len(columns)
    n = table.shape[1] // each
    if n > len(LEVELS):
        raise SpecError(f"df= has {n} rows, but at most {len(LEVELS)} curves can be distinguished. Give fewer rows.")
    for i in range(n):
        curve, row = table.iloc[:, each * i : each * (i + 1)].set_axis(columns, axis=1), table.columns[each * i]
        name = "mixture" if df is None else as_label(row if interval is None else row[0])
        band = None if interval is None or i else f"{100 * interval:g}% band"
        shown = "mean" if interval is None else center
        draw_curve(ax, x, curve, LEVELS[i], of=shown, label=name, band=band, steps=is_discrete(results))


def draw_kaplan_meier(ax: Any, lower: Array, upper: Array, weight: Array, entry: Array | None = None) -> None:
    """Draw the Kaplan-Meier estimate where no row is censored but to the right."""
    seen = lower == upper
    if not (seen | np.isposinf(upper)).all():
        return
    sets = risk_sets(lower, seen, weight, entry)
    times, survival = sets.times, sets.survival
    first = -np.inf if entry is None else float(entry.min())
    start = first if np.isfinite(first) else min(0.0, times[0])
    late = entry is not None and not np.isneginf(entry).all()
    if late:
        ax.fill_between(times, *sets.interval(), step="post", color=INK, alpha=0.12, linewidth=0)
    label = f"Kaplan-Meier{', late entry' * late} ({weight @ seen:.10g} of {weight.sum():.10g} seen)"
    ax.step([start, *times], [1.0, *survival], where="post", color=INK, linewidth=1.0, label=label)
    censored = np.unique(lower[~seen])
    if 0 < len(censored) <= MANY:
        height = survival[np.searchsorted(times, censored)]
        ax.plot(censored, height, "|", color=INK, markersize=7, label="right-censored")


def is_discrete(results: Any) -> bool:
    """Whether the response is counts."""
    return getattr(results.parts.family, "support", "") == "counts"


def time_grid(results: Any, ends: SeenEnds) -> Array:
    """Times from 0, or the first of those that may be negative, to a little beyond the last."""
    both, family = np.concatenate(ends[:2]), results.parts.family
    values = both[np.isfinite(both)]
    low, high = values.min(), values.max()
    if results.parts.span is not None:
        first, last = results.parts.span
        return np.asarray(np.linspace(first, last, POINTS), dtype=np.float64)
    real = not family.log_time if results.parts.spec.mixture is None else family.support == "real"
    first = low if real and low < 0.0 else 0.0
    last = high + 0.15 * max(high - first, 1e-300)
    return np.arange(0.0, np.ceil(last) + 1.0) if is_discrete(results) else np.linspace(first, last, POINTS)


def _grid(results: Fit, ends: SeenEnds | None, times: Any, mixture: bool) -> Array:
    if times is not None:
        return np.asarray(times, dtype=np.float64)
    if ends is None:
        raise SpecError("This fit holds no training rows, so the range of times is unknown. Give times=...")
    grid = time_grid(results, ends)
    # The average over many rows is smooth, and its cost that of rows times points.
    return grid if mixture else grid[:: int(np.clip(len(grid) * len(ends[0]) // _CELLS, 1, 8))]
