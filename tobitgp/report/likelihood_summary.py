"""Summaries of fits by maximum likelihood, of every kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tobitgp.numerics.bordered import variances
from tobitgp.report import summary
from tobitgp.report.summaries import ROBUST, ratio_note, ratio_section
from tobitgp.report.summary import FitSummary, Section, number

if TYPE_CHECKING:
    from tobitgp.results.likelihood.likelihood_results import LikelihoodResults
    from tobitgp.results.likelihood.words import Words

_PLAIN = 6  # columns that every table of estimates has; those after it are factors


def summarise(results: LikelihoodResults, alpha: float = 0.05, ratios: pd.DataFrame | None = None) -> FitSummary:
    """Facts about the model, a table for each group of parameters and for their exponentials, notes."""
    parts, words = results.parts, results._words(alpha)
    model = [
        ("Dep. variable:", results.model.endog_names),
        *words.facts,
        ("Method:", "maximum likelihood"),
        ("Covariance:", results.cov_type),
        ("Df model:", f"{results.df_model:g}"),
        ("Df residuals:", f"{results.df_resid:g}"),
        ("Iterations:", str(parts.maximum.iterations)),
    ]
    numbers: dict[str, float | str] = {"Log-likelihood:": results.llf}
    if results._knows_null:
        numbers["LL-null:"] = number(results.llnull)
    numbers |= {"AIC:": results.aic, "BIC:": results.bic}
    sections = _sections(results, words, alpha)
    notes = [*_message(results), *words.notes, *_errors(results, words)]
    if ratios is not None:
        sections, notes = [*sections, ratio_section(ratios, alpha)], [*notes, ratio_note(results, ratios)]
    return summary.build_summary(results, words.title, model, numbers, sections, notes, dict(words.formulas))


def _sections(results: LikelihoodResults, words: Words, alpha: float) -> list[Section]:
    """Tables of parameters, and of factors by which one unit of a column multiplies."""
    parts, ends = results.parts, summary.interval_headers(alpha)
    rows = dict(summary.frame_rows(results.summary_frame(alpha)))
    bound = {name for name, free in zip(parts.names, parts.maximum.free, strict=True) if not free} - set(parts.given)
    columns, sections = ["std err", "z", "P>|z|", *ends], []
    for group in words.groups:
        each = [
            summary.estimate_row(name, rows[name][:_PLAIN], unknown="(at bound)" if name in bound else "nan")
            for name in group.names
        ]
        sections.append(Section(["", group.heading, *columns], each))
        sections.append(Section(["", group.ratio, *ends], [_factor(name, rows[name]) for name in group.ratios]))
    for heading, found in words.numbers:
        sections.append(Section(["", heading, "std err", *ends], [[name, *map(number, row)] for name, row in found]))
    return sections


def _factor(name: str, row: np.ndarray) -> list[str]:
    """An exponential with its interval."""
    with np.errstate(over="ignore"):
        value, *ends = np.exp(row[[0, 4, 5]])
    return [name, number(value), *(["(fixed)", ""] if row[1] == 0.0 else map(number, ends))]


def _message(results: LikelihoodResults) -> list[str]:
    """What the search says of its end, if that is no ordinary maximum."""
    maximum = results.parts.maximum
    if results.converged:
        return [] if maximum.message == "converged" else [maximum.message]
    rest = "Read no number here as final."
    if variances(maximum.unidentified).any():
        rest = "All else is the limit, with its errors; the errors of what runs off are nan."
    return [f"NOT CONVERGED: {maximum.message} {rest}"]


def _errors(results: LikelihoodResults, words: Words) -> list[str]:
    """What standard errors are from, and on which scale intervals are formed."""
    parts = results.parts
    names = [name for name, log in zip(parts.scale_names, parts.positive, strict=True) if log]
    names = list(dict.fromkeys(name.partition("[")[0] for name in names))
    of = "; the interval of {} is" if len(names) == 1 else "; intervals of {} are"
    logs = of.format(" and ".join(names)) + " formed on the log scale" if names else ""
    return [f"Standard errors are {ROBUST.get(results.cov_type, words.errors)}{logs}."]
