r"""Mixtures of regressions: each row is of one of K components, each with its own coefficients of location.

The density of a row is :math:`\sum_k w_k f_k(y)`, and the probability of the interval of a censored row is
:math:`\sum_k w_k P_k`: (MOR1) of the theory pages. With odds :math:`o_1 = 1` the weights are
:math:`w_k = o_k / \sum_j o_j`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from scipy.special import log_softmax, logsumexp

from tobitgp.distributions.formulas import RowTimes
from tobitgp.distributions.intervals import enclosed_root
from tobitgp.distributions.response import RowDistributions, of_parts, same_as
from tobitgp.distributions.row_models import RowModel, RowParameter
from tobitgp.numerics.jets import Jet, logaddexp
from tobitgp.typing import Array

LOCATION, ODDS = "location_", "odds_"
NARROWEST = 0.02  # scale of a component over the largest, below which it follows a few rows
_ALIKE = 1e-6  # differences of components that are the same, in scales
_HALF = float(np.log(2.0))  # a cumulative hazard
_CLOSEST = np.finfo(np.float64).epsneg  # of a uniform number to 0 and 1


def parameters_of_components(components: int) -> dict[str, list[str]]:
    """Parameters of the rows that one formula of ``sigma`` or of ``odds`` is about."""
    return {
        "sigma": [f"sigma_{k}" for k in range(1, components + 1)],
        "odds": [f"{ODDS}{k}" for k in range(2, components + 1)],
    }


@dataclass(frozen=True, slots=True)
class MixedRows(RowDistributions):
    """K distributions of the response in rows, and the logarithms of their weights there."""

    parts: tuple[RowDistributions, ...]
    log_weight: Array  # (K, n), or with more axes

    @property
    def log(self) -> bool:  # type: ignore[override]
        return self.parts[0].log

    @property
    def shape(self) -> tuple[int, ...]:
        return self.log_weight.shape[1:]

    @property
    def location(self) -> Array:  # type: ignore[override]
        """Average of the locations of the components."""
        return self._average([part.location for part in self.parts])

    @property
    def width(self) -> Array:
        middle = self.location
        return np.sqrt(self._average([np.square(p.width) + np.square(p.location - middle) for p in self.parts]))

    def take(self, rows: Any) -> MixedRows:
        return MixedRows(tuple(part.take(rows) for part in self.parts), np.stack([w[rows] for w in self.log_weight]))

    def _average(self, values: Sequence[Array]) -> Array:
        return np.asarray((np.exp(self.log_weight) * np.stack(values)).sum(axis=0))

    def _joint(self, of: Callable[[RowDistributions], Array]) -> Array:
        """Logarithms of weights times a probability, or density, of each component, (K, ...)."""
        each = (weight + of(part) for weight, part in zip(self.log_weight, self.parts, strict=True))
        return np.stack(np.broadcast_arrays(*each))

    def _each(self, of: Callable[..., Array], *values: Array) -> Array:
        """Logarithms of weighted sums of a probability, or density, of each component."""
        return np.asarray(logsumexp(self._joint(lambda part: of(part, *values)), axis=0))

    logpdf = of_parts("logpdf")
    logsf = of_parts("logsf")
    logcdf = of_parts("logcdf")
    log_mass = of_parts("log_mass")

    def modelled_hazard(self, x: Array) -> tuple[Array, Array]:
        H, h = (np.stack(each) for each in zip(*(part.modelled_hazard(x) for part in self.parts), strict=True))
        alive = self.log_weight - H
        left = logsumexp(alive, axis=0)
        return -left, np.asarray((np.exp(alive - np.maximum(left, -1e300)) * h).sum(axis=0))

    def reached(self, goal: Array) -> Array:
        """Between the values where the components reach it, by the tail that is small."""
        each = [part.reached(goal) for part in self.parts]
        low, high = np.minimum.reduce(each), np.maximum.reduce(each)
        goal = np.broadcast_to(goal, low.shape)
        with np.errstate(all="ignore"):
            below, log_cdf = goal < _HALF, np.log(-np.expm1(-np.minimum(goal, 1.0)))

            def excess(x: Array) -> Array:
                upper = self.modelled_hazard(x)[0] - goal
                return np.where(below, self.logcdf(self.response(x)) - log_cdf, upper) if below.any() else upper

            return np.where(low == high, low, enclosed_root(excess, low, high))

    def mean(self) -> Array:
        return self._average([part.mean() for part in self.parts])

    def conditional_mean(self, lower: Array, upper: Array) -> Array:
        """Means of the components inside, weighted by their probabilities there."""
        share = memberships(self._joint(lambda part: part.log_mass(lower, upper)))
        each = np.stack([part.conditional_mean(lower, upper) for part in self.parts])
        value = np.where(share > 0.0, share * each, 0.0).sum(axis=0)
        return np.where(lower == upper, lower, value)

    def independent(self, uniform: Array) -> Array:
        """Each from the component in whose share of 0 to 1 its uniform number lies."""
        weight = np.exp(self.log_weight)
        ends = np.cumsum(weight, axis=0)
        which = np.minimum((uniform >= ends).sum(axis=0), len(weight) - 1)
        out = np.empty(which.shape)
        for k, part in enumerate(self.parts):
            share = np.clip((uniform - ends[k] + weight[k]) / weight[k], _CLOSEST, 1.0 - _CLOSEST)
            out = np.where(which == k, part.independent(share), out)
        return out

    def memberships(self, lower: Array, upper: Array, entry: Array, exit: Array) -> Array:
        """Probabilities (K, n) of each component given the values or intervals of the rows: (MOR2); all ends (n,)."""
        exact, free = lower == upper, np.full(len(lower), np.inf)
        low, high = np.where(exact, lower, np.maximum(lower, entry)), np.where(exact, upper, np.minimum(upper, exit))
        return memberships(self._joint(lambda part: part.log_likelihood(low, high, -free, free)))


def memberships(log_joint: Array) -> Array:
    """Shares of components (K, ...) from logarithms; equal where all are 0."""
    with np.errstate(invalid="ignore"):
        share = np.exp(log_joint - logsumexp(log_joint, axis=0))
    return np.where(np.isnan(share), 1.0 / len(log_joint), share)


@dataclass(frozen=True, slots=True)
class MixedTimes(RowTimes):
    """Formulas of the likelihood of rows of K components."""

    parts: tuple[RowTimes, ...]
    log_weight: tuple[Jet, ...]  # K

    log_density = of_parts("log_density")
    log_sf = of_parts("log_sf")
    log_cdf = of_parts("log_cdf")
    log_between = of_parts("log_between")

    def _each(self, of: Callable[..., Jet], *values: Array) -> Jet:
        return reduce(logaddexp, (w + of(part, *values) for w, part in zip(self.log_weight, self.parts, strict=True)))


@dataclass(frozen=True, slots=True)
class MixedModel(RowModel):
    """Rows of K components, each with the parameters of another model: (MOR1)."""

    component: RowModel
    components: int  # K

    log = same_as("component.log")

    @property
    def parameters(self) -> tuple[RowParameter, ...]:
        """Locations from the second component on, then the other parameters of each, then the odds of components."""
        later = range(2, self.components + 1)
        return (
            *(RowParameter(f"{LOCATION}{k}", "location") for k in later),
            *(
                replace(each, name=f"{each.name}_{k}")
                for k in range(1, self.components + 1)
                for each in self.component.parameters
            ),
            *(RowParameter(f"{ODDS}{k}") for k in later),
        )

    def split(self, x: Sequence[Any]) -> tuple[list[list[Any]], list[Any]]:
        """Parameters of each component, and log odds from the second on."""
        K, own = self.components, len(self.component.parameters)
        others = [list(x[K + k * own : K + (k + 1) * own]) for k in range(K)]
        return [[x[k], *others[k]] for k in range(K)], list(x[K + K * own :])

    def times(self, at: Sequence[Jet]) -> RowTimes:
        parts, odds = self.split(at)
        log_odds = [Jet(np.zeros_like(at[0].value), {}, {}), *odds]
        total = reduce(logaddexp, log_odds)
        return MixedTimes(tuple(self.component.times(each) for each in parts), tuple(each - total for each in log_odds))

    def distributions(self, x: tuple[Array, ...]) -> MixedRows:
        parts, odds = self.split(np.broadcast_arrays(*x))
        log_weight = log_softmax(np.stack([np.zeros_like(parts[0][0]), *odds]), axis=0)
        return MixedRows(tuple(self.component.distributions(tuple(each)) for each in parts), log_weight)

    def units(self, x: tuple[Array, ...]) -> tuple[Array, ...]:
        parts, odds = self.split(x)
        location, *later = (self.component.units(tuple(each)) for each in parts)
        others = [unit for each in (location, *later) for unit in each[1:]]
        return (location[0], *(each[0] for each in later), *others, *(np.ones_like(each) for each in odds))

    def follows_a_few(self, x: tuple[Array, ...]) -> bool:
        scales = np.stack([self.component.units(tuple(each))[0] for each in self.split(x)[0]])
        return bool((scales.min(axis=0) < NARROWEST * scales.max(axis=0)).all())

    def alike(self, x: tuple[Array, ...]) -> bool:
        each = [(*part[:1], *self.component.units(tuple(part))[:1]) for part in self.split(x)[0]]
        (first, scale), *later = each
        differ = (np.abs(np.stack([at - first, own - scale])) for at, own in later)
        return all(bool((apart < _ALIKE * scale).all()) for apart in differ)

    def rises(self, x: tuple[Array, ...]) -> bool:
        return all(self.component.rises(tuple(each)) for each in self.split(x)[0])
