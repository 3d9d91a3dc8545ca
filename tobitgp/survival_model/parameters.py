"""Estimates of a fit in lifelines' parameters, with lifelines' table of them.

A location-scale regression of log times has the parameters of lifelines' class: the location, and the logarithm of
``rho_ = 1 / sigma`` (Weibull), ``sigma_ = sigma`` (log-normal) or ``beta_ = 1 / sigma`` (log-logistic). Proportional
hazards have coefficients that are log hazard ratios, as in CoxPHFitter. Other fits have the parameters of their
results.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import chdtrc, ndtri

from tobitgp.data.linear_columns import INTERCEPT
from tobitgp.errors import UnavailableError
from tobitgp.results.hazards.proportionality import tested_columns
from tobitgp.results.why_not import HAZARDS
from tobitgp.typing import Array

# Names of the location and the scale in lifelines, and the sign of log sigma in the scale.
_CLASSES = {"weibull": ("lambda_", "rho_", -1.0), "lognormal": ("mu_", "sigma_", 1.0)}
_CLASSES |= {"loglogistic": ("alpha_", "beta_", -1.0)}
_LOG_SIGMA = "log(sigma)["


class FitterParameters(NamedTuple):
    """Estimates by lifelines' names; ``own`` (k,) names them in the results."""

    own: list[str]
    values: pd.Series[float]
    slope: Array  # (k,), derivatives of the values by the parameters of the results
    logarithms: bool = True  # whether exponentials of all of them have a meaning

    @property
    def slopes(self) -> list[str]:
        """Names in the results of all coefficients but intercepts and scales."""
        last = [name[-1] if isinstance(name, tuple) else name for name in self.values.index]
        return [own for own, name in zip(self.own, last, strict=True) if name != INTERCEPT]

    def covariance(self, results: Any) -> pd.DataFrame:
        """Covariance (k, k)."""
        V = results.cov_params().loc[self.own, self.own].to_numpy()
        index = self.values.index
        return pd.DataFrame(self.slope[:, None] * V * self.slope, index=index, columns=index)


def parameters_of(results: Any) -> FitterParameters:
    """Those that lifelines has for the model, or the results themselves."""
    params, p = results.params, len(results._columns)
    own, rest = list(params.index), list(params.index[p:])
    if results._kind in HAZARDS:
        parts = results.parts
        constant = [parts.state.linear.columns[i] for i in tested_columns(parts, parts.written)]
        own = [name for name in constant if name in params.index]
        return FitterParameters(own, _named(params[own]), np.ones(len(own)))
    names = _CLASSES.get(getattr(results.parts.family, "name", ""))
    in_logarithms = all(name.startswith(_LOG_SIGMA) for name in rest)
    if names is None or not rest or not (rest == ["sigma"] or in_logarithms):
        return FitterParameters(own, _named(params), np.ones(len(own)), logarithms=False)
    primary, ancillary, sign = names
    inner = [name[len(_LOG_SIGMA) : -1] for name in rest] if in_logarithms else [INTERCEPT]
    pairs = [*((primary, name) for name in own[:p]), *((ancillary, name) for name in inner)]
    index, of_scale = pd.MultiIndex.from_tuples(pairs, names=["param", "covariate"]), params[rest].to_numpy()
    scale = of_scale if in_logarithms else np.log(of_scale)
    slope = np.full(len(rest), sign) if in_logarithms else sign / of_scale
    values = pd.Series(np.concatenate([params[:p], sign * scale]), index=index, name="coef")
    return FitterParameters(own, values, np.concatenate([np.ones(p), slope]))


def _named(params: pd.Series[float]) -> pd.Series[float]:
    return params.rename_axis("covariate").rename("coef")


def params_(model: Any) -> pd.Series[float]:
    """Estimates by parameter and covariate, on the scale of lifelines' coefficients.

    ``results_.params`` has the parameters of the fit in its own names, such as sigma.

    Examples
    --------
    >>> import tobitgp as tg
    >>> model = tg.SurvivalModel("age").fit(tg.datasets.load("lung"), "time", "event")
    >>> model.params_.round(3)["rho_"].to_dict()
    {'Intercept': 0.276}
    """
    return parameters_of(model.results_).values


