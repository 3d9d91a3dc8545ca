r"""A standardised distribution between two ends: mass, mean, quantiles, nodes.

Mass and mean may be tilted by an exponential,

.. math:: M(s) = \int_a^b e^{sz} f(z)\,dz, \qquad m(s) = M'(s) / M(s).

With s = 0 they are the probability of (a, b] and the mean of Z there; with :math:`s = \sigma` the part of
:math:`E\,e^{\sigma Z}` that (a, b] holds, for responses whose logarithm has the distribution. Without a closed form
they are integrated outwards from the largest value of :math:`e^{sz} f(z)` in the interval, by Gauss-Legendre rules on
panels that grow geometrically until the integrand has dropped by a factor of :math:`e^{40}`: ends far in a tail, narrow
intervals and infinite ones are all alike.

Between a and b the share u of the mass lies below z where, from the side on which tails are small,

.. math:: F(z) = (1 - u) F(a) + u F(b), \qquad S(z) = (1 - u) S(a) + u S(b).

Both are formed and inverted as logarithms, so that ends far out in a tail are like all others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tobitgp.numerics.log_probabilities import log_difference
from tobitgp.typing import Array, BoolArray

if TYPE_CHECKING:
    from tobitgp.distributions.standard_noise import Distribution

_SMALLEST = 1e-300
_DROP, _DOUBLINGS = 40.0, 60
_WINDOW, _BISECTIONS = 60.0, 12
_PANELS, _POINTS, _CHUNK = 9, 12, 1024
_X, _OMEGA = (0.5 * column for column in np.polynomial.legendre.leggauss(_POINTS))
_CLOSE = -0.1
_NODES, _WEIGHTS = (column[:, None] for column in np.polynomial.legendre.leggauss(12))
_LOG_WEIGHTS = np.log(_WEIGHTS)
_HALVINGS = 80


class Slice(NamedTuple):
    """What lies between two ends, (n,) each."""

    log_mass: Array  # (n,), log M(s)
    centre: Array  # (n,)
    drift: Array  # (n,), mean less centre, which keeps its digits where the mean is close to an end

    @property
    def mean(self) -> Array:
        """Mean m(s), (n,)."""
        return self.centre + self.drift


def log_mass(distribution: Distribution, a: Array, b: Array, width: Array | None = None) -> Array:
    """Log probability of ``a < Z <= b``, with relative precision; ``width`` is b - a where that is known better.

    All of one shape.
    """
    shape, a, b = a.shape, a.ravel(), b.ravel()
    right, left = np.isposinf(b), np.isneginf(a)
    out = np.where(np.isposinf(a) | np.isneginf(b), -np.inf, 0.0)
    for at, end, tail in (
        (right & np.isfinite(a), a, distribution.log_sf),
        (left & np.isfinite(b), b, distribution.log_cdf),
    ):
        if at.any():
            out[at] = tail(end[at])
    rest = ~(right | left)
    if rest.any():
        known = b[rest] - a[rest] if width is None else width.ravel()[rest]
        out[rest] = _log_interval(distribution, a[rest], b[rest], known)
    return out.reshape(shape)


def _log_interval(distribution: Distribution, a: Array, b: Array, width: Array) -> Array:
    """Difference of the tails of the same side, or the integral of the density where these are nearly equal."""
    left = a + b < 0.0
    cdf, survival = distribution.log_cdf, distribution.log_sf
    near, far = np.where(left, cdf(b), survival(a)), np.where(left, cdf(a), survival(b))
    with np.errstate(divide="ignore", invalid="ignore"):
        out = np.where(np.isneginf(near), -np.inf, log_difference(near, far))
    close = np.flatnonzero((far - near > _CLOSE) & np.isfinite(near))
    if len(close):
        weight = narrow_rule(distribution, a[close], width[close])[1]
        top = weight.max(axis=0)
        out[close] = top + np.log(np.exp(weight - top).sum(axis=0))
    return out


def narrow_rule(distribution: Distribution, a: Array, width: Array) -> tuple[Array, Array]:
    """Nodes (12, n) in finite intervals from a on, and logarithms of weight times density there."""
    half = 0.5 * np.maximum(width, 1e-300)
    z = a + half * (1.0 + _NODES)
    with np.errstate(under="ignore"):
        return z, distribution.logpdf(z) + np.log(half) + _LOG_WEIGHTS


def quantile_inside(distribution: Distribution, uniform: Array, a: Array, b: Array) -> Array:
    """Value below which a share of the mass between two ends lies."""
    with np.errstate(all="ignore"):
        right = a + b > 0.0
        low, high = (
            np.where(right, distribution.log_sf(a), distribution.log_cdf(a)),
            np.where(right, distribution.log_sf(b), distribution.log_cdf(b)),
        )
        log_tail = np.minimum(np.logaddexp(np.log1p(-uniform) + low, np.log(uniform) + high), 0.0)
        z = np.where(right, distribution.inverse_log_sf(log_tail), distribution.inverse_log_cdf(log_tail))
        nearest = np.clip(0.0, a, b)
        return np.asarray(np.clip(np.where(np.isfinite(z), z, nearest), a, b))


def invert_tail(log_tail: Callable[[Array], Array], log_p: Array, *, rises: bool) -> Array:
    """Where a monotone log tail has some values, by bisection."""
    log_p = np.asarray(log_p, dtype=np.float64)
    low, high = np.full(log_p.shape, -1.0), np.full(log_p.shape, 1.0)
    with np.errstate(all="ignore"):
        for _ in range(_DOUBLINGS):
            below = (log_tail(low) > log_p) == rises
            above = (log_tail(high) < log_p) == rises
            low, high = np.where(below, 2.0 * low, low), np.where(above, 2.0 * high, high)
            if not (below | above).any():
                break
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            if not ((middle > low) & (middle < high)).any():
                break
            left = (log_tail(middle) > log_p) == rises
            low, high = np.where(left, low, middle), np.where(left, middle, high)
        ends = np.where(np.isneginf(log_p), -np.inf, np.where(log_p >= 0.0, np.inf, np.nan)) * (1.0 if rises else -1.0)
    return np.where(np.isnan(ends), 0.5 * (low + high), ends)


def integrate_between(distribution: Distribution, a: Array, b: Array, s: Array) -> Slice:
    """Mass and mean in (a, b], tilted by ``exp(s z)``, by quadrature."""
    out = Slice(*(np.empty_like(a) for _ in Slice._fields))
    for start in range(0, len(a), _CHUNK):
        rows = slice(start, start + _CHUNK)
        for column, values in zip(out, _panels(distribution, a[rows], b[rows], s[rows]), strict=True):
            column[rows] = values
    return out


def _panels(distribution: Distribution, a: Array, b: Array, s: Array) -> Slice:
    """Integrate outwards from the largest value."""
    m = _peak(distribution, a, b, s)
    g, g1, g2 = distribution.log_density(m, 2)
    top = g + s * m
    unit = np.minimum(1.0 / (np.abs(g1 + s) + np.sqrt(np.abs(g2)) + _SMALLEST), 1.0)
    mass, moment = np.zeros_like(m), np.zeros_like(m)
    with np.errstate(over="ignore", under="ignore"):
        for side, room in ((-1.0, m - a), (1.0, b - m)):
            reach = _reach(distribution, m, side, room, unit, s, top)
            first = np.minimum(unit, reach)
            ratio = reach / np.maximum(first, _SMALLEST)
            start = np.zeros_like(m)
            for k in range(_PANELS):
                end = first * ratio ** (k / (_PANELS - 1))
                t = 0.5 * (start + end) + (end - start) * _X[:, None]
                z = m + side * t
                p = np.exp(distribution.log_density(z, 0)[0] + s * z - top)
                mass += (end - start) * (_OMEGA @ p)
                moment += side * (end - start) * (_OMEGA @ (p * t))
                start = end
        mass = np.maximum(mass, _SMALLEST)
    return Slice(top + np.log(mass), m, np.clip(moment / mass, a - m, b - m))


def _peak(distribution: Distribution, a: Array, b: Array, s: Array) -> Array:
    """Near the largest value of a log-concave integrand in the interval, at an end exactly."""
    low, high = np.maximum(a, np.minimum(-_WINDOW, b)), np.minimum(b, np.maximum(_WINDOW, a))

    def rising(z: Array) -> BoolArray:
        return np.asarray(distribution.log_density(z, 1)[1] + s > 0.0)

    at_high, at_low = rising(high), ~rising(low)
    left, right = low, high
    for _ in range(_BISECTIONS):
        middle = 0.5 * (left + right)
        up = rising(middle)
        left, right = np.where(up, middle, left), np.where(up, right, middle)
    return np.where(at_high, high, np.where(at_low, low, 0.5 * (left + right)))


def _reach(distribution: Distribution, m: Array, side: float, room: Array, unit: Array, s: Array, top: Array) -> Array:
    """How far out the integrand has dropped enough, at most ``room``."""
    reach = unit.copy()
    for _ in range(_DOUBLINGS):
        z = m + side * reach
        short = (top - distribution.log_density(z, 0)[0] - s * z < _DROP) & (reach < room)
        if not short.any():
            break
        reach[short] *= 2.0
    return np.minimum(reach, room)
