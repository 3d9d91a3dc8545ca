"""Responses by array."""

import numpy as np

from tobitgp.data.arrays import CensoredResponse


def response(lower, upper, *, weight=None, entry=None, exit=None):
    """A response without instrument limits; no window and weight 1 unless given."""
    lower, upper = np.asarray(lower, float), np.asarray(upper, float)
    n = len(lower)
    inf = np.full(n, np.inf)
    return CensoredResponse(
        lower,
        upper,
        -inf,
        inf,
        -inf if entry is None else np.broadcast_to(np.asarray(entry, float), n),
        inf if exit is None else np.broadcast_to(np.asarray(exit, float), n),
        np.ones(n) if weight is None else np.asarray(weight, float),
    )
