"""Estimates of a mixture's parameters, their errors and intervals, on arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tobitgp.mixture import MixtureFit, intervals
from tobitgp.typing import Array


@dataclass(frozen=True, slots=True)
class MixtureEstimates:
    """The p parameters."""

    fit: MixtureFit
    V: Array  # (p, p), covariance of the values; NaN where these rows do not determine a parameter

    @property
    def value(self) -> Array:
        """Estimates, (p,)."""
        return self.fit.values

    @property
    def cross(self) -> float:
        """Covariance with linear coefficients, of which there are none."""
        return 0.0

    def errors(self) -> Array:
        """Standard errors, (p,); 0 for the weight of a single component."""
        return np.sqrt(np.diag(self.V))

    def z_values(self) -> Array:
        """NaN: zero is no value to test."""
        return np.full(len(self.value), np.nan)

    def p_values(self) -> Array:
        """NaN, as ``z_values``."""
        return np.full(len(self.value), np.nan)

    def covariance(self) -> Array:
        """The matrix V."""
        return self.V

    def interval(self, alpha: float) -> Array:
        """Ends (p, 2); see :func:`tobitgp.mixture.covariance.intervals`."""
        return intervals(self.fit, self.V, 1.0 - alpha)
