"""Kaplan-Meier and Turnbull estimates by group as tables, and quantiles with their limits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tobitgp.data.frames import reads_frames
from tobitgp.data.table import days_long, is_duration
from tobitgp.errors import DataError, SpecError
from tobitgp.method_settings import read_choice
from tobitgp.numerics.nonparametric import Turnbull, first_below, risk_sets
from tobitgp.numerics.nonparametric import turnbull as likeliest
from tobitgp.report.group_curves import Seen
from tobitgp.results.predict import check_probability
from tobitgp.results.survival import read_times as read_grid
from tobitgp.survival.grouped_times import SCALES, read_times
from tobitgp.typing import Array, Frame

_ROUNDING = 1e-3
_COUNTS = ["n_risk", "n_event", "n_censor"]


@reads_frames
def kaplan_meier(
    formula: str,
    data: Frame,
    *,
    weights: str | None = None,
    times: Any = None,
    start: float | None = None,
    confidence: float = 0.95,
    conf_type: str = "log",
) -> pd.DataFrame:
    """Tabulate the Kaplan-Meier estimate of survival by group: (NPT1) and (NPT2) of the theory pages.

    Parameters
    ----------
    formula : str
        ``"Surv(time, event) ~ sex"``: times left, columns of groups right, ``1`` for all rows together. Late entry is
        written ``Surv(entry, time, event)``.
    data : DataFrame or dict of columns
        A row for each subject; never modified. Rows without a time or a group are dropped, with a warning. Times that
        differ by rounding are equal. Durations are read in days.
    weights : str, optional
        Column of frequency weights.
    times : sequence of float, optional
        Times of the rows of the table, in the units of the times; they are sorted, and each is listed once. By default
        they are those of the events of each group. A group without events has one row, at its last time.
    start : float, optional
        Time from which on survival is estimated, given no event before, in the same units. Rows that end before it
        are left out. With late entry, choose a time at which many rows are at risk.
    confidence : float
        Probability of the limits.
    conf_type : {"log", "log-log", "plain"}
        Scale on which the limits are formed, as in R's ``survfit``.

    Returns
    -------
    DataFrame
        Indexed by the columns of groups and ``time``. ``n_risk`` is the weight of the rows at risk just before the
        time, ``n_event`` and ``n_censor`` the weight of events and censored rows at the time, with ``times`` since the
        last one listed. ``survival`` is a probability, ``se`` its standard error by Greenwood's formula, ``lower`` and
        ``upper`` are its limits. They are NaN where survival is 0, and all are NaN after the last row of a group.

    Raises
    ------
    FormulaError
        If the formula cannot be read.
    DataError
        For a column that is missing, a row that ends at or before its entry, a column of groups with the name of one of
        the table, or if no row is left after ``start``.
    SpecError
        If rows are left-censored or lie in intervals, for several causes of events, or an unknown word.

    References
    ----------
    .. [1] E. L. Kaplan and P. Meier, "Nonparametric estimation from incomplete observations", *JASA* 53 (1958),
       457-481.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung")
    >>> tg.survival.kaplan_meier("Surv(time, event) ~ sex", lung, times=[180, 365]).round(3).reset_index()
       sex   time  n_risk  n_event  n_censor  survival     se  lower  upper
    0    1  180.0    89.0     49.0       1.0     0.644  0.041  0.569  0.730
    1    1  365.0    35.0     36.0      17.0     0.336  0.043  0.261  0.433
    2    2  180.0    71.0     14.0       5.0     0.842  0.039  0.770  0.922
    3    2  365.0    30.0     22.0      19.0     0.526  0.060  0.421  0.658
    """
    check_limits(confidence, conf_type)
    read = read_times(formula, data, weights)
    read.check_right("kaplan_meier()")
    grid = read_ascending(times)
    parts = [_survival(_after(read.seen.take(rows), start), grid, confidence, conf_type) for _, rows in read.parts()]
    return read.table(parts, ["time"])


def check_limits(confidence: Any, conf_type: Any) -> None:
    """Raise an error for limits of unknown probability or scale."""
    check_probability("confidence", confidence)
    read_choice("conf_type", conf_type, SCALES)


def read_ascending(times: Any) -> Array | None:
    """Times of the rows of a table, each once; None for those of events."""
    return None if times is None else np.unique(read_grid(times))


def _after(seen: Seen, start: float | None) -> Seen:
    """Rows that end at a time or later: what is at risk from then on is the same without the others."""
    if start is None:
        return seen
    given = pd.Series([start])
    start = float(days_long(given)[0]) if is_duration(given) else start
    if isinstance(start, bool) or not isinstance(start, (int, float, np.number)) or not np.isfinite(start):
        raise SpecError(f"start={start!r}: start must be a finite number, e.g. start=60.")
    later = seen.take(seen.lower >= start)
    if not len(later.lower):
        raise DataError(f"start={start!r}: all rows of a group end before that time. Choose an earlier one.")
    return later


def _survival(seen: Seen, grid: Array | None, confidence: float, conf_type: str) -> pd.DataFrame:
    """The table of one group."""
    curve = _curve(seen, confidence, conf_type)
    table = pd.DataFrame({"time": curve.times, **_counts_at_steps(seen), **curve.columns()})
    if grid is None:
        return at_events(table)
    last = curve.times[-1] if curve.survival[-1] > 0.0 else np.inf
    return at_times(table, seen, grid, last, {"survival": 1.0, "lower": 1.0, "upper": 1.0})


def at_events(table: pd.DataFrame) -> pd.DataFrame:
    """Rows of a table at the times of events; without events that at the last time, so that no group is lost."""
    shown = table["n_event"] > 0.0
    return table[shown] if shown.any() else table.iloc[-1:]


def _counts_at_steps(seen: Seen) -> dict[str, Array]:
    steps = risk_sets(seen.lower, seen.exact, seen.weight, seen.entry)
    censored = risk_sets(seen.lower, ~seen.exact, seen.weight, seen.entry).events
    return dict(zip(_COUNTS, (steps.at_risk, steps.events, censored), strict=True))


def at_times(table: pd.DataFrame, seen: Seen, grid: Array, last: float, first: dict[str, float]) -> pd.DataFrame:
    """A table of steps at other times: counts since the last time listed, all else as after the last step."""
    at = np.searchsorted(table["time"], grid, side="right")
    start = pd.DataFrame([{**dict.fromkeys(table.columns, 0.0), **first}])
    found = pd.concat([start, table], ignore_index=True).iloc[at].reset_index(drop=True)
    for name in set(_COUNTS[1:]) & set(table.columns):
        upto = np.append(0.0, np.cumsum(table[name]))[at]
        found[name] = np.diff(upto, prepend=0.0)
    found["n_risk"] = _weight_from(seen.lower, seen.weight, grid) - _weight_from(seen.entry, seen.weight, grid)
    found.loc[grid > last, [name for name in found.columns if name not in _COUNTS]] = np.nan
    return found.assign(time=grid)


def _weight_from(ends: Array, weight: Array, grid: Array) -> Array:
    """Weight of the rows whose ends are at or after each time."""
    order = np.argsort(ends)
    total = np.append(0.0, np.cumsum(weight[order]))
    return np.asarray(total[-1] - total[np.searchsorted(ends[order], grid, side="left")])


class _Curve(NamedTuple):
    """Survival after each time with its standard error and limits, (m,) each; NaN where there are none."""

    times: Array
    survival: Array
    se: Array
    lower: Array
    upper: Array

    def columns(self) -> dict[str, Array]:
        """Columns of a table."""
        return {"survival": self.survival, "se": self.se, "lower": self.lower, "upper": self.upper}

    def quantile(self, p: float) -> tuple[float, float, float]:
        """Where the curve and its limits fall below 1 - p; limits are NaN if there are none at any time."""
        middle, lower, upper = (
            first_below(self.times, curve, 1.0 - p) for curve in (self.survival, self.lower, self.upper)
        )
        return (middle, lower, upper) if np.isfinite(self.se).any() else (middle, np.nan, np.nan)


def _curve(seen: Seen, confidence: float, conf_type: str) -> _Curve:
    """Kaplan-Meier's curve of rows that are right-censored, else Turnbull's, which has no standard errors."""
    if not seen.right:
        found = turnbull_of(seen)
        inside = np.isfinite(found.right)
        none = np.full(int(inside.sum()), np.nan)
        return _Curve(found.right[inside], found.survival[inside], none, none, none)
    sets = risk_sets(seen.lower, seen.exact, seen.weight, seen.entry)
    known = sets.survival > 0.0
    lower, upper = (np.where(known, end, np.nan) for end in sets.interval(confidence, conf_type))
    return _Curve(sets.times, sets.survival, np.where(known, sets.se, np.nan), lower, upper)


@reads_frames
def quantiles(
    formula: str,
    data: Frame,
    p: Any = 0.5,
    *,
    weights: str | None = None,
    start: float | None = None,
    confidence: float = 0.95,
    conf_type: str = "log",
) -> pd.DataFrame:
    """Tabulate medians, or other quantiles, of Kaplan-Meier or Turnbull estimates by group, with limits: (NPT3).

    Parameters
    ----------
    formula : str
        As in :func:`tobitgp.survival.kaplan_meier`, or any response of :func:`tobitgp.fit`, such as
        ``"interval(lo, hi) ~ sex"`` or ``"lead ~ site | censor(nondetect=nd)"``.
    data
        As in :func:`tobitgp.survival.kaplan_meier`.
    p : float or sequence of float
        Probabilities of values up to the quantile.
    weights, start, confidence, conf_type
        As in :func:`tobitgp.survival.kaplan_meier`.

    Returns
    -------
    DataFrame
        Indexed by the columns of groups and ``p``. ``n`` is the weight of all rows, ``events`` that of those that are
        not right-censored, pure numbers. ``quantile``, ``lower`` and ``upper`` are in the units of the times: where
        the curve, and its limits, fall below 1 - p, and the middle where a curve equals 1 - p for a while. They are
        infinite if a curve does not fall so far. Turnbull estimates have no limits.

    Raises
    ------
    DataError, FormulaError
        As :func:`tobitgp.survival.kaplan_meier`.
    SpecError
        For several causes of events, an unknown word, or a p outside (0, 1).

    References
    ----------
    .. [1] R. Brookmeyer and J. Crowley, "A confidence interval for the median survival time", *Biometrics* 38 (1982),
       29-41.

    Examples
    --------
    >>> import tobitgp as tg
    >>> tg.survival.quantiles("Surv(time, event) ~ sex", tg.datasets.load("lung")).reset_index()
       sex    p      n  events  quantile  lower  upper
    0    1  0.5  138.0   112.0     270.0  212.0  310.0
    1    2  0.5   90.0    53.0     426.0  348.0  550.0
    """
    check_limits(confidence, conf_type)
    ps = [
        check_probability("p", each, "one or more probabilities", 0.5) for each in np.ravel(np.asarray(p, dtype=object))
    ]
    read = read_times(formula, data, weights)
    parts = []
    for _, rows in read.parts():
        seen = _after(read.seen.take(rows), start)
        curve = _curve(seen, confidence, conf_type)
        found = pd.DataFrame([curve.quantile(each) for each in ps], columns=["quantile", "lower", "upper"])
        parts.append(pd.DataFrame({"p": ps, "n": seen.weight.sum(), "events": seen.events}).join(found))
    return read.table(parts, ["p"])


def median_with_limits(seen: Seen) -> tuple[float, float, float]:
    """Median of rows that are right-censored, with its 95% limits."""
    return _curve(seen, 0.95, "log").quantile(0.5)


@reads_frames
def turnbull(formula: str, data: Frame, *, weights: str | None = None) -> pd.DataFrame:
    """Tabulate the Turnbull estimate by group, from rows that are censored in any way.

    Parameters
    ----------
    formula : str
        ``"interval(lo, hi) ~ sex"``, ``"lead ~ site | censor(nondetect=nd)"`` or any other response of
        :func:`tobitgp.fit`; columns of groups right of ``~``, ``1`` for all rows together.
    data, weights
        As in :func:`tobitgp.survival.kaplan_meier`.

    Returns
    -------
    DataFrame
        Indexed by the columns of groups and ``left``, ``right``: the intervals that may have probability, in the units
        of the response, points where both ends are equal. Intervals include their right ends. Within an interval, the
        data do not say where the probability is. ``probability`` is that of the interval, ``survival`` that of
        larger values. There are no standard errors: with rows in intervals, the estimate has no normal distribution
        in large samples.

    Raises
    ------
    DataError, FormulaError
        As :func:`tobitgp.survival.kaplan_meier`.
    SpecError
        If rows entered late, or for several causes of events.

    References
    ----------
    .. [1] B. W. Turnbull, "The empirical distribution function with arbitrarily grouped, censored and truncated data",
       *JRSS B* 38 (1976), 290-295.

    Examples
    --------
    >>> import tobitgp as tg
    >>> data = {"lo": [0.0, 2.0, 1.0, 3.0], "hi": [2.0, 4.0, 3.0, float("inf")]}
    >>> tg.survival.turnbull("interval(lo, hi) ~ 1", data).round(3).reset_index()
       left  right  probability  survival
    0   1.0    2.0          0.5       0.5
    1   3.0    4.0          0.5       0.0
    """
    read = read_times(formula, data, weights)
    each = (turnbull_of(read.seen.take(rows)) for _, rows in read.parts())
    names = ["left", "right", "probability", "survival"]
    columns = ((found.left, found.right, found.mass, found.survival) for found in each)
    return read.table([pd.DataFrame(dict(zip(names, own, strict=True))) for own in columns], names[:2])


def turnbull_of(seen: Seen) -> Turnbull:
    """Intervals with more probability than the algorithm's rounding, which is a share of that of one row."""
    if seen.late:
        raise SpecError(
            "The Turnbull estimate here does not support late entry. Leave entry out, or fit a model with tg.fit()."
        )
    found = likeliest(seen.lower, seen.upper, seen.weight)
    shown = found.mass > _ROUNDING / seen.weight.sum()
    mass = found.mass[shown] / found.mass[shown].sum()
    survival = np.maximum(1.0 - np.cumsum(mass), 0.0)
    return replace(found, left=found.left[shown], right=found.right[shown], mass=mass, survival=survival)
