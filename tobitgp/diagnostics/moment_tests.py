"""Tests of the moments of weighted normal numbers, and weighted ranks.

Weights sum to n, the number of independent values of equal weight that have the same information.

References
----------
.. [1] R. B. D'Agostino, "Transformation to normality of the null distribution of g1", Biometrika 57 (1970).
.. [2] F. J. Anscombe and W. J. Glynn, "Distribution of the kurtosis statistic b2 for normal samples", Biometrika 70
   (1983).
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from tobitgp.typing import Array


def skewness_test(values: Array, weight: Array) -> tuple[float, float]:
    """Skewness of values under weights, (n,) each, and the two-sided p of D'Agostino's test."""
    n, skewness = float(weight.sum()), _standardised_moment(values, weight, 3)
    z = skewness * np.sqrt((n + 1.0) * (n + 3.0) / (6.0 * (n - 2.0)))
    kurtosis = 3.0 * (n * n + 27.0 * n - 70.0) * (n + 1.0) * (n + 3.0)
    kurtosis /= (n - 2.0) * (n + 5.0) * (n + 7.0) * (n + 9.0)
    squared = np.sqrt(2.0 * (kurtosis - 1.0)) - 1.0
    z = np.arcsinh(z * np.sqrt((squared - 1.0) / 2.0)) / np.sqrt(0.5 * np.log(squared))
    return skewness, float(2.0 * ndtr(-abs(z)))


def kurtosis_test(values: Array, weight: Array) -> tuple[float, float]:
    """Excess kurtosis of values under weights, (n,) each, and the two-sided p of Anscombe and Glynn's test."""
    n, kurtosis = float(weight.sum()), _standardised_moment(values, weight, 4)
    variance = 24.0 * n * (n - 2.0) * (n - 3.0) / ((n + 1.0) ** 2 * (n + 3.0) * (n + 5.0))
    x = (kurtosis - 3.0 * (n - 1.0) / (n + 1.0)) / np.sqrt(variance)
    skewness = 6.0 * (n * n - 5.0 * n + 2.0) / ((n + 7.0) * (n + 9.0))
    skewness *= np.sqrt(6.0 * (n + 3.0) * (n + 5.0) / (n * (n - 2.0) * (n - 3.0)))
    df = 6.0 + 8.0 / skewness * (2.0 / skewness + np.sqrt(1.0 + 4.0 / skewness**2))
    root = np.cbrt((1.0 - 2.0 / df) / (1.0 + x * np.sqrt(2.0 / (df - 4.0))))
    z = (1.0 - 2.0 / (9.0 * df) - root) / np.sqrt(2.0 / (9.0 * df))
    return kurtosis - 3.0, float(2.0 * ndtr(-abs(z)))


def weighted_ranks(values: Array, weight: Array) -> Array:
    """Ranks (n,) of values from -1 to 1, those of ties in the middle of their weight."""
    _, code = np.unique(values, return_inverse=True)
    mass = np.bincount(code, weight)
    return np.asarray((2.0 * np.cumsum(mass) - mass)[code] / weight.sum() - 1.0)


def _standardised_moment(values: Array, weight: Array, order: int) -> float:
    left = values - np.average(values, weights=weight)
    return float(np.average(left**order, weights=weight) / np.average(left**2, weights=weight) ** (0.5 * order))
