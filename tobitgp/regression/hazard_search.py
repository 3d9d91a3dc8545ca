r"""Maxima of the likelihood of times with a parametric baseline: Newton's method from a constant hazard.

Splines and shapes of Weibull hazards are concave problems where there is no late entry, and so is Gompertz's: log
hazards and minus cumulative hazards are concave in all parameters. The s of a constant hazard rises everywhere; the
search steps back where it would fall at an event.

References
----------
Royston and Parmar (2002), *Statistics in Medicine* 21, 2175-2197. Burridge (1981), *JRSS B* 43, 41-45, of intervals.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tobitgp.distributions.baselines import Baseline, SplineBaseline
from tobitgp.engines import single_blas_thread
from tobitgp.errors import SpecError
from tobitgp.regression.fit import maximise
from tobitgp.regression.hazards import HazardProblem, evaluate, last_time, row_terms, shared_scores
from tobitgp.regression.maximum import Maximum
from tobitgp.regression.newton import Climb, climb, guarded_step
from tobitgp.regression.predictors import FLAT
from tobitgp.typing import Array

_FAR, _LARGE = 18.0, 4.0  # of the logarithm of a shape
_FIRST_TAU, _LEAST_TAU, _NO_FRAILTY = -1.0, -7.0, -9.0  # logarithms of the variance of frailties


def maximise_hazards(
    problem: HazardProblem, *, scores: bool, max_iter: int, start: Mapping[int, float] | None = None
) -> Maximum:
    """The maximum; ``start`` has values of some parameters by their place."""
    with single_blas_thread(), np.errstate(all="ignore"):
        x = problem.nearest(_start(problem, start or {}))
        first = evaluate(problem, x)
        if not first.finite or (start and _shape_runs_off(problem, x)):
            raise SpecError(
                "The likelihood is as good as 0 at these values of start= or fixed=: the baseline has to rise at all "
                "events, and not in a leap."
            )
        end = climb(
            lambda at: evaluate(problem, at),
            lambda state: guarded_step(state, lambda move: _reach(problem, move)),
            first,
            max_iter=max_iter,
            stop=lambda at: _runs_off(problem, at),
        )
        unit = _unit(problem, end.state.x)
        reason = _judge(problem, end, unit)
        told = None
        if scores:
            x = end.state.x
            told = problem.scores(row_terms(problem, x)) if problem.group is None else shared_scores(problem, x)
        return problem.in_users_units(end, unit, problem.written[0].shape[1], reason, _WORDS[reason], told)


def _start(problem: HazardProblem, given: Mapping[int, float]) -> Array:
    """A constant hazard, or odds and probits that rise as fast, with the columns that such a fit gives them."""
    H, p, L = problem.written[0], problem.written[0].shape[1], problem.written[1].shape[1]
    free, fixed = problem.free, problem.given
    found = maximise(
        problem.seen,
        -H,
        distribution=problem.noise,
        offset=-problem.offsets[0],
        fixed_coefficients=np.where(free[:p], np.nan, fixed[:p]),
        fixed_gamma=np.zeros(1),
    )
    beta = found.coefficients
    if not found.converged:
        log_times = problem.seen.lower[problem.seen.exact]
        level = -float(np.median(log_times)) if len(log_times) else 0.0
        goal = np.full(len(H), level) - problem.offsets[0]
        beta = np.asarray(np.linalg.lstsq(H, goal, rcond=None)[0], dtype=np.float64)
    parameters = np.concatenate([beta, np.repeat(problem.baseline.start, L)])
    if problem.group is not None:
        parameters = np.append(parameters, _FIRST_TAU)
    for place, value in given.items():
        parameters[place] = value
    if problem.group is not None:
        parameters[-1] = max(parameters[-1], _LEAST_TAU)
    return np.where(free, parameters, fixed)


def _reach(problem: HazardProblem, move: Array) -> float:
    """Largest change of the logarithm of a shape or of the variance of frailties."""
    places = [1] * problem.baseline.positive + [-1] * (problem.group is not None)
    after, before = (problem.predictors(at) for at in (move, 0.0 * move))
    return max([0.0, *(float(np.abs(after[i] - before[i]).max()) for i in places)])


def _runs_off(problem: HazardProblem, x: Array, far: float = _FAR) -> bool:
    """Whether the search goes to a shape that is as good as infinite, or to no frailty."""
    return _without_frailty(problem, x) or _shape_runs_off(problem, x, far)


def _shape_runs_off(problem: HazardProblem, x: Array, far: float = _FAR) -> bool:
    """Whether the logarithm of a shape, or Gompertz's shape in units of the last time, is as good as infinite.

    That of a spline is its least slope at an event.
    """
    at, exact = problem.of_baseline(x), problem.seen.exact
    if isinstance(problem.baseline, SplineBaseline):
        slope = problem.baseline.at(problem.seen.lower[exact], [each[exact] for each in at[1:]])[1]
        return bool(exact.any()) and float(slope.min()) > far
    unit = 1.0 if problem.baseline.positive else 0.1 * last_time(problem.seen)
    return unit * float(np.abs(at[1]).max()) > far


def _without_frailty(problem: HazardProblem, x: Array) -> bool:
    """Whether the variance of frailties that is looked for is as good as 0."""
    sought = problem.group is not None and bool(problem.free[-1])
    return sought and float(problem.predictors(x)[-1][0]) < _NO_FRAILTY


def _unit(problem: HazardProblem, x: Array) -> Array:
    """Coordinates in which the transformed times of the rows, at an end that is known, are orthonormal."""
    seen, at = problem.seen, problem.of_baseline(x)
    bent = problem.baseline.bent(np.where(np.isfinite(seen.lower), seen.lower, seen.upper), at[1:])
    slopes = [np.ones((1, len(seen))), *bent.s_c[:, None]]
    D = np.hstack([slope.T * design for slope, design in zip(slopes, problem.designs, strict=False)])
    share = seen.weight / seen.weight.sum()
    known = np.isfinite(D).all(axis=1)
    R = np.linalg.qr(np.sqrt(share[known])[:, None] * D[known], mode="r")
    size = np.abs(np.diag(R))
    if len(R) < D.shape[1] or size.min(initial=1.0) <= 1e-12 * size.max(initial=0.0):
        return np.eye(len(x))
    unit = np.eye(len(x))
    unit[: len(R), : len(R)] = np.linalg.inv(R)
    return unit


def _judge(problem: HazardProblem, end: Climb, unit: Array) -> str:
    """Whether an end is a maximum, or why not."""
    if _without_frailty(problem, end.state.x):
        return "frailty"
    if end.reason in ("stalled", "limit"):
        return "shape" if _runs_off(problem, end.state.x, _LARGE) else end.reason
    least = np.linalg.eigvalsh(problem.information(end.state, unit)).min(initial=1.0)
    return "shape" if end.reason == "stopped" else "flat" if least < FLAT else "converged"


_WORDS = {
    "converged": "converged",
    "flat": "The likelihood has no maximum: some columns, or parts of the baseline, tell rows with an event from all "
    "others, and their coefficients go to infinity. Leave them out, merge levels, or use fewer knots.",
    "shape": "The likelihood has no maximum: the shape of the baseline runs off. Are all events at one time?",
    "frailty": "The likelihood is highest without frailties: the variance of those of these groups goes to 0. Leave "
    "the term out.",
    "stalled": "No step improves the likelihood any more though its slope is not 0; rescale or simplify the model.",
    "limit": "Not converged when the limit of iterations was reached; raise max_iter.",
}


def falling_times(baseline: Baseline, levels: Array, last: tuple[float, float]) -> Array:
    """Log times of a grid between two at which s falls, by its parameters (m, L) in each stratum."""
    grid = np.linspace(*last, 400)
    found = []
    for c in levels.T:
        with np.errstate(all="ignore"):
            log_slope = baseline.at(grid, list(c))[1]
        found.append(grid[~np.isfinite(log_slope)])
    return np.unique(np.concatenate(found))
