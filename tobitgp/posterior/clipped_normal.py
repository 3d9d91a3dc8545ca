r"""How much the clipped mean of a normal or log-normal variable varies with a normal location; closed forms.

Arrays broadcast throughout: means and standard deviations (J, n), noise (J, 1), limits (n,).
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from tobitgp.distributions.location_scale import LocationScale
from tobitgp.distributions.normal import Normal
from tobitgp.numerics.log_arithmetic import weighted
from tobitgp.numerics.truncated import log_interval_mass
from tobitgp.typing import Array

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
