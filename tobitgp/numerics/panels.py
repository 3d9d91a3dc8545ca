"""Quadrature of many rows at once: Gauss-Hermite, and panels graded towards the kinks of an integrand.

With X ~ N(0, 1) a smooth function of X is left to a Gauss-Hermite rule. A function of ``t X`` with features of width 1
has them at width 1/t in X; then the range is cut into panels, no wider than 3 in X and narrowing geometrically towards
the kinks, where they are some 3 wide in ``t X``, with 16 Gauss-Legendre nodes each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np

from tobitgp.typing import Array, IntArray

_WIDTH = 3.0
_PASSED = 0.01
_STEEP = 100.0
_LEAST = 2.0**-40  # of where a panel begins: what is narrower beside a kink far out is lost in rounding
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_ROOT_2PI = float(np.sqrt(2.0 * np.pi))
_MAX_EVALUATIONS = 100_000


@cache
def gauss_hermite(n: int) -> tuple[Array, Array]:
    """Nodes and weights of the n-point Gauss rule for the standard normal density."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(n)
    weights = weights / weights.sum()
    nodes.flags.writeable = weights.flags.writeable = False
    return nodes, weights


def normal_rule(shift: Array, t: Array, kinks: Array) -> tuple[Array, Array, IntArray]:
    """Nodes and weights of expectations over ``shift + t X``, row by row.

    Shapes: shift, t (n,), kinks (n, m); gives nodes, weight (panels, 16), row (panels,).
    """
    half_width = reach(t)
    v, weight, row = panel_rule(shift - half_width, shift + half_width, t, kinks)
    x = (v - shift[row][:, None]) / t[row][:, None]
    return v, np.exp(-0.5 * x * x) * (weight / (_ROOT_2PI * t[row][:, None])), row


def panel_rule(low: Array, high: Array, t: Array, kinks: Array) -> tuple[Array, Array, IntArray]:
    """Nodes and weights of integrals over (low, high), row by row; see :func:`normal_rule` for the rest."""
    breaks = _breakpoints(low, high, t, kinks)
    half = 0.5 * np.diff(breaks, axis=0)
    panel, row = np.nonzero(half > 0.0)
    half = half[panel, row][:, None]
    v = (breaks[panel, row][:, None] + half) + half * _NODES
    return v, _WEIGHTS * half, row


def reach(t: Array) -> Array:
    """Half-width of the range of t X; what lies beyond adds less than t^2 P(|X| > 9 or 11)."""
    return np.where(t <= _STEEP, 9.0, 11.0) * t


def row_sums(values: Array, weight: Array, row: IntArray, n: int) -> Array:
    """Add up the panels of every row: values of shape (k, panels * nodes) to (k, n)."""
    panels = np.einsum("kpj,pj->kp", values.reshape(-1, *weight.shape), weight)
    return np.stack([np.bincount(row, weights=p, minlength=n) for p in panels])


def evaluations(t: Array, kinks: int) -> int:
    """Bound the number of integrand evaluations that a row can need."""
    levels = 2 + int(np.log(max(1.0, t.max(initial=1.0))) / np.log(4.0))
    return _NODES.size * (10 + 2 * kinks * levels)


def by_order(t: Array, orders: Sequence[tuple[float, int]]) -> Iterator[tuple[IntArray, int]]:
    """Rows (positions in ``t``) that Gauss-Hermite rules serve, and the number of nodes for them.

    ``orders`` holds the largest ``t`` of each rule, ascending, and its number of nodes.
    """
    least = -np.inf
    for largest, order in orders:
        rows = np.flatnonzero((t > least) & (t <= largest))
        least = largest
        if len(rows):
            yield rows, order


def slices(rows: IntArray, evaluations: int) -> list[IntArray]:
    """Cut rows into slices of at most _MAX_EVALUATIONS evaluations each."""
    step = max(1, _MAX_EVALUATIONS // evaluations)
    return [rows[i : i + step] for i in range(0, rows.size, step)]


def _breakpoints(low: Array, high: Array, t: Array, kinks: Array) -> Array:
    """March from low to high in panels no wider than 3 t, nor than 3 times their distance to a kink.

    Shape (panels + 1, n); kinks has shape (n, m). Next to a kink a panel may be 3 wide, whatever t.
    """
    p = low
    breaks = [p]
    while (p < high).any():
        gap = kinks - p[:, None]
        ahead = np.where(gap > _PASSED, gap, np.inf).min(axis=1)
        behind = np.where(gap > _PASSED, np.inf, np.abs(gap)).min(axis=1)
        step = np.minimum(_WIDTH * t, np.maximum(_WIDTH, 3.0 * behind))
        step = np.minimum(step, np.where(ahead <= 4.0 / 3.0 * _WIDTH, ahead, 0.75 * ahead))
        p = np.minimum(p + np.maximum(step, _LEAST * np.abs(p)), high)
        breaks.append(p)
    return np.stack(breaks)
