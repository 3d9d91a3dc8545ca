r"""Responses that are normal after Box and Cox's transformation: (BC1) to (BC4) of the theory pages.

:math:`h_\lambda(y) = (y^\lambda - 1) / \lambda`, the logarithm for :math:`\lambda = 0`, lies above :math:`-1/\lambda`
for positive and below it for negative powers. What the normal distribution of z has beyond that end is the probability
of y = 0, or of a response that is never reached.

References
----------
Box and Cox (1964), An analysis of transformations, *JRSS B* 26, 211-252.
Sigrist, Künsch and Stahel (2012), A dynamic nonstationary spatio-temporal model for short term prediction of
precipitation, *Annals of Applied Statistics* 6, 1452-1477.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import exprel, log_ndtr, ndtri, ndtri_exp

from tobitgp.distributions.base import FAR, Distribution, Tail
from tobitgp.distributions.intervals import log_mass
from tobitgp.distributions.location_scale import RowDistributions
from tobitgp.distributions.normal import Normal
from tobitgp.typing import Array

TINY = float(np.nextafter(0.0, 1.0))  # below which a response is 0
POWERS = (-3.0, 3.0)
_NORMAL = Normal()
_X, _WEIGHTS = np.polynomial.legendre.leggauss(160)
_SHARE, _JUMP = 0.5 * (1.0 + _X), 0.5 * _WEIGHTS
_REACH, _BISECTIONS = 13.0, 80
_FLAT = 1e-12  # a power that is none


@dataclass(frozen=True, slots=True)
class PowerNoise(Distribution):
    """Standard normal noise of a response after Box and Cox's transformation with some power."""

    power: float = 1.0
    name: ClassVar[str] = "boxcox"
    gaussian: ClassVar[bool] = True
    symmetric: ClassVar[bool] = True
    log_concave: ClassVar[bool] = True
    shape_name: ClassVar[str | None] = "power"
    shape_positive: ClassVar[bool] = False
    shape_range: ClassVar[tuple[float, float]] = POWERS
    mode: ClassVar[float] = 0.0

    @property
    def shape(self) -> float:
        return self.power

    def with_shape(self, value: float) -> PowerNoise:
        return PowerNoise(value)

    def contains(self, other: Distribution) -> bool:
        return isinstance(other, PowerNoise | Normal)

    def log_density(self, z: Array, order: int = 3) -> tuple[Array, ...]:
        return _NORMAL.log_density(z, order)

    def lower_tail(self, z: Array) -> Tail:
        return _NORMAL.lower_tail(z)

    def log_cdf(self, z: Array) -> Array:
        return _NORMAL.log_cdf(z)

    def log_sf(self, z: Array) -> Array:
        return _NORMAL.log_sf(z)


