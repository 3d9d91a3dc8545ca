r"""Times of rows that go on from the past of a subject: (AFT2) of the theory pages.

With :math:`\psi` the accelerated time that has passed, a row that begins at :math:`t_0` with :math:`\psi_0` reaches
:math:`\psi_0 + (t - t_0) e^{-\eta}` at t, and :math:`\log \psi` at the event has the distribution of the noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tobitgp.distributions.location_scale import LocationScale
from tobitgp.distributions.response import RowDistributions
from tobitgp.distributions.standard_noise import Distribution
from tobitgp.typing import Array


@dataclass(frozen=True, slots=True)
class Continued(RowDistributions):
    """Times of n rows, given survival of their start."""

    noise: Distribution
    eta: Array  # (n,), or with more axes
    sigma: Array
    begin: Array  # logarithm of the accelerated time at the start, -inf at time 0
    start: Array

    log = True

    @property
    def location(self) -> Array:  # type: ignore[override]
        return self.eta

    @property
    def shape(self) -> tuple[int, ...]:
        return np.broadcast_shapes(*map(np.shape, (self.eta, self.sigma, self.begin, self.start)))

    @property
    def width(self) -> Array:
        return self.sigma

    def take(self, rows: Any) -> Continued:
        values = (np.broadcast_to(each, self.shape)[rows] for each in (self.eta, self.sigma, self.begin, self.start))
        return Continued(self.noise, *values)

    @property
    def _of_one(self) -> LocationScale:
        """Distribution of the logarithm of the accelerated time."""
        return LocationScale(self.noise, np.zeros(()), self.sigma)

    @property
    def alive(self) -> Array:
        """Log survival at the start."""
        with np.errstate(invalid="ignore"):
            return np.where(np.isneginf(self.begin), 0.0, self._of_one.logsf(self.begin))

    def _lived(self, y: Array) -> Array:
        with np.errstate(divide="ignore"):
            return np.logaddexp(self.begin, np.log(np.maximum(y - self.start, 0.0)) - self.eta)

    def logsf(self, y: Array) -> Array:
        return self._of_one.logsf(self._lived(y)) - self.alive

    def logpdf(self, y: Array) -> Array:
        lived = self._lived(y)
        return np.where(y < self.start, -np.inf, self._of_one.logpdf(lived) - lived - self.eta - self.alive)

    def modelled_hazard(self, x: Array) -> tuple[Array, Array]:
        with np.errstate(over="ignore"):
            y = np.exp(x)
            H = -self.logsf(y)
            return H, np.exp(self.logpdf(y) + H + x)

    def reached(self, goal: Array) -> Array:
        with np.errstate(over="ignore", divide="ignore"):
            z = self.noise.inverse_log_sf(self.alive - goal)
            return np.log(self.start + np.exp(self.eta) * (np.exp(self.sigma * z) - np.exp(self.begin)))

    def mean(self) -> Array:
        """Mean times; infinite where those of the noise are."""
        tilt = np.broadcast_to(self.sigma >= self.noise.largest_tilt, self.shape)
        free = np.full(self.shape, np.inf)
        with np.errstate(over="ignore", invalid="ignore"):
            value = self.start + np.exp(self.eta) * (
                LocationScale(
                    self.noise, np.zeros(self.shape), np.broadcast_to(self.sigma, self.shape), log=True
                ).conditional_mean(np.exp(np.broadcast_to(self.begin, self.shape)), free)
                - np.exp(self.begin)
            )
        return np.where(tilt, np.inf, value)
