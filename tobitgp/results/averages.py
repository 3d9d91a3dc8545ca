r"""Averages over rows of functionals of the response's distribution, and the uncertainty of several averages.

.. math:: Q_a = \frac{\sum_i w_i\, Q(x_i, a; \theta)}{\sum_i w_i},

where a are the values that columns are set to in all rows: (STD1) of the theory pages. A median is that of the averaged
curve.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd
from scipy.special import logit, ndtri

from tobitgp.distributions.response import RowDistributions
from tobitgp.distributions.standard_noise import Distribution
from tobitgp.numerics.roots import RowIndex, solve_quantile, where_it_ends
from tobitgp.numerics.sampling import draw_quantiles
from tobitgp.posterior.questions import (
    UNLINK,
    Link,
    Question,
    mean,
    observed,
    probability,
    remaining_area,
    survival,
)
from tobitgp.results.rows import Asked
from tobitgp.typing import Array

AT_TIMES = ("survival", "risk", "rmst")
WHATS = (*AT_TIMES, "median", "mean")
DRAWS = 4000
_LINKS: dict[Link, Callable[[Array], Array]] = {"identity": lambda x: x, "log": np.log, "logit": logit}


@dataclass(frozen=True, slots=True)
class Population:
    """Rows that are averaged over under A settings of some of their columns."""

    asked: Asked  # A n rows, those of a setting after those of another
    frame: pd.DataFrame  # their covariates
    settings: int  # A
    weight: Array  # (n,)
    resampled: bool  # whether the rows are a sample of those that are meant
    draws: int
    rng: np.random.Generator

    def rows(self, setting: int) -> slice:
        """Rows under a setting."""
        n = len(self.weight)
        return slice(setting * n, (setting + 1) * n)


@dataclass(frozen=True, slots=True)
class Sought:
    """The quantity to average."""

    what: str
    times: Array  # (m,); of what is at no times one that is not used
    positive: bool  # whether the response is
    after: float | None = None  # survived already, from which times count
    cause: int | None = None  # of the events of a risk, where there are several; any without

    @property
    def link(self) -> Link:
        """Scale on which intervals are symmetric."""
        return "logit" if self.what in ("survival", "risk") else "log" if self.positive else "identity"

    def question(self, times: Array) -> Question:
        """Functional of the response in every row; times (m,), given survival of ``after`` in each."""
        at = times[None]
        if self.what == "mean":
            return mean(self.positive)
        free = np.full_like(at, np.inf)
        if self.after is not None:
            start = np.full_like(at, self.after)
            if self.what == "rmst":
                return remaining_area(start, start + at)
            left = survival(self.positive, start + at, start)
            return left if self.what == "survival" else replace(left, of=lambda y, *ends: -left.of(y, *ends))
        if self.what == "rmst":
            return observed(self.positive, np.zeros_like(at), at, -free, free)
        return probability(self.positive, at, above=False) if self.what == "risk" else survival(self.positive, at)

    def within(self, values: Array) -> Array:
        """Values (m, ...) inside their bounds."""
        if self.what not in AT_TIMES:
            return values
        most = self.times.reshape(-1, *[1] * (values.ndim - 1)) if self.what == "rmst" else 1.0
        return np.clip(values, 0.0, most)


@runtime_checkable
class HasAverages(Protocol):
    """A fit whose predictions can be averaged over rows."""

    parts: Any

    def _averages(self, population: Population, sought: Sought) -> Averages:
        """Averages over rows under settings of their columns."""


class Averages:
    """Averages under A settings at m times."""

    __slots__ = ()

    def statistics(self, level: float | None) -> dict[str, Array]:
        """``estimate, se`` and with a level ``lower, upper``, (A, m) each."""
        raise NotImplementedError

    def contrast(self, level: float | None, *, ratio: bool) -> dict[str, Array]:
        """The same for the first setting less the second, or over it, (m,) each."""
        raise NotImplementedError

    def drawn(self, draws: int, rng: np.random.Generator) -> DrawnAverages:
        """Draws of the same."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Estimated(Averages):
    """Estimates and their covariance by the delta method."""

    sought: Sought
    estimate: Array  # (A, m)
    covariance: Array  # (m, A, A)

    def statistics(self, level: float | None) -> dict[str, Array]:
        se = np.sqrt(np.einsum("maa->am", self.covariance))
        return _normal(self.estimate, se, level, self.sought.link, lambda x: self.sought.within(x.T).T)

    def contrast(self, level: float | None, *, ratio: bool) -> dict[str, Array]:
        a, b = self.estimate
        with np.errstate(divide="ignore", invalid="ignore"):  # of infinite medians
            slopes = np.stack([1.0 / b, -a / b**2] if ratio else [np.ones_like(a), -np.ones_like(b)])
            se = np.sqrt(np.einsum("am,mab,bm->m", slopes, self.covariance, slopes))
            return _normal(a / b if ratio else a - b, se, level, "log" if ratio else "identity")

    def drawn(self, draws: int, rng: np.random.Generator) -> DrawnAverages:
        """Each setting separately, normal on the scale of the link."""
        se, link = self.statistics(None)["se"], self.sought.link
        moves = (se / _stretch(self.estimate, link))[..., None] * rng.standard_normal((*se.shape, draws))
        return DrawnAverages(UNLINK[link](_LINKS[link](self.estimate)[..., None] + moves))

    def beside(self, other: Estimated) -> Estimated:
        """One setting of each of two independent fits."""
        V = np.zeros((len(self.covariance), 2, 2))
        V[:, 0, 0], V[:, 1, 1] = self.covariance[:, 0, 0], other.covariance[:, 0, 0]
        return replace(self, estimate=np.concatenate([self.estimate, other.estimate]), covariance=V)


