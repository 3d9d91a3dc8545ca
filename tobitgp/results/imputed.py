r"""The response given what was seen of a row, for noise of any law and rows with a window.

Given f a row says :math:`p(f) = P(l < y^* \le u) / P(\mathrm{entry} < y^* < \mathrm{exit})`. With f normal without the
row's own word, the response that was not seen has mean

.. math:: E[p(f)\,E(y^* | f, l < y^* \le u)] / E\,p(f),

integrals over f in which the distance from a known end is a positive factor, so that nothing cancels close to it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from tobitgp.distributions import intervals
from tobitgp.distributions.base import Distribution
from tobitgp.numerics.quadrature import Function, integrals, log_integrals
from tobitgp.results import predictive
from tobitgp.results.bounded import seen_mean
from tobitgp.results.predictive import HALF_LOG_2PI
from tobitgp.typing import Array, IntArray

NODES, REACH = 257, 8.0
EDGE = 20.0  # nodes about an end lie up to sinh(EDGE) widths of the noise from it
FARTHEST = 38.0  # beyond this many standard deviations a normal probability is no number


class Component(NamedTuple):
    """n rows under one design point."""

    law: Distribution
    mean: Array  # (n,), of f without the row's own word
    sd: Array  # (n,), of f without the row's own word
    sigma: float
    lower: Array  # (n,), what is known of y*, and the window, on the scale of f
    upper: Array  # (n,), what is known of y*, and the window, on the scale of f
    entry: Array  # (n,), what is known of y*, and the window, on the scale of f
    exit: Array  # (n,), what is known of y*, and the window, on the scale of f
    log_time: bool  # the response is the exponential of y*

    def log_word(self, f: Array, i: IntArray) -> Array:
        """What rows i, (p, 1), say of values f, (p, k): ``log p(f)``."""
        ends = (self.lower[i], self.upper[i], self.entry[i], self.exit[i])
        a, b, first, last = ((end - f) / self.sigma for end in ends)
        return intervals.log_mass(self.law, a, b) - intervals.log_mass(self.law, first, last)

    def mean_seen(self, f: Array, i: IntArray) -> Array:
        """``E(y* | f, l < y* <= u)`` on the scale of the response."""
        sigma = np.asarray(self.sigma)
        return seen_mean(self.law, f, sigma, self.lower[i], self.upper[i], log_time=self.log_time)


def log_predictive(rows: Component) -> Array:
    """Log probability of what was seen, ``log E p(f)``, (n,); log density where the response is exact."""
    a, b, first, last = ((end - rows.mean) / rows.sigma for end in (rows.lower, rows.upper, rows.entry, rows.exit))
    t, exact = rows.sd / rows.sigma, rows.lower == rows.upper
    out = np.empty_like(t)
    if (~exact).any():
        out[~exact] = predictive.log_mass(rows.law, *(x[~exact] for x in (a, b, t, first, last)))
    if exact.any():
        density = predictive.log_density(rows.law, *(x[exact] for x in (a, t, first, last)))
        out[exact] = density - np.log(rows.sigma)
    return out


def imputed_mean(rows: Component) -> Array:
    """``E[y* | what was seen]`` of rows that are not exact, (n,), on the scale of the response."""
    unknown = np.isneginf(rows.lower) & np.isposinf(rows.upper)
    below = np.isneginf(rows.lower) & ~(unknown & rows.log_time)
    end = np.where(below, rows.upper, rows.lower)
    with np.errstate(over="ignore"):
        end = np.exp(end) if rows.log_time else end
    side = np.where(below, -1.0, 1.0)

    def values(x: Array, i: IntArray) -> Array:
        log_weight = _log_weight(rows, x, i)
        away = np.log(np.maximum(side[i] * (rows.mean_seen(rows.mean[i] + rows.sd[i] * x, i) - end[i]), 0.0))
        return np.stack([log_weight, log_weight + away])

    with np.errstate(all="ignore"):
        whole, part = _log_integrals(rows, values, grow=rows.log_time)
        value = end + side * np.exp(part - whole)
        return np.where(unknown & (not rows.log_time), rows.mean + rows.sigma * rows.law.mean, value)


def imputed_nodes(rows: Component) -> tuple[Array, Array]:
    """Log density of f given what was seen, and the conditional mean there, (n, NODES) each, up to constants."""
    x, i = _nodes(rows), _each(rows)
    with np.errstate(all="ignore"):
        return _log_weight(rows, x, i), rows.mean_seen(rows.mean[i] + rows.sd[i] * x, i)


def latent_quantiles(rows: Component, scores: Array) -> Array:
    """Quantiles of f given what was seen of rows that are not exact: the inverse cdf in (PRE8) of the theory pages.

    Shapes: scores (n, k); gives (n, k).
    """
    with np.errstate(all="ignore"):
        x = _graded_nodes(rows)
        at = _normal_scores(x, _log_weight(rows, x, _each(rows)))
    x = np.stack([np.interp(*of_row) for of_row in zip(scores, at, x, strict=True)])
    return rows.mean[:, None] + rows.sd[:, None] * x


def _normal_scores(x: Array, log_density: Array) -> Array:
    """Where points x (n, k) stand in the law of such a density, as quantiles of the standard normal law."""
    density = np.exp(log_density - log_density.max(axis=1, keepdims=True))
    mass = 0.5 * np.diff(x, axis=1) * (density[:, 1:] + density[:, :-1])
    # Each tail is summed from its own end, where its digits are.
    below = np.pad(np.cumsum(mass, axis=1), ((0, 0), (1, 0)))
    above = np.pad(np.cumsum(mass[:, ::-1], axis=1)[:, ::-1], ((0, 0), (0, 1)))
    whole = np.maximum(below[:, -1:], 1e-300)
    scores = np.where(below < above, ndtri(below / whole), -ndtri(above / whole))
    return np.clip(scores, -FARTHEST, FARTHEST)


def _graded_nodes(rows: Component) -> Array:
    """As ``_nodes``, and as many about each end of a row, graded from the width of the noise to all that f may be.

    What a row says of f changes within that width, which may be far narrower than the law of f; heavy tails of the
    noise may leave f a second mode, where it was without the row's word.
    """
    i, (low, high) = _each(rows), (end[:, None] for end in _reach(rows))
    step = rows.sigma * rows.law.reach * np.sinh(np.linspace(-EDGE, EDGE, NODES))
    edges = [(end[i] + step - rows.mean[i]) / np.maximum(rows.sd[i], 1e-300) for end in (rows.lower, rows.upper)]
    return np.sort(np.hstack([_nodes(rows), *(np.clip(edge, low, high) for edge in edges)]), axis=1)


def _nodes(rows: Component) -> Array:
    """Values (n, NODES) between which f lies given what was seen, in standard deviations without the row's word."""
    whole = _log_integrals(rows, lambda x, i: _log_weight(rows, x, i)[None])[0]

    def powers(x: Array, i: IntArray) -> Array:
        density = np.exp(_log_weight(rows, x, i) - whole[i])
        return np.stack([density * x, density * x * x])

    first, second = integrals(powers, *_reach(rows), *_features(rows))
    spread = np.sqrt(np.maximum(second - first * first, 0.0))
    return first[:, None] + spread[:, None] * np.linspace(-REACH, REACH, NODES)


