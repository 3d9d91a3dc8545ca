"""Aalen-Johansen estimates of cumulative incidence by group, as a table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.frames import reads_frames
from tobitgp.numerics.nonparametric import incidence_steps, probability_interval
from tobitgp.report.group_curves import Seen
from tobitgp.survival.curve_tables import at_events, at_times, check_limits, read_ascending
from tobitgp.survival.grouped_times import read_causes
from tobitgp.typing import Array, BoolArray, Frame


@reads_frames
def cumulative_incidence(
    formula: str,
    data: Frame,
    *,
    weights: str | None = None,
    times: Any = None,
    confidence: float = 0.95,
    conf_type: str = "log",
) -> pd.DataFrame:
    """Tabulate the Aalen-Johansen estimate of cumulative incidence by group and cause: (NPT4) of the theory pages.

    Parameters
    ----------
    formula : str
        ``"Surv(time, cause) ~ sex"``: causes are whole numbers (0: censored), text (``"censored"``) or categories (the
        first: censored). Columns of groups right of ``~``, ``1`` for all rows together.
    data, weights, times, confidence, conf_type
        As in :func:`tobitgp.survival.kaplan_meier`.

    Returns
    -------
    DataFrame
        Indexed by the columns of groups, ``cause`` and ``time``. ``n_risk`` is the weight of the rows at risk just
        before the time, ``n_event`` the weight of the events of the cause at the time, with ``times`` since the last
        one listed. ``incidence`` is a probability, ``se`` its standard error by the delta method, ``lower`` and
        ``upper`` are its limits. All are NaN after the last row of a group. By default, the times are those of the
        events of the cause in the group; without any, there is one row, at the last time of the group.

    Raises
    ------
    DataError, FormulaError
        As :func:`tobitgp.survival.kaplan_meier`.
    SpecError
        If there is one kind of event, or for an unknown word.

    References
    ----------
    .. [1] O. O. Aalen and S. Johansen, "An empirical transition matrix for non-homogeneous Markov chains based on
       censored observations", *Scandinavian Journal of Statistics* 5 (1978), 141-150.

    Examples
    --------
    >>> import tobitgp as tg
    >>> data = {"time": [1, 2, 3, 4, 5, 6], "cause": [1, 2, 1, 0, 2, 1]}
    >>> table = tg.survival.cumulative_incidence("Surv(time, cause) ~ 1", data, conf_type="plain")
    >>> table.loc[1, ["n_risk", "incidence", "se"]].round(3).reset_index()
       time  n_risk  incidence     se
    0   1.0     6.0      0.167  0.152
    1   3.0     4.0      0.333  0.192
    2   6.0     1.0      0.583  0.226
    """
    check_limits(confidence, conf_type)
    read = read_causes(formula, data, weights)
    grid = read_ascending(times)
    parts = []
    for _, rows in read.parts():
        seen, code = read.seen.take(rows), read.code[rows]
        parts += [
            _incidence(seen, code == k, grid, confidence, conf_type).assign(cause=cause)
            for k, cause in enumerate(read.causes, 1)
        ]
    each = len(read.causes)
    together = [pd.concat(parts[i : i + each], ignore_index=True) for i in range(0, len(parts), each)]
    return read.table(together, ["cause", "time"])


def _incidence(seen: Seen, case: BoolArray, grid: Array | None, confidence: float, conf_type: str) -> pd.DataFrame:
    """The table of one cause in one group."""
    steps = incidence_steps(seen.lower, seen.exact, case, seen.weight, seen.entry)
    F, se = steps.incidence, steps.se
    lower, upper = (np.where(F > 0.0, end, 0.0) for end in probability_interval(F, se, confidence, conf_type))
    columns = {"time": steps.times, "n_risk": steps.at_risk, "n_event": steps.cases}
    table = pd.DataFrame({**columns, "incidence": F, "se": se, "lower": lower, "upper": upper})
    if grid is None:
        return at_events(table)
    last = np.inf if (steps.before * (1.0 - steps.events / steps.at_risk))[-1] <= 0.0 else steps.times[-1]
    return at_times(table, seen, grid, last, {})
