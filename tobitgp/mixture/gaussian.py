r"""Gaussian components, of the response or of its logarithm.

Prior and posterior of mean and precision are normal-gamma, :math:`\mu|\lambda \sim N(m, 1/(\tau\lambda))`,
:math:`\lambda \sim \mathrm{Gamma}(a, b)`. All sums are taken about the current plug-in mean, so that nothing cancels
however far the values lie from 0: (MIX7) to (MIX11) of the theory pages.

References
----------
Kohjima, Matsubayashi and Toda (2019), Variational Bayes for mixture models with censored data, ECML PKDD, eqs. 19-31,
with the variance 1/lambda instead of 1/tau in eqs. 28-31.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
from scipy.special import digamma, stdtrit

from tobitgp.distributions.symmetric_noise import NormalNoise, StudentNoise
from tobitgp.mixture.family import (
    NEARLY,
    ComponentDistribution,
    MixtureFamily,
    RowStatistics,
    Sums,
)
from tobitgp.mixture.mixture_priors import ComponentPrior, gamma_divergence, gamma_information, learning
from tobitgp.mixture.mixture_rows import Floor, MixtureRows, MixtureUnits, Support, WorkingRows, least, spacing_of
from tobitgp.numerics.truncated_moments import between, lower_tail, moments
from tobitgp.typing import Array, BoolArray

_FEWEST_DF = 1.0
_FAR = 1e100
_WAY = np.array([1.0, 0.5, 0.25, 0.1, 0.0])[:, None]  # towards a mean beyond which no sd may be so small
_HALF_LOG_2PI = 0.5 * float(np.log(2.0 * np.pi))


@dataclass(frozen=True, slots=True)
class LocationScaleComponents(ComponentDistribution):
    """Distributions of ``loc + scale Z``, (K,) each, Z normal, or of its exponential."""

    loc: Array
    scale: Array
    log: ClassVar[bool] = False  # whether it is the exponential

    def each(self, of: Callable[..., Array], *z: Array) -> Array:
        """What the distribution of Z, symmetric about 0, says of its values in each component, (K, n)."""
        return of(NormalNoise(), *z)

    def standardised(self, x: Array) -> Array:
        """Values of Z, (K, n)."""
        with np.errstate(divide="ignore"):
            y = np.log(np.maximum(x, 0.0)) if self.log else x
        return (y - self.loc[:, None]) / self.scale[:, None]

    def response(self, z: Array) -> Array:
        """Values at values of Z, (K, n)."""
        y = self.loc[:, None] + self.scale[:, None] * z
        with np.errstate(over="ignore"):
            return np.exp(y) if self.log else y

    def log_density(self, x: Array) -> Array:
        z = self.standardised(x)
        with np.errstate(divide="ignore", invalid="ignore"):
            values = self.each(lambda noise, z: noise.logpdf(z), z)
            values = values - np.log(x) if self.log else values
        return np.where(np.isfinite(z), values, -np.inf) - np.log(self.scale)[:, None]

    def log_cdf(self, x: Array) -> Array:
        return self._tail(self.standardised(x))

    def log_sf(self, x: Array) -> Array:
        return self._tail(-self.standardised(x))

    def _tail(self, z: Array) -> Array:
        return self.each(lambda noise, z: noise.log_cdf(z), z)

    def ppf(self, q: Array) -> Array:
        z = self.each(lambda noise, q: noise.ppf(q), np.broadcast_to(q, (len(self), len(q))))
        return self.response(np.where(q <= 0.0, -np.inf, z))

    def rvs(self, rng: np.random.Generator) -> Array:
        return self.response(rng.standard_normal(len(self))[:, None])[:, 0]

    def truncated_ppf(self, share: Array, lower: Array, upper: Array) -> Array:
        """From logarithms of the smaller tail."""
        a, b = self.standardised(lower), self.standardised(upper)
        return self.response(self.each(lambda noise, a, b: noise.quantile_between(share, a, b), a, b))


@dataclass(frozen=True, slots=True)
class NormalComponents(LocationScaleComponents):
    """Normal distributions of mean and standard deviation (K,)."""

    def limiting_hazard(self) -> Array:
        return np.full_like(self.loc, np.inf)

    def mean(self) -> Array:
        return self.loc

    def variance(self) -> Array:
        return self.scale**2

    def truncated_moments(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        half = 0.5 * (upper - lower) / self.scale[:, None]
        _, first, complement = _truncated(self.standardised(lower), self.standardised(upper), half)
        variance = self.scale[:, None] ** 2 * np.maximum(1.0 - complement, 0.0)
        return np.clip(self.response(first), lower, upper), variance


@dataclass(frozen=True, slots=True)
class LogNormalComponents(LocationScaleComponents):
    """Exponentials of normal distributions."""

    log: ClassVar[bool] = True

    @np.errstate(over="ignore")
    def mean(self) -> Array:
        return np.exp(self.loc + 0.5 * self.scale**2)

    @np.errstate(over="ignore")
    def variance(self) -> Array:
        return self.mean() ** 2 * np.expm1(self.scale**2)

    @np.errstate(all="ignore")
    def truncated_moments(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        """Powers of the value tilt its logarithm's distribution."""
        lower, loc, scale = np.maximum(lower, 0.0), self.loc[:, None], self.scale[:, None]
        a, b = self.standardised(lower), self.standardised(upper)
        half = 0.5 * np.log1p((upper - lower) / lower) / scale
        log_mass = _truncated(a, b, half)[0]

        def moment(r: float) -> Array:
            tilted = _truncated(a - r * scale, b - r * scale, half)[0]
            return np.exp(r * loc + 0.5 * (r * scale) ** 2 + tilted - log_mass)

        first = np.clip(moment(1.0), lower, upper)
        return first, np.clip(moment(2.0) - first**2, 0.0, (0.5 * (upper - lower)) ** 2)


