"""What a search tries, on the same rows: each start with inducing inputs of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tobitgp.data.problem import Problem
from tobitgp.errors import NumericalError
from tobitgp.inference.ascent import climb
from tobitgp.inference.ends import End
from tobitgp.inference.objective import Objective
from tobitgp.inference.parameters import Parameters
from tobitgp.inference.parts import Whole
from tobitgp.inference.starts import neighbours
from tobitgp.typing import Array

ROUGH, LOOSE = 1e-2, 1e-5
CLIMBED, NEAR = 0.1, 0.1  # nats; nats a row


@dataclass(frozen=True, slots=True)
class Tries:
    """Starts that are valued, or followed to where they lead."""

    objective: Callable[[Whole, Array, Array, int, float], Objective]  # of the rows
    problem: Problem
    whole: Whole  # its rows
    parameters: Parameters
    theta: Array  # (k,), holds the parameters that are not free
    caps: tuple[int, int]  # most inducing inputs on the way
    max_iter: int  # of each L-BFGS run
    made: list[Objective] = field(default_factory=list)  # all that were tried

    @property
    def work(self) -> tuple[int, int]:
        """Evaluations and sweeps of all tries."""
        return sum(o.evaluations for o in self.made), sum(o.sweeps for o in self.made)

    def rough_value(self, start: Array) -> float:
        """Value at a start, for a first choice among many."""
        return self._at(start, tol=ROUGH).value(start)

    def end(self, start: Array) -> End:
        """Where a start leads."""
        objective = self._at(start)
        free = climb(objective, start, tol=CLIMBED, max_iter=self.max_iter)
        again = self._at(free, objective)
        return End(again.value(free), free, again)

    def beside(self, found: End) -> list[End]:
        """End of the better neighbour of the best end, if it is another one; looked for where little is lost there."""
        with contextlib.suppress(NumericalError):
            near = [(self.rough_value(start), start) for start in neighbours(self.parameters, found.free)]
            value, start = max(near, key=lambda pair: pair[0], default=(-np.inf, found.free))
            if value > found.value - NEAR * self.problem.weight.sum():
                end = self.end(start)
                return [end] if abs(end.value - found.value) > CLIMBED else []
        return []

    def _at(self, start: Array, last: Objective | None = None, tol: float = LOOSE) -> Objective:
        """Objective with inducing inputs fit for ``start``: short length-scales need more of them."""
        here = self.theta.copy()
        here[self.parameters.free] = start
        if last is None:
            objective = self.objective(self.whole, here, likely_precisions(self.problem, here), self.caps[0], tol)
        else:
            objective = self.objective(last.whole, here, last.precisions, self.caps[1], tol)
        self.made.append(objective)
        return objective


def likely_precisions(problem: Problem, theta: Array) -> Array:
    """Site precisions (n,) before there are sites: those of exact rows, with room for a smaller noise."""
    return 2.0 * problem.weight * np.exp(-2.0 * theta[-1])
