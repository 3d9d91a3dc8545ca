r"""Standardised noise laws: what ``(y - eta) / sigma`` is drawn from.

A law gives its log density with three derivatives, and the logarithms of both tails with two, each formed where it is
small: the lower tail from the left, the upper one from the right. Nothing is ``1 - cdf``.

References
----------
Kalbfleisch and Prentice (2002), *The Statistical Analysis of Failure Time Data*, 2nd ed., section 2.2, for the
laws of log time: Weibull time has minimum-extreme-value log time, log-logistic time logistic log time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from scipy.special import expit, log_expit, log_ndtr, logit, ndtri

from tobitgp.numerics import student_t
from tobitgp.numerics.normal import mills
from tobitgp.numerics.student_table import tabulated_log_cdf
from tobitgp.typing import Array

_HALF_LOG_2PI = 0.5 * float(np.log(2.0 * np.pi))
_LARGEST, _REST = 300.0, 1e6  # exp() of more is not taken: its square, times z squared, has to stay finite
_SERIES = 0.5
_MANY = 2_000
_BERNOULLI = (-1.0 / 2.0, -1.0 / 12.0, 1.0 / 720.0, -1.0 / 30240.0, 1.0 / 1209600.0, -1.0 / 47900160.0)


class Tail(NamedTuple):
    """Log probability of one tail, and its first two derivatives in z, (n,) each."""

    log_p: Array
    d1: Array
    d2: Array


class Law(Protocol):
    """A standardised law; every method works element by element on arrays of any shape."""

    @property
    def name(self) -> str:
        """Name in ``LAWS``."""
        ...

    @property
    def log_concave(self) -> bool:
        """Whether the log density is concave; then the log mass of every interval is concave in its ends."""
        ...

    @property
    def reach(self) -> float:
        """Distance over which log densities and tails bend: 1 for the normal law, whose singularities are 2.8 away."""
        ...

    @property
    def bends(self) -> tuple[float, ...]:
        """Where they do."""
        ...

    @property
    def mean(self) -> float:
        """Mean, NaN where there is none."""
        ...

    @property
    def variance(self) -> float:
        """Variance; infinite or NaN where there is none."""
        ...

    def log_density(self, z: Array, order: int = 3) -> tuple[Array, ...]:
        """Log density and its first ``order`` <= 3 derivatives."""
        ...

    def lower_tail(self, z: Array) -> Tail:
        """Log cdf with two derivatives."""
        ...

    def upper_tail(self, z: Array) -> Tail:
        """Log survival function with two derivatives."""
        ...

    def log_cdf(self, z: Array) -> Array:
        """Log cdf."""
        ...

    def log_sf(self, z: Array) -> Array:
        """Log survival function."""
        ...

    def ppf(self, q: Array) -> Array:
        """Quantiles of probabilities q."""
        ...


@dataclass(frozen=True, slots=True)
class Normal:
    """The standard normal law."""

    name: ClassVar[str] = "normal"
    log_concave: ClassVar[bool] = True
    reach: ClassVar[float] = 1.0
    bends: ClassVar[tuple[float, ...]] = (0.0,)
    mean: ClassVar[float] = 0.0
    variance: ClassVar[float] = 1.0

    def log_density(self, z: Array, order: int = 3) -> tuple[Array, ...]:
        """See `Law`."""
        values = (-_HALF_LOG_2PI - 0.5 * z * z, -z, np.full_like(z, -1.0), np.zeros_like(z))
        return values[: order + 1]

    def lower_tail(self, z: Array) -> Tail:
        """See `Law`."""
        h, delta = mills(z)
        return Tail(self.log_cdf(z), h, -h * delta)

    def upper_tail(self, z: Array) -> Tail:
        """See `Law`."""
        return _mirrored(self, z)

    def log_cdf(self, z: Array) -> Array:
        """See `Law`."""
        return np.asarray(log_ndtr(z), dtype=np.float64)

    def log_sf(self, z: Array) -> Array:
        """See `Law`."""
        return self.log_cdf(-z)

    def ppf(self, q: Array) -> Array:
        """See `Law`."""
        return np.asarray(ndtri(q), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Logistic:
    """The standard logistic law, variance pi^2 / 3."""

    name: ClassVar[str] = "logistic"
    log_concave: ClassVar[bool] = True
    reach: ClassVar[float] = 1.0
    bends: ClassVar[tuple[float, ...]] = (0.0,)
    mean: ClassVar[float] = 0.0
    variance: ClassVar[float] = float(np.pi**2 / 3.0)

    def log_density(self, z: Array, order: int = 3) -> tuple[Array, ...]:
        """See `Law`."""
        size = np.abs(z)
        small = np.exp(-size)
        below, above = expit(z), expit(-z)
        density = below * above
        slope = -np.tanh(0.5 * z)
        values = (-size - 2.0 * np.log1p(small), slope, -2.0 * density, -2.0 * density * slope)
        return values[: order + 1]

    def lower_tail(self, z: Array) -> Tail:
        """See `Law`."""
        above = expit(-z)
        return Tail(self.log_cdf(z), above, -above * expit(z))

    def upper_tail(self, z: Array) -> Tail:
        """See `Law`."""
        return _mirrored(self, z)

    def log_cdf(self, z: Array) -> Array:
        """See `Law`."""
        return np.asarray(log_expit(z), dtype=np.float64)

    def log_sf(self, z: Array) -> Array:
        """See `Law`."""
        return self.log_cdf(-z)

    def ppf(self, q: Array) -> Array:
        """See `Law`."""
        return np.asarray(logit(q), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Gumbel:
    r"""The minimum-extreme-value law, :math:`S(z) = \exp(-e^z)`: log time where time is Weibull.

    Right of z = 300, where log S is -1e130, e^z goes on as a parabola, so that sums of squares stay finite and what is
    less likely than an entry further left stays so.
    """

    name: ClassVar[str] = "gumbel"
    log_concave: ClassVar[bool] = True
    reach: ClassVar[float] = 0.5
    bends: ClassVar[tuple[float, ...]] = (0.0, 2.0)
    mean: ClassVar[float] = -float(np.euler_gamma)
    variance: ClassVar[float] = float(np.pi**2 / 6.0)

    def log_density(self, z: Array, order: int = 3) -> tuple[Array, ...]:
        """See `Law`."""
        w, w1, w2 = _steep(z)
        return (z - w, 1.0 - w1, -w2, -w2)[: order + 1]

    def lower_tail(self, z: Array) -> Tail:
        """See `Law`."""
        w = np.maximum(np.exp(np.minimum(z, _LARGEST)), 1e-300)
        d1 = -w * np.exp(-w) / np.expm1(-w)
        short = np.minimum(w, _SERIES)
        square = short * short
        series = _BERNOULLI[-1] * np.ones_like(w)
        for term in _BERNOULLI[-2:0:-1]:
            series = series * square + term
        gap = np.where(w < _SERIES, short * (_BERNOULLI[0] + short * series), 1.0 - w - d1)
        return Tail(self.log_cdf(z), d1, d1 * gap)

    def upper_tail(self, z: Array) -> Tail:
        """See `Law`."""
        w, w1, w2 = _steep(z)
        return Tail(-w, -w1, -w2)

    def log_cdf(self, z: Array) -> Array:
        """See `Law`."""
        w = np.maximum(np.exp(np.minimum(z, _LARGEST)), 1e-300)
        left = z + np.log(-np.expm1(-np.minimum(w, 1.0)) / np.minimum(w, 1.0))
        return np.asarray(np.where(z < 0.0, left, np.log1p(-np.exp(-np.maximum(w, 0.5)))), dtype=np.float64)

    def log_sf(self, z: Array) -> Array:
        """See `Law`."""
        return -_steep(z)[0]

    def ppf(self, q: Array) -> Array:
        """See `Law`."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(-np.log1p(-q)), dtype=np.float64)


