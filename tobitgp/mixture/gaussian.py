r"""Gaussian components, of the response or of its logarithm.

Prior and posterior of mean and precision are normal-gamma, :math:`\mu|\lambda \sim N(m, 1/(\tau\lambda))`,
:math:`\lambda \sim \mathrm{Gamma}(a, b)`. All sums are taken about the current plug-in mean, so that nothing cancels
however far the values lie from 0: (MIX7) to (MIX11) of the theory pages.

References
----------
Kohjima, Matsubayashi and Toda (2019), Variational Bayes for mixture models with censored data, ECML PKDD, eqs. 19-31,
with the variance 1/lambda in place of 1/tau in eqs. 28-31.
Fraley and Raftery (2007), Bayesian regularization for normal mixture estimation and model-based clustering, *Journal of
Classification* 24, 155-181, whose rule for the rate of the precision's prior is the default.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from scipy.special import digamma, ndtri, stdtrit

from tobitgp.distributions.intervals import quantile_inside
from tobitgp.distributions.normal import Normal as StandardNormal
from tobitgp.mixture.family import ComponentDistribution, Family, Sums, Terms, gamma_divergence, gamma_information
from tobitgp.mixture.rows import Rows, Support, Units
from tobitgp.numerics import student_t
from tobitgp.numerics.normal import log_cdf
from tobitgp.numerics.truncated import between, lower_tail
from tobitgp.typing import Array, BoolArray

_FEWEST_DF = 1.0
_HALF_LOG_2PI = 0.5 * float(np.log(2.0 * np.pi))


@dataclass(frozen=True, slots=True)
class Normal(ComponentDistribution):
    """Normal distributions of mean and standard deviation (K,)."""

    loc: Array
    scale: Array

    def log_density(self, x: Array) -> Array:
        z = self._standardised(x)
        return -0.5 * z * z - _HALF_LOG_2PI - np.log(self.scale)[:, None]

    def log_cdf(self, x: Array) -> Array:
        return log_cdf(self._standardised(x))

    def log_sf(self, x: Array) -> Array:
        return log_cdf(-self._standardised(x))

    def ppf(self, q: Array) -> Array:
        return self.loc[:, None] + self.scale[:, None] * ndtri(q)

    def limiting_hazard(self) -> Array:
        return np.full_like(self.loc, np.inf)

    def rvs(self, rng: np.random.Generator) -> Array:
        return np.asarray(rng.normal(self.loc, self.scale))

    def mean(self) -> Array:
        return self.loc

    def variance(self) -> Array:
        return self.scale**2

    def truncated_ppf(self, share: Array, lower: Array, upper: Array) -> Array:
        """From logarithms of the smaller tail."""
        z = quantile_inside(StandardNormal(), share, self._standardised(lower), self._standardised(upper))
        return self.loc[:, None] + self.scale[:, None] * z

    def truncated_moments(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        loc, scale = self.loc[:, None], self.scale[:, None]
        half = 0.5 * (upper - lower) / scale
        _, first, second = standard_truncated(self._standardised(lower), self._standardised(upper), half)
        return np.clip(loc + scale * first, lower, upper), scale**2 * np.maximum(second - first**2, 0.0)

    def _standardised(self, x: Array) -> Array:
        return (x - self.loc[:, None]) / self.scale[:, None]


@dataclass(frozen=True, slots=True)
class StudentT(ComponentDistribution):
    """Student's t with location, scale and degrees of freedom (K,)."""

    loc: Array
    scale: Array
    df: Array

    def log_density(self, x: Array) -> Array:
        z = (x - self.loc[:, None]) / self.scale[:, None]
        each = [student_t.log_density(row, df, 0)[0] for row, df in zip(z, self.df, strict=True)]
        return np.where(np.isfinite(z), np.array(each), -np.inf) - np.log(self.scale)[:, None]

    def log_cdf(self, x: Array) -> Array:
        return self._tail((x - self.loc[:, None]) / self.scale[:, None])

    def log_sf(self, x: Array) -> Array:
        return self._tail((self.loc[:, None] - x) / self.scale[:, None])

    def _tail(self, z: Array) -> Array:
        finite = np.clip(z, -1e150, 1e150)
        tail = np.array([student_t.log_cdf(row, float(df)) for row, df in zip(finite, self.df, strict=True)])
        return np.where(np.isneginf(z), -np.inf, np.where(np.isposinf(z), 0.0, tail))

    def ppf(self, q: Array) -> Array:
        z = np.array([student_t.ppf(q, float(df)) for df in self.df])
        return self.loc[:, None] + self.scale[:, None] * np.where(q <= 0.0, -np.inf, z)

    def limiting_hazard(self) -> Array:
        return np.zeros_like(self.loc)

    def rvs(self, rng: np.random.Generator) -> Array:
        return np.asarray(self.loc + self.scale * rng.standard_t(self.df))

    def mean(self) -> Array:
        return np.where(self.df > 1.0, self.loc, np.nan)

    def variance(self) -> Array:
        ratio = np.divide(self.df, self.df - 2.0, out=np.full_like(self.df, np.inf), where=self.df > 2.0)
        return np.where(self.df > 1.0, self.scale**2 * ratio, np.nan)


