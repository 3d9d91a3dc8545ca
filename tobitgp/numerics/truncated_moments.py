r"""Truncated normal and exponential values, and normal expectations of their log mass.

The probability that a normal value with mean mu and sd S lies in [l, u] has derivatives in mu that are cumulants of the
truncated variable X in (a, b), a = (l - mu)/S and b = (u - mu)/S: with p the mass, (log p)' = E[X]/S, (log p)'' =
-(1 - Var X)/S^2, and the third and fourth derivatives are the third and fourth cumulants over S^3 and S^4: (ROW6) of
the theory pages. `moments` has three regimes, with c = (a + b)/2 and half-width r = (b - a)/2:

- one-sided, |c| r > 20: the far end carries a relative mass below exp(-40) and is dropped;
- wide, a < 0 < b and b - a >= 2: closed forms in phi(a), phi(b) and 1 - Phi(a) - Phi(-b);
- narrow, all others: Gauss-Legendre quadrature of exp(-c t - t^2/2) on (-r, r), with central
  moments taken at the nodes, so that nothing cancels down to widths of one unit roundoff.

Errors against 160-digit arithmetic over widths 1e-12 to 60 and centres to 1e4: log mass 6e-15 relative; mean and
complement 1e-13 relative (the largest where the mass is 1 - 1e-200; 1e-14 absolute for the complement); third cumulant
1e-12 sd^3, fourth 2e-11 sd^4. A variance below 1e-3 should not be formed as 1 - complement, which leaves it an absolute
error of 1e-14.

`between` has log mass and the means of X and its square at less cost. With :math:`M(a) = (1 - \Phi(a)) / \phi(a)`, an
interval (a, b] turned so that its centre is not negative, of width w and :math:`D = (b^2 - a^2)/2`, has

.. math:: P = \phi(a)\,U, \quad E[X] = \frac{1 - e^{-D}}{U}, \quad E[X^2] = 1 + \frac{a - b e^{-D}}{U},
          \qquad U = M(a) - e^{-D} M(b),

which is accurate unless w is small relative to M(a); there quadrature is used. Errors against 50-digit arithmetic: log
mass 1e-13 absolute where it is below 1 in size and 1e-14 relative beyond; moments 1e-13 relative to their own size or
1, whichever is larger, but not as variances: a variance of 1e-4 keeps some ten digits.

Variational inference needs E log p(y | f) with f ~ N(m, s^2) and its derivatives, for a censored y: (ROW14) of the
theory pages. With X ~ N(0, 1) and t = s/sigma the integrands have kinks of width 1/t in X, so Gauss-Hermite quadrature
is used only for small t, panels graded towards the kinks otherwise. Errors relative to max(1, |value|), against three
times finer panels with 30 nodes, for means to 30 max(t, 1): 2e-15 for t to 1e6 (8e-15 for E kappa at t = 0.75), except
that E mean of an interval, a difference of terms of size t, has an absolute error of some 1e-16 t.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr

from tobitgp.numerics.normal_functions import fourth, log_cdf, mills, third
from tobitgp.numerics.quadrature import by_order, evaluations, gauss_hermite, normal_rule, reach, row_sums, slices
from tobitgp.typing import Array

_SMALL = 1e-2


def share(t: Array) -> Array:
    r"""Mean of an exponential value of rate t on (0, 1], :math:`1/t - 1/(e^t - 1)`."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        near = 0.5 - t / 12.0 + t**3 / 720.0
        return np.where(t < _SMALL, near, 1.0 / t - 1.0 / np.expm1(t))


_HALF_LOG_2PI = 0.5 * float(np.log(2.0 * np.pi))
_ONE_SIDED = 20.0
_WIDE = 2.0
_INFINITE = 1e100
_GENTLE = 3.0  # the short rule is accurate for |c| r <= 3 with r <= 1
_CHUNK = 2048


