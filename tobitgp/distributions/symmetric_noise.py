r"""Noise whose distribution is symmetric: normal, logistic, and Student's.

By how much a logistic variable passes a limit, with :math:`w = e^z` and p = w / (1 + w): :math:`\log(1 + e^{-z})`;
tilted by s, the incomplete beta function :math:`B(1 - s, s)\,I_{1-p}(1 - s, s)` for s < 1, and
:math:`w^{s+1} F(1, 1; s + 2; p) / ((s + 1)(1 + w))`, where z > -1 and s < 1 rather
:math:`[w^s p - B(1 + s, 1 - s)\,I_p(1 + s, 1 - s)] / s`.

References
----------
DLMF 8.17 and 15.6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import (
    betainc,
    betaincc,
    betaln,
    erfcx,
    expit,
    hyp2f1,
    log_expit,
    log_ndtr,
    logit,
    ndtr,
    ndtri,
    ndtri_exp,
)

from tobitgp.distributions.intervals import Slice
from tobitgp.distributions.standard_noise import FAR, Distribution, Tail
from tobitgp.errors import SpecError
from tobitgp.numerics import student_t
from tobitgp.numerics.normal_functions import mills
from tobitgp.numerics.student_t import tabulated_log_cdf
from tobitgp.numerics.truncated_moments import moments
from tobitgp.typing import Array

_HALF_LOG_2PI = 0.5 * float(np.log(2.0 * np.pi))


@dataclass(frozen=True, slots=True)
class NormalNoise(Distribution):
    """The standard normal distribution."""

    name: ClassVar[str] = "normal"
    gaussian: ClassVar[bool] = True
    symmetric: ClassVar[bool] = True
    log_concave: ClassVar[bool] = True
    reach: ClassVar[float] = 1.0
    largest_tilt: ClassVar[float] = np.inf
    mean: ClassVar[float] = 0.0
    variance: ClassVar[float] = 1.0

    def log_density(self, z: Array, order: int = 3) -> tuple[Array, ...]:
        values = (-_HALF_LOG_2PI - 0.5 * z * z, -z, np.full_like(z, -1.0), np.zeros_like(z))
        return values[: order + 1]

    def lower_tail(self, z: Array) -> Tail:
        h, delta = mills(z)
        return Tail(self.log_cdf(z), h, -h * delta)

    def log_cdf(self, z: Array) -> Array:
        return np.asarray(log_ndtr(z), dtype=np.float64)

    def ppf(self, q: Array) -> Array:
        return np.asarray(ndtri(q), dtype=np.float64)

    def inverse_log_cdf(self, log_p: Array) -> Array:
        return np.asarray(ndtri_exp(log_p), dtype=np.float64)

    def mgf(self, s: Array) -> tuple[Array, Array]:
        return np.exp(0.5 * s * s), s * s

    def between(self, a: Array, b: Array, tilt: Array | None = None) -> Slice:
        """``exp(s z)`` times the normal density is ``exp(s^2 / 2)`` times that of N(s, 1)."""
        s = np.zeros_like(a) if tilt is None else tilt
        low, high = np.clip(a - s, -FAR, FAR), np.clip(b - s, -FAR, FAR)
        half = 0.5 * np.clip(b - a, 1e-300, 2.0 * FAR)
        mass, mean, _ = moments(low, high, 0.5 * (low + high), half, rows=3)
        centre = np.clip(0.0, low, high)
        return Slice(mass + 0.5 * s * s, centre + s, mean - centre)

    def log_excess(self, z: Array, tilt: Array | None, *, above: bool) -> Array | None:
        r"""With Mills' ratio :math:`R = S / \varphi`, z > 0: :math:`e^{sz} [R(z - s) - R(z)] / s` over :math:`R(z)`."""
        t = z if above else -z
        if tilt is None:
            return np.log(mills(-t)[1])
        s = np.asarray(tilt)
        gap = _ratio(t - s) - _ratio(t) if above else _ratio(t) - _ratio(t + s)
        far = s * z + np.log(gap / _ratio(t))
        lift, tail = np.exp(0.5 * s * s - s * z), ndtr(-t)
        part = lift * ndtr(s - t) - tail if above else tail - lift * ndtr(-s - t)
        near = s * z + np.log(part) - log_ndtr(-t)
        edge = 0.5 * s * s if above else np.full_like(z, -np.inf)
        return np.where(t > 0.0, far, np.where(np.abs(z) < FAR, near, edge)) - np.log(s)


