"""Maxima of many functions of few variables each, which are searched together and do not depend on each other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tobitgp.typing import Array, IntArray

# Values (m,) and slopes (m, k) of some of the functions, at a point (m, k) of each.
Functions = Callable[[Array, IntArray], tuple[Array, Array]]
_HALVINGS, _RISE, _ROUNDING, _LONGEST = 8, 1e-4, 1e-9, 2.0
_LEAST = 1e-11  # expected rise that is worth a step


def many_maxima(functions: Functions, start: Array, *, tol: float = 1e-6, most: int = 100) -> Array:
    """Points (n, k) at which n functions are level, as far as rounding lets it be seen, by BFGS from starts (n, k)."""
    x, active = start.copy(), np.arange(len(start))
    value, slope = functions(x, active)
    inverse = np.tile(np.eye(x.shape[1]), (len(x), 1, 1))
    for _ in range(most):
        gain = np.einsum("ni,nij,nj->n", slope, inverse, slope)
        rising = (np.abs(slope).max(axis=1, initial=0.0) > tol) & (gain > _LEAST * (1.0 + np.abs(value)))
        active, value, slope, inverse = active[rising], value[rising], slope[rising], inverse[rising]
        if not len(active):
            break
        way = _bounded(np.einsum("nij,nj->ni", inverse, slope))
        moved, new_value, new_slope = _along(functions, active, x[active], way, value, slope)
        step, change = moved - x[active], slope - new_slope
        x[active], stuck = moved, ~step.any(axis=1)
        inverse = _updated(inverse, step, change)
        value, slope = new_value, np.where(stuck[:, None], 0.0, new_slope)
    return x


def _bounded(way: Array) -> Array:
    """Steps no longer than is plausible in units in which the prior has a curvature near 1."""
    length = np.sqrt(np.square(way).sum(axis=1, keepdims=True))
    return np.asarray(way * np.minimum(1.0, _LONGEST / np.maximum(length, 1e-300)))


def _along(
    functions: Functions, active: IntArray, x: Array, way: Array, value: Array, slope: Array
) -> tuple[Array, Array, Array]:
    """The longest steps, halved from the whole ones, that raise the values; none where rounding hides the rise."""
    share, rise = np.ones(len(active)), (way * slope).sum(axis=1)
    out_x, out_value, out_slope = x.copy(), value.copy(), slope.copy()
    left = np.arange(len(active))
    for _ in range(_HALVINGS):
        tried = x[left] + share[left, None] * way[left]
        found, slopes = functions(tried, active[left])
        least = value[left] + _RISE * share[left] * rise[left] - _ROUNDING * (1.0 + np.abs(value[left]))
        good = found >= least
        at = left[good]
        out_x[at], out_value[at], out_slope[at] = tried[good], found[good], slopes[good]
        left = left[~good]
        if not len(left):
            break
        share[left] *= 0.5
    return out_x, out_value, out_slope


def _updated(inverse: Array, step: Array, change: Array) -> Array:
    """Inverse curvatures (n, k, k) after steps along which slopes fell by ``change``; kept where these rose."""
    curved = (step * change).sum(axis=1)
    bent = curved > 1e-14 * np.sqrt(np.square(step).sum(axis=1) * np.square(change).sum(axis=1))
    weight = np.where(bent, 1.0 / np.where(bent, curved, 1.0), 0.0)
    moved = np.einsum("nij,nj->ni", inverse, change)
    twice = 1.0 + weight * (change * moved).sum(axis=1)
    outer = step[:, :, None] * step[:, None, :]
    cross = moved[:, :, None] * step[:, None, :]
    cross = cross + np.swapaxes(cross, 1, 2)
    return np.asarray(inverse + weight[:, None, None] * (twice[:, None, None] * outer - cross))