def variance_matrix_(model: Any) -> pd.DataFrame:
    """Covariance of ``params_`` in its scale; a row and a column for each. Robust with ``robust=True``.

    Raises
    ------
    UnavailableError
        With ``robust=True`` or ``cluster_col=`` and ``family="ph"`` or a piecewise baseline.
    """
    if model._robust_table is not None:
        raise UnavailableError(
            "SurvivalModel.variance_matrix_: robust=True and cluster_col= have standard errors only for this family. "
            "Use standard_errors_. results_.cov_params() is the covariance that is not robust."
        )
    return parameters_of(model.results_).covariance(model.results_)


def standard_errors_(model: Any) -> pd.Series[float]:
    """Standard errors by parameter and covariate, on the scale of ``params_``."""
    found = parameters_of(model.results_)
    robust = model._robust_table
    bse = (model.results_.bse if robust is None else robust["robust se"])[found.own].to_numpy()
    return pd.Series(np.abs(found.slope) * bse, index=found.values.index, name="se")


def confidence_intervals_(model: Any) -> pd.DataFrame:
    """Ends of normal intervals with probability ``1 - alpha``, a row for each of ``params_``, on its scale.

    For parameters of other kinds of models, they are those of ``results_.conf_int()``.
    """
    found = parameters_of(model.results_)
    if found.logarithms:
        half = -ndtri(model.alpha / 2.0) * standard_errors_(model)
        ends = np.column_stack([found.values - half, found.values + half])
    else:
        ends = model.results_.conf_int(model.alpha).loc[found.own].to_numpy()
    return pd.DataFrame(ends, index=found.values.index, columns=[f"{_level(model)} {end}-bound" for end in _ENDS])


_ENDS = ("lower", "upper")


def _level(model: Any) -> str:
    return f"{100.0 * (1.0 - model.alpha):g}%"


def summary(model: Any) -> pd.DataFrame:
    """Estimates in lifelines' columns, a row for each of ``params_`` on its scale; ``exp(coef)`` of coefficients.

    Examples
    --------
    >>> import tobitgp as tg
    >>> model = tg.SurvivalModel("age").fit(tg.datasets.load("lung"), "time", "event")
    >>> model.summary.loc[("lambda_", "age"), ["coef", "exp(coef)", "se(coef)", "p"]].round(3).to_dict()
    {'coef': -0.014, 'exp(coef)': 0.986, 'se(coef)': 0.007, 'p': 0.052}
    """
    found, error = parameters_of(model.results_), standard_errors_(model)
    ends, level = confidence_intervals_(model), _level(model)
    columns = model.results_._columns
    known = np.array([found.logarithms or name in columns for name in found.own])
    out = pd.DataFrame({"coef": found.values, "exp(coef)": np.where(known, np.exp(found.values), np.nan)})
    out["se(coef)"] = error
    for end in _ENDS:
        out[f"coef {end} {level}"] = ends[f"{level} {end}-bound"]
    for end in _ENDS:
        out[f"exp(coef) {end} {level}"] = np.where(known, np.exp(ends[f"{level} {end}-bound"]), np.nan)
    out["cmp to"] = 0.0
    out["z"] = np.where(known, found.values / error, np.nan)
    out["p"] = np.where(known, chdtrc(1.0, out["z"] ** 2), np.nan)
    with np.errstate(divide="ignore"):
        out["-log2(p)"] = -np.log2(out["p"])
    return out


def log_likelihood_(model: Any) -> float:
    """Maximum of the log-likelihood, in nats, ``results_.llf``; NaN for a posterior."""
    return model.results_.llf


def AIC_(model: Any) -> float:
    """Akaike's criterion, twice a number of nats, ``results_.aic``; NaN for a posterior."""
    return model.results_.aic


def BIC_(model: Any) -> float:
    """Schwarz's criterion, twice a number of nats, ``results_.bic``; NaN for a posterior."""
    return model.results_.bic