def _half_rule(n: int) -> tuple[Array, Array]:
    """Positive half of the n-point Gauss-Legendre rule on (-1, 1), n even, as columns."""
    nodes, weights = np.polynomial.legendre.leggauss(n)
    return nodes[n // 2 :, None], weights[n // 2 :, None]


SHORT_RULE, LONG_RULE = _half_rule(12), _half_rule(24)


class Interval(NamedTuple):
    """Log mass and cumulants of the truncated variable X."""

    log_mass: Array  # log(Phi(b) - Phi(a)), shape (n,)
    mean: Array  # E[X], shape (n,)
    complement: Array  # 1 - Var[X], between 0 and 1, shape (n,)
    third: Array  # third cumulant of X, shape (n,)
    fourth: Array  # fourth cumulant of X, shape (n,)


def interval(a: Array, b: Array, width: Array | None = None) -> Interval:
    r"""Log mass and first four cumulants of X ~ N(0, 1) truncated to (a, b)."""
    a, b = np.maximum(a, -_INFINITE), np.minimum(b, _INFINITE)
    return Interval(*moments(a, b, 0.5 * (a + b), 0.5 * (b - a if width is None else width), rows=5))


def log_interval_mass(a: Array, b: Array) -> Array:
    r"""Log of the normal probability of an interval, :math:`\log(\Phi(b) - \Phi(a))`."""
    a, b = np.maximum(a, -_INFINITE), np.minimum(b, _INFINITE)
    log_mass: Array = moments(a, b, 0.5 * (a + b), 0.5 * (b - a), rows=1)[0]
    return log_mass


def moments(a: Array, b: Array, c: Array, r: Array, *, rows: int) -> Array:
    """The first ``rows`` fields of Interval; centre c and half-width r may be known better than the ends say."""
    reach = np.abs(c) * r
    far = reach > _ONE_SIDED
    wide = (a < 0.0) & (b > 0.0) & (r >= 0.5 * _WIDE) & ~far
    out = np.empty((rows, a.size))
    if far.any():
        out[:, far] = _one_sided(np.where(c > 0.0, -a, b)[far], np.sign(c[far]), rows)
    if wide.any():
        out[:, wide] = _wide(a[wide], b[wide], c[wide], r[wide], rows)
    narrow = ~(far | wide)
    gentle = narrow & (reach <= _GENTLE) & (r <= 1.0)
    for part, rule in ((gentle, SHORT_RULE), (narrow & ~gentle, LONG_RULE)):
        where = np.flatnonzero(part)
        for start in range(0, where.size, _CHUNK):
            i = where[start : start + _CHUNK]
            out[:, i] = _narrow(c[i], r[i], rule, rows)
    return out


def _one_sided(z: Array, side: Array, rows: int) -> list[Array]:
    """X > -z (side 1) or X < z (side -1): cumulants are derivatives of log Phi at z."""
    log_mass = np.asarray(log_ndtr(z), dtype=np.float64)
    if rows == 1:
        return [log_mass]
    h, delta = mills(z)
    values = [log_mass, side * h, h * delta]
    if rows == 5:
        values += [side * third(z, h, delta), fourth(z, h, delta)]
    return values


def _wide(a: Array, b: Array, c: Array, r: Array, rows: int) -> list[Array]:
    """Evaluate closed forms, with differences of phi(a) and phi(b) through sinh and cosh of c r."""
    outside = ndtr(a) + ndtr(-b)
    log_mass = np.log1p(-outside)
    if rows == 1:
        return [log_mass]
    scale = 2.0 * np.exp(-0.5 * (c * c + r * r) - _HALF_LOG_2PI - log_mass)
    gap, total = scale * np.sinh(c * r), scale * np.cosh(c * r)  # (phi(a) -+ phi(b)) / mass
    m = gap
    d = r * total - c * gap  # (b phi(b) - a phi(a)) / mass
    values = [log_mass, m, d + m * m]
    if rows == 5:
        t = (c * c + r * r) * gap - 2.0 * c * r * total  # (a^2 phi(a) - b^2 phi(b)) / mass
        u = c * (c * c + 3.0 * r * r) * gap - r * (r * r + 3.0 * c * c) * total  # cubes
        values.append(t - m + 3.0 * m * d + 2.0 * m**3)
        values.append(3.0 * d + u + 4.0 * m * (m - t) - 3.0 * d * d - 12.0 * d * m * m - 6.0 * m**4)
    return values


def _narrow(c: Array, r: Array, rule: tuple[Array, Array], rows: int) -> list[Array]:
    """Gauss-Legendre on pairs of nodes c +- t."""
    nodes, weights = rule
    t = nodes * r
    ct = c * t
    bell = weights * np.exp(-0.5 * t * t)
    tilt = np.exp(ct)
    low, high = bell * tilt, bell / tilt  # densities at c - t and c + t
    mass = (low + high).sum(axis=0)
    log_mass = np.log(r * mass) - 0.5 * c * c - _HALF_LOG_2PI
    if rows == 1:
        return [log_mass]
    shift = -2.0 * (t * bell * np.sinh(ct)).sum(axis=0) / mass
    below, above = -t - shift, t - shift
    low *= below * below
    high *= above * above
    var = (low + high).sum(axis=0) / mass
    values = [log_mass, c + shift, 1.0 - var]
    if rows == 5:
        low *= below
        high *= above
        values.append((low + high).sum(axis=0) / mass)
        values.append((low * below + high * above).sum(axis=0) / mass - 3.0 * var * var)
    return values


_ROOT_2_OVER_PI = float(np.sqrt(2.0 / np.pi))
_ROOT_PI_OVER_2 = float(np.sqrt(0.5 * np.pi))
_ROOT_HALF = float(np.sqrt(0.5))
_SURE = 8.0  # beyond it 1 - Phi is less than the unit roundoff
_EVERYTHING = 25.0
_NARROW, _FLAT = 0.25, 1.0


def lower_tail(z: Array) -> tuple[Array, Array]:
    """Log Phi(z), to rounding absolutely, and the inverse Mills ratio phi(z) / Phi(z)."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore", under="ignore"):
        h: Array = _ROOT_2_OVER_PI / erfcx(-_ROOT_HALF * z)
        log_p = -0.5 * z * z
        log_p -= np.log(h)
        log_p -= _HALF_LOG_2PI
        if z.size and z.max() > _SURE:
            sure = z > _SURE
            log_p[sure] = -h[sure] / z[sure]
    return log_p, h


def between(a: Array, b: Array, half: Array) -> tuple[Array, Array, Array]:
    """Log mass of (a, b], and the means of X and of its square inside; the half-width may be known better than both."""
    centre = a + half
    turned = centre < 0.0
    low, high = np.maximum(np.where(turned, -b, a), -_EVERYTHING), np.where(turned, -a, b)
    D = 2.0 * np.abs(centre) * half
    with np.errstate(under="ignore", over="ignore", divide="ignore", invalid="ignore"):
        left = np.exp(-D)
        scale = 1.0 / (_ROOT_PI_OVER_2 * (erfcx(_ROOT_HALF * low) - left * erfcx(_ROOT_HALF * high)))
        log_p = -0.5 * low * low - np.log(scale) - _HALF_LOG_2PI
        first = -np.expm1(-D) * scale
        second = 1.0 + (low - high * left) * scale
    narrow = (half < _NARROW) & (D < _FLAT)
    if narrow.any():
        c, r = np.abs(centre[narrow]), half[narrow]
        log_p[narrow], mean, complement = moments(c - r, c + r, c, r, rows=3)
        first[narrow], second[narrow] = mean, (1.0 - complement) + mean * mean
    np.negative(first, out=first, where=turned)
    return log_p, first, second


SMOOTH_ONE_SIDED = 0.75
SMOOTH_INTERVAL = 0.6
HERMITE = 32
# Largest t for which rules of fewer nodes are accurate to the same digits.
ORDERS = ((0.07, 6), (0.14, 8), (0.24, 12), (0.4, 20))
_KINK = 2.0  # log Phi(z) has its nearest singularities at z = 1.9 +- 2.8i


def expected_one_sided(a: Array, t: Array) -> tuple[Array, Array, Array]:
    r"""The expectations of :math:`\log\Phi`, h and :math:`\kappa` at a + tX, X standard normal."""
    out = np.empty((3, a.size))
    for rows, order in by_order(t, (*ORDERS, (SMOOTH_ONE_SIDED, HERMITE))):
        nodes, weights = gauss_hermite(order)
        for i in slices(rows, order):
            z = a[i, None] + t[i, None] * nodes
            out[:, i] = _one_sided_terms(z.ravel()).reshape(3, *z.shape) @ weights
    rough = np.flatnonzero(~(t <= SMOOTH_ONE_SIDED))
    for i in slices(rough, evaluations(t[rough], kinks=1)):
        origin = np.where(np.abs(a[i]) <= reach(t[i]), 0.0, a[i])
        v, weight, row = normal_rule(a[i] - origin, t[i], (_KINK - origin)[:, None])
        values = _one_sided_terms((v + origin[row][:, None]).ravel())
        out[:, i] = row_sums(values, weight, row, i.size)
    return out[0], out[1], out[2]


def expected_interval(a: Array, b: Array, t: Array, width: Array | None = None) -> tuple[Array, Array, Array, Array]:
    """The expectations of log mass, mean, complement and squared mean of `interval` at (a - tX, b - tX)."""
    out = np.empty((4, a.size))
    c, r = 0.5 * (a + b), 0.5 * (b - a if width is None else width)
    for rows, order in by_order(t, (*ORDERS, (SMOOTH_INTERVAL, HERMITE))):
        nodes, weights = gauss_hermite(order)
        for i in slices(rows, order):
            v = t[i, None] * nodes
            values = _interval_terms(v, *(end[i, None] for end in (a, b, c, r)))
            out[:, i] = values.reshape(4, *v.shape) @ weights
    rough = np.flatnonzero(~(t <= SMOOTH_INTERVAL))
    for i in slices(rough, evaluations(t[rough], kinks=2)):
        # A kink within reach of X, so that ends near it are exact.
        places = [c[i], a[i], b[i]]
        origin = np.select([np.abs(place) <= reach(t[i]) for place in places], places, 0.0)
        ends = [end[i] - origin for end in (a, b, c)]
        inner = np.maximum(r[i] - _KINK, 0.0)
        kinks = np.stack([ends[2] - inner, ends[2] + inner], axis=1)
        v, weight, row = normal_rule(-origin, t[i], kinks)
        values = _interval_terms(v, *(end[row][:, None] for end in (*ends, r[i])))
        out[:, i] = row_sums(values, weight, row, i.size)
    return out[0], out[1], out[2], out[3]


def _one_sided_terms(z: Array) -> Array:
    """Return log Phi, h and kappa, shape (3, n)."""
    h, delta = mills(z)
    return np.stack([log_cdf(z), h, h * delta])


def _interval_terms(v: Array, a: Array, b: Array, c: Array, r: Array) -> Array:
    """Return log mass, mean, complement and squared mean at ends displaced by -v, shape (4, v.size)."""
    width = np.broadcast_to(r, v.shape)
    flat = moments((a - v).ravel(), (b - v).ravel(), (c - v).ravel(), width.ravel(), rows=3)
    return np.concatenate([flat, flat[1:2] ** 2])
