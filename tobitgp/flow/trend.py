"""Flow-normalised trends: the table, contrasts of periods, the summary and the plot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tobitgp.errors import SpecError
from tobitgp.report.axes import BLUE, EDGE, GREY, INK, closing_what_fails, draw_curve, finish, given_or_new
from tobitgp.report.term_figures import label_axis
from tobitgp.results.results import Results
from tobitgp.typing import Array

if TYPE_CHECKING:
    from tobitgp.results.summary import Section

_CONTRAST = ("change", "lower", "upper", "slope", "percent", "percent_lower", "percent_upper", "p_increase")
_SOON = 30.0  # days between samples whose residuals are correlated


@dataclass(frozen=True, slots=True)
class Samples:
    """The rows of the fit."""

    dates: pd.DatetimeIndex | None  # (n,), where the formula has them
    q: Array
    lower: Array  # ends of what is known about each concentration
    upper: Array
    correlation: float  # of residuals of samples that follow each other closely; NaN without dates
    pairs: int  # of such samples

    @classmethod
    def of(cls, results: Results, time: str, discharge: str) -> Samples | None:
        """Samples of a fit; None if it was stored without rows."""
        frame, training = results.model.data.frame, results.parts.training
        if frame is None or training is None:
            return None
        response, q = training.response, frame[discharge].to_numpy(dtype=np.float64)
        if time not in frame:
            return cls(None, q, response.lower, response.upper, np.nan, 0)
        dates = pd.DatetimeIndex(pd.to_datetime(frame[time], utc=True)).tz_localize(None)
        residuals = results.residuals("quantile").to_numpy()[training.kept]
        return cls(dates, q, response.lower, response.upper, *_serial(dates, residuals))


def _serial(dates: pd.DatetimeIndex, residuals: Array) -> tuple[float, int]:
    """Correlation of residuals of successive samples, and the number of pairs."""
    order = np.argsort(dates.to_numpy(), kind="stable")
    gap = np.diff(dates.to_numpy()[order]) / np.timedelta64(1, "D")
    near, r = gap <= _SOON, residuals[order]
    pairs = int(near.sum())
    return (float(np.corrcoef(r[:-1][near], r[1:][near])[0, 1]) if pairs > 2 else np.nan), pairs


@dataclass(frozen=True, slots=True, repr=False)
class FlowNormalised:
    """A flow-normalised trend, made by :func:`tobitgp.flow_normalise`, (FLW2) and (FLW3); prints as its table.

    Attributes
    ----------
    table : DataFrame
        The index has the periods. Columns are ``discharge`` (the mean over the days), ``estimate`` (at the actual
        discharges), and ``flow_normalised`` with ``lower`` and ``upper``. They are posterior means and quantiles, or
        for a regression those over the normal distribution of its estimates.
    contrasts : DataFrame
        Index ``(start, end)``: ``change`` of the flow-normalised value with ``lower`` and ``upper``, ``slope`` per
        year, ``percent`` with ``percent_lower`` and ``percent_upper``, NaN where a normal distribution lets the first
        value be negative, and ``p_increase``, the posterior probability that it rose. Empty of a single period.
    formula : str
        The formula of the model.
    what : str
        The requested quantity.
    interval : float
        Probability of the intervals.
    draws : int
        Number of draws of the surface.
    outside : float
        Share of days with a discharge outside those of the samples; NaN for a fit that holds no rows.
    left_out : tuple of str
        Periods of which more than a tenth of the days is missing.
    samples : Samples or None
        Dates, discharges and concentrations that the model was fitted to, in the units of the data, for the figure.
    """

    table: pd.DataFrame
    contrasts: pd.DataFrame
    formula: str
    what: str
    interval: float
    draws: int
    outside: float
    left_out: tuple[str, ...]
    samples: Samples | None = field(repr=False)

    def summary_frame(self) -> pd.DataFrame:
        """A copy of ``table``: discharges in their unit, concentrations in that of the response, loads in kg a day."""
        return self.table.copy()

    def summary(self) -> Any:
        """What was averaged, contrasts, periods, and the serial correlation of the residuals of samples."""
        return summarise(self)

    def plot(self, ax: Any = None, *, samples: bool = True) -> Any:
        """Samples, means of periods at the discharges that there were, and the flow-normalised line with its band.

        Parameters
        ----------
        ax : matplotlib axes, optional
            To draw on; new ones without.
        samples : bool
            Whether to draw the samples where concentrations are shown; non-detects are triangles at their limits.
        """
        return plot_trend(self, ax, samples=samples)

    def __repr__(self) -> str:
        return self.table.to_string(float_format="{:.4g}".format)

    def _repr_html_(self) -> str:
        return str(self.table.to_html(float_format="{:.4g}".format))


def read_contrasts(
    contrasts: Sequence[tuple[Any, Any]] | None, labels: pd.Index, values: Array, level: float
) -> pd.DataFrame:
    """Differences of periods from their draws (P, S)."""
    if contrasts is not None and not isinstance(contrasts, Iterable):
        raise SpecError(f"contrasts={contrasts!r}: must be pairs of periods, e.g. [(1985, 2010)].")
    ends = [(labels[0], labels[-1])] if len(labels) > 1 else []
    pairs = ends if contrasts is None else list(contrasts)
    rows = []
    for pair in pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise SpecError(f"contrasts= must be pairs of periods, e.g. [(1985, 2010)], not {pair!r}.")
        i, j = (_find(labels, label) for label in pair)
        rows.append(_contrast(values[i], values[j], _years(labels, i, j), level))
    index = pd.MultiIndex.from_tuples([tuple(pair) for pair in pairs], names=["start", "end"])
    return pd.DataFrame(rows, index=index, columns=list(_CONTRAST))


def _find(labels: pd.Index, label: Any) -> int:
    try:
        place = labels.get_loc(label)
    except (KeyError, TypeError, ValueError, pd.errors.InvalidIndexError):
        place = None
    if not isinstance(place, int | np.integer):
        raise SpecError(f"contrasts= names {label!r}. Choose complete periods from {labels[0]} to {labels[-1]}.")
    return int(place)


def _years(labels: pd.Index, i: int, j: int) -> float:
    """Years between two periods."""
    if isinstance(labels, pd.PeriodIndex):
        labels = labels.to_timestamp()
    if isinstance(labels, pd.DatetimeIndex):
        return (labels[j] - labels[i]) / pd.Timedelta(days=365.25)
    return float(labels[j] - labels[i])


def _contrast(a: Array, b: Array, years: float, level: float) -> dict[str, float]:
    """Changes between draws (S,) of two periods."""
    ends = [0.5 - 0.5 * level, 0.5 + 0.5 * level]
    change = b - a
    percent = 100.0 * (b / a - 1.0) if (a > 0.0).all() else np.full_like(a, np.nan)
    lower, upper = np.quantile(change, ends)
    low, high = np.quantile(percent, ends)
    slope, rose = change.mean() / years if years else np.nan, float(np.mean(change > 0.0))
    found = (change.mean(), lower, upper, slope, percent.mean(), low, high, rose)
    return dict(zip(_CONTRAST, found, strict=True))


LABELS = {"concentration": "concentration", "flux": "load (kg/day)", "median": "median concentration"}
_MOST = 60  # periods in a summary
_MARKED = 80  # periods that are drawn as points


def summarise(trend: FlowNormalised) -> Any:
    """What was averaged, the contrasts and the periods."""
    from tobitgp.results.summary import lay_out  # which loads statsmodels

    samples, table = trend.samples, trend.table
    left = [("Periods:", f"{table.index[0]} to {table.index[-1]}"), ("Number:", str(len(table)))]
    right = [("Draws:", str(trend.draws)), ("Interval:", f"{trend.interval:.0%}")]
    if samples is not None:
        shown = "" if np.isnan(samples.correlation) else f"{samples.correlation:.2f} ({samples.pairs} pairs)"
        left += [("Samples:", str(len(samples.q))), ("Discharges outside:", f"{trend.outside:.1%} of days")]
        right += [("Serial correlation:", shown)]
    changes = _section("Changes", [f"{a} to {b}" for a, b in trend.contrasts.index], trend.contrasts)
    periods = _section("Periods", list(map(str, table.index[:_MOST])), table[:_MOST])
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
    return lay_out(title, left, right, [changes, periods], notes, {"Formula:": trend.formula})


def _section(title: str, names: list[str], table: pd.DataFrame) -> Section:
    from tobitgp.results.summary import Section, number

    rows = [[name, *map(number, row)] for name, row in zip(names, table.to_numpy(), strict=True)]
    return Section([title, *(column.replace("_", " ") for column in table.columns)], rows)


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
