"""Predictions, survival and residuals of a mixture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri_exp

from tobitgp.data.response import build_response, unknown_rows
from tobitgp.data.table import column_names, read_table
from tobitgp.errors import SpecError
from tobitgp.mixture import MixtureFit, Predictive, impute
from tobitgp.mixture.rows import read_rows
from tobitgp.regression.residuals import expected_hazard
from tobitgp.results.conditional import what_was_seen
from tobitgp.results.distribution import choose_scales
from tobitgp.results.mixture import quantities
from tobitgp.results.mixture.parts import MixtureParts, covariance_of, known_ends, training_ends
from tobitgp.results.mixture.quantities import Quantity, finite_mean
from tobitgp.results.predict import check_level, check_what
from tobitgp.results.rows import Asked, ask
from tobitgp.results.survival import STATISTICS, TimeLaw, TimeRows, left_area
from tobitgp.results.terms import find_terms
from tobitgp.typing import Array, BoolArray, Frame

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
    """Predictions with the index of the data; see ``MixtureResults.predict``."""
    what, level = check_what(what, WHATS, " of a mixture"), check_level(interval)
    bands = bool(se) or level is not None
    keys, listed = choose_scales(what, q, below, above)
    asked = ask(parts, new, exclude, instead="what='uncensored'")
    if what == "component":
        if bands:
            raise SpecError("what='component' has no se= and no interval=: it gives probabilities of the components.")
        return component_table(parts, new, asked)
    V = covariance_of(parts) if bands else None
    if what == "conditional":
        lower, upper, known = ends_of_rows(parts, new, asked)
        columns = quantities.conditional(parts.fit, lower, upper).statistics(V, level, se=bool(se))
        if level is not None:
            columns |= {end: np.clip(columns[end], lower, upper) for end in ("lower", "upper")}
        return _table(what, asked, {name: _among(known, values) for name, values in columns.items()}, bands=bands)
    if what == "observed":
        columns = _observed(parts, asked, V, level, se=bool(se))
        return _table(what, asked, columns, bands=bands)
    tables = {}
    for key in keys if what in ("quantile", "prob") else (what,):
        quantity = _quantity(parts, what, key, above=above is not None)
        columns = quantity.statistics(V, level, se=bool(se))
        tables[key] = {name: np.repeat(values, asked.usable.sum()) for name, values in columns.items()}
    if not listed:
        (only,) = tables.values()
        return _table(what, asked, only, bands=bands)
    if bands:
        made = [_table(what, asked, columns, bands=True) for columns in tables.values()]
        return pd.concat(made, axis=1, keys=list(tables), names=["value", "statistic"])
    return pd.DataFrame({key: asked.spread(columns["mean"]) for key, columns in tables.items()}, index=asked.index)


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


def _quantity(parts: MixtureParts, what: str, key: Any, *, above: bool) -> Quantity:
    if what == "uncensored":
        return quantities.mean(parts.fit)
    if what == "prob":
        return quantities.probability(parts.fit, float(key), above=above)
    return quantities.quantile(parts.fit, 0.5 if what == "median" else float(key))


def _observed(parts: MixtureParts, asked: Asked, V: Array | None, level: float | None, *, se: bool) -> dict[str, Array]:
    """Statistics of the clipped mean; rows with the same limits are done once."""
    limits = np.column_stack(asked.limits().ends)
    different, where = np.unique(limits, axis=0, return_inverse=True)
    low, high = different.T
    columns = quantities.observed(parts.fit, low, high).statistics(V, level, se=se)
    if level is not None:
        columns |= {end: np.clip(columns[end], low, high) for end in ("lower", "upper")}
    return {name: values[where.ravel()] for name, values in columns.items()}


def _among(known: BoolArray, values: Array) -> Array:
    out = np.full(len(known), np.nan)
    out[known] = values
    return out


def _table(what: str, asked: Asked, columns: dict[str, Array], *, bands: bool) -> pd.Series[float] | pd.DataFrame:
    table = asked.table(columns)
    return table if bands else table["mean"].rename(what)


Curve = Callable[[MixtureFit, Array, "float | None"], Quantity]
CURVES: dict[str, Curve] = {
    "survival": quantities.survival,
    "cumulative_hazard": quantities.cumulative_hazard,
    "hazard": quantities.hazard,
}


@dataclass(frozen=True, slots=True)
class MixtureTimes(TimeLaw):
    """Keeps the protocol of ``TimeLaw``: n rows that are all the same."""

    parts: MixtureParts
    n: int

    @property
    def discrete(self) -> bool:
        """See `TimeLaw`."""
        return self.parts.family.support == "counts"

    def curve(self, of: str, times: Array, after: Array | None, level: float | None) -> dict[str, Array]:
        """See `TimeLaw`."""
        V = None if level is None else covariance_of(self.parts)

        def at(start: float | None) -> dict[str, Array]:
            return _columns(CURVES[of](self.parts.fit, times, start), V, level)

        if after is None:
            return {name: np.broadcast_to(values, (self.n, len(times))) for name, values in at(None).items()}
        starts, back = np.unique(after, return_inverse=True)
        made = [at(float(start)) for start in starts] or [at(None)]
        return {name: np.stack([one[name] for one in made])[back] for name in made[0]}

    def survive(self, times: Array) -> Array:
        """See `TimeLaw`."""
        return np.asarray(self.parts.fit.predictive().logsf(times))

    def percentile(self, p: float, after: Array | None) -> Array:
        """See `TimeLaw`."""
        predictive = self.parts.fit.predictive()
        if after is None:
            return np.full(self.n, predictive.ppf(1.0 - p))
        starts, back = np.unique(after, return_inverse=True)
        return np.array([predictive.remaining(p, float(start)) for start in starts])[back]

    def mean(self) -> Array:
        """See `TimeLaw`."""
        value = quantities.finite_mean(self.parts.fit, "predict_median() and predict_percentile(p=) are finite")
        return np.full(self.n, value)

    def clipped(self, t: float, level: float | None) -> dict[str, Array]:
        """See `TimeLaw`; the area below the curve of the predictive distribution."""
        made = {"mean": left_area(MixtureTimes(self.parts, 1), t, None)}
        if level is not None:
            found = _columns(
                quantities.observed(self.parts.fit, np.zeros(1), np.full(1, t)), covariance_of(self.parts), level
            )
            made |= {name: np.clip(found[name], 0.0, t) for name in STATISTICS[1:]}
        return {name: np.repeat(values, self.n) for name, values in made.items()}


def _columns(of: Quantity, V: Array | None, level: float | None) -> dict[str, Array]:
    made = of.statistics(V, level, se=False)
    return made if level is None else made | {"median": of.centre()}


def times_of_rows(parts: MixtureParts, df: Frame | None, exclude: Any = ()) -> TimeRows:
    """Rows that curves are asked for; one, called 0, without any."""
    find_terms(parts, exclude)
    index = pd.RangeIndex(1) if df is None else read_table(df, []).index
    return TimeRows(index, np.ones(len(index), dtype=np.bool_), MixtureTimes(parts, len(index)))


KINDS = ("quantile", "cox_snell", "martingale", "response")


def residuals(fit: MixtureFit, kind: str, lower: Array, upper: Array, uniform: Array) -> Array:
    """Residuals of rows in (lower, upper], (n,).

    Shapes: lower, upper, uniform (n,).
    """
    if not isinstance(kind, str) or kind not in KINDS:
        raise SpecError(f"kind={kind!r} is not offered; choose one of {', '.join(map(repr, KINDS))}.")
    predictive = fit.predictive()
    if kind == "response":
        return np.asarray(impute(fit, lower, upper)[0] - finite_mean(fit, "kind='quantile' has no need of it"))
    if fit.model.family.support == "counts":
        lower = np.where(lower == upper, lower - 1.0, lower)
    if kind == "quantile":
        return _scores(predictive, lower, upper, uniform)
    censored = np.isposinf(upper)
    hazard = expected_hazard(
        predictive.cumulative_hazard(lower), predictive.cumulative_hazard(np.where(censored, lower, upper)), censored
    )
    return hazard if kind == "cox_snell" else np.where(censored, 0.0, 1.0) - hazard


def _scores(predictive: Predictive, lower: Array, upper: Array, uniform: Array) -> Array:
    with np.errstate(divide="ignore"):
        share, rest = np.log(uniform), np.log1p(-uniform)
        below = np.logaddexp(rest + predictive.logcdf(lower), share + predictive.logcdf(upper))
        above = np.logaddexp(rest + predictive.logsf(lower), share + predictive.logsf(upper))
    left = below < above
    score = ndtri_exp(np.minimum(np.where(left, below, above), 0.0))
    return np.asarray(np.where(left, score, -score))
