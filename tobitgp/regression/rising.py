r"""Maxima among the splines that rise everywhere, by an interior-point method.

The slope of a natural cubic spline is a parabola between knots and constant beyond them. It is kept above 0 at some log
times by a barrier, :math:`\mu \sum_k \log s'(v_k)`, and where it is least between them these times are added.

References
----------
Nocedal and Wright (2006), *Numerical Optimization*, chapter 19. Fiacco and McCormick (1968), *Nonlinear Programming*.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tobitgp.distributions.baselines import SplineBaseline
from tobitgp.regression.hazards import HazardProblem, evaluate
from tobitgp.regression.newton import Climb, State
from tobitgp.typing import Array

_BARRIERS = (1e-1, 1e-3, 1e-5, 1e-7, 1e-9)  # nats for a factor e in a slope
_ROUNDS = 12
_LEAST = 1e-9  # of the largest slope, below which it counts as 0

Search = Callable[[Callable[[Array], State], Array], Climb]


def lowest(problem: HazardProblem, x: Array) -> tuple[Array, Array]:
    """Log times and slopes (j, L) among which are the least ones of the spline of each stratum."""
    baseline, c = problem.model.baseline, problem.model.split(problem.given + problem.to_users @ x)[1]
    assert isinstance(baseline, SplineBaseline)
    return baseline.lowest(list(c))


def falls(problem: HazardProblem, x: Array) -> bool:
    """Whether it is a spline that falls somewhere."""
    return isinstance(problem.model.baseline, SplineBaseline) and bool(lowest(problem, x)[1].min() < 0.0)


def climb_rising(problem: HazardProblem, x: Array, search: Search) -> Climb:
    """The maximum of splines without a negative slope from one on that rises everywhere.

    The Hessian of its state is that with the barrier, so that what is held at 0 has no variance.
    """
    knots = np.array(getattr(problem.model.baseline, "knots", ()))
    points, first, iterations = np.concatenate([knots, 0.5 * (knots[1:] + knots[:-1])]), x, 0
    for k in range(_ROUNDS):
        for size in _BARRIERS[2 * (k > 0) :]:
            end = search(lambda at, points=points, size=size: _barred(problem, at, points, size), x)  # type: ignore[misc]
            x, iterations = end.state.x, iterations + end.iterations
        v, slope = lowest(problem, x)
        if slope.min() > -_LEAST * np.abs(slope).max():
            break
        points, x = np.append(points, v[slope < 0.0]), _blend(problem, x, first, 2.0)
    x = _blend(problem, x, first, 1.0)
    value, barred = evaluate(problem, x).value, _barred(problem, x, points, _BARRIERS[-1])
    return replace(end, state=replace(barred, value=value), iterations=iterations)


def _barred(problem: HazardProblem, x: Array, points: Array, size: float) -> State:
    """The log likelihood with the barrier."""
    state, (p, m, L) = evaluate(problem, x), problem.model.sizes
    c = problem.model.split(problem.given + problem.to_users @ x)[1]
    to = problem.to_users[p : p + m * L].reshape(m, L, -1)
    value, gradient, corner = state.value, state.gradient.copy(), state.hessian.corner.copy()
    for own in range(L):
        bent = problem.model.baseline.bent(points, [np.full(len(points), each[own]) for each in c])
        value += size * bent.log_slope.sum()
        gradient += size * bent.log_slope_c.sum(axis=1) @ to[:, own]
        corner += size * to[:, own].T @ bent.log_slope_cc.sum(axis=2) @ to[:, own]
    return State(x, float(value), gradient, replace(state.hessian, corner=corner))


def _blend(problem: HazardProblem, x: Array, first: Array, more: float) -> Array:
    """The least of the other, times a factor, that makes all slopes positive."""
    _, slope = lowest(problem, x)
    _, other = lowest(problem, first)
    short = np.maximum(-slope, 0.0)
    share = min(0.5, more * float((short / (short + other.min())).max(initial=0.0)) + 1e-15)
    return (1.0 - share) * x + share * first if short.any() else x

