"""Predictions of a regression as pandas tables: rows -> law of the response -> a scale -> value, error, interval."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.outcome import outcome
from tobitgp.data.response import build_response
from tobitgp.data.shapes import Design
from tobitgp.errors import SpecError
from tobitgp.regression.conditional import conditional, conditional_mean, shown
from tobitgp.regression.delta import delta_se, df_slope, interval
from tobitgp.regression.scales import SCALES, Predictor, Quantity, probability, quantile
from tobitgp.results.conditional import what_was_seen, with_response
from tobitgp.results.distribution import choose_scales
from tobitgp.results.predict import check_level, check_what
from tobitgp.results.regression.parts import TobitParts
from tobitgp.results.rows import Asked, ask
from tobitgp.results.terms import INTERCEPT, OFFSET, find_terms, model_terms
from tobitgp.typing import Array, Frame


def law_of_rows(parts: TobitParts, design: Design) -> tuple[Predictor, Array]:
    """Law of the response in the rows of a design, and the design (n, q) of log sigma."""
    maximum, n = parts.maximum, len(design.H)
    scale = design.scale
    W = np.ones((n, 1)) if scale is None else scale.W
    tau = W @ maximum.gamma + design.log_noise
    eta = (design.H - parts.centre) @ maximum.coefficients + design.offset
    return Predictor(eta, tau, parts.law, parts.family.log_time), W


def predict_tobit(
    parts: TobitParts,
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
    """Predictions with the index of the data; see ``TobitResults.predict``."""
    what, level, bands = check_what(what), check_level(interval), bool(se) or interval is not None
    scales, listed = choose_scales(what, q, below, above)
    if what == "terms":
        return _terms_table(parts, new, exclude, level=level, se=bool(se))
    if what == "conditional":
        return _conditional(parts, new, level=level, se=bool(se), exclude=exclude)
    asked = ask(parts, new, exclude, instead="what='uncensored'")
    rows, W = law_of_rows(parts, asked.design)
    tables = {}
    for key in scales:
        of = _quantity(what, key, asked, above=above is not None)
        slope = df_slope(of, rows) if bands and parts.family.estimate_df else None
        tables[key] = _columns(parts, of(rows), asked.design.H - parts.centre, W, level, se=bool(se), slope=slope)
    if what == "observed" and level is not None:
        for columns in tables.values():
            columns |= {end: np.clip(columns[end], *asked.limits().ends) for end in ("lower", "upper")}
    if not listed:
        (only,) = tables.values()
        table = asked.table(only)
        return table if bands else table["mean"].rename(what)
    if bands:
        made = [asked.table(columns) for columns in tables.values()]
        return pd.concat(made, axis=1, keys=list(tables), names=["value", "statistic"])
    return pd.DataFrame({key: asked.spread(columns["mean"]) for key, columns in tables.items()}, index=asked.index)


def _quantity(what: str, key: Any, asked: Asked, *, above: bool) -> Callable[[Predictor], Quantity]:
    """The quantity that a scale stands for."""
    if what == "quantile":
        return lambda rows: quantile(rows, float(key))
    if what == "prob":
        return lambda rows: probability(rows, np.full(len(rows.eta), float(key)), above=above)
    if what == "observed":
        return lambda rows: shown(rows, *asked.limits())
    return SCALES[what]


def _columns(
    parts: TobitParts,
    quantity: Quantity,
    H: Array,
    W: Array,
    level: float | None,
    *,
    se: bool,
    slope: Array | None = None,
) -> dict[str, Array]:
    """Value, error and interval; ``slope`` is the derivative in log df where that was estimated."""
    out = {"mean": quantity.value}
    if se or level is not None:
        out["se"] = delta_se(quantity, H, W, parts.covariance, d_log_df=slope, unidentified=parts.unidentified)
    if level is not None:
        out["lower"], out["upper"] = interval(quantity.value, out["se"], level, quantity.link)
    return out


def _terms_table(parts: TobitParts, new: Frame | None, exclude: Any, *, level: float | None, se: bool) -> pd.DataFrame:
    """Partial effects, a group of columns for each term that is not excluded."""
    asked = ask(parts, new, exclude)
    left_out = {term.name for term in find_terms(parts, exclude)}
    design, tables = asked.design, {}
    for term in model_terms(parts):
        if term.name in left_out:
            continue
        H = np.zeros_like(design.H)
        H[:, list(term.columns)] = design.H[:, list(term.columns)]
        value = design.offset if term.name == OFFSET else H @ parts.coefficients
        one, none = np.ones(len(value)), np.zeros(len(value))
        quantity = Quantity(value, one, none, "identity")
        tables[term.name] = asked.table(
            _columns(parts, quantity, H @ parts.uncentring, np.zeros((len(value), 1)), level, se=se)
        )
    assert tables or INTERCEPT not in parts.columns
    return pd.concat(tables.values(), axis=1, keys=list(tables), names=["term", "statistic"]).astype(np.float64)


def _conditional(
    parts: TobitParts, new: Frame | None, *, level: float | None, se: bool, exclude: Any
) -> pd.Series[float] | pd.DataFrame:
    """Responses where they were seen, their means given what was seen elsewhere; intervals lie within what was seen."""
    if len(exclude):
        raise SpecError("what='conditional' holds what was seen of the whole response: no exclude=.")
    asked = ask(parts, new)
    if new is None:
        response = parts.rows.response
    else:
        asked = with_response(parts, new, asked)
        table = what_was_seen(parts, new).take(asked.usable)
        response = build_response(parts.spec, table, np.ones(table.n))
    seen = outcome(response, log_time=parts.family.log_time, labels=asked.labels.to_numpy())
    rows, W = law_of_rows(parts, asked.design)
    if level is None and not se:
        values = conditional_mean(rows, seen.lower, seen.upper)
        return pd.Series(asked.spread(values), index=asked.index, name="conditional")

    def of(at: Predictor) -> Quantity:
        return conditional(at, seen.lower, seen.upper)

    slope = df_slope(of, rows) if parts.family.estimate_df else None
    columns = _columns(parts, of(rows), asked.design.H - parts.centre, W, level, se=se, slope=slope)
    if level is not None:
        with np.errstate(over="ignore"):
            ends = [np.exp(end) if parts.family.log_time else end for end in (seen.lower, seen.upper)]
        columns |= {end: np.clip(columns[end], *ends) for end in ("lower", "upper")}
    return asked.table(columns)
