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

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from tobitgp.distributions.base import FAR, Distribution
from tobitgp.distributions.clipped_means import Gaps, mean_beyond, mean_narrow, mean_wide
from tobitgp.distributions.intervals import log_mass
from tobitgp.numerics.log_probabilities import log_complement
from tobitgp.numerics.roots import rises_to
from tobitgp.typing import Array, BoolArray

SOON = 1e-280  # stands for time 0, where a hazard is a limit
_NEVER = 115.0  # a log hazard at time 0 that is as good as infinite
_LIKELY = -0.05  # a log probability from which the other tail is formed
_NARROW, _WIDE = 4.0, 0.5


class RowDistributions:
    """Distributions of the response in rows; values broadcast against the rows."""

    __slots__ = ()
    discrete = False  # whether values are whole numbers

    location: Array  # of the response, or of its logarithm
    log: bool  # whether it is that of the logarithm

    @property
    def width(self) -> Array:
        """About how far values lie from the location."""
        raise NotImplementedError

    def modelled(self, y: Array) -> Array:
        """Values of the response on the scale of the location; -inf where a logarithm has no such value."""
        with np.errstate(divide="ignore"):
            return np.log(np.maximum(y, 0.0)) if self.log else np.asarray(y)

    def response(self, x: Array) -> Array:
        """Values of the location on the scale of the response."""
        with np.errstate(over="ignore"):
            return np.exp(x) if self.log else x

    def logsf(self, y: Array) -> Array:
        """Log probability of more than y."""
        raise NotImplementedError

    def logcdf(self, y: Array) -> Array:
        """Log probability of at most y."""
        raise NotImplementedError

    def logpdf(self, y: Array) -> Array:
        """Log density, or log probability of a count."""
        raise NotImplementedError

    def modelled_hazard(self, x: Array) -> tuple[Array, Array]:
        """Cumulative hazard and hazard on the scale of the location."""
        raise NotImplementedError

    def ppf(self, p: float) -> Array:
        """Quantiles."""
        raise NotImplementedError

    def mean(self) -> Array:
        """Means, infinite or NaN where there are none."""
        raise NotImplementedError

    def log_tails(self, y: Array) -> tuple[Array, Array]:
        """`logsf` and `logcdf`, each formed where it is small."""
        return complementary(lambda: self.logsf(y), lambda: self.logcdf(y))

    def log_odds(self, y: Array) -> Array:
        """Log of the probability of more than y over that of at most y."""
        above, below = self.log_tails(y)
        return np.asarray(above - below)

    def log_hazard(self, y: Array) -> Array:
        """Log of density over survival; of positive times none before 0, and there what those close by tend to."""
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            if not self.log:
                return np.log(self.modelled_hazard(y)[1])
            soon = np.log(np.maximum(y, SOON))
            value = np.log(self.modelled_hazard(soon)[1]) - soon
            limit = np.where(value > _NEVER, np.inf, np.where(value < -_NEVER, -np.inf, value))
            return np.where(y < 0.0, -np.inf, np.where(y == 0.0, limit, value))

    def remaining(self, p: float, start: Array) -> Array:
        """Time after ``start`` at which survival falls to p of what it is there, (n,); (SUR4) of the theory pages."""
        goal = self.modelled_hazard(self.modelled(start))[0] - np.log(p)
        end = self.reached(goal)
        if not self.log:
            return np.maximum(end - start, 0.0)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            late = start * np.expm1(end - np.log(np.maximum(start, 0.0)))
            return np.maximum(np.where(start > 0.0, late, np.exp(end) - start), 0.0)

    def reached(self, goal: Array) -> Array:
        """Where cumulative hazards (n,) are reached, on the scale of the location."""
        return rises_to(self.modelled_hazard, goal, self.location, self.width)


def complementary(upper: Callable[[], Array], lower: Callable[[], Array]) -> tuple[Array, Array]:
    """Logarithms of two probabilities that add up to one, from that which is small; the lower one where need be."""
    with np.errstate(divide="ignore", invalid="ignore"):
        above = np.minimum(upper(), 0.0)
        below = log_complement(above)
        near = above > _LIKELY
        if np.any(near):
            below = np.where(near, np.minimum(lower(), 0.0), below)
            above = np.where(near, log_complement(below), above)
    return above, below


