r"""Exponential components with a gamma posterior of the rate; (MIX13) of the theory pages.

References
----------
Kohjima, Matsubayashi and Toda (2019), Variational Bayes for mixture models with censored data, ECML PKDD, eqs. 37-46
and table 1, whose prior g(eta | xi, nu) is Gamma(nu + 1, xi) here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from scipy.special import digamma

from tobitgp.mixture.family import ComponentDistribution, RateFamily, Sums, Terms
from tobitgp.mixture.rows import Rows, Support, Units
from tobitgp.mixture.weibull import Burr, WeibullDistribution
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
