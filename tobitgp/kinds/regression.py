"""Regressions: a response, or its logarithm, of which location and log sigma are linear in coefficients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from tobitgp.data.absorbed import Columns, centred
from tobitgp.data.arrays import Design
from tobitgp.data.outcome import outcome
from tobitgp.distributions.location_scale import LocationScale
from tobitgp.kinds.likelihood import SHAPE_STEP, SIGMA, LikelihoodParts
from tobitgp.likelihoods import Family
from tobitgp.numerics.bordered import of_sums
from tobitgp.regression import maximise, null_log_likelihood
from tobitgp.results.parameter_estimates import Linear
from tobitgp.results.ratios import Contrasts
from tobitgp.typing import Array, BoolArray


@dataclass(frozen=True, slots=True)
class RegressionParts(LikelihoodParts):
    """A fitted regression."""

    where_weights_fail: ClassVar[str] = "Fit a posterior by method='ep', or use tg.cross_validate()"

    @property
    def scale_names(self) -> list[str]:
        rest = len(self.maximum.parameters) - len(self.columns) - len(self.maximum.gamma)
        own = [SIGMA] if self.state.scale is None else list(self.scale_columns)
        return [*own, *([self.shape_name] * rest)]

    @property
    def positive(self) -> BoolArray:
        shape = [self.shape_name] if self.family.distribution.shape_positive else []
        return np.array([name in (SIGMA, *shape) for name in self.scale_names])

    def designs(self, design: Design) -> Sequence[Columns]:
        one = np.ones((len(design.H), 1))
        W = one if design.scale is None else design.scale.W
        return [centred(design.H, self.centre), W, *[one] * self.family.estimate_shape]

    def predictors(self, design: Design) -> tuple[Array, ...]:
        H, W, *shape = self.designs(design)
        tau = W @ self.maximum.gamma + design.log_noise
        rest = [np.full_like(tau, self.noise.coordinate) for _ in shape]
        return (H @ self.maximum.coefficients + design.offset, tau, *rest)

    def units(self, x: tuple[Array, ...]) -> tuple[Array, ...]:
        return (np.exp(x[1]), np.ones_like(x[1]), np.full_like(x[1], SHAPE_STEP))[: len(x)]

    def at(self, x: tuple[Array, ...]) -> LocationScale:
        return LocationScale(self.noise_at(x[2:]), x[0], np.exp(x[1]), self.family.log_time)

    def again(self, fixed: Mapping[str, float], *, scores: bool = False) -> Self:
        training = self.rows
        rows = outcome(training.response, log_time=self.family.log_time, labels=training.labels)
        p, given = len(self.columns), self.given | dict(fixed)
        known = np.array([given.get(name, np.nan) for name in self.names])
        log = np.concatenate([np.zeros(p, dtype=np.bool_), self.positive])
        with np.errstate(invalid="ignore", divide="ignore"):
            known = np.where(log, np.log(known), known)
        q = p + len(self.maximum.gamma)
        arguments, family = model_arguments(training.design, self.family), self.family
        if len(known) > q and not np.isnan(known[q]):
            family = replace(family, distribution=family.distribution.at_coordinate(known[q]), estimate_shape=False)
            arguments |= {"distribution": family.distribution, "estimate_shape": False}
        maximum = maximise(
            rows,
            training.design.H,
            fixed_coefficients=known[:p],
            fixed_gamma=known[p:q],
            scores=scores,
            **arguments,
        )
        return replace(
            self,
            family=family,
            maximum=maximum,
            covariance=maximum.inverse_information,
            unidentified=maximum.unidentified,
            cov_type="nonrobust",
            centre=np.zeros_like(self.centre),
            log_jacobian=rows.log_jacobian,
            llnull=None,
        )

    @property
    def null(self) -> float:
        if self.llnull is not None:
            return self.llnull
        if "Intercept" not in self.columns:
            return float("nan")
        rows = outcome(self.rows.response, log_time=self.family.log_time)
        arguments = model_arguments(self.rows.design, self.family)
        return null_log_likelihood(rows, fixed_gamma=known_scale(self), **arguments) + self.log_jacobian

    def without_rows(self) -> Self:
        """Parts that answer the same about new rows; what only the training rows could tell is noted first."""
        return replace(LikelihoodParts.without_rows(self), llnull=self.null)


def model_arguments(design: Design, family: Family) -> dict[str, Any]:
    """What ``maximise`` and ``null_log_likelihood`` are told of a model beside its rows and linear columns."""
    scale = design.scale
    return {
        "distribution": family.distribution,
        "offset": design.offset,
        "estimate_shape": family.estimate_shape,
        "W": None if scale is None else scale.W,
        "scale_offset": design.log_noise,
    }


def known_scale(parts: LikelihoodParts) -> Array:
    """Scale coefficients (q,) that were given, NaN where they were estimated."""
    p, gamma = len(parts.columns), parts.maximum.gamma
    return np.where(parts.maximum.free[p : p + len(gamma)], np.nan, gamma)


def log_ratios(parts: RegressionParts, contrasts: Contrasts, sign: float) -> Linear:
    """Differences of f over sigma, with the derivatives of (SUR11) in the coefficients and log sigma."""
    D, V = sign * contrasts.columns, parts.covariance
    sigma = float(np.exp(parts.maximum.gamma[0]))
    value = (D @ parts.coefficients + sign * contrasts.offset) / sigma
    gradient = np.zeros((len(D), len(V)))
    gradient[:, : D.shape[1]], gradient[:, D.shape[1]] = D / sigma, -value
    fixed = ~((gradient != 0.0) & parts.maximum.free).any(axis=1)
    return Linear(np.ones(1), value[None], [of_sums(gradient, V)], fixed, of_sums(gradient, parts.unidentified))
