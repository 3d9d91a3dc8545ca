"""Arithmetic of probabilities that keeps its digits, or its meaning, where the plain one would not."""

from __future__ import annotations

import numpy as np

from tobitgp.typing import Array


def log_difference(x: Array, y: Array) -> Array:
    """``log(exp x - exp y)``, minus infinity where y is not below x."""
    return x + np.log(-np.expm1(np.minimum(y - x, 0.0)))


def weighted(value: Array, probability: Array) -> Array:
    """Product of a value and its probability: 0 where that is 0, were the value infinite."""
    return np.where(probability > 0.0, value, 0.0) * probability


def log_complement(log_p: Array) -> Array:
    """``log(1 - p)``."""
    return np.where(log_p > -0.7, np.log(-np.expm1(log_p)), np.log1p(-np.exp(log_p)))
