"""Families of two parameters, for one sample: a location of log y (or of y), and the logarithm of a shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import gammainc, gammaincc, gammaincinv, gammaln

from tobitgp.distributions.gumbel import Gumbel
from tobitgp.distributions.intervals import log_mass
from tobitgp.distributions.normal import Normal
from tobitgp.distributions.standard_noise import Distribution
from tobitgp.nondetects.sample_results import read_choice
from tobitgp.typing import Array

FamilyName = Literal["lognormal", "normal", "weibull", "gamma"]


@dataclass(frozen=True, slots=True)
class Family:
    """Distributions whose location a moves log y (or y), whatever b, the log of the scale of log y (or of y)."""

    name: str
    fitted: str  # family of `tobitgp.fit`
    log: bool  # a is a location of log y
    noise: Distribution

    def link(self, y: Array) -> Array:
        """Log y, or y; (n,)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(np.maximum(y, 0.0)) if self.log else y

    def inverse(self, t: float) -> float:
        """The value whose `link` is t."""
        with np.errstate(over="ignore"):
            return float(np.exp(t)) if self.log else float(t)

    def log_density(self, t: Array, a: float, b: float) -> Array:
        """Log density of t = link(y), (n,)."""
        return self.noise.logpdf((t - a) * np.exp(-b)) - b

    def log_mass(self, lower: Array, upper: Array, a: float, b: float) -> Array:
        """Log probability of t between ends, one of them maybe infinite; (n,)."""
        low, high = ((t - a) * np.exp(-b) for t in (lower, upper))
        return log_mass(self.noise, low, high)

    def log_sf(self, t: float, a: float, b: float) -> float:
        """Log probability of more than t."""
        return float(self.noise.log_sf(np.array([(t - a) * np.exp(-b)]))[0])

    def mean(self, b: float) -> float:
        """Of the mean, link less a."""
        if not self.log:
            return 0.0
        return 0.5 * float(np.exp(2.0 * b)) if self.noise.gaussian else float(gammaln(1.0 + np.exp(b)))

    def quantile(self, p: float, b: float) -> float:
        """Of a quantile, link less a."""
        return float(np.exp(b) * self.noise.ppf(np.array([p]))[0])

    def sd(self, a: float, b: float) -> float:
        """Standard deviation of y."""
        s = np.exp(b)
        if not self.log:
            return float(s)
        square = s * s if self.noise.gaussian else gammaln(1.0 + 2.0 * s) - 2.0 * gammaln(1.0 + s)
        return self.inverse(a + self.mean(b)) * float(np.sqrt(np.expm1(square)))


class Gamma(Family):
    """Gamma distributions, with a the log of the scale and b the log of the shape."""

    __slots__ = ()

    def log_density(self, t: Array, a: float, b: float) -> Array:
        """Log density of t."""
        k = np.exp(b)
        with np.errstate(over="ignore"):
            return np.asarray(k * (t - a) - np.exp(t - a) - gammaln(k))

    def log_mass(self, lower: Array, upper: Array, a: float, b: float) -> Array:
        """Log probability of t between ends."""
        k = np.exp(b)
        with np.errstate(divide="ignore", over="ignore"):
            low, high = np.exp(lower - a), np.exp(upper - a)
            from_left = np.log(gammainc(k, high) - gammainc(k, low))
            return np.where(low > k, np.log(gammaincc(k, low) - gammaincc(k, high)), from_left)

    def log_sf(self, t: float, a: float, b: float) -> float:
        """Log probability of more than t."""
        with np.errstate(divide="ignore", over="ignore"):
            return float(np.log(gammaincc(np.exp(b), np.exp(t - a))))

    def mean(self, b: float) -> float:
        """Of the mean, link less a."""
        return b

    def quantile(self, p: float, b: float) -> float:
        """Of a quantile, link less a."""
        with np.errstate(divide="ignore"):
            return float(np.log(gammaincinv(np.exp(b), p)))

    def sd(self, a: float, b: float) -> float:
        """Standard deviation of y."""
        return self.inverse(a + 0.5 * b)


FAMILIES = {
    "lognormal": Family("lognormal", "lognormal", True, Normal()),
    "normal": Family("normal", "gaussian", False, Normal()),
    "weibull": Family("weibull", "weibull", True, Gumbel()),
    "gamma": Gamma("gamma", "gengamma", True, Gumbel()),
}


def family_of(name: str) -> Family:
    """The family of a name."""
    return FAMILIES[read_choice(name, "family", FAMILIES)]
