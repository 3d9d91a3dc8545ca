r"""The law of a new response where its location is uncertain: noise of any law, convolved with a normal.

On the scale of the noise :math:`y^* = tX + Z`, with :math:`X \sim N(0, 1)` the uncertainty of f, t its standard
deviation over sigma, and Z of the law. Then

.. math:: P(a < y^* \le b) = E\,P(a - tX < Z \le b - tX),

an integral over x that has features as wide as those of the law, over t, where an end meets the middle of the law.
Probabilities have relative precision however small they are; that takes the range of x to where the integrand is
largest, on the way from 0 to that place.
"""

from __future__ import annotations

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri, ndtri_exp

from tobitgp.distributions import intervals
from tobitgp.distributions.base import Distribution
from tobitgp.numerics.quadrature import Function, integrals, log_integrals
from tobitgp.results.normals import Mixture, normal_quantile, solve_quantile
from tobitgp.typing import Array, IntArray

HALF_LOG_2PI = 0.5 * float(np.log(2.0 * np.pi))
BEYOND, _FARTHEST = 9.0, 38.0


def log_mass(
    law: Distribution, a: Array, b: Array, t: Array, entry: Array | None = None, exit: Array | None = None
) -> Array:
    """Log probability of ``a < tX + Z <= b``, within a window where one is given.

    Shapes: a, b, t, entry, exit (n,); gives (n,).
    """
    ends = [a, b] if entry is None or exit is None else [a, b, entry, exit]

    def values(x: Array, i: IntArray) -> Array:
        shift = t[i] * x
        inside = intervals.log_mass(law, a[i] - shift, b[i] - shift)
        if entry is not None and exit is not None:
            inside = inside - intervals.log_mass(law, entry[i] - shift, exit[i] - shift)
        return (inside - 0.5 * x * x - HALF_LOG_2PI)[None]

    near = np.where(a > 0.0, a, np.minimum(b, 0.0))
    kinks = np.stack([np.where(np.isfinite(end), end, near) for end in ends], axis=1)
    return _log_integral(law, values, near, kinks, t)


def log_tail(law: Distribution, z: Array, t: Array, *, upper: bool) -> Array:
    """Log probability that ``tX + Z`` lies above z, or at most there; shapes as in :func:`log_mass`."""
    tail = law.log_sf if upper else law.log_cdf

    def values(x: Array, i: IntArray) -> Array:
        return (tail(z[i] - t[i] * x) - 0.5 * x * x - HALF_LOG_2PI)[None]

    near = np.maximum(z, 0.0) if upper else np.minimum(z, 0.0)
    return _log_integral(law, values, near, z[:, None], t)


def log_density(law: Distribution, z: Array, t: Array, entry: Array | None = None, exit: Array | None = None) -> Array:
    """Log density of ``tX + Z`` at z; shapes and the window as in :func:`log_mass`."""
    ends = [z] if entry is None or exit is None else [z, entry, exit]

    def values(x: Array, i: IntArray) -> Array:
        shift = t[i] * x
        value = law.log_density(z[i] - shift, 0)[0]
        if entry is not None and exit is not None:
            value = value - intervals.log_mass(law, entry[i] - shift, exit[i] - shift)
        return (value - 0.5 * x * x - HALF_LOG_2PI)[None]

    kinks = np.stack([np.where(np.isfinite(end), end, z) for end in ends], axis=1)
    return _log_integral(law, values, z, kinks, t)


def cdf(law: Distribution, z: Array, t: Array) -> tuple[Array, Array]:
    """Probability that ``tX + Z`` is at most z, and its density there, (n,) each."""
    log_cdf = law.log_cdf

    def values(x: Array, i: IntArray) -> Array:
        at = z[i] - t[i] * x
        bell = -0.5 * x * x - HALF_LOG_2PI
        return np.exp(np.stack([log_cdf(at) + bell, law.log_density(at, 0)[0] + bell]))

    low, high = reach(law, z, t)
    with np.errstate(under="ignore"):
        both = integrals(values, low, high, t / law.reach, (z / np.maximum(t, 1e-300))[:, None])
    return both[0], both[1]


def quantile(q: Mixture, p: float) -> Array:
    """Quantile of order p of ``f + sigma Z`` under a mixture, (n,), on the scale of f."""
    if q.normal:
        return normal_quantile(p, q.weight, q.mean, np.hypot(q.sd, q.sigma[:, None]))
    return solved_quantile(q, p)


