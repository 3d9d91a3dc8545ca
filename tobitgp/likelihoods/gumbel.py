r"""Expected log likelihoods under Gumbel noise, whose upper tail is too steep for quadrature.

With a = (lower - f) / sigma the log probability of (lower, upper] is :math:`-e^a` plus what bends gently: nothing on
right-censored rows, a - log sigma on exact ones, and on intervals the log cdf at :math:`a + \log(e^w - 1)`, w their
width over sigma. Of a row that entered late :math:`-(e^a - e^{a'})` is left, a' that of its entry, which is one
exponential again. For a ~ N(a0, t^2), :math:`E e^a = e^{a_0 + t^2 / 2}`, which comes from t^2 to the right of a0.
"""

from __future__ import annotations

import numpy as np

from tobitgp.data.problem import Rows
from tobitgp.distributions.gumbel import Gumbel
from tobitgp.typing import Array

_LARGEST = 300.0
_LAW = Gumbel()


def gentle_part(rows: Rows, f: Array, sigma: float) -> Array:
    """Log likelihood without its exponentials: value, two derivatives in f, and that in log sigma; (4, n)."""
    if rows.kind == "exact":
        z = (rows.limit - f) / sigma
        out = np.stack([z - np.log(sigma), np.full_like(z, -1.0 / sigma), np.zeros_like(z), -z - 1.0])
    else:
        out = _gentle_mass(rows.lower, rows.upper, rows.width, f, sigma)
    if rows.window is not None:
        out -= _gentle_mass(*rows.window, f, sigma)
    return out


def exponential_part(rows: Rows, mean: Array, sd: Array, sigma: float) -> Array:
    """Expectations (4, n) of what `gentle_part` leaves out, f ~ N(mean, sd^2)."""
    out = np.zeros((4, len(mean)))
    entry = np.full_like(mean, -np.inf) if rows.window is None else rows.window.entry
    at = np.flatnonzero(np.isfinite(rows.lower) & (rows.lower > entry))
    late = np.isfinite(entry[at])
    since = np.where(late, entry[at], rows.lower[at])
    lift, growth = (np.where(late, x, 0.0) for x in _lift(np.where(late, rows.lower[at] - since, 1.0) / sigma))
    a, t = (since - mean[at]) / sigma, sd[at] / sigma
    rise = np.exp(np.minimum(a + lift + 0.5 * t * t, _LARGEST))
    out[:, at] = -rise, rise / sigma, -rise / sigma**2, rise * (a + t * t + growth)
    return out


def _lift(w: Array) -> tuple[Array, Array]:
    """``log(e^w - 1)``, and w times its derivative."""
    return w + np.log(-np.expm1(-w)), w / -np.expm1(-w)


def _gentle_mass(lower: Array, upper: Array, width: Array, f: Array, sigma: float) -> Array:
    out = np.zeros((4, len(f)))
    left, between = np.isinf(lower) & np.isfinite(upper), np.isfinite(lower) & np.isfinite(upper)
    for rows, end in ((np.flatnonzero(left), upper), (np.flatnonzero(between), lower)):
        z = (end[rows] - f[rows]) / sigma
        lift = growth = np.zeros_like(z)
        if end is lower:
            lift, growth = _lift(width[rows] / sigma)
        tail = _LAW.lower_tail(z + lift)
        out[:, rows] = tail.log_p, -tail.d1 / sigma, tail.d2 / sigma**2, -(z + growth) * tail.d1
    return out
