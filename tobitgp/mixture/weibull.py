r"""Weibull components: a gamma posterior of the rate, a point estimate of the shape.

With y = log(time / unit) a time has :math:`\log f = t + \log\kappa - y - e^t`, :math:`t = u + \kappa y`, u the log
rate, and log densities and log masses of intervals are concave in (u, kappa) together. One Newton step of a penalised
likelihood in both, (MIX14) of the theory pages, is taken in each pass.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from scipy.special import digamma, gammainc, gammaincc, gammaln, ndtri

from tobitgp.mixture.family import (
    NEARLY,
    ComponentDistribution,
    MixtureFamily,
    RowStatistics,
    Sums,
    at_bound,
)
from tobitgp.mixture.mixture_priors import ComponentPrior, gamma_divergence, gamma_information, learning
from tobitgp.mixture.mixture_rows import Floor, MixtureRows, MixtureUnits, Support, WorkingRows
from tobitgp.numerics.truncated_moments import share
from tobitgp.typing import Array, BoolArray

SMALLEST_SHAPE, LARGEST_SHAPE = 0.01, 100.0
_LARGEST_T = 300.0
_LARGEST_LOG = 700.0
_SHAPE_INFORMATION = 1.8236806608528794  # of log shape in one exact row, pi^2/6 + (1 - Euler's constant)^2
_LARGEST_ERROR = 5.0
_LARGEST_MOVE = 2.0  # of u in one step


@dataclass(frozen=True, slots=True)
class Lifetimes(ComponentDistribution):
    """Distributions of times, S(x) = exp(-H(t)) with t = shape log(x / scale); (K,) each."""

    scale: Array
    shape: Array

    @abstractmethod
    def hazard(self, t: Array) -> tuple[Array, Array]:
        """H(t), and log H'(t) - t, (K, n) each."""

    @abstractmethod
    def moment(self, r: float) -> Array:
        """The r-th moment, (K,)."""

    @np.errstate(over="ignore", invalid="ignore")
    def log_density(self, x: Array) -> Array:
        y, c = _log_ratio(x, self.scale), self.shape[:, None]
        risen, rate = self.hazard(c * y)
        out = np.log(c / self.scale[:, None]) + np.where(c == 1.0, 0.0, (c - 1.0) * y) + rate - risen
        return np.where((x >= 0.0) & np.isfinite(x), out, -np.inf)

    @np.errstate(over="ignore")
    def log_sf(self, x: Array) -> Array:
        return -self.hazard(self.shape[:, None] * _log_ratio(x, self.scale))[0]

    @np.errstate(divide="ignore")
    def log_cdf(self, x: Array) -> Array:
        return np.asarray(np.log(-np.expm1(self.log_sf(x))))

    def mean(self) -> Array:
        return self.moment(1.0)

    @np.errstate(over="ignore", invalid="ignore")
    def variance(self) -> Array:
        """Infinite where the second moment is."""
        first, second = self.moment(1.0), self.moment(2.0)
        return np.where(np.isfinite(second), second - first**2, np.inf)


@dataclass(frozen=True, slots=True)
class Burr(Lifetimes):
    """Burr distributions of survival function ``(1 + (x / scale)^shape)^-a``, Lomax where the shape is 1; (K,) each."""

    a: Array

    def hazard(self, t: Array) -> tuple[Array, Array]:
        a, log_sum = self.a[:, None], np.logaddexp(0.0, t)
        return a * log_sum, np.log(a) - log_sum

    @np.errstate(divide="ignore")
    def ppf(self, q: Array) -> Array:
        return self.scale[:, None] * np.expm1(-np.log1p(-q) / self.a[:, None]) ** (1.0 / self.shape[:, None])

    @np.errstate(over="ignore")
    def rvs(self, rng: np.random.Generator) -> Array:
        return np.asarray(self.scale * rng.pareto(self.a) ** (1.0 / self.shape))

    @np.errstate(over="ignore")
    def moment(self, r: float) -> Array:
        """``a B(a - r / shape, 1 + r / shape)``, which exists where a shape > r."""
        over = r / self.shape
        left = np.where(self.a > over, self.a - over, 1.0)
        log_moment = gammaln(left) + gammaln(1.0 + over) - gammaln(self.a)
        return np.where(self.a > over, self.scale**r * np.exp(log_moment), np.inf)


