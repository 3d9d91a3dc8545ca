"""Summary and figure of proportional hazards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tobitgp.data.training_summary import NO_ROWS
from tobitgp.errors import SpecError
from tobitgp.report import summary
from tobitgp.report.axes import BLUE, GREY, LEVELS, as_label, closing_what_fails, draw_curve, finish, panel_axes
from tobitgp.report.summaries import curve_names, slope_rows
from tobitgp.report.summary import FitSummary, Section, number
from tobitgp.report.terms import grid_frame, place, runs
from tobitgp.results.hazards.parts import DRAWS, HazardParts, log_hazards
from tobitgp.results.hazards.skewed import skewed_note
from tobitgp.results.hazards.times import beyond_words
from tobitgp.results.views import Parts
from tobitgp.typing import Array

if TYPE_CHECKING:
    from tobitgp.results.hazards.results import HazardResults


def summarise_hazards(results: HazardResults, alpha: float) -> FitSummary:
    """Summary of a fit of proportional hazards: coefficients, hazard ratios, the other parameters."""
    parts, frame = results.parts, results.summary_frame(alpha)
    p, ends = parts.n_linear, summary.interval_headers(alpha)
    of_band = [parts.family.baseline == "piecewise" and "cell_band" in str(name) for name in frame.index[:p]]
    shown = frame.iloc[:p][~np.array(of_band, dtype=bool)]
    rows = list(summary.frame_rows(shown.iloc[:, :6]))
    if isinstance(parts.cells, Parts):  # their location is minus the log hazard
        rows += slope_rows(parts.cells, alpha, -1.0)
    ratios = [
        [str(name), *map(number, row)] for name, row in zip(shown.index, shown.iloc[:, 6:].to_numpy(), strict=True)
    ]
    ratios = [row for row in ratios if parts.written.is_own(row[0])]
    called = curve_names(parts.cells) if isinstance(parts.cells, Parts) else {}
    rest = [(called.get(name, name), row) for name, row in summary.frame_rows(frame.iloc[p:, :6])]
    sections = [
        Section(["", "coef", "std err", "z", "P>|z|", *ends], [summary.estimate_row(*row) for row in rows]),
        Section(["", "hazard ratio", *ends], ratios),
        Section(["", "value", "std err", *ends], [summary.estimate_row(*row, tests=False) for row in rest]),
    ]
    model = [
        ("Dep. variable:", results.model.endog_names),
        ("Baseline hazard:", {"gp": f"process, {parts.family.kernel}"}.get(parts.family.baseline, "piecewise")),
        ("Bands of time:", str(len(parts.cuts) - 1)),
        ("Method:", results.method),
        ("Effective df:", f"{results.df_model:.2f}"),
    ]
    name = "Log likelihood:" if parts.estimated else f"Log evidence ({results.evidence_kind}):"
    value = results.llf if parts.estimated else results.log_evidence
    notes = [*summary.censoring_note(results), "Coefficients are logarithms of hazard ratios."]
    if not parts.estimated:
        notes.append(
            "coef, std err and ends are posterior mean, sd and quantiles, z is coef / std err, and P>|z| is twice the "
            "posterior probability of the less likely sign, here and in hazard_ratios(); a hazard ratio is exp(coef)."
        )
        notes += skewed_note(parts.few)
    if parts.written.varying:
        listed = ", ".join(parts.written.varying)
        notes.append(f"Those of {listed} are at the prior mean of tv(), which lets them change over time.")
    if parts.written.stratum is not None and not any(of_band):
        notes.append(f"Those of {parts.written.stratum} are levels of its baselines, whose ratio changes over time.")
    if parts.cuts[0] > 0.0:
        of = "" if parts.written.stratum is None else ", or that of the stratum"
        notes.append(f"Survival is given that of the first entry, {parts.cuts[0]:.6g}{of}.")
    if parts.family.baseline == "gp":
        notes.append(f"After the last exit, {parts.cuts[-1]:.6g}, {beyond_words(parts)}.")
    if any(of_band):
        notes.append("Log hazards of the bands are in summary_frame().")
    return summary.build_summary(results, "Proportional hazards", model, {name: value}, sections, notes)


@closing_what_fails
def plot_hazards(results: HazardResults, level: float | None) -> Any:
    """Draw the baseline hazard, coefficients over time, and processes."""
    parts, time = results.parts, results.model.spec.response.value.text
    if parts.covariates is None:
        raise SpecError(f"{NO_ROWS}, so there is nothing to draw; use predict_hazard() with new data.")
    typical = grid_frame(parts.covariates, None, factors=_factors(parts), size=1)
    typical = typical if len(typical) else pd.DataFrame(index=[0])
    varying, curves = parts.written.varying, _curves(parts)
    panels = panel_axes(1 + len(varying) + len(curves), 3.3, above=0.4)
    _draw_baseline(panels[0], parts, typical, level)
    finish(panels[0], time, "hazard", legend="best" if parts.written.stratum else "")
    for ax, z in zip(panels[1:], varying, strict=False):
        rows = pd.concat([typical.assign(**{z: x}) for x in (0.0, 1.0)])
        low, high = log_hazards(parts, rows, parts.cuts, draws=DRAWS).rows()
        _draw_steps(ax, parts.cuts, high - low, level)
        ax.axhline(0.0, color=GREY, linewidth=0.8)
        finish(ax, time, "log hazard ratio", legend="")
    for ax, (_, x, middle) in zip(panels[1 + len(varying) :], curves, strict=True):
        _draw_process(ax, parts, x, middle, level)
        finish(ax, x, "log hazard ratio", legend="")
    titles = ["baseline hazard", *(f"coefficient of {z}" for z in varying)]
    titles += [f"{name}, against {x} = {middle:.4g}" for name, x, middle in curves]
    for ax, title in zip(panels, titles, strict=True):
        ax.set_title(as_label(title), loc="left", fontsize="small")
    return panels[0] if len(panels) == 1 else panels


def _factors(parts: HazardParts) -> frozenset[str]:
    coded = {coding.text.strip("`") for coding in parts.spec.codings}
    return frozenset(coded | set(parts.spec.names("by", "re")) | {str(parts.written.stratum)})


def _curves(parts: HazardParts) -> list[tuple[str, str, float]]:
    """Processes of one input: name, input, and its median."""
    assert parts.covariates is not None
    found = [(term.name, term.inputs[0].label) for term in parts.spec.gps if len(term.inputs) == 1 and term.by is None]
    data = {x: parts.covariates[x] for _, x in found if x in parts.covariates and runs(parts.covariates[x])}
    return [(name, x, float(np.median(data[x]))) for name, x in found if x in data]


def _table(values: Array, level: float | None) -> pd.DataFrame:
    """Medians of draws (m, S) and the ends of their band."""
    table = pd.DataFrame({"estimate": np.median(values, axis=1)})
    if level is None:
        return table
    ends = np.quantile(values, [0.5 - 0.5 * level, 0.5 + 0.5 * level], axis=1)
    return table.assign(lower=ends[0], upper=ends[1])


def _draw_steps(
    ax: Any, cuts: Array, values: Array, level: float | None, colour: str = BLUE, label: str | None = None
) -> None:
    """Draw what is constant in bands of time, (K, S)."""
    table = _table(np.concatenate([values, values[-1:]]), level)
    draw_curve(ax, cuts, table, colour, steps=True, label=label)


def _draw_baseline(ax: Any, parts: HazardParts, typical: pd.DataFrame, level: float | None) -> None:
    """Draw the hazard of a typical row, of each stratum."""
    assert parts.covariates is not None
    column = None if parts.written.stratum is None else parts.written.stratum.strip("`")
    strata = [None] if column is None else sorted(parts.covariates[column].unique(), key=str)[: len(LEVELS)]
    for stratum, colour in zip(strata, LEVELS, strict=False):
        row = typical if column is None else typical.assign(**{column: stratum})
        rate = np.exp(log_hazards(parts, row, parts.cuts, draws=DRAWS).rows()[0])
        _draw_steps(ax, parts.cuts, rate, level, colour, None if column is None else f"{column} = {stratum}")
    ax.set_ylim(0.0, None)


def _draw_process(ax: Any, parts: HazardParts, x: str, middle: float, level: float | None) -> None:
    """Draw the log hazard ratio along an input, against its median."""
    assert parts.covariates is not None
    grid = grid_frame(parts.covariates, x, factors=_factors(parts))
    rows = pd.concat([grid, grid.iloc[[0]].assign(**{x: middle})])
    found = log_hazards(parts, rows, parts.cuts[[0, -1]], draws=DRAWS).level
    draw_curve(ax, place(grid[x]), _table(found[:-1] - found[-1], level))
    ax.axhline(0.0, color=GREY, linewidth=0.8)
    seen = place(parts.covariates[x])
    ax.plot(seen, np.full(len(seen), ax.get_ylim()[0]), "|", color=GREY, markersize=6)
