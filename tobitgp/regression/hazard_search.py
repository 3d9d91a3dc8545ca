r"""Maxima of the likelihood of times with a parametric baseline: Newton's method from nested models and elsewhere.

Where the problem is concave the one search begins at a constant hazard. Where it may have several maxima, since rows
entered late, searches begin at the maxima of nested models too, so that no fit ends below one of these, and at other
histories before the first entry, of which the rows know nothing.

References
----------
Royston and Parmar (2002), *Statistics in Medicine* 21, 2175-2197. Burridge (1981), *JRSS B* 43, 41-45, of intervals.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from tobitgp.distributions.baselines import SplineBaseline
from tobitgp.engines import blocks, grown, single_blas_thread
from tobitgp.errors import SpecError
from tobitgp.numerics.bordered import dense
from tobitgp.numerics.jets import variables
from tobitgp.regression.convergence import LIMIT
from tobitgp.regression.hazard_likelihood import (
    HazardModel,
    HazardProblem,
    follow_up,
    hazard_problem,
    spread,
)
from tobitgp.regression.hazard_starts import LEAST_TAU, constant, elsewhere, is_concave, nested, rise
from tobitgp.regression.maximum import Maximum
from tobitgp.regression.newton import Climb, State, climb, guarded_step
from tobitgp.regression.predictors import FLAT
from tobitgp.regression.rising import climb_rising, falls
from tobitgp.typing import Array

_FAR, _LARGE = 18.0, 4.0  # of the logarithm of a shape
_NEARLY_FLAT = 1e-6  # information of a direction in which a search makes no way
_NONE_REACHES = -50.0  # log probability of survival to the entry
_NO_FRAILTY = -17.0  # of the logarithm of the variance of frailties
_FREE_STEPS = 30  # of one of several searches, and of one without bounds on splines
_APART = 1e-3  # nats by which an end that is not a maximum must exceed one that is


class End(NamedTuple):
    """Where a search ended."""

    problem: HazardProblem
    climb: Climb
    unit: Array
    reason: str

    @property
    def rank(self) -> float:
        """Log likelihood, a little more of a maximum, none where the search could not begin."""
        value, possible = self.climb.state.value, self.reason != "impossible"
        return value + _APART * (self.reason == "converged") if possible and np.isfinite(value) else -np.inf

    @property
    def parameters(self) -> Array:
        """As users have them, (k,)."""
        problem = self.problem
        return problem.here(problem.given + problem.to_users @ self.climb.state.x, -1.0)


def maximise_hazards(
    model: HazardModel, *, scores: bool, max_iter: int, start: Mapping[int, float] | None = None
) -> Maximum:
    """The maximum; ``start`` has values of some parameters by their place."""
    with single_blas_thread(), np.errstate(all="ignore"):
        if start:
            at = _with_given(model, start)
            best = _from(model, at, max_iter)
        else:
            best = _highest(model, min(max_iter, _FREE_STEPS), {})
            if best.climb.reason == "limit" and max_iter > _FREE_STEPS:
                again = _from(model, best.parameters, max_iter)
                best = max((again, best), key=lambda end: end.rank)
        problem = best.problem
        if best.reason == "impossible" or (start and _shape_runs_off(problem, problem.nearest(problem.here(at)))):
            raise SpecError(
                "The likelihood is numerically 0 at these values of start= or fixed=. Give values with which the "
                "baseline rises at all times, and not in a leap."
            )
        return _in_users_units(best, scores=scores)


def _in_users_units(best: End, *, scores: bool) -> Maximum:
    """With the level of the baseline at the time from which users count."""
    problem, end, unit, reason = best
    told = problem.row_scores(end.state.x) if scores else None
    known = "flat" if reason == "frailty" else reason  # of a variance of frailties that goes to 0
    found = problem.in_users_units(end, unit, problem.model.sizes[0], known, _WORDS[reason], told)
    p, turn, parameters = problem.model.sizes[0], problem.turn(best.parameters), best.parameters
    return replace(
        found,
        coefficients=parameters[:p],
        gamma=parameters[p:],
        inverse_information=turn @ dense(found.inverse_information) @ turn.T,
        unidentified=turn @ dense(found.unidentified) @ turn.T,
        scores=None if told is None else (told @ np.linalg.inv(turn)) * problem.free,
    )


def _highest(model: HazardModel, max_iter: int, known: dict[str, End]) -> End:
    """The best end of all searches; ``known`` are those of models that were looked at."""
    name = repr((model.baseline, model.alike, model.group is None, model.known))
    if name not in known:
        ends = [_from(model, at, max_iter) for at in _starts(model, max_iter, known)]
        known[name] = max(ends, key=lambda end: end.rank)
    return known[name]


def _starts(model: HazardModel, max_iter: int, known: dict[str, End]) -> Iterator[Array]:
    """Parameters (k,) from which to search."""
    first = _constant_hazard(model, max_iter)
    yield first
    if not is_concave(model):
        yield from elsewhere(model, first)
        for smaller, embed in nested(model):
            yield embed(_highest(smaller, max_iter, known).parameters)


def _constant_hazard(model: HazardModel, max_iter: int) -> Array:
    """The fit of s as it starts; where that has no maximum, no effects of columns."""
    small, rough = constant(model)
    end = _from(small, rough, max_iter)
    return end.parameters if end.reason == "converged" else rough


def _with_given(model: HazardModel, start: Mapping[int, float]) -> Array:
    """A constant hazard but for what is given."""
    first = _constant_hazard(model, 50)
    parameters = first.copy()
    parameters[list(start)] = list(start.values())
    parameters[model.levels] += rise(model, parameters) - rise(model, first)
    parameters[list(start)] = list(start.values())
    if model.group is not None:
        parameters[-1] = max(parameters[-1], LEAST_TAU)
    return np.where(np.isnan(model.known), parameters, model.known)


def _from(model: HazardModel, parameters: Array, max_iter: int) -> End:
    """The end of the search from parameters (k,)."""
    problem = hazard_problem(model)
    x = problem.nearest(problem.here(parameters))

    first = problem.evaluate(x)
    if not first.finite or falls(problem, x):
        return End(problem, Climb(first, 0, "impossible"), np.eye(len(x)), "impossible")

    def stop(at: Array) -> bool:
        return _runs_off(problem, at)

    def search(state: State, steps: int) -> Climb:
        return climb(
            problem.evaluate,
            lambda state: guarded_step(state, lambda move: _reach(problem, move)),
            state,
            max_iter=steps,
            stop=stop,
        )

    end = search(first, min(max_iter, _FREE_STEPS))
    if end.reason == "limit" and not falls(problem, end.state.x):
        more = search(end.state, max_iter - end.iterations)
        end = replace(more, iterations=end.iterations + more.iterations)
    if falls(problem, end.state.x):
        end = climb_rising(problem, x, max_iter, stop)
    unit = _unit(problem, end.state.x)
    return End(problem, end, unit, _judge(problem, end, unit))


def _reach(problem: HazardProblem, move: Array) -> float:
    """Largest change of the logarithm of a shape or of the variance of frailties."""
    places = [1] * problem.model.baseline.positive + [-1] * (problem.model.group is not None)
    moves = problem.moves(move)
    return max([0.0, *(float(np.abs(moves[i]).max()) for i in places)])


def _runs_off(problem: HazardProblem, x: Array, far: float = _FAR) -> bool:
    """Whether the search goes to a shape that is as good as infinite, or to no frailty."""
    return _without_frailty(problem, x) or _shape_runs_off(problem, x, far)


def _shape_runs_off(problem: HazardProblem, x: Array, far: float = _FAR) -> bool:
    """Whether the logarithm of a shape, or Gompertz's shape, is as good as infinite in the units of the rows.

    That of a spline is its least slope at an event.
    """
    at, seen, baseline = problem.of_baseline(x), problem.seen, problem.model.baseline
    if isinstance(baseline, SplineBaseline):
        slope = baseline.at(seen.lower[seen.exact], [each[seen.exact] for each in at[1:]])[1]
        return bool(seen.exact.any()) and float(slope.min()) + np.log(spread(seen)) > far
    if baseline.positive:
        return float(np.abs(at[1] + np.log(spread(seen))).max()) > far
    return 0.1 * follow_up(seen) * float(np.abs(at[1]).max()) > far


def _without_frailty(problem: HazardProblem, x: Array, least: float = _NO_FRAILTY) -> bool:
    """Whether the variance of frailties that is looked for is as good as 0."""
    sought = problem.model.group is not None and bool(problem.free[-1])
    return sought and float(problem.predictors(x)[-1][0]) < least


def _unit(problem: HazardProblem, x: Array) -> Array:
    """Coordinates in which the transformed times of the rows, at an end that is known, are orthonormal."""
    of_baseline = problem.designs[: problem.model.baseline.size + 1]
    total, R = problem.seen.weight.sum(), np.zeros((0, sum(each.shape[1] for each in of_baseline)))
    for rows in blocks(len(problem.seen)):
        block = problem.block(rows)
        seen, at = block.seen, variables(block.predictors(x))
        times = np.where(np.isfinite(seen.lower), seen.lower, seen.upper)
        z = block.times(np.arange(len(seen)), at).rising(times)[0]
        D = np.hstack([np.reshape(slope, (-1, 1)) * block.designs[j] for j, slope in sorted(z.slope.items())])
        known = np.isfinite(D).all(axis=1)
        R = grown(R, np.sqrt(seen.weight[known] / total)[:, None] * D[known])
    size = np.abs(np.diag(R))
    if len(R) < R.shape[1] or size.min(initial=1.0) <= 1e-12 * size.max(initial=0.0):
        return np.eye(len(x))
    unit = np.eye(len(x))
    unit[: len(R), : len(R)] = np.linalg.inv(R)
    return unit


def _judge(problem: HazardProblem, end: Climb, unit: Array) -> str:
    """Whether an end is a maximum, or why not."""
    if _without_frailty(problem, end.state.x):
        return "frailty"
    least = np.linalg.eigvalsh(problem.information(end.state, unit)).min(initial=1.0)
    if end.reason in ("stalled", "limit"):
        slow = "flat" if least < _NEARLY_FLAT else end.reason
        found = "shape" if _runs_off(problem, end.state.x, _LARGE) else slow
    else:
        found = "shape" if end.reason == "stopped" else "flat" if least < FLAT else "converged"
    if found in ("flat", "stalled", "limit") and _without_frailty(problem, end.state.x, LEAST_TAU):
        return "frailty"
    return "entry" if found in ("flat", "stalled", "limit") and _none_reaches_entry(problem, end.state.x) else found


def _none_reaches_entry(problem: HazardProblem, x: Array) -> bool:
    """Whether hazards before the entries of the rows are as good as infinite."""
    entry = problem.seen.entry
    late = np.isfinite(entry)
    if not late.any():
        return False
    eta, *c = (each[late] for each in problem.of_baseline(x))
    baseline = problem.model.baseline
    z = eta + baseline.at(entry[late], c)[0] - baseline.level(problem.origin, c)
    return float(np.median(problem.model.noise.log_sf(z))) < _NONE_REACHES


_WORDS = {
    "converged": "converged",
    "flat": "The likelihood has no maximum: some columns, or parts of the baseline, tell rows with an event from all "
    "others, and their coefficients go to infinity. Leave them out, merge levels, or use fewer knots.",
    "entry": "The likelihood has no maximum: hazards before the first entry, when no row is at risk, go to infinity. "
    "Measure time from shortly before the first entry, use fewer knots, or family='ph'.",
    "shape": "The likelihood has no maximum: the shape of the baseline runs off. Are all events at one time?",
    "frailty": "The likelihood is highest without frailties: the variance of those of these groups goes to 0. Leave "
    "the term out.",
    "stalled": "No step improves the likelihood any more though its slope is not 0; rescale or simplify the model.",
    "limit": LIMIT,
}
