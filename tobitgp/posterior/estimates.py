"""Estimates and their covariance: numbers of the distribution of the response by the delta method, (SUR7)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit, ndtri

from tobitgp.numerics.roots import slope
from tobitgp.posterior.questions import UNLINK, Link, Question, Rows
from tobitgp.typing import Array

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

    def take(self, rows: Rows) -> Estimates:
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
        """Distributions of a new response in rows that meet values of their own, (n, m)."""
        return self.spread_over().new

    def remaining(self, orders: Sequence[float], start: Array, most: float | None = None) -> Array:
        """Times after ``start`` (n,) at which survival falls to shares of what it is there, (n, k)."""
        return np.stack([self.new.remaining(p, start) for p in orders], axis=1)

    def spread_over(self) -> Estimates:
        """The rows beside several values each, (n, 1)."""
        x, unit = (tuple(values[:, None] for values in each) for each in (self.x, self.unit))
        return self if self.shared else replace(self, x=x, unit=unit)

    def slopes(self, question: Callable[[Any], Array]) -> Array:
        """Derivatives (r, n) of a number in the parameters."""
        with np.errstate(all="ignore"):
            moves = [slope(lambda h, r=r: question(self.moved(r, h)), STEP) for r in range(len(self.x))]  # type: ignore[misc]
            return np.stack([move / unit for move, unit in zip(moves, self.unit, strict=True)])

    def errors(self, question: Callable[[Any], Array]) -> Array:
        """Standard errors (n,) of a number; NaN where a parameter that it depends on is not identified."""
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
