"""Log probability of an interval under any law, and nodes between its ends."""

from __future__ import annotations

import numpy as np

from tobitgp.likelihoods.laws import Law
from tobitgp.numerics.arithmetic import log_difference
from tobitgp.typing import Array

_CLOSE = -0.1
_NODES, _WEIGHTS = (column[:, None] for column in np.polynomial.legendre.leggauss(12))
_LOG_WEIGHTS = np.log(_WEIGHTS)


def log_mass(law: Law, a: Array, b: Array) -> Array:
    """Log probability of ``a < Z <= b``, ends of one shape, with relative precision."""
    shape, a, b = a.shape, a.ravel(), b.ravel()
    right, left = np.isposinf(b), np.isneginf(a)
    out = np.where(np.isposinf(a) | np.isneginf(b), -np.inf, 0.0)
    for at, end, upper in ((right & np.isfinite(a), a, True), (left & np.isfinite(b), b, False)):
        if at.any():
            out[at] = (law.log_sf if upper else law.log_cdf)(end[at])
    rest = ~(right | left)
    if rest.any():
        out[rest] = _log_interval(law, a[rest], b[rest])
    return out.reshape(shape)


def _log_interval(law: Law, a: Array, b: Array) -> Array:
    """Difference of the tails of the same side, or the integral of the density where these are nearly equal."""
    left = a + b < 0.0
    cdf, survival = law.log_cdf, law.log_sf
    near, far = np.where(left, cdf(b), survival(a)), np.where(left, cdf(a), survival(b))
    with np.errstate(divide="ignore", invalid="ignore"):
        out = np.where(np.isneginf(near), -np.inf, log_difference(near, far))
    close = np.flatnonzero((far - near > _CLOSE) & np.isfinite(near))
    if len(close):
        weight = narrow_rule(law, a[close], b[close])[1]
        top = weight.max(axis=0)
        out[close] = top + np.log(np.exp(weight - top).sum(axis=0))
    return out


def narrow_rule(law: Law, a: Array, b: Array) -> tuple[Array, Array]:
    """Nodes (12, n) between two finite ends, and logarithms of weight times density there."""
    half = 0.5 * np.maximum(b - a, 1e-300)
    z = a + half * (1.0 + _NODES)
    with np.errstate(under="ignore"):
        return z, law.log_density(z, 0)[0] + np.log(half) + _LOG_WEIGHTS
