r"""Maxima among the splines that rise everywhere, by sequential quadratic programmes.

The slope of a natural cubic spline is linear in its parameters, a parabola of log time between knots and constant
beyond them. Newton's step is the best one that leaves it at 0 or above at some log times, to which those are added at
which it would be less: the programme is one of least distance, by non-negative least squares.

References
----------
Lawson and Hanson (1974), *Solving Least Squares Problems*, chapter 23. Nocedal and Wright (2006), *Numerical
Optimization*, chapter 18.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tobitgp.distributions.baselines import SplineBaseline
from tobitgp.regression.hazard_likelihood import HazardProblem
from tobitgp.regression.newton import Climb, NewtonStep, State, climb
from tobitgp.typing import Array

_MORE_TIMES = 6  # added at a step
_FLOOR = 1e-8
_HELD = 1e-7  # of the largest slope, below which it counts as held at 0
_STIFF = 1e4  # curvature of what is held, in the largest of the likelihood


def lowest(problem: HazardProblem, x: Array) -> tuple[Array, Array]:
    """Log times and slopes (j, L) among which are the least ones of the spline of each stratum."""
    baseline, c = problem.model.baseline, problem.model.split(problem.given + problem.to_users @ x)[1]
    assert isinstance(baseline, SplineBaseline)
    return baseline.lowest(list(c))


def falls(problem: HazardProblem, x: Array) -> bool:
    """Whether it is a spline that falls somewhere."""
    return isinstance(problem.model.baseline, SplineBaseline) and bool(lowest(problem, x)[1].min() < 0.0)


def climb_rising(problem: HazardProblem, x: Array, max_iter: int, stop: Callable[[Array], bool]) -> Climb:
    """The maximum of splines without a negative slope, from one on that rises everywhere.

    What is held at 0 has no slope in the state at the end, and hardly a variance.
    """
    v, slope = lowest(problem, x)
    times = [v.ravel()]

    def step(state: State) -> NewtonStep:
        move = _bounded_step(problem, state, times)
        decrement = float(state.gradient @ move)
        return NewtonStep(lambda t: state.x + t * move, decrement, decrement)

    end = climb(problem.evaluate, step, problem.evaluate(x), max_iter=max_iter, stop=stop)
    short = max(0.0, -float(lowest(problem, end.state.x)[1].min()))
    share = short / (short + float(slope.min())) if short else 0.0
    state = problem.evaluate(end.state.x + share * (1.0 + _FLOOR) * (x - end.state.x))
    A, b = _slopes(problem, state.x, np.unique(np.concatenate([lowest(problem, state.x)[0].ravel(), times[0]])))
    held = A[b <= _HELD * np.abs(b).max()]
    corner, directions = state.hessian.corner, np.linalg.svd(held, full_matrices=False)[2]
    stiff = _STIFF * float(np.abs(np.linalg.eigvalsh(corner)).max())
    hessian = replace(state.hessian, corner=corner - stiff * directions.T @ directions)
    free = state.gradient - directions.T @ (directions @ state.gradient)
    return replace(end, state=replace(state, gradient=free, hessian=hessian))


def _bounded_step(problem: HazardProblem, state: State, times: list[Array]) -> Array:
    """Newton's step with slopes of 0 or more; ``times`` grow by those at which they would be less."""
    root = _inverse_root(-state.hessian.corner)
    wanted = root.T @ state.gradient
    for _ in range(_MORE_TIMES):
        A, b = _slopes(problem, state.x, np.concatenate(times))
        move = root @ _nearest(wanted, A @ root, -np.maximum(b, 0.0))
        v, slope = lowest(problem, state.x + move)
        if slope.min() > -1e-9 * np.abs(slope).max():
            break
        times.append(v[slope < 0.0])
    return np.asarray(move)


def _slopes(problem: HazardProblem, x: Array, v: Array) -> tuple[Array, Array]:
    """Slopes at log times in each stratum, as rows (j, k) of what they change by with x, and as they are, (j,)."""
    baseline, (p, m, L) = problem.model.baseline, problem.model.sizes
    assert isinstance(baseline, SplineBaseline)
    basis = np.array(baseline.basis(v)[1])
    blocks = problem.to_users[p : p + m * L].reshape(m, L, -1)
    A = np.einsum("mj,mlk->jlk", basis, blocks).reshape(-1, blocks.shape[2])
    c = problem.model.split(problem.given + problem.to_users @ x)[1]
    return A, np.einsum("mj,ml->jl", basis, c).ravel()


def _inverse_root(curvature: Array) -> Array:
    """R (k, k) with ``R R'`` the inverse of a curvature made positive."""
    size = np.sqrt(np.maximum(np.abs(np.diag(curvature)), 1e-200))
    values, vectors = np.linalg.eigh(curvature / size / size[:, None])
    values = np.maximum(np.abs(values), _FLOOR * float(np.abs(values).max()))
    return np.asarray(vectors / np.sqrt(values) / size[:, None])


def _nearest(goal: Array, A: Array, least: Array) -> Array:
    """The point nearest to a goal with ``A z >= least``."""
    from scipy.optimize import nnls

    length = np.maximum(np.linalg.norm(A, axis=1), 1e-200)
    G, h = A / length[:, None], least / length - (A / length[:, None]) @ goal
    unit = np.append(np.zeros(len(goal)), 1.0)
    E = np.vstack([G.T, h])
    rest = E @ nnls(E, unit)[0] - unit
    return np.asarray(goal - rest[:-1] / rest[-1])
