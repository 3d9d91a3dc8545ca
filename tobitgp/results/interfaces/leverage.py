"""Leverages, studentised residuals and Cook's distances of regressions, by one step of Newton's method.

The derivatives of the log likelihood of a row in its location, u and -w, are those of a weighted least squares row with
residual u / w and variance 1 / w. Uncensored normal rows have w = 1 / sigma^2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import fdtrc

from tobitgp.data.absorbed import as_dense
from tobitgp.data.outcome import outcome
from tobitgp.errors import UnavailableError
from tobitgp.regression.deviance_residuals import location_terms
from tobitgp.results.why_not import where_defined
from tobitgp.typing import Array

_OF_REFITS = {"cov_ratio", "influence", "ess_press", "resid_press", "det_cov_params_not_obsi", "params_not_obsi"}
_OF_REFITS |= {"sigma2_not_obsi", "get_resid_studentized", "get_drop_vars_results", "plot_influence", "plot_index"}


@dataclass(frozen=True, slots=True)
class InfluenceMeasures:
    """Influence of each row on a regression, with the names of statsmodels' ``OLSInfluence``.

    Attributes
    ----------
    hat_matrix_diag : (n,) array
        Leverages, dimensionless numbers, whose sum by weight is the number of coefficients.
    resid : (n,) array
        Working residuals, in units of the location.
    resid_studentized : (n,) array
        Residuals, in standard deviations, with sigma by maximum likelihood.
    dfbetas : DataFrame
        Changes of the parameters in standard errors, a row for each row used, a column for each parameter.
    d_params : DataFrame
        The same in the units of the parameters.
    k : int
        Number of coefficients.
    df_resid : float
        Degrees of freedom of the residuals.

    References
    ----------
    D. Pregibon (1981), Logistic regression diagnostics, *Annals of Statistics* 9, 705-724; D. A. Williams (1987),
    Generalized linear model diagnostics using the deviance and single case deletions, *Applied Statistics* 36, 181-191.
    """

    hat_matrix_diag: Array
    resid: Array
    resid_studentized: Array
    dfbetas: pd.DataFrame
    d_params: pd.DataFrame
    k: int
    df_resid: float

    @property
    def resid_studentized_internal(self) -> Array:
        """The same as ``resid_studentized`` by row, in standard deviations."""
        return self.resid_studentized

    @property
    def resid_studentized_external(self) -> Array:
        """Studentised residuals by row in standard deviations, with sigma by the other rows in one step."""
        r2, n = np.square(self.resid_studentized), len(self.resid_studentized)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self.resid_studentized * np.sqrt((n - self.k - 1.0) / (n - r2)))

    @property
    def cooks_distance(self) -> tuple[Array, Array]:
        """Cook's distances by row, dimensionless numbers, and upper tail probabilities of F at them."""
        h = self.hat_matrix_diag
        distance = np.square(self.resid_studentized) * h / ((1.0 - h) * self.k)
        return distance, np.asarray(fdtrc(self.k, self.df_resid, np.maximum(distance, 0.0)))

    @property
    def dffits_internal(self) -> tuple[Array, float]:
        """Changes of fitted values by row in standard errors, and a size that calls for attention."""
        h = self.hat_matrix_diag
        with np.errstate(invalid="ignore"):
            return self.resid_studentized * np.sqrt(h / (1.0 - h)), 2.0 * np.sqrt(self.k / len(h))

    @property
    def dffits(self) -> tuple[Array, float]:
        """The same with sigma by the other rows, in standard errors by row, and a size that calls for attention."""
        h = self.hat_matrix_diag
        with np.errstate(invalid="ignore"):
            return self.resid_studentized_external * np.sqrt(h / (1.0 - h)), 2.0 * np.sqrt(self.k / len(h))

    def __getattr__(self, name: str) -> Any:
        if name in _OF_REFITS:
            raise UnavailableError(
                f"get_influence().{name} is not available: it is of least squares, or of fits without each row. "
                "summary_frame() has what there is; res.influence() has changes of all parameters."
            )
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def summary_frame(self) -> pd.DataFrame:
        """A row for each row used: ``dfb_`` and each parameter, ``cooks_d``, residuals, leverages; dimensionless."""
        columns = {
            "cooks_d": self.cooks_distance[0],
            "standard_resid": self.resid_studentized,
            "hat_diag": self.hat_matrix_diag,
            "dffits_internal": self.dffits_internal[0],
            "student_resid": self.resid_studentized_external,
        }
        return pd.concat([self.dfbetas.add_prefix("dfb_"), pd.DataFrame(columns, index=self.dfbetas.index)], axis=1)


