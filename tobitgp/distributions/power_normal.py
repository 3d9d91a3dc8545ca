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
from scipy.special import exprel, log_ndtr, ndtri_exp

from tobitgp.distributions.averaged import Averaged
from tobitgp.distributions.response import RowDistributions
from tobitgp.distributions.standard_noise import FAR, Distribution, Tail
from tobitgp.distributions.symmetric_noise import NormalNoise
from tobitgp.typing import Array

TINY = float(np.nextafter(0.0, 1.0))  # below which a response is 0
POWERS = (-3.0, 3.0)
_NORMAL = NormalNoise()
_X, _WEIGHTS = np.polynomial.legendre.leggauss(160)
_SHARE, _JUMP = 0.5 * (1.0 + _X), 0.5 * _WEIGHTS
_REACH = 13.0
_FLAT = 1e-12  # a power that is none
_END = 4.0 * np.finfo(float).eps - 1.0  # powers times values that are those of 0 but for rounding


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

    def contains(self, other: Distribution) -> bool:
        return isinstance(other, PowerNoise | NormalNoise)

    def log_density(self, z: Array, order: int = 3) -> tuple[Array, ...]:
        return _NORMAL.log_density(z, order)

    def lower_tail(self, z: Array) -> Tail:
        return _NORMAL.lower_tail(z)

    def log_cdf(self, z: Array) -> Array:
        return _NORMAL.log_cdf(z)


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
        return np.where(t <= _END, beyond, z * ratio)


