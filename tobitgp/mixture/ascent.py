"""Coordinate ascent with over-relaxed steps, none of which lowers the objective."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tobitgp.errors import NumericalError
from tobitgp.mixture.family import Sums
from tobitgp.mixture.model import Model, State
from tobitgp.mixture.passes import sum_over
from tobitgp.mixture.rows import Rows
from tobitgp.typing import Array

_GROWTH, _LONGEST = 1.2, 50.0
_SHORTER = (1.0, 0.25, 0.05)
_ROUNDING = 1e-13
_DROP = 1e-9
_STILL = 3


@dataclass(frozen=True, slots=True)
class Stop:
    """When an ascent ends.

    Attributes
    ----------
    gain : float
        Three passes in a row that gained less end it.
    passes : int
        Most passes.
    relax : bool
        Go beyond the coordinate-wise optimum while that pays.
    check : bool
        Raise where a plain step lowers the objective by more than 1e-9 of it, which no plain step can.
    """

    gain: float
    passes: int = 2000
    relax: bool = True
    check: bool = False


@dataclass(frozen=True, slots=True)
class Climb:
    """The end of an ascent.

    Attributes
    ----------
    state : State
    sums : Sums
        Of the pass at the state.
    trace : (T,) array
        Objective after every accepted pass, without constants; it falls by rounding at most.
    passes : int
        Passes over the rows, those that were taken back among them.
    converged : bool
    """

    state: State
    sums: Sums
    trace: Array
    passes: int
    converged: bool

    @property
    def value(self) -> float:
        """Objective at the end."""
        return float(self.trace[-1])


def evaluate(model: Model, chunks: Sequence[Rows], state: State) -> tuple[float, Sums]:
    """Objective at a state, and the sums of its pass."""
    theta, log_weight, penalty = model.view(state)
    sums = sum_over(chunks, model.family, theta, log_weight)
    return sums.log_norm - penalty, sums


def climb(model: Model, chunks: Sequence[Rows], start: State, stop: Stop) -> Climb:
    """Ascend from a state.

    The step from the state to its coordinate-wise optimum is stretched by a factor that grows while steps succeed. A
    step that lowers the objective is taken back and shortened, the plain one next; last comes the cautious one, which
    cannot lower it.

    Parameters
    ----------
    model : Model
    chunks : sequence of Rows
    start : State
    stop : Stop

    Returns
    -------
    Climb

    Raises
    ------
    NumericalError
        If a step that cannot lower the objective did, with ``stop.check``; if the objective is not finite.
    """
    state, (value, sums) = start, evaluate(model, chunks, start)
    if not np.isfinite(value):
        raise NumericalError(f"The objective is {value} at the start of the ascent.")
    trace, passes, step, still = [value], 1, 1.0, 0
    while passes < stop.passes and still < _STILL:
        goal = model.improve(state, sums)
        for factor in (step, *_SHORTER) if step > 1.0 else _SHORTER:
            new = _at(model, state, goal, factor)
            if new is None:
                continue
            new_value, new_sums = evaluate(model, chunks, new)
            passes += 1
            if new_value >= value - _ROUNDING * max(1.0, abs(value)):
                break
        else:
            factor, new = 0.0, model.cautious(state, sums)
            new_value, new_sums = evaluate(model, chunks, new)
            passes += 1
            if not new_value >= value - _DROP * max(1.0, abs(value)):
                if stop.check or not np.isfinite(new_value):
                    raise NumericalError(f"The objective fell from {value!r} to {new_value!r} where it cannot.")
                break
        still = still + 1 if new_value - value < stop.gain else 0
        state, value, sums = new, new_value, new_sums
        trace.append(value)
        step = min(max(factor, 1.0) * _GROWTH, _LONGEST) if stop.relax and factor >= 1.0 else 1.0
    return Climb(state, sums, np.array(trace), passes, still >= _STILL)


def _at(model: Model, state: State, goal: State, factor: float) -> State | None:
    return goal if factor == 1.0 else model.between(state, goal, factor)