class NormalGammaFamily(Family):
    """Components N(mean, sd^2) of what is modelled, the response or its logarithm.

    Statistics are the standardised value z and its square; point parameters are mean and log sd.
    """

    __slots__ = ()
    free_of: ClassVar[Literal["location and scale"]] = "location and scale"
    parameters: ClassVar[tuple[str, ...]] = ("mean", "sd")
    hyperparameters: ClassVar[tuple[str, ...]] = ("mean", "tau", "a", "b")
    positive: ClassVar[tuple[bool, ...]] = (False, True, True, True)

    def terms(self, rows: Rows, theta: Array) -> Terms:
        mean, sd = theta[0][:, None], np.exp(theta[1])[:, None]
        if rows.kind == "interval":
            log_p, *statistics = between((rows.lower - mean) / sd, 0.5 * (rows.width / sd))
            return Terms(log_p, tuple(statistics))
        z = (rows.lower if rows.kind == "right" else rows.upper) - mean
        z /= sd
        if rows.kind == "exact":
            square = z * z
            log_p = -0.5 * square
            log_p -= theta[1][:, None] + _HALF_LOG_2PI
            return Terms(log_p, (z, square))
        if rows.kind == "right":
            np.negative(z, out=z)
        log_p, h = lower_tail(z)
        z *= h
        np.subtract(1.0, z, out=z)
        return Terms(log_p, (h if rows.kind == "right" else np.negative(h, out=h), z))

    def location(self, theta: Array) -> Array:
        return theta[0]

    def sizes(self, theta: Array) -> Array:
        return np.stack([np.exp(theta[1]), np.ones_like(theta[1])])

    def default_prior(self, typical: float, k: float) -> Array:
        """Mean 0 with the weight of a thousandth of a row, and a gamma(1, 1 / (2 k^2)) precision.

        The precision is worth two rows whose squares add up to 1 / k^2, where the variance of all rows is 1: components
        share it. So Fraley and Raftery (2007) choose the rate; the shape is that of Kohjima et al.
        """
        return np.array([0.0, 1e-3, 1.0, 0.5 / k**2])

    def prior_to_working(self, prior: Array, units: Units) -> Array:
        mean, tau, a, b = prior
        return np.array([(mean - units.shift) / units.scale, tau, a, b / units.scale**2])

    def plug_in(self, q: Array) -> tuple[Array, Array]:
        mean, tau, a, b = q
        return np.stack([mean, 0.5 * np.log(b / a)]), 0.5 * (digamma(a) - np.log(a)) - 0.5 / tau

    def posterior(self, prior: Array, theta: Array, sums: Sums) -> Array:
        """Eqs. 20-22."""
        mean0, tau0, a0, b0 = prior
        centre, scatter = _centre_and_scatter(theta, sums, mean0)
        tau = tau0 + sums.counts
        shrunk = sums.counts / tau
        mean = mean0 + shrunk * (centre - mean0)
        b = b0 + 0.5 * (scatter + tau0 * shrunk * (centre - mean0) ** 2)
        return np.stack([mean, tau, a0 + 0.5 * sums.counts, b])

    def divergence(self, q: Array, prior: Array) -> Array:
        mean, tau, a, b = q
        mean0, tau0, a0, b0 = prior
        ratio = tau0 / tau
        of_mean = 0.5 * (ratio - 1.0 - np.log(ratio) + tau0 * (a / b) * (mean - mean0) ** 2)
        return np.asarray(of_mean + gamma_divergence(a, b, a0, b0))

    def between(self, old: Array, new: Array, step: float) -> Array | None:
        """The natural parameters are (tau m, tau, 2a, 2b + tau m^2); (EM5) of the theory pages."""
        (m0, tau0, a0, b0), (m1, tau1, a1, b1) = old, new
        w0, w1 = (1.0 - step) * tau0, step * tau1
        tau = w0 + w1
        a, b = (1.0 - step) * a0 + step * a1, (1.0 - step) * b0 + step * b1
        if not ((tau > 0.0).all() and (a > 0.0).all()):
            return None
        b = b + 0.5 * w0 * w1 / tau * (m1 - m0) ** 2
        return np.stack([m0 + w1 / tau * (m1 - m0), tau, a, b]) if (b > 0.0).all() else None

    def gradient(self, q: Array, prior: Array, sums: Sums) -> Array:
        """Fisher's information times the natural gradient, which is the way to `posterior`."""
        new = self.posterior(prior, self.plug_in(q)[0], sums)
        way = new - q
        pull = new[1] * way[0]
        way[3] += 0.5 * pull * way[0]
        way[0] = pull / q[1]
        return np.asarray(np.einsum("pqk,qk->pk", self.information(q), way))

    def information(self, q: Array) -> Array:
        _, tau, a, b = q
        out = np.zeros((4, 4, q.shape[1]))
        out[0, 0], out[1, 1] = tau * a / b, 0.5 / tau**2
        out[2:, 2:] = gamma_information(a, b)
        return out

    def estimates(self, q: Array, units: Units) -> tuple[Array, Array]:
        """Sd is 1 / sqrt(E lambda)."""
        mean, _, a, b = q
        sd = units.scale * np.sqrt(b / a)
        slopes = np.zeros((2, *q.shape))
        slopes[0, 0] = units.scale
        slopes[1, 2], slopes[1, 3] = -0.5 * sd / a, 0.5 * sd / b
        return np.stack([units.shift + units.scale * mean, sd]), slopes

    @np.errstate(over="ignore", divide="ignore")
    def interval(self, values: Array, error: Array, level: float) -> tuple[Array, Array]:
        """See `Family`.

        Student's t for the mean and for log sd. Under a normal-gamma posterior with df degrees of freedom the variance
        of log sd = -log(precision) / 2 is 1 / (2 df) to first order, which says how many are left. A mean of which the
        error is known alone, as of point estimates at the floor, is normal. With less than one degree of freedom left
        ends are NaN: they would lie many powers of ten apart.
        """
        mean, sd = values
        of_log = error[1] / sd
        of_log, of_mean = (np.where(of_log**2 > 0.5 / _FEWEST_DF, np.nan, one) for one in (of_log, error[0]))
        t = stdtrit(np.where(np.isnan(of_log), np.inf, 0.5 / of_log**2), 0.5 + 0.5 * level)
        away = np.exp(t * of_log)
        return np.stack([mean - t * of_mean, sd / away]), np.stack([mean + t * of_mean, sd * away])

    def maximum(self, theta: Array, sums: Sums, floor: float, cautious: bool = False) -> Array:
        """See `Family`; ``floor`` bounds the variance from below, in standardised units."""
        centre, scatter = _centre_and_scatter(theta, sums, theta[0])
        variance = np.divide(scatter, sums.counts, out=np.exp(2.0 * theta[1]), where=sums.counts > 0.0)
        return np.stack([centre, 0.5 * np.log(np.maximum(variance, floor))])

    def score(self, theta: Array, sums: Sums) -> Array:
        z, square = sums.statistics
        return np.stack([z * np.exp(-theta[1]), square - sums.counts])

    def possible(self, theta: Array, floor: float) -> bool:
        return bool((theta[1] >= 0.5 * np.log(floor) - 1e-12).all())

    def held(self, theta: Array, floor: float) -> BoolArray:
        return np.stack([np.zeros(theta.shape[1], dtype=np.bool_), theta[1] <= 0.5 * np.log(floor) + 1e-9])

    def point_estimates(self, theta: Array, units: Units) -> tuple[Array, Array]:
        sd = units.scale * np.exp(theta[1])
        slopes = np.zeros((2, *theta.shape))
        slopes[0, 0], slopes[1, 1] = units.scale, sd
        return np.stack([units.shift + units.scale * theta[0], sd]), slopes


