"""Summaries of fits over an input that was measured with errors."""

from __future__ import annotations

from typing import Any

from tobitgp.results.summary_notes import row_notes
from tobitgp.results.words import RESPONSE, SummaryTable, Words, not_converged, noted


def uncertain_words(results: Any) -> Words:
    """What a summary says of a process over a measured input."""
    parts, params = results.parts, results.params
    model = [
        (RESPONSE, results.model.endog_names),
        ("Family:", "gaussian"),
        ("Method:", results.method),
        ("Standard error:", f"{parts.term.se.text}, of {parts.term.inputs[0].text}"),
        ("Inducing inputs:", str(parts.inducing)),
    ]
    rows = [(results.model.endog_names, list(params))]
    local = (
        "The bound replaces likelihoods of censored values by parabolas below them. Predictions do not use parabolas."
    )
    narrow = "95% bands of the curve are too narrow: they covered 74 to 83% in simulations."
    notes = [
        *noted("warning", [not_converged(results._search_message)] * (not results.converged)),
        *row_notes(results),
        *noted("parameters", ["Parameters maximise the bound. They have no standard errors."]),
        *noted("errors", [narrow, *[local] * (results.evidence_kind == "local")]),
    ]
    return Words(
        "Gaussian process over a measured input",
        model,
        {f"Log evidence ({results.evidence_kind}):": results.elbo},
        [SummaryTable("Intercept", rows, columns=["sd", "lengthscale", "sigma"])],
        notes,
    )
