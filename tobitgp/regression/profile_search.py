"""Where a profile of the log likelihood falls by a given amount: (CUR5) and (ECO3) of the theory pages."""

from __future__ import annotations

from collections.abc import Callable

_MOST = 1e6  # steps from the maximum after which the likelihood falls no further
_CLOSE = 1e-8  # of a step


def profile_end(
    below: Callable[[float], float],
    inside: float,
    side: float,
    step: float,
    *,
    begin: float | None = None,
    far: float | None = None,
    close: float = _CLOSE,
) -> float | None:
    """Value on one side of ``inside`` at which the likelihood has fallen, None where it does not before ``far``.

    ``below`` says by how much more than asked the profile lies below the maximum; the search goes in growing steps
    from ``begin``.
    """
    from scipy.optimize import brentq

    end = side * (inside if begin is None else begin)
    far = end + _MOST * step if far is None else far
    while end < far and not below(side * (end + step)) >= 0.0:
        end, step = end + step, 2.0 * step
    if end >= far:
        return None
    return float(brentq(below, inside, side * (end + step), xtol=close * step))
