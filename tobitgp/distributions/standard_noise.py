r"""Standardised noise: what ``(y - eta) / sigma`` is drawn from.

A distribution gives its log density and the logarithms of both tails, each formed where it is small; nothing is
``1 - cdf``. All other quantities have a default here, by quadrature, bisection or differences, which a
distribution with closed forms overrides in its own file. Densities have one mode.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from tobitgp.distributions.intervals import Slice, integrate_between, invert_tail
from tobitgp.numerics.log_probabilities import log_difference
from tobitgp.numerics.roots import derivatives
from tobitgp.typing import Array

SHAPE_STEP = 0.03  # of differences in a shape, as a coordinate
FAR = 1e100  # standardised limits that are further away are as good as none
_FARTHEST, _BISECTIONS = 1e3, 60
_HEAVY = 0.05  # slope of the log density at ``_FARTHEST`` that is none
_CLOSE = -0.1  # logarithm of a ratio of tails from which on their difference is integrated
_NODES, _WEIGHTS = (column[:, None] for column in np.polynomial.legendre.leggauss(12))
_LOG_WEIGHTS = np.log(_WEIGHTS)


class Tail(NamedTuple):
    """Log probability of one tail, and its first two derivatives in z, (n,) each."""

    log_p: Array
    d1: Array
    d2: Array


class Distribution:
    """Standardised noise; every method works element by element on arrays of any shape.

    A new one gives ``name``, ``logpdf``, ``log_cdf`` and ``log_sf``, and is a row of ``FAMILIES``.
    """

    __slots__ = ()

    name: ClassVar[str]
    gaussian: ClassVar[bool] = False  # its sum with a normal variable is normal
    exponential_hazard: ClassVar[bool] = False  # log S(z) = -exp(z)
    proportional_odds: ClassVar[bool] = False  # the log odds of more than z are -z
    symmetric: ClassVar[bool] = False
    log_concave: ClassVar[bool] = False  # then the log mass of every interval is concave in its ends
    farthest: ClassVar[float] = FAR  # values further out count as this one: logarithms of tails stay finite
    bends: ClassVar[tuple[float, ...]] = (0.0,)  # where log densities and tails bend
    shape_name: ClassVar[str | None] = None  # of its one shape parameter
    shape_positive: ClassVar[bool] = True  # then its logarithm is what moves in a search
    shape_by_row: ClassVar[bool] = False  # whether density and tails may have an array of shapes, one of each row
    shape_range: ClassVar[tuple[float, float]] = (0.0, np.inf)  # within which it is looked for
    shape_starts: ClassVar[tuple[float, ...]] = ()  # values to look from beside its own
    shape_limits: ClassVar[tuple[str, str]] = ("", "")  # what the ends of the range stand for, where it may be held

    def logpdf(self, z: Array) -> Array:
        """Log density."""
        return self.log_density(z, 0)[0]

    def log_density(self, z: Array, order: int = 3) -> tuple[Array, ...]:
        """Log density and its first ``order`` <= 3 derivatives."""
        return derivatives(self.logpdf, z, order)

    def log_cdf(self, z: Array) -> Array:
        """Log cdf."""
        raise NotImplementedError

    def log_sf(self, z: Array) -> Array:
        """Log survival function."""
        if self.symmetric:
            return self.log_cdf(-z)
        raise NotImplementedError

    def lower_tail(self, z: Array) -> Tail:
        """Log cdf with two derivatives; the second carries the rounding error of the first."""
        log_p = self.log_cdf(z)
        log_f, slope = self.log_density(z, 1)
        d1 = np.exp(log_f - log_p)
        return Tail(log_p, d1, d1 * (slope - d1))

    def upper_tail(self, z: Array) -> Tail:
        """Log survival function with two derivatives."""
        if self.symmetric:
            log_p, d1, d2 = self.lower_tail(-z)
            return Tail(log_p, -d1, d2)
        log_p = self.log_sf(z)
        log_f, slope = self.log_density(z, 1)
        d1 = -np.exp(log_f - log_p)
        return Tail(log_p, d1, d1 * (slope - d1))

    def of_rows(self, shape: tuple[int, ...], rows: Any) -> Self:
        """The noise of some of the rows of an array of a shape: the same, where all rows have one."""
        own: Any = None if self.shape_name is None else self.shape
        return self.with_shape(np.broadcast_to(own, shape)[rows]) if np.ndim(own) else self

    # -- its shape ----------------------------------------------------------------------------------------------------

    @property
    def shape(self) -> float:
        """Value of the shape parameter."""
        if self.shape_name is None:
            raise AttributeError(f"The {self.name} distribution has no shape parameter.")
        return getattr(self, self.shape_name)

    def with_shape(self, value: Any) -> Self:
        """The distribution with another value of its shape parameter."""
        if self.shape_name is None:
            raise AttributeError(f"The {self.name} distribution has no shape parameter, so {value} cannot be used.")
        return replace(self, **{self.shape_name: value})  # type: ignore[type-var]

    @property
    def coordinate(self) -> float:
        """The shape as it moves in a search: its logarithm where it is positive."""
        return float(np.log(self.shape)) if self.shape_positive else self.shape

    def at_coordinate(self, x: Any) -> Self:
        """The distribution with another shape, given as `coordinate`, or those of rows, given as an array."""
        if np.ndim(x):
            return self.with_shape(np.exp(x) if self.shape_positive else x)
        return self.with_shape(float(np.exp(x)) if self.shape_positive else float(x))

    @classmethod
    def coordinate_range(cls) -> tuple[float, float]:
        """Ends of `shape_range` as coordinates."""
        with np.errstate(divide="ignore"):
            low, high = (float(np.log(end)) if cls.shape_positive else end for end in cls.shape_range)
        return low, high

    def contains(self, other: Distribution) -> bool:
        """Whether another is a case of this one, for some value of the shape."""
        return type(self) is type(other)

    @property
    def reach(self) -> float:
        """Distance over which log densities and tails bend: 1 of the normal, whose singularities are 2.8 away."""
        return 0.5

    @property
    def mode(self) -> float:
        """Where the density is largest."""
        return 0.0 if self.symmetric else _mode(self)

    @property
    def largest_tilt(self) -> float:
        """E exp(s Z) is finite for s below this."""
        decay = -float(self.log_density(np.array([_FARTHEST]), 1)[1][0])
        return decay if decay > _HEAVY else 0.0

    def steepness(self, z: Array) -> Array:
        """Slope of the log density, its size at z."""
        return np.abs(self.log_density(np.clip(z, -1e100, 1e100), 1)[1])

    def densest(self, width: Array) -> Array:
        """Lower ends of the intervals of some widths that hold most."""
        if self.symmetric:
            return -0.5 * width
        low, high = self.mode - width, np.full_like(width, self.mode)
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            rises = self.logpdf(middle + width) > self.logpdf(middle)
            low, high = np.where(rises, middle, low), np.where(rises, high, middle)
        return 0.5 * (low + high)

    # -- moments ------------------------------------------------------------------------------------------------------

    @property
    def mean(self) -> float:
        """Mean, NaN where there is none."""
        return _moments(self)[0]

    @property
    def variance(self) -> float:
        """Variance; infinite or NaN where there is none."""
        return _moments(self)[1]

    def mgf(self, s: Array) -> tuple[Array, Array]:
        """``E exp(s Z)``, infinite from ``largest_tilt`` on, and the derivative of its logarithm in log s."""
        end = np.full(s.shape, np.inf)
        finite = s < self.largest_tilt
        part = self.between(-end.ravel(), end.ravel(), np.where(finite, s, 0.0).ravel())
        log_m, mean = part.log_mass.reshape(s.shape), part.mean.reshape(s.shape)
        return np.where(finite, np.exp(log_m), np.inf), s * mean

    def between(self, a: Array, b: Array, tilt: Array | None = None) -> Slice:
        """Mass and mean of Z in (a, b], tilted by ``exp(tilt z)``, (n,) each."""
        return integrate_between(self.log_density, a, b, np.zeros_like(a) if tilt is None else tilt)

    def log_excess(self, z: Array, tilt: Array | None, *, above: bool) -> Array | None:
        r"""Mean excess of Z over a limit, (n,), given its tail; None without a closed form.

        With a tilt s (None for 0) and :math:`A(z) = \int_z^\infty S(x) e^{sx}\,dx`,
        :math:`B(z) = \int_{-\infty}^z F(x) e^{sx}\,dx`: ``log A - log S`` or ``log B - log F``, infinite where the
        integral is.
        """
        return None

    # -- between two ends ---------------------------------------------------------------------------------------------

    def log_mass(self, a: Array, b: Array, width: Array | None = None) -> Array:
        """Log probability of ``a < Z <= b``, with relative precision; ``width`` is b - a where that is known better.

        All of one shape.
        """
        shape, a, b = a.shape, a.ravel(), b.ravel()
        right, left = np.isposinf(b), np.isneginf(a)
        out = np.where(np.isposinf(a) | np.isneginf(b), -np.inf, 0.0)
        for at, end, upper in ((right & np.isfinite(a), a, True), (left & np.isfinite(b), b, False)):
            if at.any():
                own = self.of_rows(a.shape, at)
                out[at] = own.log_sf(end[at]) if upper else own.log_cdf(end[at])
        rest = ~(right | left)
        if rest.any():
            known = b[rest] - a[rest] if width is None else width.ravel()[rest]
            out[rest] = self.of_rows(a.shape, rest)._log_interval(a[rest], b[rest], known)
        return out.reshape(shape)

    def _log_interval(self, a: Array, b: Array, width: Array) -> Array:
        """Difference of the tails of the same side, or the integral of the density where these are nearly equal."""
        left = a + b < 0.0
        near = np.where(left, self.log_cdf(b), self.log_sf(a))
        far = np.where(left, self.log_cdf(a), self.log_sf(b))
        with np.errstate(divide="ignore", invalid="ignore"):
            out = np.where(np.isneginf(near), -np.inf, log_difference(near, far))
        close = np.flatnonzero((far - near > _CLOSE) & np.isfinite(near))
        if len(close):
            weight = self.of_rows(a.shape, close).narrow_rule(a[close], width[close])[1]
            top = weight.max(axis=0)
            out[close] = top + np.log(np.exp(weight - top).sum(axis=0))
        return out

    def narrow_rule(self, a: Array, width: Array) -> tuple[Array, Array]:
        """Nodes (12, n) in finite intervals from a on, and logarithms of weight times density there."""
        half = 0.5 * np.maximum(width, 1e-300)
        z = a + half * (1.0 + _NODES)
        with np.errstate(under="ignore"):
            return z, self.logpdf(z) + np.log(half) + _LOG_WEIGHTS

    def quantile_between(self, uniform: Array, a: Array, b: Array) -> Array:
        """Value below which a share of the mass between two ends lies, from the side on which tails are small."""
        with np.errstate(all="ignore"):
            right = a + b > 0.0
            low, high = (np.where(right, self.log_sf(end), self.log_cdf(end)) for end in (a, b))
            log_tail = np.minimum(np.logaddexp(np.log1p(-uniform) + low, np.log(uniform) + high), 0.0)
            z = np.where(right, self.inverse_log_sf(log_tail), self.inverse_log_cdf(log_tail))
            return np.asarray(np.clip(np.where(np.isfinite(z), z, np.clip(0.0, a, b)), a, b))

    # -- quantiles ----------------------------------------------------------------------------------------------------

    def ppf(self, q: Array) -> Array:
        """Quantiles of probabilities q."""
        lower = np.asarray(q) < 0.5
        with np.errstate(divide="ignore"):
            if not lower.any():
                return self.inverse_log_sf(np.log1p(-q))
            below = self.inverse_log_cdf(np.log(q))
            return below if lower.all() else np.where(lower, below, self.inverse_log_sf(np.log1p(-q)))

    def inverse_log_cdf(self, log_p: Array) -> Array:
        """Quantiles of logarithms of probabilities."""
        return invert_tail(self.log_cdf, log_p, rises=True)

    def inverse_log_sf(self, log_p: Array) -> Array:
        """Quantiles of logarithms of probabilities of larger values."""
        return -self.inverse_log_cdf(log_p) if self.symmetric else invert_tail(self.log_sf, log_p, rises=False)


@lru_cache
def _mode(distribution: Distribution) -> float:
    low, high = -_FARTHEST, _FARTHEST
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        rises = distribution.log_density(np.array([middle]), 1)[1][0] > 0.0
        low, high = (middle, high) if rises else (low, middle)
    return 0.5 * (low + high)


@lru_cache
def _moments(distribution: Distribution) -> tuple[float, float]:
    """Mean and variance by quadrature on both sides of the mode."""
    from scipy.integrate import quad

    def moment(power: int, centre: float) -> float:
        def value(z: float) -> float:
            return float((z - centre) ** power * np.exp(distribution.logpdf(np.array([z]))[0]))

        ends = ((-np.inf, distribution.mode), (distribution.mode, np.inf))
        return sum(float(quad(value, *end, epsabs=1e-13, epsrel=1e-12, limit=200)[0]) for end in ends)

    mean = moment(1, 0.0)
    return mean, moment(2, mean)
