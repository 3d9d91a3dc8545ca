"""How quantities given f vary with f, under noise of any law: by quadrature, where normal noise has closed forms."""

from __future__ import annotations

import numpy as np

from tobitgp.likelihoods.laws import Law
from tobitgp.numerics.bells import integrals
from tobitgp.results import bounded
from tobitgp.results.normals import Mixture
from tobitgp.results.predictive import BEYOND, HALF_LOG_2PI
from tobitgp.typing import Array, IntArray


def clipped_moments(q: Mixture) -> tuple[Array, Array]:
    r"""Mean and variance of :math:`g(f, \sigma) = E\,\mathrm{clip}(y^*, l, u)` in every component.

    Parameters
    ----------
    q : Mixture
        With limits.

    Returns
    -------
    mean, variance : (J, n) array
        Where g is infinite the mean is, and the variance NaN.

    Examples
    --------
    >>> from tobitgp.likelihoods.laws import Logistic
    >>> one = np.ones((1, 1))
    >>> q = Mixture(np.ones(1), 0.0 * one, one, np.ones(1), False, np.full(1, -2.0), np.full(1, 2.0), (Logistic(),))
    >>> [abs(x).round(6) for x in clipped_moments(q)]
    [array([[0.]]), array([[0.477617]])]
    """
    pairs = [_clipped_moments(q, j) for j in range(len(q.laws))]
    return np.stack([mean for mean, _ in pairs]), np.stack([variance for _, variance in pairs])


def _clipped_moments(q: Mixture, j: int) -> tuple[Array, Array]:
    assert q.lower is not None
    assert q.upper is not None
    law, m, s, sigma, lower, upper = q.laws[j], q.mean[j], q.sd[j], q.sigma[j], q.lower, q.upper
    centre = bounded.clipped_mean(law, m, sigma, lower, upper, log_time=q.log_time)
    known = np.isfinite(centre)
    base = np.where(known, centre, 0.0)

    def values(x: Array, i: IntArray) -> Array:
        f = m[i] + s[i] * x
        g = bounded.clipped_mean(law, f, np.asarray(sigma), lower[i], upper[i], log_time=q.log_time)
        gap = np.where(known[i], g, 0.0) - base[i]
        bell = np.exp(-0.5 * x * x - HALF_LOG_2PI)
        return np.stack([gap * bell, gap * gap * bell])

    limits = bounded.ends(m, np.maximum(s, 1e-300), lower, upper, log_time=q.log_time)
    kinks = np.stack([np.where(np.abs(end) < 1e90, end, 0.0) for end in limits], axis=1)
    grows = 2.0 * s if q.log_time else np.zeros_like(s)
    high = BEYOND + np.where(np.isposinf(upper), grows, 0.0)
    with np.errstate(under="ignore", over="ignore", invalid="ignore"):
        first, second = integrals(values, np.full_like(m, -BEYOND), high, s / (sigma * law.reach), kinks)
        mean = np.where(known, base + first, centre)
        return mean, np.where(known, np.maximum(second - first * first, 0.0), np.nan)


def tail_variance(law: Law, z: Array, t: Array, *, upper: bool) -> Array:
    """Variance of the probability that Z lies above ``z - tX``, or at most there, (n,); as in `predictive.log_tail`.

    Examples
    --------
    >>> from tobitgp.likelihoods.laws import Normal
    >>> tail_variance(Normal(), np.zeros(1), np.ones(1), upper=True).round(6)
    array([0.083333])
    """
    tail = law.log_sf if upper else law.log_cdf
    centre = np.exp(tail(z))

    def values(x: Array, i: IntArray) -> Array:
        gap = np.exp(tail(z[i] - t[i] * x)) - centre[i]
        bell = np.exp(-0.5 * x * x - HALF_LOG_2PI)
        return np.stack([gap * bell, gap * gap * bell])

    far = np.full_like(z, BEYOND)
    with np.errstate(under="ignore"):
        kinks = np.clip(z / np.maximum(t, 1e-300), -1e100, 1e100)[:, None]
        first, second = integrals(values, -far, far, t / law.reach, kinks)
    return np.maximum(second - first * first, 0.0)
