"""Likelihoods of log times as formulas. The parameters of the rows are jets, and so is what the formulas give.

`RowTimes` has the log density of log times, and the log probabilities of what lies above, below and between some. One
distribution may be built from another, as `CuredTimes` is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tobitgp.distributions.baselines import Baseline
from tobitgp.distributions.response import of_parts
from tobitgp.distributions.standard_noise import SHAPE_STEP, Distribution
from tobitgp.numerics.jets import Jet, chain, log_complement, log_expit, logaddexp, scatter
from tobitgp.numerics.roots import five_differences
from tobitgp.typing import Array

_HALF = float(np.log(0.5))
Derivatives = tuple[Array, Sequence[Array], Mapping[tuple[int, int], Array]]


class RowTimes:
    """The distributions of the log times of n rows; log times and all values are (n,)."""

    __slots__ = ()

    def log_density(self, v: Array) -> Jet:
        """Log density of log times."""
        raise NotImplementedError

    def log_sf(self, v: Array) -> Jet:
        """Log probability of more."""
        raise NotImplementedError

    def log_cdf(self, v: Array) -> Jet:
        """Log probability of at most so much."""
        raise NotImplementedError

    def log_between(self, a: Array, b: Array) -> Jet:
        """Log probability of what lies between finite ends."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class StandardisedTimes(RowTimes):
    """Log times v for which z(v), which rises, has the distribution of ``noise``."""

    noise: Distribution
    rising: Callable[[Array], tuple[Jet, Jet]]  # z at log times, and the logarithm of its slope
    shape: Jet | None = None  # coordinate of the shape of the noise of each row, where it is a parameter

    def log_density(self, v: Array) -> Jet:
        z, log_slope = self.rising(v)
        return self._of(_density, z) + log_slope

    def log_sf(self, v: Array) -> Jet:
        return self._of(_above, self.rising(v)[0])

    def log_cdf(self, v: Array) -> Jet:
        return self._of(_below, self.rising(v)[0])

    def log_between(self, a: Array, b: Array) -> Jet:
        return self._of(_between, self.rising(a)[0], self.rising(b)[0])

    def _of(self, derivatives: Callable[..., Derivatives], *z: Jet) -> Jet:
        """A function of one z or two; its derivatives in the shape are differences."""
        at, k = [each.value for each in z], len(z)
        if self.shape is None:
            return chain(z, *derivatives(self.noise, *at))
        place = np.broadcast_to(self.shape.value, at[0].shape)
        found = [_of_shapes(derivatives, self.noise, place + i * SHAPE_STEP, at) for i in (-2.0, -1.0, 0.0, 1.0, 2.0)]
        value, first, second = found[2]
        once, twice = five_differences([part[0] for part in found], SHAPE_STEP)
        mixed = {(i, k): five_differences([part[1][i] for part in found], SHAPE_STEP)[0] for i in range(k)}
        return chain((*z, self.shape), value, (*first, once), {**second, **mixed, (k, k): twice})


def location_scale_times(noise: Distribution, eta: Jet, tau: Jet, shape: Jet | None = None) -> StandardisedTimes:
    """Log times of a location and a log scale."""
    log_rate: Any = -tau
    rate = np.exp(log_rate)
    return StandardisedTimes(noise, lambda v: ((v - eta) * rate, log_rate), shape)


def transformed_times(
    noise: Distribution, baseline: Baseline, eta: Jet, c: Sequence[Jet], since: Array | None = None
) -> StandardisedTimes:
    """Log times for which ``z(v) = eta + s(v)``: (PH5).

    With ``since`` (n,) they are those of rows that survived these log times, of noise whose hazards add up.
    """

    def rising(v: Array) -> tuple[Jet, Jet]:
        s, log_slope = baseline.at(v, c) if since is None else baseline.since(v, since, c)
        return eta + s, log_slope

    return StandardisedTimes(noise, rising)


