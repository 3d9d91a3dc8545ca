"""Where the nodes go when a row's likelihood is integrated against a normal density of f.

Where that density is narrow beside the bends of the likelihood, one Gauss-Hermite rule around the mode of their product
serves. Elsewhere the product is looked for on a grid, its mode found by bisection, and panels are graded towards that
mode and towards the ends of the row. A product that is log-concave falls at least as fast as the normal density on
either side of its mode; one that need not be is also covered around the normal density's own mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from tobitgp.numerics.quadrature import by_order, evaluations, gauss_hermite, panel_rule, reach, slices
from tobitgp.typing import Array, BoolArray, IntArray

# Largest sd, in units of the bends, that Gauss-Hermite rules of these sizes serve to some 1e-11 for every law.
ORDERS = ((0.03, 6), (0.1, 10), (0.3, 14), (0.5, 20), (0.75, 32))
SMOOTH = ORDERS[-1][0]
_NEWTON, _NEAR = 60, 0.1
_GRID = np.linspace(0.0, 1.0, 25)
_AROUND = np.array([-3.0, -1.0, 0.0, 1.0, 3.0])
_BEYOND = 20.0
_BISECTIONS = 14
_TOGETHER = 14.0
_HALF_LOG_2PI = 0.5 * float(np.log(2.0 * np.pi))

Local = Callable[[IntArray, Array], tuple[Array, Array, Array]]


class Rule(NamedTuple):
    """Nodes for some of the rows."""

    rows: IntArray  # (m,)
    f: Array  # (k, q), nodes, a line or several lines for each row
    log_weight: Array  # (k, q), of the rule and the normal density together
    line: IntArray  # (k,), position among ``rows`` of each line
    smooth: bool  # the normal density is narrow beside the bends of the likelihood


def tilted_rules(
    local: Local, mean: Array, sd: Array, ends: Array, unit: float, *, log_concave: bool
) -> Iterator[Rule]:
    """Rules for ``E p(y | f)`` with f ~ N(mean, sd^2), for n rows.

    Shapes: mean, sd (n,), ends (n, k).
    """
    mode, width, smooth = _near_modes(local, mean, sd, sd <= SMOOTH * unit)
    for rows, order in by_order(np.where(smooth, sd, np.inf) / unit, ORDERS):
        for i in slices(rows, order):
            yield _around(i, mode[i], width[i], mean[i], sd[i], order)
    rough = np.flatnonzero(~smooth)
    for i in slices(rough, evaluations(sd[rough] / unit, kinks=ends.shape[1] + 1)):
        yield _panels(local, i, mean[i], sd[i], ends[i], unit, log_concave)


def _near_modes(local: Local, mean: Array, sd: Array, smooth: BoolArray) -> tuple[Array, Array, BoolArray]:
    """Modes of the product and their widths, (n,) each, and where Newton's method reached them."""
    f, width, reached = mean.copy(), sd.copy(), smooth.copy()
    moving = np.flatnonzero(smooth)
    for _ in range(_NEWTON):
        precision = 1.0 / (sd[moving] * sd[moving])
        _, slope, bend = local(moving, f[moving])
        curve = np.maximum(precision - bend, 0.2 * precision)
        step = (slope - precision * (f[moving] - mean[moving])) / curve
        f[moving] += step
        width[moving] = 1.0 / np.sqrt(curve)
        moving = moving[np.abs(step) > _NEAR * width[moving]]
        if not len(moving):
            break
    reached[moving] = False
    return f, width, reached


def _around(rows: IntArray, mode: Array, width: Array, mean: Array, sd: Array, order: int) -> Rule:
    """A Gauss-Hermite rule around each mode."""
    nodes, weights = gauss_hermite(order)
    away = width[:, None] * nodes
    z = ((mode - mean)[:, None] + away) / sd[:, None]
    log_weight = np.log(weights) + 0.5 * nodes * nodes + np.log(width / sd)[:, None] - 0.5 * z * z
    return Rule(rows, mode[:, None] + away, log_weight, np.arange(len(rows)), True)


def _panels(local: Local, rows: IntArray, mean: Array, sd: Array, ends: Array, unit: float, log_concave: bool) -> Rule:
    """Panels over all of the product that counts."""
    mode, width = _modes(local, rows, mean, sd, ends, unit)
    fine = np.minimum(unit, width)
    t, away = sd / fine, (mean - mode) / fine
    low = high = reach(t)
    if not log_concave:
        near = np.abs(away) < _TOGETHER * t
        low, high = low + np.where(near, np.maximum(-away, 0.0), 0.0), high + np.where(near, np.maximum(away, 0.0), 0.0)
    kinks = np.column_stack([(ends - mode[:, None]) / fine[:, None], np.zeros(len(mode))])
    v, weight, line = panel_rule(-low, high, t, kinks)
    x = (v - away[line][:, None]) / t[line][:, None]
    log_weight = np.log(weight) - 0.5 * x * x - np.log(t[line])[:, None] - _HALF_LOG_2PI
    return Rule(rows, mode[line][:, None] + fine[line][:, None] * v, log_weight, line, False)


def _modes(local: Local, rows: IntArray, mean: Array, sd: Array, ends: Array, unit: float) -> tuple[Array, Array]:
    """Highest mode of the product near a grid between the mean and the ends, and its width, (m,) each."""
    low = np.minimum(mean, ends.min(axis=1)) - _BEYOND * unit
    high = np.maximum(mean, ends.max(axis=1)) + _BEYOND * unit
    grid = np.column_stack(
        [
            low[:, None] + (high - low)[:, None] * _GRID,
            mean[:, None] + sd[:, None] * _AROUND,
            (ends[:, :, None] + unit * _AROUND).reshape(len(rows), -1),
        ]
    )
    grid.sort(axis=1)
    m, k = grid.shape
    value, _, _ = local(np.repeat(rows, k), grid.ravel())
    height = value.reshape(m, k) - 0.5 * ((grid - mean[:, None]) / sd[:, None]) ** 2
    best, line = height.argmax(axis=1), np.arange(m)
    left, right = grid[line, np.maximum(best - 1, 0)], grid[line, np.minimum(best + 1, k - 1)]
    precision = 1.0 / (sd * sd)

    def rising(f: Array) -> BoolArray:
        return np.asarray(local(rows, f)[1] > precision * (f - mean))

    for _ in range(_BISECTIONS):
        middle = 0.5 * (left + right)
        up = rising(middle)
        left, right = np.where(up, middle, left), np.where(up, right, middle)
    mode = 0.5 * (left + right)
    curve = precision - local(rows, mode)[2]
    return mode, 1.0 / np.sqrt(np.maximum(curve, precision))
