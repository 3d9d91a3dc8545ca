"""Scores over time: area under the ROC curve, and Brier's; (MET4) to (MET7), (MET14), (MET15) of the theory pages."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tobitgp.errors import DataError
from tobitgp.metrics.metric_arguments import RightCensored
from tobitgp.metrics.score_errors import standard_errors, with_interval
from tobitgp.metrics.survival_curves import Interpolation, read_judged
from tobitgp.numerics.nonparametric import aalen_johansen
from tobitgp.typing import Array


class DynamicAUC(NamedTuple):
    """Areas under time-dependent ROC curves; (MET6) and (MET7) of the theory pages.

    Attributes
    ----------
    auc : Series or DataFrame
        An area, a share of pairs, for each time, times in the index; with ``interval=`` columns ``estimate, se, lower,
        upper``.
    mean : float
        Their average, weighted by the share of rows that have their event between successive times.
    """

    auc: pd.Series[float] | pd.DataFrame
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
    cause: Any = None,
    interval: float | None = None,
) -> DynamicAUC:
    r"""Area under the ROC curve that separates rows with an event by time t from rows without.

    .. math:: A(t) = \frac{\sum_{ij} w_i w_j\, \delta_i\, 1[t_i \le t]\, 1[t_j > t]\, G(t_i-)^{-1}
                     \{1[f_i < f_j] + \tfrac12 1[f_i = f_j]\}}
                    {\sum_j w_j 1[t_j > t]\; \sum_i w_i\, \delta_i\, 1[t_i \le t]\, G(t_i-)^{-1}},

    where f are survival curves at t, or scores, w are weights, :math:`\delta_i` indicates an event in row i and
    :math:`G(t-)` is the probability of not being censored before t, estimated by the Kaplan-Meier method on the
    training rows. With a landmark s, only rows at risk then are used, with survival conditional on s and
    :math:`G(t) / G(s)`. With a cause, :math:`\delta_i` indicates events of that cause. Rows without an event by t then
    have the weight :math:`G(t)^{-1}`, and rows with another event by t join them with :math:`G(t_j-)^{-1}` [1]_.

    Parameters
    ----------
    train, test
        As in `brier_score`.
    survival_frame : DataFrame or (n,) array
        Survival curves as in `brier_score`, or a score for each row on any scale, higher for longer times;
        scikit-survival uses risks, their negative. With ``cause``: incidences as in `brier_score`, or scores that are
        higher for rows less likely to have that event.
    times : float or (m,) array, optional
        Ascending times on the scale of the test times, from the first event in test to before its longest time. The
        default is the index of the frame.
    interpolation, entry, weights, landmark, cause
        As in `brier_score`.
    interval : float, optional
        Probability of intervals. ``auc`` is then a table with standard errors, (MET17), from the influence of each row,
        including that of training rows on G. If train and test are the same samples, their rows count once. Limits are
        formed on the logit scale, so they are between 0 and 1. ``se`` and limits are NaN for an area of 0 or 1, where
        the influence of every row is 0.

    Returns
    -------
    DynamicAUC
        Named tuple ``(auc, mean)``. The mean is :math:`\sum_k A(t_k) \{S(t_{k-1}) - S(t_k)\} / \{1 - S(t_m)\}`, with
        S the Kaplan-Meier estimate from the test rows and :math:`S(t_0) = 1`; with ``cause``, S is one minus the
        Aalen-Johansen estimate of its incidence.

    Raises
    ------
    DataError
        If columns cannot be used, if a time is outside the curves or has no event before it or no row after it, or if a
        weight is required at a time to which no training row was followed.
    SpecError
        If ``train`` or ``test`` are not pairs, or scores are given without ``times``.

    References
    ----------
    Uno, Cai, Tian and Wei (2007), Evaluating prediction rules for t-year survivors with censored regression models,
    *JASA* 102, 527-537; Lambert and Chevret (2016), Summary measure of discrimination in survival models based on
    cumulative/dynamic time-dependent ROC curves, *Statistical Methods in Medical Research* 25, 2088-2102.

    .. [1] P. Blanche, J.-F. Dartigues and H. Jacqmin-Gadda, "Estimating and comparing time-dependent areas under
       receiver operating characteristic curves for censored event times with competing risks", *Statistics in
       Medicine* 32 (2013), 5381-5397, definition 2, also used by R's riskRegression.

    Examples
    --------
    >>> train = [1, 2, 3, 4], [1, 0, 1, 0]
    >>> found = cumulative_dynamic_auc(train, ([1, 2, 3, 4], [1, 1, 0, 0]), [1, 3, 2, 3], times=[1, 2.5])
    >>> print(found.auc.to_dict(), found.mean)
    {1.0: 1.0, 2.5: 0.625} 0.8125
    """
    scored = not (isinstance(survival_frame, pd.DataFrame) and survival_frame.shape[1] > 1)
    how = {"interpolation": interpolation, "entry": entry, "weights": weights, "landmark": landmark, "cause": cause}
    judged = read_judged(train, test, survival_frame, times, scored=scored, **how)
    rows, grid = judged.rows, judged.grid
    if not (np.diff(grid) > 0.0).all():
        raise DataError("times= must be in ascending order.")
    if not (rows.case & (rows.time <= grid[0])).any():
        raise DataError(f"times= holds {grid[0]:g}, but no test row had its event by then. Give later times.")
    gone = rows.weight * judged.event_weights()
    left = judged.censoring.weights(grid, "Time") if rows.other.any() else np.ones(len(grid))
    found = [_area(f, gone, w, rows, t) for t, w, f in zip(grid, left, judged.values, strict=True)]
    areas, index = np.array([area for area, _ in found]), pd.Index(grid, name="time")
    mean = _mean(areas, rows, grid)
    if interval is None:
        return DynamicAUC(pd.Series(areas, index=index, name="auc"), mean)
    by_weight = np.array([changes for _, changes in found])
    se = standard_errors(judged, by_weight / rows.weight, by_weight)
    return DynamicAUC(with_interval(areas, se, interval, index, "logit"), mean)


def _area(score: Array, gone: Array, left: float, rows: RightCensored, t: float) -> tuple[float, Array]:
    """Area at one time, and its derivatives (n,) in the logarithms of the weights of rows.

    ``gone`` (n,) weights rows that had an event, ``left`` those that had none by then.
    """
    past = (rows.time <= t) & (gone > 0.0)
    case, control = past & rows.case, past & rows.other | (rows.time > t)
    order = np.argsort(score[control])
    controls = score[control][order]
    weight = np.where(rows.time > t, left * rows.weight, gone)[control][order]
    # Weight of the controls from each on, none beyond the last.
    mass = np.append(np.cumsum(weight[::-1])[::-1], 0.0)
    above, at_least = (mass[np.searchsorted(controls, score[case], side=side)] for side in ("right", "left"))
    won, cases = 0.5 * (above + at_least) / mass[0], gone[case].sum()
    area, changes = float(gone[case] @ won / cases), np.zeros(len(score))
    changes[case] += gone[case] * (won - area) / cases
    rank = np.argsort(score[case])
    lost = np.append(0.0, np.cumsum(gone[case][rank]))  # weight of the cases below each
    below, at_most = (lost[np.searchsorted(score[case][rank], controls, side=side)] for side in ("left", "right"))
    changes[np.flatnonzero(control)[order]] += weight * (0.5 * (below + at_most) / cases - area) / mass[0]
    return area, changes


def _mean(areas: Array, rows: RightCensored, grid: Array) -> float:
    """Average of the areas by the rise of the incidence up to each time."""
    times, incidence = aalen_johansen(rows.time, rows.event, rows.case, rows.weight)
    at = np.append(0.0, incidence)[np.searchsorted(times, grid, side="right")]
    return float(areas @ np.diff(at, prepend=0.0) / at[-1])


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
    cause: Any = None,
    interval: float | None = None,
) -> pd.Series[float] | pd.DataFrame:
    r"""Brier score: mean squared error of predicted survival at some times, weighted for right-censoring.

    .. math:: B(t) = \frac{1}{\sum_i w_i} \sum_i w_i \Big\{ S_i(t)^2\, \frac{\delta_i\, 1[t_i \le t]}{G(t_i-)}
                     + (1 - S_i(t))^2\, \frac{1[t_i > t]}{G(t)} \Big\},

    where :math:`S_i(t)` is the predicted survival of test row i with weight :math:`w_i`, :math:`\delta_i` indicates its
    event and G(t) is the probability of not being censored by t (G(t-): before t), estimated by the Kaplan-Meier method
    on the training rows. A perfect prediction has the score 0; S = 1/2 everywhere has 0.25.
    If rows entered late, choose a landmark s: rows at risk then, :math:`e_i \le s < t_i`, are evaluated with
    :math:`S_i(t) / S_i(s)` and :math:`G(t) / G(s)` instead of :math:`S_i` and G.
    With a cause, :math:`S_i` is one minus the predicted incidence of that cause. Rows that had another event by t count
    as rows without the event, with loss :math:`(1 - S_i(t))^2 / G(t_i-)`.

    Parameters
    ----------
    train, test : (time, event)
        Pairs of n numbers of 0 or more, and of 1 or True for an event and 0 or False for a censored row, or with
        ``cause`` the causes; or scikit-survival's structured arrays.
    survival_frame : DataFrame
        Survival curves with times in the index and a column for each test row, in the same order, as returned by
        ``predict_survival_function`` of this package and of lifelines. With ``cause``: its cumulative incidence; with
        ``cause`` and ``landmark``: the incidence conditional on no event by the landmark, 0 at the landmark.
    times : float or (m,) array, optional
        Times of evaluation on the scale of the index, earlier than the longest test time. The default is the index of
        the frame.
    interpolation : {"linear", "step"}
        Interpolation between the times of the frame. "linear", from 1 at time 0 on, has the smaller error for smooth
        curves. "step" keeps each value until the next time, which is exact for Kaplan-Meier, Cox models and forests.
    entry : pair of (n,) arrays, optional
        Times from which the rows of train and of test were followed (delayed entry), on the scale of the times; None if
        they were followed from the beginning. If test rows entered after 0, ``landmark`` must be given.
    weights : pair of (n,) arrays, optional
        Frequency weights of the rows of train and of test, 0 or more: a row of weight 2 is two rows.
    landmark : float, optional
        Time from which test rows are evaluated, on the scale of the times (default 0).
    cause : optional
        For competing risks: the cause that is predicted. Events are then whole numbers (0 means censored), text
        ("censored") or categories (the first one).
    interval : float, optional
        Probability of intervals, by which the scores come in a table with standard errors, (MET17): those of the
        influence of each row, that of training rows on G too. Rows that train and test share count once where they
        are the same samples. Limits are formed on the log scale, so they are above 0; NaN for a score of 0.

    Returns
    -------
    Series or DataFrame
        A score for each time, on the scale of squared probabilities, times in the index; with ``interval`` columns
        ``estimate, se, lower, upper``.

    Raises
    ------
    DataError
        If columns cannot be used, a curve rises, a time lies outside the curves, before the landmark or not below the
        longest test time, a landmark is lacking or leaves no row, or a weight is needed at a time that no training row
        was followed to.
    SpecError
        If ``train`` or ``test`` are no pairs or ``survival_frame`` no DataFrame.

    Notes
    -----
    scikit-survival takes :math:`G(t_i)`, which differs where an event and a censoring share a time.

    References
    ----------
    Graf, Schmoor, Sauerbrei and Schumacher (1999), Assessment and comparison of prognostic classification schemes for
    survival data, *Statistics in Medicine* 18, 2529-2545; Schoop, Beyersmann, Schumacher and Binder (2011), Quantifying
    the predictive accuracy of time-to-event models in the presence of competing risks, *Biometrical Journal* 53,
    88-112.

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

    Of competing risks the incidence of one cause:

    >>> test = [1, 4], [1, 2]
    >>> brier_score(([1, 2, 3, 4], [2, 0, 1, 0]), test, 1.0 - frame, times=[1, 2, 3], cause=2).round(4).tolist()
    [0.085, 0.1969, 0.35]
    """
    how = {"interpolation": interpolation, "entry": entry, "weights": weights, "landmark": landmark, "cause": cause}
    judged = read_judged(train, test, survival_frame, times, **how)
    rows, grid, gone = judged.rows, judged.grid, judged.event_weights()
    left = judged.censoring.weights(grid, "Time")
    losses = [
        np.where(rows.case & (rows.time <= t), S**2, (1.0 - S) ** 2) * np.where(rows.time > t, w, gone)
        for t, w, S in zip(grid, left, judged.values, strict=True)
    ]
    scores, index = np.average(losses, axis=1, weights=rows.weight), pd.Index(grid, name="time")
    if interval is None:
        return pd.Series(scores, index=index, name="brier_score")
    each, n = np.array(losses), rows.weight.sum()
    se = standard_errors(judged, (each - scores[:, None]) / n, rows.weight * each / n)
    return with_interval(scores, se, interval, index, "log")


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
    cause: Any = None,
) -> float:
    r"""Average of the Brier score over time, :math:`\int B(t)\,dt / (t_m - t_1)` by the trapezoidal rule.

    Parameters
    ----------
    train, test, survival_frame, times, interpolation, entry, weights, landmark, cause
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
    how = {"interpolation": interpolation, "entry": entry, "weights": weights, "landmark": landmark, "cause": cause}
    scores = brier_score(train, test, survival_frame, times, **how)
    grid = scores.index.to_numpy()
    if len(grid) < 2 or not (np.diff(grid) > 0.0).all():
        raise DataError("times= of an integrated score must be at least two, in ascending order.")
    heights = scores.to_numpy()
    return float(0.5 * (heights[1:] + heights[:-1]) @ np.diff(grid) / (grid[-1] - grid[0]))
