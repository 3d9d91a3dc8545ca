"""Ends of rows that say something of where values lie."""

from __future__ import annotations

import numpy as np

from tobitgp.typing import Array


def known_range(lower: Array, upper: Array) -> tuple[float, float]:
    """Smallest upper end and largest lower end: values are known to lie at or beyond both.

    Shapes: lower, upper (n,).
    """
    return (
        float(np.min(upper, initial=np.inf, where=np.isfinite(upper))),
        float(np.max(lower, initial=-np.inf, where=np.isfinite(lower))),
    )


def telling_ends(lower: Array, upper: Array, bottom: float, top: float) -> tuple[Array, Array]:
    """Ends with those that lie far beyond what is known taken for open, as where 9999 stands for infinity.

    Far is beyond the range by more than its length. What a row says by its other end stays.

    Shapes: lower, upper (n,); gives lower, upper (n,).
    """
    span = top - bottom
    if not 0.0 < span < np.inf:
        return lower, upper
    return np.where(lower < bottom - span, -np.inf, lower), np.where(upper > top + span, np.inf, upper)
