r"""The distribution of minima, :math:`S(z) = \exp(-e^z)`: of log time where time is Weibull.

By how much it passes a limit, with :math:`w = e^z`: :math:`E_1(w)` and :math:`\mathrm{Ein}(w)`; tilted by s,
:math:`\Gamma(s, w)` and :math:`[w^s (1 - e^{-w}) - \gamma(s + 1, w)] / s`.

References
----------
DLMF 6.2 and 8.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from scipy.special import digamma, exp1, gamma, gammainc, gammaincc, gammaln

from tobitgp.distributions.standard_noise import Distribution, Tail
from tobitgp.numerics.student_t import Tabulated, tabulate
from tobitgp.typing import Array

_LARGEST, _REST = 300.0, 1e6  # exp() of more is not taken: its square, times z squared, has to stay finite
_SERIES = 0.5
_BERNOULLI = (-1.0 / 2.0, -1.0 / 12.0, 1.0 / 720.0, -1.0 / 30240.0, 1.0 / 1209600.0, -1.0 / 47900160.0)
_SMALL = -36.0
_TERMS = 18
_FAR = 690.0
_TINY = 1e-6
_CEILING = 700.0
_BEFORE = -40.0
_LAST, _STEP, _MANY = 6.5, 0.02, 3000


@dataclass(frozen=True, slots=True)
class Gumbel(Distribution):
    r"""The minimum-extreme-value distribution, :math:`S(z) = \exp(-e^z)`: log time where time is Weibull.

    Right of z = 300, where log S is -1e130, e^z goes on as a parabola, so that sums of squares stay finite and what is
    less likely than an entry further left stays so.
    """

    name: ClassVar[str] = "gumbel"
    exponential_hazard: ClassVar[bool] = True
    log_concave: ClassVar[bool] = True
    reach: ClassVar[float] = 0.5
    bends: ClassVar[tuple[float, ...]] = (0.0, 2.0)
    mode: ClassVar[float] = 0.0
    largest_tilt: ClassVar[float] = np.inf
    mean: ClassVar[float] = -float(np.euler_gamma)
    variance: ClassVar[float] = float(np.pi**2 / 6.0)

    def log_density(self, z: Array, order: int = 3) -> tuple[Array, ...]:
        w, w1, w2 = steep(z)
        return (z - w, 1.0 - w1, -w2, -w2)[: order + 1]

    def lower_tail(self, z: Array) -> Tail:
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
        w, w1, w2 = steep(z)
        return Tail(-w, -w1, -w2)

    def log_cdf(self, z: Array) -> Array:
        w = np.maximum(np.exp(np.minimum(z, _LARGEST)), 1e-300)
        left = z + np.log(-np.expm1(-np.minimum(w, 1.0)) / np.minimum(w, 1.0))
        return np.asarray(np.where(z < 0.0, left, np.log1p(-np.exp(-np.maximum(w, 0.5)))), dtype=np.float64)

    def log_sf(self, z: Array) -> Array:
        return -steep(z)[0]

    def ppf(self, q: Array) -> Array:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(-np.log1p(-q)), dtype=np.float64)

    def inverse_log_cdf(self, log_p: Array) -> Array:
        return np.where(log_p < _SMALL, log_p, np.log(-np.log1p(-np.exp(log_p))))

    def inverse_log_sf(self, log_p: Array) -> Array:
        return np.asarray(np.log(-log_p))

    def densest(self, width: Array) -> Array:
        """Where the cumulative hazard is ``w / (e^w - 1)``."""
        return np.asarray(np.log(width) - np.log(np.expm1(np.minimum(width, _CEILING))))

    def mgf(self, s: Array) -> tuple[Array, Array]:
        return gamma(1.0 + s), s * digamma(1.0 + s)

    def log_excess(self, z: Array, tilt: Array | None, *, above: bool) -> Array | None:
        return _log_excess_above(z, tilt) if above else _log_excess_below(z, tilt) - self.log_cdf(z)


def steep(z: Array) -> tuple[Array, Array, Array]:
    """``exp(z)`` with two derivatives, and its parabola at ``_LARGEST`` right of that."""
    if not (z > _LARGEST).any():
        w = np.exp(z)
        return w, w, w
    held, beyond = np.exp(np.minimum(z, _LARGEST)), np.clip(z - _LARGEST, 0.0, _REST)
    return held * (1.0 + beyond * (1.0 + 0.5 * beyond)), held * (1.0 + beyond), held


def _log_excess_above(z: Array, tilt: Array | None) -> Array:
    """``log A - log S``, S the survival function; from a table where one tilt meets many points."""
    if tilt is None or z.size <= _MANY or not (tilt == tilt.flat[0]).all():
        return _integrated_excess(z, tilt)
    out = _tabulated_excess(float(tilt.flat[0]))(np.clip(z, _BEFORE, _LAST))
    beyond = (z < _BEFORE) | (z > _LAST)
    if beyond.any():
        out[beyond] = _integrated_excess(z[beyond], np.broadcast_to(tilt, z.shape)[beyond])
    return out


@lru_cache(maxsize=128)
def _tabulated_excess(s: float) -> Tabulated:
    """The same with a tilt, to about 1e-12: its slope is ``w - exp(s z)`` over its exponential."""
    z = np.arange(_BEFORE, _LAST + _STEP, _STEP)
    value = _integrated_excess(z, np.full_like(z, s))
    rest = np.exp(s * z - value)
    slope = np.exp(z) - rest
    return tabulate(_BEFORE, _STEP, value, slope, np.exp(z) - rest * (s - slope))


def _integrated_excess(z: Array, tilt: Array | None) -> Array:
    w = np.exp(np.minimum(z, _CEILING))
    s = 0.0 if tilt is None else tilt
    short = np.clip(w, 1e-300, _FAR)
    near = np.log(exp1(short)) if tilt is None else gammaln(tilt) + np.log(gammaincc(tilt, short))
    near = np.where((z < _BEFORE) & (s < 1.0), _before(z, s), near)
    series, term = np.zeros_like(w), np.ones_like(w)
    for k in range(1, 6):
        term = term * (s - k) / np.maximum(w, _FAR)
        series = series + term
    return np.where(w < _FAR, near + short, (s - 1.0) * z + np.log1p(series))


def _before(z: Array, s: Array | float) -> Array:
    """``log A`` where w, which may be NaN there, is negligible relative to 1."""
    with np.errstate(all="ignore"):
        tilted = (np.expm1(gammaln(1.0 + s)) - np.expm1(s * z)) / s
        return np.log(np.where(np.greater(s, 0.0), tilted, -z - np.euler_gamma))


def _log_excess_below(z: Array, tilt: Array | None) -> Array:
    """``log B``."""
    w = np.exp(np.clip(z, -600.0, _CEILING))
    if tilt is None:
        small = np.minimum(w, 1.0)
        series, term = np.zeros_like(small), -np.ones_like(small)
        for k in range(1, _TERMS):
            term = -term * small / k
            series = series + term / (k * small)
        left = z + np.log(series)
        right = np.log(np.maximum(z, 0.0) + np.euler_gamma + exp1(np.maximum(w, 1.0)))
        return np.where(w < 1.0, left, right)
    part = gammainc(tilt + 1.0, w)
    with np.errstate(divide="ignore", over="ignore"):
        gap = -np.expm1(-w) - np.exp(gammaln(tilt + 1.0) + np.log(part) - tilt * z)
        near = tilt * z - np.log(tilt) + np.log(np.maximum(gap, 1e-300))
    first = (tilt + 1.0) * z - np.log1p(tilt) - 0.5 * np.minimum(w, 1.0) * (tilt + 1.0) / (tilt + 2.0)
    return np.where(w < _TINY, first, near)
