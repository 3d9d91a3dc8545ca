"""Truncated exponential values."""

from __future__ import annotations

import numpy as np

from tobitgp.typing import Array

_SMALL = 1e-2


def share(t: Array) -> Array:
    r"""Mean of an exponential value of rate t on (0, 1], :math:`1/t - 1/(e^t - 1)`."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        near = 0.5 - t / 12.0 + t**3 / 720.0
        return np.where(t < _SMALL, near, 1.0 / t - 1.0 / np.expm1(t))
