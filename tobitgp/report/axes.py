"""Axes to draw into: a user's, or new ones."""

from __future__ import annotations

from typing import Any

from tobitgp.errors import SpecError

WIDE, SQUARE = (6.4, 4.2), (4.8, 4.6)


def given_or_new(ax: Any, size: tuple[float, float] = WIDE) -> Any:
    """The axes given, or new ones where there are none.

    Raises
    ------
    SpecError
        If they are no axes, as where rows were meant.
    """
    if hasattr(ax, "get_xaxis_transform"):
        return ax
    if ax is not None:
        raise SpecError(f"ax= takes matplotlib axes, not {type(ax).__name__}; other things are given by their names.")
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]
