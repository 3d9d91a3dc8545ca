"""Incidence, residuals, scores, diagnostics and the figure of competing risks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd

from tobitgp.data.frames import reads_frames
from tobitgp.data.training_summary import NO_ROWS
from tobitgp.diagnostics import check as checks
from tobitgp.diagnostics.residual_tests import Check
from tobitgp.errors import SpecError
from tobitgp.results import times as generic
from tobitgp.results.competing.cause_estimates import documented_as
from tobitgp.results.competing.first_times import FirstTimes
from tobitgp.results.curves import read_grid, rows_of
from tobitgp.results.fit import Fit
from tobitgp.results.predict import check_level
from tobitgp.results.prediction import residual_series
from tobitgp.results.survival import TimeRows, read_times, refuse_dask
from tobitgp.typing import Array, Frame

if TYPE_CHECKING:
    from tobitgp.formula.competing_risks import Cause


@reads_frames
def predict_cumulative_incidence(
    results: Fit,
    df: Frame | None = None,
    times: Any = None,
    cause: Any = None,
    interval: float | None = None,
    conditional_after: Any = None,
    *,
    exclude: str | Sequence[str] = (),
) -> pd.DataFrame:
    r"""Cumulative incidence :math:`F_k(t)`: probability of an event of cause k by time t, given the competing causes.

    Incidences of all causes and the survival of :meth:`predict_survival_function` add up to one.

    Parameters
    ----------
    df : DataFrame or dict of columns, optional
        By default the training data.
    times : list of float, optional
        On the scale of the response; the distinct training durations by default.
    cause : optional
        One of ``causes``; by default all.
    interval : float, optional
        Probability of pointwise bands: quantiles of :math:`F_k(t)` over 2000 draws of the parameters, those of each
        cause independent of the others'.
    conditional_after : float, or one for each row (a Series by its labels), optional
        Time s survived without any event so far, on the scale of the response; ``times`` are then remaining times, and
        the incidence is :math:`\{F_k(s + t) - F_k(s)\} / S(s)`.
    exclude : str or list of str
        Terms that are left out of the models of all causes that have them, e.g. ``"re(hospital)"``.

    Returns
    -------
    DataFrame
        Probabilities: times in the index, columns ``(cause, row)``, or ``row`` for one cause, NaN where inputs are
        missing; with ``interval`` also the level ``mean|median|lower|upper``. For regressions the mean is evaluated at
        the estimates; for processes it is the posterior mean, from the predictive hazards of each cause.

    Raises
    ------
    SpecError
        For times that are not finite numbers, an unknown cause or term, an interval outside (0, 1), a dask DataFrame,
        or missing training rows.
    DataError, UnseenLevelError
        If the rows cannot be used.

    References
    ----------
    (CR2) to (CR5) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung").assign(cause=lambda d: d["event"] * (1 + (d["age"] > 65)))
    >>> res = tg.fit("Surv(time, cause) ~ sex", lung, family="weibull")
    >>> res.predict_cumulative_incidence(lung.head(1), [100, 365]).round(3)
    cause      1      2
    row        0      0
    100.0  0.079  0.090
    365.0  0.328  0.311
    """
    refuse_dask(df, "predict_cumulative_incidence", "rows in memory, df.compute()")
    grid, level = read_grid(results, times), check_level(interval)
    chosen = range(len(results._causes)) if cause is None else [results._number_of(cause)]
    rows = rows_of(results, df, exclude)
    found = cast(FirstTimes, rows.times).incidence(grid, rows.after(conditional_after), level)
    tables = {results._causes[k]: _table(rows, {name: of[k] for name, of in found.items()}, grid) for k in chosen}
    if cause is not None:
        return tables[cause]
    return pd.concat(tables, axis=1, names=["cause", "row", "statistic"][: 2 + (level is not None)])


def _table(rows: TimeRows, found: dict[str, Array], grid: Array) -> pd.DataFrame:
    """Curves (n, m) of rows as columns."""
    names, header = list(found), rows.index
    if len(names) > 1:
        labels = rows.index.to_flat_index().repeat(len(names))
        header = pd.MultiIndex.from_arrays([labels, names * len(rows.index)], names=["row", "statistic"])
    values = np.stack([rows.spread(found[name]) for name in names], axis=1)
    return pd.DataFrame(values.reshape(-1, len(grid)).T, index=pd.Index(grid), columns=header)


def residuals(
    results: Fit,
    kind: str = "quantile",
    rng: int | np.random.Generator | None = None,
    *,
    cause: Cause | None = None,
) -> pd.Series[float]:
    """Residuals of the training rows: of the time of the first event, or by the model of one cause.

    The cumulative hazard of the first event is the sum over the causes, and so are Cox-Snell and martingale residuals
    of rows that all causes use. The model of a cause treats events of the other causes as censoring.

    Parameters
    ----------
    kind : {"quantile", "cox_snell", "martingale", "deviance"}
        As for :meth:`RegressionResults.residuals`; dimensionless numbers.
    rng : int or numpy Generator, optional
        For the random part of ``"quantile"``; None gives the same result every time.
    cause : str or int, optional
        One of ``causes``, as ``res[cause].residuals(kind)``.

    Returns
    -------
    Series
        Dimensionless numbers, one for each row of the training data, NaN where it was dropped.

    Raises
    ------
    SpecError
        For an unknown ``kind``, an unknown cause, or if the fit holds no training rows.

    References
    ----------
    D. R. Cox and E. J. Snell (1968), A general definition of residuals, *JRSS B* 30, 248-275; (CR1) of the theory
    pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung").assign(cause=lambda d: d["event"] * (1 + (d["age"] > 65)))
    >>> res = tg.fit("Surv(time, cause) ~ sex", lung, family="weibull")
    >>> each = sum(res.residuals("martingale", cause=cause) for cause in res.causes)
    >>> bool((abs(each - res.residuals("martingale")) < 1e-12).all())
    True
    """
    if cause is not None:
        found: pd.Series[float] = results[cause].residuals(kind, rng=rng)
        return found
    return residual_series(results, kind, rng)


@reads_frames
def score(
    results: Fit,
    df: Frame,
    cause: Cause | None = None,
    scoring_method: str = "log_likelihood",
    *,
    weights: Any = None,
) -> float:
    """Mean log likelihood of new rows: of their times and causes, or by the model of one cause.

    This is the sum over causes of their scores. Each score is a mean over the rows without missing covariates.

    Parameters
    ----------
    df : DataFrame or dict of columns
        With the columns of the model, times and causes included.
    cause : str or int, optional
        One of ``causes``, whose model treats the others as censoring; by default all.
    scoring_method : {"log_likelihood", "concordance_index"}
        As for :meth:`RegressionResults.score`; the concordance is that of the first event, or of one cause.
    weights : str, (n,) array or Series, optional
        Frequency weights of the rows, or the column that holds them.

    Returns
    -------
    float
        In nats per row, or a proportion of pairs.

    Raises
    ------
    SpecError
        For an unknown cause or method, missing columns, or rows about which nothing is known.
    DataError
        If the rows or weights cannot be used.

    References
    ----------
    (CR1) and minus (MET12) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung").assign(cause=lambda d: d["event"] * (1 + (d["age"] > 65)))
    >>> res = tg.fit("Surv(time, cause) ~ sex", lung[::2], family="weibull")
    >>> round(res.score(lung[1::2]), 2)
    -5.5
    """
    if cause is not None:
        return float(results[cause].score(df, scoring_method, weights=weights))
    if scoring_method != "log_likelihood":
        return generic.score(results, df, scoring_method, weights=weights)
    return float(sum(fit.score(df, weights=weights) for fit in results.parts.fits.values()))


def concordance_index(results: Fit, cause: Cause, time: float | None = None) -> float:
    """Concordance of the incidence of a cause, as predicted for the training rows, with its events.

    Parameters
    ----------
    cause : str or int
        One of ``causes``.
    time : float, optional
        Time at which incidences are predicted, on the scale of the response; by default the last event of the cause.

    Returns
    -------
    float
        A share of pairs: 0.5 is chance, 1 a perfect order.

    Raises
    ------
    SpecError
        For an unknown cause, a time that is not a positive number, or missing training rows.

    References
    ----------
    Wolbers, Koller, Witteman and Steyerberg (2009), Prognostic models with competing risks, *Epidemiology* 20,
    555-561; (MET2) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung").assign(cause=lambda d: d["event"] * (1 + (d["age"] > 65)))
    >>> res = tg.fit("Surv(time, cause) ~ sex", lung, family="weibull")
    >>> round(res.concordance_index(2), 2)
    0.59
    """
    from tobitgp.metrics import concordance_index

    k, seen = 1 + results._number_of(cause), results.parts.seen
    if seen is None:
        raise SpecError(f"{NO_ROWS}, whose order could be scored.")
    at = read_times(seen.time[seen.code == k].max() if time is None else time, "time")
    if len(at) > 1 or at[0] <= 0.0:
        raise SpecError(f"time={time!r}: time must be one positive number.")
    found = cast(FirstTimes, rows_of(results, None).times).incidence(at, None, None)["mean"]
    how: dict[str, Any] = {"entry": seen.entry, "weights": seen.weight, "cause": k}
    return concordance_index(seen.time, -found[k - 1, :, 0], seen.code, **how)


@documented_as(checks.check)
def check(results: Fit, *, rng: int | np.random.Generator | None = None) -> Check:
    """Findings of every cause, whose p-values are adjusted within it."""
    every = [(cause, fit.check(rng=rng).findings) for cause, fit in results.parts.fits.items()]
    return Check(tuple(one._replace(name=f"{cause}: {one.name}") for cause, found in every for one in found))


@reads_frames
def plot_cumulative_incidence(
    results: Fit,
    ax: Any = None,
    *,
    df: Frame | None = None,
    times: Any = None,
    interval: float | None = 0.95,
    by: Any = None,
) -> Any:
    """Cumulative incidence over time.

    Without ``df``, the figure shows the weighted average of the fit over the training rows, a line for each cause, and
    the Aalen-Johansen estimate [1]_ of the same rows. With ``by``, it shows both for each group, a panel for each
    cause. If all rows entered late, both are conditional on no event before the first entry; soon after it few rows are
    at risk and steps are high. With ``df``, it shows curves and bands of its rows, a panel for each cause.

    Parameters
    ----------
    ax : matplotlib axes, optional
        Axes to draw on if there is one panel; new axes by default.
    df : DataFrame or dict of columns, optional
        Up to eight rows.
    times : list of float, optional
        On the scale of the response; by default up to the last time seen.
    interval : float or None
        Probability of the bands of ``df``.
    by : str or Series of str, optional
        Up to eight groups of the training rows: a column of the formula, or a label for each row of the data.

    Returns
    -------
    matplotlib axes, or an array of them, one for each cause

    Raises
    ------
    SpecError
        If ``ax`` is not a matplotlib axes object or takes several panels, there are more than eight rows or groups,
        ``by`` is not a column of the formula or is combined with ``df``, or the fit holds no training rows and no
        ``df`` is given.

    References
    ----------
    .. [1] Aalen and Johansen (1978), An empirical transition matrix for non-homogeneous Markov chains based on
       censored observations, *Scandinavian Journal of Statistics* 5, 141-150.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung").assign(cause=lambda d: d["event"] * (1 + (d["age"] > 65)))
    >>> res = tg.fit("Surv(time, cause) ~ sex", lung, family="weibull")
    >>> ax = res.plot_cumulative_incidence()
    >>> ax.get_ylabel()
    'cumulative incidence'
    """
    from tobitgp.report.competing_summary import plot_incidence

    return plot_incidence(results, ax, df=df, times=times, interval=interval, by=by)
