"""Arithmetic of probabilities that keeps its digits, or its meaning, where the plain one would not."""

from __future__ import annotations

import numpy as np

from tobitgp.typing import Array


def log_difference(x: Array, y: Array) -> Array:
    """``log(exp x - exp y)``, minus infinity where y is not below x.

    Parameters
    ----------
    x, y : arrays that broadcast together
        Not both infinite, for then it is NaN.

    Returns
    -------
    array

    Examples
    --------
    >>> print(log_difference(np.array([-800.0, -800.0]), np.array([-801.0, -np.inf])).round(6))
    [-800.458675 -800.      ]
    """
    return x + np.log(-np.expm1(np.minimum(y - x, 0.0)))


def weighted(value: Array, probability: Array) -> Array:
    """Product of a value and its probability: 0 where that is 0, were the value infinite.

    Parameters
    ----------
    value, probability : arrays that broadcast together

    Returns
    -------
    array

    Examples
    --------
    >>> print(weighted(np.array([np.inf, 4.0]), np.array([0.0, 0.5])))
    [0. 2.]
    """
    return np.where(probability > 0.0, value, 0.0) * probability
