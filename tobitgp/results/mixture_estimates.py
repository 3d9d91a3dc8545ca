"""Estimates of a mixture's parameters, their errors and intervals, on arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tobitgp.mixture import MixtureFit
from tobitgp.regression.delta import interval
from tobitgp.regression.scales import Link
from tobitgp.typing import Array


@dataclass(frozen=True, slots=True)
class MixtureEstimates:
    """The p parameters: normal on the scale of their links.

    Attributes
    ----------
    value : (p,) array
    V : (p, p) array
        Covariance of the values; NaN where these rows do not determine a parameter.
    links : tuple of {"identity", "log", "logit"}, length p
    """

    value: Array
    V: Array
    links: tuple[Link, ...]

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
        """Ends (p, 2), symmetric on the scale of the link: logit of weights, identity of means, log of the others."""
        errors, out = self.errors(), np.empty((len(self.value), 2))
        for link in set(self.links):
            at = np.array([own == link for own in self.links])
            out[at] = np.column_stack(interval(self.value[at], errors[at], 1.0 - alpha, link))
        return out


def mixture_estimates(fit: MixtureFit, V: Array) -> MixtureEstimates:
    """Estimates of a fit with a covariance of its parameters."""
    kinds: list[Link] = ["logit", *("identity" if name == "mean" else "log" for name in fit.model.family.parameters)]
    return MixtureEstimates(fit.values, V, tuple(link for link in kinds for _ in range(fit.k)))
