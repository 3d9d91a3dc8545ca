"""Normal expectations of log Phi, of the log mass of an interval and of their derivatives.

Variational inference needs E log p(y | f) with f ~ N(m, s^2) and its derivatives, for a
censored y: (ROW14) of the theory pages. With X ~ N(0, 1) and t = s/sigma the integrands have kinks of width 1/t in X,
so Gauss-Hermite quadrature is used only for small t, panels graded towards the kinks otherwise.

Errors relative to max(1, |value|), against three times finer panels with 30 nodes, for means to
30 max(t, 1): 2e-15 for t to 1e6 (8e-15 for E kappa at t = 0.75), except that E mean of an
interval, a difference of terms of size t, has an absolute error of some 1e-16 t.
"""

from __future__ import annotations

import numpy as np

from tobitgp.numerics.normal import log_cdf, mills
from tobitgp.numerics.quadrature import by_order, evaluations, gauss_hermite, normal_rule, reach, row_sums, slices
from tobitgp.numerics.truncated import moments
from tobitgp.typing import Array

_SMOOTH_ONE_SIDED = 0.75
_SMOOTH_INTERVAL = 0.6
_HERMITE = 32
# Largest t that rules of fewer nodes serve to the same digits.
_ORDERS = ((0.07, 6), (0.14, 8), (0.24, 12), (0.4, 20))
_KINK = 2.0  # log Phi(z) has its nearest singularities at z = 1.9 +- 2.8i


def expected_one_sided(a: Array, t: Array) -> tuple[Array, Array, Array]:
    r"""Average log Phi and its first two derivatives under a normal argument.

    .. math:: F = E\log\Phi(a + tX), \quad G = E\,h(a + tX), \quad H = E\,\kappa(a + tX),
              \qquad X \sim \mathcal N(0, 1).
    """
    out = np.empty((3, a.size))
    for rows, order in by_order(t, (*_ORDERS, (_SMOOTH_ONE_SIDED, _HERMITE))):
        nodes, weights = gauss_hermite(order)
        for i in slices(rows, order):
            z = a[i, None] + t[i, None] * nodes
            out[:, i] = _one_sided_terms(z.ravel()).reshape(3, *z.shape) @ weights
    rough = np.flatnonzero(~(t <= _SMOOTH_ONE_SIDED))
    for i in slices(rough, evaluations(t[rough], kinks=1)):
        origin = np.where(np.abs(a[i]) <= reach(t[i]), 0.0, a[i])
        v, weight, row = normal_rule(a[i] - origin, t[i], (_KINK - origin)[:, None])
        values = _one_sided_terms((v + origin[row][:, None]).ravel())
        out[:, i] = row_sums(values, weight, row, i.size)
    return out[0], out[1], out[2]


def expected_interval(a: Array, b: Array, t: Array, width: Array | None = None) -> tuple[Array, Array, Array, Array]:
    r"""Average the log mass of an interval and its derivatives over a normal displacement.

    With :math:`p(x) = \Phi(b - tx) - \Phi(a - tx)`, and mean and complement those of
    `tobitgp.numerics.truncated.interval` at (a - tX, b - tX),

    .. math:: F = E\log p(X), \quad G = E\,\mathrm{mean}, \quad H = E\,\mathrm{complement},
              \quad Q = E\,\mathrm{mean}^2, \qquad X \sim \mathcal N(0, 1).
    """
    out = np.empty((4, a.size))
    c, r = 0.5 * (a + b), 0.5 * (b - a if width is None else width)
    for rows, order in by_order(t, (*_ORDERS, (_SMOOTH_INTERVAL, _HERMITE))):
        nodes, weights = gauss_hermite(order)
        for i in slices(rows, order):
            v = t[i, None] * nodes
            values = _interval_terms(v, *(end[i, None] for end in (a, b, c, r)))
            out[:, i] = values.reshape(4, *v.shape) @ weights
    rough = np.flatnonzero(~(t <= _SMOOTH_INTERVAL))
    for i in slices(rough, evaluations(t[rough], kinks=2)):
        origin = _interval_origin(a[i], b[i], c[i], t[i])
        ends = [end[i] - origin for end in (a, b, c)]
        inner = np.maximum(r[i] - _KINK, 0.0)
        kinks = np.stack([ends[2] - inner, ends[2] + inner], axis=1)
        v, weight, row = normal_rule(-origin, t[i], kinks)
        values = _interval_terms(v, *(end[row][:, None] for end in (*ends, r[i])))
        out[:, i] = row_sums(values, weight, row, i.size)
    return out[0], out[1], out[2], out[3]


def _interval_origin(a: Array, b: Array, c: Array, t: Array) -> Array:
    """Choose a kink within reach of X as origin of the displacement, so that ends near it are exact."""
    far = reach(t)
    return np.select([np.abs(c) <= far, np.abs(a) <= far, np.abs(b) <= far], [c, a, b], 0.0)


def _one_sided_terms(z: Array) -> Array:
    """Return log Phi, h and kappa, shape (3, n)."""
    out = np.empty((3, z.size))
    h, delta = mills(z)
    out[0] = log_cdf(z)
    out[1] = h
    np.multiply(h, delta, out=out[2])
    return out


def _interval_terms(v: Array, a: Array, b: Array, c: Array, r: Array) -> Array:
    """Return log mass, mean, complement and squared mean at ends displaced by -v, shape (4, v.size)."""
    width = np.broadcast_to(r, v.shape)
    flat = moments((a - v).ravel(), (b - v).ravel(), (c - v).ravel(), width.ravel(), rows=3)
    return np.concatenate([flat, flat[1:2] ** 2])
