"""Roots and areas of monotone functions in many rows at once, derivatives by differences, and ends of profiles.

(SUR4), (SUR5), (CUR5) and (ECO3) of the theory pages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
from scipy.special import ndtri

from tobitgp.typing import Array, BoolArray, IntArray

RowIndex = slice | IntArray

_MAX_STEPS = 200
_HALVINGS = 50
_NEWTON, _ROUNDING = 50, 1e-13
_ROOT_2PI = float(np.sqrt(2.0 * np.pi))
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)


def rises_to(hazard: Callable[[Array], tuple[Array, Array]], goal: Array, start: Array, width: Array) -> Array:
    """Solve ``H(y) = goal`` in n rows by Newton's method on log H, which is nearly linear, and bisection elsewhere."""
    good = np.isfinite(goal) & (goal > 0.0)
    aim = np.log(np.where(good, goal, 1.0))
    y, reach = np.array(np.broadcast_to(start, goal.shape), dtype=np.float64), 4.0 * np.broadcast_to(width, goal.shape)
    low, high = np.full_like(y, -np.inf), np.full_like(y, np.inf)
    with np.errstate(all="ignore"):
        for _ in range(_MAX_STEPS):
            H, slope = hazard(y)
            gap = aim - np.log(H)
            low, high = np.where(gap >= 0.0, y, low), np.where(gap <= 0.0, y, high)
            new = y + gap * H / slope
            # Rounding in H moves y about on a spot, and must not lead it to an end of what is known.
            spot = 1e-14 * np.abs(y) + 1e-12 * width
            on_spot = np.abs(new - y) <= spot
            known = np.isfinite(low) & np.isfinite(high)
            away = np.where(known, 0.5 * low + 0.5 * high, np.where(gap > 0.0, y + reach, y - reach))
            good_step = (new > low) & (new < high) & (known | (np.abs(new - y) <= reach))
            reach = np.where(good_step, reach, 2.0 * reach)
            new = np.where(on_spot, y, np.where(good_step, new, away))
            settled = np.abs(new - y) <= spot
            y = new
            if (settled | ~good).all():
                break
    return np.where(good, y, np.where(goal > 0.0, np.inf, np.where(goal == 0.0, -np.inf, np.nan)))


def root_between(
    rising: Callable[[Array], tuple[Array, Array]], low: Array, start: Array, high: Array, close: Array | float
) -> Array:
    """Roots of n increasing functions, given with their slopes, by Newton's method, with bisection where that fails.

    The last step is at most ``close``, or a small share of the root.
    """
    x = start
    for step in range(_MAX_STEPS):
        excess, slope = rising(x)
        low, high = np.where(excess < 0.0, x, low), np.where(excess < 0.0, high, x)
        new = x - excess / slope
        new = np.where((new >= low) & (new <= high) & (step < _NEWTON), new, 0.5 * low + 0.5 * high)
        near = np.abs(new - x) <= np.maximum(close, _ROUNDING * np.abs(x))
        x = new
        if near.all():
            break
    return x


def where_it_ends(holds: Callable[[Array], BoolArray], low: Array, high: Array) -> Array:
    """Where something that holds from ``low`` on holds no longer, which is before ``high``, by halving."""
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        still = holds(middle)
        low, high = np.where(still, middle, low), np.where(still, high, middle)
    return np.asarray(0.5 * (low + high))


def area(survive: Callable[[Array], Array], breaks: Array) -> Array:
    """Integrate n curves between their first and last breaks (n, m), by twelve Gauss points in each panel."""
    half = 0.5 * np.diff(breaks, axis=1)[..., None]
    times = breaks[:, :-1, None] + half * (1.0 + _NODES)
    values = survive(times.reshape(len(breaks), times.shape[1] * times.shape[2])).reshape(times.shape)
    return np.asarray((values * half * _WEIGHTS).sum(axis=(1, 2)))


