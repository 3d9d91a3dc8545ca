"""Summaries of fits over an input that was measured with errors."""

from __future__ import annotations

from typing import Any

from tobitgp.results.summary_notes import row_notes
from tobitgp.results.words import SummaryTable, Words, not_converged, noted

BOUND = "The log evidence is a lower bound. Parameters maximise it and have no standard errors."
PARABOLAS = "Parabolas replace the likelihoods of censored values in the bound, but not in predictions."


def uncertain_words(results: Any) -> Words:
    """What a summary says of a process over a measured input."""
    parts = results.parts
    values = [(name, [value]) for name, value in results.params.items()]
    narrow = "95% bands of the curve are too narrow: they covered 74 to 83% in simulations."
    notes = [
        *noted("warning", [not_converged(results._search_message)] * (not results.converged)),
        *row_notes(results),
        *noted("parameters", [BOUND]),
        *noted("errors", [*[PARABOLAS] * (results.evidence_kind == "local"), narrow]),
    ]
    return Words(
        "Gaussian process over a measured input",
        [("Std err of " + parts.term.inputs[0].text + ":", parts.term.se.text)],
        [
            SummaryTable("Coefficients", values[:1]),
            SummaryTable("Hyper-parameters", values[1:], "estimate"),
        ],
        notes,
        details=[("Log evidence by:", results.evidence_kind), ("Inducing inputs:", str(parts.inducing))],
        evidence=results.elbo,
    )
