"""Draws of values that are known to lie between two ends, under the laws of a mixture's components.

As in `tobitgp.distributions.intervals`, in logarithms of the smaller tail. Components have point parameters: normal
or log-normal, Weibull or exponential, whose logarithms follow the minimum-extreme-value law, and Poisson.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tobitgp.distributions.gumbel import Gumbel
from tobitgp.distributions.intervals import quantile_inside
from tobitgp.distributions.normal import Normal as StandardNormal
from tobitgp.mixture.count_laws import PoissonLaw
from tobitgp.mixture.law import Law, Normal, Weibull
from tobitgp.mixture.predictive import Predictive
from tobitgp.numerics.counts import log_at_least, log_below
from tobitgp.numerics.draws import open_uniform
from tobitgp.typing import Array, BoolArray, IntArray

_MOST = 60  # doublings and halvings: counts are below 2**53


def draw_inside(predictive: Predictive, lower: Array, upper: Array, rng: np.random.Generator) -> Array:
    """A value for each row (lower, upper], (n,): its component given what is known, then a value of that law there.

    Shapes: lower, upper (n,).
    """
    out = np.array(lower, dtype=np.float64)
    open_rows = np.flatnonzero(lower != upper)
    low, high = out[open_rows], np.asarray(upper, dtype=np.float64)[open_rows]
    share = np.cumsum(predictive.components(low, high), axis=1)
    first, second = open_uniform(rng, (2, len(low)))
    which = np.minimum((first[:, None] * share[:, -1:] > share).sum(axis=1), share.shape[1] - 1)
    law = predictive.law
    out[open_rows] = np.clip(_INSIDE[type(law)](law, which, second, low, high), low, high)
    return out


def _normal(law: Law, which: IntArray, uniform: Array, low: Array, high: Array) -> Array:
    assert isinstance(law, Normal)
    loc, scale = law.loc[which], law.scale[which]
    if law.logarithm:
        low, high = _log(low), _log(high)
    value = loc + scale * quantile_inside(StandardNormal(), uniform, (low - loc) / scale, (high - loc) / scale)
    with np.errstate(over="ignore"):
        return np.exp(value) if law.logarithm else value


def _weibull(law: Law, which: IntArray, uniform: Array, low: Array, high: Array) -> Array:
    """The logarithm of the value follows the minimum-extreme-value law."""
    assert isinstance(law, Weibull)
    loc, scale = np.log(law.scale[which]), 1.0 / law.shape[which]
    z = quantile_inside(Gumbel(), uniform, (_log(low) - loc) / scale, (_log(high) - loc) / scale)
    with np.errstate(over="ignore"):
        return np.exp(loc + scale * z)


def _poisson(law: Law, which: IntArray, uniform: Array, low: Array, high: Array) -> Array:
    """The smallest count up to which the share lies, by doublings and halvings."""
    assert isinstance(law, PoissonLaw)
    rate, low = law.rate[which], np.maximum(np.floor(low), -1.0)

    def tails(x: Array) -> tuple[Array, Array]:
        last = np.isposinf(x)
        at = np.where(last, 0.0, x + 1.0)
        return np.where(last, 0.0, log_below(at, rate)), np.where(last, -np.inf, log_at_least(at, rate))

    with np.errstate(all="ignore"):
        (below_low, above_low), (below_high, above_high) = tails(low), tails(np.floor(high))
        left = below_high < above_low
        rest, share = np.log1p(-uniform), np.log(uniform)
        log_below_it = np.logaddexp(rest + below_low, share + below_high)
        log_above_it = np.logaddexp(rest + above_low, share + above_high)

        def enough(x: Array) -> BoolArray:
            below, above = tails(x)
            return np.asarray(np.where(left, below >= log_below_it, above <= log_above_it))

        start, width = low, np.ones_like(low)
        for _ in range(_MOST):
            short = ~enough(np.minimum(start + width, high))
            if not short.any():
                break
            width = np.where(short, 2.0 * width, width)
        end = np.minimum(start + width, np.floor(high))
        while (wide := end - start > 1.0).any():
            middle = np.floor(0.5 * (start + end))
            reached = enough(middle)
            start, end = np.where(wide & ~reached, middle, start), np.where(wide & reached, middle, end)
    return end


def _log(value: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.maximum(value, 0.0)))


_INSIDE: dict[type, Callable[[Law, IntArray, Array, Array, Array], Array]] = {
    Normal: _normal,
    Weibull: _weibull,
    PoissonLaw: _poisson,
}
