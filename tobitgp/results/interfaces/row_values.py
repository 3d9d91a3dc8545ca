"""Values of the training rows, and of their columns, under the names of statsmodels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr

from tobitgp.data.absorbed import as_dense
from tobitgp.results.why_not import HAZARDS, known_facts, where_defined
from tobitgp.typing import Array


def used_rows(results: Any, values: Any) -> Any:
    """Values of the rows that were used; of several responses those of all rows, with NaN."""
    return values if values.ndim > 1 else values[results.parts.rows.kept]


class WithoutLabels:
    """A fit whose Series are arrays, which figures of statsmodels read by position, as they do its own results."""

    def __init__(self, results: Any) -> None:
        self._fit = results

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._fit, name)
        return value.to_numpy() if isinstance(value, pd.Series) else value


@where_defined
def fittedvalues(results: Any) -> pd.Series[float]:
    """Mean of the response before censoring, on its scale, in the rows used: a Series by row.

    ``predict(what="uncensored")``, by (PRE1) or (REG12) of the theory pages.
    """
    found = results.predict(what="uncensored")
    return used_rows(results, found if found.ndim > 1 else found.rename("fittedvalues"))


@where_defined
def mu(results: Any) -> pd.Series[float]:
    """The same as ``fittedvalues``, on the scale of the response, by row: (PRE1) or (REG12) of the theory pages."""
    return fittedvalues(results)


@where_defined
def resid(results: Any) -> pd.Series[float]:
    """Response minus its mean, in its units, by row used; for a censored response, its mean given its limits is used.

    ``residuals("response")``, by (PRE1) or (REG12) of the theory pages.
    """
    return used_rows(results, results.residuals("response"))


@where_defined
def resid_response(results: Any) -> pd.Series[float]:
    """The same as ``resid``, in units of the response, by row used: (PRE1) or (REG12) of the theory pages."""
    return resid(results)


@where_defined
def resid_pearson(results: Any) -> pd.Series[float]:
    """Residuals by row used in standard deviations, ``residuals("pearson")``: (PRE1) or (REG12) of the theory pages."""
    return used_rows(results, results.residuals("pearson"))


@where_defined
def wresid(results: Any) -> pd.Series[float]:
    """Residuals by row used in units of the location, divided by the relative standard deviation of the row.

    ``resid_pearson`` times sigma, by (REG12) of the theory pages; on the log scale for log-time families.
    """
    return resid_pearson(results).rename("wresid") * float(np.sqrt(scale(results)))


@where_defined
def resid_deviance(results: Any) -> pd.Series[float]:
    """Deviance residuals of the rows used (dimensionless); ``residuals("deviance")``, (REG18) of the theory pages."""
    return used_rows(results, results.residuals("deviance"))


@where_defined
def martingale_residuals(results: Any) -> pd.Series[float]:
    """Number of events less cumulative hazards, by row used; ``residuals("martingale")``, by (REG18) and (PH2)."""
    return used_rows(results, results.residuals("martingale"))


@where_defined
def deviance(results: Any) -> float:
    """Sum of squared deviance residuals by frequency weights, a dimensionless number, (REG18) of the theory pages."""
    return float(results.parts.rows.response.weight @ np.square(resid_deviance(results)))


@where_defined
def outlier_test(results: Any, method: str = "bonf", alpha: float = 0.05) -> pd.DataFrame:
    """Test each row, including censored rows, for being an outlier.

    Quantile residuals are standard normal if the model is correct, with any censoring.

    Parameters
    ----------
    method : str
        Correction for many tests, one of ``statsmodels.stats.multitest.multipletests``.
    alpha : float
        Family-wise level of the tests, a probability.

    Returns
    -------
    DataFrame
        A row for each row used; columns ``student_resid``, the quantile residual, ``unadj_p`` and e.g. ``bonf(p)``,
        probabilities.

    Raises
    ------
    UnavailableError
        For several responses; each response has its own test.
    ValueError
        For an unknown ``method``.

    References
    ----------
    P. K. Dunn and G. K. Smyth (1996), Randomized quantile residuals, *Journal of Computational and Graphical
    Statistics* 5, 236-244.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"))
    >>> res.outlier_test()["bonf(p)"].nsmallest(1).round(2)
    10    0.67
    Name: bonf(p), dtype: float64
    """
    from statsmodels.stats.multitest import multipletests

    residual = used_rows(results, results.residuals("quantile"))
    p = 2.0 * ndtr(-np.abs(residual.to_numpy()))
    adjusted = multipletests(p, method=method, alpha=alpha)[1]
    return pd.DataFrame({"student_resid": residual, "unadj_p": p, f"{method}(p)": adjusted}, index=residual.index)


# -- numbers of the fit -----------------------------------------------------------------------------------------------


@where_defined
def scale(results: Any) -> float:
    """Square of sigma on the scale of the location, (REG2) of the theory pages; 1 for hazards."""
    if not known_facts(results).isdisjoint(HAZARDS):
        return 1.0
    at = len(results._columns)
    return float(results.params.iloc[at + results._names[at:].index("sigma")] ** 2)


@where_defined
def normalized_cov_params(results: Any) -> pd.DataFrame:
    """Covariance of the coefficients divided by ``scale``, a row and a column for each; (REG8) of the theory pages.

    For uncensored normal responses it equals the inverse of the cross products of the columns.
    """
    columns, p = list(results._columns), len(results._columns)
    return pd.DataFrame(results.cov_params().to_numpy()[:p, :p] / scale(results), index=columns, columns=columns)


@where_defined
def standard_errors(results: Any) -> Array:
    """Standard errors (k,) in the order of ``params``, in the user's units; ``bse``, by (REG8) or (PRE2)."""
    return np.asarray(results.bse)


@where_defined
def use_t(results: Any) -> bool:
    """Whether tests use Student's distribution: never."""
    return False


@where_defined
def covariance_type(results: Any) -> str:
    """The same as ``cov_type``."""
    return str(results.cov_type)


@where_defined
def family(results: Any) -> str:
    """Name of the family, as ``family=`` takes it."""
    return str(results.parts.family.name)


@where_defined
def k_constant(results: Any) -> int:
    """Number of intercepts among the coefficients, 0 or 1."""
    return int(any(name.partition("[")[0] == "Intercept" for name in results._columns))


@where_defined
def eigenvals(results: Any) -> Array:
    """Eigenvalues (k,) of the cross products of ``model.exog``, the largest first, in squares of its units.

    References
    ----------
    D. A. Belsley, E. Kuh and R. E. Welsch (1980), *Regression Diagnostics*, section 3.2.
    """
    exog = as_dense(results.parts.rows.design.H)
    return np.asarray(np.linalg.eigvalsh(exog.T @ exog)[::-1], dtype=np.float64)


@where_defined
def condition_number(results: Any) -> float:
    """Root of the ratio of the largest and the smallest of ``eigenvals``, a dimensionless number.

    References
    ----------
    D. A. Belsley, E. Kuh and R. E. Welsch (1980), *Regression Diagnostics*, section 3.2.
    """
    values = eigenvals(results)
    return float(np.sqrt(values[0] / values[-1]))
