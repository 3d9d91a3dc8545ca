"""Exponential and Poisson components with a gamma posterior of the rate; (MIX13) of the theory pages.

Exponential components with a gamma posterior of the rate; (MIX13) of the theory pages.

Poisson components with a gamma posterior of the rate; (MIX13) of the theory pages.

References
----------
Kohjima, Matsubayashi and Toda (2019), Variational Bayes for mixture models with censored data, ECML PKDD, eqs. 37-46
and table 1, whose prior g(eta | xi, nu) is Gamma(nu + 1, xi) here.
Kohjima, Matsubayashi and Toda (2019), Variational Bayes for mixture models with censored data, ECML PKDD, eqs. 37-47
and table 1, whose prior g(eta | xi, nu) is Gamma(xi, nu) of the rate (xi + 1 is printed).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

import numpy as np
from scipy.special import betainc, betaincc, digamma, gammaincinv, ndtr

from tobitgp.mixture.family import ComponentDistribution, RateFamily, Sums, Terms
from tobitgp.mixture.rows import Rows, Support, Units
from tobitgp.mixture.weibull import Burr, WeibullDistribution
from tobitgp.numerics.log_probabilities import (
    incomplete_beta_fraction,
    log_at_least,
    log_below,
    log_between,
    log_count,
    log_count_of_gamma,
)
from tobitgp.numerics.truncated import share
from tobitgp.typing import Array, BoolArray


@dataclass(frozen=True, slots=True)
class Exponential(RateFamily):
    """Components of density ``rate exp(-rate y)``; see `tobitgp.mixture.family.Family`.

    The statistic is y; the point parameter is log rate.
    """

    name: ClassVar[str] = "exponential"
    support: ClassVar[Support] = "positive"
    free_of: ClassVar[Literal["scale"]] = "scale"

    def terms(self, rows: Rows, theta: Array) -> Terms:
        """Table 1 and eq. 43."""
        rate = np.exp(theta[0])[:, None]
        if rows.kind == "exact":
            return Terms(theta[0][:, None] - rate * rows.lower, (rows.lower,))
        if rows.kind == "right":
            return Terms(-rate * rows.lower, (rows.lower + 1.0 / rate,))
        width = rows.upper if rows.kind == "left" else rows.width
        t = rate * width
        log_p, inside = np.log(-np.expm1(-t)), width * share(t)
        if rows.kind == "interval":
            log_p -= rate * rows.lower
            inside += rows.lower
        return Terms(log_p, (inside,))

    def location(self, theta: Array) -> Array:
        return -theta[0]

    def evenly(self, values: Array) -> Array:
        return np.log(np.maximum(values, 1e-6))

    def default_prior(self, typical: float, k: float) -> Array:
        """A gamma(2, 1) rate where the median of the times is 1."""
        return np.array([2.0, 1.0])

    def prior_to_working(self, prior: Array, units: Units) -> Array:
        return np.array([prior[0], prior[1] / units.scale])

    def plug_in(self, q: Array) -> tuple[Array, Array]:
        a, b = q
        return np.log(a / b)[None], digamma(a) - np.log(a)

    def posterior(self, prior: Array, theta: Array, sums: Sums) -> Array:
        """Eqs. 37-39."""
        return np.stack([prior[0] + sums.counts, prior[1] + sums.statistics[0]])

    def maximum(self, theta: Array, sums: Sums, floor: float, cautious: bool = False) -> Array:
        """See `Family`; ``floor`` bounds the mean of the times from below, in medians."""
        total = np.maximum(sums.statistics[0], floor * sums.counts)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(sums.counts > 0.0, np.log(sums.counts / total), theta[0])[None]

    def score(self, theta: Array, sums: Sums) -> Array:
        return sums.counts - np.exp(theta) * sums.statistics

    def possible(self, theta: Array, floor: float) -> bool:
        return bool((theta <= -np.log(floor) + 1e-12).all())

    def held(self, theta: Array, floor: float) -> BoolArray:
        return np.asarray(theta >= -np.log(floor) - 1e-9)

    def predictive(self, q: Array, units: Units) -> ComponentDistribution:
        """Eq. 46, a Lomax distribution."""
        a, b = q
        return Burr(units.scale * b, np.ones_like(b), a)

    def distribution(self, theta: Array, units: Units) -> ComponentDistribution:
        return WeibullDistribution(units.scale * np.exp(-theta[0]), np.ones(theta.shape[1]))


_SMALLEST = 1e-290  # of a drawn rate, relative to its estimate
_LOG_TINY = -575.0  # where the incomplete beta function soon underflows


class CountDistribution(ComponentDistribution):
    """Distributions of counts."""

    __slots__ = ()
    discrete: ClassVar[bool] = True

    @abstractmethod
    def tilted(self) -> Self:
        """The distribution q with ``y p(y) = mean q(y - 1)``."""

    def ppf(self, q: Array) -> Array:
        """Cantelli's bound."""
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
class NegativeBinomial(CountDistribution):
    """Poisson counts whose rate is gamma(a, b): negative binomial, of success probability b / (b + 1); (K,) each."""

    a: Array
    b: Array

    def log_density(self, x: Array) -> Array:
        return _at_counts(x, log_count_of_gamma(_counts(x), self.a[:, None], self.b[:, None]))

    def log_cdf(self, x: Array) -> Array:
        y, a, b = _counts(x), self.a[:, None], self.b[:, None]
        with np.errstate(divide="ignore"):
            out = np.array(np.log(betainc(a, y + 1.0, b / (b + 1.0))))
        a, b, y = np.broadcast_arrays(a, b, y)
        far = out < _LOG_TINY
        if far.any():
            a, b, y = a[far], b[far], y[far]
            out[far] = self.log_density(_counts(x))[far] + np.log((a + y) / (a * (b + 1.0)))
            out[far] += np.log(incomplete_beta_fraction(a, y + 1.0, b / (b + 1.0)))
        return np.where(x >= 0.0, np.where(np.isposinf(x), 0.0, out), -np.inf)

    def log_sf(self, x: Array) -> Array:
        y, a, b = _counts(x), self.a[:, None], self.b[:, None]
        with np.errstate(divide="ignore"):
            out = np.array(np.log(betaincc(a, y + 1.0, b / (b + 1.0))))
        a, b, y = np.broadcast_arrays(a, b, y)
        far = out < _LOG_TINY
        if far.any():
            a, b, y = a[far], b[far], y[far]
            out[far] = self.log_density(_counts(x) + 1.0)[far]
            out[far] += np.log(incomplete_beta_fraction(y + 1.0, a, 1.0 / (b + 1.0)))
        return np.where(x >= 0.0, np.where(np.isposinf(x), -np.inf, out), 0.0)

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
        return _at_counts(x, log_count(_counts(x), self.rate[:, None]))

    def log_cdf(self, x: Array) -> Array:
        y = _counts(x)
        out = np.where(np.isposinf(x), 0.0, log_below(y + 1.0, self.rate[:, None]))
        return np.where(x >= 0.0, out, -np.inf)

    def log_sf(self, x: Array) -> Array:
        y = _counts(x)
        out = np.where(np.isposinf(x), -np.inf, log_at_least(y + 1.0, self.rate[:, None]))
        return np.where(x >= 0.0, out, 0.0)

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


