r"""Log probabilities of counts without cancelling logarithms of gamma functions.

With :math:`\log\Gamma(x + 1) = x \log x - x + \frac12\log(2\pi x) + \delta(x)` a count's log probability is a sum of
small corrections delta and of deviances :math:`x \log(x / m) + m - x`, none of which is larger than the answer by much.

References
----------
Loader (2000), Fast and accurate computation of binomial probabilities, sections 3 and 4.
DLMF 5.11.1.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from tobitgp.typing import Array

_HALF_LOG_2PI = 0.5 * float(np.log(2.0 * np.pi))
_LARGE = 16.0
_NEAR = 0.1
_SERIES = (1.0 / 12.0, 1.0 / 360.0, 1.0 / 1260.0, 1.0 / 1680.0, 1.0 / 1188.0, 691.0 / 360360.0, 1.0 / 156.0)


def stirling_error(x: Array) -> Array:
    """Error of Stirling's formula for the logarithm of x!, x positive."""
    x = np.asarray(x, dtype=np.float64)
    small, large = np.minimum(x, _LARGE), np.maximum(x, _LARGE)
    direct = gammaln(small + 1.0) - (small + 0.5) * np.log(small) + small - _HALF_LOG_2PI
    u, series = 1.0 / (large * large), np.zeros_like(large)
    for term in reversed(_SERIES):
        series = term - u * series
    return np.where(x < _LARGE, direct, series / large)


def deviance(x: Array, m: Array, away: Array) -> Array:
    """``x log(x / m) + m - x`` for positive x and m, of which the difference ``away = x - m`` is known better."""
    x, m, away = np.broadcast_arrays(x, m, away)
    ratio = away / (x + m)
    near = np.abs(ratio) < _NEAR
    v = np.where(near, ratio, 0.0)
    square, series = v * v, np.zeros_like(v)
    for j in range(8, 0, -1):
        series = 1.0 / (2.0 * j + 1.0) + square * series
    return np.where(near, away * v + 2.0 * x * v * square * series, x * np.log(x / m) - away)
