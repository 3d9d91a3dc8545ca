r"""The probability that a normal vector lies in a box, by quasi-Monte Carlo, and its moments there.

Genz's separation of variables (J. Comp. Graph. Stat. 1, 1992): with :math:`\Sigma = L L'` the coordinates are drawn one
after another inside their ends, and the product of their masses given those before is averaged over scrambled Sobol
points, (EX3) and (EX4) of the theory pages. The least likely coordinate comes first (Gibson, Glasbey and Elston 1994).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr, ndtri_exp

from tobitgp.typing import Array, IntArray

SCRAMBLES = 8
FEWEST, MOST = 2**12, 2**15  # points of a scramble
NUMBERS = 2**21  # points times coordinates
_EDGE = 1e-15


class Box(NamedTuple):
    """A normal law restricted to a box."""

    log_mass: float  # log probability of the box
    error: float  # its standard error, from independent scrambles
    mean: Array  # (k,)
    cov: Array  # (k, k)


def normal_in_box(mean: Array, cov: Array, lower: Array, upper: Array, *, tol: float = 1e-3) -> Box:
    """Log probability of a box under a normal law, and the moments of the law inside it.

    Shapes: mean (k,), cov (k, k), lower, upper (k,).
    """
    order, L = _order(cov, lower - mean, upper - mean)
    ends = (lower - mean)[order], (upper - mean)[order]
    points, most = FEWEST, max(FEWEST, min(MOST, NUMBERS // len(mean)))
    while True:
        found = [_average(L, *ends, points, seed) for seed in range(SCRAMBLES)]
        logs = np.array([log_mass for log_mass, _, _ in found])
        error = float(np.std(logs, ddof=1) / np.sqrt(SCRAMBLES))
        if error < tol or 2 * points > most:
            break
        points *= 2
    top = logs.max()
    share = np.exp(logs - top) / np.exp(logs - top).sum()
    centre = sum((s * m for s, (_, m, _) in zip(share, found, strict=True)), np.zeros(len(mean)))
    second = sum((s * m for s, (_, _, m) in zip(share, found, strict=True)), np.zeros_like(cov))
    back = np.argsort(order)
    inside = (second - np.outer(centre, centre))[np.ix_(back, back)]
    return Box(float(top + np.log(np.mean(np.exp(logs - top)))), error, mean + centre[back], inside)


def _average(L: Array, lower: Array, upper: Array, points: int, seed: int) -> tuple[float, Array, Array]:
    """Log mass, and first two moments of the vector inside, from one scramble."""
    from scipy.stats import qmc

    u = qmc.Sobol(len(L), scramble=True, rng=np.random.default_rng(seed)).random(points)
    u = np.clip(1.0 - np.abs(2.0 * u - 1.0), _EDGE, 1.0 - _EDGE)
    e, log_w = np.empty_like(u), np.zeros(points)
    for i in range(len(L)):
        shift = e[:, :i] @ L[i, :i]
        e[:, i], log_mass = _inside((lower[i] - shift) / L[i, i], (upper[i] - shift) / L[i, i], u[:, i])
        log_w += log_mass
    top = log_w.max()
    w = np.exp(log_w - top)
    y = e @ L.T
    return float(top + np.log(w.mean())), w @ y / w.sum(), (y * w[:, None]).T @ y / w.sum()


def _inside(a: Array, b: Array, u: Array) -> tuple[Array, Array]:
    """Standard normal quantiles of ``u`` within (a, b), and the log mass of (a, b); tails keep their digits."""
    sign = np.where(a + b > 0.0, -1.0, 1.0)
    near, far = np.where(sign > 0.0, b, -a), np.where(sign > 0.0, a, -b)
    log_near, log_far = log_ndtr(near), log_ndtr(far)
    log_mass = log_near + np.log1p(-np.exp(log_far - log_near))
    return sign * ndtri_exp(np.logaddexp(log_far, np.log(u) + log_mass)), log_mass


def _order(cov: Array, lower: Array, upper: Array) -> tuple[IntArray, Array]:
    """Least likely coordinate first: the order, and the Cholesky factor (k, k) in it."""
    k = len(cov)
    rest, order = np.arange(k), np.empty(k, dtype=np.intp)
    L, y, left = np.zeros((k, k)), np.zeros(k), cov.diagonal().copy()
    for i in range(k):
        sd = np.sqrt(np.maximum(left[rest], 0.0)) + 1e-300
        shift = L[rest, :i] @ y[:i]
        middle, log_mass = _inside((lower[rest] - shift) / sd, (upper[rest] - shift) / sd, np.full(len(rest), 0.5))
        at = int(np.argmin(log_mass))
        best, y[i] = rest[at], middle[at]
        order[i], L[best, i] = best, sd[at]
        rest = np.delete(rest, at)
        L[rest, i] = (cov[rest, best] - L[rest, :i] @ L[best, :i]) / sd[at]
        left[rest] -= L[rest, i] ** 2
    return order, L[order]
