r"""A response between limits given f and sigma, for noise of any law: its clipped mean, and its mean where it was seen.

The counterpart of `tobitgp.results.clipped`, which has the closed forms of normal noise. In terms of A and B of
`Distribution.log_excess`, with standardised limits a and b, the clipped mean g satisfies

.. math:: g - l = c\,[A(a) - A(b)], \quad u - g = c\,[B(b) - B(a)], \quad c = \sigma,\ \text{or}\ \sigma e^f,

both with relative precision. Laws without closed forms are left to the quadrature of regressions. Arrays broadcast
throughout; one law at a time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tobitgp.distributions.base import Distribution
from tobitgp.distributions.intervals import log_mass, narrow_rule
from tobitgp.numerics.log_arithmetic import log_difference, weighted
from tobitgp.regression import conditional, scales
from tobitgp.regression.scales import Predictor
from tobitgp.typing import Array, BoolArray

_FAR = 1e100
_NARROW, _WIDE = 4.0, 0.5


class Rows(NamedTuple):
    """Rows of one law given f, arrays of one shape."""

    law: Distribution
    f: Array
    sigma: Array
    lower: Array  # limits on the scale of the response
    upper: Array  # limits on the scale of the response
    a: Array  # standardised limits, finite
    b: Array  # standardised limits, finite
    log_time: bool

    @property
    def tilt(self) -> Array | None:
        """Of the exponential of log time."""
        return self.sigma if self.log_time else None

    @property
    def front(self) -> Array:
        """``log c``."""
        return np.log(self.sigma) + (self.f if self.log_time else 0.0)


def clipped_mean(law: Distribution, f: Array, sigma: Array, lower: Array, upper: Array, *, log_time: bool) -> Array:
    """``E clip(y*, lower, upper)`` given f."""
    rows = _rows(law, f, sigma, lower, upper, log_time=log_time)
    bounded_below = np.isfinite(rows.lower).any()
    with np.errstate(all="ignore"):
        value = rows.lower + np.exp(_log_low(rows)) if bounded_below else np.full_like(rows.f, np.nan)
        if not np.isfinite(rows.lower).all():
            free = np.isneginf(rows.lower)
            below = rows.upper - np.exp(_log_high(rows))
            value = np.where(free, np.where(np.isposinf(rows.upper), rows.f + rows.sigma * law.mean, below), value)
    return np.clip(value, rows.lower, rows.upper)


def logit(
    law: Distribution, f: Array, sigma: Array, lower: Array, upper: Array, *, log_time: bool
) -> tuple[Array, Array]:
    """``log(g - l) - log(u - g)`` and its derivative in f; the part of an infinite limit is left out."""
    rows = _rows(law, f, sigma, lower, upper, log_time=log_time)
    has_lower, has_upper = bool(np.isfinite(rows.lower).any()), bool(np.isfinite(rows.upper).any())
    with np.errstate(all="ignore"):
        low = _log_low(rows) if has_lower else np.full_like(rows.f, np.inf)
        high = _log_high(rows) if has_upper else np.full_like(rows.f, np.inf)
        rise = _slope(rows, low, high)
        value, slope = np.zeros_like(low), np.zeros_like(low)
        for part, sign, present in ((low, 1.0, has_lower), (high, -1.0, has_upper)):
            if present:
                value += sign * part
                slope += rise * np.exp(-part)
    return value, slope


def seen_mean(law: Distribution, f: Array, sigma: Array, lower: Array, upper: Array, *, log_time: bool) -> Array:
    """``E[y* | l < y* <= u]`` given f; ends on the scale of f, the mean on that of the response."""
    f, sigma, lower, upper = np.broadcast_arrays(f, sigma, lower, upper)
    right, left = np.isposinf(upper) & np.isfinite(lower), np.isneginf(lower) & np.isfinite(upper)
    a, b = (np.clip((end - f) / sigma, -_FAR, _FAR) for end in (lower, upper))
    steep = np.maximum(*(np.abs(law.log_density(end, 1)[1]) for end in (a, b)))
    between = np.isfinite(lower) & np.isfinite(upper)
    narrow = between & ((b - a) * np.maximum(steep, 1.0 / law.reach) < _NARROW)
    wide = between & ~narrow & (b - a > _WIDE)
    kinds = ((right, _mean_above), (left, _mean_below), (narrow, _mean_narrow), (wide, _mean_wide))
    out, rest = np.empty(f.shape), ~(right | left | narrow | wide)
    for at, mean in kinds:
        if at.any():
            with np.errstate(all="ignore"):
                low, high = (np.exp(end[at]) if log_time else end[at] for end in (lower, upper))
                found = mean(Rows(law, f[at], sigma[at], low, high, a[at], b[at], log_time))
            if found is None:
                rest |= at
            else:
                out[at] = found
                rest[at] = np.isnan(found)
    if rest.any():
        rows = Predictor(f[rest], np.log(sigma[rest]), law, log_time)
        out[rest] = conditional.conditional_mean(rows, lower[rest], upper[rest])
    return out


def _mean_above(rows: Rows) -> Array | None:
    """Mean of rows known to lie above a limit."""
    excess = rows.law.log_excess(rows.a, rows.tilt, above=True)
    return None if excess is None else rows.lower + np.exp(rows.front + excess)


def _mean_below(rows: Rows) -> Array | None:
    excess = rows.law.log_excess(rows.b, rows.tilt, above=False)
    if excess is None:
        return None
    value = rows.upper - np.exp(rows.front + excess)
    return np.maximum(value, 0.0) if rows.log_time else value


def _mean_narrow(rows: Rows) -> Array:
    """By quadrature of the density."""
    z, log_weight = narrow_rule(rows.law, rows.a, rows.b)
    weight = np.exp(log_weight - log_weight.max(axis=0))
    y = np.exp(rows.f + rows.sigma * z) if rows.log_time else rows.lower + rows.sigma * (z - rows.a)
    return np.asarray((weight * y).sum(axis=0) / weight.sum(axis=0))


def _mean_wide(rows: Rows) -> Array | None:
    """What the clipped mean owes to the values between the limits; NaN where the law without limits has no mean."""
    excess = rows.law.log_excess(rows.a, rows.tilt, above=True)
    if excess is None:
        return None
    law, gap = rows.law, rows.upper - rows.lower
    mass = np.exp(log_mass(law, rows.a, rows.b))
    from_lower = rows.lower + (np.exp(_log_low(rows)) - gap * np.exp(law.log_sf(rows.b))) / mass
    from_upper = rows.upper - (np.exp(_log_high(rows)) - gap * np.exp(law.log_cdf(rows.a))) / mass
    value = np.clip(np.where(rows.a + rows.b > 0.0, from_lower, from_upper), rows.lower, rows.upper)
    return np.where(np.isposinf(excess), np.nan, value)


def shown_mean(law: Distribution, f: Array, sigma: Array, *limits: Array, log_time: bool) -> Array:
    """`tobitgp.regression.conditional.shown_mean` given f, of arrays that broadcast together."""

    def mean(rows: Predictor, low: Array, high: Array) -> Array:
        return seen_mean(rows.law, rows.eta, rows.sigma, low, high, log_time=rows.log_time)

    f, sigma, *ends = np.broadcast_arrays(f, sigma, *limits)
    lower, upper, entry, exit = ends
    return conditional.shown_mean(Predictor(f, np.log(sigma), law, log_time), lower, upper, entry, exit, mean)


def ends(f: Array, sigma: Array, lower: Array, upper: Array, *, log_time: bool) -> tuple[Array, Array]:
    """Standardised limits, finite."""
    if log_time:
        with np.errstate(divide="ignore"):
            lower, upper = np.log(np.maximum(lower, 0.0)), np.log(np.maximum(upper, 0.0))
    return np.clip((lower - f) / sigma, -_FAR, _FAR), np.clip((upper - f) / sigma, -_FAR, _FAR)


def _rows(law: Distribution, f: Array, sigma: Array, lower: Array, upper: Array, *, log_time: bool) -> Rows:
    lower = np.maximum(lower, 0.0) if log_time else lower
    f, sigma, lower, upper = np.broadcast_arrays(f, sigma, lower, upper)
    return Rows(law, f, sigma, lower, upper, *ends(f, sigma, lower, upper, log_time=log_time), log_time)


def _log_low(rows: Rows) -> Array:
    """``log(g - l)``."""
    part = rows.law.log_excess(rows.a, rows.tilt, above=True)
    if part is None:
        return np.log(_observed(rows) - rows.lower)
    with np.errstate(all="ignore"):
        near = part + rows.law.log_sf(rows.a)
        if np.isposinf(rows.upper).all():
            return rows.front + near
        beyond = rows.law.log_excess(rows.b, rows.tilt, above=True)
        assert beyond is not None
        far = np.where(np.isposinf(rows.upper), -np.inf, beyond + rows.law.log_sf(rows.b))
        out = rows.front + log_difference(near, far)
        both = np.isposinf(far)
        if both.any():
            rest = _pick(rows, both)
            out[both] = np.log(np.maximum(rest.upper - rest.lower - np.exp(_log_high(rest)), 0.0))
    return out


def _log_high(rows: Rows) -> Array:
    """``log(u - g)``."""
    part = rows.law.log_excess(rows.b, rows.tilt, above=False)
    if part is None:
        return np.log(rows.upper - _observed(rows))
    with np.errstate(all="ignore"):
        near = part + rows.law.log_cdf(rows.b)
        if (rows.a <= -_FAR).all():
            return rows.front + near
        under = rows.law.log_excess(rows.a, rows.tilt, above=False)
        assert under is not None
        far = np.where(rows.a <= -_FAR, -np.inf, under + rows.law.log_cdf(rows.a))
        return rows.front + log_difference(near, far)


def _observed(rows: Rows) -> Array:
    """As regressions do."""
    at = Predictor(rows.f.ravel(), np.log(rows.sigma).ravel(), rows.law, rows.log_time)
    return scales.observed(at, rows.lower.ravel(), rows.upper.ravel()).value.reshape(rows.f.shape)


def _slope(rows: Rows, log_low: Array, log_high: Array) -> Array:
    """Derivative of g in f: the probability between the limits, or the part of ``E y*`` there."""
    survival, cdf = rows.law.log_sf, rows.law.log_cdf
    S_a, S_b, F_a, F_b = (np.exp(tail(z)) for tail in (survival, cdf) for z in (rows.a, rows.b))
    if not rows.log_time:
        return np.where(rows.a > 0.0, S_a - S_b, F_b - F_a)
    from_lower = np.exp(log_low) + rows.lower * S_a - weighted(rows.upper, S_b)
    from_upper = weighted(rows.upper, F_b) - rows.lower * F_a - np.exp(log_high)
    return np.where(log_low <= log_high, from_lower, from_upper)


def _pick(rows: Rows, at: BoolArray) -> Rows:
    arrays = {name: getattr(rows, name)[at] for name in ("f", "sigma", "lower", "upper", "a", "b")}
    return rows._replace(**arrays)
