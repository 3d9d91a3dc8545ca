r"""Quantiles of a standardised law between two ends, from logarithms of its tails: draws of values known to lie there.

Between a and b the share u of the mass lies below z where, from the side on which tails are small,

.. math:: F(z) = (1 - u) F(a) + u F(b), \qquad S(z) = (1 - u) S(a) + u S(b).

Both are formed and inverted as logarithms, so that ends far out in a tail are like all others.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri_exp

from tobitgp.likelihoods.laws import Law
from tobitgp.typing import Array

_SMALL, _LEAST, _STEPS = -36.0, -690.0, 60


def quantile_inside(law: Law, uniform: Array, a: Array, b: Array) -> Array:
    """Value below which a share of the mass between two ends lies."""
    with np.errstate(all="ignore"):
        right = a + b > 0.0
        low, high = np.where(right, law.log_sf(a), law.log_cdf(a)), np.where(right, law.log_sf(b), law.log_cdf(b))
        log_tail = np.minimum(np.logaddexp(np.log1p(-uniform) + low, np.log(uniform) + high), 0.0)
        z = np.where(right, _from_sf(law, log_tail), _from_cdf(law, log_tail))
        nearest = np.clip(0.0, a, b)
        return np.asarray(np.clip(np.where(np.isfinite(z), z, nearest), a, b))


def _from_cdf(law: Law, log_p: Array) -> Array:
    """Inverse of the log cdf."""
    if law.name == "normal":
        return np.asarray(ndtri_exp(log_p))
    if law.name == "logistic":
        return log_p - np.log(-np.expm1(log_p))
    if law.name == "gumbel":
        return np.where(log_p < _SMALL, log_p, np.log(-np.log1p(-np.exp(log_p))))
    z = law.ppf(np.exp(np.maximum(log_p, _LEAST)))
    far = log_p < _LEAST
    if far.any():
        z[far] = _further_out(law, log_p[far], z[far])
    return z


def _from_sf(law: Law, log_p: Array) -> Array:
    """Inverse of the log survival function."""
    return np.log(-log_p) if law.name == "gumbel" else -_from_cdf(law, log_p)


def _further_out(law: Law, log_p: Array, z: Array) -> Array:
    """Newton's method in ``log(-z)`` where the probability is no number."""
    for _ in range(_STEPS):
        tail = law.lower_tail(z)
        step = (log_p - tail.log_p) / (tail.d1 * z)
        z = z * np.exp(np.clip(step, -1.0, 1.0))
        if (np.abs(step) < 1e-14).all():
            break
    return z