def transform(x: Array, power: Array | float) -> Array:
    r""":math:`h_\lambda` of logarithms of responses, (BC1)."""
    power = np.asarray(power, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        value = x * exprel(power * x)
        at_zero = np.where(power > _FLAT, -1.0 / power, -np.inf)
        at_end = np.where(power < -_FLAT, -1.0 / power, np.inf)
        return np.where(np.isneginf(x), at_zero, np.where(np.isposinf(x), at_end, value))


def invert(z: Array, power: Array | float) -> Array:
    """Logarithms of responses, -inf of 0 and inf beyond the end of negative powers."""
    t = np.asarray(power * z)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        near = np.abs(t) < _FLAT
        ratio = np.where(near, 1.0 - 0.5 * t, np.log1p(np.maximum(t, -1.0)) / np.where(near, 1.0, t))
        beyond = np.where(np.asarray(power) > 0.0, -np.inf, np.inf)
        return np.where(t <= -1.0, beyond, z * ratio)


@dataclass(frozen=True, slots=True)
class PowerNormal(RowDistributions):
    r"""Responses with :math:`h_\lambda(y) \sim N(\mu, \sigma^2)`; all arrays broadcast."""

    mu: Array
    sigma: Array
    power: Array | float

    log = True

    @property
    def location(self) -> Array:  # type: ignore[override]
        """Log medians."""
        return np.clip(invert(self.mu, self.power), -700.0, 700.0)

    @property
    def width(self) -> Array:
        return np.ones(np.broadcast_shapes(np.shape(self.mu), np.shape(self.sigma)))

    def standardise(self, x: Array) -> Array:
        """Logarithms of responses as standard normal values."""
        return np.clip((transform(x, self.power) - self.mu) / self.sigma, -FAR, FAR)

    def logsf(self, y: Array) -> Array:
        """Log probability of more than y, all of it from 0 on: what is 0 was there from the start."""
        return np.where(np.asarray(y) <= 0.0, 0.0, log_ndtr(-self.standardise(self.modelled(y))))

    def logcdf(self, y: Array) -> Array:
        return np.where(np.asarray(y) < 0.0, -np.inf, log_ndtr(self.standardise(self.modelled(y))))

    def log_odds(self, y: Array) -> Array:
        """Log of the probability of more than y over that of at most y, 0 being at most 0."""
        z = self.standardise(self.modelled(y))
        return np.where(np.asarray(y) < 0.0, np.inf, log_ndtr(-z) - log_ndtr(z))

    def logpdf(self, y: Array) -> Array:
        x = self.modelled(y)
        with np.errstate(invalid="ignore"):
            jacobian = np.where(np.isfinite(x), (np.asarray(self.power) - 1.0) * x, -np.inf)
            return _NORMAL.logpdf(self.standardise(x)) - np.log(self.sigma) + jacobian

    def modelled_hazard(self, x: Array) -> tuple[Array, Array]:
        z = self.standardise(x)
        risen = np.where(np.isneginf(x), 0.0, -log_ndtr(-z))
        with np.errstate(over="ignore", invalid="ignore"):
            slope = np.where(np.isfinite(x), np.asarray(self.power) * x, -np.inf)
            return risen, np.exp(_NORMAL.logpdf(z) - np.log(self.sigma) + slope - log_ndtr(-z))

    def ppf(self, p: float) -> Array:
        return self.response(invert(self.mu + self.sigma * float(ndtri(p)), self.power))

    def survived(self, log_p: Array) -> Array:
        """Responses that are exceeded with probabilities."""
        return self.response(invert(self.mu - self.sigma * ndtri_exp(np.minimum(log_p, 0.0)), self.power))

    # -- means --------------------------------------------------------------------------------------------------------

    def mean(self) -> Array:
        """Means, infinite for negative powers."""
        shape = np.broadcast_shapes(np.shape(self.mu), np.shape(self.sigma), np.shape(self.power))
        far = np.full(shape, np.inf)
        return self._between(-far, far)[1]

    def log_between(self, lower: Array, upper: Array) -> Array:
        """Log probability of lying between ends on the log scale, -inf for all from 0 on."""
        far = np.isneginf(lower)
        ends = np.broadcast_arrays(
            np.where(far, -np.inf, self._ends(lower)), np.where(np.isposinf(upper), np.inf, self._ends(upper))
        )
        return log_mass(_NORMAL, *ends)

    def _ends(self, x: Array) -> Array:
        return (transform(x, self.power) - self.mu) / self.sigma

    def _between(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        """Probability between ends on the log scale, and the integral of y there: (BC4)."""
        mu, sigma, power, lower, upper = np.broadcast_arrays(self.mu, self.sigma, self.power, lower, upper)
        log_p = PowerNormal(mu, sigma, power).log_between(lower, upper)
        with np.errstate(all="ignore"):
            one = np.abs(power) > _FLAT
            a = np.where(np.isneginf(lower), -np.inf, (transform(lower, power) - mu) / sigma)
            b = np.where(np.isposinf(upper), np.inf, (transform(upper, power) - mu) / sigma)
            zero = np.where(power > _FLAT, (-1.0 / np.where(one, power, 1.0) - mu) / sigma, -np.inf)
            A = 1.0 + power * mu
            top = 2.0 * sigma / (A + np.sqrt(np.maximum(A * A + 4.0 * power * sigma**2, 0.0)))
            top = np.where((power < 0.0) | ~np.isfinite(top), np.where(one, 0.0, sigma), top)
            a = np.maximum(a, zero)
            centre = np.clip(top, a, b)
            low, high = np.maximum(a, centre - _REACH), np.minimum(b, centre + _REACH)
            span = np.maximum(high - low, 0.0)
            u = low[..., None] + span[..., None] * _SHARE**4  # crowded where y rises as a root
            x = invert(mu[..., None] + sigma[..., None] * u, power[..., None])
            log_value = x - 0.5 * u * u - 0.5 * np.log(2.0 * np.pi)
            shift = np.where(np.isfinite(log_value), log_value, -np.inf).max(axis=-1)
            shift = np.where(np.isfinite(shift), shift, 0.0)
            part = np.where(np.isneginf(x), 0.0, np.exp(log_value - shift[..., None]))
            total = np.exp(shift) * span * (part @ (_JUMP * 4.0 * _SHARE**3))
            endless = (power < -_FLAT) & np.isposinf(upper)
            return np.exp(log_p), np.where(endless, np.inf, total)

    def conditional_mean(self, lower: Array, upper: Array) -> Array:
        """``E[y | lower < log y <= upper]``, the value itself where the ends are equal."""
        lower, upper = np.broadcast_arrays(lower, upper)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            mass, total = self._between(lower, upper)
            value = np.clip(total / mass, np.exp(lower), np.exp(upper))
            return np.where(lower == upper, np.exp(lower), value)

    def observed_mean(self, lower: Array, upper: Array, entry: Array, exit: Array, *, fast: bool = False) -> Array:
        """``E[clip(y, lower, upper) | entry < y < exit]``."""
        low, high = np.clip(lower, entry, exit), np.clip(upper, entry, exit)
        first, a, b, last = (self.modelled(end) for end in (entry, low, high, exit))
        shape = np.broadcast_shapes(np.shape(self.mu), np.shape(a))
        first, a, b, last = (np.broadcast_to(end, shape) for end in (first, a, b, last))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            below = np.where(a > first, np.exp(self.log_between(first, a)), 0.0)
            above = np.where(last > b, np.exp(self.log_between(b, last)), 0.0)
            value = self._between(a, b)[1]
            value = value + np.where(below > 0.0, below * np.maximum(lower, 0.0), 0.0)
            value = value + np.where(above > 0.0, above * upper, 0.0)
            return value / np.exp(self.log_between(first, last))

    def log_likelihoods(self, lower: Array, upper: Array, entry: Array, exit: Array) -> Array:
        """Log densities of exact responses, log probabilities of what was seen of the others, given their windows."""
        exact = lower == upper
        ends = np.maximum(lower, entry), np.minimum(upper, exit)
        with np.errstate(invalid="ignore", divide="ignore"):
            x, low, high, first, last = (self.modelled(end) for end in (lower, *ends, entry, exit))
            inside = self.log_between(low, high)
            density = self.logpdf(np.exp(np.where(exact, x, 0.0)))
            return np.where(exact, density, inside) - self.log_between(first, last)


@dataclass(frozen=True, slots=True)
class PowerMixture(RowDistributions):
    """A weighted sum over what location, scale and power may be: (BC5)."""

    weight: Array  # (J,), sum to one
    parts: tuple[PowerNormal, ...]

    log = True

    @property
    def location(self) -> Array:  # type: ignore[override]
        return self.modelled(self.ppf(0.5))

    @property
    def width(self) -> Array:
        return self.parts[0].width

    @property
    def mu(self) -> Array:
        """Mean location on the transformed scale, where the power is the same in all parts."""
        return self._average([part.mu for part in self.parts])

    def mixed(self, log_p: list[Array]) -> Array:
        """Logarithm of the average of exponentials."""
        with np.errstate(divide="ignore"):
            weight = np.log(self.weight)
        return np.asarray(np.logaddexp.reduce([w + each for w, each in zip(weight, log_p, strict=True)], axis=0))

    def logsf(self, y: Array) -> Array:
        return np.minimum(self.mixed([part.logsf(y) for part in self.parts]), 0.0)

    def logcdf(self, y: Array) -> Array:
        return np.minimum(self.mixed([part.logcdf(y) for part in self.parts]), 0.0)

    def log_odds(self, y: Array) -> Array:
        odds = [part.log_odds(y) for part in self.parts]
        above, below = (self.mixed([-np.logaddexp(0.0, side * each) for each in odds]) for side in (-1.0, 1.0))
        return above - below

    def logpdf(self, y: Array) -> Array:
        return self.mixed([part.logpdf(y) for part in self.parts])

    def modelled_hazard(self, x: Array) -> tuple[Array, Array]:
        pairs = [part.modelled_hazard(x) for part in self.parts]
        left = self.mixed([-risen for risen, _ in pairs])
        with np.errstate(divide="ignore"):
            density = self.mixed([np.log(rate) - risen for risen, rate in pairs])
            return -np.minimum(left, 0.0), np.exp(density - left)

    def ppf(self, p: float) -> Array:
        return self.survived(np.asarray(np.log1p(-p)))

    def survived(self, log_p: Array) -> Array:
        """Responses that are exceeded with probabilities, by bisection of their logarithm."""
        each = np.stack([part.modelled(part.survived(log_p)) for part in self.parts])
        log_p = np.broadcast_to(log_p, each.shape[1:])
        low, high = np.clip(each.min(axis=0), -745.0, 710.0), np.clip(each.max(axis=0), -745.0, 710.0)
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            more = self.mixed([log_ndtr(-part.standardise(middle)) for part in self.parts]) > log_p
            low, high = np.where(more, middle, low), np.where(more, high, middle)
        middle = 0.5 * (low + high)
        return self.response(np.where(middle > 709.7, np.inf, np.where(middle < -744.0, -np.inf, middle)))

    def mean(self) -> Array:
        return self._average([part.mean() for part in self.parts])

    def observed_mean(self, lower: Array, upper: Array, entry: Array, exit: Array, *, fast: bool = False) -> Array:
        """Means of clipped responses inside windows."""
        first, last = self.parts[0].modelled(entry), self.parts[0].modelled(exit)
        each = [part.observed_mean(lower, upper, entry, exit) for part in self.parts]
        mass = [np.exp(part.log_between(first, last)) for part in self.parts]
        return self._average([a * b for a, b in zip(each, mass, strict=True)]) / self._average(mass)

    def conditional_mean(self, lower: Array, upper: Array) -> Array:
        """Means given ends on the log scale."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            pairs = [part._between(lower, upper) for part in self.parts]
            mass, total = (self._average([pair[i] for pair in pairs]) for i in (0, 1))
            value = np.clip(total / mass, np.exp(lower), np.exp(upper))
            return np.where(lower == upper, np.exp(lower), value)

    def log_likelihoods(self, lower: Array, upper: Array, entry: Array, exit: Array) -> Array:
        """As of one part; every one is weighted by what it says of the window."""
        y = self.parts[0]
        with np.errstate(divide="ignore"):
            window = [part.log_between(y.modelled(entry), y.modelled(exit)) for part in self.parts]
        each = [part.log_likelihoods(lower, upper, entry, exit) for part in self.parts]
        return self.mixed([a + b for a, b in zip(each, window, strict=True)]) - self.mixed(window)

    def _average(self, values: list[Array]) -> Array:
        return np.asarray(sum(w * each for w, each in zip(self.weight, values, strict=True)))
