"""The summary and the figure of a mixture of vectors; matplotlib is loaded when one is drawn."""

from __future__ import annotations

from typing import Any

import numpy as np

from tobitgp.errors import SpecError
from tobitgp.report.axes import LEVELS, SQUARE, as_label, closing_what_fails, finish, given_or_new
from tobitgp.report.mixture_summary import component_number, component_tables
from tobitgp.results.fit import Fit
from tobitgp.results.multivariate.of_responses import find_response
from tobitgp.results.parameter_tables import parameter_frame
from tobitgp.results.summary_notes import model_title
from tobitgp.results.vectors.vector_questions import components, impute
from tobitgp.results.words import SummaryTable, Words, not_converged, noted, rows_of

_SHARES = (0.5, 0.95)
_ERRORS = (
    "Standard errors are from the observed information; intervals of weights, sd and cor are formed on the logit, log "
    "and Fisher z scales."
)


def vector_words(results: Any, alpha: float) -> Words:
    """Contents of the summary of a mixture of vectors."""
    fit = results.parts.fit
    rows = rows_of(parameter_frame(results, alpha))
    unknown = dict.fromkeys((name for name, _ in rows), "(not determined)")
    exact = fit.exact_counts.T
    counts = [
        (f"component {i + 1}", (f"{fit.counts[i]:.1f}", *(f"{each:.1f}" for each in exact[i]))) for i in range(fit.k)
    ]
    floor = f"Eigenvalues of covariances are held above {fit.floor:g} of those of all rows; see tg.EMCM(floor=)."
    notes = [
        *noted("warning", [not_converged(results._search_message)] * (not results.converged)),
        *noted("warning", fit.notes),
        *noted("parameters", [floor] * (fit.k > 1)),
        *noted("errors", [_ERRORS]),
    ]
    return Words(
        model_title(results, "mixture", positive=False),
        [("Responses:", str(len(results.responses))), ("Components:", component_number(results))],
        [
            *component_tables(rows, unknown),
            SummaryTable("Expected rows", counts, "all", columns=[f"uncensored {name}" for name in results.responses]),
        ],
        notes,
        details=[("Starts:", str(results.parts.method.n_init)), ("Passes:", str(len(fit.trace) - 1))],
        counted="values",
    )


@closing_what_fails
def plot_vectors(results: Fit, pair: Any, ax: Any) -> Any:
    """Draw rows at two responses in the colour of their likeliest component, with ellipses of the components."""
    labels, given = results.parts.labels, results.parts.labels[:2] if pair is None else pair
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise SpecError(f"pair={pair!r}: pair must be the names of two responses, e.g. ({labels[0]!r}, {labels[1]!r}).")
    i, j = (find_response(name, labels) for name in given)
    y, r = impute(results, None, None).to_numpy(), np.asarray(components(results, None))
    rows, kept = results.parts.vectors
    y, likeliest = y[kept], r[kept].argmax(axis=1)
    exact = rows.exact[:, i] & rows.exact[:, j]
    axes, fit = given_or_new(ax, SQUARE), results.parts.fit
    angle = np.linspace(0.0, 2.0 * np.pi, 200)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    for k in range(fit.k):
        colour, own = LEVELS[k % len(LEVELS)], likeliest == k
        for seen, look in ((exact, {"color": colour}), (~exact, {"facecolors": "none", "edgecolors": colour})):
            axes.scatter(y[own & seen, i], y[own & seen, j], s=16, linewidths=0.7, alpha=0.8, **look)
        root = np.linalg.cholesky(fit.covariances[k][np.ix_([i, j], [i, j])])
        for share in _SHARES:
            way = np.sqrt(-2.0 * np.log(1.0 - share)) * root @ circle
            label = f"component {k + 1} ({100 * fit.weights[k]:.0f}%)" if share == _SHARES[0] else None
            axes.plot(*(fit.means[k, [i, j], None] + way), color=colour, linewidth=1.4, label=label)
    return finish(axes, as_label(labels[i]), as_label(labels[j]))
