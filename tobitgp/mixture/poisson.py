r"""Poisson components with a gamma posterior of the rate; (MIX13) of the theory pages.

References
----------
Kohjima, Matsubayashi and Toda (2019), Variational Bayes for mixture models with censored data, ECML PKDD, eqs. 37-47
and table 1, whose prior g(eta | xi, nu) is Gamma(xi, nu) of the rate (xi + 1 is printed).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from scipy.special import digamma

from tobitgp.mixture.checks import Support
from tobitgp.mixture.count_laws import NegativeBinomial, PoissonLaw
from tobitgp.mixture.family import Sums, Terms
from tobitgp.mixture.gamma import GammaRate
from tobitgp.mixture.law import Law
from tobitgp.mixture.rows import Rows, Units
from tobitgp.numerics.counts import log_at_least, log_below, log_between, log_count
from tobitgp.typing import Array, BoolArray


@dataclass(frozen=True, slots=True)
class Poisson(GammaRate):
    """Poisson components; see `tobitgp.mixture.family.Family`. The statistic is y; the point parameter is log rate."""

    name: ClassVar[str] = "poisson"
    support: ClassVar[Support] = "counts"
    logarithm: ClassVar[bool] = False
    free_of: ClassVar[Literal["nothing"]] = "nothing"
    parameters: ClassVar[tuple[str, ...]] = ("rate",)

    def terms(self, rows: Rows, theta: Array) -> Terms:
        """See `Family`; log densities of exact rows lack ``-log y!``, which is the same for all components."""
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
        """See `Family`."""
        return theta[0]

    def spread(self, values: Array) -> Array:
        """See `Family`."""
        return np.sqrt(values)

    def default_prior(self, typical: float, k: float) -> Array:
        """An exponential prior of the rate, of mean ``typical``."""
        return np.array([1.0, 1.0 / typical])

    def prior_to_working(self, prior: Array, units: Units) -> Array:
        """See `Family`."""
        return prior

    def plug_in(self, q: Array) -> tuple[Array, Array]:
        """See `Family`; the plug-in rate is the geometric mean exp(E log rate)."""
        a, b = q
        log_rate = digamma(a) - np.log(b)
        return log_rate[None], np.exp(log_rate) - a / b

    def posterior(self, prior: Array, theta: Array, sums: Sums) -> Array:
        """See `Family`; eqs. 37-39."""
        return np.stack([prior[0] + sums.statistics[0], prior[1] + sums.counts])

    cautious = posterior

    def estimates(self, q: Array, units: Units) -> tuple[Array, Array]:
        """See `Family`."""
        a, b = q
        return (a / b)[None], np.stack([1.0 / b, -a / (b * b)])[None]

    def maximum(self, theta: Array, sums: Sums, floor: float, cautious: bool = False) -> Array:
        """See `Family`; ``floor`` bounds the rate from below."""
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = np.maximum(sums.statistics[0] / sums.counts, floor)
        return np.where(sums.counts > 0.0, np.log(rate), theta[0])[None]

    def score(self, theta: Array, sums: Sums) -> Array:
        """See `Family`."""
        return sums.statistics - np.exp(theta) * sums.counts

    def possible(self, theta: Array, floor: float) -> bool:
        """See `Family`."""
        return bool((theta >= np.log(floor) - 1e-12).all())

    def held(self, theta: Array, floor: float) -> BoolArray:
        """See `Family`."""
        return np.asarray(theta <= np.log(floor) + 1e-9)

    def point_estimates(self, theta: Array, units: Units) -> tuple[Array, Array]:
        """See `Family`."""
        rate = np.exp(theta)
        return rate, rate[None]

    def predictive(self, q: Array, units: Units) -> Law:
        """See `Family`; eq. 47."""
        return NegativeBinomial(q[0], q[1])

    def point_law(self, theta: Array, units: Units) -> Law:
        """See `Family`."""
        return PoissonLaw(np.exp(theta[0]))
