"""How quantities given f vary with f, under noise of any law: by quadrature, where normal noise has closed forms."""

from __future__ import annotations

import numpy as np

from tobitgp.distributions.base import Distribution
from tobitgp.numerics.quadrature import integrals, log_integrals
from tobitgp.results import bounded
from tobitgp.results.normals import Mixture, node_quantiles
from tobitgp.results.predictive import BEYOND, HALF_LOG_2PI, reach
from tobitgp.typing import Array, IntArray

_NODES = np.linspace(-6.0, 6.0, 129)


def clipped_moments(q: Mixture) -> tuple[Array, Array]:
    r"""Mean and variance of :math:`g(f, \sigma) = E\,\mathrm{clip}(y^*, l, u)` in every component.

    Gives mean, variance (J, n).
    """
    pairs = [_clipped_moments(q, j) for j in range(len(q.laws))]
    return np.stack([mean for mean, _ in pairs]), np.stack([variance for _, variance in pairs])


def _clipped_moments(q: Mixture, j: int) -> tuple[Array, Array]:
    law, m, s, sigma, limits = q.laws[j], q.mean[j], q.sd[j], q.sigma[j], _limits(q)
    clipped = bounded.shown_mean if q.truncated else bounded.clipped_mean
    centre = clipped(law, m, np.asarray(sigma), *limits, log_time=q.log_time)
    known = np.isfinite(centre)
    base = np.where(known, centre, 0.0)

    def values(x: Array, i: IntArray) -> Array:
        f = m[i] + s[i] * x
        g = clipped(law, f, np.asarray(sigma), *(end[i] for end in limits), log_time=q.log_time)
        gap = np.where(known[i], g, 0.0) - base[i]
        bell = np.exp(-0.5 * x * x - HALF_LOG_2PI)
        return np.stack([gap * bell, gap * gap * bell])

    far = np.maximum(s, 1e-300)
    pairs = (bounded.ends(m, far, *limits[k : k + 2], log_time=q.log_time) for k in range(0, len(limits), 2))
    kinks = np.stack([np.where(np.abs(end) < 1e90, end, 0.0) for pair in pairs for end in pair], axis=1)
    grows = 2.0 * s if q.log_time else np.zeros_like(s)
    high = BEYOND + np.where(np.isposinf(limits[1]), grows, 0.0)
    with np.errstate(under="ignore", over="ignore", invalid="ignore"):
        first, second = integrals(values, np.full_like(m, -BEYOND), high, s / (sigma * law.reach), kinks)
        mean = np.where(known, base + first, centre)
        return mean, np.where(known, np.maximum(second - first * first, 0.0), np.nan)


def _limits(q: Mixture) -> list[Array]:
    """Limits, and the window where there is one."""
    ends = (q.lower, q.upper, q.entry, q.exit) if q.truncated else (q.lower, q.upper)
    return [end for end in ends if end is not None]


def shown_quantile(q: Mixture, p: float) -> Array:
    """Quantile of ``E[y | f, sigma]`` inside a window, which need not rise with f: from nodes in every component."""
    weight = np.exp(-0.5 * _NODES * _NODES)
    g = np.stack(
        [
            bounded.shown_mean(
                law,
                mean[:, None] + sd[:, None] * _NODES,
                np.asarray(sigma),
                *(end[:, None] for end in _limits(q)),
                log_time=q.log_time,
            )
            for law, mean, sd, sigma in zip(q.laws, q.mean, q.sd, q.sigma, strict=True)
        ]
    )
    share = np.broadcast_to(q.weight[:, None, None] * weight / weight.sum(), g.shape)
    return node_quantiles(share, g, (p,))[0]


def log_tail_variance(law: Distribution, z: Array, t: Array, log_mean: Array, *, upper: bool) -> Array:
    """Log variance of the probability that Z lies above ``z - tX``, or at most there, (n,), given the log of its mean.

    Deviations are taken relative to the mean, which keeps their digits in the tails; as in `predictive.log_tail`.
    """
    tail = law.log_sf if upper else law.log_cdf
    mean = np.maximum(log_mean, -1e300)

    def values(x: Array, i: IntArray) -> Array:
        away = tail(z[i] - t[i] * x) - mean[i]
        relative = np.maximum(away, 0.0) + np.log(-np.expm1(-np.abs(away)))
        return (2.0 * relative - 0.5 * x * x - HALF_LOG_2PI)[None]

    low, high = reach(law, np.maximum(z, 0.0) if upper else np.minimum(z, 0.0), t, power=2.0)
    kinks = np.clip(z / np.maximum(t, 1e-300), -1e100, 1e100)[:, None]
    with np.errstate(all="ignore"):
        return 2.0 * mean + log_integrals(values, low, high, t / law.reach, kinks)[0]
