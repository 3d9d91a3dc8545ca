"""Marginal effects of fits by maximum likelihood, by the delta method: (REG14) and (REG15) of the theory pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tobitgp.data.arrays import Design
from tobitgp.kinds.likelihood import LikelihoodParts
from tobitgp.numerics.factored import of_sums
from tobitgp.posterior.estimates import Estimates
from tobitgp.results.counterfactuals import SLOPE, STEP, Change, Rows
from tobitgp.results.effect_questions import Asked, Effect
from tobitgp.typing import Array

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


def likelihood_effect(parts: LikelihoodParts, change: Change, rows: Rows, asked: Asked, *, averaged: bool) -> Effect:
    """The effect of a change, and its derivatives in the estimates, at all rows or at their mean."""
    high, low = Side.of(parts, change.high), Side.of(parts, change.low)
    width, weight, x = change.width, rows.weight, asked.multiplier(change)
    if averaged:
        x = np.array([weight @ x])
        high, low, width, weight = _about_mean(parts, high, low, width, weight, change.contrast)
    share, number = weight * x / width, asked.of_row(asked.question(parts.family.log_time, rows))
    value, k = 0.0, len(parts.covariance)
    gradient, size = np.zeros(k), np.zeros(k)
    for sign, side in ((1.0, high), (-1.0, low)):
        at = Estimates(parts.at, side.x, parts.units(side.x), np.empty(0), np.empty(0))
        value += sign * float(share @ number(at.new))
        slopes = share * at.slopes(number)
        gradient += sign * np.concatenate([x @ each for x, each in zip(slopes, side.columns, strict=True)])
        size += np.concatenate([np.abs(x) @ abs(each) for x, each in zip(slopes, side.columns, strict=True)])
    gradient[np.abs(gradient) <= _ROUNDING * size] = 0.0
    intensive = np.nan
    if asked.split:
        (mass, mean), (mass_low, mean_low) = (parts.at(s.x).inside(*rows.limits) for s in (high, low))
        intensive = float(share @ (0.5 * (mass + mass_low) * (mean - mean_low)))
    variance, lost = (float(of_sums(gradient[None], V).item()) for V in (parts.covariance, parts.unidentified))
    return Effect(np.array([value]), np.array([variance]), np.array([intensive]), np.ones(1), lost)


def _about_mean(
    parts: LikelihoodParts, high: Side, low: Side, width: Array, weight: Array, contrast: str
) -> tuple[Side, Side, Array, Array]:
    """Two rows on either side of the mean row of the design, moved as all rows are on average: a small step."""
    step = 1.0 if contrast == SLOPE else STEP
    here = Side.of(parts, parts.rows.design).mean(weight)
    up, down = high.mean(weight), low.mean(weight)
    sides = (here.moved(share * step, up, down) for share in (0.5, -0.5))
    return (*sides, np.array([step * float(weight @ width)]), np.ones(1))  # type: ignore[return-value]
