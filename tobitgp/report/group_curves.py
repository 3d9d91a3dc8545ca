"""Nonparametric curves of groups side by side: steps with bands, numbers at risk, medians, the log-rank test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tobitgp.data.values import counted
from tobitgp.errors import SpecError
from tobitgp.numerics import rank_tests
from tobitgp.numerics.nonparametric import first_below, risk_sets, turnbull
from tobitgp.report.axes import INK, LEVELS, as_label, finish, shorten_all
from tobitgp.typing import Array, BoolArray

_BAND, FEW = 0.13, 4  # with more groups, bands are left out and the legend is outside
_ROW, _LABEL = 1.35, 2.6  # heights below the axis, in lines of text
_TICKS = 6


class Seen(NamedTuple):
    """What is known about n times, (n,) each."""

    lower: Array
    upper: Array
    weight: Array
    entry: Array  # -inf where a row was at risk from the start

    @property
    def exact(self) -> BoolArray:
        """Events."""
        return self.lower == self.upper

    @property
    def events(self) -> float:
        """Weight of the rows that are not right-censored."""
        return float(self.weight @ np.isfinite(self.upper))

    @property
    def start(self) -> float:
        """Time before which no row was at risk, where all entered late; else 0."""
        return max(0.0, float(self.entry.min(initial=np.inf)))

    @property
    def right(self) -> bool:
        """Whether no row is censored but to the right."""
        return bool((self.exact | np.isposinf(self.upper)).all())

    @property
    def late(self) -> bool:
        """Whether some rows entered late."""
        return bool((self.entry > min(0.0, float(self.lower.min(initial=0.0)))).any())

    def take(self, rows: BoolArray) -> Seen:
        """Some of the rows."""
        return Seen(*(values[rows] for values in self))


class CurveGroup(NamedTuple):
    """Rows that have a curve together."""

    name: str
    rows: BoolArray  # (n,)


class Steps(NamedTuple):
    """Survival after each time, (m,) each, with the ends of its 95% band where there is one."""

    times: Array
    survival: Array
    band: tuple[Array, Array] | None


def read_groups(seen: Seen, labels: pd.Series[Any] | None) -> list[CurveGroup]:
    """Groups by their labels, in the order of a categorical, else sorted; all rows together without."""
    if labels is None:
        return [CurveGroup("all", np.ones(len(seen.lower), dtype=np.bool_))]
    name = str(labels.name)
    if labels.isna().any():
        missing = int(labels.isna().sum())
        raise SpecError(
            f"by={name!r}: {counted(missing, 'row')} without a value. Give one, or leave these rows out of the fit."
        )
    levels = pd.Categorical(labels).remove_unused_categories()
    if len(levels.categories) > len(LEVELS):
        remedy = ". Cut numbers into intervals by pd.cut()" if labels.dtype.kind in "if" else ""
        raise SpecError(
            f"by={name!r} has {len(levels.categories)} values, but at most {len(LEVELS)} curves can be "
            f"distinguished{remedy}."
        )
    return [
        CurveGroup(f"{level:.10g}" if isinstance(level, float) else str(level), levels.codes == k)
        for k, level in enumerate(levels.categories)
    ]


def estimate(seen: Seen) -> Steps:
    """Kaplan-Meier estimate with Greenwood's band in log(-log); Turnbull's where some rows are intervals."""
    if seen.right:
        sets = risk_sets(seen.lower, seen.exact, seen.weight, seen.entry)
        return Steps(sets.times, sets.survival, sets.interval())
    if seen.late:
        raise SpecError(
            "Interval-censored rows with late entry have no nonparametric curve here. Leave by= and at_risk= out."
        )
    found = turnbull(seen.lower, seen.upper, seen.weight)
    inside = np.isfinite(found.right)
    return Steps(found.right[inside], found.survival[inside], None)


def count_at_risk(seen: Seen, times: Array) -> Array:
    """Weight of the rows that are at risk just before each time, (m,)."""
    if not seen.right:
        raise SpecError(
            "at_risk=True: numbers at risk require right-censored rows, and some of these are "
            "interval-censored. Leave at_risk= out."
        )
    entered = (seen.entry < times[:, None]) | np.isneginf(seen.entry) | (seen.entry <= times.min())
    return np.asarray((entered & (seen.lower >= times[:, None])) @ seen.weight)


def log_rank(seen: Seen, groups: Sequence[CurveGroup]) -> tuple[float, int, float] | None:
    """Chi-squared, degrees of freedom and p of the log-rank test; None of intervals, and if no groups meet."""
    if len(groups) < 2 or not seen.right:
        return None
    code = np.select([group.rows for group in groups], range(len(groups)))
    rows = rank_tests.TimesOfGroups(seen.lower, seen.exact.astype(np.intp), seen.weight, seen.entry, code)
    found = rank_tests.log_rank(rows, len(groups), np.zeros(len(code), dtype=np.intp)).statistic
    return found if found[1] else None


def log_rank_words(found: tuple[float, int, float] | None) -> str:
    """The test in a line; empty without one."""
    if found is None:
        return ""
    chi2, df, p = found
    return f"log-rank chi2({df}) = {chi2:.4g}, " + (f"p = {p:.2g}" if p >= 1e-4 else "p < 0.0001")


def summarise_groups(seen: Seen, groups: Sequence[CurveGroup]) -> pd.DataFrame:
    """Rows, events and median with its 95% limits of each group, limits where the band's ends fall to one half."""
    table = {}
    for group in groups:
        part = seen.take(group.rows)
        steps = estimate(part)
        curves = (steps.survival, *(np.where(steps.survival > 0.0, end, np.nan) for end in steps.band or ()))
        medians = [first_below(steps.times, curve, 0.5) for curve in curves] + [np.nan, np.nan]
        table[group.name] = [part.weight.sum(), part.events, *medians[:3]]
    return pd.DataFrame.from_dict(table, orient="index", columns=["n", "events", "median", "lower", "upper"])


