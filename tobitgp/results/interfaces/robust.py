"""Robust covariances of a finished fit, (REG8) of the theory pages, and scores of rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.diagnostics.training_draws import training_rows
from tobitgp.errors import SpecError
from tobitgp.kinds.fit_arguments import check_covariance
from tobitgp.kinds.likelihood import LikelihoodParts
from tobitgp.regression import covariance, unidentified
from tobitgp.regression.clusters import Clusters
from tobitgp.results.likelihood.influence import with_scores
from tobitgp.results.predict import check_flag
from tobitgp.results.why_not import where_defined
from tobitgp.typing import Array


def scored_fit(results: Any) -> LikelihoodParts:
    """The fit at its maximum, with the scores of its rows."""
    training_rows(results.parts, "A robust covariance")
    results._refuse_dependent("A robust covariance")
    return with_scores(results.parts, "the scores of its rows have")


@where_defined
def get_robustcov_results(
    results: Any, cov_type: str = "HC1", *, groups: Any = None, use_correction: bool = False
) -> Any:
    """The same fit with another covariance of its estimates.

    Parameters
    ----------
    cov_type : {"nonrobust", "HC0", "HC1", "cluster"}
        As for :func:`tobitgp.fit`.
    groups : (n,) sequence, optional
        For ``"cluster"``: the cluster of each row of the training data, or of each row used.
    use_correction : bool
        For ``"cluster"``: multiply by the factors of statsmodels for few clusters.

    Returns
    -------
    results
        Results of the same kind in the same units; standard errors, tests and intervals use the new covariance.

    Raises
    ------
    SpecError
        For an unknown ``cov_type``, ``groups`` of another length, or a fit that holds no training rows.

    References
    ----------
    White (1982), Maximum likelihood estimation of misspecified models, *Econometrica* 50, 1-25; (REG8) of the theory
    pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"))
    >>> res.get_robustcov_results("HC0").bse.round(3).to_dict()
    {'Intercept': 7.638, 'age': 0.16, 'sigma': 1.654}
    """
    check_covariance(cov_type)
    corrected = check_flag("use_correction", use_correction)
    if (cov_type == "cluster") != (groups is not None):
        raise SpecError(f"cov_type={cov_type!r}: groups= must be given with cov_type='cluster', and only then.")
    found = scored_fit(results)
    last, kept = found.last_rows(), found.rows.kept
    weight = found.rows.response.weight
    clusters = None
    if groups is not None:
        code = pd.factorize(np.asarray(groups))[0]
        if len(code) not in (len(kept), len(weight)):
            raise SpecError(f"groups= has {len(code)} values. It must have {len(kept)}, one for each row of the data.")
        code = code[kept] if len(code) == len(kept) else code
        clusters = replace(Clusters.of(code if last is None else code[last]), corrected=corrected)
    how: dict[str, Any] = {"kind": cov_type, "weight": weight if last is None else weight[last], "groups": clusters}
    V = covariance(found.maximum, **how, sampling=found.rows.sampling)
    lost = unidentified(found.maximum, **how)
    sampling = found.rows.sampling and cov_type != "nonrobust"
    return type(results)(replace(found, covariance=V, unidentified=lost, cov_type=cov_type, sampling=sampling))


def sandwich(results: Any) -> Array:
    """Robust covariance (k, k) of what is reported."""
    return np.asarray(get_robustcov_results(results, "HC0").cov_params())


def sandwich_of_changes(results: Any) -> Array:
    """The same for a fit that consists of other fits, by the influence of rows."""
    change, weight = results.influence().dropna(), results.parts.rows.response.weight
    as_log = [str(one) != str(other) for one, other in zip(change.columns, results.params.index, strict=True)]
    D = change.to_numpy() * np.where(as_log, results.params, 1.0)
    return np.asarray(D.T @ D if results.parts.rows.sampling else (D.T / weight) @ D)


@where_defined
def cov_HC0(results: Any) -> pd.DataFrame:
    """Robust covariance, a row and a column for each parameter, in squares of the user's units; (REG8).

    References
    ----------
    White (1982), Maximum likelihood estimation of misspecified models, *Econometrica* 50, 1-25.
    """
    return pd.DataFrame(results._sandwich(), index=results._names, columns=results._names)


@where_defined
def cov_HC1(results: Any) -> pd.DataFrame:
    """The same with the factor ``n / (n - k)``, where k counts all estimated parameters; (REG8) of the theory pages.

    A row and a column for each parameter, in squares of the user's units.
    """
    rows = results.parts.rows
    n = float((rows.response.weight > 0.0).sum()) if rows.sampling else results._n_units
    return cov_HC0(results) * (n / (n - results._n_free))


@where_defined
def HC0_se(results: Any) -> pd.Series[float]:
    """Robust standard errors by parameter in the user's units, roots of the diagonal of ``cov_HC0``; (REG8)."""
    return pd.Series(np.sqrt(np.diag(cov_HC0(results))), index=results._names)


@where_defined
def HC1_se(results: Any) -> pd.Series[float]:
    """Robust standard errors by parameter in the user's units, roots of the diagonal of ``cov_HC1``; (REG8)."""
    return pd.Series(np.sqrt(np.diag(cov_HC1(results))), index=results._names)


@where_defined
def score_residuals(results: Any) -> pd.DataFrame:
    """Derivatives of the log likelihood of each row in the parameters, positive ones as logarithms; (REG9).

    A row for each row used (for start-stop rows, each subject) and a column for each parameter, in inverse units of it.
    Their weighted sums are 0.
    """
    names = results.influence().columns
    found, rows = results._scores_of_rows(), results.parts.rows
    last = results.parts.last_rows() if hasattr(results.parts, "last_rows") else None
    return pd.DataFrame(found, index=rows.labels if last is None else rows.labels[last], columns=names)
