r"""Normal vectors in many boxes at once: log probabilities, means and covariances inside, and draws.

With :math:`\Sigma = L L'` and :math:`y = \mu + L e` the last coordinate of e has closed moments given those before it,
those of a truncated normal variable: (MOV4) of the theory pages. Of two coordinates the first is left to Gauss-Legendre
panels, of three and more all but the last to Genz's separation of variables over a lattice, made periodic by
:math:`u = v - \sin(2 \pi v) / (2 \pi)` [1]_. Points stay the same, so that results are smooth in their arguments. All
weights are positive: moments lose no digits in tails.

Errors of two coordinates, with correlations to .999, against panels of 3000 by 3000 points: 1e-10. Errors of log
probability of three, four and five coordinates, against integrals over a factor of equal correlations of .3 to .8:
1e-7, 1e-6 and 1e-5 in the median, mostly below 3e-4, and below 1e-3 in all of 60 boxes; those of means and covariances,
in standard deviations, are about ten times as large.

References
----------
.. [1] I. H. Sloan and S. Joe, *Lattice Methods for Multiple Integration*, Oxford 1994, sections 2.12 and 4.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from tobitgp.numerics.quadrature import inside_quantiles, panel_rule
from tobitgp.numerics.truncated_moments import moments
from tobitgp.typing import Array, IntArray

SIZES = {3: 509, 4: 1021}  # points by number of coordinates
MOST = 2039
_REACH = 9.0  # what lies further from the likeliest point of a box adds less than exp(-40) of the box
_STEEP = 4.0  # fall of the log density within a third of a panel
_AT_ONCE = 2**17
_EDGE, _SMALLEST = 1e-15, 1e-250
_INFINITE = 1e100
_HALF_LOG_2PI = 0.5 * float(np.log(2.0 * np.pi))


class VectorsInBoxes(NamedTuple):
    """Normal vectors restricted to boxes."""

    log_mass: Array  # (n,), log probabilities of the boxes
    mean: Array  # (n, c)
    cov: Array  # (n, c, c)


class _Points(NamedTuple):
    """Points in the first coordinates of e, of several boxes."""

    row: IntArray  # (p,), the box
    e: Array  # (p, c - 1)
    log_weight: Array  # (p,)


def vectors_in_boxes(mean: Array, cov: Array, lower: Array, upper: Array) -> VectorsInBoxes:
    """Log probabilities of boxes (n, c) under normal distributions with means (n, c) and covariances (n, c, c)."""
    L, (n, c) = np.asarray(np.linalg.cholesky(cov), dtype=np.float64), mean.shape
    out = VectorsInBoxes(np.empty(n), np.empty((n, c)), np.empty((n, c, c)))
    a, b = lower - mean, upper - mean
    for rows in _slices(n, c):
        out.log_mass[rows], e, V = _moments(L[rows], a[rows], b[rows])
        inside = mean[rows] + np.einsum("nij,nj->ni", L[rows], e)
        out.mean[rows] = np.clip(inside, lower[rows], upper[rows])
        out.cov[rows] = L[rows] @ V @ L[rows].transpose(0, 2, 1)
    return out


def draw_in_boxes(
    mean: Array, cov: Array, lower: Array, upper: Array, *, draws: int, rng: np.random.Generator
) -> Array:
    """Draws (n, draws, c): of two coordinates and more resampled by importance weights from four times as many."""
    L, (n, c) = np.asarray(np.linalg.cholesky(cov), dtype=np.float64)[None], mean.shape
    out, size = np.empty((n, draws, c)), draws if c == 1 else max(MOST, 4 * draws)
    for i in range(n):
        u = np.clip(rng.random((size, c)), _EDGE, 1.0 - _EDGE)
        e, log_w = _separated(L, (lower[i] - mean[i])[None], (upper[i] - mean[i])[None], u)
        if c > 1:
            share = np.cumsum(np.exp(log_w[0] - log_w[0].max()))
            chosen = share.searchsorted((rng.permutation(draws) + rng.random()) / draws * share[-1])
            e = e[:, np.minimum(chosen, size - 1)]
        out[i] = np.clip(mean[i] + e[0] @ L[0].T, lower[i], upper[i])
    return out


def _slices(n: int, c: int) -> Iterator[slice]:
    step = _AT_ONCE // {1: 1, 2: 160}.get(c, SIZES.get(c, MOST))
    return (slice(i, i + step) for i in range(0, n, step))


def _moments(L: Array, a: Array, b: Array) -> tuple[Array, Array, Array]:
    """Log masses (n,), means (n, c) and covariances (n, c, c) of e, with L e in boxes (a, b); L (n, c, c)."""
    n, c = a.shape
    if c == 1:
        log_mass, centre, inner = _truncated(a[:, 0] / L[:, 0, 0], b[:, 0] / L[:, 0, 0])
        return log_mass, centre[:, None], inner[:, None, None]
    points = _panels(L, a, b) if c == 2 else _lattice_points(L, a, b)
    row, e = points.row, points.e
    shift = np.einsum("pi,pi->p", e, L[row, -1, :-1])
    ends = ((end[row, -1] - shift) / L[row, -1, -1] for end in (a, b))
    log_mass, last, inner = _truncated(*ends)
    log_w = points.log_weight + log_mass
    top = np.full(n, -np.inf)
    np.maximum.at(top, row, log_w)
    w = np.exp(log_w - top[row])
    total = np.bincount(row, w, n)
    w /= total[row]
    x = np.column_stack([e, last])
    centre = np.column_stack([np.bincount(row, w * each, n) for each in x.T])
    x -= centre[row]
    V = np.empty((n, c, c))
    for i in range(c):
        for j in range(i + 1):
            V[:, i, j] = V[:, j, i] = np.bincount(row, w * x[:, i] * x[:, j], n)
    V[:, -1, -1] += np.bincount(row, w * inner, n)
    return top + np.log(total), centre, V


def _truncated(a: Array, b: Array) -> tuple[Array, Array, Array]:
    """Log masses of (a, b), means and variances of a standard normal variable inside, (n,) each."""
    a, b = np.maximum(a, -_INFINITE), np.minimum(b, _INFINITE)
    log_mass, mean, complement = moments(a, b, 0.5 * (a + b), 0.5 * (b - a), rows=3)
    return log_mass, mean, np.maximum(1.0 - complement, 0.0)


def _panels(L: Array, a: Array, b: Array) -> _Points:
    """Gauss-Legendre panels in the first coordinate about the likeliest point of each box."""
    low, high = a[:, 0] / L[:, 0, 0], b[:, 0] / L[:, 0, 0]
    slope, ends = L[:, 1, 0] / L[:, 1, 1], np.stack([a[:, 1], b[:, 1]]) / L[:, 1, 1]

    def beyond(x: Array) -> Array:
        """How far the second coordinate is from its mean, as little as possible."""
        below, above = ends - slope * x
        return np.maximum(below, 0.0) + np.minimum(above, 0.0)

    stationary = np.where(np.isfinite(ends), ends, 0.0) * slope / (1.0 + slope**2)
    tried = np.clip(np.stack([np.zeros_like(low), *stationary]), low, high)
    distance = np.stack([x * x + beyond(x) ** 2 for x in tried])
    x = np.take_along_axis(tried, distance.argmin(axis=0)[None], axis=0)[0]
    fall = np.abs(x - slope * beyond(x))
    low, high = np.maximum(low, x - _REACH), np.minimum(high, x + _REACH)
    scale = np.maximum(1.0, np.abs(slope))
    with np.errstate(divide="ignore", invalid="ignore"):
        kinks = np.where(np.isfinite(ends) & (slope != 0.0), ends / slope, 1e6).T
    widest = scale * np.minimum(1.0, _STEEP / np.maximum(fall, 1.0))
    v, weight, row = panel_rule(scale * low, scale * high, widest, scale[:, None] * np.clip(kinks, -1e6, 1e6))
    at = (v / scale[row][:, None]).ravel()
    log_weight = np.log((weight / scale[row][:, None]).ravel()) - 0.5 * at * at - _HALF_LOG_2PI
    return _Points(np.repeat(row, v.shape[1]), at[:, None], log_weight)


def _lattice_points(L: Array, a: Array, b: Array) -> _Points:
    """The same points of all boxes, but for their ends."""
    (n, c), (u, log_weight) = a.shape, _lattice(a.shape[1] - 1)
    e, log_w = _separated(L, a, b, u)
    return _Points(np.repeat(np.arange(n), len(u)), e.reshape(-1, c - 1), (log_w + log_weight).ravel())


def _separated(L: Array, a: Array, b: Array, u: Array) -> tuple[Array, Array]:
    """The first coordinates of e at uniform numbers (m, d) inside of boxes, (n, m, d), and log weights (n, m)."""
    e, log_w = np.empty((len(a), *u.shape)), np.full((len(a), len(u)), -np.log(len(u)))
    for i in range(u.shape[1]):
        shift = np.einsum("nmj,nj->nm", e[:, :, :i], L[:, i, :i])
        below, above = ((end[:, i, None] - shift) / L[:, i, i, None] for end in (a, b))
        e[:, :, i], log_mass = _quantiles(below, above, u[:, i])
        log_w += log_mass
    return e, log_w


def _quantiles(a: Array, b: Array, u: Array) -> tuple[Array, Array]:
    """Standard normal quantiles of u within (a, b), and its log mass; by logarithms where these are needed."""
    sign = np.where(a + b > 0.0, -1.0, 1.0)
    near, far = ndtr(np.where(sign > 0.0, b, -a)), ndtr(np.where(sign > 0.0, a, -b))
    mass = near - far
    if mass.min(initial=1.0) < _SMALLEST:
        return inside_quantiles(a, b, u)
    return sign * ndtri(far + u * mass), np.log(mass)


@cache
def _lattice(d: int) -> tuple[Array, Array]:
    """Points (m, d) and log weights (m,), the generator found a coordinate at a time for the kernel of order 2."""
    m = SIZES.get(d + 1, MOST)
    k, x = np.arange(m), np.arange(m) / m
    kernel = 1.0 + 2.0 * np.pi**2 * (x * x - x + 1.0 / 6.0)
    generator, product = [1], kernel
    while len(generator) < d:
        error = [product @ kernel[k * z % m] for z in range(1, m // 2 + 1)]
        generator.append(1 + int(np.argmin(error)))
        product = product * kernel[k * generator[-1] % m]
    v = (np.outer(k, generator) + 0.5) / m % 1.0
    u = np.clip(v - np.sin(2.0 * np.pi * v) / (2.0 * np.pi), _EDGE, 1.0 - _EDGE)
    log_weight = np.log1p(-np.cos(2.0 * np.pi * v)).sum(axis=1)
    u.flags.writeable = log_weight.flags.writeable = False
    return u, log_weight
