"""Figures of what a fit predicted beside what was observed, for every kind of row and of results."""

from __future__ import annotations

from typing import Any

import numpy as np

from tobitgp.data.arrays import CensoredResponse
from tobitgp.diagnostics.residual_tests import PredictedSurvival
from tobitgp.diagnostics.training_draws import read_draws, training_rows
from tobitgp.errors import SpecError
from tobitgp.numerics.log_probabilities import log_difference
from tobitgp.results.curves import predict_survival_function
from tobitgp.results.fit import Fit
from tobitgp.results.survival import read_times
from tobitgp.typing import Array

_LOWEST = -1e300  # of a log probability, so that differences stay finite


def plot_calibration(results: Fit, ax: Any = None, *, time: float | None = None, landmark: float | None = None) -> Any:
    """Draw what was predicted beside what was seen; on the diagonal if the model is right.

    Without ``time`` the predictive distributions as a whole: the share of rows, by Kaplan and Meier's estimate or,
    with left- and interval-censored rows, Turnbull's, whose response lies below the predicted quantile of each
    order, in a process given the other rows. With ``time``, of right-censored rows, the probability of an event by
    then: rows in tenths of their predictions, with Kaplan and Meier's estimate and its 95% interval in each. Weights
    and late entry count.

    Parameters
    ----------
    ax : matplotlib axes, optional
        To draw on; new ones without.
    time : float, optional
        On the scale of the response.
    landmark : float, optional
        A time before ``time``, on the same scale: the event is predicted and counted of those alive then. Needed
        where rows entered late, since nothing is known of the time before.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    SpecError
        If the fit holds no training rows; with ``time``, if rows are censored other than to the right, entered
        late and have no landmark, or all predictions are the same.

    See Also
    --------
    tobitgp.metrics.d_calibration : a test.

    References
    ----------
    .. [1] E. L. Kaplan and P. Meier, "Nonparametric estimation from incomplete observations", JASA 53 (1958),
       457-481.
    .. [2] B. W. Turnbull, "The empirical distribution function with arbitrarily grouped, censored and truncated
       data", JRSS B 38 (1976), 290-295.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung")
    >>> res = tg.fit("Surv(time, event) ~ age + sex", lung, family="weibull")
    >>> ax = res.plot_calibration(time=365)
    >>> ax.get_xlabel()
    'predicted probability of an event by 365'
    """
    from tobitgp.report.residual_figures import plot_calibration, plot_calibration_at

    if time is None:
        return plot_calibration(predicted_survival(results), ax)
    at, *more = read_times(time, "time")
    if more:
        raise SpecError("plot_calibration(time=) must be one time. Draw other times on other axes by ax=.")
    since = None if landmark is None else float(read_times(landmark, "landmark")[0])
    lower, upper, weight, entry = _right_censored(results, since)
    if since is not None and not (since < at and (lower > since).any()):
        raise SpecError(f"landmark={since:g}: a time before {at:g}, and before the last of the rows, is needed.")
    survival = predict_survival_function(results, times=[at - (since or 0.0)], conditional_after=since).to_numpy()[0]
    # A mixture answers for one row.
    survival = survival if _alike(results) else survival[results.parts.rows.kept]
    if np.ptp(survival) == 0.0:
        raise SpecError("plot_calibration(time=) compares rows, and this fit predicts the same for all.")
    alive = lower > (-np.inf if since is None else since)
    rows = (lower[alive], (lower == upper)[alive], weight[alive], entry[alive])
    return plot_calibration_at(at, survival[alive], rows, ax, since)


def plot_cox_snell(results: Fit, ax: Any = None) -> Any:
    """Draw the cumulative hazard of Cox and Snell's residuals, which is that of an exponential distribution of rate 1.

    By Kaplan and Meier's estimate, or Turnbull's with left- and interval-censored rows; of a process each row's given
    the others. On the diagonal if the model is right; it shows late times better than :meth:`plot_calibration`, early
    ones worse.

    Parameters
    ----------
    ax : matplotlib axes, optional
        To draw on; new ones without.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    SpecError
        If ``ax`` is no matplotlib axes, or the fit holds no training rows.

    References
    ----------
    .. [1] D. R. Cox and E. J. Snell, "A general definition of residuals", JRSS B 30 (1968).

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung")
    >>> res = tg.fit("Surv(time, event) ~ age + sex", lung, family="weibull")
    >>> ax = res.plot_cox_snell()
    >>> ax.get_xlabel()
    'Cox-Snell residual'
    """
    from tobitgp.report.residual_figures import plot_cox_snell

    return plot_cox_snell(predicted_survival(results, "plot_cox_snell()"), ax)


