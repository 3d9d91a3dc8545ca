"""The summary and the figure of a flow-normalised trend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tobitgp.report.axes import BLUE, EDGE, GREY, INK, closing_what_fails, draw_curve, finish, given_or_new
from tobitgp.report.term_figures import label_axis
from tobitgp.typing import Array

if TYPE_CHECKING:
    from tobitgp.flow.trend import FlowNormalised

LABELS = {"concentration": "concentration", "flux": "load (kg/day)", "median": "median concentration"}
_MOST = 60  # periods in a summary
_MARKED = 80  # periods that are drawn as points


def summarise(trend: FlowNormalised) -> Any:
    """What was averaged, the contrasts and the periods."""
    from tobitgp.report.summary import Section, lay_out, number  # which loads statsmodels

    samples, table = trend.samples, trend.table
    left = [("Periods:", f"{table.index[0]} to {table.index[-1]}"), ("Number:", str(len(table)))]
    right = [("Draws:", str(trend.draws)), ("Interval:", f"{trend.interval:.0%}")]
    if samples is not None:
        shown = "" if np.isnan(samples.correlation) else f"{samples.correlation:.2f} ({samples.pairs} pairs)"
        left += [("Samples:", str(len(samples.q))), ("Discharges outside:", f"{trend.outside:.1%} of days")]
        right += [("Serial correlation:", shown)]
    contrasts = Section(
        ["", *(name.replace("_", " ") for name in trend.contrasts.columns)],
        [[f"{a} to {b}", *map(number, row)] for (a, b), row in zip(*_rows(trend.contrasts), strict=True)],
    )
    periods = Section(
        ["", *(name.replace("_", " ") for name in table.columns)],
        [[str(a), *map(number, row)] for a, row in zip(*_rows(table), strict=True)][:_MOST],
    )
    notes = [
        "Means and quantiles of draws of the whole surface of concentrations; slope is per year, p increase the "
        "posterior probability of an increase.",
    ]
    if samples is not None and not np.isnan(samples.correlation):
        notes.append(
            "Serial correlation: of the residuals of successive samples at most 30 days apart. Where it is far above "
            "0, intervals are too narrow: add a process of short memory, and exclude= it."
        )
    if len(table) > _MOST:
        notes.append(f"The first {_MOST} of {len(table)} periods; all are in the table.")
    if trend.left_out:
        notes.append(f"Left out, more than a tenth of the days being missing: {', '.join(trend.left_out[:10])}.")
    title = f"Flow-normalised {LABELS[trend.what]}"
    return lay_out(title, left, right, [contrasts, periods], notes, {"Formula:": trend.formula})


def _rows(table: pd.DataFrame) -> tuple[pd.Index, Array]:
    return table.index, table.to_numpy()


@closing_what_fails
def plot_trend(trend: FlowNormalised, ax: Any = None, *, samples: bool = True) -> Any:
    """Samples, means of periods and the flow-normalised line with its band, along dates."""
    ax = given_or_new(ax, (7.2, 4.2))
    table, x = trend.table, middles(trend.table.index)
    if samples and trend.samples is not None and trend.what != "flux" and trend.samples.dates is not None:
        _draw_samples(ax, trend)
    if len(table) <= _MARKED:
        look = {"color": INK, "markersize": 5.0, "label": "estimate, actual discharge", "zorder": 4, **EDGE}
        ax.plot(x, table["estimate"].to_numpy(), "o", **look)
    shown = table.rename(columns={"flow_normalised": "value"})
    band = f"{trend.interval:.0%} interval"
    if len(table) > 1:
        draw_curve(ax, x, shown, BLUE, of="value", label="flow-normalised", band=band, alpha=0.25)
    else:
        value, lower, upper = shown[["value", "lower", "upper"]].to_numpy().T
        bar = {"color": BLUE, "capsize": 3.0, "label": f"flow-normalised, {band}"}
        ax.errorbar(x, value, [value - lower, upper - value], fmt="s", markersize=5.0, zorder=3, **bar)
    label_axis(ax, "", x)
    return finish(ax, "", LABELS[trend.what])


def _draw_samples(ax: Any, trend: FlowNormalised) -> None:
    samples = trend.samples
    assert samples is not None
    assert samples.dates is not None
    x, above = samples.dates.to_numpy(), np.isposinf(samples.upper)
    below = (samples.lower < samples.upper) & ~above
    look: dict[str, Any] = {"color": GREY, "alpha": 0.5, "markersize": 2.8, "zorder": 1, "linestyle": "none"}
    seen = ~(below | above)
    ax.plot(x[seen], samples.upper[seen], marker="o", label="samples", markeredgewidth=0, **look)
    for rows, ends, marker, label in (
        (below, samples.upper, "v", "non-detects, at their limits"),
        (above, samples.lower, "^", "above a limit, at it"),
    ):
        if rows.any():
            ax.plot(x[rows], ends[rows], marker=marker, label=label, fillstyle="none", **look)


def middles(labels: pd.Index) -> Any:
    """Dates in the middle of periods."""
    if isinstance(labels, pd.DatetimeIndex):
        return labels.to_numpy()
    if isinstance(labels, pd.PeriodIndex):
        return (labels.to_timestamp() + pd.Timedelta(days=14)).to_numpy()
    month = 4 if labels.name == "water_year" else 7
    return pd.to_datetime([f"{year}-{month:02d}-01" for year in labels]).to_numpy()
