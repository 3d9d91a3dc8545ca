"""From a first guess to the end of Newton's iteration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tobitgp.likelihoods.laws import Law, Logistic
from tobitgp.regression import diagnose
from tobitgp.regression.newton import Climb, Step, climb, guarded_step, olsen_step
from tobitgp.regression.sums import State, evaluate
from tobitgp.regression.working import Working, reach
from tobitgp.typing import Array

_START_ITERATIONS = 10
_UNLIKELY = -50.0


def ascend(
    working: Working, law: Law, max_iter: int
) -> tuple[Climb, Callable[[Array], State], Callable[[State], Step]]:
    """Climb from the best start at hand."""

    def function(x: Array) -> State:
        return evaluate(working, law, x)

    def stop(x: Array) -> bool:
        return diagnose.far(x, working)

    windows = any(chunk.window != "open" for chunk in working.chunks)
    if law.log_concave and working.constant and working.q == 1 and not windows and not working.free_df:
        tau0 = float(working.chunks[0].tau0[0])
        start = np.zeros(working.p + 1)
        start[-1] = _first_log_sigma(working, law) - tau0

        def olsen(state: State) -> Step:
            return olsen_step(state, tau0)

        return climb(function, olsen, function(start), max_iter=max_iter, stop=stop), function, olsen

    def guarded(state: State) -> Step:
        return guarded_step(state, lambda move: reach(move, working))

    begin = function(_relaxed_start(working, law))
    return climb(function, guarded, begin, max_iter=max_iter, stop=stop), function, guarded


def _first_log_sigma(working: Working, law: Law) -> float:
    """Working log sigma, 0 or more, at which the first fit makes no exact row less likely than e^-50."""
    ends = [(chunk.lower.min(), chunk.lower.max()) for chunk in working.chunks if chunk.kind == "exact"]
    extremes, tau = np.array(ends, dtype=np.float64), 0.0
    while extremes.size and law.log_density(extremes * np.exp(-tau), 0)[0].min() < _UNLIKELY:
        tau += 0.5
    return tau


def _relaxed_start(working: Working, law: Law) -> Array:
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
        stop=lambda at: diagnose.far(at, relaxed),
    )
    if end.reason in ("settled", "limit"):
        x = end.state.x
    rest = [c.V.T @ (x[-1] - c.tau0) for c in working.chunks]
    gram = sum((c.V.T @ c.V for c in working.chunks), np.zeros((working.q, working.q)))
    g = np.linalg.solve(gram, np.sum(rest, axis=0)) if working.q else np.zeros(0)
    df = np.log([getattr(law, "df", 4.0)]) if working.free_df else np.zeros(0)
    return np.concatenate([x[:-1], g, df])