def log_likelihood_ratio_test(model: Any) -> Any:
    """Likelihood-ratio test of all covariates, those of the scale included, in lifelines' StatisticalResult.

    The model without covariates is fitted to the same rows. The statistic is chi-squared. Its degrees of freedom are
    the number of coefficients. Robust covariances do not change it.

    Returns
    -------
    lifelines.statistics.StatisticalResult

    Raises
    ------
    UnavailableError
        For fits with a posterior, which have no maximum.

    Examples
    --------
    >>> import tobitgp as tg
    >>> model = tg.SurvivalModel("age").fit(tg.datasets.load("lung"), "time", "event")
    >>> test = model.log_likelihood_ratio_test()
    >>> round(test.test_statistic, 3), test.degrees_freedom
    (3.915, 1)
    """
    try:
        from lifelines.statistics import StatisticalResult
    except ImportError as error:
        raise ImportError(
            "log_likelihood_ratio_test() requires lifelines. Install it by pip install 'tobitgp[lifelines]'."
        ) from error

    if model.results_.evidence_kind != "loglik":
        raise UnavailableError(
            "log_likelihood_ratio_test(): a posterior has no maximum of the likelihood. Use results_.wald_test(), or "
            "family=tg.PH('spline'), whose baseline has no prior."
        )
    statistic, df = likelihood_ratio(model.results_)
    named = {"test_name": "log-likelihood ratio test", "degrees_freedom": df, "null_distribution": "chi squared"}
    return StatisticalResult(chdtrc(df, statistic), statistic, **named)


def likelihood_ratio(results: Any) -> tuple[float, int]:
    """Statistic and degrees of freedom of the test that all coefficients are 0."""
    found, columns = parameters_of(results), results._columns
    slopes = [name for name in found.slopes if found.logarithms or name in columns]
    if not slopes:
        return 0.0, 0
    held = dict.fromkeys(slopes, 0.0)
    null = float(results.llnull if results.evidence_kind != "loglik" else results.parts.again(held).llf)
    return max(2.0 * (results.llf - null), 0.0), len(slopes)


def print_summary(
    model: Any, decimals: int = 2, style: str | None = None, columns: Sequence[str] | None = None, **kwargs: Any
) -> None:
    """Print the fit and ``summary``.

    Parameters
    ----------
    decimals : int
        Digits after the point.
    style : {"ascii", "html"}, optional
        Format of the table; ``"ascii"`` by default.
    columns : list of str, optional
        Columns of ``summary``; by default all.
    **kwargs : dict
        Further lines for the head, such as ``model="first"``.

    Raises
    ------
    NotFittedError
        Before there is a fit.

    Examples
    --------
    >>> import tobitgp as tg
    >>> model = tg.SurvivalModel("age").fit(tg.datasets.load("lung"), "time", "event")
    >>> model.print_summary(columns=["coef", "p"], source="NCCTG")  # doctest: +NORMALIZE_WHITESPACE
    SurvivalModel: Surv(`time`, `event`) ~ age
    source: NCCTG
    duration col: time
    event col: event
    number of observations: 228
    number of events observed: 165
    log-likelihood: -1151.89
    <BLANKLINE>
                       coef    p
    param   covariate
    lambda_ Intercept  6.89 0.00
            age       -0.01 0.05
    rho_    Intercept  0.28 0.00
    <BLANKLINE>
    Concordance: 0.55
    AIC: 2309.79
    log-likelihood ratio test: 3.91 on 1 df
    """
    results, table = model.results_, model.summary if columns is None else model.summary[list(columns)]

    def number(value: float) -> str:
        return f"{value:.{decimals}f}"

    bounds = ("lower_bound_col", "upper_bound_col")
    names = ("duration_col", *bounds, "event_col", "weights_col", "entry_col", "cluster_col")
    used = {name.replace("_", " "): getattr(model, name) for name in names if getattr(model, name)}
    head = {**kwargs, **used, "number of observations": f"{model.weights.sum():g}"}
    head["number of events observed"] = f"{model.weights[model.event_observed].sum():g}"
    ordered = results.parts.spec.mixture is None
    foot = {"Concordance": number(model.concordance_index_)} if ordered else {}
    if results.evidence_kind == "loglik":
        statistic, df = likelihood_ratio(results)
        head["log-likelihood"] = number(model.log_likelihood_)
        foot |= {"AIC": number(model.AIC_), "log-likelihood ratio test": f"{number(statistic)} on {df} df"}
    shown = table.to_html if style == "html" else table.to_string
    print(repr(model).split("\n")[0])
    print("\n".join(f"{name}: {value}" for name, value in head.items()))
    print(f"\n{shown(float_format=number)}\n")
    print("\n".join(f"{name}: {value}" for name, value in foot.items()))
