r"""Prentice's generalised gamma distribution of log time: log-normal (Q = 0), Weibull (Q = 1), and between and beyond.

With :math:`u = Q^{-2}` and :math:`x = u e^{Qz}` the log density is
:math:`\log|Q| + u \log u - \log\Gamma(u) + u (Qz - e^{Qz})`, and the tail on the side to which Q points is
:math:`\Gamma(u, x) / \Gamma(u)`. None of its large terms is formed: with delta the error of Stirling's formula,

.. math:: \log f = -\tfrac12 \log 2\pi - \delta(u) - z^2 \frac{e^v - 1 - v}{v^2}, \qquad v = Qz,

and for small Q the tails are those of the normal distribution at :math:`\zeta`, half whose square is that of the last
term, with Temme's corrections :math:`c_0 |Q| + c_1 |Q|^3`. Where a tail underflows it is the density times a continued
fraction or a series. Relative errors of the log tails against 60-digit arithmetic, |Q| from 0 to 5, z from -40 to 40:
2e-12.

References
----------
Prentice (1974), A log gamma model and its maximum likelihood estimation, *Biometrika* 61, 539-544.
DLMF 8.9.2, 8.11.4, 8.12.3 and 8.12.10. Equations (GEN1) to (GEN3) of the theory pages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from scipy.special import digamma, gammainc, gammaincc, gammainccinv, gammaincinv, polygamma

from tobitgp.distributions.gumbel import Gumbel, steep
from tobitgp.distributions.standard_noise import Distribution, Tail
from tobitgp.distributions.symmetric_noise import NormalNoise
from tobitgp.numerics import normal_functions
from tobitgp.numerics.log_probabilities import deviance, stirling_error
from tobitgp.typing import Array

_HALF_LOG_2PI = 0.5 * float(np.log(2.0 * np.pi))
_NORMAL, _SMALL = 1e-12, 3e-3  # |Q| that is none, and up to which Temme's expansion serves
_NONE = 1e-30
_LEAST = -600.0
_DEPTH, _MOST_TERMS = 40, 2000
_SERIES, _TERMS = 0.5, 15
_LARGE = 100.0
# Taylor coefficients of Temme's c_0 and c_1.
_C0 = (-1 / 3, 1 / 12, -2 / 135, 1 / 864, 1 / 2835, -139 / 777600, 1 / 25515, -571 / 261273600, -281 / 151559100)
_C1 = (-1 / 540, -1 / 288, 1 / 378, -77 / 77760, 1 / 4860, -4.0187757201646e-7, -1.8098550334489978e-5)
_NEAR = 0.15


@dataclass(frozen=True, slots=True)
class GenGammaNoise(Distribution):
    """The standardised generalised gamma distribution of log time with shape Q, any real number.

    Its right tail is the short one for Q > 0, and the left one for Q < 0, where it is the mirror image. Density and
    tails accept an array of Q, one for each row.
    """

    Q: float = 0.5
    name: ClassVar[str] = "gengamma"
    shape_name: ClassVar[str | None] = "Q"
    shape_positive: ClassVar[bool] = False
    shape_by_row: ClassVar[bool] = True
    shape_range: ClassVar[tuple[float, float]] = (-10.0, 10.0)
    shape_starts: ClassVar[tuple[float, ...]] = (-1.0, 2.0)
    shape_limits: ClassVar[tuple[str, str]] = ("times have a sharp lower end", "times have a sharp upper end")
    log_concave: ClassVar[bool] = True
    mode: ClassVar[float] = 0.0

    @property
    def reach(self) -> float:
        """That of the normal distribution, or of the exponential within."""
        return 1.0 / max(1.0, 2.0 * abs(self.Q))

    @property
    def bends(self) -> tuple[float, ...]:  # type: ignore[override]
        """At the mode, and where the short tail falls off."""
        return (0.0,) if abs(self.Q) < 0.5 else (0.0, 2.0 / self.Q)

    def contains(self, other: Distribution) -> bool:
        return isinstance(other, GenGammaNoise | NormalNoise | Gumbel)

    # -- density and tails --------------------------------------------------------------------------------------------

    def log_density(self, z: Array, order: int = 3) -> tuple[Array, ...]:
        q = self._q
        if not np.ndim(q) and not q:
            return (-_HALF_LOG_2PI - 0.5 * z * z, -z, -np.ones_like(z), np.zeros_like(z))[: order + 1]
        v = q * np.asarray(z)
        w, w1, w2 = steep(v)
        square = z * z * _second(v) if np.abs(v).max(initial=0.0) < _SERIES else self._far_square(z, v, w)
        value = -_HALF_LOG_2PI - (stirling_error(np.asarray(1.0 / q**2)) if np.ndim(q) else _stirling(q)) - square
        return (value, _slope(v, w1, q), -w2, -q * w2)[: order + 1]

    def _far_square(self, z: Array, v: Array, w: Array) -> Array:
        """Half the square of zeta."""
        with np.errstate(over="ignore", invalid="ignore"):
            return np.where(np.abs(v) < _SERIES, z * z * _second(v), (w - 1.0 - v) / self._q**2)

    def _of_alike(self, function: Callable[[GenGammaNoise, Array], Sequence[Array]], z: Array) -> Sequence[Array]:
        """A function of rows (n,), of those at a time whose shapes have one sign and are all small or all not."""
        alike = (self.Q < 0.0) + 2 * (np.abs(self.Q) < _SMALL)
        if not np.ndim(alike) or not len(z) or (alike == alike[0]).all():
            return function(self, z)
        found = np.empty((3, len(z)))
        for at in (alike == code for code in np.unique(alike)):
            found[:, at] = function(GenGammaNoise(self.Q[at]), z[at])  # type: ignore[index]
        return tuple(found)

    @property
    def _mirrored(self) -> bool:
        return bool(np.all(np.less(self.Q, 0.0)))

    def lower_tail(self, z: Array) -> Tail:
        return Tail(*self._of_alike(GenGammaNoise._lower, z))

    def upper_tail(self, z: Array) -> Tail:
        return Tail(*self._of_alike(GenGammaNoise._upper, z))

    def _lower(self, z: Array) -> Tail:
        if self._mirrored:
            log_p, d1, d2 = GenGammaNoise(-self.Q)._upper(-z)
            return Tail(log_p, -d1, d2)
        return Distribution.lower_tail(self, z)

    def _upper(self, z: Array) -> Tail:
        """Far out on the short tail, where hazard and slope are nearly equal, their difference is formed directly."""
        if self._mirrored:
            log_p, d1, d2 = GenGammaNoise(-self.Q)._lower(-z)
            return Tail(log_p, -d1, d2)
        far = z > self._far
        if not far.any():
            return Distribution.upper_tail(self, z)
        beyond, tail = self.of_rows(z.shape, far), Tail(*(np.empty_like(z) for _ in Tail._fields))
        hazard, more = beyond._hazard(z[far])
        tail.log_p[far] = beyond.log_density(z[far], 0)[0] - np.log(hazard)
        tail.d1[far], tail.d2[far] = -hazard, -hazard * more
        if not far.all():
            near = Distribution.upper_tail(self.of_rows(z.shape, ~far), z[~far])
            tail.log_p[~far], tail.d1[~far], tail.d2[~far] = near
        return tail

    def log_cdf(self, z: Array) -> Array:
        z = np.asarray(z, dtype=np.float64)
        return self._of_alike(lambda y, z: (y._log_tail(-z if y._mirrored else z, upper=y._mirrored),), z)[0]

    def log_sf(self, z: Array) -> Array:
        z = np.asarray(z, dtype=np.float64)
        return self._of_alike(lambda y, z: (y._log_tail(-z if y._mirrored else z, upper=not y._mirrored),), z)[0]

    @property
    def _q(self) -> float:
        """Q, 0 where that is as good; of rows a number that is as good as 0."""
        if np.ndim(self.Q):
            return np.where(np.abs(self.Q) > _NORMAL, self.Q, _NONE)  # type: ignore[return-value]
        return self.Q if abs(self.Q) > _NORMAL else 0.0

    def _log_tail(self, z: Array, *, upper: bool) -> Array:
        """A log tail of the distribution with shape |Q|, each side of 0 by the tail that is small there."""
        mirrored, out = GenGammaNoise(np.abs(self._q)), np.empty_like(z)
        for side in (False, True):
            at = (z > 0.0) == side
            if at.any():
                own = mirrored.of_rows(z.shape, at)._log_own_tail(z[at], upper=side)
                out[at] = own if side == upper else np.log1p(-np.exp(own))
        return out

    def _log_own_tail(self, z: Array, *, upper: bool) -> Array:
        """Log probability of lying beyond z, on its own side of 0, for Q >= 0."""
        near = z if not upper else np.minimum(z, self._far)
        if np.all(self.Q < _SMALL):
            out = self._temme(near, self.Q * near, upper=upper)
        else:
            u = 1.0 / self.Q**2
            with np.errstate(under="ignore", divide="ignore"):
                x = u * np.exp(self.Q * near)
                out = np.asarray(np.log((gammaincc if upper else gammainc)(u, x)))
            under = ~(out > _LEAST)
            if under.any():
                own = self.of_rows(z.shape, under)
                front = own.log_density(z[under], 0)[0] + np.log(own.Q)
                out[under] = front + np.log(_ratios(1.0 / np.square(own.Q), x[under]))
        far = z > self._far
        if upper and far.any():
            own = self.of_rows(z.shape, far)
            out[far] = own.log_density(z[far], 0)[0] - np.log(own._hazard(z[far])[0])
        return out

    @property
    def _far(self) -> float:
        """Where the continued fraction of the short tail is accurate, for Q >= 0."""
        return np.minimum(2.5, 7.0 / np.maximum(self.Q, _NORMAL))

    def _hazard(self, z: Array) -> tuple[Array, Array]:
        """Hazard well right of the mode by a continued fraction, for Q >= 0, and what is left of it by the slope."""
        v, more = self._q * z, np.zeros_like(z)
        steepness = -_slope(v, steep(v)[1], self._q) if np.all(self._q) else z
        for n in range(_DEPTH, 0, -1):
            more = n * (1.0 - n * self.Q**2) / (steepness + self.Q * (2.0 * n + 1.0) + more)
        return steepness + self.Q + more, self.Q + more

    def _temme(self, z: Array, v: Array, *, upper: bool) -> Array:
        sign = -1.0 if upper else 1.0
        ratio = np.sqrt(2.0 * _second(v))
        h, _ = normal_functions.mills(sign * z * ratio)
        c0, c1 = _temme_terms(v * ratio, v)
        return np.asarray(
            normal_functions.log_cdf(sign * z * ratio) + np.log1p(-sign * h * self.Q * (c0 + c1 * self.Q**2))
        )

    # -- moments and quantiles ----------------------------------------------------------------------------------------

    @property
    def largest_tilt(self) -> float:
        return np.inf if self._q >= 0.0 else 1.0 / abs(self.Q)

    @property
    def mean(self) -> float:
        return _log_gap(1.0 / self._q**2) / self._q if self._q else 0.0

    @property
    def variance(self) -> float:
        if abs(self.Q) < 1.0 / _LARGE:
            square = self.Q**2
            return 1.0 + square / 2.0 + square**2 / 6.0 - square**4 / 30.0
        return float(polygamma(1, 1.0 / self.Q**2)) / self.Q**2

    def mgf(self, s: Array) -> tuple[Array, Array]:
        r""":math:`\Gamma(u + s/Q) / (\Gamma(u) u^{s/Q})`."""
        s = np.asarray(s, dtype=np.float64)
        if not self._q:
            return np.exp(0.5 * s * s), s * s
        u = 1.0 / self._q**2
        away = np.where(s < self.largest_tilt, s, 0.0) / self._q
        log_m = deviance(u + away, np.array(u), away) - 0.5 * np.log1p(away / u)
        log_m = log_m + stirling_error(u + away) - stirling_error(np.array(u))
        growth = away * (np.log1p(away / u) + np.vectorize(_log_gap, otypes=[float])(u + away))
        with np.errstate(over="ignore"):
            return np.where(s < self.largest_tilt, np.exp(log_m), np.inf), growth

    def inverse_log_cdf(self, log_p: Array) -> Array:
        return self._quantile(np.asarray(log_p, dtype=np.float64), lower=True)

    def inverse_log_sf(self, log_p: Array) -> Array:
        return self._quantile(np.asarray(log_p, dtype=np.float64), lower=False)

    def _quantile(self, log_p: Array, *, lower: bool) -> Array:
        """By scipy where the tail is a number, else by bisection."""
        default = Distribution.inverse_log_cdf if lower else Distribution.inverse_log_sf
        if abs(self.Q) < _SMALL:
            return default(self, log_p)
        inverse, u = gammaincinv if lower == (self.Q > 0.0) else gammainccinv, 1.0 / self.Q**2
        with np.errstate(divide="ignore", over="ignore"):
            x = np.asarray(inverse(u, np.exp(log_p)))
            z = np.asarray(np.log(x / u) / self.Q)
        rest = (log_p < _LEAST) & np.isfinite(log_p) | (x < 1e-290) & (log_p < 0.0)
        if rest.any():
            z[rest] = default(self, log_p[rest])
        return z


@lru_cache(maxsize=1024)
def _stirling(q: float) -> float:
    return float(stirling_error(np.array(1.0 / q**2)))


def _slope(v: Array, w: Array, q: float | Array) -> Array:
    """Slope of the log density, with v of q z and w its exponential."""
    return np.asarray(-np.where(np.abs(v) < 1.0, np.expm1(np.clip(v, -1.0, 1.0)), w - 1.0) / q)


def _second(v: Array) -> Array:
    """``(e^v - 1 - v) / v^2``."""
    near = np.abs(v) < _SERIES
    short = v if near.all() else np.where(near, v, 0.0)
    series = np.zeros_like(short)
    for k in range(_TERMS, 1, -1):
        series *= short
        series += 1.0
        series *= 1.0 / k
    if near.all():
        return series
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(near, series, (np.expm1(v) - v) / (v * v))


def _temme_terms(eta: Array, v: Array) -> tuple[Array, Array]:
    """``c_0`` and ``c_1`` of eta, ``log(x / u) = v``."""
    short = np.clip(eta, -_NEAR, _NEAR)
    near = np.abs(eta) < _NEAR
    at, rise = np.where(near, 1.0, eta), np.where(near, 1.0, np.expm1(v))
    c0 = 1.0 / rise - 1.0 / at
    c1 = 1.0 / at**3 - 1.0 / rise**3 - 1.0 / rise**2 - 1.0 / (12.0 * rise)
    return np.where(near, np.polyval(_C0[::-1], short), c0), np.where(near, np.polyval(_C1[::-1], short), c1)


def _ratios(u: float | Array, x: Array) -> Array:
    """``1 + x/(u + 1) + x^2/((u + 1)(u + 2)) + ...`` for x well below u."""
    total, term = np.ones_like(x), np.ones_like(x)
    for n in range(1, _MOST_TERMS):
        term = term * x / (u + n)
        total = total + term
        if not (term > 1e-17 * total).any():
            break
    return total


def _log_gap(x: float) -> float:
    """``digamma(x) - log x``."""
    if x < _LARGE:
        return float(digamma(x) - np.log(x))
    square = 1.0 / (x * x)
    return -0.5 / x - square / 12.0 + square * square / 120.0
