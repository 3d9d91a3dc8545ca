"""The distribution of a new response whose parameters are uncertain: an average over weighted draws of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tobitgp.distributions.response import RowDistributions, complementary, same_as
from tobitgp.numerics.log_probabilities import weighted
from tobitgp.typing import Array

_STEPS, _CLOSE = 200, 1e-13  # of the search of quantiles, and of their logarithms or values
_LOGS, _VALUES = (-746.0, 711.0), (-1e300, 1e300)  # beyond which quantiles are 0 or infinite
_SMALL = 0.05  # a probability up to which its complement keeps its digits


@dataclass(frozen=True, slots=True)
class Averaged(RowDistributions):
    """Distributions of a new response in n rows, the averages of those under S draws."""

    each: RowDistributions  # of arrays (n, ..., S)
    weight: Array  # (S,), sum to one

    row_fields = ("each",)
    log = same_as("each.log")
    discrete = same_as("each.discrete")
    jumps = same_as("each.jumps")

    @property
    def location(self) -> Array:  # type: ignore[override]
        return self._average(self.each.location)

    @property
    def latent(self) -> Array:
        return self._average(self.each.latent)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.each.shape[:-1]

    @property
    def width(self) -> Array:
        return self._average(self.each.width)

    # -- tails --------------------------------------------------------------------------------------------------------

    def log_tails(self, y: Array) -> tuple[Array, Array]:
        above, below = self.each.log_tails(np.asarray(y)[..., None])
        return complementary(lambda: self._mixed(above), lambda: self._mixed(below))

    def logcdf(self, y: Array) -> Array:
        return self.log_tails(y)[1]

    def logpdf(self, y: Array) -> Array:
        return self._mixed(self.each.logpdf(np.asarray(y)[..., None]))

    def log_mass(self, lower: Array, upper: Array) -> Array:
        return self._mixed(self.each.log_mass(np.asarray(lower)[..., None], np.asarray(upper)[..., None]))

    def log_hazard(self, y: Array) -> Array:
        """Hazards are those of the draws, weighted by their survivors."""
        y = np.asarray(y)[..., None]
        alive = self.each.logsf(y)
        with np.errstate(invalid="ignore"):
            rate = np.where(np.isneginf(alive), -np.inf, alive + self.each.log_hazard(y))
            return self._mixed(rate) - self._mixed(alive)

    def modelled_hazard(self, x: Array) -> tuple[Array, Array]:
        risen, rate = self.each.modelled_hazard(np.asarray(x)[..., None])
        least = np.minimum(risen.min(axis=-1, keepdims=True), 1e300)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
            alive = np.subtract(least, risen)
            np.exp(alive, out=alive)
            alive *= self.weight
            left = alive.sum(axis=-1)
            mean = np.asarray(least[..., 0] - np.log(left))
            soon = mean < 2.0 * _SMALL
            below = np.minimum(-np.expm1(-risen[soon]) @ self.weight, _SMALL)
            mean[soon] = np.where(below < _SMALL, -np.log1p(-below), mean[soon])
            total = np.einsum("...s,...s->...", rate, alive)
            if np.isnan(total).any():  # an infinite rate of none alive
                total = weighted(rate, alive).sum(axis=-1)
            return mean, total / left

    def reached(self, goal: Array) -> Array:
        """By Newton's method and bisection between the least and the largest of the draws."""
        goal = np.asarray(goal)
        bottom, top = _LOGS if self.log else _VALUES
        each = np.broadcast_to(goal[..., None], (*goal.shape, len(self.weight)))
        ends = np.clip(self.each.reached(each), bottom, top)
        low, high, x = ends.min(axis=-1), ends.max(axis=-1), self._average(ends)
        for _ in range(_STEPS):
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                risen, rate = self.modelled_hazard(x)
                early = risen < goal
                low, high = np.where(early, x, low), np.where(early, high, x)
                new = x + (goal - risen) / rate
                new = np.where((new > low) & (new < high), new, 0.5 * low + 0.5 * high)
            moved, x = np.abs(new - x), new
            if not (moved > _CLOSE * (1.0 + np.abs(x))).any():
                break
        return np.where(x > top - 1.0, np.inf, np.where(x < bottom + 1.0, -np.inf, x))

    # -- means --------------------------------------------------------------------------------------------------------

    def mean(self) -> Array:
        return self._average(self.each.mean())

    def conditional_mean(self, lower: Array, upper: Array) -> Array:
        """Means of the draws, weighted by their probabilities of lying between the ends."""
        low, high = (np.asarray(end)[..., None] for end in np.broadcast_arrays(lower, upper))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            log_mass = self.each.log_mass(low, high) + np.log(self.weight)
            share = np.exp(log_mass - log_mass.max(axis=-1, keepdims=True))
            value = weighted(self.each.conditional_mean(low, high), share / share.sum(axis=-1, keepdims=True))
            return np.where(lower == upper, lower, np.clip(value.sum(axis=-1), lower, upper))

    def observed_mean(self, lower: Array, upper: Array, entry: Array, exit: Array, *, fast: bool = False) -> Array:
        if (np.isfinite(entry) | np.isfinite(exit)).any():  # which says something of the draws
            return RowDistributions.observed_mean(self, lower, upper, entry, exit, fast=fast)
        ends = (np.asarray(end)[..., None] for end in (lower, upper, entry, exit))
        return self._average(self.each.observed_mean(*ends, fast=fast))

    # -- averages over the draws --------------------------------------------------------------------------------------

    def _average(self, values: Array) -> Array:
        with np.errstate(invalid="ignore", over="ignore"):
            return np.asarray(np.broadcast_to(values, (*np.shape(values)[:-1], len(self.weight))) @ self.weight)

    def _mixed(self, log_p: Array) -> Array:
        """Logarithm of the average of exponentials."""
        top = np.clip(log_p.max(axis=-1, keepdims=True), -1e300, 1e300)
        with np.errstate(divide="ignore", over="ignore", under="ignore"):
            return np.asarray(top[..., 0] + np.log(self._average(np.exp(log_p - top))))
