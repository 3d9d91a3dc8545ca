"""Times of survival as in lifelines: percentiles, means, and how well they order rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.frames import answers_in_kind, read_weights, reads_frames
from tobitgp.data.sources import is_dask
from tobitgp.errors import SpecError
from tobitgp.results.curves import Excluded, rows_of, warn_of_tail
from tobitgp.results.fit import Fit
from tobitgp.results.not_finite import NEVER, warn_of_bands, warn_of_rows
from tobitgp.results.predict import check_level, check_probability, prediction_table
from tobitgp.results.survival import read_times, refuse_dask
from tobitgp.typing import Array, Frame

SCORES = ("log_likelihood", "concordance_index")
NO_ORDER = "A mixture predicts the same for every row, so that concordance is not defined."


@answers_in_kind
def predict_percentile(
    results: Fit,
    df: Frame | None = None,
    *,
    p: float = 0.5,
    conditional_after: Any = None,
    interval: float | None = None,
    exclude: Excluded = (),
) -> pd.Series[float] | pd.DataFrame:
    """Times at which survival falls to ``p``, as in lifelines: ``p=0.9`` is the time that 90% survive.

    See (SUR4) of the theory pages. Times after the last observed one depend on the form of the family, and there is no
    warning, as in lifelines and flexsurv. A time is infinite if survival never falls so far, or if it exceeds the
    largest number.

    Parameters
    ----------
    df : DataFrame or dict of columns, optional
        By default the training data.
    p : float
        Survival at the time requested, between 0 and 1.
    conditional_after : float, or one for each row (a Series by its labels), optional
        Time survived so far, on the scale of the response. Predicted times are counted from it.
    interval : float, optional
        Probability of bands for the percentile given the parameters: posterior quantiles for a process, with equal
        weights of all draws whatever time was survived; otherwise normal on the log scale, by the delta method.
    exclude : str or list of str
        Terms to set to zero.

    Returns
    -------
    Series or DataFrame
        A time for each row, on the scale of the response; with ``interval`` columns ``estimate, median, lower, upper``.
        The estimate is that of a new response; the other columns are for the percentile given the parameters.

    Raises
    ------
    SpecError
        For ``p`` or an interval outside 0 to 1, times that are not finite, a dask DataFrame, missing training rows, or
        bands of counts.
    DataError, UnseenLevelError
        If the rows cannot be used.

    Warns
    -----
    ApproximationWarning
        If bands are NaN; for ``family="ph"`` also if times are infinite or after the last exit.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung")
    >>> res = tg.fit("Surv(time, event) ~ age + sex", lung, family="weibull")
    >>> res.predict_percentile(lung.head(2), p=0.9).round(1)
    0    57.6
    1    62.0
    Name: 0.9, dtype: float64
    """
    refuse_dask(df, "predict_percentile", 'predict(what="quantile", q=...)')
    level = check_level(interval)
    rows = rows_of(results, df, exclude, bands=level is not None)
    p, after = check_probability("p", p, "a probability of survival", 0.5), rows.after(conditional_after)
    found = {"estimate": rows.times.percentile(p, after)}
    if level is not None:
        if rows.times.discrete:
            raise SpecError("A percentile of counts is a whole number without an interval. Leave interval= out.")
        found |= rows.times.percentile_band(p, after, level)
    rows.times.warn_of_times(found, after)
    if results._never:
        warn_of_rows(found["estimate"], rows, f"predict_percentile(p={p:g})", NEVER)
    warn_of_bands(results, f"predict_percentile(p={p:g})", [found], rows)
    return prediction_table(p, rows, {p: found}, listed=False, bands=level is not None)


@answers_in_kind
def predict_median(
    results: Fit,
    df: Frame | None = None,
    *,
    conditional_after: Any = None,
    interval: float | None = None,
    exclude: Excluded = (),
) -> pd.Series[float] | pd.DataFrame:
    """Median survival time: the time at which survival falls to one half, (SUR4) of the theory pages.

    Parameters
    ----------
    df, conditional_after, interval, exclude
        As for :meth:`predict_percentile`.

    Returns
    -------
    Series or DataFrame
        A median for each row, on the scale of the response; with ``conditional_after``, of the remaining time. With
        ``interval`` the columns of :meth:`predict_percentile`.

    Raises
    ------
    SpecError, DataError, UnseenLevelError
        As for :meth:`predict_percentile`.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung")
    >>> res = tg.fit("Surv(time, event) ~ age + sex", lung, family="weibull")
    >>> res.predict_median(lung.head(2), conditional_after=100, interval=0.95).round(1)
       estimate  median  lower  upper
    0     193.1   193.1  153.6  242.8
    1     210.2   210.2  176.6  250.2
    """
    options: Any = {"conditional_after": conditional_after, "interval": interval, "exclude": exclude}
    return predict_percentile(results, df, p=0.5, **options)


@answers_in_kind
def predict_expectation(results: Fit, df: Frame | None = None, *, exclude: Excluded = ()) -> pd.Series[float]:
    """Mean survival time, ``predict(what="uncensored")``.

    The mean of (SUR1) of the theory pages depends on the tail beyond the last observed time; that of
    :meth:`predict_restricted_mean` does not.

    Parameters
    ----------
    df, exclude
        As for :meth:`predict_percentile`.

    Returns
    -------
    Series
        A mean for each row, on the scale of the response; infinite or NaN if the distribution has no mean.

    Raises
    ------
    SpecError, DataError, UnseenLevelError
        As for :meth:`predict_percentile`.

    Warns
    -----
    ApproximationWarning
        If means are not finite.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung")
    >>> res = tg.fit("Surv(time, event) ~ age + sex", lung, family="weibull")
    >>> res.predict_expectation(lung.head(2)).round(1)
    0    289.0
    1    311.1
    Name: expectation, dtype: float64
    """
    refuse_dask(df, "predict_expectation", 'predict(what="uncensored")')
    rows = rows_of(results, df, exclude)
    values = rows.times.mean()
    if not results._defective and results.parts.spec.mixture is None:  # which warn themselves
        warn_of_rows(values, rows, "The mean time", results._no_mean)
    return pd.Series(rows.spread(values), index=rows.index, name="expectation")


@answers_in_kind
def predict_restricted_mean(
    results: Fit,
    df: Frame | None = None,
    t: Any = None,
    *,
    conditional_after: Any = None,
    interval: float | None = None,
    exclude: Excluded = (),
) -> pd.Series[float] | pd.DataFrame:
    r"""Restricted mean survival time :math:`\int_0^t S(u)\,du`: the mean of the time, truncated at t.

    For rows that have survived a time a, it is :math:`\int_0^t S(a + u)\,du / S(a)`.

    Parameters
    ----------
    df
        As for :meth:`predict_percentile`.
    t : float or list of float
        Positive times on the scale of the response.
    conditional_after : float, or one for each row (a Series by its labels), optional
        The time a, on the scale of the response; not supported with ``interval``.
    interval : float, optional
        Probability of bands, as for :meth:`predict_survival_function`.
    exclude
        As for :meth:`predict_percentile`.

    Returns
    -------
    Series or DataFrame
        A value for each row, on the scale of the response; for a list of times, a column for each; with bands, columns
        ``(time, statistic)``.

    Raises
    ------
    SpecError
        As for :meth:`predict_percentile`, for missing or invalid ``t``, and for an interval outside (0, 1) or combined
        with ``conditional_after``.
    DataError, UnseenLevelError
        If the rows cannot be used.

    Warns
    -----
    ApproximationWarning
        If a time exceeds the last observed one, so that the mean depends on the tail of the family.

    References
    ----------
    Royston and Parmar (2013), Restricted mean survival time, *BMC Medical Research Methodology* 13:152.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung")
    >>> res = tg.fit("Surv(time, event) ~ age + sex", lung, family="weibull")
    >>> res.predict_restricted_mean(lung.head(2), 365, interval=0.95).round(1)
        mean  median  lower  upper
    0  230.2   230.2  205.3  258.0
    1  239.0   239.0  219.5  260.3
    """
    refuse_dask(df, "predict_restricted_mean", "predict()")
    if t is None:
        raise SpecError("predict_restricted_mean() requires t=, a time or a list of times, e.g. t=365.")
    rows = rows_of(results, df, exclude, bands=interval is not None)
    level, grid = check_level(interval), read_times(t, "t")
    if (grid <= 0.0).any():
        raise SpecError(f"t={t!r}: t must be a positive time or a list of positive times, e.g. t=365.")
    after = rows.after(conditional_after)
    if level is not None and after is not None:
        raise SpecError(
            "interval= cannot be combined with conditional_after= in predict_restricted_mean(). Leave one of them out."
        )
    warn_of_tail(results, grid + (0.0 if after is None else after.max(initial=0.0)))
    if after is not None:
        rows.times.warn_beyond(float(after.max(initial=0.0) + grid.max()))
    made = {
        time: rows.times.clipped(time, level) if after is None else {"mean": rows.times.remaining_area(time, after)}
        for time in grid.tolist()
    }
    warn_of_bands(results, "predict_restricted_mean()", made.values(), rows)
    return prediction_table(grid[0], rows, made, listed=np.ndim(t) > 0, bands=level is not None, of="time")


def concordance_index(results: Fit) -> float:
    """Concordance of the predicted medians with the training rows, including censored rows of every kind.

    A share of pairs: 0.5 is chance, 1 a perfect order; see `tobitgp.metrics.concordance_index` and (MET2) of the
    theory pages. Frequency weights are used. For rows with late entry, only pairs with overlapping follow-up are used.
    A mixture predicts the same for every row and raises SpecError.
    """
    if results.parts.spec.mixture is not None:
        raise SpecError(NO_ORDER)
    entry = results.parts.rows.response.entry
    return _concordance(rows_of(results, None).times.order(), *results._training_ends(), entry)


@reads_frames
def score(results: Fit, df: Frame, scoring_method: str = "log_likelihood", *, weights: Any = None) -> float:
    """Score new rows, as the fitters of lifelines do: minus (MET12), or (MET2) of the theory pages.

    Parameters
    ----------
    df : DataFrame or dict of columns
        With the columns of the model, including response, censoring and truncation.
    scoring_method : {"log_likelihood", "concordance_index"}
        Mean over the rows of the log predictive density (for censored rows, the log probability of their limits), in
        the units of the response; or the concordance of predicted medians with the rows, which is not defined for a
        mixture.
    weights : str, (n,) array or Series, optional
        Frequency weights of the rows, or the column that holds them.

    Returns
    -------
    float
        In nats per row, or a proportion of pairs.

    Raises
    ------
    SpecError
        For another method, missing columns, or rows about which nothing is known.
    DataError
        If the rows or weights cannot be used.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung")
    >>> res = tg.fit("Surv(time, event) ~ age + sex", lung[::2], family="weibull")
    >>> round(res.score(lung[1::2]), 3)
    -5.045
    """
    if not isinstance(scoring_method, str) or scoring_method not in SCORES:
        raise SpecError(
            f"scoring_method={scoring_method!r} is not supported; choose one of {', '.join(map(repr, SCORES))}."
        )
    if is_dask(df):
        raise SpecError("score() requires rows in memory. Give df.compute().")
    found = results._scores(df, scoring_method)
    weight = read_weights(weights, df, len(found.known))[found.known]
    if scoring_method == "concordance_index":
        return _concordance(found.values, found.lower, found.upper, weight, found.entry)
    return float(np.average(found.values, weights=weight))


def _concordance(median: Array, lower: Array, upper: Array, weight: Array, entry: Array) -> float:
    """Share of the pairs of rows, followed at one time, whose order is known that predicted medians put in order."""
    from tobitgp.metrics import concordance_index

    return concordance_index(None, median, lower=lower, upper=upper, entry=entry, weights=weight)
