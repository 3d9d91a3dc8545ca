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

from tobitgp.distributions.base import Distribution
from tobitgp.regression.scales import Predictor, uncensored
from tobitgp.results import bounded, predictive
from tobitgp.results.clipped import clipped_mean, logit, smoothed_variance
from tobitgp.results.noisy import clipped_moments, shown_quantile
from tobitgp.results.normals import Mixture, average, exponential_sd, normal_quantile, solve_quantile, total_sd
from tobitgp.typing import Array, BoolArray, IntArray

_ROOT_2PI = float(np.sqrt(2.0 * np.pi))
_NEWTON_STEPS = 50


@dataclass(frozen=True, slots=True)
class Scale:
    """A row of the registry."""

    point: Callable[[Mixture], Array]  # ``mixture -> (n,)``: the prediction itself
    sd: Callable[[Mixture], Array]  # ``mixture -> (n,)``: standard deviation of the quantity
    quantile: Callable[[Mixture, float], Array]  # ``mixture, p -> (n,)``: quantile of the quantity
    needs_limits: bool = False  # the mixture must hold the limits of the instrument


def latent_mean(q: Mixture) -> Array:
    """``E f``."""
    return average(q.weight, q.mean)


def latent_sd(q: Mixture) -> Array:
    """``sd f``."""
    return total_sd(q.weight, q.mean, q.sd * q.sd)


def latent_quantile(q: Mixture, p: float) -> Array:
    """Quantile of the mixture of normals that f follows."""
    return normal_quantile(p, q.weight, q.mean, q.sd)


def shifted_mean(q: Mixture, shift: Array) -> Array:
    """Mean of ``f + shift_j``, or of its exponential for log-time families."""
    moved = q.mean + shift[:, None]
    if not q.log_time:
        return average(q.weight, moved)
    with np.errstate(over="ignore"):
        return average(q.weight, np.exp(moved + 0.5 * q.sd * q.sd))


def shifted_sd(q: Mixture, shift: Array) -> Array:
    """Standard deviation of ``f + shift_j``, or of its exponential; NaN where a shift is not finite."""
    moved = q.mean + shift[:, None]
    if not np.isfinite(shift).all():
        return np.full(q.mean.shape[1], np.nan)
    if not q.log_time:
        return total_sd(q.weight, moved, q.sd * q.sd)
    return exponential_sd(q.weight, moved, q.sd)


def shifted_quantile(q: Mixture, shift: Array, p: float) -> Array:
    """Quantile of ``f + shift_j``, or of its exponential; components with an infinite shift lie above all others."""
    finite = np.isfinite(shift)
    share = float(q.weight[finite].sum()) if not finite.all() else 1.0
    if p >= share or np.isnan(shift).any():
        return np.full(q.mean.shape[1], np.nan if np.isnan(shift).any() else np.inf)
    moved = q.mean[finite] + shift[finite, None]
    return q.response(normal_quantile(p / share, q.weight[finite] / share, moved, q.sd[finite]))


def median_point(q: Mixture) -> Array:
    """Median of a new ``y*``: of the mixture with the noise in it; its exponential for log-time families."""
    return q.response(predictive.quantile(q, 0.5))


def median_sd(q: Mixture) -> Array:
    """Standard deviation of the median of ``y*`` given f: of f, or of ``exp(f)``, where the law's median is 0."""
    return shifted_sd(q, predictive.noise_quantiles(q, 0.5))


def median_quantile(q: Mixture, p: float) -> Array:
    """Quantile of the median of ``y*`` given f."""
    return shifted_quantile(q, predictive.noise_quantiles(q, 0.5), p)


def uncensored_mean(q: Mixture) -> Array:
    """``E y*``: infinite, or NaN, where the law of the noise has no mean."""
    return shifted_mean(q, mean_shift(q))


def uncensored_sd(q: Mixture) -> Array:
    """Standard deviation of ``E[y* | f, sigma]``."""
    return shifted_sd(q, mean_shift(q))


def uncensored_quantile(q: Mixture, p: float) -> Array:
    """Quantile of ``E[y* | f, sigma]``: a mixture of (log-)normals again."""
    return shifted_quantile(q, mean_shift(q), p)


def mean_shift(q: Mixture) -> Array:
    """What the noise adds to f in ``E[y* | f, sigma]``, or to its logarithm for log-time families; (J,)."""
    if not q.log_time:
        return q.sigma * np.array([law.mean for law in q.laws])
    if q.normal:
        return 0.5 * np.square(q.sigma)
    one = np.zeros(1)
    rows = [Predictor(one, np.log([sigma]), law, True) for sigma, law in zip(q.sigma, q.laws, strict=True)]
    return np.log([float(uncensored(row).value[0]) for row in rows])


def observed_mean(q: Mixture) -> Array:
    """``E y``, the response as the instrument shows it: inside the window, clipped at the limits."""
    lower, upper = _limits(q)
    if q.normal and not q.truncated:
        mean = clipped_mean(
            q.mean, np.sqrt(q.sd * q.sd + np.square(q.sigma)[:, None]), lower, upper, log_time=q.log_time
        )
    else:
        mean = clipped_moments(q)[0]
    return np.clip(average(q.weight, mean), lower, upper)