def _ratio(x: Array) -> Array:
    """Mills' ratio ``S / phi``."""
    return np.asarray(np.sqrt(0.5 * np.pi) * erfcx(x / np.sqrt(2.0)))


_EARLY, _FACTORS = -1.0, 28
_LONG = 40.0


@dataclass(frozen=True, slots=True)
class Logistic(Distribution):
    """The standard logistic distribution, variance pi^2 / 3."""

    name: ClassVar[str] = "logistic"
    proportional_odds: ClassVar[bool] = True
    symmetric: ClassVar[bool] = True
    log_concave: ClassVar[bool] = True
    reach: ClassVar[float] = 1.0
    largest_tilt: ClassVar[float] = 1.0
    mean: ClassVar[float] = 0.0
    variance: ClassVar[float] = float(np.pi**2 / 3.0)

    def log_density(self, z: Array, order: int = 3) -> tuple[Array, ...]:
        size = np.abs(z)
        value = -size - 2.0 * np.log1p(np.exp(-size))
        if order == 0:
            return (value,)
        density, slope = expit(z) * expit(-z), -np.tanh(0.5 * z)
        return (value, slope, -2.0 * density, -2.0 * density * slope)[: order + 1]

    def lower_tail(self, z: Array) -> Tail:
        above = expit(-z)
        return Tail(self.log_cdf(z), above, -above * expit(z))

    def log_cdf(self, z: Array) -> Array:
        return np.asarray(log_expit(z), dtype=np.float64)

    def ppf(self, q: Array) -> Array:
        return np.asarray(logit(q), dtype=np.float64)

    def inverse_log_cdf(self, log_p: Array) -> Array:
        return np.asarray(log_p - np.log(-np.expm1(log_p)))

    def mgf(self, s: Array) -> tuple[Array, Array]:
        angle = np.pi * s
        return np.where(s < 1.0, 1.0 / np.sinc(s), np.inf), 1.0 - angle / np.tan(angle)

    def log_excess(self, z: Array, tilt: Array | None, *, above: bool) -> Array | None:
        return _log_excess_above(z, tilt) if above else _log_excess_below(z, tilt)


def _log_excess_above(z: Array, tilt: Array | None) -> Array:
    """``log A - log S``, S the survival function; infinite for a tilt of 1 or more."""
    if tilt is None:
        short = np.minimum(z, _LONG)
        return np.where(z > _LONG, 0.0, np.log(-log_expit(short)) - log_expit(-short))
    z, tilt = np.broadcast_arrays(z, tilt)
    s = np.minimum(tilt, 1.0 - 1e-12)
    rest, right = np.empty_like(z), z > 0.0
    rest[right] = betainc(1.0 - s[right], s[right], expit(-z[right]))
    rest[~right] = betaincc(s[~right], 1.0 - s[~right], expit(z[~right]))
    near = betaln(1.0 - s, s) + np.log(np.maximum(rest, 1e-300)) - log_expit(-z)
    return np.where(tilt < 1.0, np.where(z < _LONG, near, s * z - np.log1p(-s)), np.inf)


def _log_excess_below(z: Array, tilt: Array | None) -> Array:
    """``log B - log F``, F the cdf."""
    if tilt is None:
        return _log_excess_above(-z, None)
    log_cdf = log_expit(z)
    s = np.minimum(tilt, 1.0 - 1e-12)
    with np.errstate(over="ignore"):
        part = np.exp(betaln(1.0 + s, 1.0 - s) - s * z) * betainc(1.0 + s, 1.0 - s, expit(z))
        far = s * z + np.log(np.maximum(expit(z) - part, 1e-300) / s)
    lead = (tilt + 1.0) * z - np.log1p(tilt) + log_expit(-z)
    p, near = expit(np.minimum(z, _EARLY)), np.ones_like(z)
    for k in range(_FACTORS, 0, -1):
        near = 1.0 + near * p * (k / (tilt + 1.0 + k))
    out = np.where(z > _EARLY, far, lead + np.log(near))
    late = (z > _EARLY) & (tilt >= 1.0)
    if late.any():
        tilt, z, lead = (np.broadcast_to(x, late.shape)[late] for x in (tilt, z, lead))
        out[late] = lead + np.log(hyp2f1(1.0, 1.0, tilt + 2.0, expit(z)))
    return out - log_cdf


_MANY = 200  # points; a search asks for as many again and again
_LEAST, _STEPS = -690.0, 60


