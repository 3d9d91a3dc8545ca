"""Formulas of Karlova et al. (2024) as they stand in print, which no fit uses."""

import numpy as np
from scipy.special import ndtr

from tobitgp.likelihoods.expectations import cross_entropy


def as_printed(y, lower, upper, mean, var, sigma):
    """The rows' part of the bound as printed in Eq. 10, whose second line has the wrong sign, (n,).

    Unbounded above; kept to show that, and used by no fit.
    """
    s = np.sqrt(var)
    inside = ndtr((upper - mean) / s) - ndtr((lower - mean) / s)
    return cross_entropy(y, lower, upper, mean, var, sigma).value + ((y - mean) ** 2 + var) * inside / sigma**2


def divergence_as_printed(A, K, mean):
    """The divergence of N(mean, A) from N(0, K) as printed in Eqs. 10, 38 and 42: both log-determinants negated."""
    solved = np.linalg.solve(K, np.column_stack([A, mean]))
    log_dets = float(np.linalg.slogdet(A)[1] - np.linalg.slogdet(K)[1])
    return 0.5 * (log_dets - len(K) + float(np.trace(solved[:, :-1])) + float(mean @ solved[:, -1]))
