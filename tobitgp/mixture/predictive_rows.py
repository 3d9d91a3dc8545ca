"""The predictive distribution of a mixture as the distribution of the response in rows that are all alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tobitgp.distributions.response import RowDistributions
from tobitgp.mixture.family import first_between
from tobitgp.mixture.predictive import Predictive
from tobitgp.typing import Array

_SURE = 1e-12


@dataclass(frozen=True, slots=True)
class PredictiveRows(RowDistributions):
    """One distribution of a new value in rows."""

    predictive: Predictive
    location: Array  # (n,), or with more axes: medians, of positive values their logarithms
    log: bool

    @classmethod
    def of(cls, predictive: Predictive, n: int, *, positive: bool) -> PredictiveRows:
        """In n rows; ``positive`` for positive values that are not counts."""
        middle = np.log(predictive.ppf(0.5)) if positive else predictive.ppf(0.5)
        return cls(predictive, np.full(n, middle), positive)

    @property
    def discrete(self) -> bool:  # type: ignore[override]
        return self.predictive.discrete

    @property
    def width(self) -> Array:
        low, high = self.modelled(self.predictive.ppf(np.array([0.25, 0.75])))
        return np.full(self.shape, max(high - low, _SURE))

    def logpdf(self, y: Array) -> Array:
        return self._in_rows_of(self.predictive.logpdf(y))

    def logsf(self, y: Array) -> Array:
        return self._in_rows_of(self.predictive.logsf(y))

    def logcdf(self, y: Array) -> Array:
        return self._in_rows_of(self.predictive.logcdf(y))

    def modelled_hazard(self, x: Array) -> tuple[Array, Array]:
        y = self.response(x)
        rate = self.predictive.log_hazard(y)
        with np.errstate(over="ignore", invalid="ignore"):
            return -self.predictive.logsf(y), np.exp(rate + x if self.log else rate)

    def survived(self, log_p: Array) -> Array:
        if not self.discrete:
            return RowDistributions.survived(self, log_p)
        goal = np.minimum(log_p, 0.0)
        high = np.ones(np.shape(goal))
        while (open_rows := (self.predictive.logsf(high) > goal) & np.isfinite(high)).any():
            high = np.where(open_rows, 2.0 * high, high)
        return first_between(
            lambda x: np.asarray(self.predictive.logsf(x) <= goal), np.full(high.shape, -1.0), high, discrete=True
        )

    def ppf(self, p: float) -> Array:
        return np.full(self.shape, self.predictive.ppf(p))

    def mean(self) -> Array:
        return np.full(self.shape, self.predictive.mean())

    def conditional_mean(self, lower: Array, upper: Array) -> Array:
        low, high = (np.array(end) for end in np.broadcast_arrays(lower, upper))
        return self.predictive.conditional_mean(low.ravel(), high.ravel()).reshape(low.shape)

    def _in_rows_of(self, values: Any) -> Array:
        return np.broadcast_to(values, np.broadcast_shapes(self.shape, np.shape(values)))