@dataclass(frozen=True, slots=True)
class StudentT(LocationScaleComponents):
    """Student's t distributions with degrees of freedom (K,), or their exponentials, whose moments are infinite."""

    df: Array
    log: bool = field(default=False, kw_only=True)  # type: ignore[misc]

    def each(self, of: Callable[..., Array], *z: Array) -> Array:
        finite = (np.clip(each, -_FAR, _FAR) for each in z)
        return np.stack([of(StudentNoise(df), *rows) for df, *rows in zip(self.df.tolist(), *finite, strict=True)])

    def _tail(self, z: Array) -> Array:
        below = LocationScaleComponents._tail(self, z)
        return np.where(np.isneginf(z), -np.inf, np.where(np.isposinf(z), 0.0, below))

    def rvs(self, rng: np.random.Generator) -> Array:
        return self.response(rng.standard_t(self.df)[:, None])[:, 0]

    def mean(self) -> Array:
        return np.full_like(self.loc, np.inf) if self.log else np.where(self.df > 1.0, self.loc, np.nan)

    def variance(self) -> Array:
        if self.log:
            return np.full_like(self.loc, np.inf)
        return self.scale**2 * np.array([StudentNoise(df).variance for df in self.df.tolist()])


def _truncated(a: Array, b: Array, half: Array) -> Array:
    """Log mass of (a, b), and mean and 1 less variance of X, standard normal, inside; (3, K, n)."""
    a, b, half = (np.clip(one, -_FAR, _FAR) for one in (a, b, half))
    flat = moments(a.ravel(), b.ravel(), 0.5 * (a + b).ravel(), half.ravel(), rows=3)
    return flat.reshape(3, *a.shape)


