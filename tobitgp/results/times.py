"""Times of survival in lifelines' words: percentiles, means, and how well they order rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from tobitgp.data.row_arguments import read_weights
from tobitgp.data.sources import is_dask
from tobitgp.errors import SpecError
from tobitgp.results.survival import percentile_series, refuse_dask, restricted_table, rows_of
from tobitgp.typing import Array, BoolArray, Frame

if TYPE_CHECKING:
    from tobitgp.results.results import Results

SCORES = ("log_likelihood", "concordance_index")
NO_ORDER = "A mixture predicts the same for every row, so that there is no order to score."


class Scores(NamedTuple):
    """What rows of which something is known score."""

    known: BoolArray  # (n_data,), which rows these are, m of them
    lower: Array  # (m,), what is known of the response
    upper: Array  # (m,), what is known of the response
    entry: Array  # (m,), from when on it could have been seen
    values: Array  # (m,), log likelihoods, or predicted medians


def check_score(scoring_method: Any) -> str:
    """Name of a score."""
    if not isinstance(scoring_method, str) or scoring_method not in SCORES:
        raise SpecError(
            f"scoring_method={scoring_method!r} is not supported; choose one of {', '.join(map(repr, SCORES))}."
        )
    return scoring_method


def concordance(median: Array, lower: Array, upper: Array, weight: Array, entry: Array) -> float:
    """Share of the pairs of rows, followed at one time, whose order is known that predicted medians put in order."""
    from tobitgp.metrics import concordance_index

    return concordance_index(None, median, lower=lower, upper=upper, entry=entry, weights=weight)


Excluded = str | Sequence[str]


def predict_percentile(
    results: Results, df: Frame | None = None, *, p: float = 0.5, conditional_after: Any = None, exclude: Excluded = ()
) -> pd.Series[float]:
    """Times at which survival falls to ``p``, as lifelines has it: ``p=0.9`` is the time that 90% survive.

    Without ``conditional_after`` that is ``predict(what="quantile", q=1 - p)``, which has bands.

    Parameters
    ----------
    df : DataFrame or dict of columns, optional
        Rows to give times for, by default those of the training data.
    p : float
        Survival at the time that is asked for, between 0 and 1.
    conditional_after : float, or one for each row (a Series by its labels), optional
        Time survived already, on the scale of the response, from which the times count.
    exclude : str or list of str
        Terms to set to zero.

    Returns
    -------
    Series
        A time for each row, on the scale of the response.

    Raises
    ------
    SpecError
        For ``p`` outside 0 to 1, times that are not finite, a dask DataFrame, or lacking training rows.
    DataError, UnseenLevelError
        If the rows cannot be used.

    References
    ----------
    (SUR4) of the theory pages.

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
    return percentile_series(rows_of(results, df, exclude), p, conditional_after)


def predict_median(
    results: Results, df: Frame | None = None, *, conditional_after: Any = None, exclude: Excluded = ()
) -> pd.Series[float]:
    """Median survival time: the time at which survival falls to one half.

    Parameters
    ----------
    df : DataFrame or dict of columns, optional
        Rows to give medians for, by default those of the training data.
    conditional_after : float, or one for each row (a Series by its labels), optional
        Time survived already, on the scale of the response; then the median of the time that remains.
    exclude : str or list of str
        Terms to set to zero.

    Returns
    -------
    Series
        A median for each row, on the scale of the response.

    Raises
    ------
    SpecError
        For times that are not finite, a dask DataFrame, or lacking training rows.
    DataError, UnseenLevelError
        If the rows cannot be used.

    References
    ----------
    (SUR4) of the theory pages with p = 1/2.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung")
    >>> res = tg.fit("Surv(time, event) ~ age + sex", lung, family="weibull")
    >>> res.predict_median(lung.head(2), conditional_after=100).round(1)
    0    193.1
    1    210.2
    Name: 0.5, dtype: float64
    """
    return results.predict_percentile(df, p=0.5, conditional_after=conditional_after, exclude=exclude)


