"""From starts to the ends of Newton's iteration."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tobitgp.distributions.base import Distribution
from tobitgp.regression import diagnose
from tobitgp.regression.newton import Climb, Step, climb, guarded_step, olsen_step
from tobitgp.regression.starts import concave_start, starts
from tobitgp.regression.sums import State, evaluate
from tobitgp.regression.working import Working, reach
from tobitgp.typing import Array


def ascend(
    working: Working, law: Distribution, max_iter: int
) -> tuple[list[Climb], Callable[[Array], State], Callable[[State], Step]]:
    """Climb from one start where the problem is concave, from each of some where it is not and rows are few."""

    def function(x: Array) -> State:
        return evaluate(working, law, x)

    def stop(x: Array) -> bool:
        return diagnose.far(x, working)

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
