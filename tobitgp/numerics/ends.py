r"""Log mass and first two moments of truncated standard normal values from their ends, at little cost.

With :math:`M(a) = (1 - \Phi(a)) / \phi(a)`, an interval (a, b] turned so that its centre is not negative, of width w
and :math:`D = (b^2 - a^2)/2`, has

.. math:: P = \phi(a)\,U, \quad E[X] = \frac{1 - e^{-D}}{U}, \quad E[X^2] = 1 + \frac{a - b e^{-D}}{U},
          \qquad U = M(a) - e^{-D} M(b),

which loses nothing unless w is small beside M(a); there `tobitgp.numerics.interval` takes over. Moments are accurate to
rounding in themselves, not as variances: a variance of 1e-4 keeps some ten digits.

Errors against 50-digit arithmetic: log mass 1e-13 absolute where it is below 1 in size and 1e-14 relative beyond;
moments 1e-13 relative to their own size or 1, whichever is larger.
"""

from __future__ import annotations

import numpy as np
from scipy.special import erfcx

from tobitgp.numerics.interval import moments
from tobitgp.typing import Array

_ROOT_2_OVER_PI = float(np.sqrt(2.0 / np.pi))
_ROOT_PI_OVER_2 = float(np.sqrt(0.5 * np.pi))
_ROOT_HALF = float(np.sqrt(0.5))
_HALF_LOG_2PI = 0.5 * float(np.log(2.0 * np.pi))
_SURE = 8.0  # beyond it 1 - Phi is less than the unit roundoff
_EVERYTHING = 25.0
_NARROW, _FLAT = 0.25, 1.0


def lower_tail(z: Array) -> tuple[Array, Array]:
    """Log Phi(z), to rounding absolutely, and the inverse Mills ratio phi(z) / Phi(z)."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore", under="ignore"):
        h: Array = _ROOT_2_OVER_PI / erfcx(-_ROOT_HALF * z)
        log_p = -0.5 * z * z
        log_p -= np.log(h)
        log_p -= _HALF_LOG_2PI
        if z.size and z.max() > _SURE:
            sure = z > _SURE
            log_p[sure] = -h[sure] / z[sure]
    return log_p, h


def between(a: Array, half: Array) -> tuple[Array, Array, Array]:
    """Log mass of (a, a + 2 half], and the means of X and of its square inside."""
    centre, b = a + half, a + 2.0 * half
    turned = centre < 0.0
    low, high = np.maximum(np.where(turned, -b, a), -_EVERYTHING), np.where(turned, -a, b)
    D = 2.0 * np.abs(centre) * half
    with np.errstate(under="ignore", over="ignore", divide="ignore", invalid="ignore"):
        left = np.exp(-D)
        scale = 1.0 / (_ROOT_PI_OVER_2 * (erfcx(_ROOT_HALF * low) - left * erfcx(_ROOT_HALF * high)))
        log_p = -0.5 * low * low - np.log(scale) - _HALF_LOG_2PI
        first = -np.expm1(-D) * scale
        second = 1.0 + (low - high * left) * scale
    narrow = (half < _NARROW) & (D < _FLAT)
    if narrow.any():
        c, r = np.abs(centre[narrow]), half[narrow]
        log_p[narrow], mean, complement = moments(c - r, c + r, c, r, rows=3)
        first[narrow], second[narrow] = mean, (1.0 - complement) + mean * mean
    np.negative(first, out=first, where=turned)
    return log_p, first, second
