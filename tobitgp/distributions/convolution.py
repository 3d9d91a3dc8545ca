r"""Noise of any distribution plus a normal variable: a new response where its location is uncertain.

On the scale of the noise :math:`y^* = tX + Z`, with :math:`X \sim N(0, 1)` the uncertainty of f, t its standard
deviation over sigma. Then

.. math:: P(a < y^* \le b) = E\,P(a - tX < Z \le b - tX),

an integral over x that has features as wide as those of the noise, over t, where an end meets its middle.
Probabilities have relative precision however small they are; that takes the range of x to where the integrand is
largest, on the way from 0 to that place.

Normal noise has closed forms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tobitgp.distributions.location_scale import LocationScale
from tobitgp.distributions.response import same_as
from tobitgp.distributions.standard_noise import Distribution
from tobitgp.numerics.quadrature import (
    BEYOND,
    ORDERS,
    RowIntegrand,
    by_order,
    gauss_hermite,
    integrals,
    log_integrals,
)
from tobitgp.typing import Array, IntArray

HALF_LOG_2PI = 0.5 * float(np.log(2.0 * np.pi))
FEW_NODES = ORDERS[:3]
_FARTHEST = 38.0


@dataclass(frozen=True, slots=True)
class Convolved(Distribution):
    """``t X + Z``, X standard normal, Z noise."""

    noise: Distribution
    t: Array  # (n,), or (n, 1) where rows meet several values each

    name = same_as("noise.name")
    mean = same_as("noise.mean")
    largest_tilt = same_as("noise.largest_tilt")

    def of_rows(self, shape: tuple[int, ...], rows: Any) -> Convolved:
        return Convolved(self.noise, np.broadcast_to(self.t, shape)[rows])

    @property
    def variance(self) -> Array:  # type: ignore[override]
        """(n,)."""
        return self.noise.variance + np.square(self.t)

    def logpdf(self, z: Array) -> Array:
        return self._logs(log_density, z)

    def log_cdf(self, z: Array) -> Array:
        return self._logs(partial(log_tail, upper=False), z)

    def log_sf(self, z: Array) -> Array:
        return self._logs(partial(log_tail, upper=True), z)

    def _logs(self, of: Callable[[Distribution, Array, Array], Array], z: Array) -> Array:
        """Logarithms of probabilities or densities at values of any shape that the rows broadcast to."""
        z, t = np.broadcast_arrays(z, self.t)
        return of(self.noise, z.ravel(), t.ravel()).reshape(z.shape)

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


def log_mass(noise: Distribution, a: Array, b: Array, t: Array, *window: Array) -> Array:
    """Log probability of ``a < tX + Z <= b``, within a window (entry, exit) where one is given; (n,) each."""
    near = np.where(a > 0.0, a, np.minimum(b, 0.0))

    def log_p(shift: Array, i: IntArray) -> Array:
        return noise.log_mass(a[i] - shift, b[i] - shift)

    return _log_mean(noise, log_p, near, (a, b), t, window)


def log_tail(noise: Distribution, z: Array, t: Array, *, upper: bool) -> Array:
    """Log probability that ``tX + Z`` lies above z, or at most there."""
    if noise.gaussian:
        return (noise.log_sf if upper else noise.log_cdf)(z / np.hypot(1.0, t))
    tail, near = (noise.log_sf, np.maximum(z, 0.0)) if upper else (noise.log_cdf, np.minimum(z, 0.0))
    return _log_mean(noise, lambda shift, i: tail(z[i] - shift), near, (z,), t, ())


def log_density(noise: Distribution, z: Array, t: Array, *window: Array) -> Array:
    """Log density of ``tX + Z`` at z, within a window as in :func:`log_mass`."""
    if noise.gaussian and not window:
        return noise.logpdf(z / np.hypot(1.0, t)) - np.log(np.hypot(1.0, t))
    return _log_mean(noise, lambda shift, i: noise.logpdf(z[i] - shift), z, (z,), t, window)


def _log_mean(
    noise: Distribution, log_p: RowIntegrand, near: Array, ends: tuple[Array, ...], t: Array, window: tuple[Array, ...]
) -> Array:
    """Log of the mean over tX of what ``log_p`` says of it in rows, given the window."""

    def values(x: Array, i: IntArray) -> Array:
        shift = t[i] * x
        value = log_p(shift, i)
        if window:
            value = value - noise.log_mass(*(end[i] - shift for end in window))
        return (value - 0.5 * x * x - HALF_LOG_2PI)[None]

    kinks = np.stack([np.where(np.isfinite(end), end, near) for end in (*ends, *window)], axis=1)
    low, high = reach(noise, near, t)
    return log_integrals(values, low, high, t / noise.reach, kinks / np.maximum(t, 1e-300)[:, None])[0]


def cdf(noise: Distribution, z: Array, t: Array) -> tuple[Array, Array]:
    """Probability that ``tX + Z`` is at most z, and its density there, (n,) each."""
    low, high = reach(noise, z, t)
    # How much the noise changes over a unit of x, and how steep it is there.
    change = np.maximum(t / noise.reach, high - low - 2.0 * BEYOND)
    out = np.empty((2, len(z)))
    for rows, order in by_order(change, FEW_NODES):
        x, weight = gauss_hermite(order)
        at = z[rows, None] - t[rows, None] * x
        out[:, rows] = np.exp(noise.log_cdf(at)) @ weight, np.exp(noise.logpdf(at)) @ weight
    rest = np.flatnonzero(~(change <= FEW_NODES[-1][0]))
    if len(rest):
        out[:, rest] = _panels(noise, z[rest], t[rest], low[rest], high[rest])
    return out[0], out[1]


def _panels(noise: Distribution, z: Array, t: Array, low: Array, high: Array) -> Array:
    """The same (2, n) where the noise changes much over the normal part."""

    def values(x: Array, i: IntArray) -> Array:
        at = z[i] - t[i] * x
        bell = -0.5 * x * x - HALF_LOG_2PI
        return np.exp(np.stack([noise.log_cdf(at) + bell, noise.logpdf(at) + bell]))

    with np.errstate(under="ignore"):
        return integrals(values, low, high, t / noise.reach, (z / np.maximum(t, 1e-300))[:, None])


def reach(noise: Distribution, near: Array, t: Array, power: float = 1.0) -> tuple[Array, Array]:
    """Range of x: from 0 to where the end ``near`` meets the middle of the noise, as far as its slope leads.

    With ``power`` the integrand holds such a power of the tail.
    """
    slope = noise.steepness(near)
    with np.errstate(over="ignore"):
        size = np.minimum(np.abs(near) / np.maximum(t, 1e-300), np.minimum(power * t * slope, _FARTHEST))
    centre = np.sign(near) * size
    return np.minimum(centre, 0.0) - BEYOND, np.maximum(centre, 0.0) + BEYOND
