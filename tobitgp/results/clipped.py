r"""What an instrument with limits shows on average: :math:`g(f, \sigma) = E\,\mathrm{clip}(y^*, l, u)`.

Here :math:`y^*` is :math:`N(f, \sigma^2)`, or its exponential for log-time families. g increases in f from l to u. The
Gaussian one is, with :math:`\psi(t) = t\Phi(t) + \phi(t)`,

.. math:: g(f, \sigma) = l + \sigma [\psi((f - l) / \sigma) - \psi((f - u) / \sigma)].

This is (PRE4) of the theory pages. To invert g where it is flat, :func:`logit` gives ``log(g - l) - log(u - g)`` with
relative precision in both tails. Arrays broadcast throughout: values of f (J, n), noise (J, 1), limits (n,).
"""

from __future__ import annotations

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr

from tobitgp.numerics.log_arithmetic import log_difference, weighted
from tobitgp.numerics.normal import mills
from tobitgp.numerics.truncated import log_interval_mass
from tobitgp.typing import Array

_HALF_LOG_2PI = 0.5 * float(np.log(2.0 * np.pi))
_FAR = 1e100
_TERMS = 32


def clipped_mean(mean: Array, sd: Array, lower: Array, upper: Array, *, log_time: bool) -> Array:
    """Mean of a clipped normal or log-normal variable.

    Shapes: mean, sd (J, n), lower, upper (n,); gives (J, n). W. H. Greene, *Econometric Analysis*, theorem 19.3
    (moments of the censored normal variable).
    """
    with np.errstate(over="ignore"):
        if log_time:
            a, b = _log_ends(mean, sd, lower, upper)
            inside = np.exp(mean + 0.5 * sd * sd + _log_mass(a - sd, b - sd))
            value = weighted(np.maximum(lower, 0.0), ndtr(a)) + weighted(upper, ndtr(-b)) + inside
        else:
            t_l, t_u = _standardise(mean, sd, lower), _standardise(mean, sd, upper)
            from_lower = np.where(np.isfinite(lower), lower, 0.0) + sd * (_psi(t_l) - _psi(t_u))
            from_upper = np.where(np.isfinite(upper), upper - sd * _psi(-t_u), mean)
            value = np.where(np.isfinite(lower), from_lower, from_upper)
    return np.clip(value, lower, upper)


def clipped_variance(mean: Array, sd: Array, lower: Array, upper: Array, *, log_time: bool) -> Array:
    """Variance of a clipped normal or log-normal variable, shapes as in :func:`clipped_mean`."""
    with np.errstate(over="ignore", invalid="ignore"):
        if log_time:
            a, b = _log_ends(mean, sd, lower, upper)
            low = np.maximum(lower, 0.0)
            square = weighted(low * low, ndtr(a)) + weighted(upper * upper, ndtr(-b))
            square = square + np.exp(2.0 * mean + 2.0 * sd * sd + _log_mass(a - 2.0 * sd, b - 2.0 * sd))
            return np.maximum(square - clipped_mean(mean, sd, lower, upper, log_time=True) ** 2, 0.0)
        a, b = -_standardise(mean, sd, lower), -_standardise(mean, sd, upper)
        phi_a, phi_b, P_l, P_u = _phi(a), _phi(b), ndtr(a), ndtr(-b)
        first = weighted(a, P_l) + weighted(b, P_u) - (phi_b - phi_a)
        second = weighted(a * a, P_l) + weighted(b * b, P_u) + (1.0 - P_l - P_u) - (b * phi_b - a * phi_a)
        return np.asarray(sd * sd * np.maximum(second - first * first, 0.0))


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


def logit(f: Array, sigma: Array, lower: Array, upper: Array, *, log_time: bool) -> tuple[Array, Array]:
    """``log(g - l) - log(u - g)`` and its derivative in f; the part of an infinite limit is left out.

    Shapes: f (J, n), sigma (J, 1), lower, upper (n,); gives value, slope (J, n).
    """
    has_lower, has_upper = log_time or bool(np.isfinite(lower[:1]).all()), bool(np.isfinite(upper[:1]).all())
    value, slope = np.zeros_like(f), np.zeros_like(f)
    with np.errstate(all="ignore"):
        if log_time:
            lower, upper = np.log(np.maximum(lower, 0.0)), np.log(upper)
            log_slope = f + 0.5 * sigma * sigma
            a, b = (lower - f) / sigma - sigma, (upper - f) / sigma - sigma
        else:
            log_slope = np.zeros_like(f)
            a, b = (lower - f) / sigma, (upper - f) / sigma
        excess = _log_call if log_time else _log_excess
        log_slope = log_slope + _log_mass(a, b)
        for side, present in ((1.0, has_lower), (-1.0, has_upper)):
            if present:
                near, far = (lower, upper) if side > 0 else (upper, lower)
                part = log_difference(excess(f, sigma, near, side), excess(f, sigma, far, side))
                value += side * part
                slope += np.exp(log_slope - part)
    return value, slope


def _log_excess(f: Array, sigma: Array, limit: Array, side: float) -> Array:
    """Log of ``E max(side (y* - limit), 0)``: ``log(sigma psi(t))``, ``psi = Phi(t) (t + h(t))``."""
    t = np.clip(side * (f - limit) / sigma, -_FAR, _FAR)
    return np.where(t > -_FAR, np.log(sigma) + log_ndtr(t) + np.log(mills(t)[1]), -np.inf)


def _log_call(f: Array, sigma: Array, log_limit: Array, side: float) -> Array:
    """Log of ``E max(side (exp y* - limit), 0)``, by Mills ratios where the difference of two terms would cancel."""
    a = (log_limit - f) / sigma
    t = side * a
    ratios = _ratio(t - sigma) - _ratio(t) if side > 0 else _ratio(t) - _ratio(t + sigma)
    tail = np.log(ratios) - 0.5 * a * a - _HALF_LOG_2PI
    lift = np.exp(0.5 * sigma * sigma - a * sigma)
    plain = np.log(side * (lift * ndtr(side * sigma - t) - ndtr(-t)))
    value = log_limit + np.where(t > 0.0, tail, plain)
    edge = f + 0.5 * sigma * sigma if side > 0 else np.full_like(f, -np.inf)
    none = np.full_like(f, -np.inf) if side > 0 else np.full_like(f, np.inf)
    return np.where(np.isneginf(log_limit), edge, np.where(np.isposinf(log_limit), none, value))


def _ratio(x: Array) -> Array:
    """Mills ratio ``Phi(-x) / phi(x)``."""
    return np.asarray(np.sqrt(0.5 * np.pi) * erfcx(x / np.sqrt(2.0)))


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


def _psi(t: Array) -> Array:
    return np.asarray(t * ndtr(t) + _phi(t))


def _phi(t: Array) -> Array:
    return np.asarray(np.exp(-0.5 * t * t - _HALF_LOG_2PI))
