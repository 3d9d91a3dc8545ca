r"""Averages over days and discharges as weights of the nodes of a grid.

With C at nodes :math:`(t_j, \ell_k)` of time and log discharge, between which it is linear both ways,

.. math:: C(t, Q) = \sum_{j,k} u_j(t)\, v_k(\log Q)\, C_{jk},

and the flow-normalised mean of a period P is, over the discharges :math:`\mathcal Q_t` of the calendar day of t,

.. math:: \frac{1}{|P|} \sum_{t \in P} \frac{1}{|\mathcal Q_t|} \sum_{Q \in \mathcal Q_t} C(t, Q)
          = \sum_{j,k} W_{P,jk}\, C_{jk}.

(FLW2) and (FLW3) of the theory pages.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array, csr_array

from tobitgp.flow.daily import Daily, Periods
from tobitgp.typing import Array, IntArray

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
