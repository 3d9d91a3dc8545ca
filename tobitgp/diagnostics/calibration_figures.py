"""Figures that compare predictions with observations, for all kinds of rows and results."""

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
    """Draw observed against predicted probabilities; a correct model is on the diagonal.

    Without ``time`` the figure checks the predictive distributions as a whole. It shows the proportion of rows whose
    response is below each predicted quantile, by the Kaplan-Meier estimate or, with left- and interval-censored rows,
    the Turnbull estimate. Gaussian processes predict each row from the other rows. With ``time`` the figure checks
    the probability of an event by then, for right-censored rows: it shows the Kaplan-Meier estimate with its 95%
    interval in each tenth of the predictions. Both account for weights and late entry.

    Parameters
    ----------
    ax : matplotlib axes, optional
        Axes to draw on; new axes by default.
    time : float, optional
        A time on the scale of the response.
    landmark : float, optional
        A time before ``time``, on the same scale: only subjects alive then are predicted and counted. It must be given
        if rows entered late, because nothing is known before their entry.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    SpecError
        If the fit holds no training rows. With ``time``: if rows are left- or interval-censored, if rows entered
        late and there is no landmark, or if all predictions are equal.

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
        raise SpecError("plot_calibration(time=) must be one time. Draw other times on other axes with ax=.")
    since = None if landmark is None else float(read_times(landmark, "landmark")[0])
    lower, upper, weight, entry = _right_censored(results, since)
    if since is not None and not (since < at and (lower > since).any()):
        raise SpecError(f"landmark={since:g}: must be before time={at:g}, and before the time of the last row.")
    survival = predict_survival_function(results, times=[at - (since or 0.0)], conditional_after=since).to_numpy()[0]
    # A mixture predicts one row for all.
    survival = survival if _alike(results) else survival[results.parts.rows.kept]
    if np.ptp(survival) == 0.0:
        raise SpecError("plot_calibration(time=) compares rows, and this fit predicts the same for all. Omit time=.")
    alive = lower > (-np.inf if since is None else since)
    rows = (lower[alive], (lower == upper)[alive], weight[alive], entry[alive])
    return plot_calibration_at(at, survival[alive], rows, ax, since)


def plot_cox_snell(results: Fit, ax: Any = None) -> Any:
    """Draw the cumulative hazard of the Cox-Snell residuals, which are exponential with rate 1 if the model is correct.

    The hazard is estimated by the Kaplan-Meier or, with left- and interval-censored rows, the Turnbull estimate.
    Gaussian processes predict each row from the other rows. A correct model is on the diagonal. The figure shows late
    times better, and early times worse, than :meth:`plot_calibration`.

    Parameters
    ----------
    ax : matplotlib axes, optional
        Axes to draw on; new axes by default.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    SpecError
        If ``ax`` is not a matplotlib Axes, or the fit holds no training rows.

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
    """Draw the distribution of the response together with replicates from the model.

    The distribution of the data is the Kaplan-Meier or, with left- and interval-censored rows, the Turnbull estimate.
    Replicates are new, uncensored responses of the same rows within their truncation windows.

    Parameters
    ----------
    ax : matplotlib axes, optional
        Axes to draw on; new axes by default.
    draws : int
        Number of replicates.
    rng : int or numpy Generator, optional
        With None the result is deterministic.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    SpecError
        If ``ax`` is not a matplotlib Axes, if the fit holds no training rows, or if rows are censored and their
        truncation windows differ.

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
        raise SpecError("plot_calibration(time=) requires right-censored rows. For other rows use plot_calibration().")
    if since is None and (response.entry > 0.0).any():
        raise SpecError(
            "plot_calibration(time=) requires landmark= if rows entered late, a time from which they are followed, "
            "e.g. plot_calibration(time=80, landmark=70)."
        )
    return lower, upper, weight, response.entry


def predicted_survival(results: Any, question: str = "plot_calibration()") -> PredictedSurvival:
    """Predicted log survival at the ends of the training rows, within their windows; of a process by other rows."""
    rows = training_rows(results.parts, question)
    response, weight, (lower, upper, _) = rows.response, rows.tested_weight, results._training_ends()
    times = results._times_left_out()
    if times.discrete:
        lower = np.where(lower == upper, lower - 1.0, lower)
    window = [] if results.parts.spec.truncation is None else [response.entry, response.exit]
    ends = np.stack([lower, upper, *window], axis=1)
    known = np.where(np.isfinite(ends), ends, lower[np.isfinite(lower)].min(initial=np.inf))
    known = np.where(np.isfinite(known), known, 1.0)
    # The rows of a mixture are all the same, and it answers for one.
    log_s = times.survive(known.reshape(1, -1)).reshape(known.shape) if _alike(results) else times.survive(known)
    log_s = np.where(np.isneginf(ends), 0.0, np.where(np.isposinf(ends), -np.inf, log_s))
    if not window:
        return PredictedSurvival(log_s[:, 0], log_s[:, 1], weight)
    ends_s, entry_s, exit_s = np.split(np.maximum(log_s, _LOWEST), [2, 3], axis=1)
    with np.errstate(divide="ignore"):
        inside = np.minimum(log_difference(ends_s, exit_s) - log_difference(entry_s, exit_s), 0.0)
    return PredictedSurvival(inside[:, 0], inside[:, 1], weight)


def _share_window(response: CensoredResponse) -> bool:
    return bool((response.entry == response.entry[0]).all() and (response.exit == response.exit[0]).all())


def _alike(results: Any) -> bool:
    return results.parts.spec.mixture is not None
