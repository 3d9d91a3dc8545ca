"""Residuals of the training rows of regressions."""

from __future__ import annotations

import numpy as np

from tobitgp.data.outcome import outcome
from tobitgp.distributions.location_scale import LocationScale
from tobitgp.kinds.likelihood import LikelihoodParts
from tobitgp.kinds.regression import RegressionParts
from tobitgp.posterior.nodes import Nodes
from tobitgp.regression.deviance_residuals import deviance
from tobitgp.results.process.process_residuals import pearson
from tobitgp.results.rows import Asked
from tobitgp.typing import Array


def response_residuals(parts: LikelihoodParts, asked: Asked) -> Array:
    """Responses, or their means given what was seen, less means."""
    y = parts.in_training()
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(y.conditional_mean(*parts.known(parts.rows.response).within_window) - y.mean())


def pearson_residuals(parts: LikelihoodParts, asked: Asked) -> Array:
    """The same on the scale of the location, in standard deviations there."""
    return np.asarray(parts.in_training().pearson(*parts.known(parts.rows.response).within_window))


def noise_residuals(parts: RegressionParts, asked: Asked) -> Array:
    """The same on the scale of the location, in standard deviations of the noise."""
    y, known = parts.in_training(), outcome(parts.rows.response, log_time=parts.family.log_time)
    latent = LocationScale(y.noise, y.location, y.scale).conditional_mean(known.lower, known.upper)
    one = y.location[None]
    return pearson(Nodes(np.ones(1), one, 0.0 * one, y.scale[None], noises=(y.noise,)), latent)


def deviance_residuals(parts: RegressionParts, asked: Asked) -> Array:
    """Signed roots of deviances, (REG18)."""
    return deviance(parts.in_training(), outcome(parts.rows.response, log_time=parts.family.log_time))
