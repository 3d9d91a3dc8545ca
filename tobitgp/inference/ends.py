"""Where the starts of a search end: which of them lead somewhere, and which are maxima of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from tobitgp.errors import NumericalError
from tobitgp.inference.objective import Objective
from tobitgp.typing import Array

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


def those_that_lead_somewhere(end: Callable[[Array], End], candidates: Sequence[Array]) -> list[End]:
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