@dataclass(frozen=True, slots=True)
class CuredTimes(RowTimes):
    """Times of rows of which a share never has the event: (CUR1) and (CUR2)."""

    uncured: RowTimes
    logit: Jet  # of that share

    log_density = of_parts("log_density")
    log_cdf = of_parts("log_cdf")
    log_between = of_parts("log_between")

    def log_sf(self, v: Array) -> Jet:
        return logaddexp(log_expit(self.logit), self._each(lambda uncured: uncured.log_sf(v)))

    def _each(self, of: Callable[..., Jet], *values: Array) -> Jet:
        joint: Jet = log_expit(-self.logit) + of(self.uncured, *values)
        return joint


def _of_shapes(of: Callable[..., Derivatives], noise: Distribution, place: Array, at: Sequence[Array]) -> Derivatives:
    """Derivatives in rows whose noise has the shapes with coordinates (n,)."""
    if not len(place) or (place == place[0]).all():
        return of(noise.at_coordinate(float(place[0])) if len(place) else noise, *at)
    if noise.shape_by_row:
        return of(noise.at_coordinate(place), *at)
    shapes, which = np.unique(place, return_inverse=True)
    order = np.argsort(which, kind="stable")
    rows = np.split(order, np.cumsum(np.bincount(which))[:-1])
    found = [of(noise.at_coordinate(float(x)), *(z[i] for z in at)) for x, i in zip(shapes, rows, strict=True)]
    back = np.argsort(order, kind="stable")

    def joined(part: Callable[[Derivatives], Array]) -> Array:
        return np.concatenate([part(each) for each in found])[back]

    first = tuple(joined(lambda each, k=k: each[1][k]) for k in range(len(at)))  # type: ignore[misc]
    second = {pair: joined(lambda each, pair=pair: each[2][pair]) for pair in found[0][2]}  # type: ignore[misc]
    return joined(lambda each: each[0]), first, second


def _density(noise: Distribution, z: Array) -> Derivatives:
    value, first, second = noise.log_density(z, 2)
    return value, (first,), {(0, 0): second}


def _above(noise: Distribution, z: Array) -> Derivatives:
    value, first, second = noise.upper_tail(z)
    return value, (first,), {(0, 0): second}


def _below(noise: Distribution, z: Array) -> Derivatives:
    value, first, second = noise.lower_tail(z)
    return value, (first,), {(0, 0): second}


def _between(noise: Distribution, a: Array, b: Array) -> Derivatives:
    log_p = noise.log_mass(a, b)
    (f_a, g_a), (f_b, g_b) = noise.log_density(a, 1), noise.log_density(b, 1)
    d_a, d_b = -np.exp(f_a - log_p), np.exp(f_b - log_p)
    return log_p, (d_a, d_b), {(0, 0): d_a * (g_a - d_a), (0, 1): -d_a * d_b, (1, 1): d_b * (g_b - d_b)}


@dataclass(frozen=True, slots=True)
class FunctionTimes(RowTimes):
    """Rows from functions of log times, or values, and parameters: a log density and the log of a tail or two."""

    density: Callable[..., Jet]
    above: Callable[..., Jet]
    below: Callable[..., Jet] | None
    at: tuple[Jet, ...]

    def log_density(self, v: Array) -> Jet:
        return self.density(v, *self.at)

    def log_sf(self, v: Array) -> Jet:
        return self.above(v, *self.at)

    def log_cdf(self, v: Array) -> Jet:
        return log_complement(self.log_sf(v)) if self.below is None else self.below(v, *self.at)

    def log_between(self, a: Array, b: Array) -> Jet:
        """From the tail in which the interval lies."""
        above, beyond = self.log_sf(a), self.log_sf(b)
        upper = above + log_complement(beyond - above)
        right = np.flatnonzero(above.value < _HALF)
        left = np.flatnonzero(above.value >= _HALF)
        if not len(left):
            return upper
        below, within = self.log_cdf(a), self.log_cdf(b)
        lower = within + log_complement(below - within)
        return scatter(len(a), [(right, upper.take(right)), (left, lower.take(left))])
