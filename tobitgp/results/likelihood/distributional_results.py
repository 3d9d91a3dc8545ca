"""A fit whose rows have several parameters with formulas as its users see it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tobitgp.errors import SpecError
from tobitgp.kinds.distributional import DistributionalParts
from tobitgp.numerics.bordered import dense
from tobitgp.results import figures
from tobitgp.results.likelihood.likelihood_results import LikelihoodResults
from tobitgp.results.parameter_estimates import Linear
from tobitgp.results.ratios import RatioKind
from tobitgp.results.summary_notes import ParameterGroup, likelihood_words, model_title, row_notes
from tobitgp.results.words import Words, noted


class DistributionalResults(LikelihoodResults):
    """A regression in which other parameters than the location have formulas, by ``formulas=`` of :func:`tobitgp.fit`.

    Coefficients of a parameter with a formula are called ``log(shape)[z]`` where its logarithm is linear in the terms,
    and ``Q[z]`` where it is linear itself.

    Parameters
    ----------
    parts : DistributionalParts
        Specification, rows and maximum.

    Raises
    ------
    SpecError
        If `hazard_ratios` is asked for: no ratio of hazards is the same at all times.

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

    def _testable(self, kind: Any) -> tuple[Linear, Sequence[str]]:
        """Coefficients of all formulas."""
        self._estimates(kind)
        maximum, names = self._parts.maximum, self._names
        at = np.flatnonzero(~np.concatenate([np.zeros(len(self._columns), dtype=np.bool_), self._parts.positive]))
        V, N = (dense(each)[np.ix_(at, at)] for each in (self._parts.covariance, self._parts.unidentified))
        theta = maximum.parameters[None, at]
        return Linear(np.ones(1), theta, [V], ~maximum.free[at], N), [names[i] for i in at]

    def _ratio_kind(self) -> RatioKind:
        raise SpecError(
            "Where other parameters than the location differ between rows no ratio of hazards is the same at all "
            "times: predict_hazard(...) at two rows gives both hazards over time."
        )

    @property
    def _has_ratios(self) -> bool:
        return self._parts.family.log_time and self._parts.baseline is None

    def _words(self, alpha: float, kind: Any = None) -> Words:
        names, p, parts = self._names, len(self._columns), self._parts
        groups = [ParameterGroup("coef", range(p), "exp(coef)", range(p if self._has_ratios else 0))]
        formulas = parts.state.formula_columns
        labels = {each.parameter: each.label for each in parts.spec.formulas}
        groups += [
            ParameterGroup(labels[parameter], [i for i, name in enumerate(names) if name in columns])
            for parameter, columns in formulas.items()
        ]
        rest = [i for i in range(p, len(names)) if not any(names[i] in columns for columns in formulas.values())]
        groups.append(ParameterGroup("value", rest))
        of_logs = [label for label in labels.values() if label.startswith("log(")]
        notes = [f"Coefficients of {each} are differences of logarithms." for each in of_logs]
        return likelihood_words(
            self,
            alpha,
            model_title(self, positive=parts.family.log_time),
            [("Family:", parts.family_words)],
            [group for group in groups if group.places],
            [*row_notes(self), *noted("coefficients", notes)],
            formulas=parts.formula_texts,
        )

    plot = figures.plot
    plot_forest = figures.plot_forest
