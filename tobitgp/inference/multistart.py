"""Several starts of one search on the same rows: where each ends, and how precisions grow with the rows.

Precisions of noise grow in proportion to the rows; those of a smooth curve soon hardly grow, and those of groups not at
all once there are several rows in each, which a small sample cannot predict.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from tobitgp.data.arrays import Problem
from tobitgp.errors import NumericalError
from tobitgp.inference.ascent import climb
from tobitgp.inference.initial_values import neighbours
from tobitgp.inference.objective import Objective
from tobitgp.inference.parameters import Parameters
from tobitgp.inference.partitioned import PartitionedRows
from tobitgp.likelihoods.censoring_noise import SIDES
from tobitgp.priors.prior import Prior
from tobitgp.typing import Array, BoolArray


@dataclass(frozen=True, slots=True)
class Growth:
    """How precisions of parameters grow with the rows: as the number of rows to the power of a rate."""

    rates: Array  # (k_free,)
    grouped: BoolArray  # (k_free,), parameters of terms with groups

    @classmethod
    def usual(cls, prior: Prior, parameters: Parameters) -> Growth:
        """Before there are samples to learn from."""
        roles = np.array(parameters.roles)
        of_terms = np.repeat([gp.grouping is not None for gp in prior.gps], [gp.n_parameters for gp in prior.gps])
        grouped = np.append(of_terms, np.zeros(len(roles) - len(of_terms))).astype(bool)
        rates = np.isin(roles, ("sigma", "df", *SIDES)).astype(np.float64)
        return cls(rates[parameters.free], grouped[parameters.free])

    def learned(self, before: Array, now: Array, ratio: float) -> Growth:
        """From roots of the inverse curvature, (k_free, any), on some rows and on ``ratio`` times as many."""
        wide, narrow = (np.square(root).sum(axis=1) for root in (before, now))
        grown = np.divide(wide, narrow, out=np.ones_like(narrow), where=(wide > 0.0) & (narrow > 0.0))
        rates = np.clip(np.log(grown) / np.log(ratio), 0.0, 1.0)
        return replace(self, rates=np.where(self.grouped, 0.0, rates))

    def factor(self, ratio: float) -> Array:
        """By how much so many times fewer rows widen the standard deviations, (k_free,)."""
        return ratio ** (0.5 * self.rates)


APART, VALLEY = 0.3, 0.1


class End(NamedTuple):
    """Where a start leads."""

    value: float
    free: Array  # (k_free,), free parameters
    objective: Objective  # which has that value there

    @property
    def theta(self) -> Array:
        """All parameters (k,)."""
        return self.objective.theta(self.free)


def value_of(found: End) -> float:
    """What ends are ordered by."""
    return found.value


def reached(end: Callable[[Array], End], candidates: Sequence[Array]) -> list[End]:
    """Ends of the starts from which something can be computed."""
    ends, failure = [], None
    for start in candidates:
        try:
            ends.append(end(start))
        except NumericalError as error:
            failure = error
    if failure is not None and not ends:
        raise failure
    return ends


def other_maxima(found: End, ends: Sequence[End]) -> list[tuple[float, Array]]:
    """Ends with a valley between them and the best one: by how much they are lower, and theta there (k,)."""
    objective = found.objective
    others: list[tuple[float, Array]] = []
    for end in sorted(ends, key=value_of, reverse=True):
        seen = [found.free, *(theta[objective.parameters.free] for _, theta in others)]
        if all(np.abs(end.free - place).max(initial=0.0) > APART for place in seen) and (
            objective.value(0.5 * (found.free + end.free)) < end.value - VALLEY
        ):
            others.append((found.value - end.value, objective.theta(end.free)))
    return others


ROUGH, LOOSE = 1e-2, 1e-5
CLIMBED, NEAR = 0.1, 0.1  # nats; nats a row


@dataclass(frozen=True, slots=True)
class Tries:
    """Starts that are valued, or followed to where they lead."""

    objective: Callable[[PartitionedRows, Array, Array, int, float], Objective]  # of the rows
    problem: Problem
    data: PartitionedRows  # its rows
    parameters: Parameters
    theta: Array  # (k,), holds the parameters that are not free
    caps: tuple[int, int]  # most inducing inputs on the way
    max_iter: int  # of each L-BFGS run
    made: list[Objective] = field(default_factory=list)  # all that were tried

    @property
    def work(self) -> tuple[int, int]:
        """Evaluations and passes over the data of all starts."""
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
            objective = self.objective(self.data, here, likely_precisions(self.problem, here), self.caps[0], tol)
        else:
            objective = self.objective(last.data, here, last.precisions, self.caps[1], tol)
        self.made.append(objective)
        return objective


def likely_precisions(problem: Problem, theta: Array) -> Array:
    """Site precisions (n,) before there are sites: those of exact rows, with room for a smaller noise."""
    return 2.0 * problem.weight * np.exp(-2.0 * theta[-1])
