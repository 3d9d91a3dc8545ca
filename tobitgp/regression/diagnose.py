"""Whether a climb ended at a maximum."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tobitgp.regression.newton import Climb, Step
from tobitgp.regression.sums import State
from tobitgp.regression.working import Working, log_sigmas
from tobitgp.typing import Array

LARGEST_DF = 1000.0
SMALLEST_DF = 0.05
_FAR = 18.0  # sigma 1e-8 or 1e8 of the spread of the response
SUSPECT = 1e-4  # information of a direction, where an exact row has 1
FLAT = 1e-9
_MORE_STEPS = 6


def far(x: Array, working: Working) -> bool:
    """Whether log sigma of a row that tells something about it, or log df, is as good as infinite."""
    if working.free_df and not np.log(SMALLEST_DF) < x[-1] < np.log(LARGEST_DF):
        return True
    if not working.q:
        return False
    low, high = log_sigmas(working, x)
    return low < -_FAR or high > _FAR


def at_large_df(x: Array, working: Working) -> bool:
    """Whether log df left its range upwards."""
    return working.free_df and float(x[-1]) >= np.log(LARGEST_DF)


class Verdict(NamedTuple):
    """Whether the end of a climb is a maximum."""

    end: Climb
    converged: bool
    cause: str  # "converged", or why not: "df", "sigma", "flat", "limit", "stalled"


def verdict(
    end: Climb,
    working: Working,
    function: Callable[[Array], State],
    step: Callable[[State], Step],
) -> Verdict:
    """Whether there is a maximum; a nearly flat direction is followed for some steps to see if it gets flatter."""
    if end.reason == "stopped":
        return Verdict(end, False, "df" if at_large_df(end.state.x, working) else "sigma")
    least = _least_information(end.state, working)
    if least < FLAT or (least < SUSPECT and _least_information(_onwards(end, function, step), working) < 0.9 * least):
        return Verdict(end, False, "flat")
    if end.reason == "settled":
        return Verdict(end, True, "converged")
    return Verdict(end, False, end.reason)


def _onwards(end: Climb, function: Callable[[Array], State], step: Callable[[State], Step]) -> State:
    """The state a few full steps further, however little they gain."""
    state = end.state
    for _ in range(_MORE_STEPS):
        trial = function(step(state).at(1.0))
        if not np.isfinite(trial.value) or not np.isfinite(trial.hessian).all():
            break
        state = trial
    return state


def _least_information(state: State, working: Working) -> float:
    """Smallest eigenvalue of the dimensionless information of location and scale."""
    matrix = information(state, working)
    return float(np.linalg.eigvalsh(matrix)[0]) if len(matrix) else 1.0


def information(state: State, working: Working) -> Array:
    """Minus the Hessian in location and scale, (p + q, p + q), in units in which exact rows bring about 1."""
    unit = units(state, working)
    p_q = working.p + working.q
    return -state.hessian[:p_q, :p_q] * unit * unit[:, None]


def units(state: State, working: Working) -> Array:
    """Units of location and scale, (p + q,), in which the information of exact rows is about 1."""
    p, q, n = working.p, working.q, working.n
    low, high = log_sigmas(working, state.x)
    weight = sum(float(chunk.weight.sum()) for chunk in working.chunks) / n
    unit = np.concatenate([np.full(p, np.exp(0.5 * (low + high))), np.full(q, 1.0 / np.sqrt(n))])
    return unit / np.sqrt(min(weight, 1.0))
