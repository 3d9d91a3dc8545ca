"""Summary and figure of proportional hazards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from tobitgp.data.training_summary import NO_ROWS
from tobitgp.errors import SpecError
from tobitgp.formula.linear_terms import mentions
from tobitgp.numerics.sampling import draw_quantiles
from tobitgp.report.axes import (
    BLUE,
    GREY,
    LEVELS,
    MANY,
    as_label,
    closing_what_fails,
    draw_curve,
    draw_surface,
    finish,
    panel_axes,
    shorten_all,
)
from tobitgp.report.process_words import (
    POSTERIOR,
    computation_details,
    mode_note,
    slope_rows,
    term_tables,
    term_tests_of,
    tests_note,
)
from tobitgp.report.term_figures import grid_frame, held_words, is_date, label_axis, place, runs, surface_frame
from tobitgp.results.fit import Fit
from tobitgp.results.hazards.cell_times import beyond_words
from tobitgp.results.hazards.hazard_parts import DRAWS, HazardParts, drawn_hazards
from tobitgp.results.hazards.proportionality import skewed_note
from tobitgp.results.parameter_tables import parameter_frame
from tobitgp.results.summary_notes import row_notes
from tobitgp.results.words import ROBUST, SummaryTable, Words, not_converged, noted, rows_of, untested
from tobitgp.typing import Array

if TYPE_CHECKING:
    from tobitgp.kinds.parametric import ParametricParts


def hazard_words(results: Fit, alpha: float) -> Words:
    """Contents of the summary of proportional hazards: coefficients, hazard ratios, the other parameters."""
    parts, rows = results.parts, rows_of(parameter_frame(results, alpha))
    p, cells = parts.n_linear, parts.cells
    of_band = [parts.family.baseline == "piecewise" and "cell_band" in name for name, _ in rows[:p]]
    shown = [row for row, hidden in zip(rows[:p], of_band, strict=True) if not hidden]
    slopes = [] if parts.estimated else slope_rows(cells, alpha, -1.0)  # their location is minus the log hazard
    tests = {} if parts.estimated else term_tests_of(results)
    tables = [
        SummaryTable("Coefficients", [*((name, row[:6]) for name, row in shown), *slopes]),
        SummaryTable(
            "Hazard ratios", [(name, row[6:]) for name, row in shown if parts.written.is_own(name)], "exp(coef)"
        ),
        *([] if parts.estimated else term_tables(tests, cells)),
        SummaryTable("Hyper-parameters", untested(rows[p:]), "mode"),
    ]
    baseline = {"gp": f"gp ({parts.family.kernel})"}.get(parts.family.baseline, "piecewise")
    facts = [("Baseline:", f"{baseline}, {len(parts.cuts) - 1} bands")]
    notes = ["Coefficients are logarithms of hazard ratios."]
    if not parts.estimated:
        notes += [POSTERIOR, *skewed_note(parts.few)]
    if parts.written.varying:
        listed = ", ".join(parts.written.varying)
        notes.append(f"Coefficients of {listed} are at the prior mean of tv(), which lets them change over time.")
    if parts.written.stratum is not None and not any(of_band):
        notes.append(
            f"Coefficients of {parts.written.stratum} are levels of its baselines, whose ratio changes over time."
        )
    beyond = []
    if parts.cuts[0] > 0.0:
        of = "" if parts.written.stratum is None else ", or of the stratum"
        beyond.append(f"Survival is conditional on survival until the first entry, {parts.cuts[0]:.6g}{of}.")
    if parts.family.baseline == "gp":
        beyond.append(f"After the last exit, {parts.cuts[-1]:.6g}, {beyond_words(parts)}.")
    hidden = ["Log hazards of the bands are in summary_frame()."] * any(of_band)
    hidden += [] if parts.estimated else [*tests_note(tests), *mode_note(cells.fitted, ())]
    source = ROBUST.get(str(getattr(results, "cov_type", "")), "from the observed information")
    found = [
        *noted("warning", [not_converged(results._search_message)] * (not results.converged)),
        *row_notes(results),
        *noted("coefficients", notes),
        *noted("parameters", hidden),
        *noted("errors", [f"Standard errors are {source}."] * parts.estimated),
    ]
    return Words(
        "Proportional hazards",
        facts,
        tables,
        [*found, *noted("predictions", beyond)],
        details=[] if parts.estimated else computation_details(results, cells),
        effective=not parts.estimated,
        family="ph",
    )


@closing_what_fails
def plot_hazards(results: Fit, level: float | None) -> Any:
    """Draw the baseline hazard, coefficients over time, and processes."""
    parts, time = results.parts, results.model.spec.response.value.text
    if parts.covariates is None:
        raise SpecError(f"{NO_ROWS}, so there is nothing to draw; use predict_hazard() with new data.")
    typical = grid_frame(parts.covariates, None, factors=_factors(parts), size=1)
    typical = typical if len(typical) else pd.DataFrame(index=[0])
    varying, processes = parts.written.varying, _processes(parts)
    panels = panel_axes(1 + len(varying) + len(processes), 3.3, above=0.4)
    _draw_baseline(panels[0], parts, typical, level)
    finish(panels[0], time, "hazard", legend="best" if parts.written.stratum else "")
    for ax, z in zip(panels[1:], varying, strict=False):
        rows = pd.concat([typical.assign(**{z: x}) for x in (0.0, 1.0)])
        low, high = drawn_hazards(parts, rows, parts.cuts, draws=DRAWS).of_bands()
        _draw_steps(ax, parts.cuts, np.log(high / low), level)
        ax.axhline(0.0, color=GREY, linewidth=0.8)
        finish(ax, time, "log hazard ratio", legend="")
    for ax, process in zip(panels[1 + len(varying) :], processes, strict=True):
        if len(process.columns) == 2:
            _draw_surface(ax, results, process)
        else:
            _draw_process(ax, parts, process, level)
    titles = ["baseline hazard", *(f"coefficient of {z}" for z in varying), *(each.title for each in processes)]
    for ax, title in zip(panels, titles, strict=True):
        ax.set_title(as_label(title), loc="left", fontsize="small")
    return panels[0] if len(panels) == 1 else panels


def _factors(parts: HazardParts) -> frozenset[str]:
    coded = {coding.text.strip("`") for coding in parts.spec.codings}
    return frozenset(coded | set(parts.spec.names("by", "re")) | {str(parts.written.stratum)})


class _Process(NamedTuple):
    """Curve or surface of a process, along one column or over two."""

    name: str
    columns: tuple[str, ...]
    middle: tuple[Any, ...]  # their medians, with which all is compared
    group: str | None  # column whose every level has a curve

    @property
    def title(self) -> str:
        """The process, and what it is compared with."""
        held = pd.DataFrame([self.middle], columns=list(self.columns))
        return f"{self.name}, against {held_words(held).removeprefix('at ')}"


def _processes(parts: HazardParts) -> list[_Process]:
    """Processes of numbers or dates: over both columns where there are two, along each where there are more."""
    assert parts.covariates is not None
    data, out = parts.covariates, []
    for term in parts.spec.gps:
        texts = [item.text for item in term.inputs]
        used = [name for name in parts.spec.names("gp") if any(mentions(text, name) for text in texts)]
        along = [name for name in used if name in data and runs(data[name])]
        group = None if term.by is None else term.by.text.strip("`")
        if group is not None and group not in data:
            continue
        both = len(used) == len(along) == 2 and group is None
        for columns in [tuple(along)] if both else [(name,) for name in along]:
            out.append(_Process(term.name, columns, tuple(_median(data[name]) for name in columns), group))
    return out


def _median(values: pd.Series[Any]) -> Any:
    return values.sort_values().iloc[(len(values) - 1) // 2] if is_date(values) else float(np.median(values))


def _table(values: Array, level: float | None) -> pd.DataFrame:
    """Medians of draws (m, S) and the ends of their band."""
    table = pd.DataFrame({"estimate": np.median(values, axis=1)})
    if level is None:
        return table
    ends = draw_quantiles(values, [0.5 - 0.5 * level, 0.5 + 0.5 * level])
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
        rate = drawn_hazards(parts, row, parts.cuts, draws=DRAWS).of_bands()[0]
        _draw_steps(ax, parts.cuts, rate, level, colour, None if column is None else f"{column} = {stratum}")
    ax.set_ylim(0.0, None)


def _draw_process(ax: Any, parts: HazardParts, process: _Process, level: float | None) -> None:
    """Draw the log hazard ratio along an input, against its median, of each level of a group."""
    assert parts.covariates is not None
    (x,), (middle,), group = process.columns, process.middle, process.group
    grid = grid_frame(parts.covariates, x, factors=_factors(parts))
    at = place(grid[x])
    levels = [None] if group is None else sorted(parts.covariates[group].unique(), key=str)[: len(LEVELS)]
    names = shorten_all([str(own) for own in levels])
    for own, name, colour in zip(levels, names, LEVELS, strict=False):
        rows = grid if group is None else grid.assign(**{group: own})
        label = None if group is None else as_label(f"{group} = {name}")
        draw_curve(ax, at, _table(_against(parts, rows, {x: middle}), level), colour, label=label)
    ax.axhline(0.0, color=GREY, linewidth=0.8)
    seen = np.unique(place(parts.covariates[x]))[:MANY]
    look = {"color": GREY, "linestyle": "none", "markersize": 6, "clip_on": False}
    ax.plot(seen, np.zeros(len(seen)), "|", transform=ax.get_xaxis_transform(), **look)
    finish(ax, x, "log hazard ratio", legend="" if group is None else "best")
    label_axis(ax, x, at)


def _draw_surface(ax: Any, results: Fit, process: _Process) -> None:
    """Draw the median log hazard ratio over two inputs, against their medians."""
    parts, columns = results.parts, process.columns
    assert parts.covariates is not None
    rows, (x, y) = surface_frame(results, parts.covariates, columns)
    height = np.median(_against(parts, rows, dict(zip(columns, process.middle, strict=True))), axis=1)
    seen = tuple(place(parts.covariates[name]) for name in columns)
    draw_surface(ax, (place(x), place(y)), height.reshape(len(y), len(x)), seen, "log hazard ratio")
    label_axis(ax, columns[0], place(x))
    label_axis(ax, columns[1], place(y), side="y")


def _against(parts: HazardParts, rows: pd.DataFrame, middle: dict[str, Any]) -> Array:
    """Draws (m, S) of the log hazard of rows, less that of the first of them with some columns moved to a middle."""
    both = pd.concat([rows, rows.iloc[[0]].assign(**middle)])
    found = np.log(drawn_hazards(parts, both, parts.cuts[[0, -1]], draws=DRAWS).level)
    return np.asarray(found[:-1] - found[-1])


def typical_rows(parts: ParametricParts) -> pd.DataFrame:
    """A row with typical covariates, one for each stratum."""
    if parts.covariates is None:
        raise SpecError(f"{NO_ROWS}, so there is nothing to draw; use plot_hazard(df=...) with times=.")
    coded = frozenset(coding.text.strip("`") for coding in parts.spec.codings)
    typical = grid_frame(parts.covariates, None, factors=coded, size=1)
    if parts.written.stratum is None:
        return typical if len(typical) else pd.DataFrame(index=[0])
    column = parts.written.stratum.strip("`")
    strata = sorted(parts.covariates[column].unique(), key=str)
    rows = [typical.assign(**{column: stratum}) for stratum in strata]
    return pd.concat(rows).set_axis([f"{column} = {stratum}" for stratum in strata])
