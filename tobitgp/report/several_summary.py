"""Summaries and figures of fits of several responses, also over latent coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.arrays import CensoredResponse
from tobitgp.data.training_summary import NO_ROWS
from tobitgp.errors import SpecError
from tobitgp.formula.functions import nearest
from tobitgp.report.axes import (
    BLUE,
    INK,
    LEVELS,
    SQUARE,
    as_label,
    closing_what_fails,
    draw_curve,
    draw_rows,
    given_or_new,
    log_scale,
    panel_axes,
)
from tobitgp.report.process_words import (
    POSTERIOR,
    computation_details,
    hyper_tables,
    mode_note,
    term_tables,
    term_tests_of,
    tests_note,
)
from tobitgp.report.term_figures import grid_frame, held_words, label_axis, place, runs, say_above
from tobitgp.report.uncertain_summary import BOUND, PARABOLAS
from tobitgp.results.fit import Fit
from tobitgp.results.latent.latent_questions import latent
from tobitgp.results.multivariate.stacked_rows import RESIDUAL
from tobitgp.results.multivariate.together_questions import FitTogether, predict
from tobitgp.results.parameter_tables import parameter_frame
from tobitgp.results.words import SummaryTable, Words, not_converged, noted, rows_of, untested


def several_words(results: Fit, alpha: float) -> Words:
    """Contents of the summary of several responses: all parameters, in the units of the responses."""
    rows, p = rows_of(parameter_frame(results, alpha), slice(6)), len(results._columns)
    which = "sigma[...] and rescor[...] refer" if results.parts.stack.wide.rescor else "sigma[...] refers"
    parameters = [f"{which} to the residuals if all responses were observed."]
    if results.parts.estimates.correlated and results.parts.stack.wide.sigma is not None:
        parameters.append("log(sigma)[...] describe the noise that the responses of a row do not share.")
    scale = ["Coefficients, sd(), sigma and correlations are on the log scale of the responses."]
    terms = results.parts.stacked.gp.terms
    names = {term.name: "" if term.name == RESIDUAL else results.parts.estimates.name(term.name) for term in terms}
    tests = {name: test for name, test in term_tests_of(results).items() if np.isfinite(test.edf)}
    parameters = [*tests_note(tests), *mode_note(results.parts.stacked.fitted, [name for name, _ in rows]), *parameters]
    notes = [
        *noted("warning", [not_converged(results._search_message)] * (not results.converged)),
        *noted("scale", scale * results.parts.stack.log_time),
        *noted("coefficients", [POSTERIOR, *results.parts.estimates.intercept_note()]),
        *noted("parameters", parameters),
    ]
    sigma = results.parts.stack.wide.sigma
    stacked = results.parts.stacked
    return Words(
        "Regression of several responses",
        [("Responses:", str(len(results.parts.labels)))],
        [
            SummaryTable("Coefficients", rows[:p]),
            *term_tables(tests, stacked, names),
            *hyper_tables(untested(rows[p:]), "mode", {}, ("", {})),
        ],
        notes,
        {} if sigma is None else {"log(sigma):": sigma},
        computation_details(results, stacked),
        effective=True,
        counted="values",
    )


def panels_of(responses: Sequence[str], ax: Any) -> list[Any]:
    """Axes with the name of each response, those that are given or new ones."""
    panels = list(panel_axes(len(responses), 3.6, above=0.6) if ax is None else np.atleast_1d(ax))
    if len(panels) != len(responses):
        raise SpecError(
            f"ax= must have axes for each of the {len(responses)} responses, or give one response by response=."
        )
    for panel, name in zip(panels, responses, strict=True):
        panel.set_title(as_label(name))
    return panels


@closing_what_fails
def plot_several(results: FitTogether, x: str | None, *, interval: float | None) -> Any:
    """Draw the medians of all responses along one column, with what is known about them, a panel for each."""
    rows, spec = results.parts.read, results.parts.stacked.spec
    if rows is None:
        raise SpecError(f"{NO_ROWS}, so there is nothing to draw; use predict() with new data.")
    groups = [term.name for term in spec.gps if not term.factors and term.name != RESIDUAL]
    data = rows.data[[*dict.fromkeys((*results.parts.stack.inputs, *results.parts.stack.state.input_names))]]
    kept = np.flatnonzero(data.notna().all(axis=1))
    data = data.iloc[kept]
    factors = frozenset({coding.text.strip("`") for coding in results.parts.stack.state.spec.codings})
    factors |= set(spec.names("by", "re"))
    column = _along([str(name) for name in data if runs(data[name]) and name not in factors], x)
    grid = grid_frame(data, column, factors=factors)
    exclude = [results.parts.estimates.name(name) for name in groups]
    table = pd.DataFrame(predict(results, grid, interval=interval, exclude=exclude))
    at, panels = place(grid[column]), panel_axes(len(results.parts.labels), 3.3, above=0.6)
    for j, (ax, label) in enumerate(zip(panels, results.parts.labels, strict=True)):
        draw_rows(ax, *_seen(place(data[column]), rows.ends[0][kept, j], rows.ends[1][kept, j]))
        curve = pd.DataFrame(table[[label]].set_axis(["estimate"], axis=1) if interval is None else table[label])
        draw_curve(ax, at, curve, label="median", band=None if interval is None else f"{100 * interval:g}% band")
        if results.parts.stack.log_time:
            log_scale(ax)
        label_axis(ax, column, at)
        ax.set_ylabel(as_label(label))
        ax.spines[["top", "right"]].set_visible(False)
        rest = f"{', '.join(exclude)} left out" if exclude else ""
        say_above(ax, held_words(grid.drop(columns=[column, *spec.names("re")], errors="ignore")), rest)
        ax.legend(fontsize="small", framealpha=0.9, edgecolor="none")
    return panels


def _along(columns: list[str], x: str | None) -> str:
    if not columns:
        raise SpecError("This model has no column of numbers or dates to draw its responses along.")
    if x is not None and x not in columns:
        words = f"x={x!r} is not a column of numbers or dates of this model{nearest(str(x), columns)}"
        raise SpecError(f"{words}; it has {', '.join(map(repr, columns))}.")
    return x or columns[0]


def _seen(x: Any, lower: Any, upper: Any) -> tuple[Any, CensoredResponse]:
    """Places and ends of the rows of which something is known."""
    there = ~np.isnan(lower)
    none = np.full(int(there.sum()), np.inf)
    return x[there], CensoredResponse(lower[there], upper[there], -none, none, -none, none, np.ones_like(none))


RELEVANCE = (
    "relevance: lengthscale^-2 as a share of the largest, near 0 if unused. information: divergence of the "
    "coordinates from their prior, in nats."
)
_RUNS = 8  # more numbers than these are a scale of colours


def latent_words(results: Any) -> Words:
    """What a summary says: parameters of the responses, and the relevance of dimensions."""
    parts, params = results.parts, results.params
    facts = [("Responses:", str(len(results.responses))), ("Latent dimensions:", str(parts.dimensions))]
    names = ("Intercept", "sd", "sigma")
    rows = [(y, [params[f"{name}[{y}]"] for name in names]) for y in results.responses]
    relevance = results.relevance()
    dimensions = [(f"dimension {q}", list(row)) for q, row in zip(relevance.index, relevance.to_numpy(), strict=True)]
    notes = [
        *noted("warning", [not_converged(results._search_message)] * (not results.converged)),
        *noted("parameters", [RELEVANCE, BOUND]),
        *noted("errors", [PARABOLAS] * (results.evidence_kind == "local")),
    ]
    return Words(
        "Responses over latent coordinates",
        facts,
        [
            SummaryTable("Responses", rows, "Intercept", columns=["sd", "sigma"]),
            SummaryTable("Latent dimensions", dimensions, "lengthscale", columns=["relevance", "information"]),
        ],
        notes,
        details=[("Log evidence by:", results.evidence_kind), ("Inducing inputs:", str(parts.inducing))],
        evidence=results.elbo,
        counted="values",
    )


@closing_what_fails
def draw_latent(results: Any, dimensions: Any, by: Any, ax: Any) -> Any:
    """Draw rows at two coordinates with bars of a standard deviation."""
    Q, table = results.parts.dimensions, latent(results)
    if Q == 1 and tuple(dimensions) == (1, 2):
        dimensions = (1, 1)
    pair = tuple(dimensions) if isinstance(dimensions, (tuple, list)) else ()
    if len(pair) != 2 or any(type(q) is not int or not 1 <= q <= Q for q in pair):
        raise SpecError(f"dimensions={dimensions!r}: dimensions must be two numbers from 1 to {Q}.")
    if by is not None and (isinstance(by, str) or np.shape(by) != (len(table),)):
        raise SpecError(f"by= must have a label or number for each of the {len(table)} rows.")
    kept = table.notna().all(axis=1).to_numpy()
    x, y = (table.loc[kept, (q, "estimate")].to_numpy() for q in pair)
    errors = [table.loc[kept, (q, "se")] for q in pair]
    axes = given_or_new(ax, SQUARE)
    axes.errorbar(x, y, xerr=errors[0], yerr=errors[1], fmt="none", ecolor=INK, alpha=0.15, linewidth=0.7, zorder=1)
    _points(axes, x, y, None if by is None else pd.Series(np.asarray(by)[kept], name=getattr(by, "name", None)))
    axes.set_xlabel(f"latent coordinate {pair[0]}")
    axes.set_ylabel(f"latent coordinate {pair[1]}")
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def _points(axes: Any, x: Any, y: Any, by: pd.Series[Any] | None) -> None:
    """Draw points in one colour, in those of labels, or on a scale of numbers, with the name of these."""
    options = {"s": 16, "edgecolors": "white", "linewidths": 0.4, "zorder": 2}
    name = "" if by is None or by.name is None else str(by.name)
    if by is None:
        axes.scatter(x, y, color=BLUE, **options)
    elif pd.api.types.is_numeric_dtype(by) and by.nunique() > _RUNS:
        shown = axes.scatter(x, y, c=by, cmap="viridis", **options)
        axes.figure.colorbar(shown, ax=axes, label=name)
    else:
        for k, level in enumerate(sorted(by.dropna().unique(), key=str)):
            own = (by == level).to_numpy()
            axes.scatter(x[own], y[own], color=LEVELS[k % len(LEVELS)], label=as_label(level), **options)
        axes.legend(title=name, fontsize="small", framealpha=0.9, edgecolor="none")
