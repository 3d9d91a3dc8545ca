"""Figure of a predicted number along one column. matplotlib is loaded when one is drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.errors import SpecError
from tobitgp.formula.functions import nearest
from tobitgp.report.axes import (
    LEVELS,
    MANY,
    as_label,
    closing_what_fails,
    draw_curve,
    draw_rows,
    finish,
    given_or_new,
    log_scale,
    response_name,
    row_kinds,
    shorten_all,
)
from tobitgp.report.plots import rows_above_zero
from tobitgp.report.term_figures import factor_columns, grid_frame, held_words, label_axis, place, runs, say_above
from tobitgp.results.counterfactuals import column_levels
from tobitgp.results.fit import Fit
from tobitgp.results.prediction import predict
from tobitgp.results.standardise import standardise

PROBABILITIES = {"survival": "above", "risk": "below", "cured": ""}
_POINTS, _AVERAGED, _FEW = 101, 31, 2
_ENTRIES = 4  # of a legend inside the axes
_WIDTH = 0.5  # of points at one level


@dataclass(frozen=True, slots=True)
class EffectFigure:
    """Description of what is drawn."""

    results: Fit
    x: str
    what: str
    asked: dict[str, Any]  # times, or other arguments of predict()
    by: str | None
    held: dict[str, Any]
    average: bool
    interval: float | None

    @property
    def covariates(self) -> pd.DataFrame:
        """Covariates of the training rows, with columns held where they are asked to be."""
        return self.results.parts.covariates.assign(**self.held)

    def levels(self, name: str) -> list[Any] | None:
        """Levels of a column, two values among them; None of numbers and dates along which a curve is drawn."""
        parts, values = self.results.parts, self.covariates[name]
        known = column_levels(parts, name)
        factors = factor_columns(self.results)
        if known is None and (name in factors or not runs(values) or values.nunique() <= _FEW):
            known = sorted(values.unique().tolist(), key=lambda value: (str(type(value)), value))
        return known

    @property
    def frame(self) -> pd.DataFrame:
        """Rows along x, the others at typical values; a row for each level of a factor."""
        factors, levels = factor_columns(self.results), self.levels(self.x)
        if levels is None:
            size = _AVERAGED if self.average else _POINTS
            return grid_frame(self.covariates, self.x, factors=factors, size=size)
        grid = grid_frame(self.covariates, None, factors=factors, size=len(levels))
        return grid.assign(**{self.x: pd.Series(levels, index=grid.index)})

    @property
    def times(self) -> list[float] | None:
        """Times, or limits, of which each has a curve."""
        given = self.asked.get("times")
        return None if given is None else given.tolist()

    def tables(self) -> Iterator[tuple[str, pd.DataFrame]]:
        """Each curve's name and numbers."""
        settings = [None] if self.by is None else self.levels(self.by) or []
        names = shorten_all([f"{self.by} = {level_name(setting)}" for setting in settings])
        for setting, name in zip(settings, names if self.by is not None else [""], strict=True):
            own = {} if self.by is None else {self.by: setting}
            found = self._averaged(own) if self.average else self._predicted(own)
            for key, table in found.items():
                yield ", ".join(filter(None, [name, key])), table

    def _predicted(self, own: dict[str, Any]) -> dict[str, pd.DataFrame]:
        asked, what = dict(self.asked), self.what
        if what in ("survival", "risk"):
            asked, what = {PROBABILITIES[what]: self.times}, "prob"
        exclude = [] if what == "cured" else effects_of(self.results)
        rows, name = self.frame.assign(**own), {"mean": "uncensored"}.get(what, what)
        table: Any = predict(self.results, rows, name, interval=self.interval, se=True, exclude=exclude, **asked)
        return self._split(table, lambda key: table[key], table.columns.get_level_values(0).unique())

    def _averaged(self, own: dict[str, Any]) -> dict[str, pd.DataFrame]:
        values = self.frame[self.x].tolist()
        df, weight = self.covariates.assign(**own), self.results.parts.rows.response.weight
        table: Any = standardise(self.results, {self.x: values}, self.what, self.times, df, weight, self.interval)
        times = table.index.get_level_values(-1).unique()
        return self._split(table, lambda key: table.xs(key, level="time"), times)

    @property
    def one_time(self) -> str:
        """The time, where there is one."""
        return f"{self.times[0]:g}" if self.times is not None and len(self.times) == 1 else ""

    def _split(self, table: pd.DataFrame, part: Callable[[Any], pd.DataFrame], keys: Any) -> dict[str, pd.DataFrame]:
        """Tables of several numbers by their names; one without a name."""
        if table.columns.nlevels == 1 and table.index.nlevels == 1:
            return {"": table}
        sign = "q" if self.what == "quantile" else "t"
        return {"" if self.one_time else f"{sign} = {key:g}": part(key) for key in keys}


def level_name(level: Any) -> str:
    """A level in words."""
    return f"{level:g}" if isinstance(level, float) else str(level)


def effects_of(results: Fit) -> list[str]:
    """Random effects, which are left out."""
    return [term.name for term in results.parts.spec.gps if not term.factors]


