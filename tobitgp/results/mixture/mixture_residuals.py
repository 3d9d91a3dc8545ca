"""Residuals of the training rows of mixtures."""

from __future__ import annotations

import numpy as np

from tobitgp.mixture import impute
from tobitgp.results.mixture.mixture_parts import MixtureParts, training_ends
from tobitgp.results.residuals import Tails
from tobitgp.typing import Array


def mixture_tails(parts: MixtureParts) -> Tails:
    """Training rows as the predictive distribution has them; nothing has a window."""
    fit, (lower, upper, _) = parts.fit, training_ends(parts)
    predictive, free = fit.predictive(), np.full(len(lower), np.inf)
    if fit.model.family.support == "counts":
        lower = np.where(lower == upper, lower - 1.0, lower)

    def of(low: Array, high: Array) -> Array:
        return np.asarray(predictive.logcdf(high) if np.isneginf(low).all() else predictive.logsf(low))

    return Tails(of, lower, upper, -free, free)


def response_residuals(parts: MixtureParts) -> Array:
    """Responses, or their means given what was seen, less the mean."""
    lower, upper, _ = training_ends(parts)
    return np.asarray(impute(parts.fit, lower, upper)[0] - parts.fit.predictive().mean())
