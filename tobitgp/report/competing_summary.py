"""Summary and figure of competing risks."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pandas as pd

from tobitgp.data.training_summary import NO_ROWS
from tobitgp.errors import SpecError
from tobitgp.numerics.nonparametric import aalen_johansen
from tobitgp.report.axes import (
    INK,
    LEVELS,
    as_label,
    closing_what_fails,
    draw_curve,
    finish,
    given_or_new,
    panel_axes,
    response_name,
    shorten_all,
)
from tobitgp.report.group_curves import CurveGroup, Seen, read_groups
from tobitgp.results.competing.competing_parts import SeenCauses
from tobitgp.results.competing.first_times import FirstTimes
from tobitgp.results.curves import rows_of as rows_at_times
from tobitgp.results.fit import Fit
from tobitgp.results.predict import check_level
from tobitgp.results.survival import read_times
from tobitgp.results.survival_figures import group_labels
from tobitgp.results.words import METHODS, SummaryTable, Words, not_converged, noted
from tobitgp.typing import Array

_OF_ESTIMATES = ("scale", "coefficients", "parameters", "errors")  # subjects of notes that causes share
_POINTS = 101
_NET = (
    "The coefficients and the survival of a cause are those of its hazard alone; the other causes are treated "
    "as censoring (net survival)."
)
_INCIDENCE = "predict_cumulative_incidence() gives the probability of each cause while the other causes act."


def cause_words(results: Fit, alpha: float) -> Words:
    """Contents of the summary of competing risks: a table for each cause."""
    counts, words = results.counts, {cause: fit._words(alpha) for cause, fit in results.parts.fits.items()}
    causes = [
        (str(cause), [str(counts[cause]), fit._family_in_words, METHODS.get(fit.method, fit.method)])
        for cause, fit in results.parts.fits.items()
    ]
    tables = [SummaryTable("Causes", causes, "events", columns=["family", "method"])]
    for cause, own in words.items():
        tables += [table._replace(heading=f"{cause}: {table.heading}") for table in own.tables if table.rows]
    shared = dict.fromkeys(note for own in words.values() for note in own.notes if note[0] in _OF_ESTIMATES)
    notes = [
        *noted("warning", [not_converged(results._search_message)] * (not results.converged)),
        *shared,
        *noted("coefficients", [_NET]),
        *noted("predictions", [_INCIDENCE]),
    ]
    title, of_rows = f"Competing risks: {results.parts.read_in_words}", results.parts.facts.counts
    effective = any(own.effective for own in words.values())
    return Words(title, [], tables, notes, counts=of_rows, effective=effective)


@closing_what_fails
def plot_incidence(results: Fit, ax: Any, *, df: Any, times: Any, interval: Any, by: Any) -> Any:
    """Draw the incidence of every cause: of rows, of all training rows, or of groups of them."""
    seen, level = results.parts.seen, check_level(interval)
    if seen is None and (df is None or times is None):
        raise SpecError(f"{NO_ROWS}: give df=... and times=...")
    if df is not None and by is not None:
        raise SpecError("by= draws groups of training rows and cannot be combined with df=. Leave one of them out.")
    grid = (
        np.linspace(0.0, float(seen.time.max()), _POINTS) if times is None and seen is not None else read_times(times)
    )
    together = df is None and by is None
    panels = _panels(ax, 1 if together else len(results._causes))
    title = ""
    if df is not None:
        title = _draw_rows(panels, results, df, grid, level)
    else:
        assert seen is not None
        labels = None if by is None else group_labels(results, by)
        title = "" if labels is None else str(labels.name)
        groups = read_groups(Seen(seen.time, seen.time, seen.weight, seen.entry), labels)
        _draw_groups(panels, results, seen, groups, grid)
    for k, panel in enumerate(panels):
        panel.set_ylim(0.0, None)
        finish(
            panel,
            response_name(results.model),
            "" if k else "cumulative incidence",
            legend="best" if by is None else "below",
            title=title,
        )
        if not together:
            panel.set_title(as_label(results._causes[k]), loc="left", fontsize="small")
    return panels[0] if len(panels) == 1 else panels


def _panels(ax: Any, n: int) -> Any:
    """Axes of n panels."""
    if ax is None and n > 1:
        return panel_axes(n, 4.2, sharey=True)
    if n > 1:
        raise SpecError(f"ax= requires one panel, and there are {n} causes. Leave it out.")
    return [given_or_new(ax)]


def _draw_rows(panels: Any, results: Fit, df: Any, grid: Array, level: float | None) -> str:
    """Draw a curve for each row, with its band."""
    rows = rows_at_times(results, df)
    if len(rows.index) > len(LEVELS):
        raise SpecError(
            f"df= has {len(rows.index)} rows, but at most {len(LEVELS)} curves can be distinguished. Give fewer rows."
        )
    found = cast(FirstTimes, rows.times).incidence(grid, None, level)
    for k, ax in enumerate(panels):
        for i, (label, colour) in enumerate(zip(rows.labels, LEVELS, strict=False)):
            table = pd.DataFrame({name: of[k, i] for name, of in found.items()})
            shown, band = ("mean", None) if level is None else ("median", f"{100 * level:g}% band")
            draw_curve(ax, grid, table, colour, of=shown, label=as_label(label), band=None if i else band)
    return ""


def _draw_groups(panels: Any, results: Fit, seen: SeenCauses, groups: list[CurveGroup], grid: Array) -> None:
    """Draw the average incidence in groups over Aalen and Johansen's estimates; one group for each cause in a panel."""
    start = max(0.0, float(seen.entry.min()))
    after = np.full(len(seen.kept), start) if start else None
    x = grid[grid >= start] if start else grid
    found = cast(FirstTimes, rows_at_times(results, None).times).incidence(x - start, after, None)["mean"]
    together, names = len(panels) == 1, shorten_all([group.name for group in groups])
    for k, cause in enumerate(results._causes):
        ax = panels[0 if together else k]
        for i, group in enumerate(groups):
            colour = LEVELS[(k if together else i) % len(LEVELS)]
            at, weight = group.rows, seen.weight[group.rows]
            case = seen.code[at] == k + 1
            times, steps = aalen_johansen(seen.time[at], seen.code[at] > 0, case, weight, seen.entry[at])
            name = cause if together else names[i]
            label = as_label(f"{name} ({weight @ case:.10g}/{weight.sum():.10g})")
            ax.step([start, *times], [0.0, *steps], where="post", color=colour, linewidth=1.0, label=label)
            average = pd.DataFrame({"estimate": weight @ found[k, at] / weight.sum()})
            draw_curve(ax, x, average, colour)
    for ax in panels:
        ax.plot([], [], color=INK, linewidth=1.8, label="average of the fit")
        ax.plot([], [], color=INK, linewidth=1.0, label="Aalen-Johansen")