def _working(results: Any) -> tuple[Array, Array, Array]:
    """Working residuals, weights and leverages (n,) of the rows used."""
    parts = results.parts
    u, w = location_terms(parts.in_training(), outcome(parts.rows.response, log_time=parts.family.log_time))
    H, c = as_dense(parts.rows.design.H)[:, parts.maximum.free[: len(parts.columns)]], parts.rows.response.weight
    information = H.T @ ((c * w)[:, None] * H)
    h = w * np.einsum("ij,ij->i", H, np.linalg.lstsq(information, H.T, rcond=None)[0].T)
    with np.errstate(divide="ignore", invalid="ignore"):
        return u / w, w, h


@where_defined
def resid_working(results: Any) -> pd.Series[float]:
    """First over minus second derivative of the log likelihood of each row in its location, in units of that.

    One value for each row used, as survreg's ``type="working"``; (ROW1) to (ROW3) of the theory pages.
    """
    return pd.Series(_working(results)[0], index=results.parts.rows.labels, name="resid_working")


@where_defined
def get_hat_matrix_diag(results: Any) -> Array:
    """Leverage of each row used, by the observed information of its location, sigma held.

    Returns
    -------
    (n,) array
        Dimensionless numbers, whose sum by weight is the number of coefficients; near 0 for censored rows with little
        information, below 0 where a log likelihood is convex, e.g. in the tails of the Student-t distribution.

    Raises
    ------
    UnavailableError
        For fits other than regressions.
    SpecError
        If the fit holds no training rows.

    References
    ----------
    D. Pregibon (1981), Logistic regression diagnostics, *Annals of Statistics* 9, 705-724.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age + quant | censor(0)", tg.datasets.load("tobin"))
    >>> round(float(res.get_hat_matrix_diag().sum()), 8)
    3.0
    """
    return _working(results)[2]


@where_defined
def get_influence(results: Any) -> InfluenceMeasures:
    """Leverages, studentised residuals, Cook's distances and dfbetas of the rows used, by one step of Newton's method.

    Returns
    -------
    InfluenceMeasures
        With ``hat_matrix_diag, resid_studentized, cooks_distance, dfbetas, summary_frame()``, dimensionless numbers.

    Raises
    ------
    UnavailableError
        For fits other than regressions.
    SpecError
        If the fit holds no training rows, or has not converged.

    References
    ----------
    D. Pregibon (1981), Logistic regression diagnostics, *Annals of Statistics* 9, 705-724; (REG9) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age + quant | censor(0)", tg.datasets.load("tobin"))
    >>> res.get_influence().summary_frame()["cooks_d"].nlargest(2).round(2)
    10    0.38
    1     0.13
    Name: cooks_d, dtype: float64
    """
    residual, w, h = _working(results)
    with np.errstate(invalid="ignore", divide="ignore"):
        r = residual * np.sqrt(w / (1.0 - h))
    k = int(results.parts.maximum.free[: len(results._columns)].sum())
    kept = results.parts.rows.kept
    scaled, changes = results.influence(scaled=True)[kept], results.influence()[kept]
    return InfluenceMeasures(h, residual, r, scaled, changes, k, results.df_resid)
