"""Families of two parameters for one sample: a location a of log y (or of y), and b, the log of a scale or shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import gammainc, gammaincc, gammaln, poch

from tobitgp.distributions.gengamma import GenGamma
from tobitgp.distributions.gumbel import Gumbel
from tobitgp.distributions.location_scale import LocationScale
from tobitgp.distributions.normal import Normal
from tobitgp.distributions.standard_noise import Distribution
from tobitgp.nondetects.sample_results import read_choice
from tobitgp.typing import Array

FamilyName = Literal["lognormal", "normal", "weibull", "gamma"]


@dataclass(frozen=True, slots=True)
class SampleFamily:
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

    def linked(self, a: float, b: float) -> LocationScale:
        """The distribution of t = link(y)."""
        return LocationScale(self.noise, np.asarray(a), np.exp(b))

    def log_likelihood(self, lower: Array, upper: Array, a: float, b: float) -> float:
        """Sum of log densities of t where the ends are equal and of log masses elsewhere; -inf where it is lost."""
        exact, t = lower == upper, self.linked(a, b)
        value = float(t.logpdf(upper[exact]).sum() + t.log_mass(lower[~exact], upper[~exact]).sum())
        return value if np.isfinite(value) else -np.inf

    def log_moment(self, order: float, b: float) -> float:
        """Log of the mean of a power of y where a is 0; of families of log y."""
        s = order * np.exp(b)
        return float(0.5 * s * s if self.noise.gaussian else gammaln(1.0 + s))

    def mean(self, b: float) -> float:
        """Of the mean, link less a."""
        return self.log_moment(1.0, b) if self.log else 0.0

    def quantile(self, p: float, b: float) -> float:
        """Of a quantile, link less a."""
        return float(self.linked(0.0, b).ppf(p))

    def sd(self, a: float, b: float) -> float:
        """Standard deviation of y."""
        if not self.log:
            return float(np.exp(b))
        square = self.log_moment(2.0, b) - 2.0 * self.mean(b)
        return self.inverse(a + self.mean(b)) * float(np.sqrt(np.expm1(square)))


class Gamma(SampleFamily):
    """Gamma distributions, with a the log of the scale and b the log of the shape; Q of their log times is its sd."""

    __slots__ = ()

    def linked(self, a: float, b: float) -> LocationScale:
        """The distribution of log y."""
        sd = np.exp(-0.5 * b)
        return LocationScale(GenGamma(float(sd)), np.asarray(a + b), sd)

    def log_likelihood(self, lower: Array, upper: Array, a: float, b: float) -> float:
        """By incomplete gamma functions, which take a quarter of the time."""
        exact, k = lower == upper, np.exp(b)
        t = upper[exact] - a
        with np.errstate(divide="ignore", over="ignore"):
            low, high = np.exp(lower[~exact] - a), np.exp(upper[~exact] - a)
            from_left = np.log(gammainc(k, high) - gammainc(k, low))
            mass = np.where(low > k, np.log(gammaincc(k, low) - gammaincc(k, high)), from_left)
            value = float((k * t - np.exp(t) - gammaln(k)).sum() + mass.sum())
        return value if np.isfinite(value) else -np.inf

    def log_moment(self, order: float, b: float) -> float:
        """Log of the mean of a power of y where a is 0."""
        return float(np.log(poch(np.exp(b), order)))


SAMPLE_FAMILIES = {
    "lognormal": SampleFamily("lognormal", "lognormal", True, Normal()),
    "normal": SampleFamily("normal", "gaussian", False, Normal()),
    "weibull": SampleFamily("weibull", "weibull", True, Gumbel()),
    "gamma": Gamma("gamma", "gengamma", True, Gumbel()),
}


def family_of(name: str) -> SampleFamily:
    """The family of a name."""
    return SAMPLE_FAMILIES[read_choice(name, "family", SAMPLE_FAMILIES)]
