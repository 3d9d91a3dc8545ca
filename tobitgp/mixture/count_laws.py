"""Laws of one count, one for each component; see `tobitgp.mixture.law`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import betainc, betaincc

from tobitgp.numerics.counts import incomplete_beta_fraction, log_at_least, log_below, log_count, log_count_of_gamma
from tobitgp.typing import Array, IntArray

_LOG_TINY = -575.0  # where the incomplete beta function soon underflows


@dataclass(frozen=True, slots=True)
class NegativeBinomial:
    """Poisson counts whose rate is gamma(a, b): negative binomial, of success probability b / (b + 1); (K,) each."""

    a: Array
    b: Array
    discrete: ClassVar[bool] = True

    def log_density(self, x: Array) -> Array:
        """See `Law`."""
        return _at_counts(x, log_count_of_gamma(_whole(x), self.a[:, None], self.b[:, None]))

    def log_cdf(self, x: Array) -> Array:
        """See `Law`."""
        y, a, b = _whole(x), self.a[:, None], self.b[:, None]
        with np.errstate(divide="ignore"):
            out = np.array(np.log(betainc(a, y + 1.0, b / (b + 1.0))))
        a, b, y = np.broadcast_arrays(a, b, y)
        far = out < _LOG_TINY
        if far.any():
            a, b, y = a[far], b[far], y[far]
            out[far] = self.log_density(_whole(x))[far] + np.log((a + y) / (a * (b + 1.0)))
            out[far] += np.log(incomplete_beta_fraction(a, y + 1.0, b / (b + 1.0)))
        return np.where(x >= 0.0, np.where(np.isposinf(x), 0.0, out), -np.inf)

    def log_sf(self, x: Array) -> Array:
        """See `Law`."""
        y, a, b = _whole(x), self.a[:, None], self.b[:, None]
        with np.errstate(divide="ignore"):
            out = np.array(np.log(betaincc(a, y + 1.0, b / (b + 1.0))))
        a, b, y = np.broadcast_arrays(a, b, y)
        far = out < _LOG_TINY
        if far.any():
            a, b, y = a[far], b[far], y[far]
            out[far] = self.log_density(_whole(x) + 1.0)[far]
            out[far] += np.log(incomplete_beta_fraction(y + 1.0, a, 1.0 / (b + 1.0)))
        return np.where(x >= 0.0, np.where(np.isposinf(x), -np.inf, out), 0.0)

    def quantile(self, q: Array) -> Array:
        """See `Law`; a bound of Cantelli's."""
        return _cantelli(*self.moments(), q)

    def last_hazard(self) -> Array:
        """See `Law`."""
        return self.b / (self.b + 1.0)

    def draw(self, which: IntArray, rng: np.random.Generator) -> Array:
        """See `Law`."""
        return np.asarray(rng.poisson(rng.gamma(self.a[which], 1.0 / self.b[which])), dtype=np.float64)

    def moments(self) -> tuple[Array, Array]:
        """See `Law`."""
        mean = self.a / self.b
        return mean, mean * (1.0 + 1.0 / self.b)


@dataclass(frozen=True, slots=True)
class PoissonLaw:
    """Poisson laws of rates (K,)."""

    rate: Array
    discrete: ClassVar[bool] = True

    def log_density(self, x: Array) -> Array:
        """See `Law`."""
        return _at_counts(x, log_count(_whole(x), self.rate[:, None]))

    def log_cdf(self, x: Array) -> Array:
        """See `Law`."""
        y = _whole(x)
        out = np.where(np.isposinf(x), 0.0, log_below(y + 1.0, self.rate[:, None]))
        return np.where(x >= 0.0, out, -np.inf)

    def log_sf(self, x: Array) -> Array:
        """See `Law`."""
        y = _whole(x)
        out = np.where(np.isposinf(x), -np.inf, log_at_least(y + 1.0, self.rate[:, None]))
        return np.where(x >= 0.0, out, 0.0)

    def quantile(self, q: Array) -> Array:
        """See `Law`; a bound of Cantelli's."""
        return _cantelli(*self.moments(), q)

    def last_hazard(self) -> Array:
        """See `Law`."""
        return np.ones_like(self.rate)

    def draw(self, which: IntArray, rng: np.random.Generator) -> Array:
        """See `Law`."""
        return np.asarray(rng.poisson(self.rate[which]), dtype=np.float64)

    def moments(self) -> tuple[Array, Array]:
        """See `Law`."""
        return self.rate, self.rate


def _at_counts(x: Array, log_p: Array) -> Array:
    """Log probabilities where x is a count, -inf elsewhere."""
    return np.where((x >= 0.0) & (x == np.floor(x)) & np.isfinite(x), log_p, -np.inf)


def _whole(x: Array) -> Array:
    """Whole numbers of at least 0, also for what lies outside."""
    return np.where(np.isfinite(x), np.maximum(np.floor(x), 0.0), 0.0)


def _cantelli(mean: Array, variance: Array, q: Array) -> Array:
    """Value that is not exceeded with probability q at least."""
    with np.errstate(divide="ignore"):
        odds = q / (1.0 - q)
    return np.ceil(mean[:, None] + np.sqrt(variance[:, None] * odds))
