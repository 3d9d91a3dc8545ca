"""Telling those who have had their event from those who have not, over time; (MET6) and (MET7) of the theory pages."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tobitgp.errors import DataError
from tobitgp.metrics.curves import (
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
