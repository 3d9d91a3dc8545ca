"""Weights of rows: whether they may be frequencies, and what they count for in tests if they are those of a sample."""

from __future__ import annotations

import warnings

import numpy as np

from tobitgp.errors import user_level
from tobitgp.typing import Array


def are_whole(weight: Array) -> bool:
    """Whether weights (n,) may be frequencies."""
    return bool((weight == np.round(weight)).all())


def effective_weight(weight: Array) -> Array:
    """Sampling weights (n,), which have no unit, with Kish's effective sample size as their sum."""
    return np.asarray(weight * (weight.sum() / (weight @ weight)))


def warn_whole(weight: Array) -> None:
    """Warn if a robust covariance treats weights (n,) as frequencies and no weight is 1."""
    least = float(weight[weight > 0.0].min(initial=np.inf))
    if 1.0 < least < np.inf and are_whole(weight):
        warnings.warn(
            f"weights= are whole numbers of at least {least:g}. Robust standard errors treat them as frequencies, so "
            f"that there are {weight.sum():g} observations. For sampling weights, add "
            "cov_kwds={'weights': 'sampling'}; for frequencies, add cov_kwds={'weights': 'frequency'}.",
            UserWarning,
            stacklevel=user_level(),
        )


_ROBUST = "maximum likelihood (method='mle') with cov_type='HC0' or 'cluster'"


def warn_fractions(weight: Array, robust: str = _ROBUST) -> None:
    """Warn of weights that are not whole numbers, and so not frequencies; ``robust`` suits sampling weights."""
    broken = weight != np.round(weight)
    if broken.any():
        warnings.warn(
            f"weights=: {broken.sum()} weights are not whole numbers, e.g. {weight[broken][0]:g}. Standard errors "
            f"treat them as frequencies, so that there are {weight.sum():g} observations. For sampling weights, use "
            f"{robust}. For weights of precision (noise variance sigma^2 / w), use var_weights=.",
            UserWarning,
            stacklevel=user_level(),
        )