@dataclass(frozen=True, slots=True)
class DrawnAverages(Averages):
    """Draws from the posterior."""

    values: Array  # (A, m, S)

    def statistics(self, level: float | None) -> dict[str, Array]:
        return _of_draws(self.values, level)

    def contrast(self, level: float | None, *, ratio: bool) -> dict[str, Array]:
        """The exponential of the mean of its logarithm for a ratio."""
        a, b = self.values
        with np.errstate(invalid="ignore", divide="ignore"):  # of infinite means
            moved = np.log(a / b) if ratio else a - b
        if not ratio:
            return _of_draws(moved, level)
        log = _of_draws(moved, level)
        out = {name: np.exp(values) for name, values in log.items()}
        return out | {"se": log["se"] * out["estimate"]}

    def drawn(self, draws: int, rng: np.random.Generator) -> DrawnAverages:
        return self


def beside(first: Averages, second: Averages, draws: int, rng: np.random.Generator) -> Averages:
    """One setting of each of two independent fits."""
    if isinstance(first, Estimated) and isinstance(second, Estimated):
        return first.beside(second)
    return DrawnAverages(np.concatenate([each.drawn(draws, rng).values for each in (first, second)]))


def _of_draws(values: Array, level: float | None) -> dict[str, Array]:
    with np.errstate(invalid="ignore"):
        out = {"estimate": values.mean(axis=-1), "se": values.std(axis=-1)}
    if level is not None:
        tail = 0.5 * (1.0 - level)
        out["lower"], out["upper"] = draw_quantiles(values, [tail, 1.0 - tail])
    return out


def _stretch(value: Array, link: Link) -> Array:
    """Derivative of a number in what it is on the scale of a link."""
    return value * (1.0 - value) if link == "logit" else value if link == "log" else np.ones_like(value)


def _normal(
    value: Array, se: Array, level: float | None, link: Link, within: Callable[[Array], Array] = lambda x: x
) -> dict[str, Array]:
    """Numbers with intervals that are symmetric on the scale of a link."""
    out = {"estimate": value, "se": se}
    if level is not None:
        with np.errstate(all="ignore"):
            linked, reach = _LINKS[link](value), float(ndtri(0.5 + 0.5 * level)) * se / _stretch(value, link)
            ends = (np.where(se == 0.0, value, within(UNLINK[link](linked + side * reach))) for side in (-1.0, 1.0))
            out |= dict(zip(("lower", "upper"), ends, strict=True))
    return out


def averaged_median(noise: Distribution, f: Array, sigma: Array, share: Array) -> tuple[Array, Array]:
    """Median (s,) of averaged distributions on the scale of f, and their density there.

    Shapes: f (n, s), sigma broadcasts against it, share (n, 1) or (n, s) adds up to one.
    """
    sigma, share = np.broadcast_to(sigma, f.shape), np.broadcast_to(share, f.shape)

    def cdf(x: Array, rows: RowIndex) -> tuple[Array, Array]:
        z = (x - f[:, rows]) / sigma[:, rows]
        mass, density = np.exp(noise.log_cdf(z)), np.exp(noise.logpdf(z)) / sigma[:, rows]
        return (share[:, rows] * mass).sum(axis=0), (share[:, rows] * density).sum(axis=0)

    middle = f + sigma * float(noise.ppf(np.array([0.5]))[0])
    start = (share * middle).sum(axis=0)
    found = solve_quantile(cdf, 0.5, low=middle.min(axis=0), high=middle.max(axis=0), start=start, tolerance=1e-10)
    return found, cdf(found, slice(None))[1]


def averaged_remaining_median(y: RowDistributions, share: Array, after: float) -> tuple[Array, Array]:
    """Time (s,) after ``after`` at which averages of survival given that of ``after`` are one half, and its density.

    Shapes: y (n, s), share (n, 1) or (n, s) adds up to one.
    """
    start = np.array(after)
    alive, ends = y.logsf(start), y.remaining(0.5, start)

    def left(times: Array) -> Array:
        return np.asarray((share * np.exp(y.logsf(after + times) - alive)).sum(axis=0))

    found = where_it_ends(lambda times: left(times) > 0.5, ends.min(axis=0), ends.max(axis=0))
    return found, (share * np.exp(y.logpdf(after + found) - alive)).sum(axis=0)
