r"""The distribution of a response in rows: :math:`y^* = \mu + \sigma Z`, or its exponential.

Between limits l and u, with standardised limits a and b, the response as an instrument shows it has mean
:math:`l + \int_l^u P(y^* > y)\,dy`: (REG12) and (REG13) of the theory pages. Its distances from both limits are, in
terms of A and B of `Distribution.log_excess` and with :math:`c = \sigma` or :math:`\sigma e^\mu`,

.. math:: g - l = c\,[A(a) - A(b)], \quad u - g = c\,[B(b) - B(a)],

which have relative precision however close it lies to one of them.

References
----------
McDonald and Moffitt (1980), The uses of Tobit analysis, *Review of Economics and Statistics* 62, 318-321.
Kalbfleisch and Prentice (2002), *The Statistical Analysis of Failure Time Data*, 2nd ed., section 2.2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from tobitgp.distributions.response import SOON, RowDistributions, same_as
from tobitgp.distributions.standard_noise import FAR, Distribution
from tobitgp.numerics.log_probabilities import log_difference
from tobitgp.typing import Array, BoolArray

_NARROW, _WIDE = 4.0, 0.5


@dataclass(frozen=True, slots=True)
class LocationScale(RowDistributions):
    """``location + scale Z`` in n rows, or its exponential."""

    noise: Distribution  # of Z
    location: Array  # (n,), or with leading and trailing axes that broadcast
    scale: Array
    log: bool = False

    row_fields = ("location", "scale")
    width = same_as("scale")

    def standardise(self, y: Array) -> Array:
        """Values of Z for values of the response."""
        with np.errstate(over="ignore"):
            return np.asarray((self.modelled(y) - self.location) / self.scale)

    def take(self, rows: Any) -> LocationScale:
        location, scale = np.broadcast_arrays(self.location, self.scale)
        noise = self.noise.of_rows(location.shape, rows)
        return replace(self, noise=noise, location=location[rows], scale=scale[rows])

    # -- tails and quantiles ------------------------------------------------------------------------------------------

    def logsf(self, y: Array) -> Array:
        return self.noise.log_sf(self._finite(y))

    def logcdf(self, y: Array) -> Array:
        return self.noise.log_cdf(self._finite(y))

    def logpdf(self, y: Array) -> Array:
        with np.errstate(divide="ignore"):
            value = self.noise.logpdf(self._finite(y)) - np.log(self.scale)
            return value - np.log(np.maximum(y, SOON)) if self.log else value

    def log_mass(self, lower: Array, upper: Array) -> Array:
        a, b, width = np.broadcast_arrays(self.standardise(lower), self.standardise(upper), self._span(lower, upper))
        return self.noise.log_mass(a, b, width)

    def _span(self, lower: Array, upper: Array) -> Array:
        """Width of an interval in scales, without cancellation; infinite where an end is."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            if not self.log:
                return (upper - lower) / self.scale
            apart = np.where((lower > 0.0) & np.isfinite(upper), np.log1p((upper - lower) / lower), np.inf)
            return np.asarray(apart / self.scale)

    def modelled_hazard(self, x: Array) -> tuple[Array, Array]:
        tail = self.noise.upper_tail(self._clipped((x - self.location) / self.scale))
        return -tail.log_p, -tail.d1 / self.scale

    def reached(self, goal: Array) -> Array:
        goal = np.asarray(goal, dtype=np.float64)
        below = goal < np.log(2.0)  # then the lower tail has the digits
        z = self.noise.inverse_log_sf(-np.where(below, 1.0, goal))
        if below.any():
            with np.errstate(divide="ignore"):
                z = np.where(below, self.noise.inverse_log_cdf(np.log(-np.expm1(-np.where(below, goal, 0.5)))), z)
        return self.location + self.scale * z

    def exceeded(self, log_p: Array) -> Array:
        return self.location + self.scale * self.noise.inverse_log_sf(np.asarray(log_p))

    def ppf(self, p: float) -> Array:
        return self.response(self.location + self.scale * float(self.noise.ppf(np.array([p]))[0]))

    def drawn(self, uniform: Array, lower: Array | None = None, upper: Array | None = None) -> Array:
        if lower is None or upper is None:
            return self.response(self.location + self.scale * self.noise.ppf(uniform))
        with np.errstate(all="ignore"):
            z = self.noise.quantile_between(uniform, self.standardise(lower), self.standardise(upper))
            return np.clip(self.response(self.location + self.scale * z), lower, upper)

    def _finite(self, y: Array) -> Array:
        return self._clipped(self.standardise(y))

    def _clipped(self, z: Array) -> Array:
        return np.clip(z, -self.noise.farthest, self.noise.farthest)

    # -- means --------------------------------------------------------------------------------------------------------

    def mean(self) -> Array:
        r"""Mean; on log time :math:`e^\mu M(\sigma)`, infinite where the noise has no such moment.

        :math:`M(\sigma)` is :math:`e^{\sigma^2/2}` for log-normal, :math:`\Gamma(1 + \sigma)` for Weibull,
        :math:`\pi\sigma / \sin \pi\sigma` for log-logistic times.
        """
        if not self.log:
            return self.location + self.scale * self.noise.mean
        with np.errstate(all="ignore"):
            value = np.exp(self.location) * self.noise.mgf(np.asarray(self.scale))[0]
        return np.where(self._no_mean, np.inf, value)

    @property
    def _no_mean(self) -> BoolArray:
        return np.broadcast_to(self.scale >= self.noise.largest_tilt, np.shape(self.location))

    def clipped_mean(self, lower: Array, upper: Array) -> Array:
        """Mean of the response clipped at limits, from the nearest finite limit, so that nothing cancels."""
        location, scale, lower, upper = np.broadcast_arrays(self.location, self.scale, lower, upper)
        flat = replace(self, location=location.ravel(), scale=scale.ravel())
        return flat._clipped_mean(lower.ravel(), upper.ravel()).reshape(location.shape)

    def _clipped_mean(self, lower: Array, upper: Array) -> Array:
        a, b, noise, sigma = self.standardise(lower), self.standardise(upper), self.noise, self.scale
        with np.errstate(over="ignore", invalid="ignore"):
            if self.log:
                no_mean = np.isposinf(b) & self._no_mean
                inside = noise.between(a, np.where(no_mean, np.maximum(a, 0.0) + 1.0, b), sigma)
                at_lower = np.where(np.isfinite(a), lower * np.exp(noise.log_cdf(a)), 0.0)
                at_upper = np.where(np.isfinite(b), upper * np.exp(noise.log_sf(b)), 0.0)
                total = at_lower + at_upper + np.exp(self.location + inside.log_mass)
                value = np.clip(np.where(no_mean, np.inf, total), np.maximum(lower, 0.0), upper)
            else:
                inside = noise.between(a, b)
                mass = np.exp(inside.log_mass)
                beyond = np.where(np.isfinite(b), (b - a) * np.exp(noise.log_sf(b)), 0.0)
                from_lower = lower + sigma * (mass * (inside.centre - a + inside.drift) + beyond)
                from_upper = upper - sigma * mass * (b - inside.centre - inside.drift)
                value = np.clip(np.where(np.isfinite(lower), from_lower, from_upper), lower, upper)
        free = np.isneginf(a) & np.isposinf(b)
        return np.where(free, self.mean(), value) if free.any() else value

    def conditional_mean(self, lower: Array, upper: Array) -> Array:
        """``E[y* | lower < y* <= upper]``, the value itself where the ends are equal.

        W. H. Greene, *Econometric Analysis*, theorem 19.2 (moments of the truncated normal variable).
        """
        location, scale, lower, upper = np.broadcast_arrays(self.location, self.scale, lower, upper)
        out = lower.astype(np.float64)
        i = lower != upper
        if i.any():
            part = replace(self, location=location[i], scale=scale[i])
            out[i] = (part._mean_of_times if self.log else part._mean_of_values)(lower[i], upper[i])
        return out

    def _mean_of_values(self, lower: Array, upper: Array) -> Array:
        """From the end where the mass lies, so that the mean keeps its distance from it."""
        sigma = self.scale
        a, b = (lower - self.location) / sigma, (upper - self.location) / sigma
        part = self.noise.between(a, b)
        with np.errstate(invalid="ignore"):
            low, high = part.centre - a, b - part.centre
            from_lower, from_upper = lower + sigma * (low + part.drift), upper - sigma * (high - part.drift)
        near = np.where(np.isfinite(low) & (low <= high), from_lower, from_upper)
        value = np.where(np.isfinite(np.minimum(low, high)), near, self.location + sigma * part.mean)
        return np.clip(value, lower, upper)

    def _mean_of_times(self, lower: Array, upper: Array) -> Array:
        sigma, a, b = self.scale, self.standardise(lower), self.standardise(upper)
        none = np.isposinf(b) & (sigma >= self.noise.largest_tilt)
        end = np.where(none, np.maximum(a, 0.0) + 1.0, b)
        with np.errstate(over="ignore"):
            ratio = self.noise.between(a, end, sigma).log_mass - self.noise.between(a, end).log_mass
            value = np.where(none, np.inf, np.exp(self.location + ratio))
            return np.clip(value, lower, upper)

    # -- inside a window ----------------------------------------------------------------------------------------------

    def observed_mean(self, lower: Array, upper: Array, entry: Array, exit: Array, *, fast: bool = False) -> Array:
        if (np.isfinite(entry) | np.isfinite(exit)).any():
            return RowDistributions.observed_mean(self, lower, upper, entry, exit, fast=fast)
        return (self.fast_clipped_mean if fast else self.clipped_mean)(lower, upper)

    def _mean_inside(self, lower: Array, upper: Array, *, fast: bool) -> Array:
        return (self.mean_between if fast else self.conditional_mean)(lower, upper)

    # -- closed forms for many locations ------------------------------------------------------------------------------

    def clipped_log_odds(self, lower: Array, upper: Array) -> Array:
        """``log(g - l) - log(u - g)``, g the clipped mean; the part of an infinite limit is left out."""
        gaps = self._gaps(lower, upper)
        with np.errstate(all="ignore"):
            value = np.zeros_like(gaps.lower)
            for limit, above in ((gaps.lower, True), (gaps.upper, False)):
                known = np.isfinite(limit)
                if known.any():
                    value = value + (1.0 if above else -1.0) * np.where(known, gaps.log_gap(above=above), 0.0)
        return value

    def fast_clipped_mean(self, lower: Array, upper: Array) -> Array:
        """`clipped_mean` by closed forms, which may cost the last digits."""
        gaps = self._gaps(lower, upper)
        low, high, known = gaps.lower, gaps.upper, np.isfinite(gaps.lower)
        # Where most of the mean lies beyond the upper limit the distance from the lower one is lost to rounding.
        beyond = np.isfinite(high) & (~known | (gaps.b < (gaps.y.scale if self.log else 0.0)))
        with np.errstate(all="ignore"):
            value = gaps.y.location + gaps.y.scale * self.noise.mean
            if (known & ~beyond).any():
                value = np.where(known, low + np.exp(gaps.log_gap(above=True)), value)
            if beyond.any():
                value = np.where(beyond, high - np.exp(gaps.log_gap(above=False)), value)
        return np.clip(value, low, high)

    def _gaps(self, lower: Array, upper: Array) -> _Gaps:
        location, scale, lower, upper = np.broadcast_arrays(self.location, self.scale, lower, upper)
        lower = np.maximum(lower, 0.0) if self.log else lower
        y = replace(self, location=location, scale=scale)
        return _Gaps(
            y, lower, upper, (np.clip(y.standardise(lower), -FAR, FAR), np.clip(y.standardise(upper), -FAR, FAR))
        )

    def mean_between(self, lower: Array, upper: Array) -> Array:
        """`conditional_mean` by closed forms where there are some."""
        low, high = self.modelled(lower), self.modelled(upper)
        location, scale, lower, upper, low, high = np.broadcast_arrays(
            self.location, self.scale, lower, upper, low, high
        )
        right, left = np.isposinf(high) & np.isfinite(low), np.isneginf(low) & np.isfinite(high)
        a, b = (np.clip((end - location) / scale, -FAR, FAR) for end in (low, high))
        steep = np.maximum(*(np.abs(self.noise.log_density(end, 1)[1]) for end in (a, b)))
        between = np.isfinite(low) & np.isfinite(high)
        narrow = between & ((b - a) * np.maximum(steep, 1.0 / self.noise.reach) < _NARROW)
        wide = between & ~narrow & (b - a > _WIDE)
        above, below = partial(_mean_beyond, above=True), partial(_mean_beyond, above=False)
        kinds = ((right, above), (left, below), (narrow, _mean_narrow), (wide, _mean_wide))
        out, rest = np.empty(location.shape), ~(right | left | narrow | wide)
        for at, mean in kinds:
            if at.any():
                with np.errstate(all="ignore"):
                    part = replace(self, location=location[at], scale=scale[at])
                    found = mean(_Gaps(part, lower[at], upper[at], (a[at], b[at])))
                if found is None:
                    rest |= at
                else:
                    out[at] = found
                    rest[at] = np.isnan(found)
        if rest.any():
            part = replace(self, location=location[rest], scale=scale[rest])
            out[rest] = part.conditional_mean(lower[rest], upper[rest])
        return out


