"""The standard normal distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr, ndtri, ndtri_exp

from tobitgp.distributions.intervals import Slice
from tobitgp.distributions.standard_noise import FAR, Distribution, Tail
from tobitgp.numerics.normal_functions import mills
from tobitgp.numerics.truncated_moments import moments
from tobitgp.typing import Array

_HALF_LOG_2PI = 0.5 * float(np.log(2.0 * np.pi))


@dataclass(frozen=True, slots=True)
class NormalNoise(Distribution):
    """The standard normal distribution."""

    name: ClassVar[str] = "normal"
    gaussian: ClassVar[bool] = True
    symmetric: ClassVar[bool] = True
    log_concave: ClassVar[bool] = True
    reach: ClassVar[float] = 1.0
    mode: ClassVar[float] = 0.0
    largest_tilt: ClassVar[float] = np.inf
    mean: ClassVar[float] = 0.0
    variance: ClassVar[float] = 1.0

    def log_density(self, z: Array, order: int = 3) -> tuple[Array, ...]:
        values = (-_HALF_LOG_2PI - 0.5 * z * z, -z, np.full_like(z, -1.0), np.zeros_like(z))
        return values[: order + 1]

    def lower_tail(self, z: Array) -> Tail:
        h, delta = mills(z)
        return Tail(self.log_cdf(z), h, -h * delta)

    def log_cdf(self, z: Array) -> Array:
        return np.asarray(log_ndtr(z), dtype=np.float64)

    def log_sf(self, z: Array) -> Array:
        return self.log_cdf(-z)

    def ppf(self, q: Array) -> Array:
        return np.asarray(ndtri(q), dtype=np.float64)

    def inverse_log_cdf(self, log_p: Array) -> Array:
        return np.asarray(ndtri_exp(log_p), dtype=np.float64)

    def mgf(self, s: Array) -> tuple[Array, Array]:
        return np.exp(0.5 * s * s), s * s

    def between(self, a: Array, b: Array, tilt: Array | None = None) -> Slice:
        """``exp(s z)`` times the normal density is ``exp(s^2 / 2)`` times that of N(s, 1)."""
        s = np.zeros_like(a) if tilt is None else tilt
        low, high = np.clip(a - s, -FAR, FAR), np.clip(b - s, -FAR, FAR)
        half = 0.5 * np.clip(b - a, 1e-300, 2.0 * FAR)
        mass, mean, _ = moments(low, high, 0.5 * (low + high), half, rows=3)
        centre = np.clip(0.0, low, high)
        return Slice(mass + 0.5 * s * s, centre + s, mean - centre)

    def log_excess(self, z: Array, tilt: Array | None, *, above: bool) -> Array | None:
        r"""With Mills' ratio :math:`R = S / \varphi`, z > 0: :math:`e^{sz} [R(z - s) - R(z)] / s` over :math:`R(z)`."""
        t = z if above else -z
        if tilt is None:
            return np.log(mills(-t)[1])
        s = np.asarray(tilt)
        gap = _ratio(t - s) - _ratio(t) if above else _ratio(t) - _ratio(t + s)
        far = s * z + np.log(gap / _ratio(t))
        lift, tail = np.exp(0.5 * s * s - s * z), ndtr(-t)
        part = lift * ndtr(s - t) - tail if above else tail - lift * ndtr(-s - t)
        near = s * z + np.log(part) - log_ndtr(-t)
        edge = 0.5 * s * s if above else np.full_like(z, -np.inf)
        return np.where(t > 0.0, far, np.where(np.abs(z) < FAR, near, edge)) - np.log(s)


def _ratio(x: Array) -> Array:
    """Mills' ratio ``S / phi``."""
    return np.asarray(np.sqrt(0.5 * np.pi) * erfcx(x / np.sqrt(2.0)))
