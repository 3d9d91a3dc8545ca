"""Measures of a fit on rows that it has not seen, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd

from tobitgp import metrics
from tobitgp.data.arrays import CensoredResponse
from tobitgp.errors import SpecError
from tobitgp.results.likelihood.regression_results import RegressionResults
from tobitgp.results.mixture.mixture_results import MixtureResults
from tobitgp.results.process.process_results import GPResults
from tobitgp.results.rows import read_scored
from tobitgp.typing import Array, BoolArray

ScoredResults = GPResults | RegressionResults | MixtureResults
_TIMES = 100


class HeldOut(NamedTuple):
    """A fit, and rows that it has not seen."""

    results: ScoredResults
    test: pd.DataFrame
    weight: Array | None  # (n,), frequency weights of the test rows


Measure = Callable[[HeldOut], float]


def log_likelihood(held: HeldOut) -> float:
    """Mean log predictive density, of censored rows the log probability of what was seen."""
    return held.results.score(held.test, "log_likelihood", weights=held.weight)


def nlpd(held: HeldOut) -> float:
    """Minus that."""
    return -log_likelihood(held)


def concordance_index(held: HeldOut) -> float:
    """Share of the pairs whose order is known that predicted medians put in order."""
    return held.results.score(held.test, "concordance_index", weights=held.weight)


def concordance_ipcw(held: HeldOut) -> float:
    """Uno's concordance of predicted medians, of pairs up to the last decile of the training rows' events.

    Of cure models of restricted means, since many medians may be infinite.
    """
    rows = _survival(held)
    score = held.results._time_rows(held.test[rows.known], (), bands=False).times.order()
    return metrics.concordance_ipcw(rows.train, rows.test, score, rows.deciles[1], **rows.more)


def integrated_brier_score(held: HeldOut) -> float:
    """Brier score, averaged over the times from the first to the last decile of the training rows' events."""
    judged, how = _judged(held)
    return metrics.integrated_brier_score(*judged, **how)


def cumulative_dynamic_auc(held: HeldOut) -> float:
    """Mean area under time-dependent ROC curves, over the same times."""
    judged, how = _judged(held)
    return metrics.cumulative_dynamic_auc(*judged, **how).mean


def mae(held: HeldOut) -> float:
    """Mean absolute error of the response as the instrument shows it."""
    error, weight = _errors(held)
    return float(np.average(np.abs(error), weights=weight))


def rmse(held: HeldOut) -> float:
    """Root mean squared error of the response as the instrument shows it."""
    error, weight = _errors(held)
    return float(np.sqrt(np.average(error**2, weights=weight)))


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
    """Measures by the names of their columns."""
    if isinstance(asked, str) or callable(asked):
        asked = [asked]
    if isinstance(asked, Mapping):
        own = dict(asked)
    elif isinstance(asked, Sequence):
        own = {one if isinstance(one, str) else getattr(one, "__name__", repr(one)): one for one in asked}
    else:
        raise SpecError(f"metrics={asked!r}: must be names, functions, or a dict of functions by name.")
    out = {}
    for name, one in own.items():
        if isinstance(one, str) and one in MEASURES:
            out[str(name)] = MEASURES[one]
        elif callable(one):
            out[str(name)] = partial(_own, one)
        else:
            known = ", ".join(map(repr, MEASURES))
            raise SpecError(f"{one!r} is not a metric of cross_validate(). Choose one of {known}, or give a function.")
    if not out:
        raise SpecError("metrics= is empty. Name at least one metric.")
    return out


def _own(function: Callable[[Any, pd.DataFrame], float], held: HeldOut) -> float:
    """A user's function of the results and the rows."""
    return float(function(held.results, held.test))


class Survival(NamedTuple):
    """Right-censored times of training and of test rows."""

    train: tuple[Array, BoolArray]  # (time, event)
    test: tuple[Array, BoolArray]  # (time, event)
    more: dict[str, Any]  # entries and weights of both
    known: BoolArray  # (n_data,), which of the rows left out the test rows are

    @property
    def deciles(self) -> tuple[float, float]:
        """First and last decile of the training rows' events, or of all their times where there are none."""
        (time, event), weight = self.train, self.more["weights"][0]
        weight = weight * event if event.any() else weight
        order = np.argsort(time)
        share = np.cumsum(weight[order]) / weight.sum()
        low, high = time[order][np.searchsorted(share, [0.1, 0.9])]
        return float(low), float(high)


def _survival(held: HeldOut) -> Survival:
    """Training rows and those left out."""
    scored = read_scored(held.results.parts, held.test)
    seen, known = held.results.parts.rows.response, scored.asked.usable
    weight = np.ones(known.sum()) if held.weight is None else held.weight[known]
    more = {"entry": (seen.entry, scored.response.entry), "weights": (seen.weight, weight)}
    return Survival(_times(seen), _times(scored.response), more, known)


def _judged(held: HeldOut) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Training and test rows, curves of these and times to judge them at, from the first decile on after late entry."""
    rows = _survival(held)
    since = rows.deciles[0] if (rows.more["entry"][1] > 0.0).any() else None
    times = grid_of(rows, since)
    at = times if since is None or since == times[0] else np.append(since, times)
    curves = held.results.predict_survival_function(held.test[rows.known], times=at)
    return (rows.train, rows.test, curves, times), {**rows.more, "landmark": since}


def _times(response: CensoredResponse) -> tuple[Array, BoolArray]:
    """Right-censored rows as lifelines has them."""
    event = response.lower == response.upper
    if not (event | (np.isfinite(response.lower) & np.isposinf(response.upper))).all():
        raise SpecError(
            "This metric is of right-censored times, and rows are left- or interval-censored; 'log_likelihood' and "
            "'concordance_index' take them all."
        )
    return response.lower, event


def grid_of(rows: Survival, since: float | None) -> Array:
    """Times at which test rows can be judged."""
    low, high = rows.deciles
    time, event = rows.test
    if since is not None:
        at_risk = (rows.more["entry"][1] <= since) & (since < time)
        time, event = time[at_risk], event[at_risk]
    first = time[event].min(initial=np.inf)
    last = min(float(time.max(initial=0.0)), float(rows.train[0].max()))
    start, end = max(low, first if np.isfinite(first) else 0.0), min(high, np.nextafter(last, 0.0))
    if start >= end:
        raise SpecError("The test rows of a fold leave no times at which to evaluate curves. Use fewer folds.")
    return np.linspace(start, end, _TIMES)


def _errors(held: HeldOut) -> tuple[Array, Array | None]:
    """What the response as the instrument shows it lacks to its prediction, and weights."""
    scored = read_scored(held.results.parts, held.test)
    lower, upper = scored.response.lower, scored.response.upper
    if ((lower < upper) & np.isfinite(lower) & np.isfinite(upper)).any():
        raise SpecError("'mae' and 'rmse' compare values, and interval-censored rows have none. Choose other metrics.")
    value = np.where(np.isfinite(lower), lower, upper)
    plain = held.results.parts.spec.censoring is None and (lower == upper).all()
    what = "uncensored" if plain else "observed"
    prediction = cast("pd.Series[float]", held.results.predict(held.test[scored.asked.usable], what))
    weight = None if held.weight is None else held.weight[scored.asked.usable]
    return np.asarray(prediction) - value, weight
