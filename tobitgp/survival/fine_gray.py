"""Rows of Fine and Gray's regression: competing events stay at risk, with weights; (CR6) of the theory pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.frames import reads_frames
from tobitgp.data.table import days_long, is_duration
from tobitgp.errors import DataError, FormulaError, SpecError
from tobitgp.formula.competing_risks import CauseFormula, read_causes
from tobitgp.kinds.causes_call import read_levels
from tobitgp.metrics.metric_arguments import RightCensored
from tobitgp.metrics.survival_curves import censoring_times
from tobitgp.typing import Array, BoolArray, Frame

ROWS = ("fgstart", "fgstop", "fgstatus", "fgwt", "fgid")


@reads_frames
def finegray(formula: str, data: Frame, cause: str | int, *, weights: str | None = None) -> pd.DataFrame:
    r"""Make weighted rows that turn a hazard model into the Fine-Gray model for the incidence of one cause.

    The subdistribution hazard of cause k is :math:`-\frac{d}{dt} \log\{1 - F_k(t)\}`, and its ratios are what
    ``cmprsk::crr`` reports. A row with another event at :math:`t_i` stays at risk of this one with the weight
    :math:`G(t-) / G(t_i-)`, where G is the Kaplan-Meier estimate of the probability of not being censored. Its time
    is split where an event of the cause follows a censoring. Fit the rows by
    ``tg.fit("Surv(fgstart, fgstop, fgstatus) ~ x", rows, family=tg.PH("spline"), weights="fgwt", cov_type="cluster",
    cov_kwds={"groups": "fgid"})``. Then ``hazard_ratios()`` returns subdistribution hazard ratios, and one minus
    ``predict_survival_function()`` is the cumulative incidence of the cause. Incidences from separate fits of all
    causes can add up to more than one; those of ``Surv(time, cause)`` cannot.

    Parameters
    ----------
    formula : str
        ``"Surv(time, cause)"``, as for competing risks in :func:`tobitgp.fit`; anything after ``~`` is ignored.
    data : DataFrame or dict of columns
        One row per subject; rows without a time or a cause are left out. Durations are read in days.
    cause : str or int
        The cause whose incidence is modelled.
    weights : str, optional
        Column of frequency weights, by which the new ones are multiplied.

    Returns
    -------
    DataFrame
        The columns of the data, and ``fgstart, fgstop`` in the units of the time, ``fgstatus`` (1 for an event of the
        cause), ``fgwt``, and ``fgid``, the row of the data, counted from 0.

    Raises
    ------
    FormulaError, SpecError
        If the formula is not ``Surv(time, cause)`` with two columns, or the cause does not occur in the data.
    DataError
        If times or weights cannot be used, or columns have the names of the new ones.

    Notes
    -----
    Standard errors clustered by ``fgid`` treat G as known, as those of ``coxph`` after ``finegray`` in R do. ``crr``
    includes the uncertainty of G, which hardly changes them.

    References
    ----------
    Fine and Gray (1999), A proportional hazards model for the subdistribution of a competing risk, *JASA* 94,
    496-509; Geskus (2011), Cause-specific cumulative incidence estimation and the Fine and Gray model under both left
    truncation and right censoring, *Biometrics* 67, 39-49; (CR6) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> few = {"time": [1.0, 2.0, 3.0, 4.0], "cause": ["death", "censored", "relapse", "relapse"]}
    >>> rows = tg.survival.finegray("Surv(time, cause)", few, "relapse")
    >>> rows[["fgid", "fgstart", "fgstop", "fgstatus", "fgwt"]].round(3)
       fgid  fgstart  fgstop  fgstatus   fgwt
    0     0      0.0     1.0         0  1.000
    1     0      1.0     4.0         0  0.667
    2     1      0.0     2.0         0  1.000
    3     2      0.0     3.0         1  1.000
    4     3      0.0     4.0         1  1.000
    """
    written, frame = _read(formula), pd.DataFrame(data)
    needed = [name for name in (written.times.strip("`"), written.column, weights) if name is not None]
    missing = next((name for name in needed if name not in frame), None)
    if missing is not None:
        raise SpecError(f"finegray() requires a column {missing!r}, which the data do not have.")
    taken = next((name for name in ROWS if name in frame), None)
    if taken is not None:
        raise DataError(f"finegray() adds the columns {', '.join(ROWS)}. Rename the column {taken!r}.")
    causes, censored = read_levels(frame[written.column], written)
    if cause not in causes:
        raise SpecError(f"cause={cause!r}: the data have no such cause. Choose one of {', '.join(map(repr, causes))}.")
    kept = (frame[written.times.strip("`")].notna() & frame[written.column].notna()).to_numpy()
    if weights is not None:
        kept &= frame[weights].notna().to_numpy()
    used = np.flatnonzero(kept)
    frame = frame.iloc[used]
    time = _positive(frame[written.times.strip("`")])
    weight = np.ones(len(frame)) if weights is None else _positive(frame[weights])
    event = frame[written.column].to_numpy(dtype=object)
    case, seen = event == cause, np.ones(len(event), dtype=bool) if censored is None else event != censored
    row, start, stop, factor = (
        np.concatenate(each) for each in zip(*_intervals(time, seen, case, weight), strict=True)
    )
    row = row.astype(np.intp)
    order = np.lexsort((start, row))
    row, start, stop, factor = row[order], start[order], stop[order], factor[order]
    own = {"fgstart": start, "fgstop": stop, "fgstatus": (case[row] & (stop == time[row])).astype(int)}
    own |= {"fgwt": factor * weight[row], "fgid": used[row]}
    return frame.iloc[row].reset_index(drop=True).assign(**own)


def _read(formula: Any) -> CauseFormula:
    """The times and causes of a formula."""
    text = formula if "~" in str(formula) else f"{formula} ~ 1"
    written = read_causes(text)
    if written is None or "," in written.times:
        raise FormulaError(
            f"formula={formula!r}: finegray() requires the columns of times and causes, e.g. 'Surv(time, cause)'. Late "
            "entry is not supported. Use tg.fit('Surv(start, stop, cause) ~ ...') and its cumulative incidences."
        )
    return written


def _positive(column: pd.Series[Any]) -> Array:
    """Numbers (n,) above 0, durations in days."""
    try:
        values = days_long(column) if is_duration(column) else column.to_numpy(dtype=np.float64)
    except (TypeError, ValueError):
        values = np.full(len(column), np.nan)
    if not (np.isfinite(values) & (values > 0.0)).all():
        raise DataError(f"The column {column.name!r} must contain positive numbers.")
    return values


def _intervals(time: Array, seen: BoolArray, case: BoolArray, weight: Array) -> Iterator[tuple[Any, ...]]:
    """Rows, their starts and stops, and factors of their weights."""
    n = len(time)
    yield np.arange(n), np.zeros(n), time, np.ones(n)
    cuts = np.unique(np.append(time[case], time.max()))
    known = censoring_times(RightCensored(time, seen, np.full(n, -np.inf), weight, case))
    G = np.append(1.0, known.survival)
    at_cuts, own = (G[np.searchsorted(known.times, at)] for at in (cuts, time))
    # Cuts of the same probability are one, the last of them.
    last = np.flatnonzero(np.append(at_cuts[1:] != at_cuts[:-1], True))
    ends, left = cuts[last], at_cuts[last]
    for i in np.flatnonzero(seen & ~case):
        k = np.searchsorted(ends, time[i], side="right")
        at_risk = left[k:] > 0.0
        stop, start = ends[k:][at_risk], np.append(time[i], ends[k:-1])[: len(ends) - k][at_risk]
        yield np.full(len(stop), i), start, stop, left[k:][at_risk] / own[i]
