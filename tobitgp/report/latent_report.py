"""Summary and map of a fit over latent coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tobitgp.errors import SpecError
from tobitgp.report.axes import BLUE, INK, LEVELS, SQUARE, as_label, closing_what_fails, given_or_new
from tobitgp.results.latent.latent_questions import latent
from tobitgp.results.words import SummaryTable, Words, not_converged, noted

_RUNS = 8  # more numbers than these are a scale of colours


def latent_words(results: Any) -> Words:
    """What a summary says: parameters of the responses, and the relevance of dimensions."""
    parts, params = results.parts, results.params
    facts = [
        ("Responses:", str(len(results.responses))),
        ("Dimensions:", str(parts.dimensions)),
        ("Family:", "gaussian"),
        ("Method:", results.method),
        ("Inducing inputs:", str(parts.inducing)),
    ]
    names = ("Intercept", "sd", "sigma")
    rows = [(y, [params[f"{name}[{y}]"] for name in names]) for y in results.responses]
    relevance = results.relevance()
    dimensions = [(f"dimension {q}", list(row)) for q, row in zip(relevance.index, relevance.to_numpy(), strict=True)]
    local = (
        "The bound replaces likelihoods of censored values by parabolas below them. Predictions do not use parabolas."
    )
    notes = [
        *noted("warning", [not_converged(results._search_message)] * (not results.converged)),
        *noted("parameters", ["Parameters maximise the bound. They have no standard errors."]),
        *noted("errors", [local] * (results.evidence_kind == "local")),
    ]
    return Words(
        "Responses over latent coordinates",
        facts,
        {f"Log evidence ({results.evidence_kind}):": results.elbo},
        [
            SummaryTable("Intercept", rows, columns=["sd", "sigma"]),
            SummaryTable("lengthscale", dimensions, columns=["relevance", "information"]),
        ],
        notes,
    )


@closing_what_fails
def draw_latent(results: Any, dimensions: Any, by: Any, ax: Any) -> Any:
    """Draw rows at two coordinates with bars of a standard deviation."""
    Q, table = results.parts.dimensions, latent(results)
    if Q == 1 and tuple(dimensions) == (1, 2):
        dimensions = (1, 1)
    pair = tuple(dimensions) if isinstance(dimensions, (tuple, list)) else ()
    if len(pair) != 2 or any(type(q) is not int or not 1 <= q <= Q for q in pair):
        raise SpecError(f"dimensions={dimensions!r}: two numbers from 1 to {Q} are needed.")
    if by is not None and (isinstance(by, str) or np.shape(by) != (len(table),)):
        raise SpecError(f"by=: a label or number for each of {len(table)} rows is needed.")
    kept = table.notna().all(axis=1).to_numpy()
    x, y = (table.loc[kept, (q, "estimate")].to_numpy() for q in pair)
    errors = [table.loc[kept, (q, "se")] for q in pair]
    axes = given_or_new(ax, SQUARE)
    axes.errorbar(x, y, xerr=errors[0], yerr=errors[1], fmt="none", ecolor=INK, alpha=0.15, linewidth=0.7, zorder=1)
    _points(axes, x, y, None if by is None else pd.Series(np.asarray(by)[kept]))
    axes.set_xlabel(f"latent coordinate {pair[0]}")
    axes.set_ylabel(f"latent coordinate {pair[1]}")
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def _points(axes: Any, x: Any, y: Any, by: pd.Series[Any] | None) -> None:
    """Points in one colour, in those of labels, or on a scale of numbers."""
    options = {"s": 16, "edgecolors": "white", "linewidths": 0.4, "zorder": 2}
    if by is None:
        axes.scatter(x, y, color=BLUE, **options)
    elif pd.api.types.is_numeric_dtype(by) and by.nunique() > _RUNS:
        shown = axes.scatter(x, y, c=by, cmap="viridis", **options)
        axes.figure.colorbar(shown, ax=axes)
    else:
        for k, level in enumerate(sorted(by.dropna().unique(), key=str)):
            own = (by == level).to_numpy()
            axes.scatter(x[own], y[own], color=LEVELS[k % len(LEVELS)], label=as_label(level), **options)
        axes.legend(fontsize="small", framealpha=0.9, edgecolor="none")