class _Gaps:
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
            rest = _Gaps(self.y.take(both), self.lower[both], self.upper[both], (self.a[both], self.b[both]))
            out[both] = np.log(np.maximum(rest.upper - rest.lower - np.exp(rest.log_gap(above=not above)), 0.0))
        return out


def _mean_beyond(at: _Gaps, *, above: bool) -> Array | None:
    """Mean of values known to lie above, or below, a limit."""
    excess = at.excess(at.a if above else at.b, above=above)
    if excess is None:
        return None
    away = np.exp(at.front + excess)
    return at.lower + away if above else np.maximum(at.upper - away, 0.0 if at.y.log else -np.inf)


def _mean_narrow(at: _Gaps) -> Array:
    """By quadrature of the density."""
    z, log_weight = at.y.noise.narrow_rule(at.a, at.b - at.a)
    weight = np.exp(log_weight - log_weight.max(axis=0))
    y = np.exp(at.y.location + at.y.scale * z) if at.y.log else at.lower + at.y.scale * (z - at.a)
    return np.asarray((weight * y).sum(axis=0) / weight.sum(axis=0))


def _mean_wide(at: _Gaps) -> Array | None:
    """What the clipped mean owes to the values between the limits; NaN where there is no mean without limits."""
    excess = at.excess(at.a, above=True)
    if excess is None:
        return None
    noise, gap = at.y.noise, at.upper - at.lower
    mass = np.exp(noise.log_mass(at.a, at.b))
    from_lower = at.lower + (np.exp(at.log_gap(above=True)) - gap * np.exp(noise.log_sf(at.b))) / mass
    from_upper = at.upper - (np.exp(at.log_gap(above=False)) - gap * np.exp(noise.log_cdf(at.a))) / mass
    value = np.clip(np.where(at.a + at.b > 0.0, from_lower, from_upper), at.lower, at.upper)
    return np.where(np.isposinf(excess), np.nan, value)
