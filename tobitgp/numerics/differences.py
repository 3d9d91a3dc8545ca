"""Derivatives by differences."""

from __future__ import annotations

from collections.abc import Callable

from tobitgp.typing import Array

_PLACES = (-2.0, -1.0, 1.0, 2.0)


def slope(at: Callable[[float], Array], step: float) -> Array:
    """Derivative at 0, by central differences of fourth order.

    Parameters
    ----------
    at : callable
        Gives the values, of any shape, at a displacement.
    step : float
        The error is of order ``step^4``; rounding is magnified by ``1 / step``.

    Returns
    -------
    array
        Of the shape of the values.

    Examples
    --------
    >>> import numpy as np
    >>> print(slope(lambda x: np.exp(2.0 * np.array([x])), 0.01).round(7))
    [2.]
    """
    far_below, below, above, far_above = (at(place * step) for place in _PLACES)
    return (8.0 * (above - below) - (far_above - far_below)) / (12.0 * step)
