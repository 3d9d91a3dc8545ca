"""Medians of averages of survival whose hazards are constant between jumps: (STD1) of the theory pages."""

from __future__ import annotations

import numpy as np

from tobitgp.distributions.response import RowDistributions
from tobitgp.typing import Array

_STEPS, _CLOSE = 60, 1e-13


def averaged_step_median(y: RowDistributions, share: Array, after: float, last: float) -> Array:
    """Times (S,) after ``after`` at which averages of survival given that of ``after`` are one half.

    Infinite where they stay above that until ``last``. Halving finds the step; in a step the average is convex, and
    Newton's method rises to the root. Shapes: y (n, S), share (n, S) or (n, 1) adds up to one.
    """
    jumps, last = np.unique(y.jumps), max(after, last)
    ends = np.concatenate([[after], jumps[(jumps > after) & (jumps < last)], [last]])
    before = y.logsf(np.full((1, 1), after))

    def left(times: Array) -> Array:
        return share * np.exp(y.logsf(times[None]) - before)

    low, high = np.zeros(y.shape[-1], dtype=np.intp), np.full(y.shape[-1], len(ends) - 1)
    while (high - low > 1).any():
        middle = (low + high) // 2
        above = left(ends[middle]).sum(axis=0) > 0.5
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    start, width = ends[low], ends[low + 1] - ends[low]
    alive, rate, since = left(start), y.hazard((start + 0.5 * width)[None]), np.zeros(len(start))
    for _ in range(_STEPS):
        now = alive * np.exp(-rate * since)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = (now.sum(axis=0) - 0.5) / (now * rate).sum(axis=0)
        step = np.where(np.isfinite(step), np.minimum(step, width - since), width - since)
        since = since + step
        if (np.abs(step) <= _CLOSE * (start + since)).all():
            break
    never = left(np.full(len(start), last)).sum(axis=0) > 0.5
    return np.where(never, np.inf, start + since - after)