def _steep(z: Array) -> tuple[Array, Array, Array]:
    """``exp(z)`` with two derivatives, and its parabola at ``_LARGEST`` right of that."""
    held, beyond = np.exp(np.minimum(z, _LARGEST)), np.clip(z - _LARGEST, 0.0, _REST)
    return held * (1.0 + beyond * (1.0 + 0.5 * beyond)), held * (1.0 + beyond), held


@dataclass(frozen=True, slots=True)
class Student:
    r"""Student's t with ``df`` > 0 degrees of freedom, density :math:`\propto (1 + z^2/df)^{-(df + 1)/2}`.

    Not scaled to unit variance: sigma multiplies t itself, as in survreg's ``dist = "t"``.
    """

    df: float = 4.0
    name: ClassVar[str] = "student"
    log_concave: ClassVar[bool] = False
    bends: ClassVar[tuple[float, ...]] = (0.0,)

    @property
    def reach(self) -> float:
        """Smaller than 1 for few degrees of freedom, whose peak is sharp: the density has its poles at i sqrt(df)."""
        return min(1.0, float(np.sqrt(self.df)) / 2.8)

    @property
    def mean(self) -> float:
        """Zero, NaN for df <= 1."""
        return 0.0 if self.df > 1.0 else float("nan")

    @property
    def variance(self) -> float:
        """``df / (df - 2)``; infinite for 1 < df <= 2, NaN below."""
        if self.df > 2.0:
            return self.df / (self.df - 2.0)
        return float("inf") if self.df > 1.0 else float("nan")

    def log_density(self, z: Array, order: int = 3) -> tuple[Array, ...]:
        """See `Law`."""
        return student_t.log_density(z, self.df, order)

    def lower_tail(self, z: Array) -> Tail:
        """See `Law`; the second derivative carries df + 1 times the rounding error of the first."""
        log_p = self.log_cdf(z)
        log_f, slope = student_t.log_density(z, self.df, 1)
        d1 = np.exp(log_f - log_p)
        return Tail(log_p, d1, d1 * (slope - d1))

    def upper_tail(self, z: Array) -> Tail:
        """See `Law`."""
        return _mirrored(self, z)

    def log_cdf(self, z: Array) -> Array:
        """See `Law`; from a table where there are many points."""
        return tabulated_log_cdf(self.df)(z) if z.size > _MANY else student_t.log_cdf(z, self.df)

    def log_sf(self, z: Array) -> Array:
        """See `Law`."""
        return self.log_cdf(-z)

    def ppf(self, q: Array) -> Array:
        """See `Law`."""
        return student_t.ppf(q, self.df)


def _mirrored(law: Law, z: Array) -> Tail:
    """Upper tail of a symmetric law."""
    log_p, d1, d2 = law.lower_tail(-z)
    return Tail(log_p, -d1, d2)


LAWS: dict[str, Law] = {law.name: law for law in (Normal(), Student(), Logistic(), Gumbel())}
