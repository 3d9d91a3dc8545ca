r"""The distribution of times of which a share never comes: :math:`S(t) = \pi + (1 - \pi) S_u(t)`, (CUR1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, log_expit

from tobitgp.distributions.response import RowDistributions
from tobitgp.typing import Array


@dataclass(frozen=True, slots=True)
class Cured(RowDistributions):
    """Times of n rows; that of a cured one is infinite."""

    uncured: RowDistributions  # times of those who are not cured
    logit: Array  # (n,), of the probability of being cured

    log = True

    @property
    def location(self) -> Array:  # type: ignore[override]
        """Of the log times of those who are not cured."""
        return self.uncured.location

    @property
    def shape(self) -> tuple[int, ...]:
        return np.broadcast_shapes(self.uncured.shape, np.shape(self.logit))

    @property
    def latent(self) -> Array:
        return self.uncured.latent

    @property
    def width(self) -> Array:
        return self.uncured.width

    def take(self, rows: Any) -> Cured:
        return Cured(self.uncured.take(rows), np.broadcast_to(self.logit, self.shape)[rows])

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