def groups_size(groups: Sequence[CurveGroup], *, at_risk: bool) -> tuple[float, float]:
    """Size of a figure, with space for a legend next to many curves and for numbers below."""
    return 6.4 + 1.6 * (len(groups) > FEW), 4.2 + 0.2 * (len(groups) + 1) * at_risk


def draw_groups(
    ax: Any, seen: Seen, groups: Sequence[CurveGroup], *, until: float, names: tuple[str, str], by: str, at_risk: bool
) -> Any:
    """Draw the steps of groups, of a few with their bands, and numbers at risk below the axis if requested."""
    many, shown = len(groups) > FEW, shorten_all([group.name for group in groups])
    for group, name, colour in zip(groups, shown, LEVELS, strict=False):
        part = seen.take(group.rows)
        steps, first = estimate(part), float(part.entry.min())
        start = first if np.isfinite(first) else min(0.0, float(steps.times.min(initial=0.0)))
        times, survival = [start, *steps.times], [1.0, *steps.survival]
        if steps.band is not None and not many:
            low, high = ([1.0, *end] for end in steps.band)
            ax.fill_between(times, low, high, step="post", color=colour, alpha=_BAND, linewidth=0)
        label = f"{name} ({part.events:.10g}/{part.weight.sum():.10g})"
        ax.step(times, survival, where="post", color=colour, linewidth=1.0, label=as_label(label))
    ax.plot([], [], color=INK, linewidth=1.0, label="Kaplan-Meier" if seen.right else "Turnbull")
    ax.set_ylim(0.0, 1.03)
    ax.set_xlim(right=until)
    if at_risk:
        _write_at_risk(ax, seen, groups)
    return finish(ax, *names, legend="outside" if many else "best", title=f"{by} (events/rows)".strip())


def _write_at_risk(ax: Any, seen: Seen, groups: Sequence[CurveGroup]) -> None:
    """A line of numbers for each group below the axis, at its ticks."""
    from matplotlib.ticker import MaxNLocator

    low, high = ax.get_xlim()
    start = max(low, min(0.0, float(seen.lower.min()))) if not seen.late else low
    ticks = MaxNLocator(_TICKS).tick_values(start, high)
    ticks = ticks[(ticks >= start) & (ticks <= high)]
    ax.set_xticks(ticks)
    across, size = ax.get_xaxis_transform(), 8.0
    look = {"xycoords": across, "textcoords": "offset points", "fontsize": size, "va": "top", "annotation_clip": False}

    def height(line: float) -> float:
        return -size * (_LABEL + 1.2 + _ROW * line)

    ax.annotate("at risk", (low, 0.0), (-8, height(0)), ha="right", **look)
    shown = shorten_all([group.name for group in groups])
    for k, (group, name, colour) in enumerate(zip(groups, shown, LEVELS, strict=False), 1):
        ax.annotate(as_label(name), (low, 0.0), (-8, height(k)), ha="right", color=colour, **look)
        for tick, count in zip(ticks, count_at_risk(seen.take(group.rows), ticks), strict=True):
            ax.annotate(f"{count:.10g}", (tick, 0.0), (0, height(k)), ha="center", **look)
