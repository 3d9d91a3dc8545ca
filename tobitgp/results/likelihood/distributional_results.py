"""A fit whose rows have several parameters with formulas as its users see it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tobitgp.data.linear_columns import INTERCEPT
from tobitgp.kinds.distributional import DistributionalParts
from tobitgp.results.likelihood.likelihood_results import LikelihoodResults
from tobitgp.results.summary_notes import (
    DISTRIBUTION,
    ParameterGroup,
    hazard_title,
    likelihood_words,
    model_title,
    row_notes,
)
from tobitgp.results.words import Words, noted

_NONE: Mapping[str, str] = {}


class DistributionalResults(LikelihoodResults):
    """A regression with formulas for parameters other than the location, by ``formulas=`` of :func:`tobitgp.fit`.

    Coefficients of a parameter with a formula are called ``log(shape)[z]`` where its logarithm is linear in the terms,
    and ``Q[z]`` where it is linear itself.

    Parameters
    ----------
    parts : DistributionalParts
        Specification, rows and maximum.

    Raises
    ------
    SpecError
        If `hazard_ratios` is requested: no ratio of hazards is the same at all times.

    References
    ----------
    R. A. Rigby and D. M. Stasinopoulos (2005), Generalized additive models for location, scale and shape, *Applied
    Statistics* 54, 507-554.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung")
    >>> res = tg.fit("Surv(time, event) ~ age", lung, family="weibull", formulas={"shape": "~ sex"})
    >>> res.params.round(3)
    Intercept                6.839
    age                     -0.012
    log(shape)[Intercept]    0.011
    log(shape)[sex]          0.200
    dtype: float64
    """

    _kind = "distributional"
    _parts: DistributionalParts
    _no_ratio = (
        "If parameters other than the location differ between rows, no ratio of hazards is the same at all "
        "times. Use predict_hazard(...) for two rows to get both hazards over time."
    )

    @property
    def _has_ratios(self) -> bool:
        return self._parts.family.log_time and self._parts.baseline is None

    def _words(self, alpha: float, kind: Any = None) -> Words:
        p, parts = len(self._columns), self._parts
        ratios = [i for i in range(p if self._has_ratios else 0) if self._names[i] != INTERCEPT]
        of_ratios = "Time ratios" if parts.spec.response.kind == "surv" else "Ratios"
        groups = [ParameterGroup("Coefficients", range(p), of_ratios, ratios)]
        return likelihood_words(
            self,
            alpha,
            model_title(self, positive=parts.family.log_time) if parts.link is None else hazard_title(parts.link),
            [] if parts.baseline is None else [("Baseline:", parts.baseline.words)],
            [*groups, *groups_of_formulas(parts)],
            [*row_notes(self), *noted("coefficients", notes_of_logs(parts))],
            formulas=parts.formula_texts,
        )


def groups_of_formulas(parts: DistributionalParts, headings: Mapping[str, str] = _NONE) -> list[ParameterGroup]:
    """A table for each formula of a parameter other than the location, by label or heading, and one of the others."""
    names, formulas = parts.names, parts.state.formula_columns
    labels = {each.parameter: each.label for each in parts.spec.formulas} | dict(headings)
    found = [
        ParameterGroup(labels[parameter], [i for i, name in enumerate(names) if name in columns])
        for parameter, columns in formulas.items()
    ]
    own = {name for columns in formulas.values() for name in columns}
    rest = [i for i in range(len(parts.columns), len(names)) if names[i] not in own]
    return [group for group in (*found, ParameterGroup(DISTRIBUTION, rest, tested=False)) if group.places]


def notes_of_logs(parts: DistributionalParts) -> list[str]:
    """Note on coefficients of logarithms."""
    of_logs = [each.label for each in parts.spec.formulas if each.label.startswith("log(")]
    return [f"Coefficients of {each} are differences of logarithms." for each in of_logs]
