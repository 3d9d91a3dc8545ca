"""What responses are, or may have been where they are censored or missing: (LAT12)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from tobitgp.latent.collapsed_bound import ResponseEnds
from tobitgp.numerics.quadrature import gauss_hermite
from tobitgp.numerics.truncated_moments import log_interval_mass, moments
from tobitgp.typing import Array

_ORDER, _BISECTIONS, _FAR = 32, 60, 1e100


@dataclass(frozen=True)
class CensoredValues:
    """Normal values between ends, averaged over k values of what they are without noise."""

    f: Array  # (m, k)
    sd: Array  # (m, 1)
    weights: Array  # (k,)
    lower: Array  # (m,)
    upper: Array  # (m,)

    @classmethod
    def of(cls, mean: Array, var: Array, sigma: Array, ends: ResponseEnds, *, conditioned: bool) -> CensoredValues:
        """Of normal f: ``conditioned`` moments are given the ends already, as of training rows; others are not."""
        nodes, weights = gauss_hermite(_ORDER) if conditioned else (np.zeros(1), np.ones(1))
        f = mean[:, None] + np.sqrt(var)[:, None] * nodes
        sd = sigma if conditioned else np.sqrt(var + sigma * sigma)
        return cls(f, sd[:, None], weights, *ends)

    def moments(self) -> tuple[Array, Array]:
        """Means and standard deviations, (m,) each."""
        a, b = self._standard(self.lower), self._standard(self.upper)
        _, first, complement = moments(a, b, 0.5 * (a + b), 0.5 * (b - a), rows=3)
        mean = self.f + self.sd * first.reshape(self.f.shape)
        var = np.square(self.sd) * np.maximum(1.0 - complement, 0.0).reshape(self.f.shape)
        value = mean @ self.weights
        return value, np.sqrt((var + np.square(mean - value[:, None])) @ self.weights)

    def ppf(self, p: float) -> Array:
        """Quantiles (m,), by bisection."""
        value, sd = self.moments()
        low = np.where(np.isfinite(self.lower), self.lower, value - 40.0 * sd)
        high = np.where(np.isfinite(self.upper), self.upper, value + 40.0 * sd)
        a = self._standard(self.lower)
        whole = log_interval_mass(a, self._standard(self.upper))
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            mass = np.exp(log_interval_mass(a, self._standard(middle)) - whole).reshape(self.f.shape) @ self.weights
            low, high = np.where(mass < p, middle, low), np.where(mass < p, high, middle)
        return np.asarray(0.5 * (low + high))

    def _standard(self, y: Array) -> Array:
        return np.clip((y[:, None] - self.f) / self.sd, -_FAR, _FAR).ravel()


@dataclass(frozen=True)
class PossibleValues:
    """Responses of rows: normal with moments (n, D) where missing, between their ends where censored, or seen."""

    mean: Array  # (n, D), of the response without noise
    var: Array  # (n, D)
    sigma: Array  # (n, D), of the noise
    ends: ResponseEnds
    conditioned: bool  # whether the moments are given the ends already

    def moments(self) -> tuple[Array, Array]:
        """Means and standard deviations, (n, D) each."""
        value, sd = self.mean.copy(), np.sqrt(self.var + np.square(self.sigma))
        value[self._censored], sd[self._censored] = self._between.moments()
        return np.where(self.ends.seen, self.ends.lower, value), np.where(self.ends.seen, 0.0, sd)

    def ppf(self, p: float) -> Array:
        """Quantiles (n, D)."""
        value = self.mean + float(ndtri(p)) * np.sqrt(self.var + np.square(self.sigma))
        value[self._censored] = self._between.ppf(p)
        return np.where(self.ends.seen, self.ends.lower, value)

    @property
    def _censored(self) -> Array:
        return np.asarray(self.ends.known & ~self.ends.seen)

    @property
    def _between(self) -> CensoredValues:
        at = self._censored
        ends = ResponseEnds(self.ends.lower[at], self.ends.upper[at])
        return CensoredValues.of(self.mean[at], self.var[at], self.sigma[at], ends, conditioned=self.conditioned)
