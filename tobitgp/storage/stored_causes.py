"""Fits of competing causes in one file, written and read again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from tobitgp.results.competing.competing_parts import CompetingParts
from tobitgp.results.competing.competing_results import CompetingRisksResults
from tobitgp.results.hazards.hazard_results import HazardResults
from tobitgp.results.likelihood.parametric_results import ParametricHazardResults
from tobitgp.results.likelihood.regression_results import RegressionResults
from tobitgp.results.process.process_results import GPResults
from tobitgp.storage.archive import MalformedError
from tobitgp.storage.specification import check_names

CAUSES = "causes"
KINDS = (GPResults, RegressionResults, HazardResults, ParametricHazardResults)
_NAMES = ("formulas", "column", "censored", "causes", "counts")


def plain_causes(parts: CompetingParts) -> dict[str, Any]:
    """Document of what is beside the fits."""
    return {
        "formulas": list(parts.formulas),
        "column": parts.column,
        "censored": parts.censored,
        "causes": list(parts.fits),
        "counts": [int(count) for count in parts.counts],
    }


def read_fits(document: dict[str, Any], names: tuple[str, ...]) -> list[dict[str, Any]]:
    """Documents of the fits of all causes."""
    if document["specification"] is not None or not isinstance(document["rows"], list):
        raise MalformedError("its causes have no fits")
    for one in document["rows"]:
        check_names(one, names, "cause")
    fits: list[dict[str, Any]] = document["rows"]
    return fits


def causes_results(document: Any, fits: Sequence[Any]) -> CompetingRisksResults:
    """Results of competing risks, by the fits of the causes."""
    check_names(document, _NAMES, "causes")
    lists = [document[name] for name in ("formulas", "causes", "counts")]
    if not all(isinstance(values, list) for values in lists):
        raise MalformedError("its causes are no lists")
    formulas, causes, counts = lists
    named = causes if document["censored"] is None else (document["censored"], *causes)
    plain = all(_is_cause(value) for value in named) and len(set(causes)) == len(causes)
    texts = all(isinstance(text, str) for text in (document["column"], *formulas)) and formulas
    whole = all(type(count) is int and count >= 0 for count in counts) and len(counts) == len(causes) + 2
    kinds = all(isinstance(fit, KINDS) for fit in fits)
    if not (plain and texts and whole and kinds and len(fits) == len(causes) > 1):
        raise MalformedError("the parts of its causes do not belong together")
    table = pd.Series(counts, index=pd.Index([*causes, "censored", "dropped"], dtype=object))
    by_cause = dict(zip(causes, fits, strict=True))
    return CompetingRisksResults(
        CompetingParts(tuple(formulas), document["column"], document["censored"], by_cause, table)
    )


def _is_cause(value: Any) -> bool:
    return isinstance(value, str) or type(value) is int
