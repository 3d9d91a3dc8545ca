"""What a cure model was made from and what it found: distributions of times in rows, the cured fraction."""

from __future__ import annotations

from dataclasses import dataclass, replace

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
from tobitgp.results.regression.parts import SHAPE_STEP, SIGMA, RegressionParts
from tobitgp.results.survival import Times
from tobitgp.typing import Array

ENDS = ("iterations", "log_likelihood", "cured", "converged")


@dataclass(frozen=True, slots=True)
class CureParts(RegressionParts):
    """A fitted cure model; ``maximum.gamma`` are the coefficients of the logit of the cured fraction, and log sigma."""

    ends: Array | None = None  # (3, 4), of each start ``ENDS``
    last: float = np.inf  # the longest follow-up

    @property
    def scale_names(self) -> list[str]:
        """Coefficients of the cured fraction, and parameters of the noise."""
        return [*self.scale_columns, SIGMA, *([self.shape_name] if self.family.estimate_shape else [])]

    @property
    def one_fraction(self) -> bool:
        """Whether the cured fraction is the same in all rows."""
        assert self.spec.scale is not None
        return self.scale_columns == ("cured[Intercept]",) and not self.spec.scale.offsets

    def without_rows(self) -> CureParts:
        """Parts that answer the same about new rows."""
        maximum = replace(self.maximum, scores=None)
        return replace(self, facts=replace(self.facts), maximum=maximum, training=None, covariates=None)


@dataclass(frozen=True, slots=True)
class CureTimes(Times):
    """Times of rows some of which never have the event."""

    last: float

    def order(self) -> Array:
        """Mean times up to the longest follow-up: many medians may be infinite."""
        return self.clipped(self.last, None)["mean"]


def designs_of(parts: CureParts, design: Design) -> list[Array]:
    """Columns (n, k_j) of location, logit of the cured fraction, log sigma and, where it is estimated, the shape."""
    one = np.ones((len(design.H), 1))
    assert design.scale is not None
    return [as_dense(design.H), design.scale.W, one, *([one] if parts.family.estimate_shape else [])]


def row_parameters(parts: CureParts, design: Design) -> tuple[Array, ...]:
    """Location, logit, log sigma and, where it is estimated, the shape of rows, (n,) each."""
    H, Z, one, *_ = designs_of(parts, design)
    maximum = parts.maximum
    x = [H @ maximum.coefficients + design.offset, Z @ maximum.gamma[:-1] + design.log_noise]
    x.append(one[:, 0] * maximum.gamma[-1])
    return (*x, one[:, 0] * parts.noise.coordinate) if parts.family.estimate_shape else tuple(x)


def uncured_at(parts: CureParts, x: tuple[Array, ...]) -> LocationScale:
    """Distributions of the times of those who are not cured."""
    shaped = len(x) > 3 and x[3].size
    noise = parts.noise.at_coordinate(float(x[3].flat[0])) if shaped else parts.noise
    return LocationScale(noise, x[0], np.exp(x[2]), log=True)


def cured_at(parts: CureParts, x: tuple[Array, ...]) -> Cured:
    """Distributions of times at values of their parameters."""
    return Cured(uncured_at(parts, x), x[1])


def estimates_of_rows(parts: CureParts, design: Design, *, bands: bool, uncured: bool = False) -> Estimates:
    """Those of the rows of a design and, for ``bands``, their covariance: (CUR4) of the theory pages."""
    x = row_parameters(parts, design)
    one = np.ones_like(x[0])
    unit = (np.exp(x[2]), one, one, SHAPE_STEP * one)[: len(x)]
    V = N = np.empty((len(one), 0, 0))
    if bands:
        V, N = (
            _row_covariance(designs_of(parts, design), np.asarray(M)) for M in (parts.covariance, parts.unidentified)
        )
    at = uncured_at if uncured else cured_at
    return Estimates(lambda moved: at(parts, moved), x, unit, V, N)


def _row_covariance(designs: list[Array], V: Array) -> Array:
    """Covariance (n, r, r) of the parameters of rows from that of the estimates (k, k)."""
    ends = np.cumsum([design.shape[1] for design in designs])[:-1]
    out = np.empty((len(designs[0]), len(designs), len(designs)))
    for a, (left, strip) in enumerate(zip(designs, np.split(V, ends), strict=True)):
        for b, (right, block) in enumerate(zip(designs, np.split(strip, ends, axis=1), strict=True)):
            out[:, a, b] = np.einsum("ij,ij->i", left @ block, right)
    return out


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
        Z, v, weight = designs_of(parts, design)[1], row_parameters(parts, design)[1], parts.rows.response.weight
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
    H, Z, one, *_ = designs_of(parts, design)
    known = [free[:p], gamma, free[p + len(gamma) : p + len(gamma) + 1]]
    return cure_problem(
        outcome(parts.rows.response, log_time=True),
        (H, Z, one),
        (design.offset, design.log_noise, np.zeros(len(H))),
        parts.noise,
        known,
        free_shape=parts.family.estimate_shape and bool(maximum.free[-1]),
    )
