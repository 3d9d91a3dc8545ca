r"""Tails of noise convolved with a normal, of many rows at many values each.

Where there are so many that integrals of their own (`tobitgp.results.predictive`) would take long, the logarithm is
interpolated: over the spread t at Chebyshev points, over z by cubic splines. Both errors are checked at places between
the points, and integrals are taken after all where they exceed 1e-8 of the logarithm, or 5e-10: a logarithm nearer to 0
than 0.05 is better formed from the other tail.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.interpolate import BarycentricInterpolator, CubicSpline

from tobitgp.distributions.base import Distribution
from tobitgp.engines import row_chunks
from tobitgp.results import predictive
from tobitgp.typing import Array

_MANY, _WORTH = 20_000, 4
_STEP, _WIDE, _MOST = 0.02, 40.0, 6000
_SPREADS = (8, 16, 32)
_PRECISE, _SMALL = 1e-8, 0.05
_APART, _HELD = 1e-9, 2_000_000

Of = Callable[[Distribution, Array, Array], Array]
UPPER: Of = partial(predictive.log_tail, upper=True)
LOWER: Of = partial(predictive.log_tail, upper=False)
DENSITY: Of = predictive.log_density


def log_values(of: Of, law: Distribution, z: Array, t: Array) -> Array:
    """Log probabilities of a tail, or log densities.

    Shapes: z (n, m), t (n,); gives (n, m).
    """
    near = np.abs(z) < _WIDE
    if near.sum() < _MANY:
        return _exactly(of, law, z, t)
    u = _stretched(law, np.where(near, z, 0.0))
    found = _interpolated(of, law, u, t)
    if found is None:
        return _exactly(of, law, z, t)
    if not near.all():
        found[~near] = of(law, z[~near], np.broadcast_to(t[:, None], z.shape)[~near])
    return found


def _exactly(of: Of, law: Distribution, z: Array, t: Array) -> Array:
    return of(law, z.ravel(), np.broadcast_to(t[:, None], z.shape).ravel()).reshape(z.shape)


def _interpolated(of: Of, law: Distribution, u: Array, t: Array) -> Array | None:
    """Values at places u (n, m); None where a table would cost more than it spares, or is not precise."""
    low, high = u.min(), u.max()
    if high - low <= _APART * max(abs(low), abs(high), 1.0):
        return None
    k = max(int(np.ceil((high - low) / (_STEP * law.reach))), 8) + 1
    if k > _MOST:
        return None
    grid = np.linspace(low, high, k)
    step = grid[1] - grid[0]
    for count in _SPREADS:
        if k * count * _WORTH > u.size:
            return None
        spreads = _chebyshev(t.min(), t.max(), count)
        table = _at(of, law, grid, spreads)
        between = 0.5 * (spreads[:-1] + spreads[1:])[:: max(count // 8, 1)]
        places = (np.arange(16) + 0.5) * (k - 1) / 16.0
        cell = places.astype(np.intp)
        shift = np.full(16, 0.5 * step)
        coefficients = _splines(grid, spreads, table, between)
        guess = sum(c[:, cell] * shift ** (3 - i) for i, c in enumerate(coefficients))
        truth = _at(of, law, grid[cell] + 0.5 * step, between)
        if (np.abs(guess - truth) <= _PRECISE * np.maximum(np.abs(truth), _SMALL)).all():
            break
    else:
        return None
    position = (u - low) / step
    cells = np.clip(position.astype(np.intp), 0, k - 2)
    shift = (position - cells) * step
    out = np.zeros_like(u)
    for rows in row_chunks(0, len(u), max(_HELD // k, 1)):
        for c in _splines(grid, spreads, table, t[rows]):
            out[rows] = out[rows] * shift[rows] + np.take_along_axis(c, cells[rows], axis=1)
    return out


def _splines(grid: Array, spreads: Array, table: Array, t: Array) -> Array:
    """Coefficients (4, n, k - 1), cubes first, of the splines of spreads t (n,)."""
    spline = CubicSpline(grid, table, axis=1)
    if len(spreads) == 1:
        return np.asarray(np.broadcast_to(spline.c.transpose(0, 2, 1), (4, len(t), len(grid) - 1)))
    weights = np.asarray(BarycentricInterpolator(spreads, np.eye(len(spreads)))(t))
    return np.stack([weights @ c.T for c in spline.c])


def _chebyshev(low: float, high: float, count: int) -> Array:
    if high - low <= 1e-12 * high:
        return np.array([0.5 * (low + high)])
    angle = np.pi * (np.arange(count) + 0.5) / count
    return 0.5 * (low + high) - 0.5 * (high - low) * np.cos(angle)


def _at(of: Of, law: Distribution, u: Array, spreads: Array) -> Array:
    """Values (count, k) at places u and spreads."""
    z = _relaxed(law, u)
    return _exactly(of, law, np.broadcast_to(z, (len(spreads), len(z))), spreads)


def _stretched(law: Distribution, z: Array) -> Array:
    """A scale on which the logarithms bend evenly: heavy tails are drawn together."""
    return z if law.log_concave else 2.0 * np.arcsinh(0.5 * z)


def _relaxed(law: Distribution, u: Array) -> Array:
    return u if law.log_concave else 2.0 * np.sinh(0.5 * u)
