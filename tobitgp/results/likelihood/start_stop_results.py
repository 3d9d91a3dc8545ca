"""A fitted regression of start-stop rows as its users see it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.values import counted
from tobitgp.errors import SpecError
from tobitgp.kinds.start_stop import StartStopParts, histories_of
from tobitgp.results.hazards.cells import AtRisk
from tobitgp.results.likelihood import marginaleffects
from tobitgp.results.likelihood.accelerated_paths import along_regression
from tobitgp.results.likelihood.likelihood_results import LikelihoodResults
from tobitgp.results.likelihood.regression_results import estimated_slopes, regression_words
from tobitgp.results.paths import Paths, check_order, read_subjects
from tobitgp.results.rows import Asked, Scores, read_scored
from tobitgp.results.survival import Times
from tobitgp.results.words import Words, noted
from tobitgp.typing import Array, Frame, IntArray


@dataclass(frozen=True, slots=True)
class HistoryTimes(Times):
    """Times within the training rows, after the past of their subjects."""

    parts: StartStopParts

    def survive(self, times: Array) -> Array:
        """See `Times`; from 0 on."""
        rows = self.parts.in_training().beside()
        return rows.logsf(times) + rows.alive


class StartStopResults(LikelihoodResults):
    """Accelerated failure times of subjects whose covariates change, by :func:`tobitgp.fit` with ``id=``.

    Predictions of a row are those of a subject with constant covariates; with ``id=`` they follow the rows of a
    subject. Residuals and likelihoods of a row are conditional on the past of its subject; they add up to those of the
    subject.

    Parameters
    ----------
    parts : StartStopParts
        Rows, subjects and maximum.

    References
    ----------
    (AFT1) to (AFT4) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> rows = {"id": [1, 1, 2, 3], "start": [0, 2, 0, 0], "stop": [2, 5, 4, 3], "event": [0, 1, 1, 1]}
    >>> res = tg.fit("Surv(start, stop, event) ~ 1", rows, family="weibull", id="id")
    >>> res.params.round(2).to_dict()
    {'Intercept': 1.47, 'sigma': 0.18}
    >>> res.predict_survival_function(rows, [2, 4], id="id").round(2)
    id      1     2     3
    2.0  0.99  0.99  0.99
    4.0  0.53  0.53   NaN
    """

    _kind = "start-stop"
    _parts: StartStopParts
    _knows_null = True
    _drawn = ("uncensored", "latent")
    _no_ratio = (
        "If covariates change, the ratio of hazards depends on the time and on the past: in this model it "
        "is exp(-coef) at the moment of a change and differs later. Use predict_hazard(df, times, id=...) "
        "for hazards along a path, or family='ph' for constant ratios."
    )

    @property
    def df_model(self) -> float:
        """Number of estimated parameters other than the intercept and those of the noise."""
        return estimated_slopes(self._parts)

    def _words(self, alpha: float, kind: Any = None) -> Words:
        words, parts = regression_words(self, alpha), self._parts
        note = (
            f"{counted(parts.facts.n, 'row')} (start, stop] of {counted(parts.subjects, 'subject')} by {parts.id!r}, "
            f"with {counted(parts.facts.counts['exact'], 'event')}: covariates change along the time of a subject."
        )
        return replace(words, notes=[*noted("rows", [note]), *words.notes])

    def _units(self) -> IntArray | None:
        return self._parts.code

    def _scores(self, df: Frame, scoring_method: str) -> Scores:
        if scoring_method != "log_likelihood":
            return super()._scores(df, scoring_method)
        (asked, seen), parts = read_scored(self._parts, df), self._parts
        subject = read_subjects(parts.id, df)[asked.usable]
        risk = AtRisk(np.maximum(seen.entry, 0.0), seen.lower, seen.lower == seen.upper, seen.weight)
        check_order(subject, risk, asked.labels, from_zero=True)
        histories = histories_of(pd.factorize(subject)[0], seen)
        y = parts.given_past(histories, parts.predictors(asked.design))
        values = y.log_likelihood(seen.lower, seen.upper, *parts.windows(seen))
        return Scores(asked.usable, seen.lower, seen.upper, seen.entry, values)

    def _conditional(self, new: Frame | None, level: float | None, *, se: bool) -> pd.DataFrame:
        raise SpecError(
            "what='conditional' requires one row per subject, and these rows are parts of a path. Use "
            "predict_survival_function(df, times, id=...) along the path."
        )

    def _along(self, of: str, paths: Paths, level: float | None) -> dict[str, Array]:
        return along_regression(self._parts, of, paths, level)

    def _times_left_out(self) -> HistoryTimes:
        return HistoryTimes(None, np.arange(len(self._parts.rows.labels)), self._parts)  # type: ignore[arg-type]

    @property
    def _residuals(self) -> dict[str, Callable[[Asked], Array]]:
        return {"deviance": lambda asked: self._tails(asked).deviance()}

    to_marginaleffects = marginaleffects.to_marginaleffects
