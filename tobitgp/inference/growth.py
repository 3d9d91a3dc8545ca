"""How the precision of each parameter grows with the rows: what a sample foretells of all of them.

Precisions of noise grow as the rows do; of a smooth curve more rows soon tell little more, and of groups nothing once
there are several rows in each, which few rows do not foretell.
"""

from __future__ import annotations

import numpy as np

from tobitgp.inference.parameters import Parameters
from tobitgp.inference.prior import Prior
from tobitgp.likelihoods.censoring_noise import SIDES
from tobitgp.typing import Array, BoolArray


def usual_rates(parameters: Parameters) -> Array:
    """Powers of the number of rows, (k_free,), before there are samples to learn them from."""
    return np.isin(np.array(parameters.roles)[parameters.free], ("sigma", "df", *SIDES)).astype(np.float64)


def growth_rates(before: Array, now: Array, ratio: float) -> Array:
    """Powers of the number of rows, (k_free,), with which precisions grow, from two samples.

    Shapes: before, now (k_free,).
    """
    grown = np.divide(before, now, out=np.ones_like(now), where=(before > 0.0) & (now > 0.0))
    return np.asarray(np.clip(np.log(grown) / np.log(ratio), 0.0, 1.0), dtype=np.float64)


def of_groups(prior: Prior, parameters: Parameters) -> BoolArray:
    """Free parameters of terms with groups, (k_free,)."""
    out = np.zeros(len(parameters.free), dtype=bool)
    of_terms = [grouped for gp in prior.gps for grouped in [gp.grouping is not None] * gp.n_parameters]
    out[: len(of_terms)] = of_terms
    return out[parameters.free]


def variances(root: Array) -> Array:
    """Variances (k_free,) from the root of an inverse curvature, (k_free, any)."""
    return np.asarray(np.square(root).sum(axis=1), dtype=np.float64)
