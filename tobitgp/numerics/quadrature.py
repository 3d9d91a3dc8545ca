r"""Quadrature of many rows at once, and of boxes of many dimensions.

With X ~ N(0, 1) a smooth function of X is left to a Gauss-Hermite rule. A function of ``t X`` with features of width 1
has them at width 1/t in X; then the range is cut into panels, no wider than 3 in X and narrowing geometrically towards
the kinks, where they are some 3 wide in ``t X``, with 16 Gauss-Legendre nodes each.

A normal density times such a function is analytic in a strip of width 1/t where t is moderate, and the trapezoidal rule
with steps of :math:`0.7 / \sqrt{1 + t^2 + tx}` is right to rounding [1]_, relative to the integral itself, where that
lies x out in a tail; where t is large, panels are graded towards the kinks.

Genz's separation of variables (J. Comp. Graph. Stat. 1, 1992): with :math:`\Sigma = L L'` the coordinates are drawn one
after another inside their ends, and the product of their masses given those before is averaged over scrambled Sobol
points, (EX3) and (EX4) of the theory pages. The least likely coordinate comes first (Gibson, Glasbey and Elston 1994).

References
----------
.. [1] L. N. Trefethen and J. A. C. Weideman, "The exponentially convergent trapezoidal rule", SIAM Review 56 (2014).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr, ndtri_exp

from tobitgp.typing import Array, IntArray

_WIDTH = 3.0
_PASSED = 0.01
_STEEP = 100.0
_LEAST = 2.0**-40  # of where a panel begins: what is narrower than this far out is lost in rounding
PANEL = _NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
# Largest sd, in units of the bends, for which Gauss-Hermite rules of these sizes reach 1e-11 for all distributions.
ORDERS = ((0.03, 6), (0.1, 10), (0.3, 14), (0.5, 20), (0.75, 32))
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
    """Nodes and weights (panels, 16) of expectations over ``shift + t X``, and the row of each panel; kinks (n, m)."""
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
    """Rows for which Gauss-Hermite rules are accurate, and the number of nodes, by the largest ``t`` of each rule."""
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
    """Ends (panels + 1, n) of panels no wider than 3 t, nor, unless 3 wide, than 3 times their distance to a kink."""
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


STEP = 0.7
BEYOND = 9.0  # a range of a normal variable leaves out what is no number
_WIDE, _FINER = 20.0, 0.3  # a range that wide reaches into a tail, where the normal density is steep
_SIZES = (24, 28, 32, 40, 48, 64, 96, 128, 192)

RowIntegrand = Callable[[Array, IntArray], Array]


def narrowness(low: Array, high: Array, t: Array) -> Array:
    """One over the width of integrands; one that is largest x away from 0 may be narrower by a root of 1 + t x."""
    return np.sqrt(1.0 + np.square(t) + t * np.maximum(np.maximum(-low, high) - BEYOND, 0.0))


class QuadratureRule(NamedTuple):
    """Nodes and weights for some of the integrals."""

    at: IntArray  # (m,), the integrals
    row: IntArray  # (p,), which of ``at`` each line of nodes belongs to
    x: Array  # (p, k)
    weight: Array  # (p, k)


def integrals(function: RowIntegrand, low: Array, high: Array, t: Array, kinks: Array) -> Array:
    """Integrals (c, n) of n bells over (low, high), whose features are 1 / t wide at kinks (n, m)."""

    def add(values: Array, rule: QuadratureRule) -> Array:
        return row_sums(values, rule.weight, rule.row, len(rule.at))

    return _integrate(function, add, low, high, t, kinks)


def log_integrals(log_function: RowIntegrand, low: Array, high: Array, t: Array, kinks: Array) -> Array:
    """Logarithms (c, n) of the integrals of positive functions given by theirs; arguments as in :func:`integrals`."""

    def add(values: Array, rule: QuadratureRule) -> Array:
        top = np.full((len(values), len(rule.at)), -1e300)
        for largest, line in zip(top, values.max(axis=2), strict=True):
            np.maximum.at(largest, rule.row, line)
        with np.errstate(under="ignore", divide="ignore"):
            scaled = np.exp(values - top[:, rule.row, None])
            return top + np.log(row_sums(scaled, rule.weight, rule.row, len(rule.at)))

    return _integrate(log_function, add, low, high, t, kinks)


def _integrate(
    function: RowIntegrand,
    add: Callable[[Array, QuadratureRule], Array],
    low: Array,
    high: Array,
    t: Array,
    kinks: Array,
) -> Array:
    """Values at the nodes of all rows, added up."""
    found = [(rule.at, add(function(rule.x, rule.at[rule.row][:, None]), rule)) for rule in _rules(low, high, t, kinks)]
    none = np.empty((0, 1), dtype=np.intp)
    out = np.zeros((len(found[0][1]) if found else len(function(none.astype(np.float64), none)), len(t)))
    for at, values in found:
        out[:, at] = values
    return out


def _rules(low: Array, high: Array, t: Array, kinks: Array) -> Iterator[QuadratureRule]:
    """Group rows that need about as many nodes."""
    need = (high - low) * narrowness(low, high, t) / STEP
    smaller = 0
    for size in _SIZES:
        for at in slices(np.flatnonzero((need > smaller) & (need <= size)), size):
            step = (high[at] - low[at]) / size
            x = low[at, None] + step[:, None] * (np.arange(size) + 0.5)
            yield QuadratureRule(at, np.arange(len(at)), x, np.broadcast_to(step[:, None], x.shape))
        smaller = size
    steep = np.flatnonzero(need > smaller)
    for at in slices(steep, evaluations(t[steep], kinks.shape[1])):
        scale = np.maximum(t[at], 1.0)
        widest = np.where(high[at] - low[at] > _WIDE, _FINER, 1.0) * scale
        v, weight, row = panel_rule(scale * low[at], scale * high[at], widest, scale[:, None] * kinks[at])
        yield QuadratureRule(at, row, v / scale[row][:, None], weight / scale[row][:, None])


SCRAMBLES = 8
FEWEST, MOST = 2**12, 2**15  # points of a scramble
NUMBERS = 2**21  # points times coordinates
_EDGE = 1e-15


class Box(NamedTuple):
    """A normal distribution restricted to a box."""

    log_mass: float  # log probability of the box
    error: float  # its standard error, from independent scrambles
    mean: Array  # (k,)
    cov: Array  # (k, k)


def normal_in_box(mean: Array, cov: Array, lower: Array, upper: Array, *, tol: float = 1e-3) -> Box:
    """Log probability of a box under a normal distribution, and the moments of the distribution inside it."""
    order, L = _order(cov, lower - mean, upper - mean)
    ends = (lower - mean)[order], (upper - mean)[order]
    points, most = FEWEST, max(FEWEST, min(MOST, NUMBERS // len(mean)))
    while True:
        found = [_average(L, *ends, points, seed) for seed in range(SCRAMBLES)]
        logs = np.array([log_mass for log_mass, _, _ in found])
        error = float(np.std(logs, ddof=1) / np.sqrt(SCRAMBLES))
        if error < tol or 2 * points > most:
            break
        points *= 2
    top = logs.max()
    share = np.exp(logs - top) / np.exp(logs - top).sum()
    centre = sum((s * m for s, (_, m, _) in zip(share, found, strict=True)), np.zeros(len(mean)))
    second = sum((s * m for s, (_, _, m) in zip(share, found, strict=True)), np.zeros_like(cov))
    back = np.argsort(order)
    inside = (second - np.outer(centre, centre))[np.ix_(back, back)]
    return Box(float(top + np.log(np.mean(np.exp(logs - top)))), error, mean + centre[back], inside)


def _average(L: Array, lower: Array, upper: Array, points: int, seed: int) -> tuple[float, Array, Array]:
    """Log mass, and first two moments of the vector inside, from one scramble."""
    from scipy.stats import qmc

    u = qmc.Sobol(len(L), scramble=True, rng=np.random.default_rng(seed)).random(points)
    u = np.clip(1.0 - np.abs(2.0 * u - 1.0), _EDGE, 1.0 - _EDGE)
    e, log_w = np.empty_like(u), np.zeros(points)
    for i in range(len(L)):
        shift = e[:, :i] @ L[i, :i]
        e[:, i], log_mass = inside_quantiles((lower[i] - shift) / L[i, i], (upper[i] - shift) / L[i, i], u[:, i])
        log_w += log_mass
    top = log_w.max()
    w = np.exp(log_w - top)
    y = e @ L.T
    return float(top + np.log(w.mean())), w @ y / w.sum(), (y * w[:, None]).T @ y / w.sum()


def inside_quantiles(a: Array, b: Array, u: Array) -> tuple[Array, Array]:
    """Standard normal quantiles of ``u`` within (a, b), and the log mass of (a, b); tails keep their digits."""
    sign = np.where(a + b > 0.0, -1.0, 1.0)
    near, far = np.where(sign > 0.0, b, -a), np.where(sign > 0.0, a, -b)
    log_near, log_far = log_ndtr(near), log_ndtr(far)
    log_mass = log_near + np.log1p(-np.exp(log_far - log_near))
    return sign * ndtri_exp(np.logaddexp(log_far, np.log(u) + log_mass)), log_mass


def _order(cov: Array, lower: Array, upper: Array) -> tuple[IntArray, Array]:
    """Least likely coordinate first: the order, and the Cholesky factor (k, k) in it."""
    k = len(cov)
    rest, order = np.arange(k), np.empty(k, dtype=np.intp)
    L, y, left = np.zeros((k, k)), np.zeros(k), cov.diagonal().copy()
    for i in range(k):
        sd = np.sqrt(np.maximum(left[rest], 0.0)) + 1e-300
        shift = L[rest, :i] @ y[:i]
        middle, log_mass = inside_quantiles(
            (lower[rest] - shift) / sd, (upper[rest] - shift) / sd, np.full(len(rest), 0.5)
        )
        at = int(np.argmin(log_mass))
        best, y[i] = rest[at], middle[at]
        order[i], L[best, i] = best, sd[at]
        rest = np.delete(rest, at)
        L[rest, i] = (cov[rest, best] - L[rest, :i] @ L[best, :i]) / sd[at]
        left[rest] -= L[rest, i] ** 2
    return order, L[order]
