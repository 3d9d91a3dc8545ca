"""Laws of one value, one for each component: parameters are (K,) arrays, answers (K, n)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from scipy.special import gammaln, ndtri

from tobitgp.numerics import student_t
from tobitgp.numerics.normal import log_cdf
from tobitgp.typing import Array, IntArray

_HALF_LOG_2PI = 0.5 * float(np.log(2.0 * np.pi))


class Law(Protocol):
    """K laws. ``discrete`` ones live on whole numbers."""

    discrete: ClassVar[bool]

    def log_density(self, x: Array) -> Array:
        """Log density, or log probability, at (n,) values, (K, n)."""
        ...

    def log_cdf(self, x: Array) -> Array:
        """Log probability of at most x, (K, n)."""
        ...

    def log_sf(self, x: Array) -> Array:
        """Log probability of more than x, (K, n)."""
        ...

    def quantile(self, q: Array) -> Array:
        """Quantiles at (n,) probabilities, (K, n); of counts, a value at or above them."""
        ...

    def last_hazard(self) -> Array:
        """What the hazard tends to as x grows without end, (K,); of counts as `Predictive.hazard` has it."""
        ...

    def draw(self, which: IntArray, rng: np.random.Generator) -> Array:
        """One value of the law ``which[i]`` for each i, (n,)."""
        ...

    def moments(self) -> tuple[Array, Array]:
        """Means and variances (K,), infinite or NaN where there are none."""
        ...


@dataclass(frozen=True, slots=True)
class StudentT:
    """Student's t with location, scale and degrees of freedom (K,), of the value or of its logarithm."""

    loc: Array
    scale: Array
    df: Array
    logarithm: bool = False
    discrete: ClassVar[bool] = False

    def log_density(self, x: Array) -> Array:
        """See `Law`."""
        z, jacobian = _standardise(x, self.loc, self.scale, self.logarithm)
        each = [student_t.log_density(row, df, 0)[0] for row, df in zip(z, self.df, strict=True)]
        return np.where(np.isfinite(z), np.array(each), -np.inf) - jacobian

    def log_cdf(self, x: Array) -> Array:
        """See `Law`."""
        return self._tail(_standardise(x, self.loc, self.scale, self.logarithm)[0])

    def log_sf(self, x: Array) -> Array:
        """See `Law`."""
        return self._tail(-_standardise(x, self.loc, self.scale, self.logarithm)[0])

    def _tail(self, z: Array) -> Array:
        inside = np.clip(z, -1e150, 1e150)
        tail = np.array([student_t.log_cdf(row, float(df)) for row, df in zip(inside, self.df, strict=True)])
        return np.where(np.isneginf(z), -np.inf, np.where(np.isposinf(z), 0.0, tail))

    def quantile(self, q: Array) -> Array:
        """See `Law`."""
        z = np.array([student_t.ppf(q, float(df)) for df in self.df])
        z = np.where(q <= 0.0, -np.inf, z)
        return _restore(z, self.loc, self.scale, self.logarithm)

    def last_hazard(self) -> Array:
        """See `Law`."""
        return np.zeros_like(self.loc)

    def draw(self, which: IntArray, rng: np.random.Generator) -> Array:
        """See `Law`."""
        value = self.loc[which] + self.scale[which] * rng.standard_t(self.df[which])
        with np.errstate(over="ignore"):
            return np.exp(value) if self.logarithm else value

    def moments(self) -> tuple[Array, Array]:
        """See `Law`; the exponential of Student's t has none."""
        if self.logarithm:
            return np.full_like(self.loc, np.inf), np.full_like(self.loc, np.inf)
        df = self.df
        variance = self.scale**2 * np.divide(df, df - 2.0, out=np.full_like(df, np.inf), where=df > 2.0)
        return np.where(df > 1.0, self.loc, np.nan), np.where(df > 1.0, variance, np.nan)


@dataclass(frozen=True, slots=True)
class Normal:
    """Normal laws of mean and standard deviation (K,), of the value or of its logarithm."""

    loc: Array
    scale: Array
    logarithm: bool = False
    discrete: ClassVar[bool] = False

    def log_density(self, x: Array) -> Array:
        """See `Law`."""
        z, jacobian = _standardise(x, self.loc, self.scale, self.logarithm)
        return -0.5 * z * z - _HALF_LOG_2PI - jacobian

    def log_cdf(self, x: Array) -> Array:
        """See `Law`."""
        return log_cdf(_standardise(x, self.loc, self.scale, self.logarithm)[0])

    def log_sf(self, x: Array) -> Array:
        """See `Law`."""
        return log_cdf(-_standardise(x, self.loc, self.scale, self.logarithm)[0])

    def quantile(self, q: Array) -> Array:
        """See `Law`."""
        return _restore(np.broadcast_to(ndtri(q), (len(self.loc), len(q))), self.loc, self.scale, self.logarithm)

    def last_hazard(self) -> Array:
        """See `Law`."""
        return np.full_like(self.loc, 0.0 if self.logarithm else np.inf)

    def draw(self, which: IntArray, rng: np.random.Generator) -> Array:
        """See `Law`."""
        value = rng.normal(self.loc[which], self.scale[which])
        return np.exp(value) if self.logarithm else np.asarray(value)

    def moments(self) -> tuple[Array, Array]:
        """See `Law`."""
        if not self.logarithm:
            return self.loc, self.scale**2
        with np.errstate(over="ignore"):
            mean = np.exp(self.loc + 0.5 * self.scale**2)
            return mean, mean**2 * np.expm1(self.scale**2)


