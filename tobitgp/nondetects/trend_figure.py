"""A figure of values and detection limits over time or another variable, with the Akritas-Theil-Sen line."""

from __future__ import annotations

from typing import Any

import numpy as np

from tobitgp.errors import SpecError
from tobitgp.nondetects.sample import Sample
from tobitgp.nondetects.sample_results import in_words
from tobitgp.nondetects.theil_sen import lowest, theil_sen
from tobitgp.nondetects.value_order import read_columns
from tobitgp.report.axes import (
    BLUE,
    EDGE,
    INK,
    VERMILION,
    closing_what_fails,
    finish,
    given_or_new,
)


@closing_what_fails
def plot_trend(
    y: Any,
    x: Any,
    y_censored: Any = None,
    x_censored: Any = None,
    *,
    floor: float | None = None,
    names: tuple[str, str] = ("x", "y"),
    ax: Any = None,
) -> Any:
    """Draw values with non-detects against x, and the Akritas-Theil-Sen line.

    Non-detects are open triangles at their limits, with a segment down to the lowest possible value.

    Parameters
    ----------
    y, x, y_censored, x_censored, floor
        As in :func:`tobitgp.nondetects.theil_sen`.
    names : (str, str)
        Labels of the axes of x and y.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    DataError
        As in :func:`tobitgp.nondetects.theil_sen`.
    SpecError
        If ``ax`` is not a matplotlib Axes, ``names`` are not two, or values are right-censored or lie in intervals.

    References
    ----------
    (NDT24) and (NDT25) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> y = ["<1", 1.5, "<1", 2.0, 1.8, 2.6, 2.4, 3.0]
    >>> ax = tg.nondetects.plot_trend(y, range(2001, 2009), names=("year", "lead"))
    >>> ax.get_legend_handles_labels()[1]
    ['detected (6)', 'non-detect, below (2)', 'Akritas-Theil-Sen: slope 0.3, p = 0.0126']
    """
    if isinstance(names, str) or len(names) != 2:
        raise SpecError(f"names={names!r}: must be two names, for the axes of x and y.")
    res = theil_sen(y, x, y_censored, x_censored, floor=floor)
    (of_y, of_x), _ = read_columns({"y": (y, y_censored), "x": (x, x_censored)})
    ax = given_or_new(ax)
    _draw_values(ax, of_y, of_x, lowest(of_y, floor))
    ends = np.array([of_x.values.min(), of_x.values.max()])
    label = f"Akritas-Theil-Sen: slope {res.slope:.3g}, p = {in_words(res.pvalue)}"
    ax.plot(ends, res.intercept + res.slope * ends, color=BLUE, linewidth=1.8, label=label, zorder=3)
    return finish(ax, *names)


def _draw_values(ax: Any, y: Sample, x: Sample, floor: float) -> None:
    """Detects as dots, limits as open triangles over segments from ``floor``, or from below all limits."""
    c, size = y.censored, float(np.sqrt(np.clip(3000.0 / len(y), 8.0, 26.0)))
    ax.plot(x.values[~c], y.values[~c], "o", color=INK, markersize=size, label=f"detected ({(~c).sum()})", **EDGE)
    if not c.any():
        return
    bottom = floor if np.isfinite(floor) else y.values.min() - 0.08 * np.ptp(y.values)
    ax.vlines(x.values[c], bottom, y.values[c], color=VERMILION, linewidth=0.9, alpha=0.5)
    look = {"color": VERMILION, "markerfacecolor": "white", "markersize": 1.3 * size, "markeredgewidth": 1.0}
    ax.plot(x.values[c], y.values[c], "v", label=f"non-detect, below ({c.sum()})", **look)
    ax.set_ylim(bottom=bottom)