@closing_what_fails
def plot_effect(effect: EffectFigure, ax: Any = None) -> Any:
    """Draw a predicted number along a column, or at each level of one, over what is known about the rows."""
    for name in (effect.x, *([] if effect.by is None else [effect.by]), *effect.held):
        _check_column(effect, name)
    if effect.by is not None and not 0 < len(effect.levels(effect.by) or []) <= len(LEVELS):
        raise SpecError(f"by={effect.by!r} must be a factor with at most {len(LEVELS)} levels.")
    ax, levels = given_or_new(ax), effect.levels(effect.x)
    tables = list(effect.tables())
    if len(tables) > len(LEVELS):
        raise SpecError(
            f"{len(tables)} curves are requested, but at most {len(LEVELS)} can be distinguished. Request fewer."
        )
    at = place(effect.frame[effect.x]) if levels is None else np.arange(len(levels))
    many = len(tables) > 1
    _draw_data(ax, effect, levels)
    for i, (name, table) in enumerate(tables):
        shown = table.where(np.isfinite(table))
        label = as_label(name) if many else _words(effect, name)
        band = None if effect.interval is None or i else f"{100 * effect.interval:g}% interval"
        if levels is None:
            draw_curve(ax, at, shown, LEVELS[i], label=label, band=band)
        else:
            _draw_levels(ax, shown, LEVELS[i], 0.12 * (i - 0.5 * (len(tables) - 1)), label, band)
    if levels is None:
        label_axis(ax, effect.x, at)
    else:
        ax.set_xticks(at, [as_label(name) for name in shorten_all([level_name(level) for level in levels])])
        ax.set_xlim(-0.6, len(levels) - 0.4)
    _finish(ax, effect, outside=levels is not None)
    return ax


def _check_column(effect: EffectFigure, name: Any) -> None:
    columns = list(map(str, effect.results.parts.covariates.columns))
    if name not in columns:
        listed = ", ".join(map(repr, columns)) or "none"
        raise SpecError(f"{name!r} is not a column of this model{nearest(str(name), columns)}. It has {listed}.")


def _draw_levels(ax: Any, table: pd.DataFrame, colour: str, shift: float, label: str, band: str | None) -> None:
    """Points with bars, next to the places of the levels."""
    at = shift + np.arange(len(table))
    if "lower" in table:
        ax.vlines(at, table["lower"], table["upper"], color=colour, linewidth=2.2, zorder=4, label=band)
    ax.plot(at, table["estimate"].to_numpy(), "o", color=colour, markersize=7, label=label, zorder=5)


def _draw_data(ax: Any, effect: EffectFigure, levels: list[Any] | None) -> None:
    """Data of the rows: their responses or, if a probability is drawn, ticks at the values of the column."""
    rows, values = effect.results.parts.rows.response, effect.results.parts.covariates[effect.x]
    if levels is None:
        x = place(values)
    else:
        shift = np.random.default_rng(0).uniform(-0.5, 0.5, len(values)) * _WIDTH
        x = pd.Index(levels).get_indexer(pd.Index(values)) + shift
    if effect.what not in PROBABILITIES:
        draw_rows(ax, x, rows)
        return
    for k, (label, own, _, colour) in enumerate(row_kinds(rows.lower, rows.upper)):
        look = {"color": colour, "alpha": 0.6, "markersize": 7, "linestyle": "none", "label": label, "clip_on": False}
        ticks = x[own][:MANY]
        ax.plot(ticks, np.full(len(ticks), 0.02 + 0.035 * k), "|", transform=ax.get_xaxis_transform(), **look)


def _words(effect: EffectFigure, name: str) -> str:
    """What the curve is."""
    word = {"latent": "estimate"}.get(effect.what, effect.what)
    return " ".join(filter(None, ["average" * effect.average, word, f"({name})" if name else ""]))


def _finish(ax: Any, effect: EffectFigure, *, outside: bool) -> None:
    """Name axes and what is held where."""
    response, log_time = response_name(effect.results.model), getattr(effect.results.parts.family, "log_time", True)
    if effect.what in PROBABILITIES:
        ax.set_ylim(0.0, 1.03)
        sign = {"survival": ">", "risk": "<"}.get(effect.what)
        y = effect.what if sign is None else f"P({response} {sign} {effect.one_time or 't'})"
    else:
        y = response
        if log_time and effect.what not in ("latent", "sigma") and rows_above_zero(effect.results):
            log_scale(ax)
    many = len(ax.get_legend_handles_labels()[0]) > _ENTRIES
    finish(ax, effect.x, y, legend="outside" if many or outside else "best")
    if effect.average:
        say_above(ax, "average over the rows", held_words(effect.covariates[list(effect.held)].iloc[:1]))
        return
    gone = effects_of(effect.results)
    dropped = [effect.x, *([] if effect.by is None else [effect.by]), *effect.results.parts.spec.names("re")]
    held = effect.frame.drop(columns=dropped, errors="ignore")
    say_above(ax, held_words(held), f"{', '.join(gone)} left out" if gone else "")
