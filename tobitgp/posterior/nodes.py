r"""Weighted normal distributions of the location in rows: the posterior of a process at new rows.

Arrays broadcast throughout: means and standard deviations (J, n), noise (J, 1), limits (n,).

What is uncertain of a number :math:`g(f, \sigma)` of the distribution of the response is f, a mixture of normals, and
the noise that goes with each component; the noise of a new observation is never part of it: (PRE2) and (PRE3) of the
theory pages.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, ndtr

from tobitgp.distributions.base import Distribution
from tobitgp.distributions.convolution import BEYOND, HALF_LOG_2PI, plus_normal, reach
from tobitgp.distributions.location_scale import FAR, LocationScale
from tobitgp.distributions.normal import Normal
from tobitgp.distributions.weighted_sum import WeightedSum
from tobitgp.numerics.log_probabilities import weighted
from tobitgp.numerics.normal import average, exponential_sd, total_sd
from tobitgp.numerics.quadrature import integrals
from tobitgp.numerics.truncated import log_interval_mass
from tobitgp.posterior.questions import Question, Rows
from tobitgp.typing import Array, BoolArray, IntArray

_HALF_LOG_2PI = 0.5 * float(np.log(2.0 * np.pi))
_FAR = 1e100
_TERMS = 32


def smoothed_variance(mean: Array, sd: Array, sigma: Array, lower: Array, upper: Array, *, log_time: bool) -> Array:
    r"""Variance of :math:`g(f, \sigma)` for :math:`f \sim N(mean, sd^2)`.

    With :math:`y^*` of variance :math:`S^2 = sd^2 + \sigma^2` and :math:`e_k` the coefficients of its clipped value in
    normalised Hermite polynomials, the variance is :math:`\sum_{k \ge 1} \rho^k e_k^2`, :math:`\rho = sd^2/S^2`: two
    values that share f are two clipped normals of correlation rho (Mehler's formula): (PRE5) of the theory pages. What
    32 terms leave of the clipped variable's own variance, :math:`\sum e_k^2`, enters with the power of the first term
    left out.

    Shapes: mean, sd (J, n), sigma (J, 1), lower, upper (n,); gives (J, n).
    """
    S = np.sqrt(sd * sd + sigma * sigma)
    rho = sd * sd / (S * S)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        if log_time:
            a, b = _log_ends(mean, S, lower, upper)
            low, high = np.maximum(lower, 0.0), np.where(np.isfinite(upper), upper, 0.0)
            slope, inside = S, np.exp(mean + 0.5 * S * S + _log_mass(a - S, b - S))
        else:
            a, b = -_standardise(mean, S, lower), -_standardise(mean, S, upper)
            low, high, slope = np.ones_like(lower), np.ones_like(upper), np.zeros_like(S)
            inside = np.exp(_log_mass(a, b))
        partial, weighted = _hermite_sums(a, b, low, high, slope, inside, rho)
        left = clipped_variance(mean, S, lower, upper, log_time=log_time) / (S * S) - partial
        return np.asarray(S * S * (weighted + rho ** (_TERMS + 1) * np.maximum(left, 0.0)))


def clipped_variance(mean: Array, sd: Array, lower: Array, upper: Array, *, log_time: bool) -> Array:
    """Variance of a clipped normal or log-normal variable."""
    with np.errstate(over="ignore", invalid="ignore"):
        if log_time:
            a, b = _log_ends(mean, sd, lower, upper)
            low = np.maximum(lower, 0.0)
            square = weighted(low * low, ndtr(a)) + weighted(upper * upper, ndtr(-b))
            square = square + np.exp(2.0 * mean + 2.0 * sd * sd + _log_mass(a - 2.0 * sd, b - 2.0 * sd))
            return np.maximum(square - LocationScale(Normal(), mean, sd, True).clipped_mean(lower, upper) ** 2, 0.0)
        a, b = -_standardise(mean, sd, lower), -_standardise(mean, sd, upper)
        phi_a, phi_b, P_l, P_u = _phi(a), _phi(b), ndtr(a), ndtr(-b)
        first = weighted(a, P_l) + weighted(b, P_u) - (phi_b - phi_a)
        second = weighted(a * a, P_l) + weighted(b * b, P_u) + (1.0 - P_l - P_u) - (b * phi_b - a * phi_a)
        return np.asarray(sd * sd * np.maximum(second - first * first, 0.0))


def _hermite_sums(
    a: Array, b: Array, low: Array, high: Array, slope: Array, inside: Array, rho: Array
) -> tuple[Array, Array]:
    """``sum e_k^2 / S^2`` and ``sum rho^k e_k^2 / S^2`` over the first terms, by integration by parts."""
    h_a, h_b = low * _phi(a), high * _phi(b)
    before_a, before_b = np.zeros_like(h_a), np.zeros_like(h_b)
    i, power = inside, rho
    partial, weighted = i * i, rho * i * i
    for j in range(1, _TERMS):
        i = (h_a - h_b + slope * i) / np.sqrt(j)
        power = power * rho
        term = i * i / (j + 1)
        partial = partial + term
        weighted = weighted + power * term
        h_a, before_a = (a * h_a - np.sqrt(j - 1) * before_a) / np.sqrt(j), h_a
        h_b, before_b = (b * h_b - np.sqrt(j - 1) * before_b) / np.sqrt(j), h_b
    return partial, weighted


def _standardise(mean: Array, sd: Array, limit: Array) -> Array:
    """``(mean - limit) / sd``, finite."""
    return np.clip((mean - limit) / sd, -_FAR, _FAR)


def _log_ends(mean: Array, sd: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
    """Standardised logarithms of limits, finite."""
    with np.errstate(divide="ignore"):
        log_lower, log_upper = np.log(np.maximum(lower, 0.0)), np.log(np.maximum(upper, 0.0))
    return -_standardise(mean, sd, log_lower), -_standardise(mean, sd, log_upper)


def _log_mass(a: Array, b: Array) -> Array:
    """``log(Phi(b) - Phi(a))`` of any shape."""
    a, b = np.broadcast_arrays(a, b)
    return log_interval_mass(a.ravel(), b.ravel()).reshape(a.shape)


def _phi(t: Array) -> Array:
    return np.asarray(np.exp(-0.5 * t * t - _HALF_LOG_2PI))


@dataclass(frozen=True, slots=True)
class Nodes:
    """Posterior of f in n rows: ``sum_j weight_j N(mean_j, sd_j^2)``, and the noise that goes with each component."""

    weight: Array  # (J,), sum to one
    mean: Array  # (J, n), of f, in the user's units; on the log scale for positive responses
    sd: Array  # (J, n)
    sigma: Array  # (J, n), or (J, 1) where it is that of all rows
    log: bool = False  # f is the location of the response's logarithm
    noises: tuple[Distribution, ...] = ()  # J of them

    def __post_init__(self) -> None:
        if not self.noises:
            object.__setattr__(self, "noises", (Normal(),) * len(self.weight))

    @property
    def normal(self) -> bool:
        """Whether all noise is normal."""
        return all(noise.gaussian for noise in self.noises)

    @property
    def one_noise(self) -> bool:
        """Whether all components have the same noise."""
        return bool((self.sigma == self.sigma[0]).all()) and len(set(self.noises)) == 1

    @property
    def new(self) -> WeightedSum:
        """Distributions of a new response."""
        rows = zip(self.noises, self.mean, self.sigma, self.sd, strict=True)
        return WeightedSum(self.weight, tuple(plus_normal(*row, log=self.log) for row in rows))

    def given(self, j: int, f: Array, rows: Rows = slice(None)) -> LocationScale:
        """Distributions given f in some rows, under the noise of a component."""
        sigma = self.sigma[j]
        return LocationScale(self.noises[j], f, sigma if len(sigma) == 1 else sigma[rows], self.log)

    def take(self, rows: Rows) -> Nodes:
        """Some of the rows."""
        sigma = self.sigma if self.sigma.shape[1] == 1 else self.sigma[:, rows]
        return replace(self, mean=self.mean[:, rows], sd=self.sd[:, rows], sigma=sigma)

    def components(self, chosen: BoolArray) -> Nodes:
        """Some of the components."""
        noises = tuple(noise for noise, there in zip(self.noises, chosen, strict=True) if there)
        weight = self.weight[chosen] / self.weight[chosen].sum()
        return Nodes(weight, self.mean[chosen], self.sd[chosen], self.sigma[chosen], self.log, noises)

    def spread_over(self, m: int) -> Nodes:
        """The rows beside m values each, (J, n, 1)."""
        return replace(self, **{name: getattr(self, name)[:, :, None] for name in ("mean", "sd", "sigma")})

    # -- statistics of a question -------------------------------------------------------------------------------------

    def statistics(self, question: Question, level: float | None, *, se: bool) -> dict[str, Array]:
        """``estimate``, with ``se`` or a level also ``se``, with a level ``lower`` and ``upper``; (n,) each."""
        value = self.value(question)
        out = {"estimate": value}
        if se or level is not None:
            out["se"] = self.se(question)
        if level is not None:
            tail = 0.5 * (1.0 - level)
            low, high = self.quantiles(question, (tail, 1.0 - tail))
            out["lower"], out["upper"] = np.minimum(low, value), np.maximum(high, value)
        return out

    def band(self, question: Question, level: float) -> dict[str, Array]:
        """``mean``, and ``median``, ``lower`` and ``upper`` of the number given the parameters."""
        tail = 0.5 * (1.0 - level)
        median, lower, upper = self.quantiles(question, (0.5, tail, 1.0 - tail))
        return {"mean": self.value(question), "median": median, "lower": lower, "upper": upper}

    def value(self, question: Question) -> Array:
        """The number of a new response, (n,)."""
        if question.bounds is None:
            return question.number(self.new)
        return np.clip(average(self.weight, self.values(question)), *question.bounds)

    def values(self, question: Question) -> Array:
        """The number of a new response under every component, (J, n)."""
        if question.bounds is None or self._closed(question):
            return np.stack([question.number(part) for part in self.new.parts])
        return np.stack([self._moments(question, j)[0] for j in range(len(self.weight))])

    def se(self, question: Question) -> Array:
        """Standard deviation of the number given f and the noise, (n,)."""
        if question.linear:
            shift = question.pivots(self.noises, self.sigma)[0]
            if not np.isfinite(shift).all():
                return np.full(self.mean.shape[1], np.nan)
            moved = self.mean + shift
            if self.log and question.link == "log":
                return exponential_sd(self.weight, moved, self.sd)
            return total_sd(self.weight, moved, self.sd**2)
        if self._closed(question):
            mean, ends = self.values(question), question.at[:2]
            variance = smoothed_variance(self.mean, self.sd, self.sigma, *ends, log_time=self.log)
        else:
            side = np.where(question(self.new) > 0.0, -1.0, 1.0) if question.link == "logit" else 1.0
            moments = [self._moments(question, j, side) for j in range(len(self.weight))]
            mean, variance = (np.stack(values) for values in zip(*moments, strict=True))
        with np.errstate(over="ignore", invalid="ignore"):
            found = total_sd(self.weight, mean, variance)
        return np.where(np.isnan(found), np.inf, found) if self._closed(question) and self.log else found

    def quantiles(self, question: Question, orders: tuple[float, ...]) -> list[Array]:
        """Quantiles of the number given f and the noise, (n,) each."""
        from tobitgp.posterior.node_quantiles import quantiles

        return quantiles(self, question, orders)

    def _closed(self, question: Question) -> bool:
        """Whether it is the mean of a clipped normal or log-normal variable."""
        return question.bounds is not None and question.monotone and self.normal

    def _moments(self, question: Question, j: int, side: Array | float = 1.0) -> tuple[Array, Array]:
        """Mean and variance of the number under a component, (n,) each, by quadrature.

        Of a probability, where the side is -1, those of its complement.
        """
        m, s, noise = self.mean[j], self.sd[j], self.noises[j]
        sigma, side = np.broadcast_to(self.sigma[j], m.shape), np.broadcast_to(side, m.shape)
        probability = question.link == "logit"

        def number(f: Array, i: Rows) -> Array:
            y, asked = self.given(j, f, i), question.take(i)
            return expit(side[i] * asked(y)) if probability else (asked.fast_number if f.ndim > 1 else asked.number)(y)

        centre = number(m, slice(None))
        known = np.isfinite(centre)
        base = np.where(known, centre, 0.0)

        def values(x: Array, i: IntArray) -> Array:
            gap = np.where(known[i], number(m[i] + s[i] * x, i), 0.0) - base[i]
            bell = np.exp(-0.5 * x * x - HALF_LOG_2PI)
            return np.stack([gap * bell, gap * gap * bell])

        places = self._places(question, m, np.maximum(s, 1e-300))
        low, high = np.full_like(m, -BEYOND), np.full_like(m, BEYOND)
        if probability:
            low, high = reach(noise, self._places(question, m, sigma)[0], s / sigma, power=2.0)
        elif self.log:
            high = high + (
                2.0 * s if question.bounds is None else np.where(np.isposinf(question.bounds[1]), 2.0 * s, 0.0)
            )
        kinks = np.stack([np.where(np.abs(place) < 1e90, place, 0.0) for place in places or [0.0 * m]], axis=1)
        with np.errstate(under="ignore", over="ignore", invalid="ignore"):
            first, second = integrals(values, low, high, s / (sigma * noise.reach), kinks)
            variance = np.where(known, np.maximum(second - first * first, 0.0), np.nan)
            return np.where(known, base + first, centre), variance

    def _places(self, question: Question, m: Array, scale: Array) -> list[Array]:
        """Values that are asked about, in units of a scale, finite."""
        at = LocationScale(Normal(), m, scale, self.log)
        return [np.clip(at.standardise(value), -FAR, FAR) for value in question.at]
