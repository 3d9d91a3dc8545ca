r"""Predictions of a mixture: the posterior of its parameters, its components, and times.

Means, quantiles, probabilities and everything of survival are those of the exact predictive distribution, in which
parameters are integrated over their posterior; what was seen of a row and the clipped mean are at the plug-in
parameters, where truncated moments are closed. Derivatives are at the plug-in parameters throughout.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.linalg import block_diag

from tobitgp.data.response import build_response, unknown_rows
from tobitgp.data.table import column_names, read_table
from tobitgp.errors import ApproximationWarning, SpecError, user_level
from tobitgp.mixture import MixtureFit, Predictive, impute
from tobitgp.mixture.model import Bayes
from tobitgp.mixture.rows import read_rows
from tobitgp.posterior.estimates import Estimates
from tobitgp.posterior.questions import Question, observed
from tobitgp.results.mixture.parts import MixtureParts, covariance_of, known_ends, training_ends
from tobitgp.results.predict import check_level, check_what, prediction_table, read_questions, whats
from tobitgp.results.rows import Asked, Limits, ask, what_was_seen
from tobitgp.results.survival import STATISTICS, TimeRows, Times, left_area
from tobitgp.results.terms import find_terms
from tobitgp.typing import Array, BoolArray, Frame

WHATS = ("uncensored", "median", "observed", "conditional", "component", "quantile", "prob")


def posterior_of(fit: MixtureFit, V: Array | None) -> Estimates:
    """Parameters of a mixture, weights and plug-in coordinates of the components, and their covariance.

    The distribution of a new value has the parameters integrated over their posterior. V is the covariance (p, p) of
    the parameters as users see them, NaN where the rows do not determine one.
    """
    family, units, k, theta = fit.model.family, fit.units, fit.k, fit.theta
    values = np.concatenate([fit.weights, theta.ravel()])
    steps = np.concatenate([np.maximum(fit.weights, 1e-3), family.steps(theta).ravel()])

    def at(x: tuple[Array, ...]) -> Predictive:
        flat = np.concatenate([one.ravel() for one in x])
        return Predictive(flat[:k] / flat[:k].sum(), family.distribution(flat[k:].reshape(theta.shape), units))

    p = len(values)
    known = lost = np.zeros((p, p))
    if V is not None:
        slopes = np.moveaxis(family.point_estimates(theta, units)[1], 2, 0)  # (K, R, D)
        with np.errstate(all="ignore"):
            T = block_diag(np.eye(k), *np.linalg.inv(slopes))
        order = np.concatenate([np.arange(k), k + np.arange(p - k).reshape(-1, k).T.ravel()])
        unknown = np.isnan(np.diag(V))
        determined = np.where(unknown | unknown[:, None], 0.0, V)
        known, lost = np.empty((p, p)), np.empty((p, p))
        for out, matrix in ((known, determined), (lost, np.diag(unknown * np.square(fit.values)))):
            out[np.ix_(order, order)] = T @ matrix[np.ix_(order, order)] @ T.T
    x, unit = (tuple(each[:, None]) for each in (values, steps))
    return Estimates(at, x, unit, known[None], lost[None], fit.predictive(), shared=True)


class _PlugIn:
    """A mixture at its plug-in parameters, imputed as its posterior has it."""

    discrete = False

    def __init__(self, fit: MixtureFit) -> None:
        self.fit = fit

    def conditional_mean(self, lower: Array, upper: Array) -> Array:
        """Means of rows given what was seen."""
        return impute(self.fit, lower, upper)[0]

    def observed_mean(self, *limits: Array) -> Array:
        """Means of clipped values."""
        return self.fit.plug_in().observed_mean(*limits)


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
    what, level = check_what(what, whats(WHATS), " of a mixture"), check_level(interval)
    bands = bool(se) or level is not None
    asks, listed = read_questions(what, q, below, above)
    asked = ask(parts, new, exclude, instead="what='uncensored'")
    if what == "component":
        if bands:
            raise SpecError("what='component' has no se= and no interval=: it gives probabilities of the components.")
        return component_table(parts, new, asked)
    fit, n = parts.fit, int(asked.usable.sum())
    if bands and fit.model.family.support == "counts" and what in ("median", "quantile"):
        raise SpecError(
            "Quantiles of counts are whole numbers and have no standard error; ask what='prob' with its interval."
        )
    if what == "uncensored":
        finite_mean(fit, "what='median' and what='quantile' are finite")
    posterior = posterior_of(fit, covariance_of(parts) if bands else None)
    if what in ("conditional", "observed"):
        posterior = replace(posterior, best=_PlugIn(fit))
        if what == "conditional":
            lower, upper, known = ends_of_rows(parts, new, asked)
            question = Question(lambda y, *ends: y.conditional_mean(*ends), at=(lower, upper), bounds=(lower, upper))
            columns = posterior.statistics(question, level, se=bool(se))
            columns = {name: _among(known, values) for name, values in columns.items()}
        else:
            columns = _observed(posterior, asked.limits(), level, se=bool(se))
        return prediction_table(what, asked, {what: columns}, listed=False, bands=bands)
    one, tables = replace(asked, usable=np.ones(1, dtype=bool), design=asked.design.rows(slice(0, 1))), {}
    for key, make in asks.items():
        question = make(fit.model.family.support != "real", one)
        columns = posterior.statistics(question, level, se=bool(se))
        tables[key] = {name: np.full(n, np.ravel(values)) for name, values in columns.items()}
    return prediction_table(what, asked, tables, listed=listed, bands=bands)


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


def ends_of_rows(
    parts: MixtureParts, new: Frame | None, asked: Asked, needed_by: str = "what='conditional'"
) -> tuple[Array, Array, BoolArray]:
    """What is known of the response in rows.

    Gives lower, upper (m,), known (n,).
    """
    if new is None:
        lower, upper, _ = training_ends(parts)
        return lower, upper, np.ones(len(lower), dtype=bool)
    table = what_was_seen(parts, new, needed_by).take(asked.usable)
    known = ~unknown_rows(parts.spec, table)
    table = table.take(known)
    response = build_response(parts.spec, table, np.ones(table.n))
    lower, upper = known_ends(parts.spec, parts.family, response)
    read_rows(parts.family, lower, upper, labels=asked.labels[known].to_numpy())
    return lower, upper, known


def component_table(parts: MixtureParts, new: Frame | None, asked: Asked) -> pd.DataFrame:
    """Probabilities of the components, columns 1 to K; the weights where nothing is known of a row."""
    fit, n = parts.fit, int(asked.usable.sum())
    values = np.tile(fit.weights, (n, 1))
    if new is None or set(parts.spec.names("response")) <= set(column_names(new)):
        lower, upper, known = ends_of_rows(parts, new, asked, "what='component'")
        values[known] = fit.responsibilities(lower, upper)
    columns = pd.RangeIndex(1, fit.k + 1, name="component")
    return pd.DataFrame(asked.spread(values), index=asked.index, columns=columns)


def _observed(posterior: Estimates, limits: Limits, level: float | None, *, se: bool) -> dict[str, Array]:
    """Statistics of the clipped mean; rows with the same limits are done once."""
    different, where = np.unique(np.column_stack(limits.ends), axis=0, return_inverse=True)
    low, high = different.T
    question = observed(False, low, high, np.full(len(low), -np.inf), np.full(len(low), np.inf))
    columns = posterior.statistics(question, level, se=se)
    return {name: values[where.ravel()] for name, values in columns.items()}


def _among(known: BoolArray, values: Array) -> Array:
    out = np.full(len(known), np.nan)
    out[known] = values
    return out


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
            found = replace(self.posterior, best=_PlugIn(self.fit)).band(question, level)
            made |= {name: found[name] for name in STATISTICS[1:]}
        return {name: np.repeat(values, len(self.which)) for name, values in made.items()}


def times_of_rows(parts: MixtureParts, df: Frame | None, exclude: Any = (), *, bands: bool) -> TimeRows:
    """Rows that curves are asked for; one, called 0, without any."""
    find_terms(parts, exclude)
    index = pd.RangeIndex(1) if df is None else read_table(df, []).index
    posterior = posterior_of(parts.fit, covariance_of(parts) if bands else None)
    times = MixtureTimes(posterior, np.zeros(len(index), dtype=np.intp), parts.fit)
    return TimeRows(index, np.ones(len(index), dtype=np.bool_), times)
