r"""The normal density beside a point, in units of its value there.

For a point a >= 0 standard deviations from the mean, and t measured away from the mean,

.. math:: J_k(a, w) = \int_0^w t^k e^{-a t - t^2/2}\,dt = \int_a^{a+w} (z - a)^k \frac{\phi(z)}{\phi(a)}\,dz.

These are (INF9) of the theory pages. Nothing underflows however far out a lies. Where the exponent changes by less than
4 over the segment, J is a Gauss-Legendre sum of positive terms; elsewhere it is the tail beyond a less the tail beyond
``a + w``, both of which follow from Mills' ratio. Relative errors are about 1e-15 for J_0 and 1e-14 for the others, for
all a and w.
"""

from __future__ import annotations

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtri_exp

from tobitgp.numerics.normal import mills, third
from tobitgp.typing import Array

FAR = 1e100
_NEAR = 4.0
_STEPS, _SETTLED = 12, 1e-9  # the next step would be of the order of the square
_CLOSE = 8.0
_CHUNK = 2048
_ROOT_HALF = float(np.sqrt(0.5))
_ROOT_HALF_PI = float(np.sqrt(0.5 * np.pi))
_NODES, _WEIGHTS = (column[:, None] for column in np.polynomial.legendre.leggauss(20))
_NODES, _WEIGHTS = 0.5 * (1.0 + _NODES), 0.5 * _WEIGHTS


def segment(a: Array, w: Array, *, rows: int = 3) -> Array:
    r"""Moments :math:`J_0, J_1, J_2` of the segment of width w beside a.

    Gives (rows, ...).
    """
    a, w = np.broadcast_arrays(a, np.minimum(w, FAR))
    out = np.empty((rows, *a.shape))
    near = depth(a, w) <= _NEAR
    out[:, near] = _sum(a[near], w[near], rows)
    out[:, ~near] = _difference(a[~near], w[~near], rows)
    return out


def depth(a: Array, w: Array) -> Array:
    r"""How far the log density falls over a segment, :math:`aw + w^2/2`."""
    return w * (a + 0.5 * w)


def mills_ratio(a: Array) -> Array:
    r"""Tail beyond a in units of the density there, :math:`J_0(a, \infty) = (1 - \Phi(a))/\phi(a)`."""
    return _ROOT_HALF_PI * np.asarray(erfcx(_ROOT_HALF * a))


def beyond(a: Array, w: Array) -> Array:
    r"""Tail beyond a + w in units of the tail beyond a: the probability that an excess over a is more than w."""
    return np.exp(-depth(a, w)) * mills_ratio(a + w) / mills_ratio(a)


def excess(a: Array, log_odds: Array) -> Array:
    r"""Width w with ``beyond(a, w) = exp(-log_odds)``, the quantile of an excess over a.

    Newton's method on the logarithm, which is concave, from the smaller of two upper bounds: the quantile at constant
    hazard, and the one at which the density itself has fallen so far. From there it cannot overshoot. Closer in than a
    = 8 the quantile of the normal distribution, right but for rounding, spares most steps.
    """
    ratio, target = mills_ratio(a), np.minimum(log_odds, FAR)
    bound = np.minimum(target * ratio, 2.0 * target / (a + np.sqrt(a * a + 2.0 * target) + 1.0 / FAR))
    w = np.where(a < _CLOSE, np.clip(-ndtri_exp(log_ndtr(-np.minimum(a, _CLOSE)) - target) - a, 0.0, bound), bound)
    for _ in range(_STEPS):
        fall, beside = depth(a, w), mills_ratio(a + w)
        within = segment(a, np.where(fall < 1.0, w, 0.0), rows=1)[0] / ratio
        log_beyond = np.where(fall < 1.0, np.log1p(-within), np.log(beside / ratio) - fall)
        step = (log_beyond + target) * beside
        w = np.maximum(w + step, 0.0)
        if np.all(np.abs(step) <= _SETTLED * w):
            break
    return w


def _sum(a: Array, w: Array, rows: int) -> Array:
    """Gauss-Legendre over the segment."""
    out = np.empty((rows, a.size))
    for start in range(0, a.size, _CHUNK):
        part = slice(start, start + _CHUNK)
        t = w[part] * _NODES
        p = w[part] * _WEIGHTS * np.exp(-depth(a[part], t))
        out[:, part] = [(p * t**k).sum(axis=0) for k in range(rows)]
    return out


def _difference(a: Array, w: Array, rows: int) -> Array:
    """Tail beyond a less tail beyond a + w, whose moments are taken about a too."""
    scale = np.exp(-depth(a, w))
    if rows == 1:
        return (mills_ratio(a) - scale * mills_ratio(a + w))[None]
    near, (mass, first, second) = _tail(a), _tail(a + w)
    return near - scale * np.stack([mass, first + w * mass, second + w * (2.0 * first + w * mass)])


def _tail(a: Array) -> Array:
    """J_0, J_1 and J_2 of everything beyond a; the variance is delta^2 - (log Phi)'''/h, which loses no digits."""
    h, delta = mills(-a)
    return np.stack([np.ones_like(h), delta, 2.0 * delta * delta - third(-a, h, delta) / h]) / h