@dataclass(frozen=True, slots=True)
class Gaussian(MixtureFamily):
    """Components N(mean, sd^2): statistics are standardised value and square, point estimates mean and log sd."""

    name: ClassVar[str] = "gaussian"
    support: ClassVar[Support] = "real"
    free_of: ClassVar[Literal["location and scale"]] = "location and scale"
    parameters: ClassVar[tuple[str, ...]] = ("mean", "sd")
    hyperparameters: ClassVar[tuple[str, ...]] = ("mean", "tau", "a", "b")
    positive: ClassVar[tuple[bool, ...]] = (False, True, True, True)

    def terms(self, rows: MixtureRows, theta: Array) -> RowStatistics:
        mean, sd = theta[0][:, None], np.exp(theta[1])[:, None]
        if rows.kind == "interval":
            ends = (rows.lower - mean) / sd, (rows.upper - mean) / sd
            log_p, *statistics = between(*ends, 0.5 * (rows.width / sd))
            return RowStatistics(log_p, tuple(statistics))
        z = (rows.lower if rows.kind == "right" else rows.upper) - mean
        z /= sd
        if rows.kind == "exact":
            square = z * z
            if rows.width.any():
                square += (rows.width / sd) ** 2 / 12.0
            log_p = -0.5 * square
            log_p -= theta[1][:, None] + _HALF_LOG_2PI
            return RowStatistics(log_p, (z, square))
        if rows.kind == "right":
            np.negative(z, out=z)
        log_p, h = lower_tail(z)
        z *= h
        np.subtract(1.0, z, out=z)
        return RowStatistics(log_p, (h if rows.kind == "right" else np.negative(h, out=h), z))

    def location(self, theta: Array) -> Array:
        return theta[0]

    def sizes(self, theta: Array) -> Array:
        return np.stack([np.exp(theta[1]), np.ones_like(theta[1])])

    def default_prior(self, typical: float) -> ComponentPrior:
        """Mean 0, worth as many rows as is learnt, and a gamma(1, b) precision whose b is learnt."""
        return learning(np.array([0.0, np.nan, 1.0, np.nan]), (1, 3), (0.5, 1.0), np.ones(2))

    def scaled_by(self, q: Array, prior: ComponentPrior) -> Array:
        mean, tau, a, b = q
        of = {1: 0.5 * (1.0 / tau + a / b * (mean - prior.values[0]) ** 2), 3: a / b}
        return np.array([of[at] for at in prior.learnt.tolist()]).reshape(-1, q.shape[1])

    def prior_to_working(self, prior: Array, units: MixtureUnits) -> Array:
        mean, tau, a, b = prior
        return np.array([(mean - units.shift) / units.scale, tau, a, b / units.scale**2])

    def plug_in(self, q: Array) -> tuple[Array, Array]:
        mean, tau, a, b = q
        return np.stack([mean, 0.5 * np.log(b / a)]), 0.5 * (digamma(a) - np.log(a)) - 0.5 / tau

    def posterior(self, prior: Array, theta: Array, sums: Sums, *, cautious: bool = False) -> Array:
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

    def estimates(self, q: Array, units: MixtureUnits) -> tuple[Array, Array]:
        """Sd is 1 / sqrt(E lambda)."""
        values, of = self.point_estimates(self.plug_in(q)[0], units)
        slopes = [of[:, 0], 0.0 * of[:, 0], -0.5 * of[:, 1] / q[2], 0.5 * of[:, 1] / q[3]]
        return values, np.stack(slopes, axis=1)

    @np.errstate(over="ignore", divide="ignore")
    def interval(self, values: Array, error: Array, level: float) -> tuple[Array, Array]:
        """Student's t for the mean and for log sd, whose variance 1 / (2 df) says how many degrees of freedom are left.

        A mean of which the error is known alone is normal; with less than one degree of freedom ends are NaN.
        """
        mean, sd = values
        of_log = error[1] / sd
        of_log, of_mean = (np.where(of_log**2 > 0.5 / _FEWEST_DF, np.nan, one) for one in (of_log, error[0]))
        t = stdtrit(np.where(np.isnan(of_log), np.inf, 0.5 / of_log**2), 0.5 + 0.5 * level)
        away = np.exp(t * of_log)
        return np.stack([mean - t * of_mean, sd / away]), np.stack([mean + t * of_mean, sd * away])

    def maximum(self, theta: Array, sums: Sums, floor: Floor, *, cautious: bool = False) -> Array:
        centre, scatter = _centre_and_scatter(theta, sums, theta[0])
        square = np.divide(scatter, sums.counts, out=np.exp(2.0 * theta[1]), where=sums.counts > 0.0)
        sd = np.sqrt(square)
        narrow = sd < least(floor, centre)
        if narrow.any():
            best = _held_back(theta[0], centre, square, floor)
            centre, sd = np.where(narrow, best, [centre, sd])
        return np.stack([centre, np.log(sd)])

    def score(self, theta: Array, sums: Sums) -> Array:
        z, square = sums.statistics
        return np.stack([z * np.exp(-theta[1]), square - sums.counts])

    def floor(self, working: WorkingRows) -> Floor:
        return spacing_of(working)

    def bounds(self, theta: Array, floor: Floor) -> tuple[Array, Array]:
        """A floor bounds the sd from below."""
        low = np.stack([np.full(theta.shape[1], -np.inf), np.log(least(floor, theta[0]))])
        return low, np.full((2, 1), np.inf)

    def narrow(self, theta: Array, floor: Floor) -> BoolArray:
        return np.asarray(theta[1] <= np.log(least(floor, theta[0])) + NEARLY)

    def point_estimates(self, theta: Array, units: MixtureUnits) -> tuple[Array, Array]:
        sd = units.scale * np.exp(theta[1])
        slopes = np.zeros((2, *theta.shape))
        slopes[0, 0], slopes[1, 1] = units.scale, sd
        return np.stack([units.shift + units.scale * theta[0], sd]), slopes

    def predictive(self, q: Array, units: MixtureUnits) -> ComponentDistribution:
        """Eq. 34."""
        mean, tau, a, b = q
        scale = np.sqrt(b / a * (1.0 + 1.0 / tau))
        return StudentT(units.shift + units.scale * mean, units.scale * scale, 2.0 * a, log=self.logarithm)

    def distribution(self, theta: Array, units: MixtureUnits) -> ComponentDistribution:
        kind = LogNormalComponents if self.logarithm else NormalComponents
        return kind(units.shift + units.scale * theta[0], units.scale * np.exp(theta[1]))


