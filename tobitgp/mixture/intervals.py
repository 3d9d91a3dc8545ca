r"""Intervals for the parameters of a fitted mixture.

A covariance says how wide an interval is, not what shape it has. With few exact rows the posterior of a mean has long
tails and that of a scale is skew, so each family keeps the shape of its own posterior with the information that the
covariance says is left: a gamma posterior of a rate, Student's t about a Gaussian component's mean and log sd. Weights
are normal on the logit scale. (LR6) and (LR7) of the theory pages.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from tobitgp.mixture.fitted import MixtureFit
from tobitgp.typing import Array


def intervals(fit: MixtureFit, V: Array, level: float = 0.95) -> Array:
    """Central intervals of all parameters.

    Shapes: V (p, p); gives (p, 2).
    """
    error = np.sqrt(np.diag(V))
    of_weights = _logit_interval(fit.weights, error[: fit.k], level)
    values = np.array(list(fit.parameters.values()))
    low, high = fit.model.family.interval(values, error[fit.k :].reshape(values.shape), level)
    return np.concatenate([of_weights, np.column_stack([low.ravel(), high.ravel()])])


def _logit_interval(weight: Array, error: Array, level: float) -> Array:
    inside = (weight > 0.0) & (weight < 1.0)
    variance = np.where(inside, weight * (1.0 - weight), 1.0)
    away = np.exp(ndtri(0.5 + 0.5 * level) * error / variance)
    ends = np.column_stack([weight / (weight + (1.0 - weight) * way) for way in (away, 1.0 / away)])
    return np.where(inside[:, None], ends, weight[:, None])
