"""Scores of survival over time: area under the ROC curve, and Brier's; (MET4) to (MET7) of the theory pages.

Telling those who have had their event from those who have not, over time; (MET6) and (MET7) of the theory pages.

Squared error of predicted survival; (MET4) and (MET5) of the theory pages.
"""

from __future__ import annotations

from typing import Any, NamedTuple

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
from tobitgp.metrics.read import RightCensored, check_order, read_both, read_column
from tobitgp.numerics.nonparametric import kaplan_meier
from tobitgp.typing import Array


class DynamicAUC(NamedTuple):
    """Areas under time-dependent ROC curves; (MET6) and (MET7) of the theory pages.

    Attributes
    ----------
    auc : Series
        An area, a share of pairs, for each time, times in the index.
    mean : float
        Their average, weighted by the share of rows that have their event from one time to the next.
    """

    auc: pd.Series[float]
    mean: float


def cumulative_dynamic_auc(
    train: Any,
    test: Any,
    survival_frame: Any,
    times: Any = None,
    *,
    interpolation: Interpolation = "linear",
    entry: Any = None,
    weights: Any = None,
    landmark: float | None = None,
) -> DynamicAUC:
    r"""Area under the ROC curve that separates rows with an event by time t from rows without.

    .. math:: A(t) = \frac{\sum_{ij} w_i w_j\, \delta_i\, 1[t_i \le t]\, 1[t_j > t]\, G(t_i-)^{-1}
                     \{1[f_i < f_j] + \tfrac12 1[f_i = f_j]\}}
                    {\sum_j w_j 1[t_j > t]\; \sum_i w_i\, \delta_i\, 1[t_i \le t]\, G(t_i-)^{-1}},

    where f are survival curves at t, or scores, w weights, :math:`\delta_i` says that row i had its event and
    :math:`G(t-)` is the probability of not being censored before t, estimated by Kaplan and Meier's method on the
    training rows. With a landmark s, of the rows at risk then, with survival given that of s and :math:`G(t) / G(s)`.

    Parameters
    ----------
    train, test
        As in `brier_score`.
    survival_frame : DataFrame or (n,) array
        Survival curves as in `brier_score`, or a score for each row, on any scale, higher for longer times.
        scikit-survival takes risks, which are the negative.
    times : float or (m,) array, optional
        On the scale of the test times: from the first event in test on, earlier than its longest time, ascending; by
        default the index of the frame.
    interpolation, entry, weights, landmark
        As in `brier_score`.

    Returns
    -------
    DynamicAUC
        Named tuple ``(auc, mean)``. The mean is :math:`\sum_k A(t_k) \{S(t_{k-1}) - S(t_k)\} / \{1 - S(t_m)\}`, with
        S Kaplan and Meier's estimate on the test rows and :math:`S(t_0) = 1`.

    Raises
    ------
    DataError
        If columns cannot be used, a time leaves no event or no row to tell from it, lies outside the curves, or a
        weight is needed at a time that no training row was followed to.
    SpecError
        If ``train`` or ``test`` are no pairs, or scores come without ``times``.

    References
    ----------
    Uno, Cai, Tian and Wei (2007), Evaluating prediction rules for t-year survivors with censored regression models,
    *JASA* 102, 527-537; Lambert and Chevret (2016), Summary measure of discrimination in survival models based on
    cumulative/dynamic time-dependent ROC curves, *Statistical Methods in Medical Research* 25, 2088-2102.

    Examples
    --------
    >>> train = [1, 2, 3, 4], [1, 0, 1, 0]
    >>> found = cumulative_dynamic_auc(train, ([1, 2, 3, 4], [1, 1, 0, 0]), [1, 3, 2, 3], times=[1, 2.5])
    >>> print(found.auc.to_dict(), found.mean)
    {1.0: 1.0, 2.5: 0.625} 0.8125
    """
    seen, rows = read_both(train, test, entry, weights)
    since, at_risk = read_landmark(landmark, rows)
    n, censoring, rows = len(rows.time), censoring_times(seen, since), rows.rows(at_risk)
    time, event = rows.time, rows.event
    curves = isinstance(survival_frame, pd.DataFrame) and survival_frame.shape[1] > 1
    if times is None and not curves:
        raise DataError("times are needed beside scores.")
    grid = read_times(default_times(survival_frame, since) if times is None else times, time, since)
    if not (np.diff(grid) > 0.0).all():
        raise DataError("times are needed in ascending order.")
    if curves:
        every = read_test_curves(survival_frame, test[0], n, interpolation)
        scores = survival_since(every, grid, since)[:, at_risk]
    else:
        check_order(**{"the time of test": test[0], "survival_frame": survival_frame})
        score = read_column("survival_frame", survival_frame, n, infinite=True)[at_risk]
        scores = np.broadcast_to(score, (len(grid), len(time)))
    needed = event & (time <= grid[-1]) & (rows.weight > 0.0)
    if not (time[needed] <= grid[0]).any():
        raise DataError(f"times holds {grid[0]:g}, by which no test row has had its event: later times are needed.")
    weight = np.zeros(len(time))
    weight[needed] = rows.weight[needed] * censoring.weights(
        time[needed], "the event of a test row at time", event=True
    )
    areas = np.array([_area(f, weight, rows, t) for t, f in zip(grid, scores, strict=True)])
    auc = pd.Series(areas, index=pd.Index(grid, name="time"), name="auc")
    return DynamicAUC(auc, _mean(areas, rows, grid))


def _area(score: Array, weight: Array, rows: RightCensored, t: float) -> float:
    """Area at one time; the weight of rows without an event is 0."""
    case, later = (rows.time <= t) & (weight > 0.0), rows.time > t
    order = np.argsort(score[later])
    controls = score[later][order]
    # Weight of the controls from each on, none beyond the last.
    mass = np.append(np.cumsum(rows.weight[later][order][::-1])[::-1], 0.0)
    above, at_least = (mass[np.searchsorted(controls, score[case], side=side)] for side in ("right", "left"))
    won = 0.5 * (weight[case] @ (above + at_least))
    return float(won / (mass[0] * weight[case].sum()))


def _mean(areas: Array, rows: RightCensored, grid: Array) -> float:
    """Average of the areas by the drop of survival up to each time."""
    times, survival = kaplan_meier(rows.time, rows.event, rows.weight)
    at = np.append(1.0, survival)[np.searchsorted(times, grid, side="right")]
    return float(areas @ -np.diff(at, prepend=1.0) / (1.0 - at[-1]))


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
