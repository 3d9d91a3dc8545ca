"""Marginal effects of a regression as a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from tobitgp.data.shapes import Design
from tobitgp.errors import SpecError
from tobitgp.regression.conditional import shown
from tobitgp.regression.effects import Side, effect, split
from tobitgp.regression.scales import Predictor, Quantity, latent, probability
from tobitgp.results.changes import SLOPE, STEP, changes, rows_at
from tobitgp.results.distribution import choose_scales
from tobitgp.results.predict import check_alpha
from tobitgp.results.regression.parts import TobitParts
from tobitgp.results.regression.predict import law_of_rows
from tobitgp.results.rows import Limits, mean_limits
from tobitgp.typing import Array

WHATS = ("latent", "observed", "prob")


def tobit_effects(parts: TobitParts, what: str, at: Any, *, below: Any, above: Any, alpha: float) -> pd.DataFrame:
    """Effects of all columns; see ``TobitResults.marginal_effects``."""
    alpha = check_alpha(alpha)
    if what not in WHATS:
        raise SpecError(f"what={what!r} has no marginal effects; choose one of {', '.join(map(repr, WHATS))}.")
    scales, listed = choose_scales(what, None, below, above)
    if listed:
        raise SpecError("Marginal effects are on one probability: give below= or above= one number.")
    averaged = isinstance(at, str) and at == "design"
    rows = rows_at(parts, "overall" if averaged else at, need_limits=what == "observed")
    limits = mean_limits(parts) if averaged and what == "observed" else rows.limits
    limit = float(next(iter(scales))) if what == "prob" else np.nan
    quantity = _quantity(what, limits, limit, above=above is not None)
    found, labels, parts_of = [], [], []
    for change in changes(parts, rows.frame):
        sides = _side(parts, change.high), _side(parts, change.low), change.width, rows.weight
        high, low, width, weight = _about_mean(parts, *sides, change.contrast) if averaged else sides
        found.append(effect(high, low, width, weight, parts.covariance, quantity, parts.unidentified))
        labels.append((change.variable, change.contrast))
        if what == "observed":
            parts_of.append(split(high, low, width, weight, limits))
    if not found:
        raise SpecError("This model has no column whose effect could be formed.")
    value, se = (np.array([getattr(one, name) for one in found]) for name in ("value", "se"))
    z = np.divide(value, se, out=np.full_like(se, np.nan), where=se > 0.0)
    reach = float(-ndtri(0.5 * alpha)) * se
    columns = {"dydx": value, "se": se, "z": z, "p": 2.0 * ndtr(-np.abs(z)), "lower": value - reach}
    columns["upper"] = value + reach
    if what == "observed":
        columns |= {name: np.array([getattr(one, name) for one in parts_of]) for name in ("intensive", "extensive")}
    return pd.DataFrame(columns, index=pd.MultiIndex.from_tuples(labels, names=["variable", "contrast"]))


def _side(parts: TobitParts, design: Design) -> Side:
    rows, W = law_of_rows(parts, design)
    return Side(design.H - parts.centre, W, rows)


def _about_mean(
    parts: TobitParts, high: Side, low: Side, width: Array, weight: Array, contrast: str
) -> tuple[Side, Side, Array, Array]:
    """Two rows on either side of the mean row of the design, moved as all rows are on average: a small step."""
    step = 1.0 if contrast == SLOPE else STEP
    here, up, down = (_mean_side(side, weight) for side in (_side(parts, parts.rows.design), high, low))

    def move(of: Callable[[Side], Array], share: float) -> Array:
        return of(here) + share * step * (of(up) - of(down))

    def moved(share: float) -> Side:
        eta, tau = move(lambda side: side.rows.eta, share), move(lambda side: side.rows.tau, share)
        rows = replace(here.rows, eta=eta, tau=tau)
        return Side(move(lambda side: side.H, share), move(lambda side: side.W, share), rows)

    return moved(0.5), moved(-0.5), np.array([step * float(weight @ width)]), np.ones(1)


def _mean_side(side: Side, weight: Array) -> Side:
    """The average of rows, as one row."""
    H, W, eta, tau = ((weight @ x)[None] for x in (side.H, side.W, side.rows.eta, side.rows.tau))
    return Side(H, W, replace(side.rows, eta=eta, tau=tau))


def _quantity(what: str, limits: Limits, limit: float, *, above: bool) -> Callable[[Predictor], Quantity]:
    """The prediction whose change is asked."""
    if what == "latent":
        return latent
    if what == "observed":
        return lambda rows: shown(rows, *limits)
    return lambda rows: probability(rows, np.full(len(rows.eta), limit), above=above)
