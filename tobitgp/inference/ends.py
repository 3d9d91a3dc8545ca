"""Where the starts of a search end: which of them lead somewhere, and which are maxima of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tobitgp.errors import NumericalError
from tobitgp.inference.objective import Objective
from tobitgp.typing import Array

APART, VALLEY = 0.3, 0.1

End = tuple[float, Array, Objective]
"""Value, free parameters (k_free,), and the objective that gave it."""


def value_of(found: End) -> float:
    """What ends are ordered by."""
    return found[0]


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
    value, best, objective = found
    others: list[tuple[float, Array]] = []
    for less, end, _ in sorted(ends, key=value_of, reverse=True):
        seen = [best, *(theta[objective.parameters.free] for _, theta in others)]
        if all(np.abs(end - place).max(initial=0.0) > APART for place in seen) and (
            objective.value(0.5 * (best + end)) < less - VALLEY
        ):
            others.append((value - less, objective.theta(end)))
    return others
