r"""Integrals over the line of many bell-shaped functions at once.

An integrand is a normal density times a function with features of width 1/t at its kinks. Where t is moderate the
function is analytic in a strip as wide, and the trapezoidal rule with steps of :math:`0.7 / \sqrt{1 + t^2}` is right to
rounding [1]_, relative to the integral itself however far out in a tail it lies; where t is large, panels are graded
towards the kinks (`tobitgp.numerics.panels`).

References
----------
.. [1] L. N. Trefethen and J. A. C. Weideman, "The exponentially convergent trapezoidal rule", SIAM Review 56 (2014).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from tobitgp.numerics.panels import evaluations, panel_rule, slices
from tobitgp.typing import Array, IntArray

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