def _log_weight(rows: Component, x: Array, i: IntArray) -> Array:
    """Log density of what was seen and of f, (p, k), in rows i, (p, 1)."""
    return rows.log_word(rows.mean[i] + rows.sd[i] * x, i) - 0.5 * x * x - HALF_LOG_2PI


def _each(rows: Component) -> IntArray:
    return np.arange(len(rows.mean))[:, None]


def _log_integrals(rows: Component, values: Function, *, grow: bool = False) -> Array:
    low, high = _reach(rows)
    return log_integrals(values, low, high + (rows.sd if grow else 0.0), *_features(rows))


def _reach(rows: Component) -> tuple[Array, Array]:
    """Range of f, in standard deviations."""
    a, b = (rows.lower - rows.mean) / rows.sigma, (rows.upper - rows.mean) / rows.sigma
    return predictive.reach(rows.law, np.where(a > 0.0, a, np.minimum(b, 0.0)), rows.sd / rows.sigma)


def _features(rows: Component) -> tuple[Array, Array]:
    """One over the width of features, and where they lie."""
    ends = [(end - rows.mean) / np.maximum(rows.sd, 1e-300) for end in (rows.lower, rows.upper, rows.entry, rows.exit)]
    kinks = np.stack([np.where(np.isfinite(end), end, 0.0) for end in ends], axis=1)
    return rows.sd / (rows.sigma * rows.law.reach), kinks
