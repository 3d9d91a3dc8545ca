"""Higher optima under a Dirichlet process, where ascents from many components end with some too many.

References
----------
Hughes and Sudderth (2013), Memoized online variational inference for Dirichlet process mixture models, NIPS, whose
deletion of components is tried here on all rows at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tobitgp.mixture.ascent import Climb, Stop, climb
from tobitgp.mixture.model import Bayes, State
from tobitgp.mixture.rows import Rows

_HELD = 1e-3  # expected rows of a component that is worth a trial


def tidy(model: Bayes, chunks: Sequence[Rows], best: Climb, stop: Stop) -> Climb:
    """Go on with components in the order of their size, which suits sticks, and without each where that is better."""
    best = _higher(best, climb(model, chunks, _sorted(model, best), stop))
    smallest = np.flatnonzero(best.sums.counts > _HELD)
    smallest = smallest[np.argsort(best.sums.counts[smallest])]
    for j in smallest[:-1]:
        best = _higher(best, climb(model, chunks, _without(model, best, int(j)), stop))
    return _higher(best, climb(model, chunks, _sorted(model, best), stop))


def _sorted(model: Bayes, best: Climb) -> State:
    order = np.argsort(-best.sums.counts, kind="stable")
    weights = model.weights.posterior(best.state.weights, best.sums.counts[order])
    return State(weights, best.state.components[:, order])


def _without(model: Bayes, best: Climb, j: int) -> State:
    counts, statistics = best.sums.counts.copy(), best.sums.statistics.copy()
    counts[j] = statistics[:, j] = 0.0
    return model.improve(best.state, best.sums._replace(counts=counts, statistics=statistics))


def _higher(one: Climb, other: Climb) -> Climb:
    """The higher end, with the passes of both."""
    return replace(other if other.value > one.value else one, passes=one.passes + other.passes)
