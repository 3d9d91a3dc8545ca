"""Derivatives by differences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tobitgp.typing import Array

_PLACES = (-2.0, -1.0, 1.0, 2.0)
_NINE = 0.05 * np.arange(-4.0, 5.0)
# Row d gives the derivative of order d of the polynomial through nine points.
_WEIGHTS = np.linalg.inv(np.vander(np.arange(-4.0, 5.0), increasing=True))[:4] * np.array(
    [[1.0], [1.0 / 0.05], [2.0 / 0.05**2], [6.0 / 0.05**3]]
)


def slope(at: Callable[[float], Array], step: float) -> Array:
    """Derivative at 0, by central differences of fourth order."""
    far_below, below, above, far_above = (at(place * step) for place in _PLACES)
    return (8.0 * (above - below) - (far_above - far_below)) / (12.0 * step)


def derivatives(function: Callable[[Array], Array], z: Array, order: int) -> tuple[Array, ...]:
    """A function and its first ``order`` derivatives, by central differences of nine points."""
    if not order:
        return (function(z),)
    values = np.stack([function(z + place) for place in _NINE])
    return tuple(np.tensordot(weights, values, 1) for weights in _WEIGHTS[: order + 1])
