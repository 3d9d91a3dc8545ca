"""Averages over rows, with the delta method in all parameters of a fit: (STD2) of the theory pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tobitgp.data.arrays import Design
from tobitgp.engines import row_chunks
from tobitgp.kinds.likelihood import LikelihoodParts, estimates_of_rows
from tobitgp.numerics.bordered import of_sums
from tobitgp.posterior.estimates import Estimates
from tobitgp.posterior.questions import Question
from tobitgp.regression.maximum import hide
from tobitgp.results.averages import Estimated, Population, Sought
from tobitgp.results.counterfactuals import SLOPE, STEP, Change, ChangedRows
from tobitgp.results.effect_questions import ROUNDING, Effect, EffectRequest
from tobitgp.typing import Array

_FURTHEST = 1e6  # times the longest median, beyond which none is sought

CHUNK = 2048  # rows


def likelihood_averages(parts: LikelihoodParts, population: Population, sought: Sought) -> Estimated:
    """Averages under every setting with their covariance, (STD3) added where the rows are a sample."""
    found = [_under(parts, population, setting, sought) for setting in range(population.settings)]
    value, gradient, each = (np.stack(values) for values in zip(*found, strict=True))
    covariance = np.empty((len(sought.times), len(found), len(found)))
    weight, total = population.weight, population.weight.sum()
    for k in range(len(covariance)):
        V, N = (of_sums(gradient[:, k], of) for of in (parts.covariance, parts.unidentified))
        covariance[k] = hide(V, N)
        if population.resampled:
            covariance[k] += (weight * each[:, :, k]) @ each[:, :, k].T / (total * (total + 1.0))
    return Estimated(sought, sought.within(value.T).T, covariance)


def _under(parts: LikelihoodParts, population: Population, setting: int, sought: Sought) -> tuple[Array, Array, Array]:
    """Averages (m,), their derivatives (m, k) in all parameters and (n, m) by how much each row moves them."""
    design, share = population.asked.design.rows(population.rows(setting)), population.weight / population.weight.sum()
    if sought.what != "median":
        return _mean(parts, design, share, sought.question(sought.times))
    y = parts.at(parts.predictors(design))
    at, density = _median(y, share, sought.after)
    if not np.isfinite(at):  # most never have the event
        k = len(parts.maximum.free)
        return np.array([at]), np.full((1, k), np.nan), np.full((len(share), 1), np.nan)
    _, gradient, each = _mean(parts, design, share, replace(sought, what="survival").question(np.array([at])))
    with np.errstate(divide="ignore", invalid="ignore"):  # where hardly any row has its end there
        return np.array([at]), gradient / density, each / density


def _median(y: Any, share: Array, after: float | None) -> tuple[float, float]:
    """Value beyond which averaged survival is one half, given survival of ``after``, and the density there."""
    from scipy.optimize import brentq

    start = np.full(len(share), 0.0 if after is None else after)
    middle = y.ppf(0.5) if after is None else y.remaining(0.5, start)
    alive = np.zeros(len(share)) if after is None else y.logsf(start)
    finite = middle[np.isfinite(middle)]
    positive = y.log and bool((finite > 0.0).all())

    def above(x: float) -> float:
        at = start + (np.exp(x) if positive else x)
        return float(share @ np.exp(y.logsf(at) - alive)) - 0.5

    if not len(finite):
        return np.inf, np.nan
    low, high = finite.min(), finite.max()
    if len(finite) < len(middle):
        high = high + _FURTHEST * abs(high)
    ends = (np.log(low) - 1e-9, np.log(high) + 1e-9) if positive else (low, high)
    if above(ends[1]) > 0.0 and len(finite) < len(middle):
        return np.inf, np.nan
    if above(ends[0]) <= 0.0 or above(ends[1]) >= 0.0:  # all rows have the same, or most are 0
        found = ends[0] if above(ends[0]) <= 0.0 else ends[1]
    else:
        found = float(brentq(above, *ends, xtol=1e-14, rtol=8.9e-16))
    value = float(np.exp(found)) if positive else float(found)
    return value, float(share @ np.exp(y.logpdf(start + value) - alive))


def _mean(parts: LikelihoodParts, design: Design, share: Array, question: Question) -> tuple[Array, Array, Array]:
    """The same for a question about every row."""
    values, gradients = [], []
    for rows in row_chunks(0, len(share), CHUNK):
        part = design.rows(rows)
        at = estimates_of_rows(parts, part, bands=False).spread_over()
        values.append(question.number(at.new))
        slopes = share[rows][:, None] * at.slopes(question.number)
        gradients.append(np.hstack([of.T @ to for of, to in zip(slopes, parts.designs(part), strict=True)]))
    each = np.concatenate(values)
    value = share @ each
    with np.errstate(invalid="ignore"):  # of means that are infinite
        return value, np.sum(gradients, axis=0), each - value


_ROUNDING = 1e-12


class Side(NamedTuple):
    """n rows with a column at one of its two values."""

    columns: Sequence[Any]  # (n, k_j) of each parameter of rows
    x: tuple[Array, ...]  # the parameters, (n,) each

    @classmethod
    def of(cls, parts: LikelihoodParts, design: Design) -> Side:
        """Rows of a design at the estimates."""
        return cls(parts.designs(design), parts.predictors(design))

    def mean(self, weight: Array) -> Side:
        """The mean row."""
        return Side([(weight @ each)[None] for each in self.columns], tuple((weight @ x)[None] for x in self.x))

    def moved(self, step: float, up: Side, down: Side) -> Side:
        """The row moved by a share of the difference of two others."""
        columns = [at + step * (a - b) for at, a, b in zip(self.columns, up.columns, down.columns, strict=True)]
        return Side(columns, tuple(at + step * (a - b) for at, a, b in zip(self.x, up.x, down.x, strict=True)))


def likelihood_effect(
    parts: LikelihoodParts, change: Change, rows: ChangedRows, asked: EffectRequest, *, averaged: bool
) -> Effect:
    """The effect of a change, and its derivatives in the estimates, at all rows or at their mean."""
    high, low = Side.of(parts, change.high), Side.of(parts, change.low)
    width, weight, x = change.width, rows.weight, change.multiplier(by_share=asked.by_share)
    if averaged:
        x = np.array([weight @ x])
        high, low, width, weight = _about_mean(parts, high, low, width, weight, change.contrast)
    share, number = weight * x / width, asked.of_row(asked.question(parts.family.log_time, rows))
    value, rounding, k = 0.0, 0.0, len(parts.covariance)
    gradient, size = np.zeros(k), np.zeros(k)
    for sign, side in ((1.0, high), (-1.0, low)):
        at = Estimates(parts.at, side.x, parts.units(side.x), np.empty(0), np.empty(0))
        numbers = number(at.new)
        value += sign * float(share @ numbers)
        rounding += ROUNDING * float(np.abs(share) @ np.abs(numbers))
        slopes = share * at.slopes(number)
        gradient += sign * np.concatenate([x @ each for x, each in zip(slopes, side.columns, strict=True)])
        size += np.concatenate([np.abs(x) @ abs(each) for x, each in zip(slopes, side.columns, strict=True)])
    gradient[np.abs(gradient) <= _ROUNDING * size] = 0.0
    intensive = np.nan
    if asked.split:
        (mass, mean), (mass_low, mean_low) = (parts.at(s.x).inside(*rows.limits) for s in (high, low))
        intensive = float(share @ (0.5 * (mass + mass_low) * (mean - mean_low)))
    variance, lost = (float(of_sums(gradient[None], V).item()) for V in (parts.covariance, parts.unidentified))
    return Effect(np.array([value]), np.array([variance]), np.array([intensive]), np.ones(1), lost, rounding)


def _about_mean(
    parts: LikelihoodParts, high: Side, low: Side, width: Array, weight: Array, contrast: str
) -> tuple[Side, Side, Array, Array]:
    """Two rows on either side of the mean row of the design, moved as all rows are on average: a small step."""
    step = 1.0 if contrast == SLOPE else STEP
    here = Side.of(parts, parts.rows.design).mean(weight)
    up, down = high.mean(weight), low.mean(weight)
    sides = (here.moved(share * step, up, down) for share in (0.5, -0.5))
    return (*sides, np.array([step * float(weight @ width)]), np.ones(1))  # type: ignore[return-value]
