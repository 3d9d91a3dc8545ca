"""The scales on which a fit predicts: each a point value, a standard deviation and quantiles.

A scale is a quantity ``g(f, sigma)`` that rises with f: a function of the row's latent f and of the noise, both of
which the posterior leaves uncertain, the noise through the components of the mixture. Its standard deviation and
quantiles are those of ``g(f, sigma)`` under the mixture; they never include the noise of a new observation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from tobitgp.results.clipped import clipped_mean, logit, smoothed_variance
from tobitgp.results.mixture import Mixture, average, normal_quantile, solve_quantile, total_sd
from tobitgp.typing import Array, IntArray

_ROOT_2PI = float(np.sqrt(2.0 * np.pi))
_NEWTON_STEPS = 50


@dataclass(frozen=True, slots=True)
class Scale:
    """A row of the registry.

    Attributes
    ----------
    point : callable
        ``mixture -> (n,)``: the prediction itself.
    sd : callable
        ``mixture -> (n,)``: standard deviation of the quantity.
    quantile : callable
        ``mixture, p -> (n,)``: quantile of the quantity.
    needs_limits : bool
        The mixture must hold the limits of the instrument.
    """

    point: Callable[[Mixture], Array]
    sd: Callable[[Mixture], Array]
    quantile: Callable[[Mixture, float], Array]
    needs_limits: bool = False


def latent_mean(q: Mixture) -> Array:
    """``E f``."""
    return average(q.weight, q.mean)


def latent_sd(q: Mixture) -> Array:
    """``sd f``."""
    return total_sd(q.weight, q.mean, q.sd * q.sd)


def latent_quantile(q: Mixture, p: float) -> Array:
    """Quantile of the mixture of normals that f follows."""
    return normal_quantile(p, q.weight, q.mean, q.sd)


def median_point(q: Mixture) -> Array:
    """Median of a new ``y*``: of the mixture with the noise in it; its exponential for log-time families."""
    sd = np.sqrt(q.sd * q.sd + np.square(q.sigma)[:, None])
    return _response(q, normal_quantile(0.5, q.weight, q.mean, sd))


def median_sd(q: Mixture) -> Array:
    """``sd f``, or ``sd exp(f)`` for log-time families: the median of ``y*`` given f."""
    return _exponential_sd(q, 0.0) if q.log_time else latent_sd(q)


def median_quantile(q: Mixture, p: float) -> Array:
    """Quantile of f, or its exponential for log-time families."""
    return _response(q, latent_quantile(q, p))


def uncensored_mean(q: Mixture) -> Array:
    """``E y*``: ``E f``, or ``E exp(f + sigma^2 / 2)`` for log-time families."""
    if not q.log_time:
        return latent_mean(q)
    with np.errstate(over="ignore"):
        return average(q.weight, np.exp(q.mean + 0.5 * (q.sd * q.sd + np.square(q.sigma)[:, None])))


def uncensored_sd(q: Mixture) -> Array:
    """Standard deviation of ``E[y* | f, sigma]``."""
    return _exponential_sd(q, 0.5) if q.log_time else latent_sd(q)


def uncensored_quantile(q: Mixture, p: float) -> Array:
    """Quantile of ``E[y* | f, sigma]``: a mixture of (log-)normals again."""
    if not q.log_time:
        return latent_quantile(q, p)
    with np.errstate(over="ignore"):
        return np.exp(normal_quantile(p, q.weight, q.mean + 0.5 * np.square(q.sigma)[:, None], q.sd))


def observed_mean(q: Mixture) -> Array:
    """``E y``, the response as the instrument shows it: clipped at the limits."""
    lower, upper = _limits(q)
    sd = np.sqrt(q.sd * q.sd + np.square(q.sigma)[:, None])
    value = average(q.weight, clipped_mean(q.mean, sd, lower, upper, log_time=q.log_time))
    return np.clip(value, lower, upper)


def observed_sd(q: Mixture) -> Array:
    """Standard deviation of ``E[y | f, sigma]``."""
    lower, upper = _limits(q)
    sigma = q.sigma[:, None]
    sd = np.sqrt(q.sd * q.sd + sigma * sigma)
    mean = clipped_mean(q.mean, sd, lower, upper, log_time=q.log_time)
    return total_sd(q.weight, mean, smoothed_variance(q.mean, q.sd, sigma, lower, upper, log_time=q.log_time))


def observed_quantile(q: Mixture, p: float) -> Array:
    """Quantile of ``E[y | f, sigma]``: a mixture of monotone functions of normals, one for each noise level."""
    lower, upper = _limits(q)
    one = len(q.sigma) == 1 or bool(np.ptp(q.sigma) == 0.0)
    sigma = float(np.exp(q.weight @ np.log(q.sigma)))
    f = latent_quantile(q, p)
    free = np.isinf(upper) & (lower <= 0.0 if q.log_time else np.isinf(lower))
    if not one:
        for rows in _by_limits(lower, upper, q.log_time):
            f[rows] = _equivalent_quantile(q, p, rows, sigma, f[rows])
    value = clipped_mean(f[None], np.full((1, 1), sigma), lower, upper, log_time=q.log_time)[0]
    return np.where(free, uncensored_quantile(q, p), value) if free.any() else value


def _equivalent_quantile(q: Mixture, p: float, rows: IntArray, sigma: float, start: Array) -> Array:
    """The f at which noise ``sigma`` shows the quantile asked for.

    ``x`` and ``f_j`` are equivalent when ``g(f_j, sigma_j) = g(x, sigma)``; then the cdf of the quantity at
    ``g(x, sigma)`` is ``sum weight_j Phi((f_j - mean_j) / sd_j)``.
    """
    all_lower, all_upper = _limits(q)
    mean, sd = q.mean[:, rows], np.maximum(q.sd[:, rows], 1e-300)
    lower, upper, noise = all_lower[rows], all_upper[rows], q.sigma[:, None]
    tolerance = 1e-7 * sd
    f, ratio, last = np.repeat(start[None], len(noise), axis=0), np.ones_like(mean), start

    def cdf(x: Array) -> tuple[Array, Array]:
        nonlocal f, ratio, last
        aim, rise = logit(x[None], np.full((1, 1), sigma), lower, upper, log_time=q.log_time)
        f = f + ratio * (x - last)
        for _ in range(_NEWTON_STEPS):
            value, slope = logit(f, noise, lower, upper, log_time=q.log_time)
            step = (aim - value) / slope
            f = f + np.where(np.isfinite(step), step, 0.0)
            if not (np.abs(step) > tolerance).any():
                break
        ratio, last = np.clip(rise / slope, 0.01, 100.0), x
        u = (f - mean) / sd
        return q.weight @ ndtr(u), q.weight @ (np.exp(-0.5 * u * u) / sd * ratio) / _ROOT_2PI

    reach = 10.0 * (np.ptp(mean, axis=0) + 10.0 * sd.max(axis=0) + q.sigma.max())
    return solve_quantile(cdf, p, low=start - reach, high=start + reach, start=start)


def _by_limits(lower: Array, upper: Array, log_time: bool) -> list[IntArray]:
    """Positions of the rows with a lower, an upper, or both limits."""
    low, high = lower > 0.0 if log_time else np.isfinite(lower), np.isfinite(upper)
    groups = [np.flatnonzero(low & ~high), np.flatnonzero(high & ~low), np.flatnonzero(low & high)]
    return [rows for rows in groups if len(rows)]


def _limits(q: Mixture) -> tuple[Array, Array]:
    assert q.lower is not None
    assert q.upper is not None
    return q.lower, q.upper


def _response(q: Mixture, f: Array) -> Array:
    with np.errstate(over="ignore"):
        return np.exp(f) if q.log_time else f


def _exponential_sd(q: Mixture, share: float) -> Array:
    """Standard deviation of ``exp(f + share sigma^2)``."""
    variance = q.sd * q.sd
    with np.errstate(over="ignore"):
        mean = np.exp(q.mean + share * np.square(q.sigma)[:, None] + 0.5 * variance)
        return total_sd(q.weight, mean, mean * mean * np.expm1(variance))


SCALES: dict[str, Scale] = {
    "latent": Scale(latent_mean, latent_sd, latent_quantile),
    "median": Scale(median_point, median_sd, median_quantile),
    "uncensored": Scale(uncensored_mean, uncensored_sd, uncensored_quantile),
    "observed": Scale(observed_mean, observed_sd, observed_quantile, needs_limits=True),
}
