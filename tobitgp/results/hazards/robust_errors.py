"""Hazard ratios with the sandwich of the residuals of Cox's scores, by rows or by clusters; (PH12)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from tobitgp.data.absorbed import as_dense
from tobitgp.data.frames import by_label
from tobitgp.diagnostics.training_draws import training_rows
from tobitgp.errors import DataError, SpecError
from tobitgp.formula.functions import nearest
from tobitgp.regression.clusters import Clusters
from tobitgp.results.fit import Fit
from tobitgp.results.hazards.cells import at_risk
from tobitgp.results.hazards.partial_likelihood import information, risk_sets_of, score_residuals
from tobitgp.results.hazards.proportionality import strata_of, tested_columns
from tobitgp.results.predict import check_alpha
from tobitgp.results.words import HAZARD
from tobitgp.typing import Array, BoolArray, IntArray

_OPEN, _PART = 1e-10, 1e-5  # of the largest eigenvalue, one that is none; and of a vector, an entry that is none


def robust_hazard_ratios(results: Fit, groups: Any = None, alpha: float = 0.05) -> pd.DataFrame:
    r"""Hazard ratios of linear terms with robust standard errors, as in R's ``coxph(robust=TRUE, cluster=)``.

    Let :math:`r_i` be the score residual of row i in the Cox partial likelihood at the coefficients of this fit, V the
    inverse of its information there, and c the weights. The robust covariance is :math:`V \{\sum_g (\sum_{i \in g} c_i
    r_i)(\sum_{i \in g} c_i r_i)'\} V`, with g the clusters. It describes how coefficients would vary between samples if
    rows of a cluster depend on each other, or hazards are not proportional. Ties use Efron's method. Predictions and
    all other standard errors of this fit do not change.

    ``weights=`` that are whole numbers are frequencies: a row of weight 3 is three rows. Without ``groups`` its three
    copies are three clusters, and add :math:`c_i r_i r_i'`; with ``groups`` they belong to the cluster of the row, so
    ``groups=np.arange(n)`` makes each row with all its copies one cluster. Other weights are sampling weights: the row
    is one cluster, as in ``coxph(weights=, robust=TRUE)``, and adds :math:`c_i^2 r_i r_i'`.

    Parameters
    ----------
    groups : str or (n,) sequence, optional
        Name of a column of the training data, or the cluster of each of its rows, or of each row used. A Series with
        the labels of the data is matched by them. By default each row is a cluster, with ``id=`` each subject.
    alpha : float
        Significance level: intervals have probability ``1 - alpha``.

    Returns
    -------
    DataFrame
        Columns ``coef, se(coef), robust se, exp(coef), lower, upper, z, p``: the logarithm of the ratio for one unit of
        the column, its posterior standard deviation and its robust standard error, the ratio (dimensionless), and
        interval and test by the robust standard error. NaN where the Cox partial likelihood does not identify a
        coefficient, 0 where it is fixed.

    Raises
    ------
    SpecError
        If the model has processes, random effects or ``tv()``, no linear column, or no training rows.
    DataError
        If ``groups`` has another length, missing values, or one cluster only, or names no column.

    Notes
    -----
    Priors of coefficients do not enter V. The usual one hardly moves them; with ``priors=`` that do, this is the
    sandwich of ``coxph`` at coefficients that are not its own, and does not become narrower with the prior.

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
    spread = np.where((sd := X.std(axis=0)) > 0.0, sd, 1.0)
    X = (X - X.mean(axis=0)) / spread
    scores, log_hazard, free = np.zeros_like(X), -results._location(), ~own.fixed
    sets = risk_sets_of(risk, strata_of(parts, parts.written, len(X)), sampling=parts.rows.sampling)
    for here, each in sets:
        scores[here] = score_residuals(X[here], each, log_hazard[here], np.zeros(len(here)))[0]
    V, lost = _inverse(information(X[:, free], sets, log_hazard))
    M = _within(scores, risk.weight, _clusters(results, groups), sampling=parts.rows.sampling)[np.ix_(free, free)]
    error, coef = np.zeros(len(names)), own.coefficients()
    error[free] = np.where(lost, np.nan, np.sqrt(np.diag(V @ M @ V))) / spread[free]
    z = np.divide(coef, error, out=np.full_like(coef, np.nan), where=error > 0.0)
    reach = -ndtri(0.5 * alpha) * error
    table = {"coef": coef, "se(coef)": own.errors(), "robust se": error, HAZARD: np.exp(coef)}
    table |= {"lower": np.exp(coef - reach), "upper": np.exp(coef + reach), "z": z, "p": 2.0 * ndtr(-np.abs(z))}
    return pd.DataFrame(table, index=names)


def _inverse(information: Array) -> tuple[Array, BoolArray]:
    """Generalised inverse (p, p) of the information of standardised columns, and which (p,) it leaves open."""
    values, vectors = np.linalg.eigh(information)
    seen = values > _OPEN * values.max(initial=0.0)
    return (vectors[:, seen] / values[seen]) @ vectors[:, seen].T, (np.abs(vectors[:, ~seen]) > _PART).any(axis=1)


def _clusters(results: Any, groups: Any) -> IntArray | None:
    """A number (n,) for the cluster of each row used, None if each row is one."""
    parts = results.parts
    if groups is None:
        return None if parts.subject is None else np.asarray(parts.subject)
    values = _column(results, groups) if isinstance(groups, str) else groups
    kept = np.asarray(parts.rows.kept)
    if np.ndim(values) != 1 or len(values) not in (len(kept), int(kept.sum())):
        found = f"the shape {np.shape(values)}" if np.ndim(values) != 1 else f"{len(values)} values"
        raise DataError(f"groups= has {found}. It must have {len(kept)}, one for each row of the data.")
    every = len(values) == len(kept)
    if isinstance(values, pd.Series) and values.index.isin(parts.rows.index).all():
        values = by_label("The groups", "groups", values, parts.rows.index if every else parts.rows.index[kept])
    code = pd.factorize(np.asarray(values, dtype=object))[0]
    code = code[kept] if every else code
    if (code < 0).any() or len(np.unique(code)) < 2:
        raise DataError("groups= must have no missing values and at least two clusters.")
    return code


def _column(results: Any, name: str) -> Any:
    """A column of the training data; where these are not at hand, of those that the formula names."""
    data = results._data if results._data is not None else results.parts.covariates
    if name in data.columns:
        return data[name]
    if results._data is None:
        raise DataError(f"groups={name!r}: this fit holds only columns of its formula. Give the values of the column.")
    raise DataError(f"groups={name!r}: the data have no such column{nearest(name, list(data.columns)) or '.'}")


def _within(scores: Array, weight: Array, code: IntArray | None, *, sampling: bool) -> Array:
    """Cross-products (p, p) of sums of scores within clusters; copies of a row are separate clusters by default."""
    if code is None and not sampling:
        return np.asarray((weight[:, None] * scores).T @ scores)
    clusters = Clusters.of(np.arange(len(weight)) if code is None else code)
    return clusters.crossed(scores, weight, np.eye(scores.shape[1]), float(len(weight)), scores.shape[1])