@dataclass(frozen=True, slots=True)
class Gaussian(NormalGammaFamily):
    """Gaussian components."""

    name: ClassVar[str] = "gaussian"
    support: ClassVar[Support] = "real"

    def predictive(self, q: Array, units: Units) -> StudentT:
        return predictive_of(q, units)

    def distribution(self, theta: Array, units: Units) -> Normal:
        return normal_of(theta, units)


def predictive_of(q: Array, units: Units) -> StudentT:
    """Predictive distribution of what is modelled; eq. 34."""
    mean, tau, a, b = q
    return StudentT(units.shift + units.scale * mean, units.scale * np.sqrt(b / a * (1.0 + 1.0 / tau)), 2.0 * a)


def normal_of(theta: Array, units: Units) -> Normal:
    """Distribution of what is modelled at point parameters (2, K)."""
    return Normal(units.shift + units.scale * theta[0], units.scale * np.exp(theta[1]))


def _centre_and_scatter(theta: Array, sums: Sums, empty: Array) -> tuple[Array, Array]:
    """Weighted mean and sum of squares about it, (K,) each; an empty component has its mean at ``empty``."""
    z, square = sums.statistics
    sd = np.exp(theta[1])
    away = np.divide(z, sums.counts, out=np.zeros_like(z), where=sums.counts > 0.0)
    centre = np.where(sums.counts > 0.0, theta[0] + sd * away, empty)
    return centre, sd * sd * np.maximum(square - z * away, 0.0)


def standard_truncated(a: Array, b: Array, half: Array) -> tuple[Array, Array, Array]:
    """Log mass of (a, b] of half width ``half``, and means of X and its square, X standard normal inside."""
    log_mass, first, second = np.zeros_like(a), np.zeros_like(a), np.ones_like(a)
    left, right = np.isneginf(a) & np.isfinite(b), np.isfinite(a) & np.isposinf(b)
    for at, end, sign in ((left, b, 1.0), (right, a, -1.0)):
        z = sign * end[at]
        log_mass[at], h = lower_tail(z)
        first[at], second[at] = -sign * h, 1.0 - z * h
    both = np.isfinite(a) & np.isfinite(b)
    log_mass[both], first[both], second[both] = between(a[both], half[both])
    return log_mass, first, second


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
