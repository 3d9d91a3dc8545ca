r"""Mass and mean of a density between two ends by quadrature, and inverses of tails by interpolation.

Mass and mean may be tilted by an exponential,

.. math:: M(s) = \int_a^b e^{sz} f(z)\,dz, \qquad m(s) = M'(s) / M(s).

With s = 0 they are the probability of (a, b] and the mean of Z there; with :math:`s = \sigma` the part of
:math:`E\,e^{\sigma Z}` that (a, b] holds, for responses whose logarithm has the distribution. Without a closed form
they are integrated outwards from the largest value of :math:`e^{sz} f(z)` in the interval, by Gauss-Legendre rules on
panels that grow geometrically until the integrand has dropped by a factor of :math:`e^{40}`: ends far in a tail, narrow
intervals and infinite ones are all alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tobitgp.typing import Array, BoolArray

LogDensity = Callable[[Array, int], tuple[Array, ...]]  # of a distribution, with so many derivatives

_SMALLEST = 1e-300
_LARGEST, _LEAP = 1e300, 2.0**64  # values beyond which quantiles are infinite, and the widest step on the way there
_WIDENINGS, _CLOSE = 40, 10  # steps, and those that double
_DROP, _DOUBLINGS = 40.0, 60
_WINDOW, _BISECTIONS = 60.0, 12
_PANELS, _POINTS, _CHUNK = 9, 12, 1024
_X, _OMEGA = (0.5 * column for column in np.polynomial.legendre.leggauss(_POINTS))
_STEPS, _EPSILON = 120, 2.3e-16


class Slice(NamedTuple):
    """What lies between two ends, (n,) each."""

    log_mass: Array  # (n,), log M(s)
    centre: Array  # (n,)
    drift: Array  # (n,), mean less centre, which keeps its digits where the mean is close to an end

    @property
    def mean(self) -> Array:
        """Mean m(s), (n,)."""
        return self.centre + self.drift


def invert_tail(log_tail: Callable[[Array], Array], log_p: Array, *, rises: bool) -> Array:
    """Where a monotone log tail has some values, by inverse interpolation between ends that hold it, and bisection."""
    log_p = np.asarray(log_p, dtype=np.float64)
    asked, sign = np.isfinite(log_p) & (log_p < 0.0), 1.0 if rises else -1.0

    def excess(z: Array) -> Array:
        return np.where(asked, sign * (log_tail(z) - log_p), 0.0)

    with np.errstate(all="ignore"):
        x = enclosed_root(excess, *_enclosed(excess, log_p.shape))
        ends = np.where(np.isneginf(log_p), -np.inf, np.where(log_p >= 0.0, np.inf, np.nan)) * sign
    return np.where(asked, x, ends)


def _enclosed(excess: Callable[[Array], Array], shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Values below and above the root of a function that rises, on one side of 0 where it is far from there."""
    low, high, factor = np.full(shape, -1.0), np.full(shape, 1.0), 2.0
    for step in range(_WIDENINGS):
        short, far = excess(low) > 0.0, excess(high) < 0.0
        if not ((short & (low > -_LARGEST)) | (far & (high < _LARGEST))).any():
            break
        factor = factor if step < _CLOSE else min(factor * factor, _LEAP)
        lower, higher = np.maximum(factor * low, -_LARGEST), np.minimum(factor * high, _LARGEST)
        low, high = np.where(short, lower, np.where(far, high, low)), np.where(far, higher, np.where(short, low, high))
    return low, high


