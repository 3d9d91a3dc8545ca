"""Axes to draw into: a user's, or new ones."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from tobitgp.errors import SpecError

P = ParamSpec("P")
T = TypeVar("T")
WIDE, SQUARE = (6.4, 4.2), (4.8, 4.6)


def given_or_new(ax: Any, size: tuple[float, float] = WIDE) -> Any:
    """The axes given, or new ones where there are none."""
    if hasattr(ax, "get_xaxis_transform"):
        return ax
    if ax is not None:
        raise SpecError(f"ax= takes matplotlib axes, not {type(ax).__name__}; other things are given by their names.")
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]


def closing_what_fails(draw: Callable[P, T]) -> Callable[P, T]:
    """A drawing that leaves no figure open where it fails."""

    @wraps(draw)
    def careful(*args: P.args, **kwargs: P.kwargs) -> T:
        import matplotlib.pyplot as plt

        before = set(plt.get_fignums())
        try:
            return draw(*args, **kwargs)
        except BaseException:
            for number in set(plt.get_fignums()) - before:
                plt.close(number)
            raise

    return careful
