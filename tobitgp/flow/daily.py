r"""Daily discharge, checked, and averages over days and discharges as weights of the nodes of a grid.

With C at nodes :math:`(t_j, \ell_k)` of time and log discharge, between which it is linear both ways,

.. math:: C(t, Q) = \sum_{j,k} u_j(t)\, v_k(\log Q)\, C_{jk},

and the flow-normalised mean of a period P is, over the discharges :math:`\mathcal Q_t` of the calendar day of t,

.. math:: \frac{1}{|P|} \sum_{t \in P} \frac{1}{|\mathcal Q_t|} \sum_{Q \in \mathcal Q_t} C(t, Q)
          = \sum_{j,k} W_{P,jk}\, C_{jk}.

(FLW2) and (FLW3) of the theory pages.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import coo_array, csr_array

from tobitgp.data.table import column_names, read_table
from tobitgp.errors import DataError, SpecError
from tobitgp.formula.functions import nearest
from tobitgp.typing import Array, BoolArray, Frame, IntArray

_NAMED = 5
_WHOLE = 0.9  # of the days of a period, below which it has no mean of its own
PERIODS = ("year", "water_year", "month")


@dataclass(frozen=True, slots=True)
class Daily:
    """One discharge a day, in the order of the days."""

    frame: pd.DataFrame  # all columns, (n,) rows
    time: str
    discharge: str
    dates: pd.DatetimeIndex  # (n,)
    q: Array  # (n,)

    @property
    def day(self) -> IntArray:
        """Days since the first, (n,)."""
        return np.asarray((self.dates - self.dates[0]).days, dtype=np.intp)

    @property
    def calendar(self) -> IntArray:
        """Day of a year of 365 days from 0 on, (n,); 29 February counts as the 28th."""
        after = self.dates.is_leap_year & (self.dates.dayofyear > 59)
        return np.asarray(self.dates.dayofyear - 1 - after, dtype=np.intp)

    @property
    def others(self) -> list[Array]:
        """Columns but date and discharge as numbers, those of levels as their codes, (n,) each."""
        columns = (self.frame[name] for name in self.frame if name not in (self.time, self.discharge))
        numbers = pd.api.types.is_numeric_dtype
        return [(c if numbers(c) else pd.Series(pd.factorize(c)[0])).to_numpy(dtype=np.float64) for c in columns]

    def grid(self, knots: IntArray, q: Array) -> pd.DataFrame:
        """Rows of some days with every discharge, those of a day one after the other; other columns as on the day."""
        rows = self.frame.iloc[np.repeat(knots, len(q))].reset_index(drop=True)
        return rows.assign(**{self.discharge: np.tile(q, len(knots))})


def read_daily(daily: Frame, discharge: str, time: str, needed: tuple[str, ...]) -> Daily:
    """Check the table of daily discharge, and that it has what the formula needs."""
    present = list(map(str, column_names(daily)))
    for argument, name in (("discharge", discharge), ("time", time)):
        if name not in present:
            raise DataError(
                f"{argument}={name!r}: the daily data have no such column{nearest(str(name), present) or '.'}"
            )
    if discharge not in needed:
        uses = ", ".join(map(repr, needed)) or "no column"
        raise SpecError(
            f"The model does not use the discharge column {discharge!r} (it uses {uses}). Write the formula with this "
            f"column, e.g. gp(log({discharge})), or name another column by discharge=."
        )
    lacking = [name for name in needed if name not in present]
    if lacking:
        raise SpecError(
            f"The formula requires {', '.join(map(repr, lacking))} for every day, which the daily data do not have. "
            f"Add it; for time, write decimal_year({time}), which requires only the dates."
        )
    names = list(dict.fromkeys([time, discharge, *needed]))
    read_table(daily, names)  # raises an error for repeated names and unequal lengths
    frame = pd.DataFrame({name: daily[name] for name in names}).reset_index(drop=True)
    dates, q = _read_dates(frame[time], time), _read_numbers(frame[discharge], discharge)
    _check(dates, q, discharge)
    for name in names[2:]:
        if (gone := (frame[name].isna() | frame[name].isin([np.inf, -np.inf])).to_numpy(dtype=bool)).any():
            raise DataError(f"{_name(dates[gone])} have no {name!r}. The formula requires it for every day.")
    return Daily(frame.assign(**{time: dates}), time, discharge, dates, q)


def _read_dates(column: pd.Series[Any], time: str) -> pd.DatetimeIndex:
    try:
        if pd.api.types.is_numeric_dtype(column):
            raise ValueError(f"{column.dtype} holds numbers")
        with warnings.catch_warnings():  # of pandas, about mixed time zones, which are invalid
            warnings.simplefilter("ignore")
            dates = pd.DatetimeIndex(pd.to_datetime(column)).tz_localize(None).normalize()
    except (ValueError, TypeError) as error:
        raise DataError(f"time={time!r}: must be a column of dates, e.g. from pd.to_datetime ({error}).") from None
    if dates.hasnans:
        raise DataError(f"The date {time!r} is missing in {int(np.sum(dates.isna()))} daily rows. Drop them.")
    return dates


def _read_numbers(column: pd.Series[Any], discharge: str) -> Array:
    try:
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan), dtype=np.float64)
    except (ValueError, TypeError):
        raise DataError(f"discharge={discharge!r}: must be a column of numbers.") from None


def _check(dates: pd.DatetimeIndex, q: Array, discharge: str) -> None:
    """Raise an error for dates out of order or repeated, and discharges that are missing or not positive."""
    if len(dates) < 2:
        raise DataError("The daily data have fewer than two days. Give one row per day.")
    step = np.diff(dates.to_numpy())
    after = f"{discharge!r} is missing. If these are few, drop them"
    zero = f"{discharge!r} is 0 or less. With zero flows, use a column of discharge plus a constant"
    for wrong, words in (
        (np.append(False, step < np.timedelta64(0)), "come before the day above. Sort the daily data by date"),
        (np.append(False, step == np.timedelta64(0)), "occur twice. Give one discharge per day"),
        (~np.isfinite(q), f"have no discharge: {after}"),
        (q <= 0.0, f"have discharges that cannot be used: {zero}"),
    ):
        if wrong.any():
            raise DataError(f"{_name(dates[wrong])} {words}.")


def _name(dates: pd.DatetimeIndex) -> str:
    shown = ", ".join(date.strftime("%Y-%m-%d") for date in dates[:_NAMED])
    more = f" and {len(dates) - _NAMED} more" if len(dates) > _NAMED else ""
    return f"{len(dates)} days ({shown}{more})"


@dataclass(frozen=True, slots=True)
class Periods:
    """Days that are averaged together."""

    labels: pd.Index  # (P,)
    code: IntArray  # (n,), -1 in periods that are left out
    count: IntArray  # (P,), days
    left_out: tuple[str, ...]  # periods of which too many days are missing


def read_periods(by: str | None, dates: pd.DatetimeIndex) -> Periods:
    """Periods of days; those of which more than a tenth is missing have no mean comparable with others."""
    if by is None:
        n = len(dates)
        return Periods(dates.rename("date"), np.arange(n), np.ones(n, dtype=np.intp), ())
    if by not in PERIODS:
        raise SpecError(f"by={by!r}: must be one of {', '.join(map(repr, PERIODS))}, or None for days.")
    frequency = {"year": "Y-DEC", "water_year": "Y-SEP", "month": "M"}[by]
    code, found = pd.factorize(dates.to_period(frequency), sort=True)
    spans = pd.PeriodIndex(found)
    count = np.bincount(code)
    length = np.asarray((spans.end_time.normalize() - spans.start_time).days) + 1
    whole: BoolArray = count >= _WHOLE * length
    names = spans.rename(by) if by == "month" else pd.Index(spans.year, name=by)
    left_out = tuple(str(name) for name in names[~whole])
    if not whole.any():
        raise DataError(f"The daily data contain no complete {by.replace('_', ' ')}. Choose shorter periods by by=.")
    place = np.where(whole, np.cumsum(whole) - 1, -1)
    return Periods(names[whole], place[code], count[whole], left_out)


STEP, LEVELS = 12, 40  # days between nodes of time, least number of nodes of log discharge
WIDEST = 0.3  # of log discharge between nodes
BEND = 5e-4  # standard deviations by which a column's change a day may differ from that of the day before
DAYS = 365


@dataclass(frozen=True, slots=True)
class Grid:
    """Nodes of time and of log discharge, with the weights of a day's."""

    knots: IntArray  # (T,), places among the days
    log_q: Array  # (K,)
    place: IntArray  # (n,), node of time at or before each day
    share: Array  # (n,), of the node after it
    at: Array  # (n, K), of the discharge of each day