def enclosed_root(excess: Callable[[Array], Array], low: Array, high: Array) -> Array:
    """Root of a function that rises between two values, to the last digit, by Chandrupatla's method (1997)."""
    a, b = low, high
    at_a, at_b, share = excess(a), excess(b), np.full(low.shape, 0.5)
    beyond = np.where(at_a > 0.0, -np.inf, np.where(at_b < 0.0, np.inf, np.nan))
    for _ in range(_STEPS):
        new = a + share * (b - a)
        at = excess(new)
        same = (at > 0.0) == (at_a > 0.0)
        c, at_c = np.where(same, a, b), np.where(same, at_a, at_b)
        b, at_b, a, at_a = np.where(same, b, a), np.where(same, at_b, at_a), new, at
        best = np.where(np.abs(at_b) < np.abs(at_a), b, a)
        least = (_EPSILON * np.abs(best) + _SMALLEST) / np.abs(b - a)
        if not ((least < 0.5) & (at_a != 0.0) & (at_b != 0.0)).any():
            break
        place, height = (a - b) / (c - b), (at_a - at_b) / (at_c - at_b)
        curved = at_a / (at_b - at_a) * at_c / (at_b - at_c)
        curved += (c - a) / (b - a) * at_a / (at_c - at_a) * at_b / (at_c - at_b)
        fits = (height * height < place) & ((1.0 - height) ** 2 < 1.0 - place) & np.isfinite(curved)
        share = np.clip(np.where(fits, curved, 0.5), np.minimum(least, 0.5), np.maximum(1.0 - least, 0.5))
    return np.where(np.isnan(beyond), best, beyond)


def integrate_between(log_density: LogDensity, a: Array, b: Array, s: Array) -> Slice:
    """Mass and mean in (a, b], tilted by ``exp(s z)``, by quadrature."""
    out = Slice(*(np.empty_like(a) for _ in Slice._fields))
    for start in range(0, len(a), _CHUNK):
        rows = slice(start, start + _CHUNK)
        for column, values in zip(out, _panels(log_density, a[rows], b[rows], s[rows]), strict=True):
            column[rows] = values
    return out


def _panels(log_density: LogDensity, a: Array, b: Array, s: Array) -> Slice:
    """Integrate outwards from the largest value."""
    m = _peak(log_density, a, b, s)
    g, g1, g2 = log_density(m, 2)
    top = g + s * m
    unit = np.minimum(1.0 / (np.abs(g1 + s) + np.sqrt(np.abs(g2)) + _SMALLEST), 1.0)
    mass, moment = np.zeros_like(m), np.zeros_like(m)
    with np.errstate(over="ignore", under="ignore"):
        for side, room in ((-1.0, m - a), (1.0, b - m)):
            reach = _reach(log_density, m, side, room, unit, s, top)
            first = np.minimum(unit, reach)
            ratio = reach / np.maximum(first, _SMALLEST)
            start = np.zeros_like(m)
            for k in range(_PANELS):
                end = first * ratio ** (k / (_PANELS - 1))
                t = 0.5 * (start + end) + (end - start) * _X[:, None]
                z = m + side * t
                p = np.exp(log_density(z, 0)[0] + s * z - top)
                mass += (end - start) * (_OMEGA @ p)
                moment += side * (end - start) * (_OMEGA @ (p * t))
                start = end
        mass = np.maximum(mass, _SMALLEST)
    return Slice(top + np.log(mass), m, np.clip(moment / mass, a - m, b - m))


def _peak(log_density: LogDensity, a: Array, b: Array, s: Array) -> Array:
    """Near the largest value of a log-concave integrand in the interval, at an end exactly."""
    low, high = np.maximum(a, np.minimum(-_WINDOW, b)), np.minimum(b, np.maximum(_WINDOW, a))

    def rising(z: Array) -> BoolArray:
        return np.asarray(log_density(z, 1)[1] + s > 0.0)

    at_high, at_low = rising(high), ~rising(low)
    left, right = low, high
    for _ in range(_BISECTIONS):
        middle = 0.5 * (left + right)
        up = rising(middle)
        left, right = np.where(up, middle, left), np.where(up, right, middle)
    return np.where(at_high, high, np.where(at_low, low, 0.5 * (left + right)))


def _reach(log_density: LogDensity, m: Array, side: float, room: Array, unit: Array, s: Array, top: Array) -> Array:
    """How far out the integrand has dropped enough, at most ``room``."""
    reach = unit.copy()
    for _ in range(_DOUBLINGS):
        z = m + side * reach
        short = (top - log_density(z, 0)[0] - s * z < _DROP) & (reach < room)
        if not short.any():
            break
        reach[short] *= 2.0
    return np.minimum(reach, room)
