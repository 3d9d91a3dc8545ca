r"""Land's exact limits of a log-normal mean, of a complete sample.

Given :math:`n (m - \theta)^2 + (n - 1) s^2`, with m and s of the logarithms and :math:`\theta = \mu + \sigma^2 / 2`
the log of the mean, the distribution of m depends on :math:`\theta` alone: (NDT9) of the theory pages.

References
----------
.. [1] C. E. Land, "Confidence intervals for linear functions of the normal mean and variance", Annals of Mathematical
   Statistics 42 (1971), 1187-1205.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import logsumexp

from tobitgp.typing import Array

_NODES = 400


def land_limit(m: float, s: float, n: int, confidence: float) -> float:
    """One-sided limit of the log of the mean; a lower one for a confidence under one half."""
    centre = m + 0.5 * s * s
    step = (s + s * s) / np.sqrt(n)
    low, high = centre - step, centre + step
    while _share_below(low, m, s, n) < 1.0 - confidence:
        low -= 2.0 * (high - low)
    while _share_below(high, m, s, n) > 1.0 - confidence:
        high += 2.0 * (high - low)
    return float(brentq(lambda theta: _share_below(theta, m, s, n) - (1.0 - confidence), low, high, xtol=1e-12))


def _share_below(theta: float, m: float, s: float, n: int) -> float:
    """Conditional probability of a smaller m than was seen, were theta the log of the mean."""
    size = np.hypot(m - theta, s * np.sqrt((n - 1.0) / n))
    at = float(np.arcsin((m - theta) / size))
    below, above = (
        _log_integral(low, high, 0.5 * n * size, n) for low, high in ((-0.5 * np.pi, at), (at, 0.5 * np.pi))
    )
    return float(np.exp(below - np.logaddexp(below, above)))


def _log_integral(low: float, high: float, kappa: float, n: int) -> float:
    """Log of the integral of exp(-kappa sin(phi)) cos(phi)^(n - 2)."""
    x, w = _gauss_legendre()
    phi = 0.5 * (low + high) + 0.5 * (high - low) * x
    return float(logsumexp((n - 2.0) * np.log(np.cos(phi)) - kappa * np.sin(phi), b=0.5 * (high - low) * w))


@lru_cache(maxsize=1)
def _gauss_legendre() -> tuple[Array, Array]:
    return np.polynomial.legendre.leggauss(_NODES)
