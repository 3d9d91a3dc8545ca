"""Starts, and the ends of Newton's iteration from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from tobitgp.distributions.base import Distribution
from tobitgp.distributions.logistic import Logistic
from tobitgp.distributions.student import Student
from tobitgp.regression import convergence
from tobitgp.regression.newton import Climb, State, Step, climb, evaluate, guarded_step, olsen_step
from tobitgp.regression.working import Chunk, Working, reach
from tobitgp.typing import Array

_START_ITERATIONS = 10
_UNLIKELY = -50.0
_FEW = 500  # rows above which one start is enough: local maxima are a matter of small samples
_HEAVY_DF, _LIGHT_DF = 1.5, 30.0
_MEAN_LOG = -0.635  # of the size of a normal variable
_TINY = 1e-3


def concave_start(working: Working, law: Distribution) -> Array:
    """The first fit, and a log sigma at which no exact row is all too unlikely."""
    x = np.zeros(working.p + 1)
    x[-1] = _first_log_sigma(working, law) - float(working.chunks[0].tau0[0])
    return x


def starts(working: Working, law: Distribution) -> Iterator[Array]:
    """Points x from which to climb where the problem may have several maxima.

    The first is the maximum of the concave problem nearest to this one. Where rows are few, others follow: the scale
    that the sizes of its residuals show, the fit of a Cauchy law, and many degrees of freedom.
    """
    relaxed = relaxed_start(working, law)
    yield relaxed
    if working.n > _FEW or (law.log_concave and working.constant):
        return
    if not working.constant:
        yield _with_residual_scale(working, relaxed)
    if not law.log_concave:
        yield _cauchy_start(working, relaxed)
    if working.free_df:
        yield np.append(relaxed[:-1], np.log(_LIGHT_DF))


def _first_log_sigma(working: Working, law: Distribution) -> float:
    """Working log sigma, 0 or more, at which the first fit makes no exact row less likely than e^-50."""
    ends = [(chunk.lower.min(), chunk.lower.max()) for chunk in working.chunks if chunk.kind == "exact"]
    extremes, tau = np.array(ends, dtype=np.float64), 0.0
    while extremes.size and law.log_density(extremes * np.exp(-tau), 0)[0].min() < _UNLIKELY:
        tau += 0.5
    return tau


def relaxed_start(working: Working, law: Distribution) -> Array:
    """Estimates of the concave problem nearest to this one: one sigma, no window, logistic for Student's law."""
    chunks = tuple(
        replace(c, window="open", V=np.ones((len(c.weight), 1)), tau0=np.zeros_like(c.tau0)) for c in working.chunks
    )
    relaxed = replace(working, chunks=chunks, inverse_V=np.eye(1), constant=True, free_df=False)
    nearest = law if law.log_concave else Logistic()
    x = np.zeros(working.p + 1)
    x[-1] = _first_log_sigma(working, nearest)

    def function(at: Array) -> State:
        return evaluate(relaxed, nearest, at)

    end = climb(
        function,
        lambda state: olsen_step(state, 0.0),
        function(x),
        max_iter=_START_ITERATIONS,
        stop=lambda at: convergence.far(at, relaxed),
    )
    if end.reason in ("settled", "limit"):
        x = end.state.x
    rest = [c.V.T @ (x[-1] - c.tau0) for c in working.chunks]
    gram = sum((c.V.T @ c.V for c in working.chunks), np.zeros((working.q, working.q)))
    g = np.linalg.solve(gram, np.sum(rest, axis=0)) if working.q else np.zeros(0)
    df = np.log([law.shape]) if working.free_df else np.zeros(0)
    return np.concatenate([x[:-1], g, df])


def _with_residual_scale(working: Working, x: Array) -> Array:
    """The same location, and log sigma regressed on the columns as the residuals' log sizes are (Harvey, 1976)."""
    V = np.concatenate([chunk.V for chunk in working.chunks])
    log_sizes = np.concatenate([np.log(_sizes(chunk, x[: working.p])) - chunk.tau0 for chunk in working.chunks])
    known = np.isfinite(log_sizes)
    out, at = x.copy(), slice(working.p, working.p + working.q)
    if known.any():
        out[at] = np.linalg.lstsq(V[known], log_sizes[known] - _MEAN_LOG, rcond=None)[0]
    return out


def _sizes(chunk: Chunk, b: Array) -> Array:
    """Absolute residuals of exact rows and of intervals' middles, NaN for the others."""
    middle = 0.5 * chunk.lower + 0.5 * chunk.upper
    return np.where(np.isfinite(middle), np.abs(middle - chunk.Q @ b) + _TINY, np.nan)


def _cauchy_start(working: Working, x: Array) -> Array:
    """Estimates under a Cauchy law, which outliers hardly move."""
    given = replace(working, free_df=False)
    k = working.p + working.q

    def function(at: Array) -> State:
        return evaluate(given, Student(1.0), at)

    end = climb(
        function,
        lambda state: guarded_step(state, lambda move: reach(move, given)),
        function(x[:k]),
        max_iter=_START_ITERATIONS,
        stop=lambda at: convergence.far(at, given),
    )
    return np.concatenate([end.state.x, np.full(len(x) - k, np.log(_HEAVY_DF))])


def ascend(
    working: Working, law: Distribution, max_iter: int
) -> tuple[list[Climb], Callable[[Array], State], Callable[[State], Step]]:
    """Climb from one start where the problem is concave, from each of some where it is not and rows are few."""

    def function(x: Array) -> State:
        return evaluate(working, law, x)

    def stop(x: Array) -> bool:
        return convergence.far(x, working)

    windows = any(chunk.window != "open" for chunk in working.chunks)
    if law.log_concave and working.constant and working.q == 1 and not windows and not working.free_df:
        tau0 = float(working.chunks[0].tau0[0])

        def olsen(state: State) -> Step:
            return olsen_step(state, tau0)

        begin = function(concave_start(working, law))
        return [climb(function, olsen, begin, max_iter=max_iter, stop=stop)], function, olsen

    def guarded(state: State) -> Step:
        return guarded_step(state, lambda move: reach(move, working))

    begins = [function(x) for x in starts(working, law)]
    good = [state for state in begins[1:] if np.isfinite(state.value) and np.isfinite(state.hessian).all()]
    ends = [climb(function, guarded, state, max_iter=max_iter, stop=stop) for state in (begins[0], *good)]
    return ends, function, guarded
