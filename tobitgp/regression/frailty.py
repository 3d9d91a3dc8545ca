r"""Gamma frailties, which the rows of a group share and which multiply their hazards: (PH8) of the theory pages.

References
----------
J. P. Klein (1992), Semiparametric estimation of random effects using the Cox model based on the EM algorithm,
*Biometrics* 48, 795-806.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, polygamma, psi

from tobitgp.typing import Array


class GroupTerms(NamedTuple):
    """What G groups add to the log likelihood, and its derivatives in their cumulative hazard and in log theta."""

    value: Array  # (G,)
    hazard: Array  # minus the mean of the frailty given what was seen
    hazard_hazard: Array
    tau: Array
    tau_tau: Array
    hazard_tau: Array


def group_terms(events: Array, hazard: Array, tau: float) -> GroupTerms:
    """Of groups with sums of events and of cumulative hazards (G,), under a frailty of variance ``exp(tau)``."""
    phi = np.exp(-tau)
    shape, rate = events + phi, hazard + phi
    value = gammaln(shape) - gammaln(phi) - phi * np.log1p(hazard / phi) - events * np.log(rate)
    mean = shape / rate
    first = psi(shape) - psi(phi) - np.log1p(hazard / phi) + 1.0 - mean
    second = polygamma(1, shape) - polygamma(1, phi) + 1.0 / phi - 2.0 / rate + shape / rate**2
    both = (mean - 1.0) / rate
    return GroupTerms(value, -mean, shape / rate**2, -phi * first, phi * phi * second + phi * first, -phi * both)


def frailty_posterior(events: Array, hazard: Array, tau: float) -> Array:
    """Shape and rate (G, 2) of the gamma distributions of the frailties given what was seen."""
    phi = np.exp(-tau)
    return np.column_stack([events + phi, hazard + phi])