@dataclass(frozen=True, slots=True)
class Burr:
    """Burr laws of survival function ``(1 + (x / scale)^shape)^-a``, Lomax where the shape is 1; (K,) each."""

    scale: Array
    shape: Array
    a: Array
    discrete: ClassVar[bool] = False

    def log_density(self, x: Array) -> Array:
        """See `Law`."""
        y, c = _log_ratio(x, self.scale), self.shape[:, None]
        power = c * y
        out = np.log(self.a[:, None] * c / self.scale[:, None]) - (self.a[:, None] + 1.0) * np.logaddexp(0.0, power)
        with np.errstate(invalid="ignore"):
            out = out + np.where(c == 1.0, 0.0, (c - 1.0) * y)
        return np.where((x >= 0.0) & np.isfinite(x), out, -np.inf)

    def log_cdf(self, x: Array) -> Array:
        """See `Law`."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(-np.expm1(self.log_sf(x))))

    def log_sf(self, x: Array) -> Array:
        """See `Law`."""
        return -self.a[:, None] * np.logaddexp(0.0, self.shape[:, None] * _log_ratio(x, self.scale))

    def quantile(self, q: Array) -> Array:
        """See `Law`."""
        with np.errstate(divide="ignore"):
            return self.scale[:, None] * np.expm1(-np.log1p(-q) / self.a[:, None]) ** (1.0 / self.shape[:, None])

    def last_hazard(self) -> Array:
        """See `Law`."""
        return np.zeros_like(self.a)

    def draw(self, which: IntArray, rng: np.random.Generator) -> Array:
        """See `Law`."""
        with np.errstate(over="ignore"):
            return np.asarray(self.scale[which] * rng.pareto(self.a[which]) ** (1.0 / self.shape[which]))

    def moments(self) -> tuple[Array, Array]:
        """See `Law`; the r-th exists where a shape > r, and is a B(a - r / shape, 1 + r / shape)."""
        first, second = (self._moment(r) for r in (1.0, 2.0))
        return first, _variance(first, second)

    def _moment(self, r: float) -> Array:
        over = r / self.shape
        left = np.where(self.a > over, self.a - over, 1.0)
        log_moment = gammaln(left) + gammaln(1.0 + over) - gammaln(self.a)
        with np.errstate(over="ignore"):
            return np.where(self.a > over, self.scale**r * np.exp(log_moment), np.inf)


@dataclass(frozen=True, slots=True)
class Weibull:
    """Weibull laws of survival function ``exp(-(x / scale)^shape)``, exponential where the shape is 1; (K,) each."""

    scale: Array
    shape: Array
    discrete: ClassVar[bool] = False

    def log_density(self, x: Array) -> Array:
        """See `Law`."""
        y, c = _log_ratio(x, self.scale), self.shape[:, None]
        with np.errstate(over="ignore", invalid="ignore"):
            out = np.log(c / self.scale[:, None]) + np.where(c == 1.0, 0.0, (c - 1.0) * y) - np.exp(c * y)
        return np.where((x >= 0.0) & np.isfinite(x), out, -np.inf)

    def log_cdf(self, x: Array) -> Array:
        """See `Law`."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(-np.expm1(self.log_sf(x))))

    def log_sf(self, x: Array) -> Array:
        """See `Law`."""
        with np.errstate(over="ignore"):
            return -np.exp(self.shape[:, None] * _log_ratio(x, self.scale))

    def quantile(self, q: Array) -> Array:
        """See `Law`."""
        with np.errstate(divide="ignore"):
            return self.scale[:, None] * (-np.log1p(-q)) ** (1.0 / self.shape[:, None])

    def last_hazard(self) -> Array:
        """See `Law`."""
        return np.select([self.shape < 1.0, self.shape > 1.0], [0.0, np.inf], 1.0 / self.scale)

    def draw(self, which: IntArray, rng: np.random.Generator) -> Array:
        """See `Law`."""
        with np.errstate(over="ignore"):
            return np.asarray(self.scale[which] * rng.weibull(self.shape[which]))

    def moments(self) -> tuple[Array, Array]:
        """See `Law`."""
        with np.errstate(over="ignore"):
            first, second = (self.scale**r * np.exp(gammaln(1.0 + r / self.shape)) for r in (1.0, 2.0))
        return first, _variance(first, second)


def _standardise(x: Array, loc: Array, scale: Array, logarithm: bool) -> tuple[Array, Array]:
    """Standardised values (K, n), and what their log densities have to lose, broadcasting with them."""
    jacobian = np.log(scale)[:, None]
    if logarithm:
        with np.errstate(divide="ignore"):
            x = np.log(np.maximum(x, 0.0))
        jacobian = jacobian + np.where(np.isfinite(x), x, 0.0)
    return (x - loc[:, None]) / scale[:, None], jacobian


def _variance(first: Array, second: Array) -> Array:
    """From the first two moments, infinite where the second is."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(np.isfinite(second), second - first**2, np.inf)


def _restore(z: Array, loc: Array, scale: Array, logarithm: bool) -> Array:
    with np.errstate(over="ignore"):
        value: Array = loc[:, None] + scale[:, None] * z
        return np.exp(value) if logarithm else value


def _log_ratio(x: Array, scale: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.maximum(x, 0.0)) - np.log(scale)[:, None])
