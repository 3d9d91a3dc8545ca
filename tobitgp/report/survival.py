"""Figures of survival and hazard over time. matplotlib is loaded when one is drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tobitgp.errors import SpecError
from tobitgp.numerics.nonparametric import kaplan_meier, km_interval, risk_sets
from tobitgp.report.axes import BLUE, INK, LEVELS, as_label, closing_what_fails, given_or_new, response_name
from tobitgp.typing import Array

if TYPE_CHECKING:
    from tobitgp.results.results import Results


Ends = tuple[Array, ...]
_POINTS, _MARKS, _CELLS = 401, 5000, 2_000_000


@closing_what_fails
def plot_survival(
    results: Results,
    ends: Ends | None,
    label: str,
    ax: Any = None,
    *,
    df: Any = None,
    times: Any = None,
    interval: float | None = 0.95,
    center: str = "median",
) -> Any:
    """Draw survival over time.

    Shapes: ends (n,).
    """
    ax, x = given_or_new(ax), _grid(results, ends, times, label)
    window = results.parts.spec.truncation
    if df is None and ends is not None and (window is None or window.upper is None):
        draw_kaplan_meier(ax, *ends)
    if df is None and label != "mixture":
        _draw_line(ax, x, results._average_curve("survival", x), _averaged(ends))
    else:
        _draw_rows(ax, results.predict_survival_function, x, results, label, df, interval, center)
    ax.set_ylabel("survival")
    ax.set_ylim(0.0, 1.03)
    return _finish(ax, results)


@closing_what_fails
def plot_hazard(
    results: Results,
    ends: Ends | None,
    label: str,
    ax: Any = None,
    *,
    df: Any = None,
    times: Any = None,
    interval: float | None = 0.95,
    center: str = "median",
) -> Any:
    """Draw the hazard over time; arguments as of :func:`plot_survival`, averages weighted by survival."""
    ax, x = given_or_new(ax), _grid(results, ends, times, label)
    x = x[1:] if times is None else x
    if df is None and label != "mixture":
        _draw_line(ax, x, results._average_curve("hazard", x), _averaged(ends))
    else:
        _draw_rows(ax, results.predict_hazard, x, results, label, df, interval, center)
    ax.set_ylabel("hazard")
    ax.set_ylim(bottom=0.0)
    return _finish(ax, results)


def draw_kaplan_meier(ax: Any, lower: Array, upper: Array, weight: Array, entry: Array | None = None) -> None:
    """Draw Kaplan and Meier's estimate where no row is censored but to the right."""
    seen = lower == upper
    if not (seen | np.isposinf(upper)).all():
        return
    times, survival = kaplan_meier(lower, seen, weight, entry)
    first = -np.inf if entry is None else float(entry.min())
    start = first if np.isfinite(first) else min(0.0, times[0])
    steps = np.concatenate([[start], times]), np.concatenate([[1.0], survival])
    late = entry is not None and not np.isneginf(entry).all()
    if late:
        ends = km_interval(*risk_sets(lower, seen, weight, entry)[1:])
        ax.fill_between(times, *ends, step="post", color=INK, alpha=0.12, linewidth=0)
    label = f"Kaplan-Meier{', late entry' * late} ({weight @ seen:.10g} of {weight.sum():.10g} seen)"
    ax.step(*steps, where="post", color=INK, linewidth=1.0, label=label)
    censored = np.unique(lower[~seen])
    if 0 < len(censored) <= _MARKS:
        height = survival[np.searchsorted(times, censored)]
        ax.plot(censored, height, "|", color=INK, markersize=7, label="right-censored")


def time_grid(ends: Ends, *, discrete: bool, real: bool) -> Array:
    """Times from 0, or the first, to a little beyond the last."""
    both = np.concatenate(ends[:2])
    values = both[np.isfinite(both)]
    low, high = values.min(), values.max()
    first = low if real and low < 0.0 else 0.0
    last = high + 0.15 * max(high - first, 1e-300)
    if discrete:
        return np.arange(0.0, np.ceil(last) + 1.0)
    return np.linspace(first, last, _POINTS)


def _grid(results: Results, ends: Ends | None, times: Any, label: str) -> Array:
    if times is not None:
        return np.asarray(times, dtype=np.float64)
    if ends is None:
        raise SpecError("This fit holds no training rows, which say how far to draw: give times=...")
    family = results.parts.family
    real = family.support == "real" if label == "mixture" else not family.log_time
    grid = time_grid(ends, discrete=_discrete(results), real=real)
    # The average over many rows is smooth, and its cost that of rows times points.
    return grid if label == "mixture" else grid[:: int(np.clip(len(grid) * len(ends[0]) // _CELLS, 1, 8))]


def _averaged(ends: Ends | None) -> str:
    assert ends is not None
    return f"average of {ends[2].sum():.10g} rows"


def _draw_rows(
    ax: Any,
    predict: Callable[..., pd.DataFrame],
    x: Array,
    results: Results,
    label: str,
    df: Any,
    interval: float | None,
    center: str,
) -> None:
    """Draw a curve for each row, the first in blue."""
    if center not in ("median", "mean"):
        raise SpecError(f"center={center!r}: 'median' or 'mean' is needed.")
    style: dict[str, Any] = {"step": "post"} if _discrete(results) else {}
    table = predict(df, x, interval=interval)
    each = 1 if interval is None else 4
    n = table.shape[1] // each
    if n > len(LEVELS):
        raise SpecError(f"df= has {n} rows, and {len(LEVELS)} curves are the most that can be told apart.")
    for i, colour in zip(range(n), LEVELS, strict=False):
        curve, row = table.iloc[:, each * i : each * (i + 1)].to_numpy(), table.columns[each * i]
        name = label if df is None else as_label(row if interval is None else row[0])
        if interval is not None:
            look = {"label": f"{100 * interval:g}% band"} if i == 0 else {}
            ax.fill_between(x, curve[:, 2], curve[:, 3], color=colour, alpha=0.2, linewidth=0, **look, **style)
        _draw_line(ax, x, curve[:, int(interval is not None and center == "median")], name, colour, step=bool(style))


def _draw_line(ax: Any, x: Array, y: Array, label: str, colour: str = BLUE, *, step: bool = False) -> None:
    ax.plot(x, y, color=colour, linewidth=1.8, label=label, drawstyle="steps-post" if step else "default")


def _discrete(results: Results) -> bool:
    return getattr(results.parts.family, "support", "") == "counts"


def _finish(ax: Any, results: Results) -> Any:
    ax.set_xlabel(as_label(response_name(results.model)))
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(fontsize="small", framealpha=0.9, edgecolor="none")
    return ax
