"""What a cure model was made from and what it found: distributions of times in rows, the cured fraction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tobitgp.data.absorbed import as_dense
from tobitgp.data.arrays import Design
from tobitgp.data.outcome import outcome
from tobitgp.distributions.cured import Cured
from tobitgp.distributions.location_scale import LocationScale
from tobitgp.errors import SpecError
from tobitgp.posterior.estimates import Estimates
from tobitgp.posterior.questions import Question
from tobitgp.regression.cure import CureProblem, cure_problem
from tobitgp.results.distributional.parts import DistributionalParts
from tobitgp.results.regression.parts import SHAPE_STEP, SIGMA
from tobitgp.typing import Array

ENDS = ("iterations", "log_likelihood", "cured", "converged")


@dataclass(frozen=True, slots=True)
class CureParts(DistributionalParts):
    """A fitted cure model; ``maximum.gamma`` are the coefficients of the logit of the cured fraction, and log sigma."""

    ends: Array | None = None  # (3, 4), of each start ``ENDS``

    @property
    def scale_names(self) -> list[str]:
        """Coefficients of the cured fraction, and parameters of the noise."""
        return [*self.scale_columns, SIGMA, *([self.shape_name] if self.family.estimate_shape else [])]

    @property
    def one_fraction(self) -> bool:
        """Whether the cured fraction is the same in all rows."""
        assert self.spec.scale is not None
        return self.scale_columns == ("cured[Intercept]",) and not self.spec.scale.offsets

    def designs(self, design: Design) -> list[Array]:
        """Columns (n, k_j) of location, logit of the cured fraction, log sigma and, if estimated, the shape."""
        one = np.ones((len(design.H), 1))
        assert design.scale is not None
        return [as_dense(design.H), design.scale.W, one, *([one] if self.family.estimate_shape else [])]

    def predictors(self, design: Design) -> tuple[Array, ...]:
        """Location, logit, log sigma and, where it is estimated, the shape of rows, (n,) each."""
        H, Z, one, *_ = self.designs(design)
        x = [H @ self.maximum.coefficients + design.offset, Z @ self.maximum.gamma[:-1] + design.log_noise]
        x.append(one[:, 0] * self.maximum.gamma[-1])
        return (*x, one[:, 0] * self.noise.coordinate) if self.family.estimate_shape else tuple(x)

    def units(self, x: tuple[Array, ...]) -> tuple[Array, ...]:
        """Sizes of steps of the parameters."""
        one = np.ones_like(x[0])
        return (np.exp(x[2]), one, one, SHAPE_STEP * one)[: len(x)]

    def uncured_at(self, x: tuple[Array, ...]) -> LocationScale:
        """Distributions of the times of those who are not cured."""
        noise = self.noise
        if len(x) > 3 and x[3].size:
            noise = noise.at_coordinate(float(np.clip(x[3].flat[0], *noise.coordinate_range())))
        return LocationScale(noise, x[0], np.exp(x[2]), log=True)

    def at(self, x: tuple[Array, ...]) -> Cured:
        """Distributions of times at values of their parameters."""
        return Cured(self.uncured_at(x), x[1])

    @property
    def draw_by_draw(self) -> bool:
        """Whether every draw has a noise of its own."""
        return self.family.estimate_shape


def being_cured(start: Array | None = None) -> Question:
    """Probability of being cured, given survival of ``start`` (n,) where one is given."""
    if start is None:
        return Question(lambda y: y.logit, "logit", sure=True)
    return Question(lambda y, first: y.cured_log_odds(first), "logit", (start,), sure=True)


def mean_cured(parts: CureParts) -> Estimates:
    """The cured fraction averaged over the rows of the fit, as a logit with its variance: one row."""
    design = parts.training.design if parts.training is not None else None
    if design is None and not parts.one_fraction:
        raise SpecError("The average cured fraction is of training rows, which this fit does not hold; use predict().")
    p, q = len(parts.columns), len(parts.maximum.gamma) - 1
    Z, weight = np.ones((1, 1)), np.ones(1)
    v = parts.maximum.gamma[:-1]
    if design is not None:
        Z, v, weight = parts.designs(design)[1], parts.predictors(design)[1], parts.rows.response.weight
    share = weight / weight.sum()
    pi = 1.0 / (1.0 + np.exp(-v))
    mean = float(share @ pi)
    slope = (share * pi * (1.0 - pi)) @ Z / (mean * (1.0 - mean))
    V, N = (np.asarray(M)[p : p + q, p : p + q] for M in (parts.covariance, parts.unidentified))
    x = (np.array([np.log(mean) - np.log1p(-mean)]),)
    at = (np.array([[[slope @ V @ slope]]]), np.array([[[slope @ N @ slope]]]))
    return Estimates(lambda moved: _Logit(moved[0]), x, (np.ones(1),), *at)


@dataclass(frozen=True, slots=True)
class _Logit:
    """A probability of being cured."""

    logit: Array


def problem_of(parts: CureParts, gamma: Array) -> CureProblem:
    """The likelihood of the training rows with the logit's coefficients (q,) given, other known ones as they were."""
    design, maximum, p = parts.rows.design, parts.maximum, len(parts.columns)
    free = np.where(maximum.free, np.nan, maximum.parameters)
    H, Z, one, *_ = parts.designs(design)
    known = [free[:p], gamma, free[p + len(gamma) : p + len(gamma) + 1]]
    return cure_problem(
        outcome(parts.rows.response, log_time=True),
        (H, Z, one),
        (design.offset, design.log_noise, np.zeros(len(H))),
        parts.noise,
        known,
        free_shape=parts.family.estimate_shape and bool(maximum.free[-1]),
    )
