"""Student's t distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tobitgp.distributions.intervals import Slice
from tobitgp.distributions.standard_noise import Distribution
from tobitgp.errors import SpecError
from tobitgp.numerics import student_t
from tobitgp.numerics.student_t import tabulated_log_cdf
from tobitgp.typing import Array

_MANY = 2_000
_LEAST, _STEPS = -690.0, 60


@dataclass(frozen=True, slots=True)
class StudentNoise(Distribution):
    r"""Student's t with ``df`` > 0 degrees of freedom, density :math:`\propto (1 + z^2/df)^{-(df + 1)/2}`.

    Not scaled to unit variance: sigma multiplies t itself, as in survreg's ``dist = "t"``.
    """

    df: float = 4.0
    name: ClassVar[str] = "student"
    shape_name: ClassVar[str | None] = "df"
    shape_range: ClassVar[tuple[float, float]] = (0.05, 1000.0)
    shape_starts: ClassVar[tuple[float, ...]] = (30.0,)
    shape_limits: ClassVar[tuple[str, str]] = ("", "the normal distribution fits as well and is simpler")
    symmetric: ClassVar[bool] = True
    mode: ClassVar[float] = 0.0
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
        return tabulated_log_cdf(self.df)(z) if z.size > _MANY else student_t.log_cdf(z, self.df)

    def log_sf(self, z: Array) -> Array:
        return self.log_cdf(-z)

    def ppf(self, q: Array) -> Array:
        return student_t.ppf(q, self.df)

    def inverse_log_cdf(self, log_p: Array) -> Array:
        z = self.ppf(np.exp(np.maximum(log_p, _LEAST)))
        far = log_p < _LEAST
        if far.any():
            z[far] = self._further_out(log_p[far], z[far])
        return z

    def _further_out(self, log_p: Array, z: Array) -> Array:
        """Newton's method in ``log(-z)`` where the probability is no number."""
        for _ in range(_STEPS):
            tail = self.lower_tail(z)
            step = (log_p - tail.log_p) / (tail.d1 * z)
            z = z * np.exp(np.clip(step, -1.0, 1.0))
            if (np.abs(step) < 1e-14).all():
                break
        return z

    @property
    def shape(self) -> float:
        return self.df

    def with_shape(self, value: float) -> StudentNoise:
        return StudentNoise(value)

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
