r"""Bands of survival curves of a process: quantiles of what survival is given f and the noise.

Survival itself rises with f, and its quantiles are those of a mixture of normals. What is asked of those who survived
a start is judged under what is known of them, :math:`p(f, \sigma)\,S(\mathrm{start} | f, \sigma)`: then the mean of
:math:`S(t | f, \sigma) / S(\mathrm{start} | f, \sigma)`, or of the hazard at the start, is that of the predictive law.
Such a quantity rises or falls with f under log-concave noise, and does both under Student's; so its distribution
function is added up over the cells between nodes of f, whatever its shape: (SUR8) and (SUR9) of the theory pages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tobitgp.likelihoods.laws import Law
from tobitgp.numerics.bells import log_integrals
from tobitgp.results import predictive
from tobitgp.results.normals import Mixture
from tobitgp.results.predictive import HALF_LOG_2PI, log_probability_quantile
from tobitgp.typing import Array, IntArray

_REACH, _NODES, _MORE_NODES = 6.0, 33, 193
_SHARP = 3.0
_FAR, _LEAST = 1e100, 1e-300
_STEPS = 40
_CELLS = 512

Value = Callable[[Law, float, Array, Array], Array]


def survival_band(q: Mixture, y: Array, tails: tuple[float, ...]) -> Iterator[Array]:
    """Logarithms of quantiles of ``P(y* > y | f, sigma)``, (n, m) each.

    Parameters
    ----------
    q : Mixture
        Posterior of f in n rows.
    y : (n, m) array
        On the scale of f.
    tails : tuple of float
        Orders of the quantiles.
    """
    sigma = q.sigma[:, None]
    z = np.clip((y - q.mean[:, :, None]) / sigma[:, :, None], -_FAR, _FAR).reshape(len(sigma), -1)
    sd = np.repeat(q.sd / sigma, y.shape[1], axis=1)
    for p in tails:
        yield log_probability_quantile(q.laws, p, q.weight, z, sd, upper=True).reshape(y.shape)


def conditional_band(q: Mixture, start: Array, y: Array, tails: tuple[float, ...]) -> list[Array]:
    """Quantiles of ``log P(y* > start | f, sigma) - log P(y* > y | f, sigma)`` among those who survive the start.

    Parameters
    ----------
    q : Mixture
    start : (n,) array
    y : (n, m) array
        Not below the start.
    tails : tuple of float

    Returns
    -------
    list of (n, m) array
    """
    if not tails:
        return []
    m = y.shape[1]

    def value(law: Law, sigma: float, f: Array, ends: Array) -> Array:
        z = [np.clip((ends[..., k, None] - f) / sigma, -_FAR, _FAR) for k in (0, 1)]
        return np.log(np.maximum(law.log_sf(z[0]) - law.log_sf(z[1]), _LEAST))

    made = _quantiles(q, start, np.stack([np.broadcast_to(start[:, None], y.shape), y], axis=2), value, tails)
    return [np.exp(values).reshape(-1, m) for values in made]


def hazard_band(q: Mixture, y: Array, tails: tuple[float, ...]) -> list[Array]:
    """Quantiles of the hazard at y given f and sigma among those who survive y, on the scale of f; (n, m) each."""
    if not tails:
        return []
    n, m = y.shape
    cells = Mixture(q.weight, np.repeat(q.mean, m, axis=1), np.repeat(q.sd, m, axis=1), q.sigma, laws=q.laws)

    def value(law: Law, sigma: float, f: Array, ends: Array) -> Array:
        z = np.clip((ends[..., 0, None] - f) / sigma, -_FAR, _FAR)
        early = law.log_density(z, 0)[0] - law.log_sf(z)
        return np.where(z > 0.0, np.log(-law.upper_tail(z).d1), early) - np.log(sigma)

    made = _quantiles(cells, y.ravel(), y.reshape(n * m, 1, 1), value, tails)
    return [np.exp(values).reshape(n, m) for values in made]


def _quantiles(q: Mixture, start: Array, ends: Array, value: Value, tails: tuple[float, ...]) -> list[Array]:
    """Quantiles (n * m,) of values at ends (n, m, k), of f given survival of starts (n,)."""
    n, m = ends.shape[:2]
    out = [np.empty(n * m) for _ in tails]
    each = max(_CELLS // m, 1)
    for first in range(0, n, each):
        rows = slice(first, first + each)
        part = Mixture(q.weight, q.mean[:, rows], q.sd[:, rows], q.sigma, laws=q.laws)
        f, density, step = _nodes(part, start[rows])
        values = np.stack(
            [value(law, float(s), at[:, None, :], ends[rows]) for law, s, at in zip(q.laws, q.sigma, f, strict=True)]
        )
        density, step = (np.repeat(x, m, axis=1) for x in (density, step))
        made = _solve(values.reshape(len(f), -1, f.shape[2]), density, step, tails)
        for column, found in zip(out, made, strict=True):
            column[first * m : (first + each) * m] = found
    return out


def _nodes(q: Mixture, start: Array) -> tuple[Array, Array, Array]:
    """Nodes of f and densities there among those who survive the start, (J, n, k), and the nodes' distance (J, n)."""
    t = q.sd / q.sigma[:, None]
    z = np.clip((start - q.mean) / q.sigma[:, None], -_FAR, _FAR)
    k = _MORE_NODES if t.max(initial=0.0) > _SHARP else _NODES
    grid = np.linspace(-_REACH, _REACH, k)
    f, log_density, size = np.empty((*t.shape, k)), np.empty((*t.shape, k)), np.empty_like(t)
    for j, law in enumerate(q.laws):
        centre, spread, word = _survivors(law, z[j], t[j])
        x = centre[:, None] + spread[:, None] * grid
        f[j] = q.mean[j][:, None] + q.sd[j][:, None] * x
        log_density[j] = word(x, np.arange(len(centre))[:, None]) + np.log(q.weight[j])
        size[j] = spread * (grid[1] - grid[0])
    top = log_density.max(axis=(0, 2), keepdims=True)
    return f, np.exp(log_density - top), size


