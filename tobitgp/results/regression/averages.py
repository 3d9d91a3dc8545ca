"""Averages over rows of a regression, with the delta method in all of its parameters: (STD2) of the theory pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tobitgp.data.arrays import Design
from tobitgp.distributions.location_scale import LocationScale
from tobitgp.engines import row_chunks
from tobitgp.numerics.factored import of_sums
from tobitgp.posterior.estimates import Estimates
from tobitgp.posterior.questions import Question
from tobitgp.regression.maximum import hide
from tobitgp.results.averages import Estimated, Population, Sought, averaged_median, averaged_remaining_median
from tobitgp.results.effects import CHUNK, side_of
from tobitgp.results.regression.parts import RegressionParts, predictors
from tobitgp.typing import Array

# Averages (m,) under a setting, their derivatives (m, k) in all parameters and (n, m) by how much each row moves them.
Under = Callable[[int], tuple[Array, Array, Array]]


def regression_averages(parts: RegressionParts, population: Population, sought: Sought) -> Estimated:
    """Averages with their covariance."""
    return delta_averages(lambda setting: _under(parts, population, setting, sought), parts, population, sought)


def delta_averages(under: Under, parts: RegressionParts, population: Population, sought: Sought) -> Estimated:
    """Averages under every setting with their covariance, (STD3) added where the rows are a sample."""
    found = [under(setting) for setting in range(population.settings)]
    value, gradient, each = (np.stack(values) for values in zip(*found, strict=True))
    covariance = np.empty((len(sought.times), len(found), len(found)))
    weight, total = population.weight, population.weight.sum()
    for k in range(len(covariance)):
        V, N = (of_sums(gradient[:, k], of) for of in (parts.covariance, parts.unidentified))
        covariance[k] = hide(V, N)
        if population.resampled:
            covariance[k] += (weight * each[:, :, k]) @ each[:, :, k].T / (total * (total + 1.0))
    return Estimated(sought, sought.within(value.T).T, covariance)


def _under(parts: RegressionParts, population: Population, setting: int, sought: Sought) -> tuple[Array, Array, Array]:
    """Averages (m,), their derivatives (m, k) in all parameters and (n, m) by how much each row moves them."""
    design, share = population.asked.design.rows(population.rows(setting)), population.weight / population.weight.sum()
    if sought.what != "median":
        return _mean(parts, design, share, sought.question(sought.times))
    eta, tau = predictors(parts, design)
    if sought.after is None:
        at, density = averaged_median(parts.noise, eta[:, None], np.exp(tau)[:, None], share[:, None])
        median = np.exp(at) if sought.positive else at
        stretch = (median if sought.positive else 1.0) / density
    else:
        y = LocationScale(parts.noise, eta[:, None], np.exp(tau)[:, None], sought.positive)
        median, density = averaged_remaining_median(y, share[:, None], sought.after)
        stretch = 1.0 / density
    _, gradient, each = _mean(parts, design, share, replace(sought, what="survival").question(median))
    return median, stretch * gradient, stretch * each


def _mean(parts: RegressionParts, design: Design, share: Array, question: Question) -> tuple[Array, Array, Array]:
    """The same of a question that is asked of every row."""

    def of_rows(rows: slice) -> tuple[Estimates, Sequence[Any]]:
        side = side_of(parts, design.rows(rows))
        x = tuple(value[:, None] for value in side.x)
        unit = (np.exp(x[1]), *(np.ones_like(value) for value in x[1:]))
        at = Estimates(parts.at, x, unit, np.empty(0), np.empty(0))
        return at, (side.H, side.W, np.ones((len(x[0]), 1)))

    return delta_mean(of_rows, share, question)


def delta_mean(
    of_rows: Callable[[slice], tuple[Estimates, Sequence[Any]]], share: Array, question: Question
) -> tuple[Array, Array, Array]:
    """The same, of rows whose parameters (n, 1) are linear in those of the model by some designs."""
    values, gradients = [], []
    for rows in row_chunks(0, len(share), CHUNK):
        at, designs = of_rows(rows)
        values.append(question.number(at.new))
        slopes = share[rows][:, None] * at.slopes(question.number)
        gradients.append(np.hstack([of.T @ to for of, to in zip(slopes, designs, strict=False)]))
    each = np.concatenate(values)
    value = share @ each
    with np.errstate(invalid="ignore"):  # of means that are infinite
        return value, np.sum(gradients, axis=0), each - value