def plot_predictive_check(
    results: Any, ax: Any = None, *, draws: int = 50, rng: int | np.random.Generator | None = None
) -> Any:
    """Draw the distribution of the response beside those of replicates from the model.

    Censored rows are kept as what they are, by Kaplan and Meier's estimate, or Turnbull's with left- and
    interval-censored rows; replicates are new, uncensored responses of the same rows, inside their windows.

    Parameters
    ----------
    ax : matplotlib axes, optional
        To draw on; new ones without.
    draws : int
        Replicates.
    rng : int or numpy Generator, optional
        None is deterministic.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    SpecError
        If ``ax`` is no matplotlib axes, the fit holds no training rows, or some of them are censored and they have
        windows of their own.

    References
    ----------
    .. [1] A. Gelman, X.-L. Meng and H. Stern, "Posterior predictive assessment of model fitness via realized
       discrepancies", Statistica Sinica 6 (1996).

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung")
    >>> res = tg.fit("Surv(time, event) ~ age + sex", lung, family="weibull")
    >>> ax = res.plot_predictive_check(draws=10, rng=1)
    >>> ax.get_xlabel()
    'time'
    """
    from tobitgp.report.axes import response_name
    from tobitgp.report.residual_figures import plot_predictive_check

    rows = training_rows(results.parts, "plot_predictive_check()")
    ends = results._training_ends()
    if results.parts.spec.truncation is None:
        replicates = results.sample(draws=draws, rng=rng).to_numpy()[rows.kept]
    elif (ends[0] != ends[1]).any() and not _share_window(rows.response):
        raise SpecError(
            "plot_predictive_check() cannot show censored rows with a different window for each row, "
            "e.g. after late entry: where they were censored depends on the window. Use plot_calibration()."
        )
    else:
        replicates = results._draw_inside(read_draws(draws, rows=len(ends[0])), rng)
    return plot_predictive_check(ends, replicates, response_name(results.model), ax)


def _right_censored(results: Fit, since: float | None) -> tuple[Array, Array, Array, Array]:
    """Ends, weights and entries of training rows that are exact or right-censored."""
    rows = training_rows(results.parts, "plot_calibration()")
    response, weight, (lower, upper, _) = rows.response, rows.tested_weight, results._training_ends()
    if not ((lower == upper) | np.isposinf(upper)).all() or np.isfinite(response.exit).any():
        raise SpecError("plot_calibration(time=) takes right-censored rows; others are shown by plot_calibration().")
    if since is None and (response.entry > 0.0).any():
        raise SpecError(
            "plot_calibration(time=) of rows that entered late needs landmark=, a time from which on they are "
            "followed, as plot_calibration(time=80, landmark=70)."
        )
    return lower, upper, weight, response.entry


def predicted_survival(results: Any, question: str = "plot_calibration()") -> PredictedSurvival:
    """Predicted log survival at the ends of the training rows, within their windows; of a process by other rows."""
    rows = training_rows(results.parts, question)
    response, weight, (lower, upper, _) = rows.response, rows.tested_weight, results._training_ends()
    times = results._times_left_out()
    if times.discrete:
        lower = np.where(lower == upper, lower - 1.0, lower)
    ends = np.stack([lower, upper, response.entry, response.exit], axis=1)
    known = np.where(np.isfinite(ends), ends, lower[np.isfinite(lower)].min(initial=np.inf))
    known = np.where(np.isfinite(known), known, 1.0)
    # The rows of a mixture are all the same, and it answers for one.
    log_s = times.survive(known.reshape(1, -1)).reshape(known.shape) if _alike(results) else times.survive(known)
    log_s = np.where(np.isneginf(ends), 0.0, np.where(np.isposinf(ends), -np.inf, log_s))
    if results.parts.spec.truncation is None:
        return PredictedSurvival(log_s[:, 0], log_s[:, 1], weight)
    ends_s, entry_s, exit_s = np.split(np.maximum(log_s, _LOWEST), [2, 3], axis=1)
    with np.errstate(divide="ignore"):
        inside = np.minimum(log_difference(ends_s, exit_s) - log_difference(entry_s, exit_s), 0.0)
    return PredictedSurvival(inside[:, 0], inside[:, 1], weight)


def _share_window(response: CensoredResponse) -> bool:
    return bool((response.entry == response.entry[0]).all() and (response.exit == response.exit[0]).all())


def _alike(results: Any) -> bool:
    return results.parts.spec.mixture is not None