def predict_expectation(results: Results, df: Frame | None = None, *, exclude: Excluded = ()) -> pd.Series[float]:
    """Mean survival time, ``predict(what="uncensored")``.

    It rests on the tail beyond the last time seen; :meth:`predict_restricted_mean` does not.

    Parameters
    ----------
    df : DataFrame or dict of columns, optional
        Rows to give means for, by default those of the training data.
    exclude : str or list of str
        Terms to set to zero.

    Returns
    -------
    Series
        A mean for each row, on the scale of the response; infinite or NaN where the distribution has none.

    Raises
    ------
    SpecError
        For terms that are not in the model, a dask DataFrame, or lacking training rows.
    DataError, UnseenLevelError
        If the rows cannot be used.

    References
    ----------
    The mean of the distribution (SUR1) of the theory pages; of a regression that of its table of scales, above (REG12).

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
    return pd.Series(rows.spread(rows.times.mean()), index=rows.index, name="expectation")


def predict_restricted_mean(
    results: Results,
    df: Frame | None = None,
    t: Any = None,
    *,
    conditional_after: Any = None,
    interval: float | None = None,
    exclude: Excluded = (),
) -> pd.Series[float] | pd.DataFrame:
    r"""Restricted mean survival time :math:`\int_0^t S(u)\,du`: the mean of a time that is cut at t.

    Parameters
    ----------
    df : DataFrame or dict of columns, optional
        By default the training data.
    t : float or list of float
        Positive, on the scale of the response.
    conditional_after : float, or one for each row (a Series by its labels), optional
        Time survived already, on the scale of the response, a; then :math:`\int_0^t S(a + u)\,du / S(a)`, which
        has no bands.
    interval : float, optional
        Probability of bands, as of :meth:`predict_survival_function`.
    exclude : str or list of str
        Terms to set to zero.

    Returns
    -------
    Series or DataFrame
        A value for each row, on the scale of the response; of a list of times a column for each, with bands
        ``(time, statistic)``.

    Raises
    ------
    SpecError
        For lacking or bad ``t``, an interval outside (0, 1) or beside ``conditional_after``, a dask DataFrame, or
        lacking training rows.
    DataError, UnseenLevelError
        If the rows cannot be used.

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
        raise SpecError("predict_restricted_mean() needs t=, a time or a list of times, as t=365.")
    rows = rows_of(results, df, exclude, bands=interval is not None)
    return restricted_table(rows, t, conditional_after, interval)


def concordance_index(results: Results) -> float:
    """Concordance of the predicted medians with the training rows, censored ones of every kind included.

    A share of pairs: 0.5 is chance, 1 a perfect order; see `tobitgp.metrics.concordance_index` and (MET2)
    of the theory pages. Frequency weights count, and of rows that entered late only pairs that were followed at
    one time. A mixture predicts the same for every row, and raises SpecError.
    """
    if results.parts.spec.mixture is not None:
        raise SpecError(NO_ORDER)
    entry = results.parts.rows.response.entry
    return concordance(rows_of(results, None).times.percentile(0.5, None), *results._training_ends(), entry)


def score(results: Results, df: Frame, scoring_method: str = "log_likelihood", *, weights: Any = None) -> float:
    """Score new rows, as lifelines' fitters do.

    Parameters
    ----------
    df : DataFrame or dict of columns
        With the columns of the model, response, censoring and truncation included.
    scoring_method : {"log_likelihood", "concordance_index"}
        Mean over the rows of the log predictive density of exact ones and the log probability of what was seen of
        the others, in the units of the response; or the concordance of predicted medians with the rows. A mixture
        predicts the same for every row and has no concordance.
    weights : str, (n,) array or Series, optional
        Frequency weights of the rows, or the column that holds them.

    Returns
    -------
    float
        In nats a row, or a share of pairs.

    Raises
    ------
    SpecError
        For another method, lacking columns, or rows of which nothing is known.
    DataError
        If the rows or weights cannot be used.

    References
    ----------
    Minus (MET12) of the theory pages with the predictive distribution in place of the normal one; (MET2) for the
    concordance.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung")
    >>> res = tg.fit("Surv(time, event) ~ age + sex", lung[::2], family="weibull")
    >>> round(res.score(lung[1::2]), 3)
    -5.045
    """
    method = check_score(scoring_method)
    if is_dask(df):
        raise SpecError("score() takes rows in memory: give df.compute().")
    found = results._scores(df, method)
    weight = read_weights(weights, df, len(found.known))[found.known]
    if method == "concordance_index":
        return concordance(found.values, found.lower, found.upper, weight, found.entry)
    return float(np.average(found.values, weights=weight))
