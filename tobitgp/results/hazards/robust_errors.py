"""Hazard ratios with the sandwich of the residuals of Cox's scores, by rows or by clusters; (PH12)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from tobitgp.data.absorbed import as_dense
from tobitgp.diagnostics.training_draws import training_rows
from tobitgp.errors import DataError, SpecError
from tobitgp.regression.clusters import Clusters
from tobitgp.results.fit import Fit
from tobitgp.results.hazards.cells import at_risk
from tobitgp.results.hazards.partial_likelihood import risk_sets_of, score_residuals
from tobitgp.results.hazards.proportionality import strata_of, tested_columns
from tobitgp.results.predict import check_alpha
from tobitgp.results.words import HAZARD
from tobitgp.typing import Array, IntArray


def robust_hazard_ratios(results: Fit, groups: Any = None, alpha: float = 0.05) -> pd.DataFrame:
    r"""Hazard ratios of linear terms with robust standard errors, as in R's ``coxph(robust=TRUE, cluster=)``.

    Let :math:`r_i` be the score residual of row i in the Cox partial likelihood at the coefficients of this fit, V
    their covariance, and c the weights. The robust covariance is :math:`V \{\sum_g (\sum_{i \in g} c_i r_i)(\sum_{i \in
    g} c_i r_i)'\} V`, with g the clusters. It describes how coefficients would vary between samples if rows of a
    cluster depend on each other, or hazards are not proportional. Predictions and all other standard errors of this fit
    do not change.

    Parameters
    ----------
    groups : (n,) sequence, optional
        Cluster of each row of the training data, or of each row used. By default each row is a cluster, with ``id=``
        each subject.
    alpha : float
        Significance level: intervals have probability ``1 - alpha``.

    Returns
    -------
    DataFrame
        Columns ``coef, se(coef), robust se, exp(coef), lower, upper, z, p``: the logarithm of the ratio for one unit of
        the column and its two standard errors, the ratio (dimensionless), and interval and test by the robust standard
        error.

    Raises
    ------
    SpecError
        If the model has processes, random effects or ``tv()``, no linear column, or no training rows.
    DataError
        If ``groups`` has another length, missing values, or one cluster only.

    References
    ----------
    Lin and Wei (1989), The robust inference for the Cox proportional hazards model, *JASA* 84, 1074-1078; (PH12) of
    the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung").dropna(subset=["inst"])
    >>> res = tg.fit("Surv(time, event) ~ age + sex", lung, family="ph")
    >>> res.robust_hazard_ratios(groups=lung["inst"])[["coef", "se(coef)", "robust se"]].round(2)
         coef  se(coef)  robust se
    age  0.02      0.01       0.01
    sex -0.51      0.17       0.13
    """
    alpha, parts = check_alpha(alpha), results.parts
    training = training_rows(parts, "robust_hazard_ratios()")
    if parts.spec.processes or parts.written.varying:
        raise SpecError(
            "robust_hazard_ratios() requires linear terms. Processes, random effects and tv() have priors and "
            "no score. A random effect (1 | g) already allows for groups."
        )
    columns = tested_columns(parts, parts.written)
    if not columns:
        raise SpecError("This model has no column with a hazard ratio.")
    names = [parts.state.linear.columns[j] for j in columns]
    places = [results._columns.index(name) for name in names]  # bands of a piecewise baseline are columns too
    own = results._linear.combine(np.eye(parts.n_linear)[places], np.zeros(len(names)))
    X, risk = as_dense(training.design.H)[:, columns], at_risk(training.response)
    scores, log_hazard = np.zeros_like(X), -results._location()
    for here, sets in risk_sets_of(risk, strata_of(parts, parts.written, len(X)), sampling=parts.rows.sampling):
        scores[here] = score_residuals(X[here], sets, log_hazard[here], np.zeros(len(here)))[0]
    changes = scores @ own.total_covariance()
    error = np.sqrt(np.diag(_within(changes, risk.weight, _clusters(parts, groups), sampling=parts.rows.sampling)))
    error, coef = np.where(own.fixed, 0.0, error), own.coefficients()
    z = np.divide(coef, error, out=np.full_like(coef, np.nan), where=error > 0.0)
    reach = -ndtri(0.5 * alpha) * error
    table = {"coef": coef, "se(coef)": own.errors(), "robust se": error, HAZARD: np.exp(coef)}
    table |= {"lower": np.exp(coef - reach), "upper": np.exp(coef + reach), "z": z, "p": 2.0 * ndtr(-np.abs(z))}
    return pd.DataFrame(table, index=names)


def _clusters(parts: Any, groups: Any) -> IntArray | None:
    """A number (n,) for the cluster of each row used, None if each row is one."""
    if groups is None:
        return None if parts.subject is None else np.asarray(parts.subject)
    kept = np.asarray(parts.rows.kept)
    code = pd.factorize(np.asarray(groups, dtype=object))[0]
    if len(code) not in (len(kept), int(kept.sum())):
        raise DataError(f"groups= has {len(code)} values. It must have {len(kept)}, one for each row of the data.")
    code = code[kept] if len(code) == len(kept) else code
    if (code < 0).any() or len(np.unique(code)) < 2:
        raise DataError("groups= must have no missing values and at least two clusters.")
    return code


def _within(changes: Array, weight: Array, code: IntArray | None, *, sampling: bool) -> Array:
    """Cross-products (p, p) of sums of changes within clusters; copies of a row are separate clusters by default."""
    if code is None and not sampling:
        return np.asarray((weight[:, None] * changes).T @ changes)
    clusters = Clusters.of(np.arange(len(weight)) if code is None else code)
    return clusters.crossed(changes, weight, np.eye(changes.shape[1]), float(len(weight)), changes.shape[1])
