"""Closed forms of the means of clipped and truncated responses: distances from the limits, (REG12) and (REG13)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tobitgp.distributions.intervals import log_mass, narrow_rule
from tobitgp.distributions.standard_noise import FAR
from tobitgp.numerics.log_probabilities import log_difference
from tobitgp.typing import Array

if TYPE_CHECKING:
    from tobitgp.distributions.location_scale import LocationScale


class Gaps:
    """Distances of a clipped mean from its limits, on the scale of the response; arrays of one shape."""

    def __init__(self, y: LocationScale, lower: Array, upper: Array, ends: tuple[Array, Array]) -> None:
        self.y, self.lower, self.upper = y, lower, upper
        self.a, self.b = ends  # standardised limits, finite

    def excess(self, z: Array, *, above: bool) -> Array | None:
        """By how much Z, or its exponential, passes a limit; see `Distribution.log_excess`."""
        return self.y.noise.log_excess(z, self.y.scale if self.y.log else None, above=above)

    @property
    def front(self) -> Array:
        """``log c``."""
        return np.log(self.y.scale) + (self.y.location if self.y.log else 0.0)

    def log_gap(self, *, above: bool) -> Array:
        """``log(g - l)``, or ``log(u - g)``."""
        near, far, tail = (self.a, self.b, self.y.noise.log_sf) if above else (self.b, self.a, self.y.noise.log_cdf)
        part = self.excess(near, above=above)
        if part is None:
            g = self.y.clipped_mean(self.lower, self.upper)
            return np.log(g - self.lower if above else self.upper - g)
        whole, unlimited = part + tail(near), np.abs(far) >= FAR
        if unlimited.all():
            return self.front + whole
        beyond = self.excess(far, above=above)
        assert beyond is not None
        less = np.where(unlimited, -np.inf, beyond + tail(far))
        out = self.front + log_difference(whole, less)
        both = np.isposinf(less)
        if both.any():
            rest = Gaps(self.y.take(both), self.lower[both], self.upper[both], (self.a[both], self.b[both]))
            out[both] = np.log(np.maximum(rest.upper - rest.lower - np.exp(rest.log_gap(above=not above)), 0.0))
        return out


def mean_beyond(at: Gaps, *, above: bool) -> Array | None:
    """Mean of values known to lie above, or below, a limit."""
    excess = at.excess(at.a if above else at.b, above=above)
    if excess is None:
        return None
    away = np.exp(at.front + excess)
    return at.lower + away if above else np.maximum(at.upper - away, 0.0 if at.y.log else -np.inf)


def mean_narrow(at: Gaps) -> Array:
    """By quadrature of the density."""
    z, log_weight = narrow_rule(at.y.noise, at.a, at.b - at.a)
    weight = np.exp(log_weight - log_weight.max(axis=0))
    y = np.exp(at.y.location + at.y.scale * z) if at.y.log else at.lower + at.y.scale * (z - at.a)
    return np.asarray((weight * y).sum(axis=0) / weight.sum(axis=0))


def mean_wide(at: Gaps) -> Array | None:
    """What the clipped mean owes to the values between the limits; NaN where there is no mean without limits."""
    excess = at.excess(at.a, above=True)
    if excess is None:
        return None
    noise, gap = at.y.noise, at.upper - at.lower
    mass = np.exp(log_mass(noise, at.a, at.b))
    from_lower = at.lower + (np.exp(at.log_gap(above=True)) - gap * np.exp(noise.log_sf(at.b))) / mass
    from_upper = at.upper - (np.exp(at.log_gap(above=False)) - gap * np.exp(noise.log_cdf(at.a))) / mass
    value = np.clip(np.where(at.a + at.b > 0.0, from_lower, from_upper), at.lower, at.upper)
    return np.where(np.isposinf(excess), np.nan, value)
