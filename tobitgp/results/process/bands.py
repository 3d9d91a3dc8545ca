r"""Bands of survival curves of a process: quantiles of what survival is given f and the noise.

Survival itself rises with f, and its quantiles are those of a mixture of normals, (SUR8) of the theory pages. Hazards
and survival given survival of a start rise or fall with f under log-concave noise, and do both under Student's; so
their distribution function is added up over the cells between nodes of f, whatever its shape: (SUR10).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy.special import ndtr

from tobitgp.distributions.base import Distribution
from tobitgp.engines import row_chunks
from tobitgp.results.normals import Mixture, solve_quantile
from tobitgp.results.predictive import HALF_LOG_2PI, log_probability_quantile
from tobitgp.typing import Array

_REACH, _STEP = 6.0, 0.05  # of nodes, in standard deviations of f and in widths of the noise
_NODES, _MORE_NODES = 65, 513
_FAR, _LEAST = 1e100, 1e-300
_CELLS = 512

Value = Callable[[Distribution, float, Array, Array], Array]


def survival_band(q: Mixture, y: Array, tails: tuple[float, ...]) -> Iterator[Array]:
    """Logarithms of quantiles of ``P(y* > y | f, sigma)``, (n, m) each.

    Shapes: y (n, m).
    """
    sigma = q.sigma[:, None]
    z = np.clip((y - q.mean[:, :, None]) / sigma[:, :, None], -_FAR, _FAR).reshape(len(sigma), -1)
    sd = np.repeat(q.sd / sigma, y.shape[1], axis=1)
    for p in tails:
        yield log_probability_quantile(q.laws, p, q.weight, z, sd, upper=True).reshape(y.shape)


def conditional_band(q: Mixture, start: Array, y: Array, tails: tuple[float, ...]) -> list[Array]:
    """Quantiles of ``log P(y* > start | f, sigma) - log P(y* > y | f, sigma)``.

    Shapes: start (n,), y (n, m); gives (n, m).
    """

    def value(law: Distribution, sigma: float, f: Array, ends: Array) -> Array:
        z = [np.clip((ends[..., k, None] - f) / sigma, -_FAR, _FAR) for k in (0, 1)]
        return np.log(np.maximum(law.log_sf(z[0]) - law.log_sf(z[1]), _LEAST))

    return _quantiles(q, np.stack([np.broadcast_to(start[:, None], y.shape), y], axis=2), value, tails)


def hazard_band(q: Mixture, y: Array, tails: tuple[float, ...]) -> list[Array]:
    """Quantiles of the hazard at y (n, m) given f and sigma, on the scale of f; (n, m) each."""

    def value(law: Distribution, sigma: float, f: Array, ends: Array) -> Array:
        z = np.clip((ends[..., 0, None] - f) / sigma, -_FAR, _FAR)
        early = law.log_density(z, 0)[0] - law.log_sf(z)
        return np.where(z > 0.0, np.log(-law.upper_tail(z).d1), early) - np.log(sigma)

    return _quantiles(q, y[:, :, None], value, tails)


def _quantiles(q: Mixture, ends: Array, value: Value, tails: tuple[float, ...]) -> list[Array]:
    """Quantiles (n, m) of the exponential of values at ends (n, m, k)."""
    if not tails:
        return []
    n, m = ends.shape[:2]
    widest = float((q.sd / q.sigma[:, None]).max(initial=0.0))
    nodes = np.linspace(-_REACH, _REACH, int(np.clip(2.0 * _REACH * widest / _STEP, _NODES, _MORE_NODES)))
    out = [np.empty((n, m)) for _ in tails]
    for rows in row_chunks(0, n, max(_CELLS // m, 1)):
        f = q.mean[:, rows, None, None] + q.sd[:, rows, None, None] * nodes
        values = [value(law, float(s), at, ends[rows]) for law, s, at in zip(q.laws, q.sigma, f, strict=True)]
        cells = np.stack(values).reshape(len(f), -1, len(nodes))
        for column, found in zip(out, _cell_quantiles(cells, nodes, q.weight, tails), strict=True):
            column[rows] = np.exp(found).reshape(-1, m)
    return out


def _cell_quantiles(values: Array, nodes: Array, weight: Array, tails: tuple[float, ...]) -> Iterator[Array]:
    """Quantiles (n,) of values (J, n, k) at nodes (k,) of a standard normal variable, straight between them."""
    first, last = values[..., :-1], values[..., 1:]
    low, high, below, gap = np.fmin(first, last), np.fmax(first, last), ndtr(nodes), nodes[1] - nodes[0]

    def cdf(c: Array) -> tuple[Array, Array]:
        F = np.einsum("jnk,j,k->n", high <= c[:, None], weight, np.diff(below), optimize=True)
        j, i, k = np.nonzero((low < c[:, None]) & (c[:, None] < high))
        before, rise = first[j, i, k], last[j, i, k] - first[j, i, k]
        x = nodes[k] + gap * (c[i] - before) / rise
        part = np.where(rise > 0.0, ndtr(x) - below[k], below[k + 1] - ndtr(x))
        slope = np.exp(-0.5 * x * x - HALF_LOG_2PI) * gap / np.abs(rise)
        inside = [np.bincount(i, weight[j] * each, len(c)).astype(np.float64) for each in (part, slope)]
        return F + inside[0], inside[1]

    rises = weight @ (values[..., -1] - values[..., 0]) > 0.0
    for p in tails:
        start = weight @ np.where(rises, *(values[..., int(np.searchsorted(below, order))] for order in (p, 1.0 - p)))
        yield solve_quantile(cdf, p, low=low.min(axis=(0, 2)), high=high.max(axis=(0, 2)), start=start, settled=1e-9)