def make_grid(daily: Daily) -> Grid:
    """Nodes at most 12 days apart, where other columns bend closer, and evenly over the range of log discharge."""
    day, log_q = daily.day, np.log(daily.q)
    even = np.searchsorted(day, np.append(np.arange(0, day[-1], STEP), day[-1]))
    knots = np.unique(np.concatenate([even, *(_bends(column, day) for column in daily.others)]))
    number, spread = max(LEVELS, int(np.ptp(log_q) / WIDEST) + 2), np.ptp(log_q) > 0.0
    levels = np.linspace(log_q.min(), log_q.max(), number) if spread else log_q[0] + np.array([0.0, 1.0])
    place, share = between(day.astype(float), day[knots].astype(float))
    low, high = between(log_q, levels)
    at = np.zeros((len(day), len(levels)))
    rows = np.arange(len(day))
    at[rows, low] = 1.0 - high
    at[rows, low + 1] += high
    return Grid(knots, levels, place, share, at)


def _bends(column: Array, day: IntArray) -> IntArray:
    """Days at which a column (n,) leaves the straight line that it is on between nodes."""
    change = np.diff(column) / np.diff(day)
    return np.flatnonzero(np.abs(np.diff(change)) > BEND * column.std()) + 1


def between(x: Array, nodes: Array) -> tuple[IntArray, Array]:
    """The node at or below each of x (n,), and the share of the next."""
    place = np.clip(np.searchsorted(nodes, x, side="right") - 1, 0, len(nodes) - 2)
    return place, (x - nodes[place]) / (nodes[place + 1] - nodes[place])


