"""Measures of a fit on rows that it has not seen, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd

from tobitgp import metrics
from tobitgp.data.shapes import CensoredResponse
from tobitgp.errors import SpecError
from tobitgp.results.mixture.results import MixtureResults
from tobitgp.results.process.results import GPResults
from tobitgp.results.regression.results import TobitResults
from tobitgp.results.scores import read_scored
from tobitgp.typing import Array, BoolArray

Results = GPResults | TobitResults | MixtureResults
_TIMES = 100


class HeldOut(NamedTuple):
    """A fit, and rows that it has not seen.

    Attributes
    ----------
    results : GPResults, TobitResults or MixtureResults
    test : DataFrame
    weight : (n,) array or None
        Frequency weights of the test rows.
    """

    results: Results
    test: pd.DataFrame
    weight: Array | None


Measure = Callable[[HeldOut], float]


def log_likelihood(held: HeldOut) -> float:
    """Mean log predictive density, of censored rows the log probability of what was seen."""
    return held.results._score(held.test, "log_likelihood", held.weight)


def nlpd(held: HeldOut) -> float:
    """Minus that."""
    return -log_likelihood(held)


def concordance_index(held: HeldOut) -> float:
    """Share of the pairs whose order is known that predicted medians put in order."""
    return held.results._score(held.test, "concordance_index", held.weight)


def concordance_ipcw(held: HeldOut) -> float:
    """Uno's concordance of predicted medians, of pairs up to the last decile of the training rows' events."""
    train, test, known = _survival(held)
    score = held.results.predict(held.test[known], "median").to_numpy()
    return float(metrics.concordance_ipcw(train, test, score, tau=_deciles(train)[1]))


def integrated_brier_score(held: HeldOut) -> float:
    """Brier score, averaged over the times from the first to the last decile of the training rows' events."""
    train, test, known = _survival(held)
    times = _grid(train, test)
    curves = held.results.predict_survival_function(held.test[known], times=times)
    return float(metrics.integrated_brier_score(train, test, curves, times))


def cumulative_dynamic_auc(held: HeldOut) -> float:
    """Mean area under time-dependent ROC curves, over the same times."""
    train, test, known = _survival(held)
    times = _grid(train, test)
    curves = held.results.predict_survival_function(held.test[known], times=times)
    return float(metrics.cumulative_dynamic_auc(train, test, curves, times).mean)


def mae(held: HeldOut) -> float:
    """Mean absolute error of the response as the instrument shows it."""
    return cast(float, metrics.mae(*_shown(held)))


def rmse(held: HeldOut) -> float:
    """Root mean squared error of the response as the instrument shows it."""
    return cast(float, metrics.rmse(*_shown(held)))


MEASURES: dict[str, Measure] = {
    measure.__name__: measure
    for measure in (
        log_likelihood,
        nlpd,
        concordance_index,
        concordance_ipcw,
        integrated_brier_score,
        cumulative_dynamic_auc,
        mae,
        rmse,
    )
}


def read_measures(asked: Any) -> dict[str, Measure]:
    """Measures by the names of their columns.

    Raises
    ------
    SpecError
        With the names there are.
    """
    if isinstance(asked, str) or callable(asked):
        asked = [asked]
    if isinstance(asked, Mapping):
        own = dict(asked)
    elif isinstance(asked, Sequence):
        own = {one if isinstance(one, str) else getattr(one, "__name__", repr(one)): one for one in asked}
    else:
        raise SpecError(f"metrics={asked!r}: names, functions, or a dict of functions by name are needed.")
    out = {}
    for name, one in own.items():
        if isinstance(one, str) and one in MEASURES:
            out[str(name)] = MEASURES[one]
        elif callable(one):
            out[str(name)] = _own(one)
        else:
            known = ", ".join(map(repr, MEASURES))
            raise SpecError(f"{one!r} is no metric of cross_validate(); choose of {known}, or give a function.")
    if not out:
        raise SpecError("metrics= names none.")
    return out


def _own(function: Callable[[Any, pd.DataFrame], float]) -> Measure:
    """A user's function of the results and the rows."""

    def measure(held: HeldOut) -> float:
        return float(function(held.results, held.test))

    return measure


def _survival(held: HeldOut) -> tuple[tuple[Array, BoolArray], tuple[Array, BoolArray], BoolArray]:
    """Times and events of training and test rows, and which test rows those are."""
    scored = read_scored(held.results.parts, held.test)
    return _times(held.results.parts.rows.response), _times(scored.response), scored.asked.usable


def _times(response: CensoredResponse) -> tuple[Array, BoolArray]:
    """Right-censored rows as lifelines has them.

    Raises
    ------
    SpecError
        If rows are censored otherwise.
    """
    event = response.lower == response.upper
    if not (event | (np.isfinite(response.lower) & np.isposinf(response.upper))).all():
        raise SpecError(
            "This metric is of right-censored times, and rows are left- or interval-censored; 'log_likelihood' and "
            "'concordance_index' take them all."
        )
    return response.lower, event


def _deciles(train: tuple[Array, BoolArray]) -> tuple[float, float]:
    """First and last decile of the events, or of all times where there are none."""
    low, high = np.quantile(train[0][train[1]] if train[1].any() else train[0], [0.1, 0.9])
    return float(low), float(high)


def _grid(train: tuple[Array, BoolArray], test: tuple[Array, BoolArray]) -> Array:
    """Times at which test rows can be judged."""
    low, high = _deciles(train)
    first, last = test[0][test[1]].min(initial=np.inf), min(float(test[0].max()), float(train[0].max()))
    start, end = max(low, first if np.isfinite(first) else 0.0), min(high, np.nextafter(last, 0.0))
    if start >= end:
        raise SpecError("The test rows of a fold leave no times to judge curves at; take fewer folds.")
    return np.linspace(start, end, _TIMES)


def _shown(held: HeldOut) -> tuple[Array, Array]:
    """Response as the instrument shows it, and its prediction."""
    scored = read_scored(held.results.parts, held.test)
    lower, upper = scored.response.lower, scored.response.upper
    if ((lower < upper) & np.isfinite(lower) & np.isfinite(upper)).any():
        raise SpecError("'mae' and 'rmse' compare values, and interval-censored rows have none.")
    value = np.where(np.isfinite(lower), lower, upper)
    plain = held.results.parts.spec.censoring is None and (lower == upper).all()
    what = "uncensored" if plain else "observed"
    prediction = cast("pd.Series[float]", held.results.predict(held.test[scored.asked.usable], what))
    return np.asarray(value), np.asarray(prediction)