def _held_back(start: Array, goal: Array, square: Array, floor: Floor) -> Array:
    """Means and sds (2, K) at a floor, the best of some means on the way to a goal: a floor may rise on it."""
    mean = start + _WAY * (goal - start)
    squares = square + (mean - goal) ** 2
    sd = np.maximum(np.sqrt(squares), least(floor, mean))
    best = np.argmin(np.log(sd) + 0.5 * squares / sd**2, axis=0), np.arange(len(goal))
    return np.stack([mean[best], sd[best]])


def _centre_and_scatter(theta: Array, sums: Sums, empty: Array) -> tuple[Array, Array]:
    """Weighted mean and sum of squares about it, (K,) each; an empty component has its mean at ``empty``."""
    z, square = sums.statistics
    sd = np.exp(theta[1])
    away = np.divide(z, sums.counts, out=np.zeros_like(z), where=sums.counts > 0.0)
    centre = np.where(sums.counts > 0.0, theta[0] + sd * away, empty)
    return centre, sd * sd * np.maximum(square - z * away, 0.0)


@dataclass(frozen=True, slots=True)
class Lognormal(Gaussian):
    """Gaussian components of the logarithm, with all sums, priors and posteriors on that scale."""

    name: ClassVar[str] = "lognormal"
    support: ClassVar[Support] = "positive"
    logarithm: ClassVar[bool] = True
