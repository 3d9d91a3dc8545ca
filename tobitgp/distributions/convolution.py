r"""Noise of any distribution plus a normal variable: a new response where its location is uncertain.

On the scale of the noise :math:`y^* = tX + Z`, with :math:`X \sim N(0, 1)` the uncertainty of f, t its standard
deviation over sigma. Then

.. math:: P(a < y^* \le b) = E\,P(a - tX < Z \le b - tX),

an integral over x that has features as wide as those of the noise, over t, where an end meets its middle.
Probabilities have relative precision however small they are; that takes the range of x to where the integrand is
largest, on the way from 0 to that place.

Where there are so many values that integrals of their own would take long, the logarithm is interpolated: over t at
Chebyshev points, over z by cubic splines. Both errors are checked at places between the points, and integrals are taken
after all where they exceed 1e-8 of the logarithm, or 5e-10: a logarithm nearer to 0 than 0.05 is better formed from the
other tail.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from tobitgp.distributions import intervals
from tobitgp.distributions.base import Distribution
from tobitgp.distributions.location_scale import LocationScale
from tobitgp.numerics.quadrature import Function, integrals, log_integrals
from tobitgp.typing import Array, IntArray

HALF_LOG_2PI = 0.5 * float(np.log(2.0 * np.pi))
BEYOND, _FARTHEST = 9.0, 38.0
_MANY, _WORTH = 20_000, 4
_STEP, _WIDE, _MOST = 0.02, 40.0, 6000
_SPREADS = (8, 16, 32)
_PRECISE, _SMALL = 1e-8, 0.05
_APART, _HELD = 1e-9, 2_000_000

Of = Callable[[Distribution, Array, Array], Array]


@dataclass(frozen=True, slots=True)
class Convolved(Distribution):
    """``t X + Z``, X standard normal, Z noise."""

    noise: Distribution
    t: Array  # (n,), or (n, 1) where rows meet several values each

    @property
    def name(self) -> str:  # type: ignore[override]
        """That of the noise."""
        return self.noise.name

    @property
    def mean(self) -> float:
        return self.noise.mean

    @property
    def variance(self) -> Array:  # type: ignore[override]
        """(n,)."""
        return self.noise.variance + np.square(self.t)

    @property
    def largest_tilt(self) -> float:
        return self.noise.largest_tilt

    def logpdf(self, z: Array) -> Array:
        return _log_values(log_density, self.noise, z, self.t)

    def log_cdf(self, z: Array) -> Array:
        return _log_values(partial(log_tail, upper=False), self.noise, z, self.t)

    def log_sf(self, z: Array) -> Array:
        return _log_values(partial(log_tail, upper=True), self.noise, z, self.t)

    def log_density(self, z: Array, order: int = 3) -> tuple[Array, ...]:
        """Its logarithm alone, for which there is a quadrature."""
        return (self.logpdf(z), np.full_like(z, np.nan))[: order + 1]

    def mgf(self, s: Array) -> tuple[Array, Array]:
        factor, slope = self.noise.mgf(s)
        with np.errstate(over="ignore"):
            return factor * np.exp(0.5 * np.square(s * self.t)), slope + np.square(s * self.t)


def plus_normal(noise: Distribution, location: Array, scale: Array, sd: Array, *, log: bool) -> LocationScale:
    """Distribution of a response whose location is normal with these means and standard deviations."""
    if noise.gaussian:
        return LocationScale(noise, location, np.hypot(sd, scale), log)
    return LocationScale(Convolved(noise, sd / scale), location, np.broadcast_to(scale, np.shape(location)), log)


# -- one integral a value ---------------------------------------------------------------------------------------------


def log_mass(noise: Distribution, a: Array, b: Array, t: Array, *window: Array) -> Array:
    """Log probability of ``a < tX + Z <= b``, within a window (entry, exit) where one is given; (n,) each."""
    near = np.where(a > 0.0, a, np.minimum(b, 0.0))

    def log_p(shift: Array, i: IntArray) -> Array:
        return intervals.log_mass(noise, a[i] - shift, b[i] - shift)

    return _log_mean(noise, log_p, near, (a, b), t, window)


def log_tail(noise: Distribution, z: Array, t: Array, *, upper: bool) -> Array:
    """Log probability that ``tX + Z`` lies above z, or at most there."""
    tail, near = (noise.log_sf, np.maximum(z, 0.0)) if upper else (noise.log_cdf, np.minimum(z, 0.0))
    return _log_mean(noise, lambda shift, i: tail(z[i] - shift), near, (z,), t, ())


def log_density(noise: Distribution, z: Array, t: Array, *window: Array) -> Array:
    """Log density of ``tX + Z`` at z, within a window as in :func:`log_mass`."""
    return _log_mean(noise, lambda shift, i: noise.logpdf(z[i] - shift), z, (z,), t, window)


def _log_mean(
    noise: Distribution, log_p: Function, near: Array, ends: tuple[Array, ...], t: Array, window: tuple[Array, ...]
) -> Array:
    """Log of the mean over tX of what ``log_p`` says of it in rows, given the window."""

    def values(x: Array, i: IntArray) -> Array:
        shift = t[i] * x
        value = log_p(shift, i)
        if window:
            value = value - intervals.log_mass(noise, *(end[i] - shift for end in window))
        return (value - 0.5 * x * x - HALF_LOG_2PI)[None]

    kinks = np.stack([np.where(np.isfinite(end), end, near) for end in (*ends, *window)], axis=1)
    low, high = reach(noise, near, t)
    return log_integrals(values, low, high, t / noise.reach, kinks / np.maximum(t, 1e-300)[:, None])[0]


def cdf(noise: Distribution, z: Array, t: Array) -> tuple[Array, Array]:
    """Probability that ``tX + Z`` is at most z, and its density there, (n,) each."""

    def values(x: Array, i: IntArray) -> Array:
        at = z[i] - t[i] * x
        bell = -0.5 * x * x - HALF_LOG_2PI
        return np.exp(np.stack([noise.log_cdf(at) + bell, noise.logpdf(at) + bell]))

    low, high = reach(noise, z, t)
    with np.errstate(under="ignore"):
        both = integrals(values, low, high, t / noise.reach, (z / np.maximum(t, 1e-300))[:, None])
    return both[0], both[1]


def reach(noise: Distribution, near: Array, t: Array, power: float = 1.0) -> tuple[Array, Array]:
    """Range of x: from 0 to where the end ``near`` meets the middle of the noise, as far as its slope leads.

    With ``power`` the integrand holds such a power of the tail.
    """
    slope = noise.steepness(near)
    with np.errstate(over="ignore"):
        size = np.minimum(np.abs(near) / np.maximum(t, 1e-300), np.minimum(power * t * slope, _FARTHEST))
    centre = np.sign(near) * size
    return np.minimum(centre, 0.0) - BEYOND, np.maximum(centre, 0.0) + BEYOND


# -- many values ------------------------------------------------------------------------------------------------------


def _log_values(of: Of, noise: Distribution, z: Array, t: Array) -> Array:
    """Log probabilities of a tail, or log densities; z (n,) beside t (n,), or z (n, m) beside t (n, 1)."""
    if z.ndim == 1 or t.shape == z.shape:
        shape = np.broadcast_shapes(z.shape, np.shape(t))
        return of(noise, np.broadcast_to(z, shape).ravel(), np.broadcast_to(t, shape).ravel()).reshape(shape)
    z, t = np.broadcast_to(z, np.broadcast_shapes(z.shape, t.shape)), t[:, 0]
    near = np.abs(z) < _WIDE
    if near.sum() < _MANY:
        return _exactly(of, noise, z, t)
    found = _interpolated(of, noise, _stretched(noise, np.where(near, z, 0.0)), t)
    if found is None:
        return _exactly(of, noise, z, t)
    if not near.all():
        found[~near] = of(noise, z[~near], np.broadcast_to(t[:, None], z.shape)[~near])
    return found


def _exactly(of: Of, noise: Distribution, z: Array, t: Array) -> Array:
    return of(noise, z.ravel(), np.broadcast_to(t[:, None], z.shape).ravel()).reshape(z.shape)


def _interpolated(of: Of, noise: Distribution, u: Array, t: Array) -> Array | None:
    """Values at places u (n, m); None where a table would cost more than it spares, or is not precise."""
    low, high = u.min(), u.max()
    if high - low <= _APART * max(abs(low), abs(high), 1.0):
        return None
    k = max(int(np.ceil((high - low) / (_STEP * noise.reach))), 8) + 1
    if k > _MOST:
        return None
    grid = np.linspace(low, high, k)
    step = grid[1] - grid[0]
    for count in _SPREADS:
        if k * count * _WORTH > u.size:
            return None
        spreads = _chebyshev(t.min(), t.max(), count)
        table = _at(of, noise, grid, spreads)
        between = 0.5 * (spreads[:-1] + spreads[1:])[:: max(count // 8, 1)]
        places = (np.arange(16) + 0.5) * (k - 1) / 16.0
        cell = places.astype(np.intp)
        shift = np.full(16, 0.5 * step)
        coefficients = _splines(grid, spreads, table, between)
        guess = sum(c[:, cell] * shift ** (3 - i) for i, c in enumerate(coefficients))
        truth = _at(of, noise, grid[cell] + 0.5 * step, between)
        if (np.abs(guess - truth) <= _PRECISE * np.maximum(np.abs(truth), _SMALL)).all():
            break
    else:
        return None
    position = (u - low) / step
    cells = np.clip(position.astype(np.intp), 0, k - 2)
    shift = (position - cells) * step
    out = np.zeros_like(u)
    each = max(_HELD // k, 1)
    for rows in (slice(start, start + each) for start in range(0, len(u), each)):
        for c in _splines(grid, spreads, table, t[rows]):
            out[rows] = out[rows] * shift[rows] + np.take_along_axis(c, cells[rows], axis=1)
    return out


def _splines(grid: Array, spreads: Array, table: Array, t: Array) -> Array:
    """Coefficients (4, n, k - 1), cubes first, of the splines of spreads t (n,)."""
    from scipy.interpolate import BarycentricInterpolator, CubicSpline

    spline = CubicSpline(grid, table, axis=1)
    if len(spreads) == 1:
        return np.asarray(np.broadcast_to(spline.c.transpose(0, 2, 1), (4, len(t), len(grid) - 1)))
    weights = np.asarray(BarycentricInterpolator(spreads, np.eye(len(spreads)))(t))
    return np.stack([weights @ c.T for c in spline.c])


def _chebyshev(low: float, high: float, count: int) -> Array:
    if high - low <= 1e-12 * high:
        return np.array([0.5 * (low + high)])
    angle = np.pi * (np.arange(count) + 0.5) / count
    return 0.5 * (low + high) - 0.5 * (high - low) * np.cos(angle)


def _at(of: Of, noise: Distribution, u: Array, spreads: Array) -> Array:
    """Values (count, k) at places u and spreads."""
    z = u if noise.log_concave else 2.0 * np.sinh(0.5 * u)
    return _exactly(of, noise, np.broadcast_to(z, (len(spreads), len(z))), spreads)


def _stretched(noise: Distribution, z: Array) -> Array:
    """A scale on which the logarithms bend evenly: heavy tails are drawn together."""
    return z if noise.log_concave else 2.0 * np.arcsinh(0.5 * z)
