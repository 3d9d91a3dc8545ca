"""Calibration of predicted distributions, and errors of predictions; (MET8) and (MET9) of the theory pages."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import gammaincc

from tobitgp.errors import DataError, SpecError
from tobitgp.metrics.metric_arguments import check_order, read_column, read_event, read_weights
from tobitgp.metrics.survival_curves import Strata, average, read_strata
from tobitgp.typing import Array

_ROUNDING = 1e-6


class DCalibration(NamedTuple):
    """Test of the uniformity of predicted survival at the rows' own times; (MET8) of the theory pages.

    Attributes
    ----------
    statistic : float
        Chi-squared statistic; the degrees of freedom are the number of bins minus 1.
    p_value : float
        Its upper-tail probability.
    bins : DataFrame
        A row for each bin of survival probabilities; the last bin includes 1. Columns are the ``share`` of the rows,
        the ``expected`` share, and the number of ``rows``, in which censored rows count as fractions.
    """

    statistic: float
    p_value: float
    bins: pd.DataFrame


def d_calibration(
    survival: Any = None,
    event: Any = None,
    *,
    lower: Any = None,
    upper: Any = None,
    entry: Any = None,
    weights: Any = None,
    bins: int = 10,
) -> DCalibration:
    r"""Distribution calibration: predicted survival at the true times must be uniform on 0 to 1.

    For a calibrated model, one tenth of the rows have their event where their own curve is between 0.9 and 1, one tenth
    between 0.8 and 0.9, and so on. An interval-censored row spreads its mass evenly over its possible survival
    probabilities, a right-censored row over 0 to s, as in [1]_. For a row that entered late, survival is conditional on
    its entry. With :math:`N_k` rows in bin k of K, :math:`\chi^2 = \sum_k (N_k - n/K)^2 / (n/K)`.

    Parameters
    ----------
    survival : (n,) array
        Each row's predicted probability of surviving its own time; see `survival_at`.
    event : (n,) array, optional
        1 or True if that is the time of an event, 0 or False if the row was right-censored then.
    lower, upper : (n,) array, optional
        Instead of the above: survival probabilities at the lower and the upper end of the interval that contains each
        row, ``lower >= upper``. They are equal for exact rows, 1 for an open lower end and 0 for an open upper end.
    entry : (n,) array, optional
        Each row's predicted probability of surviving to its entry, 1 if it was followed from the beginning.
    weights : (n,) array, optional
        Frequency weights, 0 or more: a row of weight 2 is two rows.
    bins : int
        Number of bins of equal width, 2 or more.

    Returns
    -------
    DCalibration

    Raises
    ------
    DataError
        If values are not probabilities, are missing, or have different lengths.
    SpecError
        If arguments cannot be combined, or ``bins`` is not a valid number of bins.

    Notes
    -----
    Even spreading moves the counts towards their expectation. With censored rows, the test therefore rejects a
    calibrated model less often than its level says. The same holds for curves that were fitted to the same rows.

    References
    ----------
    .. [1] H. Haider, B. Hoehn, S. Davis and R. Greiner, "Effective ways to build and evaluate individual survival
       distributions", *Journal of Machine Learning Research* 21 (2020), 85.

    Examples
    --------
    >>> found = d_calibration([0.1, 0.3, 0.8, 0.5], event=[1, 1, 1, 0], bins=2)
    >>> print(found.statistic, round(found.p_value, 4))
    1.0 0.3173
    >>> print(found.bins.reset_index().to_string(index=False))
      survival  share  expected  rows
    [0.0, 0.5)   0.75       0.5   3.0
    [0.5, 1.0)   0.25       0.5   1.0
    """
    if isinstance(bins, bool) or not isinstance(bins, (int, np.integer)) or bins < 2:
        raise SpecError(f"bins={bins!r}: must be a whole number of at least 2.")
    low, high = _read(survival, event, lower, upper, entry)
    w = read_weights(weights, len(low))
    counts, n = _spread(low, high, w, int(bins)), float(w.sum())
    statistic = float(np.sum((counts - n / bins) ** 2) * bins / n)
    index = pd.IntervalIndex.from_breaks(np.arange(bins + 1) / bins, closed="left", name="survival")
    table = pd.DataFrame({"share": counts / n, "expected": 1.0 / bins, "rows": counts}, index=index)
    return DCalibration(statistic, float(gammaincc(0.5 * (bins - 1), 0.5 * statistic)), table)


def _read(survival: Any, event: Any, lower: Any, upper: Any, entry: Any) -> tuple[Array, Array]:
    """Least and greatest survival probability that each row may have."""
    ends = lower is not None and upper is not None
    if ends == (survival is not None) or (ends and event is not None) or (lower is None) != (upper is None):
        raise SpecError("d_calibration() requires either survival= and event=, or lower= and upper=.")
    check_order(survival=survival, event=event, lower=lower, upper=upper, entry=entry)
    if not ends:
        s = _given_entry(entry, _probabilities("survival", survival, None))
        return np.where(read_event(event, len(s)), s, 0.0), s
    high = _probabilities("lower", lower, None)
    low = _probabilities("upper", upper, len(high))
    if (low > high).any():
        at = int(np.argmax(low > high))
        raise DataError(
            f"Row {at} (counted from 0) has survival {high[at]:g} at its lower end and {low[at]:g} at its upper end: "
            "survival does not rise."
        )
    return _given_entry(entry, low), _given_entry(entry, high)


def _given_entry(entry: Any, survival: Array) -> Array:
    """Survival given that of the entry, which lies before."""
    if entry is None:
        return survival
    before = _probabilities("entry", entry, len(survival))
    wrong = (before <= 0.0) | (survival > before + _ROUNDING)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise DataError(
            f"Row {at} (counted from 0) has survival {before[at]:g} at its entry and {survival[at]:g} later: survival "
            "does not rise, and is above 0 at an entry."
        )
    return np.minimum(survival / before, 1.0)


def _probabilities(name: str, values: Any, n: int | None) -> Array:
    """Probabilities, rounding aside."""
    p = read_column(name, values, n)
    bad = (p < -_ROUNDING) | (p > 1.0 + _ROUNDING)
    if bad.any():
        raise DataError(f"{name} holds {p[bad][0]:g}: values must be probabilities of survival.")
    return np.clip(p, 0.0, 1.0)


def _spread(low: Array, high: Array, weight: Array, bins: int) -> Array:
    """Number of rows in each bin; a row counts in each for the share of its interval that lies there."""
    point = low == high
    at = np.minimum((low[point] * bins).astype(int), bins - 1)
    counts = np.asarray(np.bincount(at, weights=weight[point], minlength=bins), dtype=np.float64)
    a, b, w = bins * low[~point], bins * high[~point], weight[~point]
    k = np.arange(bins)[:, None]
    for rows in np.array_split(np.arange(len(a)), max(1, len(a) // 10_000)):
        part = np.clip(np.minimum(b[rows], k + 1) - np.maximum(a[rows], k), 0.0, None)
        counts += part @ (w[rows] / (b[rows] - a[rows]))
    return counts


def mae(y: Any, prediction: Any, *, stratify: Any = None, contributions: bool = False) -> float | pd.Series[float]:
    r"""Mean absolute error, :math:`\frac1n \sum_i |y_i - m_i|`.

    Papers on Gaussian processes compare the mean of f with the true f. For censored test data, compare
    ``predict(what="observed")`` with y.

    Parameters
    ----------
    y : (n,) array
        True values, of f or of a response, in its units.
    prediction : (n,) array or DataFrame
        Predictions in the units of y. From a table, the column ``estimate`` or ``mean`` is used, as returned by
        ``predict(..., se=True)`` and ``get_prediction().summary_frame()``. Rows are matched by position.
    stratify : tuple of two limits, or (n,) array, optional
        Report rows separately: by whether y is at or below the first limit, inside, or at or above the second (None
        means no limit), or by a label for each row.
    contributions : bool
        Divide the sum of each stratum by the number of all rows, so that strata add up to ``"all"``.

    Returns
    -------
    float or Series
        In the units of y; a Series with ``stratify``: ``"all"``, then ``"below"``, ``"inside"`` and ``"above"``, or the
        labels in order.

    Raises
    ------
    DataError
        If columns are not numeric, have missing or infinite values, or are of different lengths.
    SpecError
        If ``stratify`` cannot be read.

    Notes
    -----
    For the censored region, Karlova et al. [1]_ report averages over the censored rows alone, which is the default.
    The tables of Basson et al. [2]_ correspond to ``contributions=True``, with rows separated by the true f.

    References
    ----------
    .. [1] A. Karlova, R. Kabra, D. A. de Souza and B. Paige, "Variational inference with censored Gaussian process
       regressors", 2024, section 4 and Table 1.
    .. [2] M. Basson, T. M. Louw and T. R. Smith, "Variational Tobit Gaussian process regression", *Statistics and
       Computing* 33 (2023), equations 53 to 55 and Tables 1 and 2.

    Examples
    --------
    >>> mae([0.0, 1.0, 3.0], [0.5, 1.0, 2.0])
    0.5
    >>> mae([0.0, 1.0, 3.0], [0.5, 1.0, 2.0], stratify=(0.0, 2.0))
    all       0.5
    below     0.5
    inside    0.0
    above     1.0
    Name: mae, dtype: float64
    """
    losses, strata = _errors(y, prediction, stratify)
    return average("mae", np.abs(losses), strata, contributions)


def mse(y: Any, prediction: Any, *, stratify: Any = None, contributions: bool = False) -> float | pd.Series[float]:
    r"""Mean squared error, :math:`\frac1n \sum_i (y_i - m_i)^2`.

    Parameters
    ----------
    y, prediction, stratify, contributions
        As in `tobitgp.metrics.mae`.

    Returns
    -------
    float or Series
        In squared units; as `tobitgp.metrics.mae`.

    Raises
    ------
    DataError, SpecError
        As `tobitgp.metrics.mae`.

    References
    ----------
    .. [1] M. Basson, T. M. Louw and T. R. Smith, "Variational Tobit Gaussian process regression", *Statistics and
       Computing* 33 (2023), section 5.1.

    Examples
    --------
    >>> mse([0.0, 1.0, 3.0], [0.5, 1.0, 2.0], stratify=(0.5, None), contributions=True).round(4).to_dict()
    {'all': 0.4167, 'below': 0.0833, 'inside': 0.3333}
    """
    losses, strata = _errors(y, prediction, stratify)
    return average("mse", losses**2, strata, contributions)


def rmse(y: Any, prediction: Any, *, stratify: Any = None) -> float | pd.Series[float]:
    r"""Root mean squared error, :math:`\sqrt{\frac1n \sum_i (y_i - m_i)^2}`.

    Each stratum has the root mean squared error of its rows, (MET9) of the theory pages. Roots do not add up; for
    contributions see `tobitgp.metrics.mse`.

    Parameters
    ----------
    y, prediction, stratify
        As in `tobitgp.metrics.mae`.

    Returns
    -------
    float or Series
        In the units of y; as `tobitgp.metrics.mae`.

    Raises
    ------
    DataError, SpecError
        As `tobitgp.metrics.mae`.

    Examples
    --------
    >>> rmse([0.0, 1.0, 3.0], [2.0, 1.0, 1.0], stratify=["a", "a", "b"]).round(4).to_dict()
    {'all': 1.633, 'a': 1.4142, 'b': 2.0}
    """
    losses, strata = _errors(y, prediction, stratify)
    mean = average("rmse", losses**2, strata)
    return float(np.sqrt(mean)) if isinstance(mean, float) else mean.pow(0.5)


def read_mean(name: str, prediction: Any, n: int | None) -> Array:
    """Predicted values, or the column ``estimate`` or ``mean`` of a table."""
    if isinstance(prediction, pd.DataFrame) and prediction.shape[1] != 1:
        named = [column for column in ("estimate", "mean") if column in prediction.columns]
        if not named:
            raise SpecError(
                f"{name} is a table of columns {', '.join(map(str, prediction.columns))}. It must have "
                "one column, or one called estimate or mean."
            )
        prediction = prediction[named[0]]
    return read_column(name, prediction, n)


def _errors(y: Any, prediction: Any, stratify: Any) -> tuple[Array, Strata | None]:
    """What is missing to the truth, and strata."""
    check_order(y=y, prediction=prediction, stratify=stratify)
    truth = read_column("y", y)
    return truth - read_mean("prediction", prediction, len(truth)), read_strata(stratify, truth)