@dataclass(frozen=True, slots=True)
class WeibullDistribution(Lifetimes):
    """Weibull distributions of survival function ``exp(-(x / scale)^shape)``; (K,) each."""

    def hazard(self, t: Array) -> tuple[Array, Array]:
        return np.exp(t), np.zeros_like(t)

    @np.errstate(divide="ignore")
    def ppf(self, q: Array) -> Array:
        return self.scale[:, None] * (-np.log1p(-q)) ** (1.0 / self.shape[:, None])

    def limiting_hazard(self) -> Array:
        return np.select([self.shape < 1.0, self.shape > 1.0], [0.0, np.inf], 1.0 / self.scale)

    @np.errstate(over="ignore")
    def rvs(self, rng: np.random.Generator) -> Array:
        return np.asarray(self.scale * rng.weibull(self.shape))

    @np.errstate(over="ignore")
    def moment(self, r: float) -> Array:
        return self.scale**r * np.exp(gammaln(1.0 + r / self.shape))

    @np.errstate(all="ignore")
    def truncated_ppf(self, share: Array, lower: Array, upper: Array) -> Array:
        """Cumulative hazards are exponential."""
        low, high = -self.log_sf(lower), -self.log_sf(upper)
        hazard = low - np.log1p(share * np.expm1(low - high))
        return self.scale[:, None] * hazard ** (1.0 / self.shape[:, None])

    @np.errstate(all="ignore")
    def truncated_moments(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        """From incomplete gamma functions."""
        scale, shape = self.scale[:, None], self.shape[:, None]
        log_mass, lower = self.log_interval(lower, upper), np.maximum(lower, 0.0)
        A, B = (lower / scale) ** shape, (upper / scale) ** shape
        below = B < 1.0
        moments = []
        for r in (1.0, 2.0):
            s = 1.0 + r / shape
            part = np.where(below, gammainc(s, B) - gammainc(s, A), gammaincc(s, A) - gammaincc(s, B))
            moments.append(scale**r * np.exp(gammaln(s) + np.log(part) - log_mass))
        first, second = moments
        good = np.isfinite(first) & (first > lower) & (first <= upper) & (log_mass > -600.0)
        first = np.where(good, first, np.where(np.isfinite(upper), 0.5 * (lower + upper), lower))
        variance = np.where(np.isfinite(second), np.maximum(second - first**2, 0.0), np.inf)
        return first, np.where(good, variance, 0.0)


@dataclass(frozen=True, slots=True)
class Weibull(MixtureFamily):
    """Components of survival function ``exp(-(y / scale)^shape)``.

    Statistics are e^t, the derivative of the log density in the shape, and the second ones in u and the shape. Point
    parameters are u and the shape; a posterior is (a, b, shape), a prior (a, b, sd of log shape).
    """

    name: ClassVar[str] = "weibull"
    expected: ClassVar[bool] = False
    support: ClassVar[Support] = "positive"
    logarithm: ClassVar[bool] = True
    free_of: ClassVar[Literal["scale"]] = "scale"
    parameters: ClassVar[tuple[str, ...]] = ("scale", "shape")
    hyperparameters: ClassVar[tuple[str, ...]] = ("a", "b", "sd_log_shape")
    positive: ClassVar[tuple[bool, ...]] = (True, True, True)

    @np.errstate(over="ignore", divide="ignore", invalid="ignore", under="ignore")
    def terms(self, rows: MixtureRows, theta: Array) -> RowStatistics:
        u, shape = theta[0][:, None], theta[1][:, None]
        low, high = rows.lower, rows.upper
        if rows.kind == "exact":
            t = np.clip(u + shape * low, -_LARGEST_T, _LARGEST_T)
            w = np.exp(t)
            first = w, 1.0 / shape + low - w * low
            return RowStatistics(t + np.log(shape) - w, (*first, -w, -w * low, -w * low * low - 1.0 / shape**2))
        if rows.kind == "right":
            w = -np.exp(np.clip(u + shape * low, -_LARGEST_T, _LARGEST_T))
            along = w * low
            return RowStatistics(w.copy(), (1.0 - w, along, w, along, along * low))
        if rows.kind == "left":
            w = np.exp(np.clip(u + shape * high, -_LARGEST_T, _LARGEST_T))
            g = w / np.expm1(w)
            g2 = g * (1.0 - w - g)
            return RowStatistics(np.log(-np.expm1(-w)), (w * share(w), g * high, g2, g2 * high, g2 * high * high))
        return _interval_terms(rows, u, shape)

    def reference(self, k: int) -> Array:
        return np.stack([np.zeros(k), np.ones(k)])

    def location(self, theta: Array) -> Array:
        return np.asarray(gammaln(1.0 + 1.0 / theta[1]) - theta[0] / theta[1])

    def steps(self, theta: Array) -> Array:
        return np.stack([-theta[1], theta[1]])

    def default_prior(self, typical: float) -> ComponentPrior:
        """A gamma(0.1, b) rate of (time / median)^shape whose b is learnt, and a log shape of mean 0 and sd 1.

        A gamma(1, b) rate would draw the shapes of late components to 0, by as much as a row at the median.
        """
        return learning(np.array([0.1, np.nan, 1.0]), (1,), (0.1,), np.ones(1))

    def scaled_by(self, q: Array, prior: ComponentPrior) -> Array:
        return (q[0] / q[1])[None][: len(prior.learnt)]

    @np.errstate(over="ignore")
    def posterior_columns(self, q: Array, units: MixtureUnits) -> dict[str, Array]:
        """The rate is that of time^shape in the user's units; the shape is a point estimate."""
        a, b, shape = q
        return {"a": a, "b": np.exp(np.log(b) + units.shift * shape), "shape": shape}

    def plug_in(self, q: Array) -> tuple[Array, Array]:
        a, b, shape = q
        return np.stack([np.log(a / b), shape]), digamma(a) - np.log(a)

    def posterior(self, prior: Array, theta: Array, sums: Sums, *, cautious: bool = False) -> Array:
        """Where cautious, the shape stays."""
        a = prior[0] + sums.counts
        if cautious:
            return np.stack([a, prior[1] + sums.statistics[0] * np.exp(-theta[0]), theta[1]])
        u, shape = _newton(theta, sums, prior[0], prior[1], prior[2] ** -2.0)
        return np.stack([a, a * np.exp(-u), shape])

    def divergence(self, q: Array, prior: Array) -> Array:
        """The penalty ``(log shape / sd)^2 / 2`` of the shape is part of it."""
        return np.asarray(gamma_divergence(q[0], q[1], prior[0], prior[1]) + 0.5 * (np.log(q[2]) / prior[2]) ** 2)

    def between(self, old: Array, new: Array, step: float) -> Array | None:
        """Straight in a, u and the shape."""
        a, shape = (1.0 - step) * old[0] + step * new[0], (1.0 - step) * old[2] + step * new[2]
        u = (1.0 - step) * np.log(old[0] / old[1]) + step * np.log(new[0] / new[1])
        if not ((a > 0.0).all() and (shape >= SMALLEST_SHAPE).all() and (shape <= LARGEST_SHAPE).all()):
            return None
        return np.stack([a, a * np.exp(-u), shape])

    def gradient(self, q: Array, prior: Array, sums: Sums) -> Array:
        way = self.posterior(prior, self.plug_in(q)[0], sums, cautious=True) - q
        out = np.einsum("pqk,qk->pk", self.information(q), way)
        out[2] = sums.statistics[1] - np.log(q[2]) / (q[2] * prior[2] ** 2)
        return np.asarray(out)

    def information(self, q: Array) -> Array:
        """For the shape, which has no posterior, that of as many exact rows at a known rate."""
        out = np.zeros((3, 3, q.shape[1]))
        out[:2, :2] = gamma_information(q[0], q[1])
        out[2, 2] = _SHAPE_INFORMATION * q[0] / q[2] ** 2
        return out

    def estimates(self, q: Array, units: MixtureUnits) -> tuple[Array, Array]:
        a, b, shape = q
        values, slopes = self.point_estimates(np.stack([np.log(a / b), shape]), units)
        return values, np.stack([slopes[:, 0] / a, -slopes[:, 0] / b, slopes[:, 1]], axis=1)

    @np.errstate(over="ignore")
    def interval(self, values: Array, error: Array, level: float) -> tuple[Array, Array]:
        """Normal on the log scale, NaN where the error there is above 5."""
        of_log = error / values
        away = np.exp(ndtri(0.5 + 0.5 * level) * np.where(of_log > _LARGEST_ERROR, np.nan, of_log))
        return values / away, values * away

    def maximum(self, theta: Array, sums: Sums, floor: Floor, *, cautious: bool = False) -> Array:
        """One Newton step, or the rate alone."""
        if cautious:
            with np.errstate(divide="ignore", invalid="ignore"):
                move = np.log(sums.counts / sums.statistics[0])
            return np.stack([theta[0] + np.where(np.isfinite(move), move, 0.0), theta[1]])
        return np.stack(_newton(theta, sums, 0.0, 0.0, 0.0))

    def score(self, theta: Array, sums: Sums) -> Array:
        return np.stack([sums.counts - sums.statistics[0], sums.statistics[1]])

    def floor(self, working: WorkingRows) -> Floor:
        return 0.0

    def bounds(self, theta: Array, floor: Floor) -> tuple[Array, Array]:
        """There is no floor: shapes are held between .01 and 100."""
        return np.array([[-np.inf], [SMALLEST_SHAPE]]), np.array([[np.inf], [LARGEST_SHAPE]])

    def held_posterior(self, q: Array) -> BoolArray:
        """The shape has no posterior."""
        held = np.zeros(q.shape, dtype=np.bool_)
        held[2] = at_bound(q[2], SMALLEST_SHAPE, LARGEST_SHAPE)
        return held

    def narrow(self, theta: Array, floor: Floor) -> BoolArray:
        return np.asarray(np.log(theta[1]) >= np.log(LARGEST_SHAPE) - NEARLY)

    @np.errstate(over="ignore")
    def point_estimates(self, theta: Array, units: MixtureUnits) -> tuple[Array, Array]:
        u, shape = theta
        scale = np.exp(np.minimum(units.shift - u / shape, _LARGEST_LOG))
        slopes = np.zeros((2, *theta.shape))
        slopes[0, 0], slopes[0, 1], slopes[1, 1] = -scale / shape, scale * u / shape**2, 1.0
        return np.stack([scale, shape]), slopes

    def predictive(self, q: Array, units: MixtureUnits) -> ComponentDistribution:
        """A Burr distribution at the estimated shape."""
        a, b, shape = q
        return Burr(np.exp(units.shift + np.log(b) / shape), shape, a)

    def with_mean(self, q: Array) -> Array:
        return np.stack([np.maximum(q[0], 2.0 / np.minimum(q[2], 1.0)), q[1], q[2]])

    def distribution(self, theta: Array, units: MixtureUnits) -> ComponentDistribution:
        return WeibullDistribution(*self.point_estimates(theta, units)[0])

    def unbounded_slopes(self, theta: Array, values: Array, slopes: Array) -> Array:
        """The unbounded parameters are log scale and log shape, since u is not a parameter by itself."""
        return np.asarray(np.einsum("dk,dr->drk", 1.0 / values, np.eye(2)))

    def drawn(self, theta: Array, moves: Array, z: Array, values: Array, error: Array, prior: Array | None) -> Array:
        """Log-normal of the errors, which need not be small."""
        moves = np.sqrt(np.log1p((error / values) ** 2)) * z
        shape = np.clip(theta[1] * np.exp(moves[:, 1]), SMALLEST_SHAPE, LARGEST_SHAPE)
        return np.stack([shape * (theta[0] / theta[1] - moves[:, 0]), shape], axis=1)


def _interval_terms(rows: MixtureRows, u: Array, shape: Array) -> RowStatistics:
    """Mass exp(-A) - exp(-B) of an interval, A and B its ends as cumulative hazards, and D = B - A."""
    low, high = rows.lower, rows.upper
    A = np.exp(np.clip(u + shape * low, -_LARGEST_T, _LARGEST_T))
    log_D = u + shape * high + np.log(-np.expm1(-shape * rows.width))
    D = np.exp(np.clip(log_D, -_LARGEST_T, _LARGEST_T))
    along = D * high + A * rows.width  # derivative of D in the shape
    bent = D * high * high + A * rows.width * (low + high)
    j = 1.0 / np.expm1(D)
    jj = -(j + j * j)
    log_p = np.log(-np.expm1(-D)) - A
    first = A + D * share(D), j * along - A * low
    curvature = j * D + jj * D * D - A, j * along + jj * D * along - A * low
    return RowStatistics(log_p, (*first, *curvature, j * bent + jj * along * along - A * low * low))


def _newton(theta: Array, sums: Sums, a0: float, b0: float, precision: float) -> tuple[Array, Array]:
    """One step towards the maximum of the penalised likelihood in u and shape, shortened where it leads far."""
    u, shape = theta
    hazard, g_k, h_uu, h_uk, h_kk = sums.statistics
    rate, log_shape = np.exp(u), np.log(shape)
    g_u = sums.counts - hazard + a0 - b0 * rate
    g_k = g_k - precision * log_shape / shape
    h_uu = h_uu - b0 * rate - 1e-10
    h_kk = h_kk - precision * np.maximum(1.0 - log_shape, 0.0) / shape**2 - 1e-10
    determinant = np.maximum(h_uu * h_kk - h_uk * h_uk, 1e-12 * h_uu * h_kk)
    by_u, by_k = (h_uk * g_k - h_kk * g_u) / determinant, (h_uk * g_u - h_uu * g_k) / determinant
    room = np.where(
        by_k > 0.0, np.minimum(shape, LARGEST_SHAPE - shape), shape - np.maximum(0.5 * shape, SMALLEST_SHAPE)
    )
    held = room < 1e-9 * shape
    by_u, by_k = np.where(held, -g_u / h_uu, by_u), np.where(held, 0.0, by_k)
    over = np.maximum(np.abs(by_u) / _LARGEST_MOVE, np.abs(by_k) / np.maximum(room, 1e-12))
    by_u, by_k = by_u / np.maximum(over, 1.0), by_k / np.maximum(over, 1.0)
    return u + by_u, np.clip(shape + by_k, SMALLEST_SHAPE, LARGEST_SHAPE)


def _log_ratio(x: Array, scale: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.maximum(x, 0.0)) - np.log(scale)[:, None])
