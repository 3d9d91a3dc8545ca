"""An ascent whose gains are below rounding ends after a few evaluations."""

import numpy as np

from tobitgp.numerics.bordered import Bordered
from tobitgp.regression.newton import State, climb, guarded_step


def test_an_ascent_that_rounding_stops_is_not_searched_on() -> None:
    count = 0

    def evaluate(x: np.ndarray) -> State:
        nonlocal count
        count += 1
        slope = np.array([3e-6])  # as differences leave it where the true slope is 0
        return State(x, 8.0, slope, Bordered(np.array([[-1.0]]), np.zeros((1, 0)), np.zeros(0), 1))

    def falling(x: np.ndarray) -> State:
        state = evaluate(x)
        return state if not x.any() else State(x, 8.0 - 1e-10, state.gradient, state.hessian)

    start = evaluate(np.zeros(1))
    end = climb(falling, lambda s: guarded_step(s, lambda move: 0.0), start, max_iter=50, stop=lambda x: False)
    assert end.reason == "settled"
    assert count <= 4