@dataclass(frozen=True, slots=True)
class PowerNormal(RowDistributions):
    r"""Responses with :math:`h_\lambda(y) \sim N(\mu, \sigma^2)`; all arrays broadcast."""

    mu: Array
    sigma: Array
    power: Array | float
    log_unit: float = 0.0  # logarithm of what the response is divided by before it is transformed
    shown: float | None = None  # power by which that is taken back from locations, that of each distribution without

    log = True
    row_fields = ("mu", "sigma", "power")

    @property
    def location(self) -> Array:  # type: ignore[override]
        """Log medians."""
        return np.clip(self._logs(self.mu), -700.0, 700.0)

    @property
    def latent(self) -> Array:
        """Locations after the transformation of the response itself."""
        power = self.power if self.shown is None else self.shown
        lift = np.exp(np.asarray(power) * self.log_unit)
        return transform(np.asarray(self.log_unit), power) + lift * self.mu

    def standardise(self, x: Array) -> Array:
        """Logarithms of responses as standard normal values."""
        return np.clip(self._ends(x), -FAR, FAR)

    def logsf(self, y: Array) -> Array:
        """Log probability of more than y; that of more than 0 leaves out what is 0, (BC4)."""
        return np.where(np.asarray(y) < 0.0, 0.0, log_ndtr(-self.standardise(self.modelled(y))))

    def logcdf(self, y: Array) -> Array:
        return np.where(np.asarray(y) < 0.0, -np.inf, log_ndtr(self.standardise(self.modelled(y))))

    def log_odds(self, y: Array) -> Array:
        """Log of the probability of more than y over that of at most y, 0 being at most 0."""
        z = self.standardise(self.modelled(y))
        return np.where(np.asarray(y) < 0.0, np.inf, log_ndtr(-z) - log_ndtr(z))

    def logpdf(self, y: Array) -> Array:
        x = self.modelled(y)
        with np.errstate(invalid="ignore"):
            jacobian = np.where(
                np.isfinite(x), (np.asarray(self.power) - 1.0) * x - self.power * self.log_unit, -np.inf
            )
            return _NORMAL.logpdf(self.standardise(x)) - np.log(self.sigma) + jacobian

    def modelled_hazard(self, x: Array) -> tuple[Array, Array]:
        z = self.standardise(x)
        with np.errstate(over="ignore", invalid="ignore"):
            slope = np.where(np.isfinite(x), np.asarray(self.power) * (x - self.log_unit), -np.inf)
            return -log_ndtr(-z), np.exp(_NORMAL.logpdf(z) - np.log(self.sigma) + slope - log_ndtr(-z))

    def reached(self, goal: Array) -> Array:
        return self._logs(self.mu - self.sigma * ndtri_exp(np.minimum(-goal, 0.0)))

    # -- means --------------------------------------------------------------------------------------------------------

    def mean(self) -> Array:
        """Means, infinite for negative powers."""
        far = np.full(self.shape, np.inf)
        return self.integral(-far, far)

    def log_mass(self, lower: Array, upper: Array) -> Array:
        """Log probability of lying in (lower, upper]; what is 0 lies above all lower ends below 0."""
        below = np.where(lower < 0.0, -np.inf, self._ends(self.modelled(lower)))
        above = np.where(np.isposinf(upper), np.inf, self._ends(self.modelled(upper)))
        inside = _NORMAL.log_mass(*np.broadcast_arrays(below, above))
        return np.where((upper < 0.0) | (lower >= upper), -np.inf, inside)

    def _ends(self, x: Array) -> Array:
        return (transform(x - self.log_unit, self.power) - self.mu) / self.sigma

    def _logs(self, z: Array) -> Array:
        """Logarithms of responses of transformed values."""
        return self.log_unit + invert(z, self.power)

    def integral(self, lower: Array, upper: Array) -> Array:
        """Integral of y times its density between ends: (BC4)."""
        ends = self.modelled(lower), self.modelled(upper)
        mu, sigma, power, lower, upper = np.broadcast_arrays(self.mu, self.sigma, self.power, *ends)
        with np.errstate(all="ignore"):
            one = np.abs(power) > _FLAT
            a = np.where(np.isneginf(lower), -np.inf, (transform(lower - self.log_unit, power) - mu) / sigma)
            b = np.where(np.isposinf(upper), np.inf, (transform(upper - self.log_unit, power) - mu) / sigma)
            zero = np.where(power > _FLAT, (-1.0 / np.where(one, power, 1.0) - mu) / sigma, -np.inf)
            A = 1.0 + power * mu
            top = 2.0 * sigma / (A + np.sqrt(np.maximum(A * A + 4.0 * power * sigma**2, 0.0)))
            top = np.where((power < 0.0) | ~np.isfinite(top), np.where(one, 0.0, sigma), top)
            a = np.maximum(a, zero)
            centre = np.clip(top, a, b)
            low, high = np.maximum(a, centre - _REACH), np.minimum(b, centre + _REACH)
            span = np.maximum(high - low, 0.0)
            u = low[..., None] + span[..., None] * _SHARE**4  # crowded where y rises as a root
            x = self.log_unit + invert(mu[..., None] + sigma[..., None] * u, power[..., None])
            log_value = x - 0.5 * u * u - 0.5 * np.log(2.0 * np.pi)
            shift = np.where(np.isfinite(log_value), log_value, -np.inf).max(axis=-1)
            shift = np.where(np.isfinite(shift), shift, 0.0)
            part = np.where(np.isneginf(x), 0.0, np.exp(log_value - shift[..., None]))
            total = np.exp(shift) * span * (part @ (_JUMP * 4.0 * _SHARE**3))
            endless = (power < -_FLAT) & np.isposinf(upper)
            return np.where(endless, np.inf, total)

    def conditional_mean(self, lower: Array, upper: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            value = self.integral(lower, upper) / np.exp(self.log_mass(lower, upper))
            return np.where(lower == upper, lower, np.clip(value, np.maximum(lower, 0.0), upper))


@dataclass(frozen=True, slots=True)
class PowerMixture(Averaged):
    """An average over what location, scale and power may be, each with its share of zeros: (BC5)."""

    def logsf(self, y: Array) -> Array:
        return np.minimum(self._mixed(self.each.logsf(np.asarray(y)[..., None])), 0.0)

    def logcdf(self, y: Array) -> Array:
        return np.minimum(self._mixed(self.each.logcdf(np.asarray(y)[..., None])), 0.0)