@dataclass(frozen=True, slots=True)
class StudentNoise(Distribution):
    r"""Student's t with ``df`` > 0 degrees of freedom, density :math:`\propto (1 + z^2/df)^{-(df + 1)/2}`.

    Not scaled to unit variance: sigma multiplies t itself, as in survreg's ``dist = "t"``.
    """

    df: float = 4.0
    name: ClassVar[str] = "student"
    shape_name: ClassVar[str | None] = "df"
    shape_by_row: ClassVar[bool] = True
    shape_range: ClassVar[tuple[float, float]] = (0.05, 1000.0)
    shape_starts: ClassVar[tuple[float, ...]] = (30.0,)
    farthest: ClassVar[float] = 1e300  # tails fall by powers, so that probabilities out there are no small numbers
    shape_limits: ClassVar[tuple[str, str]] = ("", "the normal distribution fits as well and is simpler")
    symmetric: ClassVar[bool] = True
    largest_tilt: ClassVar[float] = 0.0

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
        return student_t.log_density(z, self.df, order)

    def log_cdf(self, z: Array) -> Array:
        """See `Distribution`; from a table where there are many points."""
        many = z.size > _MANY and not np.ndim(self.df)
        return tabulated_log_cdf(self.df)(z) if many else student_t.log_cdf(z, self.df)

    def ppf(self, q: Array) -> Array:
        return student_t.ppf(q, self.df)

    def inverse_log_cdf(self, log_p: Array) -> Array:
        log_p = np.asarray(log_p, dtype=np.float64)
        start = student_t.far_quantile(np.minimum(log_p, -1.0), self.df)
        z = self.ppf(np.exp(np.maximum(log_p, _LEAST)))
        far = ((log_p < _LEAST) | (start < -student_t.FAR)) & (log_p < -1.0)
        if far.any():
            z[far] = self._further_out(log_p[far], start[far])
        return z

    def _further_out(self, log_p: Array, z: Array) -> Array:
        """Newton's method in ``log(-z)``, from the first term of the tail, which is all of it further out."""
        near = z > -student_t.FAR
        for _ in range(_STEPS):
            tail = self.lower_tail(z[near])
            step = (log_p[near] - tail.log_p) / (tail.d1 * z[near])
            z[near] *= np.exp(np.clip(step, -1.0, 1.0))
            if (np.abs(step) < 1e-14).all():
                break
        return z

    def steepness(self, z: Array) -> Array:
        """The largest, since that at z says nothing of what lies before it."""
        return np.full_like(z, 0.5 * (self.df + 1.0) / self.df**0.5)

    def mgf(self, s: Array) -> tuple[Array, Array]:
        return np.full_like(s, np.inf), s

    def between(self, a: Array, b: Array, tilt: Array | None = None) -> Slice:
        r"""Mean by :math:`\int z f = -C \nu / (\nu - 1) (1 + z^2 / \nu)^{-(\nu - 1) / 2}`.

        Its difference is one expm1.
        """
        if tilt is not None:
            raise SpecError("Student's distribution is not available on log time: its exponential has no mean.")
        df, k = self.df, 0.5 * (self.df - 1.0)
        up = np.abs(b) >= np.abs(a)
        near, far = np.where(up, a, b), np.where(up, b, a)
        mass, centre = self.log_mass(a, b), np.clip(0.0, a, b)
        with np.errstate(all="ignore"):
            gap = np.log1p((far - near) * (far + near) / (df + near * near))
            rest = -np.expm1(-k * gap) / (2.0 * k) if k else 0.5 * gap
            log_front = self.log_density(np.zeros(1), 0)[0] + np.log(df) - k * np.log1p(near * near / df)
            mean = np.where(up, 1.0, -1.0) * np.exp(log_front + np.log(rest) - mass)
        mean = np.where(np.isinf(near) & np.isinf(far), self.mean, mean)
        return Slice(mass, centre, np.clip(mean, a, b) - centre)

    def log_excess(self, z: Array, tilt: Array | None, *, above: bool) -> Array | None:
        r""":math:`A(z) = f(z) (\nu + z^2) / (\nu - 1) - z S(z)`."""
        if self.df <= 1.0 or tilt is not None:
            return None
        z = z if above else -z
        ratio = np.exp(self.log_density(z, 0)[0] - self.log_sf(z))
        with np.errstate(divide="ignore"):
            return np.log(np.maximum(ratio * (self.df + z * z) / (self.df - 1.0) - z, 0.0))