@dataclass(frozen=True, slots=True)
class LocationScale(RowDistributions):
    """``location + scale Z`` in n rows, or its exponential."""

    noise: Distribution  # of Z
    location: Array  # (n,), or with leading and trailing axes that broadcast
    scale: Array
    log: bool = False

    @property
    def width(self) -> Array:
        return self.scale

    def standardise(self, y: Array) -> Array:
        """Values of Z for values of the response."""
        with np.errstate(over="ignore"):
            return np.asarray((self.modelled(y) - self.location) / self.scale)

    def take(self, rows: BoolArray) -> LocationScale:
        """Some of the rows."""
        location, scale = np.broadcast_arrays(self.location, self.scale)
        return replace(self, location=location[rows], scale=scale[rows])

    # -- tails and quantiles ------------------------------------------------------------------------------------------

    def logsf(self, y: Array) -> Array:
        return self.noise.log_sf(self._finite(y))

    def logcdf(self, y: Array) -> Array:
        return self.noise.log_cdf(self._finite(y))

    def logpdf(self, y: Array) -> Array:
        with np.errstate(divide="ignore"):
            value = self.noise.logpdf(self._finite(y)) - np.log(self.scale)
            return value - np.log(np.maximum(y, SOON)) if self.log else value

    def modelled_hazard(self, x: Array) -> tuple[Array, Array]:
        tail = self.noise.upper_tail(np.clip((x - self.location) / self.scale, -FAR, FAR))
        return -tail.log_p, -tail.d1 / self.scale

    def ppf(self, p: float) -> Array:
        return self.response(self.location + self.scale * float(self.noise.ppf(np.array([p]))[0]))

    def _finite(self, y: Array) -> Array:
        return np.clip(self.standardise(y), -FAR, FAR)

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
        """``E[y* | lower < y* <= upper]``, ends on the scale of the location; the value itself where they are equal.

        W. H. Greene, *Econometric Analysis*, theorem 19.2 (moments of the truncated normal variable).
        """
        location, scale, lower, upper = np.broadcast_arrays(self.location, self.scale, lower, upper)
        out = self.response(lower.astype(np.float64))
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
        sigma = self.scale
        a, b = (lower - self.location) / sigma, (upper - self.location) / sigma
        none = np.isposinf(b) & (sigma >= self.noise.largest_tilt)
        end = np.where(none, np.maximum(a, 0.0) + 1.0, b)
        with np.errstate(over="ignore"):
            ratio = self.noise.between(a, end, sigma).log_mass - self.noise.between(a, end).log_mass
            value = np.where(none, np.inf, np.exp(self.location + ratio))
            return np.clip(value, np.exp(lower), np.exp(upper))

    # -- inside a window ----------------------------------------------------------------------------------------------

    def observed_mean(self, lower: Array, upper: Array, entry: Array, exit: Array, *, fast: bool = False) -> Array:
        """``E[clip(y*, lower, upper) | entry < y* < exit]``, what is shown of rows seen only inside a window."""
        if not (np.isfinite(entry) | np.isfinite(exit)).any():
            return (self.fast_clipped_mean if fast else self.clipped_mean)(lower, upper)
        mass, inside = self.inside(lower, upper, entry, exit, fast=fast)
        first, last = self.standardise(entry), self.standardise(exit)
        low, high = (np.clip(self.standardise(limit), first, last) for limit in (lower, upper))
        with np.errstate(invalid="ignore"):
            total, value = log_mass(self.noise, first, last), np.where(mass > 0.0, mass * inside, 0.0)
            for limit, a, b in ((lower, first, low), (upper, high, last)):
                if (b > a).any():
                    value = value + np.where(b > a, np.exp(log_mass(self.noise, a, b) - total) * limit, 0.0)
        return value

    def inside(
        self, lower: Array, upper: Array, entry: Array, exit: Array, *, fast: bool = False
    ) -> tuple[Array, Array]:
        """Probability of lying between the limits given the window, and the mean there."""
        low, high = np.clip(lower, entry, exit), np.clip(upper, entry, exit)
        a, b, first, last = (self.standardise(end) for end in (low, high, entry, exit))
        mass = np.exp(log_mass(self.noise, a, b) - log_mass(self.noise, first, last))
        return mass, (self.mean_between if fast else self.conditional_mean)(self.modelled(low), self.modelled(high))

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

    def _gaps(self, lower: Array, upper: Array) -> Gaps:
        location, scale, lower, upper = np.broadcast_arrays(self.location, self.scale, lower, upper)
        lower = np.maximum(lower, 0.0) if self.log else lower
        y = replace(self, location=location, scale=scale)
        return Gaps(y, lower, upper, (y._finite(lower), y._finite(upper)))

    def mean_between(self, lower: Array, upper: Array) -> Array:
        """`conditional_mean` by closed forms where there are some."""
        location, scale, lower, upper = np.broadcast_arrays(self.location, self.scale, lower, upper)
        right, left = np.isposinf(upper) & np.isfinite(lower), np.isneginf(lower) & np.isfinite(upper)
        a, b = (np.clip((end - location) / scale, -FAR, FAR) for end in (lower, upper))
        steep = np.maximum(*(np.abs(self.noise.log_density(end, 1)[1]) for end in (a, b)))
        between = np.isfinite(lower) & np.isfinite(upper)
        narrow = between & ((b - a) * np.maximum(steep, 1.0 / self.noise.reach) < _NARROW)
        wide = between & ~narrow & (b - a > _WIDE)
        above, below = partial(mean_beyond, above=True), partial(mean_beyond, above=False)
        kinds = ((right, above), (left, below), (narrow, mean_narrow), (wide, mean_wide))
        out, rest = np.empty(location.shape), ~(right | left | narrow | wide)
        for at, mean in kinds:
            if at.any():
                with np.errstate(all="ignore"):
                    part = replace(self, location=location[at], scale=scale[at])
                    found = mean(Gaps(part, self.response(lower[at]), self.response(upper[at]), (a[at], b[at])))
                if found is None:
                    rest |= at
                else:
                    out[at] = found
                    rest[at] = np.isnan(found)
        if rest.any():
            part = replace(self, location=location[rest], scale=scale[rest])
            out[rest] = part.conditional_mean(lower[rest], upper[rest])
        return out
