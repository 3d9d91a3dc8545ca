"""Gamma posteriors of a rate, shared by several families; (K,) arrays of shape a and rate b."""

from __future__ import annotations

import numpy as np
from scipy.special import digamma, gammaln, polygamma

from tobitgp.typing import Array


def gamma_divergence(a: Array, b: Array, a0: float, b0: float) -> Array:
    """KL[Gamma(a, b) || Gamma(a0, b0)], shapes and rates.

    Examples
    --------
    >>> print(gamma_divergence(np.array([2.0]), np.array([3.0]), 2.0, 3.0))
    [0.]
    """
    of_shape = (a - a0) * digamma(a) - gammaln(a) + gammaln(a0)
    return np.asarray(of_shape + a0 * np.log(b / b0) + a * (b0 - b) / b)


def gamma_information(a: Array, b: Array) -> Array:
    """Fisher's information of shape and rate, (2, 2, K)."""
    return np.stack([np.stack([polygamma(1, a), -1.0 / b]), np.stack([-1.0 / b, a / (b * b)])])


def line(old: Array, new: Array, step: float) -> Array | None:
    """Posteriors on the line through two in shape and rate, their natural parameters; None beyond what is possible."""
    q: Array = (1.0 - step) * old + step * new
    return q if (q > 0.0).all() else None
