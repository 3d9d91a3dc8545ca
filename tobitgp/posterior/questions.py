"""Questions: a number of the distribution of the response in a row, and the scale on which its errors are formed.

A question is a row of ``QUESTIONS``, or of ``CURVES`` for those about times, and is answered by every kind of fit. The
distribution that it belongs to is a `LocationScale` of a regression, a `WeightedSum` of a process, a `Predictive` of a
mixture. All of them have ``logpdf, logcdf, logsf, log_odds, log_hazard`` of values, ``ppf(p)`` of one number p,
``mean()``, ``discrete``, and the means ``observed_mean`` of what is shown and ``conditional_mean`` given what was seen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy.special import expit

from tobitgp.distributions.standard_noise import FAR, Distribution
from tobitgp.numerics.log_probabilities import log_complement
from tobitgp.typing import Array, BoolArray, IntArray

Link = Literal["identity", "log", "logit"]
RowSelection = slice | IntArray | BoolArray


def _exp(linked: Array) -> Array:
    with np.errstate(over="ignore"):
        return np.exp(linked)


UNLINK: dict[str, Callable[[Array], Array]] = {"identity": lambda x: x, "log": _exp, "logit": expit}


@dataclass(frozen=True, slots=True)
class Question:
    """A quantity of the distribution of the response in n rows."""

    of: Callable[..., Array]  # of the distribution and of ``at``, on the scale of the link
    link: Link = "identity"  # scale on which errors are formed and intervals symmetric
    at: tuple[Array, ...] = ()  # values of the response, (n,) or (n, m); (1, m) for all rows
    bounds: tuple[Array, Array] | None = None  # between which the number lies
    # Closed forms for normal locations: c and d of ``(noise, scale, *at)``, the number being a function of
    # (location + c) / d that all scales share; with ``linear``, on the scale of the link, that itself, and d = 1.
    pivot: Callable[..., tuple[Any, Any]] | None = None
    linear: bool = False
    order: Callable[..., Array] | None = None  # rises with the number, and keeps digits where that is flat
    fast: Callable[..., Array] | None = None  # the number, at some loss of digits
    rises: bool = True  # with the location
    monotone: bool = True  # in the location
    minus_log: Question | None = None  # minus the logarithm of the number, whose quantiles are easier
    sure: bool = False  # says how well a curve given the parameters is known: intervals are about that
    of_means: bool = False  # of a new response it is known from the mean of f
    response: bool = False  # the number is a response that may be observed: of counts whole, with no standard error

    def __call__(self, y: Any) -> Array:
        """On the scale of the link."""
        return np.asarray(self.of(y, *self.at))

    def number(self, y: Any) -> Array:
        """On its own scale."""
        return UNLINK[self.link](self(y))

    def rank(self, y: Any) -> Array:
        """Something that rises with it."""
        return np.asarray((self.order or self.of)(y, *self.at))

    def fast_number(self, y: Any) -> Array:
        """On its own scale, at some loss of digits."""
        return self.number(y) if self.fast is None else np.asarray(self.fast(y, *self.at))

    def pivots(self, noises: Sequence[Distribution], sigma: Array) -> tuple[Array, Array]:
        """The c and d of every component, shaped as sigma (J, n)."""
        assert self.pivot is not None
        pairs = [self.pivot(noise, scale, *self.at) for noise, scale in zip(noises, sigma, strict=True)]
        return np.stack([np.asarray(c) for c, _ in pairs]), np.stack(
            [d + 0.0 * s for (_, d), s in zip(pairs, sigma, strict=True)]
        )

    @property
    def shared(self) -> bool:
        """Whether all rows have the same values."""
        return all(len(x) > 0 and bool((x == x[0]).all()) for x in self.at)

    def of_first_row(self) -> Question:
        """The quantity for one row, in a shape that broadcasts with others, (1, 1)."""
        one = self.take(slice(0, 1))
        return replace(one, at=tuple(x[:, None] for x in one.at))

    def of_pairs(self, rows: IntArray, values: IntArray) -> Question:
        """The question of rows, each about one of its values, (k,)."""
        at = tuple(x[rows % len(x), values % x.shape[1]] for x in self.at)
        return replace(self, at=at, minus_log=self.minus_log and self.minus_log.of_pairs(rows, values))

    def take(self, rows: RowSelection) -> Question:
        """The question of some rows."""
        bounds = None if self.bounds is None else (self.bounds[0][rows], self.bounds[1][rows])
        minus_log = None if self.minus_log is None else self.minus_log.take(rows)
        at = tuple(value if value.ndim > 1 and len(value) == 1 else value[rows] for value in self.at)
        return replace(self, at=at, bounds=bounds, minus_log=minus_log)


def _linked(positive: bool, value: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(value) if positive else value


def latent(positive: bool) -> Question:
    """Location f, on its own scale."""
    return Question(lambda y: y.latent, pivot=lambda noise, scale: (0.0 * scale, 1.0), linear=True, of_means=True)


def quantile(positive: bool, p: float) -> Question:
    """Quantile of y* of order p."""

    def shift(noise: Distribution, scale: Array) -> tuple[Array, float]:
        return scale * float(noise.ppf(np.array([p]))[0]), 1.0

    link: Link = "log" if positive else "identity"
    return Question(lambda y: _linked(positive, y.ppf(p)), link, pivot=shift, linear=True, response=True)


def mean(positive: bool) -> Question:
    """Mean of y*."""

    def shift(noise: Distribution, scale: Array) -> tuple[Array, float]:
        if not positive:
            return scale * noise.mean, 1.0
        with np.errstate(all="ignore"):
            factor = np.where(scale < noise.largest_tilt, noise.mgf(np.asarray(scale))[0], np.inf)
            return np.log(factor), 1.0

    link: Link = "log" if positive else "identity"
    return Question(lambda y: _linked(positive, y.mean()), link, pivot=shift, linear=True, of_means=not positive)


def observed(positive: bool, lower: Array, upper: Array, entry: Array, exit: Array) -> Question:
    """Mean of y, inside the window and clipped at the limits, (n,) each."""
    truncated = bool((np.isfinite(entry) | np.isfinite(exit)).any())
    bounds = np.fmax(lower, entry), np.fmin(upper, exit)
    if positive:
        bounds = np.maximum(bounds[0], 0.0), bounds[1]
    link: Link = "identity" if truncated or not positive else "log"

    def of(y: Any, *ends: Array) -> Array:
        return _linked(link == "log", y.observed_mean(*ends))

    def order(y: Any, lower: Array, upper: Array, *window: Array) -> Array:
        free = np.isposinf(upper) & (np.isneginf(lower) | positive & (lower <= 0.0))
        odds = y.clipped_log_odds(lower, upper)
        return np.where(free, of(y, lower, upper, *window), odds) if free.any() else odds

    return Question(
        of,
        link,
        (lower, upper, entry, exit),
        bounds,
        order=None if truncated else order,
        fast=lambda y, *ends: y.observed_mean(*ends, fast=True),
        monotone=not truncated,
    )


def conditional(positive: bool, lower: Array, upper: Array) -> Question:
    """Mean of y* where it is known to lie in (lower, upper], (n,) each."""
    bounds = (np.maximum(lower, 0.0) if positive else lower), upper
    return Question(lambda y, *ends: y.conditional_mean(*ends), at=(lower, upper), bounds=bounds)


def probability(positive: bool, limit: Array, *, above: bool) -> Question:
    """Probability that y* lies strictly above, or strictly below, limits."""

    def of(y: Any, x: Array) -> Array:
        return y.log_odds(x) if above else -y.log_odds(np.ceil(x) - 1.0 if y.discrete else x)

    return Question(of, "logit", (limit,), pivot=_pivot(positive), rises=above, sure=True)


def survival(positive: bool, end: Array, start: Array | None = None) -> Question:
    """Probability of surviving ``end``, given survival of ``start`` where one is given."""
    if start is None:
        return probability(positive, end, above=True)

    def of(y: Any, last: Array, first: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            left = np.minimum(y.logsf(last) - y.logsf(first), 0.0)
            return left - log_complement(left)

    risen = cumulative_hazard(positive, end, start)
    return Question(of, "logit", (end, start), monotone=False, minus_log=risen, sure=True)


def cumulative_hazard(positive: bool, end: Array, start: Array | None = None) -> Question:
    """Minus the logarithm of `survival`."""

    def of(y: Any, last: Array, first: Array | None = None) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            risen = -y.logsf(last)
            return np.log(np.maximum(risen, 0.0) if first is None else np.maximum(risen + y.logsf(first), 0.0))

    if start is None:
        return Question(of, "log", (end,), pivot=_pivot(positive), rises=False, sure=True)
    return Question(of, "log", (end, start), monotone=False, sure=True)


def hazard(positive: bool, end: Array, start: Array | None = None) -> Question:
    """Density over survival at ``end``, whatever the start."""
    return Question(lambda y, time: y.log_hazard(time), "log", (end,), monotone=False, sure=True)


def remaining(p: float, start: Array) -> Question:
    """Time after ``start`` at which survival falls to p of what it is there."""

    def of(y: Any, first: Array) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(y.remaining(p, first))

    return Question(of, "log", (start,), monotone=False, sure=True, response=True)


def remaining_area(start: Array, end: Array) -> Question:
    """Area below survival between two values of the response, given survival of the first."""

    def of(y: Any, first: Array, last: Array) -> Array:
        free = np.full_like(first, np.inf)
        with np.errstate(divide="ignore", invalid="ignore"):
            return (y.observed_mean(first, last, -free, free) - first) / np.exp(y.logsf(first))

    return Question(of, at=(start, end), monotone=False)


def _pivot(positive: bool) -> Callable[..., tuple[Array, Array]]:
    def pivot(noise: Distribution, scale: Array, x: Array) -> tuple[Array, Array]:
        with np.errstate(divide="ignore"):
            return np.clip(-(np.log(np.maximum(x, 0.0)) if positive else x), -FAR, FAR), scale

    return pivot


# By ``what`` of a prediction: of whether the response is positive, and of its value then.
QUESTIONS: dict[str, Callable[..., Question]] = {
    "latent": latent,
    "median": lambda positive: quantile(positive, 0.5),
    "uncensored": mean,
    "observed": observed,
    "quantile": quantile,
    "prob": probability,
}
CURVES: dict[str, Callable[..., Question]] = {
    "survival": survival,
    "cumulative_hazard": cumulative_hazard,
    "hazard": hazard,
}
