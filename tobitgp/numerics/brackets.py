"""Ends of rows that say something of where values lie."""

from __future__ import annotations

import numpy as np

from tobitgp.typing import Array


def known_range(lower: Array, upper: Array) -> tuple[float, float]:
    """Smallest upper end and largest lower end: values are known to lie at or beyond both.

    Parameters
    ----------
    lower, upper : (n,) array
        Ends of rows; equal where exact, infinite where open.

    Returns
    -------
    bottom, top : float
        ``inf`` and ``-inf`` where no end is finite. Every value may be the same where ``bottom >= top``.
    """
    return (
        float(np.min(upper, initial=np.inf, where=np.isfinite(upper))),
        float(np.max(lower, initial=-np.inf, where=np.isfinite(lower))),
    )


def telling_ends(lower: Array, upper: Array, bottom: float, top: float) -> tuple[Array, Array]:
    """Ends with those that lie far beyond what is known taken for open, as where 9999 stands for infinity.

    Far is beyond the range by more than its length. What a row says by its other end stays.

    Parameters
    ----------
    lower, upper : (n,) array
    bottom, top : float
        As :func:`known_range` gives them.

    Returns
    -------
    lower, upper : (n,) array

    Examples
    --------
    >>> lower, upper = np.array([1.0, 2.0, 0.0]), np.array([1.0, 2.0, 999.0])
    >>> print(*telling_ends(lower, upper, *known_range(lower, upper)))
    [1. 2. 0.] [ 1.  2. inf]
    """
    span = top - bottom
    if not 0.0 < span < np.inf:
        return lower, upper
    return np.where(lower < bottom - span, -np.inf, lower), np.where(upper > top + span, np.inf, upper)
