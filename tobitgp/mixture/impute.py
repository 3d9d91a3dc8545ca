r"""Mean and variance of a value given what is known of it, E[y | lower < y <= upper].

A row's posterior q(y, z) is a mixture, by responsibility, of the components' laws at their plug-in parameters inside
the interval, so that :math:`E y = \sum_k r_k m_k` and :math:`\mathrm{Var}\,y = \sum_k r_k (v_k + m_k^2) - (E y)^2`;
(MIX16) of the theory pages.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import gammainc, gammaincc, gammaln

from tobitgp.mixture.count_laws import PoissonLaw
from tobitgp.mixture.fitted import MixtureFit
from tobitgp.mixture.law import Law, Normal, Weibull
from tobitgp.mixture.predictive import log_masses
from tobitgp.numerics.truncated import between, lower_tail
from tobitgp.typing import Array


def impute(fit: MixtureFit, lower: Array, upper: Array) -> tuple[Array, Array]:
    """Mean and variance of the values of rows in (lower, upper].

    Shapes: lower, upper (n,); gives mean, variance (n,).
    """
    lower, upper = np.array(lower, dtype=np.float64), np.array(upper, dtype=np.float64)
    r = fit.responsibilities(lower, upper).T
    exact = lower == upper
    mean, variance = lower.copy(), np.zeros(len(lower))
    low, high, r = lower[~exact], upper[~exact], r[:, ~exact]
    law = fit.plug_in().law
    with np.errstate(all="ignore"):
        first, spread = MOMENTS[type(law)](law, low, high)
        mean[~exact] = _weighted(r, first)
        variance[~exact] = _weighted(r, spread + (first - mean[~exact]) ** 2)
    variance[np.isinf(mean)] = np.inf
    return mean, variance


def _weighted(r: Array, values: Array) -> Array:
    """Sums over components, of which those without a share may be infinite."""
    return np.asarray(np.where(r > 0.0, r * values, 0.0).sum(axis=0))


def _normal(law: Law, low: Array, high: Array) -> tuple[Array, Array]:
    """Means and variances (K, n) of normal and log-normal laws inside an interval."""
    assert isinstance(law, Normal)
    loc, scale = law.loc[:, None], law.scale[:, None]
    if not law.logarithm:
        _, first, second = _standard((low - loc) / scale, (high - loc) / scale, 0.5 * (high - low) / scale)
        return np.clip(loc + scale * first, low, high), scale**2 * np.maximum(second - first**2, 0.0)
    low = np.maximum(low, 0.0)
    a, b, half = (np.log(low) - loc) / scale, (np.log(high) - loc) / scale, 0.5 * np.log1p((high - low) / low) / scale
    log_mass = _standard(a, b, half)[0]
    first, second = (
        np.exp(r * loc + 0.5 * (r * scale) ** 2 + _standard(a - r * scale, b - r * scale, half)[0] - log_mass)
        for r in (1.0, 2.0)
    )
    first = np.clip(first, low, high)
    return first, np.clip(second - first**2, 0.0, (0.5 * (high - low)) ** 2)


def _standard(a: Array, b: Array, half: Array) -> tuple[Array, Array, Array]:
    """Log mass of (a, b] of half width ``half``, and means of X and its square, X standard normal inside."""
    log_mass, first, second = np.zeros_like(a), np.zeros_like(a), np.ones_like(a)
    left, right = np.isneginf(a) & np.isfinite(b), np.isfinite(a) & np.isposinf(b)
    for at, end, sign in ((left, b, 1.0), (right, a, -1.0)):
        z = sign * end[at]
        log_mass[at], h = lower_tail(z)
        first[at], second[at] = -sign * h, 1.0 - z * h
    both = np.isfinite(a) & np.isfinite(b)
    log_mass[both], first[both], second[both] = between(a[both], half[both])
    return log_mass, first, second


def _weibull(law: Law, low: Array, high: Array) -> tuple[Array, Array]:
    """Means and variances (K, n) of Weibull laws inside an interval, from incomplete gamma functions."""
    assert isinstance(law, Weibull)
    scale, shape = law.scale[:, None], law.shape[:, None]
    log_mass, low = log_masses(law, low, high), np.maximum(low, 0.0)
    A, B = (low / scale) ** shape, (high / scale) ** shape
    below = B < 1.0
    moments = []
    for r in (1.0, 2.0):
        s = 1.0 + r / shape
        part = np.where(below, gammainc(s, B) - gammainc(s, A), gammaincc(s, A) - gammaincc(s, B))
        moments.append(scale**r * np.exp(gammaln(s) + np.log(part) - log_mass))
    first, second = moments
    good = np.isfinite(first) & (first > low) & (first <= high) & (log_mass > -600.0)
    first = np.where(good, first, np.where(np.isfinite(high), 0.5 * (low + high), low))
    spread = np.where(np.isfinite(second), np.maximum(second - first**2, 0.0), np.inf)
    return first, np.where(good, spread, 0.0)


def _poisson(law: Law, low: Array, high: Array) -> tuple[Array, Array]:
    """Means and variances (K, n) of Poisson laws inside an interval, from E[y] and E[y (y - 1)]."""
    assert isinstance(law, PoissonLaw)
    rate, log_mass = law.rate[:, None], log_masses(law, low, high)
    first = rate * np.exp(log_masses(law, low - 1.0, high - 1.0) - log_mass)
    second = rate**2 * np.exp(log_masses(law, low - 2.0, high - 2.0) - log_mass)
    variance = np.maximum(second + first - first**2, 0.0)
    return np.clip(first, low + 1.0, high), variance


MOMENTS: dict[type, Callable[[Law, Array, Array], tuple[Array, Array]]] = {
    Normal: _normal,
    Weibull: _weibull,
    PoissonLaw: _poisson,
}
