"""How far predictions are from the truth; (MET9) of the theory pages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tobitgp.errors import SpecError
from tobitgp.metrics.read import check_order, read_column
from tobitgp.metrics.strata import Strata, average, read_strata
from tobitgp.typing import Array


def mae(y: Any, prediction: Any, *, stratify: Any = None, contributions: bool = False) -> float | pd.Series[float]:
    r"""Mean absolute error, :math:`\frac1n \sum_i |y_i - m_i|`.

    What is compared with what is for the caller to choose: the papers on Gaussian processes compare the mean of f with
    the true f; for censored test data compare ``predict(what="observed")`` with y.

    Parameters
    ----------
    y : (n,) array
        True values, of f or of a response, in its units.
    prediction : (n,) array or DataFrame
        In the units of y. A table with a column ``mean`` is read there, as ``predict(..., se=True)`` and
        ``get_prediction().summary_frame()`` give it. Rows are matched by position.
    stratify : tuple of two limits, or (n,) array, optional
        Report rows apart: by whether y lies at or below the first limit, inside, or at or above the second (None is
        no limit), or by a label for each row.
    contributions : bool
        Divide what a stratum adds up to by the number of all rows, so that strata add up to ``"all"``.

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
    Papers differ in what they report of the censored region. Karlova et al. [1]_ average over the censored rows
    alone, which is the default here; the tables of Basson et al. [2]_ hold contributions to the average over all rows,
    ``contributions=True``, with rows told apart by the true f.

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

    A stratum's is that of its own rows. Roots do not add up, so for contributions see `tobitgp.metrics.mse`.

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

    References
    ----------
    (MET9) of the theory pages.

    Examples
    --------
    >>> rmse([0.0, 1.0, 3.0], [2.0, 1.0, 1.0], stratify=["a", "a", "b"]).round(4).to_dict()
    {'all': 1.633, 'a': 1.4142, 'b': 2.0}
    """
    losses, strata = _errors(y, prediction, stratify)
    mean = average("rmse", losses**2, strata)
    return float(np.sqrt(mean)) if isinstance(mean, float) else mean.pow(0.5)


def read_mean(name: str, prediction: Any, n: int | None) -> Array:
    """Predicted values, or the column ``mean`` of a table."""
    if isinstance(prediction, pd.DataFrame) and prediction.shape[1] != 1:
        if "mean" not in prediction.columns:
            raise SpecError(
                f"{name} is a table of columns {', '.join(map(str, prediction.columns))}: one column, or one called "
                "mean, is needed."
            )
        prediction = prediction["mean"]
    return read_column(name, prediction, n)


def _errors(y: Any, prediction: Any, stratify: Any) -> tuple[Array, Strata | None]:
    """What is missing to the truth, and strata."""
    check_order(y=y, prediction=prediction, stratify=stratify)
    truth = read_column("y", y)
    return truth - read_mean("prediction", prediction, len(truth)), read_strata(stratify, truth)