def discharge_weights(daily: Daily, grid: Grid, half_window_days: int, window: int | None, *, flux: bool) -> Array:
    """Weights (n, K) of the levels in the mean over the discharges of each day's calendar day.

    ``window`` years around that of the day, as many at the ends of the record; without it all.
    """
    at, calendar = (grid.at * daily.q[:, None] if flux else grid.at), daily.calendar
    year = np.asarray(daily.dates.year - daily.dates.year.min(), dtype=np.intp)
    years = int(year.max()) + 1
    sums, counts = np.zeros((years, DAYS, at.shape[1])), np.zeros((years, DAYS))
    np.add.at(sums, (year, calendar), at)
    np.add.at(counts, (year, calendar), 1.0)
    pooled = [_pool(values, half_window_days, window) for values in (sums, counts)]
    return pooled[0][year, calendar] / pooled[1][year, calendar][:, None]


def _pool(values: Array, half: int, window: int | None) -> Array:
    """Sums of (years, days, ...) over days around each day of the year, and years around each year."""
    values = np.sum([np.roll(values, shift, axis=1) for shift in range(-half, half + 1)], axis=0)
    years = len(values)
    width = years if window is None else min(window, years)
    first = np.clip(np.arange(years) - width // 2, 0, years - width)
    cumulative = np.concatenate([np.zeros_like(values[:1]), np.cumsum(values, axis=0)])
    return np.asarray(cumulative[first + width] - cumulative[first])


def period_weights(periods: Periods, grid: Grid, of_days: Array) -> csr_array:
    """Weights (P, T K) of the nodes in means over periods of what has weights (n, K) on each day."""
    used = periods.code >= 0
    code, place, share = periods.code[used], grid.place[used], grid.share[used][:, None]
    k = of_days.shape[1]
    node = np.concatenate([place, place + 1])[:, None] * k + np.arange(k)
    values = np.concatenate([of_days[used] * (1.0 - share), of_days[used] * share])
    values /= np.tile(periods.count[code], 2)[:, None]
    row = np.repeat(np.tile(code, 2), k)
    shape = (len(periods.labels), len(grid.knots) * k)
    return coo_array((values.ravel(), (row, node.ravel())), shape=shape).tocsr()