def _survivors(law: Law, z: Array, t: Array) -> tuple[Array, Array, Callable[[Array, IntArray], Array]]:
    """Mean and standard deviation of X, weighted by the noise's survival of ``z - tX``, and the log of that density."""

    def word(x: Array, i: IntArray) -> Array:
        return np.asarray(law.log_sf(z[i] - t[i] * x) - 0.5 * x * x - HALF_LOG_2PI)

    low, high = predictive.reach(law, np.maximum(z, 0.0), t)

    def powers(x: Array, i: IntArray) -> Array:
        log_p, away = word(x, i), np.log(x - low[i])
        return np.stack([log_p, log_p + away, log_p + 2.0 * away])

    whole, first, second = log_integrals(
        powers, low, high, t / law.reach, np.clip(z / np.maximum(t, 1e-300), -_FAR, _FAR)[:, None]
    )
    mean, square = np.exp(first - whole), np.exp(second - whole)
    return low + mean, np.sqrt(np.maximum(square - mean * mean, 1e-12)), word


def _solve(values: Array, density: Array, step: Array, tails: tuple[float, ...]) -> list[Array]:
    """Quantiles of n mixtures from values and densities at nodes (J, n, k)."""
    before, after = values[..., :-1], values[..., 1:]
    low, high = np.fmin(before, after), np.fmax(before, after)
    mass = _masses(density) * step[..., None]
    left, right = density[..., :-1], density[..., 1:]
    swapped = before > after
    near, far = np.where(swapped, right, left), np.where(swapped, left, right)
    flat = [x.transpose(1, 0, 2).reshape(values.shape[1], -1) for x in (low, high, mass, near, far)]
    low, high, mass, near, far = flat
    mass = mass / mass.sum(axis=1, keepdims=True)
    mean = 0.5 * (near + far)
    rise, bend = (np.where(mean > 0.0, x / mean, y) for x, y in ((near, 1.0), (0.5 * (far - near), 0.0)))
    width = np.maximum(high - low, 1e-14 * np.abs(low))
    order = np.argsort(low + high, axis=1)
    sums = np.cumsum(np.take_along_axis(mass, order, axis=1), axis=1)
    middles = np.take_along_axis(0.5 * (low + high), order, axis=1)
    out = []
    for p in tails:
        at = np.minimum((sums < p).sum(axis=1), sums.shape[1] - 1)[:, None]
        c = np.take_along_axis(middles, at, axis=1)
        held = np.where(mass > 1e-12, 1.0, np.nan)
        floor, ceiling = np.nanmin(low * held, axis=1)[:, None], np.nanmax(high * held, axis=1)[:, None]
        for _ in range(_STEPS):
            u = np.clip((c - low) / width, 0.0, 1.0)
            F = (mass * u * (rise + bend * u)).sum(axis=1, keepdims=True)
            inside = (u > 0.0) & (u < 1.0)
            slope = np.where(inside, mass * (rise + 2.0 * bend * u) / width, 0.0).sum(axis=1, keepdims=True)
            floor, ceiling = np.where(p > F, c, floor), np.where(p > F, ceiling, c)
            new = c + (p - F) / slope
            new = np.where((new > floor) & (new < ceiling), new, 0.5 * (floor + ceiling))
            moved = np.abs(new - c)
            c = new
            if not (moved > 1e-7).any():
                break
        out.append(c[:, 0])
    return out


def _masses(density: Array) -> Array:
    """Integrals (..., k - 1) between nodes a unit apart of densities (..., k) that have died away at both ends."""
    wide = np.pad(density, [(0, 0)] * (density.ndim - 1) + [(1, 1)])
    inner = 13.0 * (density[..., :-1] + density[..., 1:]) - wide[..., :-3] - wide[..., 3:]
    return np.maximum(inner / 24.0, 0.0)
