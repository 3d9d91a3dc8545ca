"""Frequency weights that no computation bears."""

from __future__ import annotations

import numpy as np

from tobitgp.typing import Array

HEAVY = 1e4  # weights that many times others, or 1, are named where a computation breaks down


def words_for_heavy(weight: Array) -> str | None:
    """What to say of weights (n,) where a computation broke down; None where they look innocent."""
    least, most = float(weight.min(initial=np.inf)), float(weight.max(initial=0.0))
    if most <= HEAVY * min(least, 1.0):
        return None
    apart = f"which go from {least:g} to {most:g}" if most > least else f"which are {most:g}"
    return f"the weights, {apart}: a weight counts how many rows like this one were seen"
