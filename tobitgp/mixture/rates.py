"""Exponential and Poisson components with a gamma posterior of the rate; (MIX13) of the theory pages.

References
----------
Kohjima, Matsubayashi and Toda (2019), Variational Bayes for mixture models with censored data, ECML PKDD, eqs. 37-47
and table 1, whose prior g(eta | xi, nu) of a rate is Gamma(nu + 1, xi) of the exponential distribution here, and
Gamma(xi, nu) of Poisson's (xi + 1 is printed).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

import numpy as np
from scipy.special import betainc, digamma, gammaincinv, gammaln, ndtr

from tobitgp.mixture.family import (
    ComponentDistribution,
    MixtureFamily,
    RowStatistics,
    Sums,
)
from tobitgp.mixture.mixture_priors import ComponentPrior, gamma_divergence, gamma_information, learning
from tobitgp.mixture.mixture_rows import Floor, MixtureRows, MixtureUnits, Support, WorkingRows, least
from tobitgp.mixture.weibull import Burr, WeibullDistribution
from tobitgp.numerics import log_probabilities as counts
from tobitgp.numerics.truncated_moments import share
from tobitgp.numerics.unimodal import Domain
from tobitgp.typing import Array

_SMALLEST = 1e-290  # of a drawn rate, relative to its estimate
_OF_LEAST, _OF_A_COUNT = 0.01, 1e-6
_LOG_TINY = -575.0  # where the incomplete beta function soon underflows


class RateFamily(MixtureFamily):
    """Families of one rate, with a gamma posterior (a, b), log rate for point estimate, and y for statistic."""

    __slots__ = ()
    parameters: ClassVar[tuple[str, ...]] = ("rate",)
    hyperparameters: ClassVar[tuple[str, ...]] = ("a", "b")
    positive: ClassVar[tuple[bool, ...]] = (True, True)

    @abstractmethod
    def events_and_exposure(self, sums: Sums) -> Array:
        """Expected events and exposure, (2, K)."""

    def posterior(self, prior: Array, theta: Array, sums: Sums, *, cautious: bool = False) -> Array:
        """Eqs. 37-39."""
        return prior[:, None] + self.events_and_exposure(sums)

    def default_prior(self, typical: float) -> ComponentPrior:
        """A gamma(1, b) rate whose b is learnt."""
        return learning(np.array([1.0, np.nan]), (1,), (1.0,), np.array([typical]))

    def scaled_by(self, q: Array, prior: ComponentPrior) -> Array:
        return (q[0] / q[1])[None][: len(prior.learnt)]

    def divergence(self, q: Array, prior: Array) -> Array:
        return gamma_divergence(q[0], q[1], prior[0], prior[1])

    def between(self, old: Array, new: Array, step: float) -> Array | None:
        """Shape and rate are natural parameters but for constants."""
        q: Array = (1.0 - step) * old + step * new
        return q if (q > 0.0).all() else None

    def information(self, q: Array) -> Array:
        return gamma_information(q[0], q[1])

    def gradient(self, q: Array, prior: Array, sums: Sums) -> Array:
        return np.asarray(np.einsum("pqk,qk->pk", self.information(q), self.posterior(prior, q, sums) - q))

    def maximum(self, theta: Array, sums: Sums, floor: Floor, *, cautious: bool = False) -> Array:
        events, exposure = self.events_and_exposure(sums)
        with np.errstate(divide="ignore", invalid="ignore"):
            best = np.clip(np.log(events / exposure), *self.bounds(theta, floor))
        return np.where(sums.counts > 0.0, best, theta)

    def score(self, theta: Array, sums: Sums) -> Array:
        events, exposure = self.events_and_exposure(sums)
        return np.asarray(events - np.exp(theta) * exposure)

    def interval(self, values: Array, error: Array, level: float) -> tuple[Array, Array]:
        """Interval of the gamma posterior with this mean and standard deviation."""
        a = (values / error) ** 2
        return values * gammaincinv(a, 0.5 - 0.5 * level) / a, values * gammaincinv(a, 0.5 + 0.5 * level) / a

    def drawn(self, theta: Array, moves: Array, z: Array, values: Array, error: Array, prior: Array | None) -> Array:
        """Rates are gamma, with a shape no smaller than that of a prior."""
        free = error[0] > 0.0
        a = np.maximum((values[0, free] / error[0, free]) ** 2, 0.0 if prior is None else prior[0])
        times = np.ones((len(z), len(free)))
        times[:, free] = gammaincinv(a, ndtr(z[:, 0, free])) / a
        return np.asarray(theta + np.log(np.maximum(times, _SMALLEST))[:, None])

    def estimates(self, q: Array, units: MixtureUnits) -> tuple[Array, Array]:
        a, b = q
        rate = a / b / units.scale
        return rate[None], np.stack([rate / a, -rate / b])[None]

    def point_estimates(self, theta: Array, units: MixtureUnits) -> tuple[Array, Array]:
        rate = np.exp(theta) / units.scale
        return rate, rate[None]


@dataclass(frozen=True, slots=True)
class ExponentialRates(RateFamily):
    """Components of density ``rate exp(-rate y)``; a row is one event in an exposure of y."""

    name: ClassVar[str] = "exponential"
    support: ClassVar[Support] = "positive"
    values: ClassVar[Domain] = Domain(0.0, np.inf)
    free_of: ClassVar[Literal["scale"]] = "scale"

    def terms(self, rows: MixtureRows, theta: Array) -> RowStatistics:
        """Table 1 and eq. 43."""
        rate = np.exp(theta[0])[:, None]
        if rows.kind == "exact":
            return RowStatistics(theta[0][:, None] - rate * rows.lower, (rows.lower,))
        if rows.kind == "right":
            return RowStatistics(-rate * rows.lower, (rows.lower + 1.0 / rate,))
        width = rows.upper if rows.kind == "left" else rows.width
        t = rate * width
        log_p, inside = np.log(-np.expm1(-t)), width * share(t)
        if rows.kind == "interval":
            log_p -= rate * rows.lower
            inside += rows.lower
        return RowStatistics(log_p, (inside,))

    def events_and_exposure(self, sums: Sums) -> Array:
        return np.stack([sums.counts, sums.statistics[0]])

    def floor(self, working: WorkingRows) -> Floor:
        """A part of the least time or limit: only zeros and left-censored times draw a mean below that."""
        ends = np.concatenate(working.joined()[:2])
        return _OF_LEAST * float(ends[(ends > 0.0) & np.isfinite(ends)].min(initial=1.0))

    def bounds(self, theta: Array, floor: Floor) -> tuple[Array, Array]:
        """A floor bounds the mean of the times from below."""
        return np.full((1, 1), -np.inf), -np.log(least(floor, theta))

    def location(self, theta: Array) -> Array:
        return -theta[0]

    def evenly(self, values: Array) -> Array:
        return np.log(np.maximum(values, 1e-6))

    def prior_to_working(self, prior: Array, units: MixtureUnits) -> Array:
        return np.array([prior[0], prior[1] / units.scale])

    def posterior_columns(self, q: Array, units: MixtureUnits) -> dict[str, Array]:
        """With the paper's names: the prior and posterior of table 1 are gamma(nu + 1, xi)."""
        a, b = self.prior_to_user(q, units)
        return {"a": a, "b": b, "xi": b, "nu": a - 1.0}

    def plug_in(self, q: Array) -> tuple[Array, Array]:
        a, b = q
        return np.log(a / b)[None], digamma(a) - np.log(a)

    def predictive(self, q: Array, units: MixtureUnits) -> ComponentDistribution:
        """Eq. 46, a Lomax distribution."""
        a, b = q
        return Burr(units.scale * b, np.ones_like(b), a)

    def with_mean(self, q: Array) -> Array:
        return np.stack([np.maximum(q[0], 2.0), q[1]])

    def distribution(self, theta: Array, units: MixtureUnits) -> ComponentDistribution:
        return WeibullDistribution(units.scale * np.exp(-theta[0]), np.ones(theta.shape[1]))


