"""Squared error of predicted survival; (MET4) and (MET5) of the theory pages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tobitgp.errors import DataError
from tobitgp.metrics.curves import (
    CensoringTimes,
    Interpolation,
    censoring_times,
    default_times,
    read_landmark,
    read_test_curves,
    read_times,
    survival_since,
)
from tobitgp.metrics.read import RightCensored, read_both
from tobitgp.typing import Array


def brier_score(
    train: Any,
    test: Any,
    survival_frame: pd.DataFrame,
    times: Any = None,
    *,
    interpolation: Interpolation = "linear",
    entry: Any = None,
    weights: Any = None,
    landmark: float | None = None,
) -> pd.Series[float]:
    r"""Mean squared error of predicted survival at some times, weighted for right-censored rows.

    .. math:: B(t) = \frac{1}{\sum_i w_i} \sum_i w_i \Big\{ S_i(t)^2\, \frac{\delta_i\, 1[t_i \le t]}{G(t_i-)}
                     + (1 - S_i(t))^2\, \frac{1[t_i > t]}{G(t)} \Big\},

    where :math:`S_i(t)` is the predicted survival of test row i of weight :math:`w_i`, :math:`\delta_i` says that it
    had its event and G is the probability of not being censored by a time, :math:`G(t-)` of not before it, estimated
    by Kaplan and Meier's method on the training rows. 0 is perfect, 0.25 what S = 1/2 gives everywhere.
    Rows that entered late can be judged from a landmark s on: those at risk then, :math:`e_i \le s < t_i`, with
    :math:`S_i(t) / S_i(s)` and :math:`G(t) / G(s)` in place of :math:`S_i` and G.

    Parameters
    ----------
    train, test : (time, event)
        Pairs of n numbers of 0 or more, and of 1 or True for an event and 0 or False for a censored row; or
        scikit-survival's structured arrays.
    survival_frame : DataFrame
        Times in the index, a column for each test row, in their order, as ``predict_survival_function`` of this
        package and of lifelines gives it.
    times : float or (m,) array, optional
        Where curves are judged, on the scale of the index, earlier than the longest test time; by default the index of
        the frame.
    interpolation : {"linear", "step"}
        How curves are read between the times of the frame; at those times the frame's own values are taken. Linear,
        from 1 at time 0 on, has the smaller error for curves that are smooth, and for steps at every training time
        hardly another; "step" keeps each value until the next time, as is exact for Kaplan-Meier, Cox and forests.
        Nothing is read beyond the last time of the frame.
    entry : pair of (n,) arrays, optional
        From when on the rows of train and of test were followed (delayed entry), on the scale of the times; None for
        those followed from the beginning. Test rows that entered later than 0 need a ``landmark``.
    weights : pair of (n,) arrays, optional
        Frequency weights of the rows of train and of test, 0 or more: a row of weight 2 is two rows.
    landmark : float, optional
        Time from which on test rows are judged, on the scale of the times; 0 without.

    Returns
    -------
    Series
        A score for each time, on the scale of squared probabilities, times in the index.

    Raises
    ------
    DataError
        If columns cannot be used, a time lies outside the curves, before the landmark or not below the longest test
        time, a landmark is lacking or leaves no row, or a weight is needed at a time that no training row was followed
        to.
    SpecError
        If ``train`` or ``test`` are no pairs or ``survival_frame`` no DataFrame.

    Notes
    -----
    scikit-survival takes :math:`G(t_i)`, which differs where an event and a censoring share a time.

    References
    ----------
    Graf, Schmoor, Sauerbrei and Schumacher (1999), Assessment and comparison of prognostic classification schemes for
    survival data, *Statistics in Medicine* 18, 2529-2545.

    Examples
    --------
    >>> train = [1, 2, 3, 4], [1, 0, 1, 0]
    >>> frame = pd.DataFrame({"a": [0.6, 0.2], "b": [0.9, 0.8]}, index=[1.0, 3.0])
    >>> brier_score(train, ([1, 4], [1, 0]), frame, times=[1, 2, 3])
    time
    1.0    0.185000
    2.0    0.096875
    3.0    0.050000
    Name: brier_score, dtype: float64
    """
    seen, rows = read_both(train, test, entry, weights)
    curves = read_test_curves(survival_frame, test[0], len(rows.time), interpolation)
    since, at_risk = read_landmark(landmark, rows)
    grid = read_times(default_times(survival_frame, since) if times is None else times, rows.time[at_risk], since)
    survival = survival_since(curves, grid, since)[:, at_risk]
    scores = _scores(censoring_times(seen, since), rows.rows(at_risk), survival, grid)
    return pd.Series(scores, index=pd.Index(grid, name="time"), name="brier_score")


def integrated_brier_score(
    train: Any,
    test: Any,
    survival_frame: pd.DataFrame,
    times: Any = None,
    *,
    interpolation: Interpolation = "linear",
    entry: Any = None,
    weights: Any = None,
    landmark: float | None = None,
) -> float:
    r"""Average of the Brier score over time, :math:`\int B(t)\,dt / (t_m - t_1)` by the trapezoidal rule.

    Parameters
    ----------
    train, test, survival_frame, times, interpolation, entry, weights, landmark
        As in `brier_score`; two times at least, ascending.

    Returns
    -------
    float
        On the scale of squared probabilities.

    Raises
    ------
    DataError, SpecError
        As `brier_score`.

    References
    ----------
    Graf, Schmoor, Sauerbrei and Schumacher (1999), *Statistics in Medicine* 18, 2529-2545.

    Examples
    --------
    >>> train = [1, 2, 3, 4], [1, 0, 1, 0]
    >>> frame = pd.DataFrame({"a": [0.6, 0.2], "b": [0.9, 0.8]}, index=[1.0, 3.0])
    >>> round(integrated_brier_score(train, ([1, 4], [1, 0]), frame, times=[1, 2, 3]), 7)
    0.1071875
    """
    how: dict[str, Any] = {"interpolation": interpolation, "entry": entry, "weights": weights, "landmark": landmark}
    scores = brier_score(train, test, survival_frame, times, **how)
    grid = scores.index.to_numpy()
    if len(grid) < 2 or not (np.diff(grid) > 0.0).all():
        raise DataError("times of an integrated score are two at least, each later than the one before.")
    heights = scores.to_numpy()
    return float(0.5 * (heights[1:] + heights[:-1]) @ np.diff(grid) / (grid[-1] - grid[0]))


def _scores(censoring: CensoringTimes, rows: RightCensored, survival: Array, grid: Array) -> Array:
    """Brier score of survival (m, n) at each time of a grid."""
    time, event = rows.time, rows.event
    needed = event & (time <= grid.max())
    gone = np.zeros(len(time))
    gone[needed] = censoring.weights(time[needed], "the event of a test row at time", event=True)
    left = censoring.weights(grid, "times holds")
    losses = [
        np.where(time > t, (1.0 - S) ** 2 * w, np.where(event, S**2 * gone, 0.0))
        for t, w, S in zip(grid, left, survival, strict=True)
    ]
    return np.asarray(np.average(losses, axis=1, weights=rows.weight))