def observed_sd(q: Mixture) -> Array:
    """Standard deviation of ``E[y | f, sigma]``."""
    lower, upper = _limits(q)
    if q.truncated or not q.normal:
        with np.errstate(invalid="ignore"):
            return total_sd(q.weight, *clipped_moments(q))
    sigma = q.sigma[:, None]
    sd = np.sqrt(q.sd * q.sd + sigma * sigma)
    mean = clipped_mean(q.mean, sd, lower, upper, log_time=q.log_time)
    variance = smoothed_variance(q.mean, q.sd, sigma, lower, upper, log_time=q.log_time)
    with np.errstate(over="ignore", invalid="ignore"):
        found = total_sd(q.weight, mean, variance)
    return np.where(np.isnan(found), np.inf, found) if q.log_time else found


def observed_quantile(q: Mixture, p: float) -> Array:
    """Quantile of ``E[y | f, sigma]``: a mixture of functions of normals, monotone ones where there is no window."""
    if q.truncated:
        return shown_quantile(q, p)
    lower, upper = _limits(q)
    below = np.isneginf(lower) & (not q.log_time)
    lacking = ~np.isfinite(mean_shift(q))
    open_ended = (below | np.isposinf(upper)) if lacking.any() else np.zeros(len(lower), dtype=np.bool_)
    out = np.empty(len(lower))
    if (~open_ended).any():
        out[~open_ended] = _finite_quantile(q.take(~open_ended), p)
    share = float(q.weight[lacking].sum())
    for sign, rows in ((-1.0, open_ended & below), (1.0, open_ended & ~below)):
        if rows.any():
            out[rows] = _partly_infinite_quantile(q.take(rows), p, ~lacking, share, sign)
    out[np.isinf(lower) & np.isposinf(upper) & open_ended & (not q.log_time)] = np.nan
    return out


def _partly_infinite_quantile(q: Mixture, p: float, finite: BoolArray, share: float, sign: float) -> Array:
    """Quantile where components that hold a share of the weight are infinite, of one sign."""
    order = p if sign > 0.0 else p - share
    if not 0.0 < order < 1.0 - share:
        return np.full(q.mean.shape[1], sign * np.inf)
    return _finite_quantile(q.components(finite), order / (1.0 - share))


def _finite_quantile(q: Mixture, p: float) -> Array:
    lower, upper = _limits(q)
    sigma, law = float(np.exp(q.weight @ np.log(q.sigma))), q.laws[int(np.argmax(q.weight))]
    f = latent_quantile(q, p)
    free = np.isinf(upper) & (lower <= 0.0 if q.log_time else np.isinf(lower))
    if not q.one_noise:
        for rows in _by_limits(lower, upper, q.log_time):
            f[rows] = _equivalent_quantile(q, p, rows, sigma, law, f[rows])
    if q.normal:
        value = clipped_mean(f[None], np.full((1, 1), sigma), lower, upper, log_time=q.log_time)[0]
    else:
        value = bounded.clipped_mean(law, f, np.asarray(sigma), lower, upper, log_time=q.log_time)
    return np.where(free, uncensored_quantile(q, p), value) if free.any() else value


def _equivalent_quantile(q: Mixture, p: float, rows: IntArray, sigma: float, law: Distribution, start: Array) -> Array:
    """The f at which noise of one law and scale shows the quantile asked for.

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
        aim, rise = _logit(x[None], np.full((1, 1), sigma), (law,), lower, upper, log_time=q.log_time)
        f = f + ratio * (x - last)
        for _ in range(_NEWTON_STEPS):
            value, slope = _logit(f, noise, q.laws, lower, upper, log_time=q.log_time)
            step = (aim - value) / slope
            f = f + np.where(np.isfinite(step), step, 0.0)
            if not (np.abs(step) > tolerance).any():
                break
        ratio, last = np.clip(rise / slope, 0.01, 100.0), x
        u = (f - mean) / sd
        return q.weight @ ndtr(u), q.weight @ (np.exp(-0.5 * u * u) / sd * ratio) / _ROOT_2PI

    reach = 10.0 * (np.ptp(mean, axis=0) + 10.0 * sd.max(axis=0) + q.sigma.max())
    return solve_quantile(cdf, p, low=start - reach, high=start + reach, start=start)


def _logit(
    f: Array, sigma: Array, laws: tuple[Distribution, ...], lower: Array, upper: Array, *, log_time: bool
) -> tuple[Array, Array]:
    """``log(g - l) - log(u - g)`` and its derivative in f, (J, n) each; see `clipped.logit`."""
    if all(law.gaussian for law in laws):
        return logit(f, sigma, lower, upper, log_time=log_time)
    pairs = [
        bounded.logit(law, row, noise, lower, upper, log_time=log_time)
        for law, row, noise in zip(laws, f, sigma, strict=True)
    ]
    return np.stack([value for value, _ in pairs]), np.stack([slope for _, slope in pairs])


def _by_limits(lower: Array, upper: Array, log_time: bool) -> list[IntArray]:
    """Positions of the rows with a lower, an upper, or both limits."""
    low, high = lower > 0.0 if log_time else np.isfinite(lower), np.isfinite(upper)
    groups = [np.flatnonzero(low & ~high), np.flatnonzero(high & ~low), np.flatnonzero(low & high)]
    return [rows for rows in groups if len(rows)]


def _limits(q: Mixture) -> tuple[Array, Array]:
    assert q.lower is not None
    assert q.upper is not None
    return q.lower, q.upper


SCALES: dict[str, Scale] = {
    "latent": Scale(latent_mean, latent_sd, latent_quantile),
    "median": Scale(median_point, median_sd, median_quantile),
    "uncensored": Scale(uncensored_mean, uncensored_sd, uncensored_quantile),
    "observed": Scale(observed_mean, observed_sd, observed_quantile, needs_limits=True),
}
