"""Regressions: a response, or its logarithm, of which location and log sigma are linear in coefficients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from tobitgp.data.arrays import Design
from tobitgp.data.outcome import outcome
from tobitgp.kinds.likelihood import LikelihoodParts
from tobitgp.likelihoods import Family
from tobitgp.numerics.bordered import of_sums
from tobitgp.regression import maximise, null_log_likelihood
from tobitgp.results.parameter_estimates import Linear
from tobitgp.results.ratios import Contrasts
from tobitgp.typing import Array


@dataclass(frozen=True, slots=True)
class RegressionParts(LikelihoodParts):
    """A fitted regression."""

    def again(self, fixed: Mapping[str, float], *, scores: bool = False) -> Self:
        training = self.rows
        rows = outcome(training.response, log_time=self.family.log_time, labels=training.labels)
        p, known = len(self.columns), self.given_values
        known[[self.names.index(name) for name in fixed]] = [*fixed.values()]
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
    """Arguments of ``maximise`` and ``null_log_likelihood`` for a model, except its rows and linear columns."""
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