@dataclass(frozen=True, slots=True)
class Poisson(RateFamily):
    """Poisson components; a row is y events in an exposure of 1."""

    name: ClassVar[str] = "poisson"
    support: ClassVar[Support] = "counts"
    free_of: ClassVar[Literal["nothing"]] = "nothing"

    def terms(self, rows: MixtureRows, theta: Array) -> RowStatistics:
        """Log densities of exact rows lack ``-log y!``, which is the same for all components."""
        log_rate = theta[0][:, None]
        rate = np.exp(log_rate)
        low, high = rows.lower, rows.upper
        if rows.kind == "exact":
            return RowStatistics(log_rate * low - rate, (low,))
        if rows.kind == "interval":
            log_p = counts.log_between(low, high, rate)
            moved = np.exp(counts.log_count(low, rate) - log_p) - np.exp(counts.log_count(high, rate) - log_p)
            return RowStatistics(log_p, (np.clip(rate * (1.0 + moved), low + 1.0, high),))
        tail, end = (counts.log_at_least, low) if rows.kind == "right" else (counts.log_below, high)
        log_p = tail(end + 1.0, rate)
        return RowStatistics(log_p, (rate * np.exp(tail(end, rate) - log_p),))

    def lost(self, y: Array) -> Array:
        return -gammaln(y + 1.0)

    def events_and_exposure(self, sums: Sums) -> Array:
        return np.stack([sums.statistics[0], sums.counts])

    def floor(self, working: WorkingRows) -> Floor:
        """A rate at which fewer than a millionth of a count is expected in all rows together."""
        return _OF_A_COUNT / working.total

    def sizes(self, theta: Array) -> Array:
        return np.exp(-0.5 * theta)

    def steps(self, theta: Array) -> Array:
        return np.minimum(self.sizes(theta), 1.0)

    def bounds(self, theta: Array, floor: Floor) -> tuple[Array, Array]:
        """A floor bounds the rate from below."""
        return np.log(least(floor, theta)), np.full((1, 1), np.inf)

    def location(self, theta: Array) -> Array:
        return theta[0]

    def evenly(self, values: Array) -> Array:
        return np.sqrt(values)

    def posterior_columns(self, q: Array, units: MixtureUnits) -> dict[str, Array]:
        """With the paper's names: gamma(xi, nu), table 1 without its slip."""
        return {"a": q[0], "b": q[1], "xi": q[0], "nu": q[1]}

    def plug_in(self, q: Array) -> tuple[Array, Array]:
        """The plug-in rate is the geometric mean exp(E log rate)."""
        a, b = q
        log_rate = digamma(a) - np.log(b)
        return log_rate[None], np.exp(log_rate) - a / b

    def predictive(self, q: Array, units: MixtureUnits) -> ComponentDistribution:
        """Eq. 47."""
        return GammaPoisson(q[0], q[1])

    def distribution(self, theta: Array, units: MixtureUnits) -> ComponentDistribution:
        return PoissonDistribution(np.exp(theta[0]))

    def drawn(self, theta: Array, moves: Array, z: Array, values: Array, error: Array, prior: Array | None) -> Array:
        """About the estimate, which is not the plug-in rate."""
        return RateFamily.drawn(self, np.log(values), moves, z, values, error, prior)


