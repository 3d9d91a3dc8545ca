"""Coordinate ascent with over-relaxed steps, none of which lowers the objective; (EM4), (EM7) of the theory pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tobitgp.errors import NumericalError
from tobitgp.mixture.anderson import Past
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
_LATE = 1e3  # gains, in those that end an ascent, below which states are close enough for extrapolation
_LONGEST_RATIO = 0.99


@dataclass(frozen=True, slots=True)
class Stop:
    """When an ascent ends."""

    gain: float  # three steps in a row after which less is to come, by Aitken's rule, end it
    passes: int = 2000  # most passes
    relax: bool = True  # go beyond the coordinate-wise optimum while that pays, and extrapolate near the end
    check: bool = False  # raise where a plain step lowers the objective by more than 1e-9 of it


@dataclass(frozen=True, slots=True)
class Climb:
    """The end of an ascent."""

    state: State
    sums: Sums  # of the pass at the state
    trace: Array  # (T,), objective after every accepted pass, without constants; it falls by rounding at most
    passes: int  # passes over the rows, those that were taken back among them
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

    The step from the state to its coordinate-wise optimum is stretched by a factor that grows while steps succeed; near
    the end a jump extrapolates the last ones (`tobitgp.mixture.anderson`). What lowers the objective is taken back, and
    shorter steps are tried, the plain one among them; last comes the cautious one, which cannot lower it.
    """
    state, (value, sums) = start, evaluate(model, chunks, start)
    if not np.isfinite(value):
        raise NumericalError(f"The objective is {value} at the start of the ascent.")
    trace, passes, step, still, gain, past = [value], 1, 1.0, 0, np.inf, Past()
    while passes < stop.passes and still < _STILL:
        goal = model.improve(state, sums)
        late = stop.relax and gain < _LATE * stop.gain
        jump = past.propose(model, state, goal, sums.counts) if late else None
        for factor, new in _tries(model, state, goal, step, jump):
            new_value, new_sums = evaluate(model, chunks, new)
            passes += 1
            higher = new_value >= value - _ROUNDING * max(1.0, abs(value))
            if factor == 0.0:
                past.judge(higher=higher)
            if higher:
                break
        else:
            factor, new = 0.0, model.cautious(state, sums)
            new_value, new_sums = evaluate(model, chunks, new)
            passes += 1
            if not new_value >= value - _DROP * max(1.0, abs(value)):
                if stop.check or not np.isfinite(new_value):
                    raise NumericalError(f"The objective fell from {value!r} to {new_value!r} where it cannot.")
                break
        last, gain = gain, new_value - value
        still = still + 1 if _to_come(gain, last) < stop.gain else 0
        state, value, sums = new, new_value, new_sums
        trace.append(value)
        if new is not jump:
            step = min(max(factor, 1.0) * _GROWTH, _LONGEST) if stop.relax and factor >= 1.0 else 1.0
    return Climb(state, sums, np.array(trace), passes, still >= _STILL)


def _tries(model: Model, state: State, goal: State, step: float, jump: State | None) -> Iterator[tuple[float, State]]:
    """Where to go from a state, the boldest first, with the factor by which each stretches the step to its goal."""
    if jump is not None:
        yield 0.0, jump
    for factor in (step, *_SHORTER) if step > 1.0 else _SHORTER:
        new = goal if factor == 1.0 else model.between(state, goal, factor)
        if new is not None:
            yield factor, new


def _to_come(gain: float, last: float) -> float:
    """Gain of this step and all that follow it if their ratio stays what it is: Aitken's rule."""
    ratio = gain / last if last > 0.0 else 0.0
    return gain / (1.0 - min(max(ratio, 0.0), _LONGEST_RATIO))