def solved_quantile(q: Mixture, p: float) -> Array:
    """What :func:`quantile` is for noise of any law, by Newton's method."""
    sigma, t = q.sigma[:, None], q.sd / q.sigma[:, None]

    def mixed(x: Array) -> tuple[Array, Array]:
        pairs = [cdf(law, z, s) for law, z, s in zip(q.laws, (x - q.mean) / sigma, t, strict=True)]
        F, density = (np.stack(values) for values in zip(*pairs, strict=True))
        return q.weight @ F, q.weight @ (density / sigma)

    low, centre, middle, high = (noise_quantiles(q, order)[:, None] for order in (0.5 * p, 0.5, p, 0.5 * (1.0 + p)))
    ends = (
        (q.mean + low + ndtri(0.5 * p) * q.sd).min(axis=0),
        (q.mean + high + ndtri(0.5 * (1.0 + p)) * q.sd).max(axis=0),
    )
    away = np.hypot(middle - centre, ndtri(p) * q.sd)
    start = q.weight @ (q.mean + centre + (away if p > 0.5 else -away))
    return solve_quantile(mixed, p, low=ends[0], high=ends[1], start=start, settled=1e-7)


def noise_quantiles(q: Mixture, p: float) -> Array:
    """Quantile of order p of the noise of every component, (J,)."""
    return q.sigma * np.array([float(law.ppf(np.array(p))) for law in q.laws])


def probability_quantile(
    laws: tuple[Distribution, ...], p: float, weight: Array, mean: Array, sd: Array, *, upper: bool
) -> Array:
    """Quantile of the probability that noise lies above z, or at most there, where z is uncertain.

    Shapes: weight (J,), mean, sd (J, n); gives (n,).
    """
    return np.exp(log_probability_quantile(laws, p, weight, mean, sd, upper=upper))


def log_probability_quantile(
    laws: tuple[Distribution, ...], p: float, weight: Array, mean: Array, sd: Array, *, upper: bool
) -> Array:
    """Logarithm of :func:`probability_quantile`, which keeps its precision where that underflows."""
    order = 1.0 - p if upper else p
    if len(set(laws)) == 1:
        z = normal_quantile(order, weight, mean, sd)
        return laws[0].log_sf(z) if upper else laws[0].log_cdf(z)
    sd = np.maximum(sd, 1e-300)

    def mixed(score: Array) -> tuple[Array, Array]:
        tail, side = ndtr(-np.abs(score)), np.sign(score)
        z = np.stack([-side * law.ppf(tail) for law in laws])
        log_f = np.stack([law.log_density(row, 0)[0] for law, row in zip(laws, z, strict=True)])
        u = (z - mean) / sd
        bell = np.exp(-0.5 * u * u - 0.5 * score * score - 2.0 * HALF_LOG_2PI - log_f)
        return weight @ ndtr(u), weight @ (bell / sd)

    at = np.stack([ndtri_exp(law.log_cdf(-np.abs(m))) for law, m in zip(laws, mean, strict=True)])
    start = np.clip(weight @ (-np.sign(mean) * at), -_FARTHEST + 1.0, _FARTHEST - 1.0)
    far = np.full_like(start, _FARTHEST - 1.0)
    score = solve_quantile(mixed, order, low=-far, high=far, start=start, settled=1e-8)
    return np.asarray(log_ndtr(-score if upper else score))


def _log_integral(law: Distribution, values: Function, near: Array, kinks: Array, t: Array) -> Array:
    low, high = reach(law, near, t)
    return log_integrals(values, low, high, t / law.reach, kinks / np.maximum(t, 1e-300)[:, None])[0]


def reach(law: Distribution, near: Array, t: Array, power: float = 1.0) -> tuple[Array, Array]:
    """Range of x: from 0 to where the end ``near`` meets the middle of the law, as far as the law's slope leads.

    With ``power`` the integrand holds such a power of the law's tail.
    """
    slope = law.steepness(near)
    with np.errstate(over="ignore"):
        size = np.minimum(np.abs(near) / np.maximum(t, 1e-300), np.minimum(power * t * slope, _FARTHEST))
    centre = np.sign(near) * size
    return np.minimum(centre, 0.0) - BEYOND, np.maximum(centre, 0.0) + BEYOND
