"""Weighted draws of the distributions of the response in rows: numbers of them by averages and quantiles of draws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from tobitgp.distributions.averaged import Averaged
from tobitgp.distributions.response import RowDistributions
from tobitgp.engines import row_chunks
from tobitgp.posterior.questions import Question, Rows
from tobitgp.typing import Array, IntArray

_CELLS = 4_000_000  # numbers of rows, values and draws that are held at once
_EXTREME = 1e-15  # order of a quantile next to 0 or 1


@dataclass(frozen=True, slots=True)
class Sampled:
    """Distributions of the response in n rows under S draws of the parameters.

    Draws are made when a number needs them, of the rows that it is asked of.
    """

    drawn: Callable[[IntArray], RowDistributions]  # of k of the rows under every draw, arrays (k, S)
    weight: Array  # (S,), sum to one
    rows: IntArray  # (n,)
    best: Callable[[IntArray], RowDistributions] | None = None  # of a new response, if not the average over the draws
    spread: bool = False  # beside several values each

    @property
    def given(self) -> RowDistributions:
        """Distributions under every draw, arrays (n, S), or (n, 1, S) beside several values each."""
        return self._beside(self.drawn(self.rows))

    @property
    def new(self) -> RowDistributions:
        """Distributions of a new response."""
        return Averaged(self.given, self.weight) if self.best is None else self._beside(self.best(self.rows))

    def _beside(self, y: RowDistributions) -> RowDistributions:
        return y.beside() if self.spread else y

    @property
    def beside_shared_values(self) -> RowDistributions:
        """Distributions of a new response in rows that all meet the same values, (m,)."""
        return self.spread_over().new

    def beside_own_values(self, *values: Array) -> RowDistributions:
        """Distributions of a new response in rows that meet values of their own, (n, m)."""
        return self.spread_over().new

    def take(self, rows: Rows) -> Sampled:
        """Some of the rows."""
        return replace(self, rows=self.rows[rows])

    def spread_over(self) -> Sampled:
        """The rows beside several values each."""
        return replace(self, spread=True)

    def remaining(self, orders: Sequence[float], start: Array, most: float | None = None) -> Array:
        """Values after ``start`` (n,) at which survival falls to shares of what it is there, (n, k)."""
        y = self.new
        return np.stack([y.remaining(p, start) for p in orders], axis=1)

    # -- statistics of a question -------------------------------------------------------------------------------------

    def numbers(self, question: Question) -> Array:
        """The number under every draw, (n, ..., S)."""
        at = tuple(np.asarray(value)[..., None] for value in question.at)
        with np.errstate(all="ignore"):
            return replace(question, at=at).number(self.given)

    def value(self, question: Question) -> Array:
        """The number of a new response, (n,)."""
        with np.errstate(all="ignore"):
            return question.number(self.new)

    def statistics(self, question: Question, level: float | None, *, se: bool) -> dict[str, Array]:
        """``estimate``, with ``se`` or a level also ``se``, with a level ``lower`` and ``upper``; (n,) each."""

        def some(part: Sampled, asked: Question) -> dict[str, Array]:
            value = part.value(asked)
            out = {"estimate": value}
            if not se and level is None:
                return out
            numbers = part.numbers(asked)
            out["se"] = part._deviation(numbers, value, asked)
            if level is not None:
                low, high = part._quantiles(numbers, (0.5 - 0.5 * level, 0.5 + 0.5 * level), asked)
                out["lower"], out["upper"] = np.minimum(low, value), np.maximum(high, value)
            return out

        return self._chunked(some, question)

    def band(self, question: Question, level: float) -> dict[str, Array]:
        """``median``, ``lower`` and ``upper`` of the number given the parameters."""
        orders = (0.5, 0.5 - 0.5 * level, 0.5 + 0.5 * level)

        def some(part: Sampled, asked: Question) -> dict[str, Array]:
            found = part._quantiles(part.numbers(asked), orders, asked)
            return dict(zip(("median", "lower", "upper"), found, strict=True))

        return self._chunked(some, question)

    def _chunked(self, some: Callable[[Sampled, Question], dict[str, Array]], question: Question) -> dict[str, Array]:
        """Join statistics of a few rows at a time."""
        values = max((x.shape[1] for x in question.at if x.ndim > 1), default=1)
        spans = row_chunks(0, len(self.rows), max(_CELLS // (len(self.weight) * values), 1))
        made = [some(self.take(span), question.take(span)) for span in list(spans) or [slice(0, 0)]]
        return {name: np.concatenate([each[name] for each in made]) for name in made[0]}

    def _deviation(self, numbers: Array, value: Array, question: Question) -> Array:
        """Standard deviation over the draws; NaN where some are infinite, infinite where a mean is."""
        with np.errstate(invalid="ignore", over="ignore"):
            gap = numbers - np.where(np.isfinite(value), value, 0.0)[..., None]
            spread = np.sqrt(np.maximum(np.square(gap) @ self.weight - np.square(gap @ self.weight), 0.0))
        return np.where(np.isposinf(value) & (not question.response), np.inf, spread)

    def _quantiles(self, numbers: Array, orders: Sequence[float], question: Question) -> Array:
        """Quantiles (k, n, ...) of numbers; of responses that may be infinite, one of the draws themselves."""
        if np.ptp(self.weight) == 0.0:
            return np.quantile(numbers, orders, axis=-1, method="nearest" if question.response else "linear")
        return weighted_quantiles(numbers, self.weight, orders)


def weighted_quantiles(numbers: Array, weight: Array, orders: Sequence[float]) -> Array:
    """Quantiles (k, ...) of numbers (..., S) with weights (S,), straight between them on the scale of normal scores."""
    shape, numbers = numbers.shape[:-1], numbers.reshape(-1, len(weight))
    place = np.argsort(numbers, axis=1)
    values, share = np.take_along_axis(numbers, place, axis=1), weight[place]
    below = np.clip(np.cumsum(share, axis=1) - 0.5 * share, _EXTREME, 1.0 - _EXTREME)
    out = np.empty((len(orders), len(numbers)))
    for i, (known, places) in enumerate(zip(values, below, strict=True)):
        at = np.clip(np.searchsorted(places, orders), 1, max(len(places) - 1, 1))
        first, last = known[at - 1], known[np.minimum(at, len(known) - 1)]
        scores = ndtri(places[at - 1]), ndtri(places[np.minimum(at, len(known) - 1)])
        with np.errstate(invalid="ignore", divide="ignore"):
            part = np.clip((ndtri(orders) - scores[0]) / (scores[1] - scores[0]), 0.0, 1.0)
            between = first + part * (last - first)
        certain = np.where(part < 0.5, first, last)
        out[:, i] = np.where((first != last) & np.isfinite(first) & np.isfinite(last), between, certain)
    return out.reshape(len(orders), *shape)
