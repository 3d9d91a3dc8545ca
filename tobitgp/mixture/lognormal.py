"""Log-normal components: Gaussian ones of the logarithm, with all sums, priors and posteriors on that scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tobitgp.mixture.family import ComponentDistribution
from tobitgp.mixture.gaussian import Normal, NormalGammaFamily, StudentT, normal_of, predictive_of, standard_truncated
from tobitgp.mixture.rows import Support, Units
from tobitgp.typing import Array


@dataclass(frozen=True, slots=True)
class Exponentiated(ComponentDistribution):
    """Exponentials of values of other distributions."""

    logarithm: Normal | StudentT

    def log_density(self, x: Array) -> Array:
        y = _log(x)
        return self.logarithm.log_density(y) - np.where(np.isfinite(y), y, 0.0)

    def log_cdf(self, x: Array) -> Array:
        return self.logarithm.log_cdf(_log(x))

    def log_sf(self, x: Array) -> Array:
        return self.logarithm.log_sf(_log(x))

    @np.errstate(over="ignore")
    def ppf(self, q: Array) -> Array:
        return np.exp(self.logarithm.ppf(q))

    def limiting_hazard(self) -> Array:
        return np.zeros(len(self.logarithm))

    @np.errstate(over="ignore")
    def rvs(self, rng: np.random.Generator) -> Array:
        return np.exp(self.logarithm.rvs(rng))

    @np.errstate(over="ignore")
    def truncated_ppf(self, share: Array, lower: Array, upper: Array) -> Array:
        return np.exp(self.logarithm.truncated_ppf(share, _log(lower), _log(upper)))


@dataclass(frozen=True, slots=True)
class LogNormal(Exponentiated):
    """Log-normal distributions."""

    logarithm: Normal

    @np.errstate(over="ignore")
    def mean(self) -> Array:
        return np.exp(self.logarithm.loc + 0.5 * self.logarithm.scale**2)

    @np.errstate(over="ignore")
    def variance(self) -> Array:
        return self.mean() ** 2 * np.expm1(self.logarithm.scale**2)

    @np.errstate(all="ignore")
    def truncated_moments(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        """Powers of the value tilt its logarithm's distribution."""
        lower = np.maximum(lower, 0.0)
        loc, scale = self.logarithm.loc[:, None], self.logarithm.scale[:, None]
        a, b = (_log(lower) - loc) / scale, (_log(upper) - loc) / scale
        half = 0.5 * np.log1p((upper - lower) / lower) / scale
        log_mass = standard_truncated(a, b, half)[0]
        first, second = (
            np.exp(
                r * loc + 0.5 * (r * scale) ** 2 + standard_truncated(a - r * scale, b - r * scale, half)[0] - log_mass
            )
            for r in (1.0, 2.0)
        )
        first = np.clip(first, lower, upper)
        return first, np.clip(second - first**2, 0.0, (0.5 * (upper - lower)) ** 2)


@dataclass(frozen=True, slots=True)
class LogStudentT(Exponentiated):
    """Exponentials of Student's t, which have no moments."""

    logarithm: StudentT

    def mean(self) -> Array:
        return np.full_like(self.logarithm.loc, np.inf)

    def variance(self) -> Array:
        return np.full_like(self.logarithm.loc, np.inf)


@dataclass(frozen=True, slots=True)
class Lognormal(NormalGammaFamily):
    """Gaussian components of the logarithm, with all sums, priors and posteriors on that scale."""

    name: ClassVar[str] = "lognormal"
    support: ClassVar[Support] = "positive"
    logarithm: ClassVar[bool] = True

    def predictive(self, q: Array, units: Units) -> LogStudentT:
        return LogStudentT(predictive_of(q, units))

    def distribution(self, theta: Array, units: Units) -> LogNormal:
        return LogNormal(normal_of(theta, units))


def _log(x: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.maximum(x, 0.0)))
