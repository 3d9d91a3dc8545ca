"""What a row says of f and of h, the logarithm of its noise scale, together: (HET2) and (HET3) of the theory pages.

Given h the likelihood is one of f alone, so that what is asked of both is a sum over nodes of h of what the likelihood
of one latent gives.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tobitgp.data.arrays import Rows
from tobitgp.likelihoods.base import Likelihood
from tobitgp.likelihoods.censoring_noise import Spread
from tobitgp.numerics.quadrature import gauss_hermite
from tobitgp.typing import Array

NARROW, NODES = 0.5, 12  # sd of h up to which Gauss and Hermite's rule of so many nodes leaves 1e-7 nat
REACH, STEP = 7.0, 0.2  # of the trapezoid rule beyond: in sds, and in h


class Given(NamedTuple):
    """F given h at nodes of h, (n, k) but for ``variance``."""

    log_weight: Array  # (k,)
    h: Array
    mean: Array
    variance: Array  # (n,)

    @classmethod
    def of(cls, mean: Array, V: Array, rule: tuple[Array, Array] | None = None) -> Given:
        """From the distribution of both, (n, 2) and (n, 2, 2)."""
        sd = np.sqrt(V[:, 1, 1])
        x, log_weight = nodes_of(sd) if rule is None else rule
        slope = np.divide(V[:, 0, 1], sd, out=np.zeros_like(sd), where=sd > 0.0)
        m = mean[:, :1] + slope[:, None] * x
        return cls(log_weight, mean[:, 1:] + sd[:, None] * x, m, np.maximum(V[:, 0, 0] - slope * slope, 0.0))

    def rows(self, rows: Rows) -> Rows:
        """Every row once for each node, with the noise that it has there."""
        n, k = self.h.shape
        many = rows[np.repeat(np.arange(n), k)]
        return replace(many, spread=np.exp(self.h.ravel()) * (1.0 if many.spread is None else many.spread))

    def locations(self, d: Array | float) -> tuple[Array, Array]:
        """Means and variances (n k,) of f, with residual variances d (n,)."""
        return self.mean.ravel(), np.repeat(self.variance + d, self.h.shape[1])


def nodes_of(sd: Array) -> tuple[Array, Array]:
    """Standard normal nodes (k,) and log weights for h of such sds, (n,)."""
    widest = float(sd.max(initial=0.0))
    if widest <= NARROW:
        nodes, w = gauss_hermite(NODES)
        return nodes, np.log(w)
    step = min(0.5, STEP / widest)
    half = int(np.ceil(REACH / step))
    x: Array = step * np.arange(-half, half + 1, dtype=np.float64)
    return x, np.log(step) - 0.5 * x * x - 0.5 * np.log(2.0 * np.pi)


class TiltedPair(NamedTuple):
    """Of f and h under the cavity times a row's likelihood: log normaliser (n,), mean (n, 2), covariance (n, 2, 2)."""

    log_Z: Array
    mean: Array
    covariance: Array


class _Tilted(NamedTuple):
    """What the likelihood gives at nodes, (n, k) each but for ``log_Z``."""

    log_Z: Array  # (n,)
    share: Array
    d1: Array
    d2: Array


def _tilt(likelihood: Likelihood, rows: Rows, at: Given, d: Array, sigma: float) -> _Tilted:
    found: Any = Spread(likelihood).tilted(at.rows(rows), *at.locations(d), sigma)
    log_Z, d1, d2 = (part.reshape(at.h.shape) for part in found)
    log_p = log_Z + at.log_weight
    total = np.logaddexp.reduce(log_p, axis=1)
    return _Tilted(total, np.exp(log_p - total[:, None]), d1, d2)


def tilted_pair(likelihood: Likelihood, sigma: float, rows: Rows, mean: Array, V: Array, d: Array) -> TiltedPair:
    """Moments of u = (f, h), a priori N(mean, V) (n, 2) and (n, 2, 2); ``sigma exp(h)`` is the noise, d adds to f."""
    at = Given.of(mean, V)
    t, v = _tilt(likelihood, rows, at, d, sigma), at.variance[:, None]
    f = at.mean + v * t.d1
    mean_f, mean_h = (t.share * f).sum(axis=1), (t.share * at.h).sum(axis=1)
    left_f, left_h = f - mean_f[:, None], at.h - mean_h[:, None]
    C = np.empty_like(V)
    C[:, 0, 0] = (t.share * (v + v * v * t.d2 + left_f * left_f)).sum(axis=1)
    C[:, 0, 1] = C[:, 1, 0] = (t.share * left_f * left_h).sum(axis=1)
    C[:, 1, 1] = (t.share * left_h * left_h).sum(axis=1)
    return TiltedPair(t.log_Z, np.column_stack([mean_f, mean_h]), C)


def noise_slopes(likelihood: Likelihood, sigma: float, rows: Rows, mean: Array, V: Array, d: Array) -> Array:
    """Derivatives (K, n) of the log normaliser in the noise parameters."""
    at = Given.of(mean, V)
    t = _tilt(likelihood, rows, at, d, sigma)
    m, v = at.locations(d)
    slopes = Spread(likelihood).tilted_slope(at.rows(rows), m, v, sigma, t.d1.ravel(), t.d2.ravel())
    return np.einsum("nk,jnk->jn", t.share, slopes.reshape(len(slopes), *at.h.shape))


def expected_pair(likelihood: Likelihood, sigma: float, rows: Rows, mean: Array, V: Array) -> Array:
    """Mean of the log likelihood of each row, (n,), over u."""
    at = Given.of(mean, V)
    value = Spread(likelihood).expected(at.rows(rows), *at.locations(0.0), sigma, slopes=False).value
    return np.asarray(value.reshape(at.h.shape) @ np.exp(at.log_weight))
