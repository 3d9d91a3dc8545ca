"""Calibration in the large and calibration slope of predicted survival; (MET18) of the theory pages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tobitgp.errors import DataError, SpecError
from tobitgp.metrics.metric_arguments import read_survival
from tobitgp.metrics.score_errors import with_interval
from tobitgp.metrics.survival_curves import Curves, Interpolation, read_curves
from tobitgp.typing import Array

_STEPS, _SMALL = 50, 1e-10


def calibration_slope(
    test: Any,
    survival_frame: pd.DataFrame,
    time: float,
    *,
    interpolation: Interpolation = "linear",
    entry: Any = None,
    weights: Any = None,
    interval: float = 0.95,
) -> pd.DataFrame:
    r"""Calibration in the large and calibration slope of survival predicted up to a time.

    Let :math:`d_i` indicate an event in row i by t, let :math:`E_i` be the predicted cumulative hazard from its
    entry to its end or t, and :math:`\eta_i = \log\{-\log S_i(t)\}`. In the model
    :math:`\log \operatorname{E} d_i = \log E_i + a + b\,\eta_i` of Poisson counts, a alone is calibration in the large,
    the logarithm of observed over expected events; :math:`1 + b`, with a estimated too, is the slope. A slope below 1
    means that predictions differ too much between rows, as for an overfitted model. Censored rows do not need weights.

    Parameters
    ----------
    test : (time, event)
        As in `brier_score`.
    survival_frame : DataFrame
        Survival curves as in `brier_score`. They are read at the rows' own times, so give times close to each other.
    time : float
        The time t, on the scale of the index.
    interpolation
        As in `brier_score`.
    entry : (n,) array, optional
        Time from which each row was followed (delayed entry), on the scale of the index.
    weights : (n,) array, optional
        Frequency weights, numbers of copies.
    interval : float
        Probability of the intervals.

    Returns
    -------
    DataFrame
        Rows ``in the large`` (0 if calibrated) and ``slope`` (1 if calibrated), columns ``estimate, se, lower, upper``;
        pure numbers, the first a logarithm.

    Raises
    ------
    DataError
        If columns cannot be used, times lie outside the curves, no row had its event by then, an event was predicted to
        be impossible, or all rows have the same prediction.
    SpecError
        If ``test`` is no pair, ``survival_frame`` no DataFrame or ``time`` not one number.

    References
    ----------
    Crowson, Atkinson and Therneau (2016), Assessing calibration of prognostic risk scores, *Statistical Methods in
    Medical Research* 25, 1692-1706; (MET18) of the theory pages.

    Examples
    --------
    >>> frame = pd.DataFrame({"a": [0.9, 0.6], "b": [0.8, 0.3], "c": [0.7, 0.2], "d": [0.9, 0.5]}, index=[1.0, 3.0])
    >>> calibration_slope(([2.0, 1.5, 1.0, 3.0], [1, 1, 1, 0]), frame, 3.0).round(2)
                  estimate    se  lower  upper
    in the large      0.55  0.58  -0.58   1.68
    slope             1.67  1.40  -1.08   4.42
    """
    if isinstance(time, bool) or not isinstance(time, int | float | np.number) or not np.isfinite(time):
        raise SpecError(f"time={time!r}: must be one number. For several times, call once for each.")
    rows = read_survival("test", test, entry, weights)
    curves = read_curves(survival_frame, len(rows.time), interpolation, test[0])
    begin = np.maximum(rows.entry, 0.0)
    used = np.flatnonzero((rows.weight > 0.0) & (begin < time))
    stop, begin, weight = np.minimum(rows.time, time)[used], begin[used], rows.weight[used]
    d = (rows.event & (rows.time <= time))[used].astype(np.float64)
    if not d.any():
        raise DataError(f"time={time!r}: no row had its event by then. Give a later time.")
    E = _hazard(curves, stop, used) - np.where(begin > 0.0, _hazard(curves, np.maximum(begin, 0.0), used), 0.0)
    with np.errstate(divide="ignore"):
        eta = np.log(_hazard(curves, np.full(len(used), time), used))
    if ((d > 0.0) & (E <= 0.0)).any():
        at = int(used[np.argmax((d > 0.0) & (E <= 0.0))])
        raise DataError(f"Row {at} (counted from 0) had an event, but survival_frame predicts none for it.")
    known = np.isfinite(eta) & (E > 0.0)
    d, E, eta, weight = d[known], E[known], eta[known], weight[known]
    large, n = float(np.log(weight @ d / (weight @ E))), float(weight @ d)
    slope, se = _slope(d * weight, E * weight, eta - np.average(eta, weights=weight))
    estimate, error = np.array([large, slope]), np.array([1.0 / np.sqrt(n), se])
    return with_interval(estimate, error, interval, pd.Index(["in the large", "slope"]))


def _hazard(curves: Curves, time: Array, rows: Any) -> Array:
    """Cumulative hazards (n,) of rows at their own times."""
    survival = curves.at(time, rows, "time")
    if (survival <= 0.0).any():
        raise DataError("survival_frame= has survival 0 before the end of a row. Give an earlier time=.")
    return np.asarray(-np.log(survival))


def _slope(d: Array, E: Array, eta: Array) -> tuple[float, float]:
    """Slope and its standard error, by Newton's method in the Poisson likelihood."""
    if np.ptp(eta) <= _SMALL:
        raise DataError("survival_frame= predicts the same for all rows, so there is no slope to estimate.")
    X, b = np.column_stack([np.ones(len(d)), eta]), np.array([np.log(d.sum() / E.sum()), 0.0])
    for _ in range(_STEPS):
        mu = E * np.exp(X @ b)
        step = np.linalg.solve(X.T @ (mu[:, None] * X), X.T @ (d - mu))
        b = b + step / max(1.0, float(np.abs(X @ step).max()))
        if np.abs(X @ step).max() < _SMALL:
            break
    V = np.linalg.inv(X.T @ ((E * np.exp(X @ b))[:, None] * X))
    return 1.0 + float(b[1]), float(np.sqrt(V[1, 1]))
