"""Predictions of a mixture, probabilities of its components, times, and residuals."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.table import column_names, read_table
from tobitgp.errors import ApproximationWarning, SpecError, user_level
from tobitgp.kinds.mixture import MixtureParts, covariance_of, ends_of_rows, posterior_of, training_ends
from tobitgp.mixture import MixtureFit, impute
from tobitgp.mixture.evidence_bound import Bayes
from tobitgp.posterior.estimates import Estimates
from tobitgp.posterior.questions import Question, conditional, observed
from tobitgp.results.predict import check_level, check_what, prediction_table, read_questions, whats
from tobitgp.results.residuals import Tails
from tobitgp.results.rows import Asked, ask, what_was_seen
from tobitgp.results.survival import STATISTICS, TimeRows, Times, left_area
from tobitgp.results.terms import find_terms
from tobitgp.typing import Array, Frame

WHATS = ("uncensored", "median", "observed", "conditional", "component", "quantile", "prob")


def predict_mixture(
    parts: MixtureParts,
    new: Frame | None,
    what: str | None,
    *,
    interval: float | None,
    se: bool,
    q: Any = None,
    below: Any = None,
    above: Any = None,
    exclude: Any = (),
) -> pd.Series[float] | pd.DataFrame:
    """Predictions with the index of the data; see `tobitgp.results.prediction.predict`."""
    what, level = check_what(what, whats(WHATS), " for a mixture"), check_level(interval)
    bands = bool(se) or level is not None
    asks, listed = read_questions(what, q, below, above)
    asked = ask(parts, new, exclude, instead="what='uncensored'")
    if what == "component":
        if bands:
            raise SpecError("what='component' has no se= and no interval=: it gives probabilities of the components.")
        return component_table(parts, new, asked)
    fit, support = parts.fit, parts.family.support
    if what == "uncensored":
        finite_mean(fit, "what='median' and what='quantile' are finite")
    if what == "conditional":
        asked, lower, upper = ends_of_rows(parts, new, asked)
        questions: dict[Any, Question] = {what: conditional(False, lower, upper)}
    elif what == "observed":
        questions = {what: observed(False, *asked.limits())}
    else:
        questions = {key: make(support != "real", asked) for key, make in asks.items()}
        if support == "counts":  # since a logarithm would leave rounding errors in whole numbers
            questions |= {key: asks[key](False, asked) for key, one in questions.items() if one.response}
    if bands and support == "counts" and any(question.response for question in questions.values()):
        raise SpecError(
            f"what={what!r} of counts is a whole number without standard error. Use what='prob' with interval=."
        )
    posterior, n = posterior_of(fit, covariance_of(parts) if bands else None), int(asked.usable.sum())
    tables = {key: _answer(posterior, question, n, level, se=bool(se)) for key, question in questions.items()}
    return prediction_table(what, asked, tables, listed=listed, bands=bands)


def _answer(posterior: Estimates, question: Question, n: int, level: float | None, *, se: bool) -> dict[str, Array]:
    """Statistics (n,) of a question; rows of which it asks the same are done once."""
    at = np.column_stack(question.at) if question.at else np.zeros((min(n, 1), 1))
    _, first, back = np.unique(at, axis=0, return_index=True, return_inverse=True)
    columns = posterior.statistics(question.take(first), level, se=se)
    if question.response and posterior.new.discrete:
        columns["estimate"] = np.rint(columns["estimate"])  # by way of its logarithm it is whole but for rounding
    return {name: np.broadcast_to(np.ravel(values)[back.ravel()], n) for name, values in columns.items()}


def finite_mean(fit: MixtureFit, instead: str) -> float:
    """Mean of the predictive distribution, with a warning where it is not finite."""
    value = fit.predictive().mean()
    if not np.isfinite(value):
        words = "is infinite" if np.isposinf(value) else "does not exist"
        over = "with parameters integrated over their posterior, " if isinstance(fit.model, Bayes) else ""
        warnings.warn(
            f"The mean of this distribution {words}: {over}the {fit.model.family.name} components have tails too heavy "
            f"for one; {instead}.",
            ApproximationWarning,
            stacklevel=user_level(),
        )
    return value


def component_table(parts: MixtureParts, new: Frame | None, asked: Asked) -> pd.DataFrame:
    """Probabilities of the components, columns 1 to K; the weights where nothing is known about a row."""
    fit = parts.fit
    values = asked.spread(np.tile(fit.weights, (int(asked.usable.sum()), 1)))
    if new is None or set(parts.spec.names("response")) <= set(column_names(new)):
        if new is not None:
            what_was_seen(parts, new, "what='component'")
        among, lower, upper = ends_of_rows(parts, new, asked)
        values[among.usable] = fit.responsibilities(lower, upper)
    return pd.DataFrame(values, index=asked.index, columns=pd.RangeIndex(1, fit.k + 1, name="component"))


@dataclass(frozen=True, slots=True)
class MixtureTimes(Times):
    """Times of rows that are all the same."""

    fit: MixtureFit

    @property
    def discrete(self) -> bool:
        """See `Times`."""
        return self.fit.model.family.support == "counts"

    @property
    def positive(self) -> bool:
        """See `Times`."""
        return self.fit.model.family.support != "real"

    def mean(self) -> Array:
        """See `Times`."""
        value = finite_mean(self.fit, "predict_median() and predict_percentile(p=) are finite")
        return np.full(len(self.which), value)

    def clipped(self, t: float, level: float | None) -> dict[str, Array]:
        """See `Times`; the area below the curve of the predictive distribution."""
        made = {"mean": left_area(replace(self, which=self.which[:1]), t, None)}
        if level is not None:
            question = observed(False, np.zeros(1), np.full(1, t), np.full(1, -np.inf), np.full(1, np.inf))
            assert isinstance(self.posterior, Estimates)
            found = self.posterior.band(question, level)
            made |= {name: found[name] for name in STATISTICS[1:]}
        return {name: np.repeat(values, len(self.which)) for name, values in made.items()}


def times_of_rows(parts: MixtureParts, df: Frame | None, exclude: Any = (), *, bands: bool) -> TimeRows:
    """Rows whose curves are requested; one, called 0, without any."""
    find_terms(parts, exclude)
    index = pd.RangeIndex(1) if df is None else read_table(df, []).index
    posterior = posterior_of(parts.fit, covariance_of(parts) if bands else None)
    times = MixtureTimes(posterior, np.zeros(len(index), dtype=np.intp), parts.fit)
    return TimeRows(index, np.ones(len(index), dtype=np.bool_), times)


def mixture_tails(parts: MixtureParts) -> Tails:
    """Training rows as the predictive distribution has them, inside of their windows."""
    fit, (lower, upper, _), response = parts.fit, training_ends(parts), parts.rows.response
    predictive = fit.predictive()
    if fit.model.family.support == "counts":
        lower = np.where(lower == upper, lower - 1.0, lower)
    entry, exit = response.entry, response.exit
    within = predictive.log_mass(entry, exit)

    def of(low: Array, high: Array) -> Array:
        low, high = np.broadcast_arrays(low, high)
        out, there = np.full(low.shape, -np.inf), low < high
        out[there] = predictive.log_mass(low[there], high[there]) - within[there]
        return out

    return Tails(of, lower, upper, entry, exit)


def response_residuals(parts: MixtureParts) -> Array:
    """Responses, or their means given what was seen, less the mean."""
    lower, upper, _ = training_ends(parts)
    return np.asarray(impute(parts.fit, lower, upper)[0] - parts.fit.predictive().mean())
