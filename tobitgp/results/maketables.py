"""What the package maketables asks of a fitted model, as numbers and names.

Its ``ETable`` puts fits of several packages side by side and rounds their numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from tobitgp.results.results import Results

_CENSORED = ("left", "right", "interval")
STAT_LABELS = {
    "N": "Observations",
    "exact": "Exact",
    **{kind: f"{kind.capitalize()}-censored" for kind in _CENSORED},
    "log_evidence": "Log evidence",
    "evidence_kind": "Evidence kind",
    "elbo": "ELBO",
    "log_marginal": "Log marginal",
    "llf": "Log likelihood",
    "aic": "AIC",
    "bic": "BIC",
    "df_model": "Df model",
    "family": "Family",
    "method": "Method",
    "se_type": "S.E. type",
}
_OF_ROWS = ("N", "exact", *_CENSORED)


def default_stats(results: Results) -> list[str]:
    """Numbers below the coefficients unless others are asked for: counts, and the evidence or the likelihood."""
    return [*_OF_ROWS, *(("llf", "aic") if results.evidence_kind == "loglik" else ("log_evidence", "evidence_kind"))]


def error_type(results: Results) -> dict[str, str]:
    """Where the standard errors come from."""
    return {"vcov_type": str(getattr(results, "cov_type", "posterior sd"))}


def response(results: Results) -> str:
    """Name of the response."""
    return results.model.endog_names


def stat_labels(results: Results) -> dict[str, str]:
    """What the numbers below the coefficients are called."""
    return dict(STAT_LABELS)


def coef_table(results: Results) -> pd.DataFrame:
    """Estimates by name: columns ``b, se, t, p, ci95l, ci95u, ci90l, ci90u``.

    NaN where a number has no meaning: standard errors of fixed parameters, ``t`` and ``p`` of hyper-parameters.
    """
    wide, narrow = results.summary_frame(0.05), results.summary_frame(0.1)
    error = wide["std err"]
    columns = {
        "b": wide["coef"],
        "se": error.where(error > 0.0),
        "t": wide["z"],
        "p": wide["P>|z|"],
        "ci95l": wide["lower"],
        "ci95u": wide["upper"],
        "ci90l": narrow["lower"],
        "ci90u": narrow["upper"],
    }
    return pd.DataFrame(columns).rename_axis("Coefficient")


def stat(results: Results, key: str) -> float | int | str | None:
    """A number or word below the coefficients, None where there is no such thing."""
    if key == "N":
        return results.nobs
    if key == "se_type":
        return error_type(results)["vcov_type"]
    if key == "family":
        return results.parts.family.name
    if key == "exact" or key in _CENSORED:
        return int(results.counts[key])
    if key in ("evidence_kind", "method"):
        return str(getattr(results, key))
    value = getattr(results, key, np.nan) if key in STAT_LABELS else np.nan
    return float(value) if np.isfinite(value) else None


def to_maketables(results: Results) -> Any:
    """The fit as ``maketables.ETable`` shows it with its counts of censored rows and its evidence or likelihood.

    ``ETable([res])`` works too, but takes whatever has ``params``, ``bse`` and ``pvalues`` for a fit of
    statsmodels, and shows coefficients and the number of observations alone.

    Returns
    -------
    object with maketables' hooks
        To be put in the list of ``ETable``.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"), fixed={"sigma": 5.0})
    >>> view = res.to_maketables()
    >>> view.__maketables_stat__("left"), view.__maketables_coef_table__["b"].round(2).to_dict()
    (13, {'Intercept': 5.12, 'age': -0.14, 'sigma': 5.0})
    """
    return _Hooks(results)


class _Hooks:
    """A fit with nothing but maketables' hooks."""

    def __init__(self, results: Results):
        self._results = results

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__maketables_"):
            return getattr(self._results, name)
        raise AttributeError(name)
