r"""A normal density next to a point and through a window, in coordinates that keep their digits.

For a point a >= 0 standard deviations from the mean, and t measured away from the mean,

.. math:: J_k(a, w) = \int_0^w t^k e^{-a t - t^2/2}\,dt = \int_a^{a+w} (z - a)^k \frac{\phi(z)}{\phi(a)}\,dz.

These are (INF9) of the theory pages. Nothing underflows however far out a lies. Where the exponent changes by less than
4 over the segment, J is a Gauss-Legendre sum of positive terms; elsewhere it is the tail beyond a less the tail beyond
``a + w``, both of which follow from Mills' ratio. Relative errors are about 1e-15 for J_0 and 1e-14 for the others, for
all a and w.

Positions are measured from the point of the window nearest to the mean, its anchor: with
:math:`t = (x - \text{anchor})/s` and :math:`e = (\text{anchor} - m)/s`, the density is :math:`\phi(e)/s` times
:math:`e^{-t(e + t/2)}`. A window around the mean has e = 0; one far out has a large e of the sign of t.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtri_exp

from tobitgp.numerics.normal_functions import mills, third
from tobitgp.typing import Array

FAR, _LARGEST = 1e100, 1e300
HALF_LOG_2PI = 0.5 * float(np.log(2.0 * np.pi))
_NEAR = 4.0
_STEPS, _SETTLED = 12, 1e-9  # the next step would be of the order of the square
_CLOSE = 8.0
_CHUNK = 2048
_ROOT_HALF = float(np.sqrt(0.5))
_ROOT_HALF_PI = float(np.sqrt(0.5 * np.pi))
_NODES, _WEIGHTS = (column[:, None] for column in np.polynomial.legendre.leggauss(20))
_NODES, _WEIGHTS = 0.5 * (1.0 + _NODES), 0.5 * _WEIGHTS


def segment(a: Array, w: Array, *, rows: int = 3) -> Array:
    r"""Moments :math:`J_0, J_1, J_2` of the segment of width w next to a, (rows, ...)."""
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


class StandardWindow(NamedTuple):
    r"""Where a window lies on a normal density, and what it holds; arrays of one shape."""

    anchor: Array  # point of the window nearest to the mean
    e: Array  # its distance from the mean in standard deviations, signed
    below: Array  # widths of the window on either side of the anchor, in standard deviations, at most 1e100
    above: Array
    left: Array  # mass on either side, divided by :math:`\phi(e)`
    right: Array
    first: Array  # means of t and :math:`t^2` inside the window
    second: Array

    @property
    def mass(self) -> Array:
        r"""Mass of the window divided by :math:`\phi(e)`."""
        return self.left + self.right

    @property
    def variance(self) -> Array:
        """Variance of t inside the window."""
        return np.maximum(self.second - self.first * self.first, 0.0)

    @property
    def probability(self) -> Array:
        r"""Mass of the window, :math:`\Phi(b) - \Phi(a)`."""
        return np.exp(-0.5 * self.e * self.e - HALF_LOG_2PI) * self.mass


def window(mean: Array, sd: Array, lower: Array, upper: Array) -> StandardWindow:
    """Look at N(mean, sd^2) through (lower, upper)."""
    mean, sd, lower, upper = np.broadcast_arrays(mean, sd, lower, upper)
    anchor = np.clip(mean, lower, upper)
    with np.errstate(over="ignore", under="ignore"):
        e = np.clip((anchor - mean) / sd, -FAR, FAR)
        below, above = _width(anchor - lower, sd), _width(upper - anchor, sd)
        left, right = segment(np.abs(e), below), segment(np.abs(e), above)
        mass = left[0] + right[0]
        return StandardWindow(
            anchor, e, below, above, left[0], right[0], (right[1] - left[1]) / mass, (right[2] + left[2]) / mass
        )


def log_tails(seen: StandardWindow, t: Array, from_lower: Array, from_upper: Array) -> tuple[Array, Array]:
    """Log probabilities of lying below and above t, given the window."""
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        log_below = _log_part(seen, seen.left, t, from_lower)
        log_above = _log_part(seen, seen.right, -t, from_upper)
        return _sharpen(log_below, log_above), _sharpen(log_above, log_below)


def quantile(seen: StandardWindow, q: Array, p: Array) -> Array:
    """Position t below which a share q lies, and above which p = 1 - q."""
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        a, mass = np.abs(seen.e), seen.mass
        ratio = mills_ratio(a)
        upwards = q * mass >= seen.left
        within = np.where(upwards, q * mass - seen.left, p * mass - seen.right) / ratio
        outside = np.where(upwards, p, q) * mass / ratio + beyond(a, np.where(upwards, seen.above, seen.below))
        log_odds = np.where(within < 0.5, -np.log1p(-np.clip(within, 0.0, 0.5)), -np.log(outside))
        t = excess(a, np.maximum(log_odds, 0.0))
        return np.where(upwards, t, -t)


def _width(gap: Array, sd: Array) -> Array:
    """A gap in standard deviations, finite, and 0 only if it is none."""
    return np.where(gap > 0.0, np.clip(gap / sd, 1.0 / _LARGEST, FAR), 0.0)


def _log_part(seen: StandardWindow, rest: Array, t: Array, gap: Array) -> Array:
    """Log share of the window below t, ``rest`` of it below the anchor, the end at a distance ``gap``; or mirrored."""
    a, out = np.abs(seen.e), np.clip(-t, 0.0, FAR)
    part = segment(a + out, np.where(t < 0.0, gap, t), rows=1)[0] + np.where(t < 0.0, 0.0, rest)
    return np.log(part / seen.mass) - out * (a + 0.5 * out)


def _sharpen(log_p: Array, log_q: Array) -> Array:
    """``log p`` from ``log q = log(1 - p)`` where p is the larger."""
    return np.where(log_p < log_q, log_p, np.log1p(-np.exp(np.minimum(log_q, 0.0))))
