"""Predictions of a cure model about being cured."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from tobitgp.data.frames import answers_in_kind
from tobitgp.errors import SpecError
from tobitgp.kinds.cure import being_cured, mean_cured
from tobitgp.numerics.bordered import dense
from tobitgp.results.fit import Fit
from tobitgp.results.predict import check_level, check_probability, prediction_table
from tobitgp.results.rows import ask
from tobitgp.results.survival import refuse_dask
from tobitgp.typing import Frame

_FIFTH, _MANY = 0.2, 20_000  # of an interval; rows above which the two hardly differ


def cured_fraction(results: Fit, *, interval: float = 0.95) -> pd.Series[float]:
    """Probability of being cured, averaged over the rows of the fit by their weights.

    Parameters
    ----------
    interval : float
        Probability of the interval, normal in the logit.

    Returns
    -------
    Series
        ``estimate, se, lower, upper``: probabilities.

    Raises
    ------
    SpecError
        For an interval outside (0, 1), or if the fraction depends on columns or an offset and the fit holds no training
        rows.

    References
    ----------
    (CUR4) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> data = tg.datasets.simulate_cure(n=400, rng=1)
    >>> res = tg.fit("Surv(time, event) ~ treated", data, family="weibull", cure="~ treated")
    >>> res.cured_fraction().round(2).to_dict()
    {'estimate': 0.44, 'se': 0.02, 'lower': 0.4, 'upper': 0.49}
    """
    level = check_probability("interval", interval)
    found = mean_cured(results.parts).statistics(being_cured(), level, se=True)
    return pd.Series({name: float(value[0]) for name, value in found.items()}, name="cured")


def profile_cured(results: Fit, *, interval: float = 0.95) -> tuple[float, float]:
    """Interval of the cured fraction by the profile likelihood, which need not be symmetric in the logit.

    Parameters
    ----------
    interval : float
        Probability of the interval.

    Returns
    -------
    tuple of float
        Lower and upper end, probabilities; 0 or 1 where the likelihood falls no further.

    Raises
    ------
    SpecError
        If the fraction is not that of ``cure="~ 1"``, for an interval outside (0, 1), or without training rows.

    References
    ----------
    (CUR5) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> data = tg.datasets.simulate_cure(n=400, rng=1)
    >>> res = tg.fit("Surv(time, event) ~ treated", data, family="weibull", cure="~ 1")
    >>> [round(end, 2) for end in res.profile_cured()]
    [0.39, 0.49]
    """
    level, parts = check_probability("interval", interval), results.parts
    if not parts.one_fraction or not parts.maximum.free[len(results._columns)]:
        raise SpecError("profile_cured() requires the same cured fraction for all rows (cure='~ 1').")
    drop = 0.5 * float(ndtri(0.5 + 0.5 * level)) ** 2
    error = float(np.sqrt(dense(parts.covariance)[len(results._columns), len(results._columns)]))
    return parts.profile_of_cured(error, drop)


@answers_in_kind
def predict_cured(
    results: Fit, df: Frame | None = None, *, conditional_after: Any = None, interval: float | None = None
) -> pd.Series[float] | pd.DataFrame:
    """Probability of being cured, given survival of some time where one is given.

    Parameters
    ----------
    df : DataFrame or dict of columns, optional
        By default the training data.
    conditional_after : float, or one for each row (a Series by its labels), optional
        Time survived already, on the scale of the response.
    interval : float, optional
        Probability of intervals, normal in the logit, by the delta method.

    Returns
    -------
    Series or DataFrame
        A probability for each row; with ``interval`` columns ``estimate, se, lower, upper``.

    Raises
    ------
    SpecError
        For an interval outside (0, 1), times that are not finite, or missing training rows.
    DataError, UnseenLevelError
        If the rows cannot be used.

    References
    ----------
    (CUR3) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> data = tg.datasets.simulate_cure(n=400, rng=1)
    >>> res = tg.fit("Surv(time, event) ~ treated", data, family="weibull", cure="~ treated")
    >>> res.predict_cured({"treated": [0, 1]}, conditional_after=2.0).round(2).tolist()
    [0.81, 0.87]
    """
    refuse_dask(df, "predict_cured", 'predict(what="cured")')
    level, asked = check_level(interval), ask(results.parts, df)
    after = results._time_rows(df, (), bands=False).after(conditional_after)
    found = results._posterior(asked, bands=level is not None).statistics(being_cured(after), level, se=False)
    return prediction_table("cured", asked, {"cured": found}, listed=False, bands=level is not None)


def profile_note(results: Fit, alpha: float) -> list[str]:
    """The profile interval of one cured fraction, where it differs from Wald's by more than a fifth of its length."""
    rows = results.parts.training
    if not results.converged or rows is None or len(rows.response.lower) > _MANY:
        return []
    try:
        ends = np.array(profile_cured(results, interval=1.0 - alpha))
    except SpecError:
        return []
    wald = cured_fraction(results, interval=1.0 - alpha)[["lower", "upper"]].to_numpy()
    if np.abs(ends - wald).max() <= _FIFTH * np.ptp(wald):
        return []
    return [
        f"The profile likelihood gives the interval {ends[0]:.4f} to {ends[1]:.4f} for the cured fraction. "
        f"Prefer this interval."
    ]
