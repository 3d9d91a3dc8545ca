r"""Gamma frailties, which the rows of a group share and which multiply their hazards: (PH8) of the theory pages.

References
----------
J. P. Klein (1992), Semiparametric estimation of random effects using the Cox model based on the EM algorithm,
*Biometrics* 48, 795-806.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tobitgp.numerics.jets import Jet, gammaln
from tobitgp.typing import Array


def group_likelihoods(events: Array, hazard: Jet, tau: Jet) -> Jet:
    """What G groups add to the log likelihood by their sums of events and hazards; frailties have variance exp(tau)."""
    phi: Any = np.exp(-tau)
    shared: Jet = gammaln(events + phi) - gammaln(phi) - phi * np.log1p(hazard * np.exp(tau))
    return shared - events * np.log(hazard + phi)


def frailty_posterior(events: Array, hazard: Array, tau: float) -> Array:
    """Shape and rate (G, 2) of the gamma distributions of the frailties given what was seen."""
    phi = np.exp(-tau)
    return np.column_stack([events + phi, hazard + phi])
