"""Summary and figure of competing risks."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tobitgp.data.training_summary import NO_ROWS
from tobitgp.errors import SpecError
from tobitgp.numerics.nonparametric import aalen_johansen
from tobitgp.report import summary
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
from tobitgp.report.group_curves import Group, Seen, read_groups
from tobitgp.report.summaries import ratio_section
from tobitgp.report.summary import FitSummary, Section
from tobitgp.results.competing.competing_parts import SeenCauses
from tobitgp.results.competing.competing_predictions import CauseRows, incidences
from tobitgp.results.predict import check_level
from tobitgp.results.survival import read_times
from tobitgp.results.survival_figures import group_labels
from tobitgp.typing import Array

if TYPE_CHECKING:
    from tobitgp.results.competing.competing_results import CompetingRisksResults

_POINTS = 101
_NET = (
    "A cause's coefficients and survival are of its own hazard, the others being censoring (net survival); "
    "predict_cumulative_incidence() has probabilities beside the other causes."
)


def summarise_causes(results: CompetingRisksResults, alpha: float, *, ratios: bool = False) -> FitSummary:
    """Summary of competing risks, a table for each cause, and one of its hazard ratios."""
    counts, ends, sections = results.counts, summary.interval_headers(alpha), []
    model = [("Causes:", str(len(results.causes)))]
    fits: dict[Any, Any] = dict(results.parts.fits)
    for cause, fit in fits.items():
        frame = fit.summary_frame(alpha).iloc[:, :6]
        made = [summary.estimate_row(*row) for row in summary.frame_rows(frame)]
        sections.append(Section(["", "coef", "std err", "z", "P>|z|", *ends], [[f"{cause}:", *[""] * 6], *made]))
        if ratios:
            sections.append(ratio_section(fit.hazard_ratios(alpha), alpha))
        model.append((f"  {cause}:", f"{counts[cause]} events, {fit._family_in_words}, {fit.method}"))
    sums = {"Log likelihood:": results.llf, "Log evidence:": results.log_evidence}
    numbers: dict[str, float | str] = {name: value for name, value in sums.items() if np.isfinite(value)}
    events = int(counts.loc[list(results.causes)].sum())
    kinds = {"exact": events, "left": 0, "right": counts["censored"], "interval": 0, "dropped": counts["dropped"]}
    of: Any = SimpleNamespace(
        counts=kinds, converged=results.converged, nobs=results.nobs, formula="; ".join(results.parts.formulas)
    )
    return summary.build_summary(of, f"Competing risks: {results._read}", model, numbers, sections, [_NET])


@closing_what_fails
def plot_incidence(results: CompetingRisksResults, ax: Any, *, df: Any, times: Any, interval: Any, by: Any) -> Any:
    """Draw the incidence of every cause: of rows, of all training rows, or of groups of them."""
    seen, level = results.parts.seen, check_level(interval)
    if seen is None and (df is None or times is None):
        raise SpecError(f"{NO_ROWS}: give df=... and times=...")
    if df is not None and by is not None:
        raise SpecError("by= draws groups of training rows; it does not go with df=.")
    grid = (
        np.linspace(0.0, float(seen.time.max()), _POINTS) if times is None and seen is not None else read_times(times)
    )
    together = df is None and by is None
    panels = _panels(ax, 1 if together else len(results.causes))
    first = next(iter(results.parts.fits.values()))
    title = ""
    if df is not None:
        title = _draw_rows(panels, results, df, grid, level)
    else:
        assert seen is not None
        labels = None if by is None else group_labels(first, by)[seen.kept[first.parts.rows.kept]]
        title = "" if labels is None else str(labels.name)
        groups = read_groups(Seen(seen.time, seen.time, seen.weight, seen.entry), labels)
        _draw_groups(panels, results, seen, groups, grid)
    for k, panel in enumerate(panels):
        panel.set_ylim(0.0, None)
        finish(
            panel,
            response_name(first.model),
            "" if k else "cumulative incidence",
            legend="best" if by is None else "below",
            title=title,
        )
        if not together:
            panel.set_title(as_label(results.causes[k]), loc="left", fontsize="small")
    return panels[0] if len(panels) == 1 else panels


def _panels(ax: Any, n: int) -> Any:
    """Axes of n panels."""
    if ax is None and n > 1:
        return panel_axes(n, 4.2, sharey=True)
    if n > 1:
        raise SpecError(f"ax= takes one panel, and there are {n} causes; leave it out.")
    return [given_or_new(ax)]


def _draw_rows(panels: Any, results: CompetingRisksResults, df: Any, grid: Array, level: float | None) -> str:
    """Draw a curve for each row, with its band."""
    rows = CauseRows.of(results, df, None)
    if len(rows.index) > len(LEVELS):
        raise SpecError(
            f"df= has {len(rows.index)} rows, and {len(LEVELS)} curves are the most that can be told apart."
        )
    found = incidences(results, df, rows, grid, level)
    for k, ax in enumerate(panels):
        for i, (label, colour) in enumerate(zip(rows.labels, LEVELS, strict=False)):
            table = pd.DataFrame({name: of[k, i] for name, of in found.items()})
            shown, band = ("mean", None) if level is None else ("median", f"{100 * level:g}% band")
            draw_curve(ax, grid, table, colour, of=shown, label=as_label(label), band=None if i else band)
    return ""


def _draw_groups(
    panels: Any, results: CompetingRisksResults, seen: SeenCauses, groups: list[Group], grid: Array
) -> None:
    """Draw the average incidence in groups over Aalen and Johansen's estimates; one group for each cause in a panel."""
    start = max(0.0, float(seen.entry.min()))
    after = np.full(len(seen.kept), start) if start else None
    x = grid[grid >= start] if start else grid
    rows = CauseRows.of(results, None, after)
    found = incidences(results, None, rows, x - start, None)["mean"]
    together, names = len(panels) == 1, shorten_all([group.name for group in groups])
    for k, cause in enumerate(results.causes):
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
