"""Numbers of the distribution of the response where the parameters of its rows are uncertain.

Of estimates with a covariance by the delta method, (SUR7), of weighted draws by their averages and quantiles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit, ndtri

from tobitgp.distributions.averaged import Averaged
from tobitgp.distributions.response import RowDistributions
from tobitgp.engines import row_chunks
from tobitgp.numerics.roots import slope
from tobitgp.numerics.sampling import draw_quantiles
from tobitgp.posterior.questions import UNLINK, Link, Question, RowSelection
from tobitgp.typing import Array, IntArray

STEP = 0.003
_ROUNDING = 1e-10


@dataclass(frozen=True, slots=True)
class Estimates:
    """Parameters of the distributions of the response in n rows, r of them in each, and their covariance."""

    at: Callable[[tuple[Array, ...]], Any]  # distributions at values of the parameters
    x: tuple[Array, ...]  # estimates, r arrays (n,)
    unit: tuple[Array, ...]  # sizes of their steps
    covariance: Array  # (n, r, r)
    lost: Array  # the same of what is unidentified
    best: Any = None  # distributions of a new response, where these are not those at the estimates
    shared: bool = False  # all rows have the parameters of one

    @property
    def given(self) -> Any:
        """Distributions at the estimates."""
        return self.at(self.x)

    @property
    def new(self) -> Any:
        """Distributions of a new response."""
        return self.given if self.best is None else self.best

    def moved(self, r: int, h: float) -> Any:
        """Distributions with a parameter some of its units away."""
        return self.at((*self.x[:r], self.x[r] + h * self.unit[r], *self.x[r + 1 :]))

    def take(self, rows: RowSelection) -> Estimates:
        """Some of the rows."""
        if self.shared:
            return self
        x, unit = (tuple(values[rows] for values in each) for each in (self.x, self.unit))
        return replace(self, x=x, unit=unit, covariance=self.covariance[rows], lost=self.lost[rows])

    @property
    def beside_shared_values(self) -> Any:
        """Distributions of a new response in rows that all meet the same values, (m,)."""
        return self.spread_over().new

    def beside_own_values(self, *values: Array) -> Any:
        """Distributions of a new response in rows, each at its own values, (n, m)."""
        return self.spread_over().new

    def remaining(self, orders: Sequence[float], start: Array, most: float | None = None) -> Array:
        """Times after ``start`` (n,) at which survival falls to shares of what it is there, (n, k)."""
        return np.stack([self.new.remaining(p, start) for p in orders], axis=1)

    def spread_over(self) -> Estimates:
        """The rows with a trailing axis for several values each, (n, 1)."""
        x, unit = (tuple(values[:, None] for values in each) for each in (self.x, self.unit))
        return self if self.shared else replace(self, x=x, unit=unit)

    def slopes(self, question: Callable[[Any], Array]) -> Array:
        """Derivatives (r, n) of a number in the parameters."""
        with np.errstate(all="ignore"):
            moves = [slope(lambda h, r=r: question(self.moved(r, h)), STEP) for r in range(len(self.x))]  # type: ignore[misc]
            return np.stack([move / unit for move, unit in zip(moves, self.unit, strict=True)])

    @np.errstate(over="ignore", invalid="ignore")
    def errors(self, question: Callable[[Any], Array]) -> Array:
        """Standard errors (n,) of a number: inf above 1e154, NaN if it depends on an unidentified parameter."""
        G = self.slopes(question)
        used = np.einsum("nrr->rn", self.covariance) + np.einsum("nrr->rn", self.lost) > 0.0
        used = used.reshape(*used.shape, *[1] * (G.ndim - 2))
        broken = (~np.isfinite(G) & used).any(axis=0)
        G = np.where(np.isfinite(G), G, 0.0)
        variance, lost = (
            np.einsum("rn...,nrs,sn...->n...", G, np.broadcast_to(V, (G.shape[1], *V.shape[1:])), G, optimize=True)
            for V in (self.covariance, self.lost)
        )
        return np.where(broken | (lost > _ROUNDING * variance), np.nan, np.sqrt(np.maximum(variance, 0.0)))

    def value(self, question: Question) -> Array:
        """The number of a new response, (n,)."""
        return question.number(self.new)

    def statistics(self, question: Question, level: float | None, *, se: bool) -> dict[str, Array]:
        """``estimate``, with ``se`` or a level also ``se``, with a level ``lower`` and ``upper``; (n,) each."""
        value = self.value(question)
        out = {"estimate": value}
        if not se and level is None:
            return out
        with np.errstate(all="ignore"):
            linked = question(self.given if question.sure else self.new)
        error = self.errors(question)
        error = np.where(np.isinf(linked) & np.isfinite(value), 0.0, error)  # of what is certain
        with np.errstate(all="ignore"):
            spread = np.where(error > 0.0, error * _stretch(question.link, linked, value), error)
        out["se"] = np.where(np.isfinite(value), spread, np.nan)
        if level is not None:
            reach = float(ndtri(0.5 + 0.5 * level)) * error
            for name, side in (("lower", -1.0), ("upper", 1.0)):  # symmetric on the scale of the link
                with np.errstate(all="ignore"):
                    end = UNLINK[question.link](linked + side * reach)
                end = np.where(np.isinf(linked), value, end)
                out[name] = end if question.bounds is None else np.clip(end, *question.bounds)
        return out

    def band(self, question: Question, level: float) -> dict[str, Array]:
        """``median``, ``lower`` and ``upper`` of the number given the parameters."""
        out = self.statistics(question, level, se=False)
        return {"median": question.number(self.given), "lower": out["lower"], "upper": out["upper"]}


def _stretch(link: Link, linked: Array, value: Array) -> Array | float:
    """Derivative of the number in what it is on the scale of the link."""
    if link == "logit":
        return np.asarray(expit(linked) * expit(-linked))
    return value if link == "log" else 1.0


_CELLS = 4_000_000  # numbers of rows, values and draws that are held at once
_EXTREME = 1e-15  # order of a quantile next to 0 or 1


@dataclass(frozen=True, slots=True)
class Sampled:
    """Distributions of the response in n rows under S draws of the parameters.

    Draws are made when a quantity requires them, for the rows of the quantity.
    """

    drawn: Callable[[IntArray], RowDistributions]  # of k of the rows under every draw, arrays (k, S)
    weight: Array  # (S,), sum to one
    rows: IntArray  # (n,)
    best: Callable[[IntArray], RowDistributions] | None = None  # of a new response, if not the average over the draws
    spread: bool = False  # at several values each

    @property
    def given(self) -> RowDistributions:
        """Distributions under every draw, arrays (n, S), or (n, 1, S) at several values each."""
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
        """Distributions of a new response in rows, each at its own values, (n, m)."""
        return self.spread_over().new

    def take(self, rows: RowSelection) -> Sampled:
        """Some of the rows."""
        return replace(self, rows=self.rows[rows])

    def spread_over(self) -> Sampled:
        """The rows with an axis for several values each."""
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
            if question.response:
                return np.quantile(numbers, orders, axis=-1, method="nearest")
            return draw_quantiles(numbers, orders)
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