class CountDistribution(ComponentDistribution):
    """Distributions of counts."""

    __slots__ = ()
    discrete: ClassVar[bool] = True

    @abstractmethod
    def tilted(self) -> Self:
        """The distribution q with ``y p(y) = mean q(y - 1)``."""

    def ppf(self, q: Array) -> Array:
        """Bounds above the quantiles, by Cantelli's inequality, where a search for them begins."""
        with np.errstate(divide="ignore"):
            odds = q / (1.0 - q)
        return np.ceil(self.mean()[:, None] + np.sqrt(self.variance()[:, None] * odds))

    def truncated_moments(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        """From E[y] and E[y (y - 1)]."""
        once, log_mass = self.tilted(), self.log_interval(lower, upper)
        first = self.mean()[:, None] * np.exp(once.log_interval(lower - 1.0, upper - 1.0) - log_mass)
        of_both = np.exp(once.tilted().log_interval(lower - 2.0, upper - 2.0) - log_mass)
        second = (self.mean() * once.mean())[:, None] * of_both
        return np.clip(first, lower + 1.0, upper), np.maximum(second + first - first**2, 0.0)


@dataclass(frozen=True, slots=True)
class GammaPoisson(CountDistribution):
    """Poisson counts whose rate is gamma(a, b): negative binomial, of success probability b / (b + 1); (K,) each."""

    a: Array
    b: Array

    def log_density(self, x: Array) -> Array:
        return _at_counts(x, counts.log_count_of_gamma(_whole(x), self.a[:, None], self.b[:, None]))

    def log_cdf(self, x: Array) -> Array:
        return _inside(x, -np.inf, 0.0, self._log_beta(x, above=False))

    def log_sf(self, x: Array) -> Array:
        return _inside(x, 0.0, -np.inf, self._log_beta(x, above=True))

    def _log_beta(self, x: Array, *, above: bool) -> Array:
        """Log of an incomplete beta function I(i, j; p), where it underflows from its continued fraction."""
        a, b, y = np.broadcast_arrays(self.a[:, None], self.b[:, None], _whole(x))
        i, j, p = (y + 1.0, a, 1.0 / (b + 1.0)) if above else (a, y + 1.0, b / (b + 1.0))
        with np.errstate(divide="ignore"):
            out = np.array(np.log(betainc(i, j, p)))
        far = out < _LOG_TINY
        if far.any():
            i, j, p, a, b, y = (each[far] for each in (i, j, p, a, b, y))
            front = counts.log_count_of_gamma(y + 1.0, a, b) + np.log((y + 1.0) / i)
            out[far] = front + np.log(counts.incomplete_beta_fraction(i, j, p))
        return out

    def limiting_hazard(self) -> Array:
        return self.b / (self.b + 1.0)

    def rvs(self, rng: np.random.Generator) -> Array:
        return np.asarray(rng.poisson(rng.gamma(self.a, 1.0 / self.b)), dtype=np.float64)

    def mean(self) -> Array:
        return self.a / self.b

    def variance(self) -> Array:
        return self.mean() * (1.0 + 1.0 / self.b)

    def tilted(self) -> Self:
        return replace(self, a=self.a + 1.0)


@dataclass(frozen=True, slots=True)
class PoissonDistribution(CountDistribution):
    """Poisson distributions of rates (K,)."""

    rate: Array

    def log_density(self, x: Array) -> Array:
        return _at_counts(x, counts.log_count(_whole(x), self.rate[:, None]))

    def log_cdf(self, x: Array) -> Array:
        return _inside(x, -np.inf, 0.0, counts.log_below(_whole(x) + 1.0, self.rate[:, None]))

    def log_sf(self, x: Array) -> Array:
        return _inside(x, 0.0, -np.inf, counts.log_at_least(_whole(x) + 1.0, self.rate[:, None]))

    def limiting_hazard(self) -> Array:
        return np.ones_like(self.rate)

    def rvs(self, rng: np.random.Generator) -> Array:
        return np.asarray(rng.poisson(self.rate), dtype=np.float64)

    def mean(self) -> Array:
        return self.rate

    def variance(self) -> Array:
        return self.rate

    def tilted(self) -> Self:
        return self


def _whole(x: Array) -> Array:
    """Whole numbers of at least 0, also for what lies outside."""
    return np.where(np.isfinite(x), np.maximum(np.floor(x), 0.0), 0.0)


def _at_counts(x: Array, log_p: Array) -> Array:
    return np.where((x >= 0.0) & (x == np.floor(x)) & np.isfinite(x), log_p, -np.inf)


def _inside(x: Array, below: float, beyond: float, log_p: Array) -> Array:
    """Log probabilities of x >= 0, with their values below 0 and at infinity put in."""
    return np.where(x >= 0.0, np.where(np.isposinf(x), beyond, log_p), below)
