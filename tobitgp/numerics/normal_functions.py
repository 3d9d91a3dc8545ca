r"""The standard normal distribution: log cdf and derivatives, mixtures of normals, and moments of censored rows.

With :math:`h = \phi/\Phi` the inverse Mills ratio and :math:`\delta(z) = z + h(z)`,

.. math:: (\log\Phi)' = h, \quad (\log\Phi)'' = -\kappa, \quad \kappa = h\,\delta \in (0, 1), \quad
          (\log\Phi)''' = h\,(\delta^2 - 1 + \kappa), \quad
          (\log\Phi)'''' = 2\kappa(1 - \kappa) - (\delta + h)\,(\log\Phi)''',

the cumulants of a standard normal variable known to exceed -z. Every further derivative is one of :math:`\delta`,
because :math:`\delta' = 1 - \kappa`, :math:`\delta'' = (\log\Phi)'''` and :math:`\delta''' = (\log\Phi)''''`: (ROW4)
and (ROW5) of the theory pages. Left of the switches below, :math:`\delta` is not formed as the difference it is named,
but from Laplace's continued fraction 1/(x + 2/(x + 3/(x + ...))) at x = -z. Its convergent of even depth N is a Gauss
quadrature rule with N/2 positive terms,

.. math:: \delta(-x) = \sum_j \frac{w_j\, x}{x^2 + q_j},

which is cheaper than the fraction and can be differentiated term by term.

Relative errors against 80-digit arithmetic, -1e6 <= z <= 8: log Phi and h 2e-15 for z < 4 and 1e-14 at 8, delta and
kappa 1.1e-14, third 3e-13 and fourth 2e-12 (both 3e-15 left of -3.5; 2e-14 and 4e-14 absolute). Right of z = 8, where
h < 1e-14, the relative error of h grows like z^2 times the unit roundoff.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr, ndtri

from tobitgp.numerics.roots import RowIndex, solve_quantile
from tobitgp.typing import Array

_ROOT_2_OVER_PI = float(np.sqrt(2.0 / np.pi))
_MINUS_ROOT_HALF = -float(np.sqrt(0.5))
_DELTA_SWITCH = -5.0
_DERIVATIVE_SWITCH = -2.5


def _laplace_fraction(depth: int) -> tuple[Array, Array]:
    """Terms q and w of the continued fraction's convergent (Golub and Welsch, 1969)."""
    off_diagonal = np.sqrt(np.arange(2.0, depth + 1.0))
    nodes, vectors = np.linalg.eigh(np.diag(off_diagonal, -1), UPLO="L")
    positive = slice(depth // 2, None)
    return nodes[positive] ** 2, 2.0 * vectors[0, positive] ** 2


LAPLACE = _Q, _W = _laplace_fraction(24)
LAPLACE_DEEP = _Q_DEEP, _W_DEEP = _laplace_fraction(96)


def log_cdf(z: Array) -> Array:
    r"""Log of the standard normal cdf, :math:`\log\Phi(z)`."""
    return np.asarray(log_ndtr(z), dtype=np.float64)


def mills(z: Array) -> tuple[Array, Array]:
    """Inverse Mills ratio h and the mean excess delta = z + h."""
    h: Array = _ROOT_2_OVER_PI / erfcx(_MINUS_ROOT_HALF * z)
    delta = z + h
    if z.size and z.min() < _DELTA_SWITCH:
        far = z < _DELTA_SWITCH
        x = -z[far]
        small = x * ((1.0 / ((x * x)[:, None] + _Q)) @ _W)
        delta[far] = small
        h[far] = x + small
    return h, delta


def third(z: Array, h: Array, delta: Array) -> Array:
    """Third derivative of log Phi; for z < -2.5 the second of delta, from the series of the module."""
    value: Array = h * (delta * delta - 1.0 + h * delta)
    if z.size and z.min() < _DERIVATIVE_SWITCH:
        far = z < _DERIVATIVE_SWITCH
        x, r, y, s = _far_terms(z[far])
        value[far] = 2.0 * x * ((r * r * (y - 3.0 * s)) @ _W_DEEP)
    return value


def fourth(z: Array, h: Array, delta: Array) -> Array:
    """Fourth derivative of log Phi; for z < -2.5 the third of delta, from the series of the module."""
    kappa = h * delta
    value: Array = 2.0 * kappa * (1.0 - kappa) - (delta + h) * h * (delta * delta - 1.0 + kappa)
    if z.size and z.min() < _DERIVATIVE_SWITCH:
        far = z < _DERIVATIVE_SWITCH
        _, r, y, s = _far_terms(z[far])
        value[far] = 6.0 * ((r * r * (y * y - 6.0 * y * s + s * s)) @ _W_DEEP)
    return value


def _far_terms(z: Array) -> tuple[Array, Array, Array, Array]:
    """Return x = -z, r = 1/(x^2 + q), y = x^2 r and s = q r, the last three of shape (n, terms)."""
    x = -z
    square = (x * x)[:, None]
    r = 1.0 / (square + _Q_DEEP)
    return x, r, square * r, _Q_DEEP * r


_ROOT_2PI = float(np.sqrt(2.0 * np.pi))


def average(weight: Array, values: Array) -> Array:
    """Mean (n,) of component values (J, n)."""
    return np.asarray(np.tensordot(weight, values, 1))


def total_sd(weight: Array, mean: Array, variance: Array) -> Array:
    """Standard deviation (n,) by the law of total variance (PRE2), from component means and variances (J, n).

    NaN where a mean is infinite.
    """
    with np.errstate(invalid="ignore"):
        between = mean - average(weight, mean)
    return np.sqrt(average(weight, variance + between * between))


def exponential_sd(weight: Array, mean: Array, sd: Array) -> Array:
    """Standard deviation (n,) of the exponential of a mixture of normals; infinite where it is beyond all numbers."""
    variance = sd * sd
    top = (mean + variance).max(axis=0)  # half the log of the largest second moment
    share = np.exp(mean + 0.5 * variance - top)
    within = np.exp(2.0 * (mean + variance - top)) * -np.expm1(-variance)
    with np.errstate(over="ignore", divide="ignore"):
        return np.exp(top + np.log(total_sd(weight, share, within)))


def normal_quantile(p: float, weight: Array, mean: Array, sd: Array) -> Array:
    """Quantile (n,) of a mixture of normals, by Newton's method on its cdf, (PRE3) of the theory pages."""
    z = float(ndtri(p))
    if len(weight) == 1:
        return np.asarray(mean[0] + z * sd[0])
    sd = np.broadcast_to(np.maximum(sd, 1e-300), mean.shape)
    ends = mean + z * sd

    def cdf(x: Array, rows: RowIndex) -> tuple[Array, Array]:
        s = sd[:, rows]
        u = (x - mean[:, rows]) / s
        return average(weight, ndtr(u)), average(weight, np.exp(-0.5 * u * u) / s) / _ROOT_2PI

    start = average(weight, mean) + z * total_sd(weight, mean, sd * sd)
    return solve_quantile(cdf, p, low=ends.min(axis=0), high=ends.max(axis=0), start=start)


def node_quantiles(weight: Array, g: Array, orders: Sequence[float]) -> list[Array]:
    """Quantiles (n,) of values at nodes of J components, (J, n, k), under their weights there."""
    g, weight = (values.transpose(1, 0, 2).reshape(values.shape[1], -1) for values in (g, weight))
    order = np.argsort(g, axis=1)
    g, weight = np.take_along_axis(g, order, axis=1), np.take_along_axis(weight, order, axis=1)
    cdf = np.cumsum(weight, axis=1) - 0.5 * weight
    return [np.array([np.interp(p, F, x) for F, x in zip(cdf, g, strict=True)]) for p in orders]


def known_range(lower: Array, upper: Array) -> tuple[float, float]:
    """Smallest upper end and largest lower end: values are known to lie at or beyond both."""
    return (
        float(np.min(upper, initial=np.inf, where=np.isfinite(upper))),
        float(np.max(lower, initial=-np.inf, where=np.isfinite(lower))),
    )


def telling_ends(lower: Array, upper: Array, bottom: float, top: float) -> tuple[Array, Array]:
    """Ends (n,), those open that lie beyond what is known by more than its range, as where 9999 stands for infinity."""
    span = top - bottom
    if not 0.0 < span < np.inf:
        return lower, upper
    return np.where(lower < bottom - span, -np.inf, lower), np.where(upper > top + span, np.inf, upper)


def middles(lower: Array, upper: Array, known: tuple[float, float] | None = None) -> Array:
    """A value of each row (n,): its own, the middle of its interval, or its only telling end.

    Where all ends are too far away to tell, it is the middle of ``known``, the `known_range` of all rows, of these by
    default; NaN without ends.
    """
    bottom, top = known_range(lower, upper) if known is None else known
    ended = np.isfinite(lower) | np.isfinite(upper)
    lower, upper = telling_ends(lower, upper, bottom, top)
    low, high = np.isfinite(lower), np.isfinite(upper)
    with np.errstate(invalid="ignore"):
        values = [0.5 * lower + 0.5 * upper, lower, upper, np.full(len(lower), 0.5 * bottom + 0.5 * top)]
        return np.select([low & high, low, high, ended], values, np.nan)


_STEPS = 60
_ROUNDING = 1e-12  # of the value: a gain that a comparison of values may miss; the step squares it
_SIGN = np.array([1.0, 1.0, -1.0, -1.0])
_PRIOR_SHARE = 1e-3  # of all rows, with mean 0 and sd 1: keeps the maximum finite where the data would not


def fit_censored_normal(share: Array, spread: float, limits: Array) -> tuple[float, float]:
    """Maximum-likelihood mean and sd (HYP8), of exact values of mean 0 and known spread and rows beyond limits (4,)."""
    # In Olsen's parameters, 1 / sigma and mu / sigma, the log-likelihood is concave (R. J. Olsen, 1978, "Note on the
    # uniqueness of the maximum likelihood estimator for the Tobit model", Econometrica 46).
    at = np.array([0.0, 1.0])
    value, gradient, curvature = _log_likelihood(at, share, spread, limits)
    for _ in range(_STEPS):
        step = np.linalg.solve(curvature, gradient)
        gain = float(gradient @ step)
        if gain < _ROUNDING:
            at = at + step
            break
        size = 1.0 if step[1] > -0.5 * at[1] else -0.5 * at[1] / step[1]
        while size > 1e-10:
            there = _log_likelihood(at + size * step, share, spread, limits)
            if there[0] >= value + 1e-4 * size * gain:
                break
            size *= 0.5
        else:
            break
        at, (value, gradient, curvature) = at + size * step, there
    return float(at[0] / at[1]), float(1.0 / at[1])


def _log_likelihood(at: Array, share: Array, spread: float, limits: Array) -> tuple[float, Array, Array]:
    """Value for a row, gradient (2,) and minus the second derivatives (2, 2) in delta and gamma."""
    delta, gamma = at
    z = _SIGN * (gamma * limits - delta)
    h, excess = mills(z)
    own = share[0] + _PRIOR_SHARE
    quadratic = np.diag([own, share[0] * spread * spread + _PRIOR_SHARE])
    of_z = np.stack([-_SIGN, _SIGN * limits])
    value = own * np.log(gamma) - 0.5 * at @ quadratic @ at + share[1:] @ log_cdf(z)
    gradient = -quadratic @ at + of_z @ (share[1:] * h)
    gradient[1] += own / gamma
    curvature = quadratic + (of_z * share[1:] * h * excess) @ of_z.T
    curvature[1, 1] += own / gamma**2
    return float(value), gradient, curvature
