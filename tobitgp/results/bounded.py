r"""A response between limits, given f and sigma, for noise of any law: its clipped mean, and its mean where it was seen.

The counterpart of `tobitgp.results.clipped`, which has the closed forms of normal noise. In terms of `excess`, with
standardised limits a and b and s the tilt of log time, the clipped mean g satisfies

.. math:: g - l = c\,[A(a) - A(b)], \quad u - g = c\,[B(b) - B(a)], \quad c = \sigma,\ \text{or}\ \sigma e^f,

both with relative precision. Arrays broadcast throughout; one law at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tobitgp.likelihoods.laws import Law
from tobitgp.regression import conditional, scales, truncated
from tobitgp.regression.scales import Predictor
from tobitgp.results import excess
from tobitgp.typing import Array

Excess = Callable[[Array, Array | None], Array]
_EXCESS: dict[str, tuple[Excess, Excess]] = {
    "logistic": (excess.logistic_above, excess.logistic_below),
    "gumbel": (excess.gumbel_above, excess.gumbel_below),
}
_FAR = 1e100
_NARROW = 0.05


class Clipped(NamedTuple):
    """A clipped mean g.

    Attributes
    ----------
    log_low, log_high : array
        ``log(g - l)`` and ``log(u - g)``, infinite where there is no such limit.
    slope : array
        Derivative of g in f.
    """

    log_low: Array
    log_high: Array
    slope: Array


def clipped(law: Law, f: Array, sigma: Array, lower: Array, upper: Array, *, log_time: bool) -> Clipped:
    """Distance of the clipped mean from both limits.

    Parameters
    ----------
    law : Law
    f, sigma, lower, upper : arrays that broadcast together
        Limits on the scale of the response, infinite, or not positive on log time, where there is none.
    log_time : bool

    Returns
    -------
    Clipped

    Examples
    --------
    >>> from tobitgp.likelihoods.laws import Logistic
    >>> one = np.ones(1)
    >>> clipped(Logistic(), 0.5 * one, one, 0.0 * one, np.inf * one, log_time=False).log_low.round(6)
    array([-0.026265])
    """
    f, sigma, lower, upper = np.broadcast_arrays(f, sigma, lower, upper)
    a, b = ends(f, sigma, lower, upper, log_time=log_time)
    if law.name not in _EXCESS:
        return _by_quadrature(law, f, sigma, a, b, lower, upper, log_time=log_time)
    above, below = _EXCESS[law.name]
    tilt, front = (sigma, f + np.log(sigma)) if log_time else (None, np.log(sigma))
    low = np.maximum(lower, 0.0) if log_time else lower
    with np.errstate(all="ignore"):
        beyond = np.where(np.isposinf(upper), -np.inf, above(b, tilt) + law.log_sf(b))
        under = np.where(a <= -_FAR, -np.inf, below(a, tilt) + law.log_cdf(a))
        log_low = front + _log_difference(above(a, tilt) + law.log_sf(a), beyond)
        log_high = front + _log_difference(below(b, tilt) + law.log_cdf(b), under)
        log_low = np.where(np.isneginf(low), np.inf, log_low)
        log_high = np.where(np.isposinf(upper), np.inf, log_high)
        lacking = np.isnan(log_low)
        log_low = np.where(lacking, np.log(np.maximum(upper - low - np.exp(log_high), 0.0)), log_low)
        return Clipped(log_low, log_high, _slope(law, a, b, low, upper, log_low, log_high, log_time=log_time))


def logit(law: Law, f: Array, sigma: Array, lower: Array, upper: Array, *, log_time: bool) -> tuple[Array, Array]:
    """``log(g - l) - log(u - g)`` and its derivative in f; the part of an infinite limit is left out."""
    low, high, slope = clipped(law, f, sigma, lower, upper, log_time=log_time)
    value, rise = np.zeros_like(low), np.zeros_like(low)
    with np.errstate(all="ignore"):
        for part, sign in ((low, 1.0), (high, -1.0)):
            there = ~np.isposinf(part)
            value += np.where(there, sign * part, 0.0)
            rise += np.where(there, slope * np.exp(-part), 0.0)
    return value, rise


def clipped_mean(law: Law, f: Array, sigma: Array, lower: Array, upper: Array, *, log_time: bool) -> Array:
    """``E clip(y*, lower, upper)`` given f; arguments as in :func:`clipped`.

    Examples
    --------
    >>> from tobitgp.likelihoods.laws import Gumbel
    >>> one = np.ones(1)
    >>> clipped_mean(Gumbel(), 0.0 * one, one, 0.0 * one, np.inf * one, log_time=True).round(6)
    array([1.])
    """
    f, sigma, lower, upper = np.broadcast_arrays(f, sigma, lower, upper)
    low = np.maximum(lower, 0.0) if log_time else lower
    part = clipped(law, f, sigma, lower, upper, log_time=log_time)
    with np.errstate(over="ignore", invalid="ignore"):
        from_lower = np.isfinite(low) & ((part.log_low <= part.log_high) | np.isposinf(upper))
        value = np.where(from_lower, low + np.exp(part.log_low), upper - np.exp(part.log_high))
    free = np.isneginf(low) & np.isposinf(upper)
    if free.any():
        value = np.where(free, f + sigma * law.mean, value)
    return np.clip(value, low, upper)


def log_shortfall(law: Law, f: Array, sigma: Array, lower: Array, upper: Array, *, log_time: bool) -> Array:
    """``log E(y* - l; l < y* <= u)`` where l is known, else ``log E(u - y*; y* <= u)``.

    Parameters
    ----------
    law : Law
    f, sigma, lower, upper : arrays that broadcast together
        Ends on the scale of f; not both infinite.
    log_time : bool
        The means are those of the exponential.
    """
    f, sigma, lower, upper = np.broadcast_arrays(f, sigma, lower, upper)
    with np.errstate(all="ignore"):
        low, high = (np.exp(lower), np.exp(upper)) if log_time else (lower, upper)
        mean = seen_mean(law, f, sigma, lower, upper, log_time=log_time)
        gap = np.log(np.where(np.isneginf(lower), high - mean, mean - low))
        one = np.isneginf(lower) | np.isposinf(upper)
        if law.name in _EXCESS and one.any():
            part = clipped(law, f, sigma, low, high, log_time=log_time)
            exact = np.where(np.isneginf(lower), part.log_high, part.log_low)
            return np.where(one, exact, gap + log_mass(law, f, sigma, lower, upper))
        return np.asarray(gap + log_mass(law, f, sigma, lower, upper))


def seen_mean(law: Law, f: Array, sigma: Array, lower: Array, upper: Array, *, log_time: bool) -> Array:
    """``E[y* | l < y* <= u]`` given f; ends on the scale of f, the mean on that of the response.

    Examples
    --------
    >>> from tobitgp.likelihoods.laws import Gumbel
    >>> one = np.ones(1)
    >>> seen_mean(Gumbel(), 0.0 * one, one, np.log(2.0) * one, np.inf * one, log_time=True).round(6)
    array([3.])
    """
    f, sigma, lower, upper = np.broadcast_arrays(f, sigma, lower, upper)
    shape = f.shape
    f, sigma, lower, upper = (x.ravel() for x in (f, sigma, lower, upper))
    right, left = np.isposinf(upper) & np.isfinite(lower), np.isneginf(lower) & np.isfinite(upper)
    closed = (right | left) & (law.name in _EXCESS)
    out = np.empty_like(f)
    rest = np.flatnonzero(~closed)
    if len(rest):
        rows = Predictor(f[rest], np.log(sigma[rest]), law, log_time)
        out[rest] = conditional.conditional_mean(rows, lower[rest], upper[rest])
    i = np.flatnonzero(closed)
    if len(i):
        out[i] = _one_sided_mean(law, f[i], sigma[i], lower[i], upper[i], log_time=log_time)
    return out.reshape(shape)


def log_mass(law: Law, f: Array, sigma: Array, lower: Array, upper: Array) -> Array:
    """``log P(l < y* <= u)`` given f; ends on the scale of f."""
    f, sigma, lower, upper = np.broadcast_arrays(f, sigma, lower, upper)
    a, b = (lower - f) / sigma, (upper - f) / sigma
    return truncated.log_mass(law, a.ravel(), b.ravel()).reshape(f.shape)


def ends(f: Array, sigma: Array, lower: Array, upper: Array, *, log_time: bool) -> tuple[Array, Array]:
    """Standardised limits, finite."""
    if log_time:
        with np.errstate(divide="ignore"):
            lower, upper = np.log(np.maximum(lower, 0.0)), np.log(np.maximum(upper, 0.0))
    return np.clip((lower - f) / sigma, -_FAR, _FAR), np.clip((upper - f) / sigma, -_FAR, _FAR)


def _one_sided_mean(law: Law, f: Array, sigma: Array, lower: Array, upper: Array, *, log_time: bool) -> Array:
    above, below = _EXCESS[law.name]
    a, b = (lower - f) / sigma, (upper - f) / sigma
    right = np.isposinf(upper)
    a, b = np.where(right, a, 0.0), np.where(right, 0.0, b)
    tilt, front = (sigma, f + np.log(sigma)) if log_time else (None, np.log(sigma))
    with np.errstate(over="ignore"):
        up = np.exp(front + above(a, tilt))
        down = np.exp(front + below(b, tilt))
        low, high = (np.exp(lower), np.exp(upper)) if log_time else (lower, upper)
        value = np.where(right, low + up, high - down)
    return np.maximum(value, 0.0) if log_time else value


def _by_quadrature(
    law: Law, f: Array, sigma: Array, a: Array, b: Array, lower: Array, upper: Array, *, log_time: bool
) -> Clipped:
    """Of any law, as regressions do."""
    rows = Predictor(f.ravel(), np.log(sigma).ravel(), law, log_time)
    value, slope = (x.reshape(f.shape) for x in scales.observed(rows, lower.ravel(), upper.ravel())[:2])
    low = np.maximum(lower, 0.0) if log_time else lower
    with np.errstate(all="ignore"):
        if law.name == "student":
            log_low, log_high = _student_gap(law, sigma, a, b, upper), _student_gap(law, sigma, -b, -a, -lower)
        else:
            log_low, log_high = np.log(value - low), np.log(upper - value)
    open_low, open_high = np.isneginf(low), np.isposinf(upper)
    return Clipped(np.where(open_low, np.inf, log_low), np.where(open_high, np.inf, log_high), slope)


def _student_gap(law: Law, sigma: Array, a: Array, b: Array, upper: Array) -> Array:
    """``log(g - l)`` from the mass and mean between the limits; the law is its own mirror image."""
    inside = truncated.between(law, a.ravel(), np.where(np.isposinf(upper), np.inf, b).ravel())
    mass, above = np.exp(inside.log_mass), inside.centre - a.ravel() + inside.drift
    beyond = np.where(np.isposinf(upper), 0.0, (b - a) * np.exp(law.log_sf(b)))
    return np.log(sigma * (beyond + (mass * above).reshape(a.shape)))


def _slope(
    law: Law, a: Array, b: Array, lower: Array, upper: Array, log_low: Array, log_high: Array, *, log_time: bool
) -> Array:
    S_a, S_b, F_a, F_b = (np.exp(x) for x in (law.log_sf(a), law.log_sf(b), law.log_cdf(a), law.log_cdf(b)))
    if not log_time:
        return np.where(a > 0.0, S_a - S_b, F_b - F_a)
    from_lower = np.exp(log_low) + lower * S_a - _times(upper, S_b)
    from_upper = _times(upper, F_b) - lower * F_a - np.exp(log_high)
    return np.where(log_low <= log_high, from_lower, from_upper)


def _times(value: Array, probability: Array) -> Array:
    return np.where(probability > 0.0, value, 0.0) * probability


def _log_difference(x: Array, y: Array) -> Array:
    """``log(exp x - exp y)``, NaN where both are infinite."""
    return x + np.log(-np.expm1(np.minimum(y - x, 0.0)))