@dataclass(frozen=True, slots=True)
class Poisson(RateFamily):
    """Poisson components; see `tobitgp.mixture.family.Family`. The statistic is y; the point parameter is log rate."""

    name: ClassVar[str] = "poisson"
    support: ClassVar[Support] = "counts"
    free_of: ClassVar[Literal["nothing"]] = "nothing"

    def terms(self, rows: Rows, theta: Array) -> Terms:
        """Log densities of exact rows lack ``-log y!``, which is the same for all components."""
        log_rate = theta[0][:, None]
        rate = np.exp(log_rate)
        low, high = rows.lower, rows.upper
        if rows.kind == "exact":
            return Terms(log_rate * low - rate, (low,))
        if rows.kind == "right":
            log_p = log_at_least(low + 1.0, rate)
            return Terms(log_p, (rate * np.exp(log_at_least(low, rate) - log_p),))
        if rows.kind == "left":
            log_p = log_below(high + 1.0, rate)
            return Terms(log_p, (rate * np.exp(log_below(high, rate) - log_p),))
        log_p = log_between(low, high, rate)
        moved = np.exp(log_count(low, rate) - log_p) - np.exp(log_count(high, rate) - log_p)
        return Terms(log_p, (np.clip(rate * (1.0 + moved), low + 1.0, high),))

    def location(self, theta: Array) -> Array:
        return theta[0]

    def evenly(self, values: Array) -> Array:
        return np.sqrt(values)

    def default_prior(self, typical: float, k: float) -> Array:
        """An exponential prior of the rate, of mean ``typical``."""
        return np.array([1.0, 1.0 / typical])

    def plug_in(self, q: Array) -> tuple[Array, Array]:
        """The plug-in rate is the geometric mean exp(E log rate)."""
        a, b = q
        log_rate = digamma(a) - np.log(b)
        return log_rate[None], np.exp(log_rate) - a / b

    def posterior(self, prior: Array, theta: Array, sums: Sums) -> Array:
        """Eqs. 37-39."""
        return np.stack([prior[0] + sums.statistics[0], prior[1] + sums.counts])

    def maximum(self, theta: Array, sums: Sums, floor: float, cautious: bool = False) -> Array:
        """See `Family`; ``floor`` bounds the rate from below."""
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = np.maximum(sums.statistics[0] / sums.counts, floor)
        return np.where(sums.counts > 0.0, np.log(rate), theta[0])[None]

    def score(self, theta: Array, sums: Sums) -> Array:
        return sums.statistics - np.exp(theta) * sums.counts

    def possible(self, theta: Array, floor: float) -> bool:
        return bool((theta >= np.log(floor) - 1e-12).all())

    def held(self, theta: Array, floor: float) -> BoolArray:
        return np.asarray(theta <= np.log(floor) + 1e-9)

    def predictive(self, q: Array, units: Units) -> ComponentDistribution:
        """Eq. 47."""
        return NegativeBinomial(q[0], q[1])

    def distribution(self, theta: Array, units: Units) -> ComponentDistribution:
        return PoissonDistribution(np.exp(theta[0]))

    def drawn(self, theta: Array, moves: Array, z: Array, values: Array, error: Array, prior: Array | None) -> Array:
        """Rates are gamma, with a shape no smaller than that of a prior."""
        rate, free = values[0], error[0] > 0.0
        a = np.maximum((rate[free] / error[0][free]) ** 2, 0.0 if prior is None else prior[0])
        times = np.tile(rate / np.exp(theta[0]), (len(z), 1))
        times[:, free] *= gammaincinv(a, ndtr(z[:, 0, free])) / a
        return (theta[0] + np.log(np.maximum(times, _SMALLEST)))[:, None]


def _at_counts(x: Array, log_p: Array) -> Array:
    """Log probabilities where x is a count, -inf elsewhere."""
    return np.where((x >= 0.0) & (x == np.floor(x)) & np.isfinite(x), log_p, -np.inf)


def _counts(x: Array) -> Array:
    """Whole numbers of at least 0, also for what lies outside."""
    return np.where(np.isfinite(x), np.maximum(np.floor(x), 0.0), 0.0)