def solve_quantile(
    cdf: Callable[[Array, RowIndex], tuple[Array, Array]],
    p: float,
    *,
    low: Array,
    high: Array,
    start: Array,
    tolerance: float = 1e-8,
) -> Array:
    """Solve ``F(x) = p`` in n rows: Newton's method on ``Phi^-1(F)``, nearly linear, bisection where it strays.

    The cdf and its density are computed in the rows that are still open. A last step of Newton's leaves about the
    square of the tolerance, which is relative to the distance of the ends.
    """
    target = float(ndtri(p))
    out = np.clip(start, low, high)
    x, close, rows = out, tolerance * np.maximum(high - low, 0.0), slice(None)  # type: Array, Array, RowIndex
    with np.errstate(all="ignore"):
        for _ in range(_MAX_STEPS // 2):
            F, density = cdf(x, rows)
            z = ndtri(F)
            low, high = np.where(z < target, x, low), np.where(z < target, high, x)
            new = x - (z - target) * np.exp(-0.5 * z * z) / (_ROOT_2PI * density)
            new = np.where((new >= low) & (new <= high), new, 0.5 * (low + high))
            still = np.abs(new - x) > close + 1e-15 * np.abs(new)
            x = new
            if 2 * np.count_nonzero(still) <= len(x):
                out[rows] = x
                rows = np.flatnonzero(still) if isinstance(rows, slice) else rows[still]
                x, low, high, close = (values[still] for values in (x, low, high, close))
                if not len(x):
                    break
    out[rows] = x
    return out


_PLACES = (-2.0, -1.0, 1.0, 2.0)
_NINE = 0.05 * np.arange(-4.0, 5.0)
# Row d gives the derivative of order d of the polynomial through nine points.
_DIFFERENCE = np.linalg.inv(np.vander(np.arange(-4.0, 5.0), increasing=True))[:4] * np.array(
    [[1.0], [1.0 / 0.05], [2.0 / 0.05**2], [6.0 / 0.05**3]]
)


def slope(at: Callable[[float], Array], step: float) -> Array:
    """Derivative at 0, by central differences of fourth order."""
    far_below, below, above, far_above = (at(place * step) for place in _PLACES)
    return (8.0 * (above - below) - (far_above - far_below)) / (12.0 * step)


def five_differences(values: Sequence[Array], step: float) -> tuple[Array, Array]:
    """First and second derivative in the middle of five equal steps, by differences of fourth order."""
    far_below, below, here, above, far_above = values
    first = (8.0 * (above - below) - (far_above - far_below)) / (12.0 * step)
    return first, (16.0 * (above + below) - (far_above + far_below) - 30.0 * here) / (12.0 * step * step)


def derivatives(function: Callable[[Array], Array], z: Array, order: int) -> tuple[Array, ...]:
    """A function and its first ``order`` derivatives, by central differences of nine points."""
    if not order:
        return (function(z),)
    values = np.stack([function(z + place) for place in _NINE])
    return tuple(np.tensordot(weights, values, 1) for weights in _DIFFERENCE[: order + 1])


_MOST = 1e6  # steps from the maximum after which the likelihood falls no further
_CLOSE = 1e-8  # of a step


def profile_end(
    fall: Callable[[float], float],
    drop: float,
    inside: float,
    side: float,
    step: float,
    *,
    begin: float | None = None,
    far: float | None = None,
    close: float = _CLOSE,
) -> float | None:
    """Value on one side of ``inside`` at which the likelihood has fallen by ``drop``, None if not before ``far``.

    ``fall`` says by how much the profile lies below the maximum; the search goes in growing steps from ``begin``. The
    root is that of the square root of the fall, which is nearly a line.
    """
    from scipy.optimize import brentq

    @cache  # each value is a fit
    def beyond(at: float) -> float:
        return float(np.sqrt(max(fall(at), 0.0)) - np.sqrt(drop))

    end = side * (inside if begin is None else begin)
    far = end + _MOST * step if far is None else far
    while end < far and not beyond(side * (end + step)) >= 0.0:
        end, step = end + step, 2.0 * step
    if end >= far:
        return None
    return float(brentq(beyond, inside, side * (end + step), xtol=close * step))
