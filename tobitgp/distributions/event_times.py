r"""Times of events that some never have, that follow a past, or that several causes compete for.

A share of cured rows never has the event, :math:`S(t) = \pi + (1 - \pi) S_u(t)`, (CUR1) of the theory pages. A row that
goes on from the past of its subject, who has lived an accelerated time :math:`\psi_0` when it begins at :math:`t_0`,
reaches :math:`\psi_0 + (t - t_0) e^{-\eta}` at t, and :math:`\log \psi` at the event has the distribution of the
noise, (AFT2). The first of independent times, one for each cause, has :math:`S(t) = \prod_k S_k(t)`, (CR1).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import expit, log_expit

from tobitgp.distributions.location_scale import LocationScale
from tobitgp.distributions.response import DECAY, DECAY_WEIGHT, RowDistributions, of_parts, same_as
from tobitgp.distributions.standard_noise import Distribution
from tobitgp.typing import Array, IntArray


@dataclass(frozen=True, slots=True)
class Continued(RowDistributions):
    """Times of n rows, given survival of their start."""

    noise: Distribution
    eta: Array  # (n,), or with more axes
    sigma: Array
    begin: Array  # logarithm of the accelerated time at the start, -inf at time 0
    start: Array

    log = True
    row_fields = ("eta", "sigma", "begin", "start")
    location = same_as("eta")
    width = same_as("sigma")

    @property
    def _of_one(self) -> LocationScale:
        """Distribution of the logarithm of the accelerated time."""
        return LocationScale(self.noise, np.zeros(()), self.sigma)

    @property
    def alive(self) -> Array:
        """Log survival at the start."""
        with np.errstate(invalid="ignore"):
            return np.where(np.isneginf(self.begin), 0.0, self._of_one.logsf(self.begin))

    def _lived(self, y: Array) -> Array:
        with np.errstate(divide="ignore"):
            return np.logaddexp(self.begin, np.log(np.maximum(y - self.start, 0.0)) - self.eta)

    def logsf(self, y: Array) -> Array:
        return self._of_one.logsf(self._lived(y)) - self.alive

    def logpdf(self, y: Array) -> Array:
        lived = self._lived(y)
        return np.where(y < self.start, -np.inf, self._of_one.logpdf(lived) - lived - self.eta - self.alive)

    def modelled_hazard(self, x: Array) -> tuple[Array, Array]:
        with np.errstate(over="ignore"):
            y = np.exp(x)
            H = -self.logsf(y)
            return H, np.exp(self.logpdf(y) + H + x)

    def reached(self, goal: Array) -> Array:
        with np.errstate(over="ignore", divide="ignore"):
            z = self.noise.inverse_log_sf(self.alive - goal)
            return np.log(self.start + np.exp(self.eta) * (np.exp(self.sigma * z) - np.exp(self.begin)))

    def mean(self) -> Array:
        """Mean times; infinite where those of the noise are."""
        tilt = np.broadcast_to(self.sigma >= self.noise.largest_tilt, self.shape)
        free = np.full(self.shape, np.inf)
        with np.errstate(over="ignore", invalid="ignore"):
            value = self.start + np.exp(self.eta) * (
                LocationScale(
                    self.noise, np.zeros(self.shape), np.broadcast_to(self.sigma, self.shape), log=True
                ).conditional_mean(np.exp(np.broadcast_to(self.begin, self.shape)), free)
                - np.exp(self.begin)
            )
        return np.where(tilt, np.inf, value)


@dataclass(frozen=True, slots=True)
class Cured(RowDistributions):
    """Times of n rows; that of a cured one is infinite."""

    uncured: RowDistributions  # times of those who are not cured
    logit: Array  # (n,), of the probability of being cured

    log = True
    row_fields = ("uncured", "logit")
    location = same_as("uncured.location")
    latent = same_as("uncured.latent")
    width = same_as("uncured.width")

    def logsf(self, y: Array) -> Array:
        return np.logaddexp(log_expit(self.logit), log_expit(-self.logit) + self.uncured.logsf(y))

    def logcdf(self, y: Array) -> Array:
        return log_expit(-self.logit) + self.uncured.logcdf(y)

    def logpdf(self, y: Array) -> Array:
        return log_expit(-self.logit) + self.uncured.logpdf(y)

    def cured_log_odds(self, start: Array) -> Array:
        """Log odds of being cured given survival of ``start``: (CUR3) of the theory pages."""
        return np.asarray(self.logit - self.uncured.logsf(start))

    def modelled_hazard(self, x: Array) -> tuple[Array, Array]:
        H, h = self.uncured.modelled_hazard(x)
        survival = np.logaddexp(log_expit(self.logit), log_expit(-self.logit) - H)
        return -survival, expit(-self.logit - H) * h

    def mean(self) -> Array:
        """Infinite, since some never have the event."""
        return np.full(self.shape, np.inf)

    def observed_mean(self, lower: Array, upper: Array, entry: Array, exit: Array, *, fast: bool = False) -> Array:
        if (np.isfinite(entry) | np.isfinite(exit)).any():
            return RowDistributions.observed_mean(self, lower, upper, entry, exit)
        part = self.uncured.observed_mean(lower, upper, entry, exit, fast=fast)
        return np.asarray(expit(self.logit) * upper + expit(-self.logit) * part)

    def reached(self, goal: Array) -> Array:
        """On the scale of the location, infinite where survival stays above it."""
        log_p = -np.asarray(goal)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            left = log_p + np.log(-np.expm1(log_expit(self.logit) - log_p)) - log_expit(-self.logit)
            return np.where(log_p > log_expit(self.logit), self.uncured.exceeded(np.minimum(left, 0.0)), np.inf)


_BLOCK = 30_000  # numbers that a cache holds


@dataclass(frozen=True, slots=True)
class First(RowDistributions):
    """Times of n rows of which each cause has one, and the earliest is seen."""

    causes: tuple[RowDistributions, ...]

    log = True
    row_fields = ("causes",)

    @property
    def location(self) -> Array:  # type: ignore[override]
        """The lowest of the causes."""
        return np.asarray(reduce(np.minimum, [cause.location for cause in self.causes]))

    @property
    def jumps(self) -> Array:
        return np.unique(np.concatenate([cause.jumps for cause in self.causes]))

    @property
    def stepwise(self) -> bool:  # type: ignore[override]
        return all(cause.stepwise for cause in self.causes)

    @property
    def width(self) -> Array:
        return np.asarray(reduce(np.minimum, [cause.width for cause in self.causes]))

    def logsf(self, y: Array) -> Array:
        return np.asarray(sum(cause.logsf(y) for cause in self.causes))

    def logpdf(self, y: Array) -> Array:
        return np.asarray(reduce(np.logaddexp, [self.log_cause_density(k, y) for k in range(len(self.causes))]))

    def log_cause_density(self, k: int, y: Array) -> Array:
        """Log density of an event of cause k at y: its density times the probability that no other came before."""
        rest = [cause.logsf(y) for j, cause in enumerate(self.causes) if j != k]
        return np.asarray(self.causes[k].logpdf(y) + sum(rest))

    def log_hazard(self, y: Array) -> Array:
        return np.asarray(reduce(np.logaddexp, [cause.log_hazard(y) for cause in self.causes]))

    def modelled_hazard(self, x: Array) -> tuple[Array, Array]:
        H, h = zip(*(cause.modelled_hazard(x) for cause in self.causes), strict=True)
        return np.asarray(sum(H)), np.asarray(sum(h))

    def mean(self) -> Array:
        r""":math:`\int_0^\infty Q(e^{-s}) e^{-s} ds`, infinite where some have no event or tails are too heavy."""
        with np.errstate(over="ignore", invalid="ignore"):
            alone = self.take((*(slice(None) for _ in self.shape), None))  # draws that are averaged stay the last axis
            each = alone.survived(np.broadcast_to(-DECAY, (*self.shape, len(DECAY))))
            rising = np.log(each[..., -1]) - np.log(each[..., -2]) >= DECAY[-1] - DECAY[-2]
            return np.where(rising, np.inf, each @ DECAY_WEIGHT)

    def rates(self, y: Array, begin: Array) -> tuple[Array, Array]:
        """Hazards of the causes at positive times y, and cumulative hazards since ``begin``, (K, ...) each."""
        with np.errstate(all="ignore"):
            found = [cause.modelled_hazard(cause.modelled(y)) for cause in self.causes]
            past = [
                np.where(begin > 0.0, cause.modelled_hazard(cause.modelled(begin))[0], 0.0) for cause in self.causes
            ]
            hazard = np.broadcast_arrays(*(h / y for _, h in found))
            return np.stack(hazard), np.stack(
                np.broadcast_arrays(*(H - before for (H, _), before in zip(found, past, strict=True)))
            )

    def step_integrals(self, times: Array, after: float, *, area: bool) -> Array:
        """Incidences (K, n, m, ...) of the causes by times after ``after``, given survival of that.

        With ``area`` it is the area (1, n, m, ...) below survival. Hazards are constant between jumps: (CR7).
        """
        out = np.zeros((1 if area else len(self.causes), self.shape[0], len(times), *self.shape[1:]))
        size = max(_BLOCK // int(np.prod(self.shape[1:])), 1)
        for first in range(0, self.shape[0], size):
            rows = slice(first, first + size)
            self.take(rows)._put_integrals(out[:, rows], times, after, area=area)
        return out

    def _put_integrals(self, out: Array, times: Array, after: float, *, area: bool) -> None:
        """`step_integrals` of a few rows."""
        jumps, total, alive = self.jumps - after, np.zeros((len(out), *self.shape)), np.ones(self.shape)
        inner = (jumps > 0.0) & (jumps < times.max())
        ends = np.unique(np.concatenate([np.zeros(1), times[times > 0.0], jumps[inner]]))
        for low, high in pairwise(ends.tolist()):
            middle = np.full((1,) * len(self.shape), after + 0.5 * (low + high))
            hazards = [cause.hazard(middle) for cause in self.causes]
            gap = np.maximum(reduce(np.add, hazards) * (high - low), 1e-300)
            lasted = alive * (np.expm1(-gap) / gap * (low - high))
            for k, hazard in enumerate([np.ones(())] if area else hazards):
                total[k] += hazard * lasted
            alive = alive * np.exp(-gap)
            for i in np.flatnonzero(times == high).tolist():
                out[:, :, i] = total


@dataclass(frozen=True, slots=True)
class JoinedDraws(RowDistributions):
    """Draws of the distributions of n rows, (n, S), from parts (n, s), each with its own shape."""

    parts: tuple[RowDistributions, ...]
    order: IntArray  # (S,), place of each draw in the parts, where those of one design point follow each other

    log = True
    row_fields = ("parts",)  # of whose rows, not draws, some can be taken

    def _each(self, of: Callable[..., Array], *values: Array) -> Array:
        """A number of every part at values whose last axis is one, or goes over the draws."""
        if len(self.parts) == 1 and all(np.shape(x)[-1] == 1 for x in values):
            found = of(self.parts[0], *values)
            return np.broadcast_to(found, (*found.shape[:-1], len(self.order)))[..., self.order]
        if len(self.parts) == 1 and (np.diff(self.order) == 1).all():
            return of(self.parts[0], *values)
        place, ends = np.argsort(self.order), np.cumsum([part.shape[-1] for part in self.parts])[:-1]
        split: list[Any] = [
            np.split(x[..., place], ends, axis=-1) if np.shape(x)[-1] > 1 else [x] * len(self.parts) for x in values
        ]
        each = [of(part, *(x[j] for x in split)) for j, part in enumerate(self.parts)]
        return np.concatenate(each, axis=-1)[..., self.order]

    @property
    def location(self) -> Array:  # type: ignore[override]
        return self._each(lambda part: np.broadcast_to(part.location, part.shape))

    @property
    def jumps(self) -> Array:
        return np.unique(np.concatenate([part.jumps for part in self.parts]))

    @property
    def shape(self) -> tuple[int, ...]:
        return (*self.parts[0].shape[:-1], len(self.order))

    @property
    def width(self) -> Array:
        return self._each(lambda part: np.broadcast_to(part.width, part.shape))

    logsf = of_parts("logsf")
    logcdf = of_parts("logcdf")
    logpdf = of_parts("logpdf")
    log_hazard = of_parts("log_hazard")
    conditional_mean = of_parts("conditional_mean")

    def modelled_hazard(self, x: Array) -> tuple[Array, Array]:
        H, h = self._each(lambda part, at: np.stack(np.broadcast_arrays(*part.modelled_hazard(at))), x)
        return H, h

    def mean(self) -> Array:
        return self._each(lambda part: np.broadcast_to(part.mean(), part.shape))
