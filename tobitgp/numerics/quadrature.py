r"""Quadrature of many rows at once.

Quadrature of many rows at once: Gauss-Hermite, and panels graded towards the kinks of an integrand.

With X ~ N(0, 1) a smooth function of X is left to a Gauss-Hermite rule. A function of ``t X`` with features of width 1
has them at width 1/t in X; then the range is cut into panels, no wider than 3 in X and narrowing geometrically towards
the kinks, where they are some 3 wide in ``t X``, with 16 Gauss-Legendre nodes each.

Integrals over the line of many bell-shaped functions at once.

An integrand is a normal density times a function with features of width 1/t at its kinks. Where t is moderate the
function is analytic in a strip as wide, and the trapezoidal rule with steps of :math:`0.7 / \sqrt{1 + t^2}` is right to
rounding [1]_, relative to the integral itself however far out in a tail it lies; where t is large, panels are graded
towards the kinks (`tobitgp.numerics.quadrature`).

References
----------
.. [1] L. N. Trefethen and J. A. C. Weideman, "The exponentially convergent trapezoidal rule", SIAM Review 56 (2014).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

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


_STEP = 0.7
_WIDE, _FINER = 20.0, 0.3  # a range that wide reaches into a tail, where the normal density is steep
_SIZES = (24, 28, 32, 40, 48, 64, 96, 128, 192)

Function = Callable[[Array, IntArray], Array]


class Rule(NamedTuple):
    """Nodes and weights for some of the integrals."""

    at: IntArray  # (m,), the integrals
    row: IntArray  # (p,), which of ``at`` each line of nodes belongs to
    x: Array  # (p, k)
    weight: Array  # (p, k)


def integrals(function: Function, low: Array, high: Array, t: Array, kinks: Array) -> Array:
    """Integrate n bells.

    Shapes: low, high, t (n,), kinks (n, m); gives (c, n).
    """
    out: Array | None = None
    for rule in _rules(low, high, t, kinks):
        values = function(rule.x, rule.at[rule.row][:, None])
        out = np.zeros((len(values), len(t))) if out is None else out
        out[:, rule.at] = _sums(np.einsum("cpk,pk->cp", values, rule.weight), rule)
    return np.zeros((1, 0)) if out is None else out


def log_integrals(log_function: Function, low: Array, high: Array, t: Array, kinks: Array) -> Array:
    """Logarithms (c, n) of the integrals of positive functions given by theirs; arguments as in :func:`integrals`."""
    out: Array | None = None
    for rule in _rules(low, high, t, kinks):
        values = log_function(rule.x, rule.at[rule.row][:, None])
        out = np.zeros((len(values), len(t))) if out is None else out
        top = _largest(values.max(axis=2), rule)
        with np.errstate(under="ignore", divide="ignore"):
            scaled = np.exp(values - top[:, rule.row, None])
            out[:, rule.at] = top + np.log(_sums(np.einsum("cpk,pk->cp", scaled, rule.weight), rule))
    return np.zeros((1, 0)) if out is None else out


def _rules(low: Array, high: Array, t: Array, kinks: Array) -> Iterator[Rule]:
    """Group rows that need about as many nodes."""
    need = (high - low) * np.sqrt(1.0 + t * t) / _STEP
    smaller = 0
    for size in _SIZES:
        for at in slices(np.flatnonzero((need > smaller) & (need <= size)), size):
            step = (high[at] - low[at]) / size
            x = low[at, None] + step[:, None] * (np.arange(size) + 0.5)
            yield Rule(at, np.arange(len(at)), x, np.broadcast_to(step[:, None], x.shape))
        smaller = size
    steep = np.flatnonzero(need > smaller)
    for at in slices(steep, evaluations(t[steep], kinks.shape[1])):
        scale = np.maximum(t[at], 1.0)
        widest = np.where(high[at] - low[at] > _WIDE, _FINER, 1.0) * scale
        v, weight, row = panel_rule(scale * low[at], scale * high[at], widest, scale[:, None] * kinks[at])
        yield Rule(at, row, v / scale[row][:, None], weight / scale[row][:, None])


def _sums(lines: Array, rule: Rule) -> Array:
    """Add up lines (c, p) of the same integral."""
    if len(rule.row) == len(rule.at):
        return lines
    return np.stack([np.bincount(rule.row, weights=line, minlength=len(rule.at)) for line in lines])


def _largest(lines: Array, rule: Rule) -> Array:
    """Largest of the lines (c, p) of the same integral, finite."""
    if len(rule.row) == len(rule.at):
        return np.maximum(lines, -1e300)
    out = np.full((len(lines), len(rule.at)), -1e300)
    for top, line in zip(out, lines, strict=True):
        np.maximum.at(top, rule.row, line)
    return out
