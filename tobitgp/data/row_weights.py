"""Weights of rows: whether they may be frequencies, and what they count for in tests if they are those of a sample."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Fractions:
    """Weights that are not whole numbers."""

    count: int
    example: float  # NaN without any

    @classmethod
    def of(cls, weight: Array) -> Fractions:
        """Those among weights."""
        broken = weight[weight != np.round(weight)]
        return cls(len(broken), float(broken[0]) if len(broken) else np.nan)

    def merge(self, other: Fractions) -> Fractions:
        """Those of two sets of rows."""
        return Fractions(self.count + other.count, self.example if self.count else other.example)


def warn_fractions(found: Fractions, total: float, robust: str = _ROBUST) -> None:
    """Warn of weights that are not whole numbers, and so not frequencies; ``robust`` suits sampling weights."""
    if found.count:
        warnings.warn(
            f"weights=: {found.count} weights are not whole numbers, e.g. {found.example:g}. Standard errors "
            f"treat them as frequencies, so that there are {total:g} observations. For sampling weights, use "
            f"{robust}. For weights of precision (noise variance sigma^2 / w), use var_weights=.",
            UserWarning,
            stacklevel=user_level(),
        )
