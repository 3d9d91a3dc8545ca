"""Every public name of two regression fitters of lifelines, and what it means here or why it is not available.

The errors of missing names, the page of the reference and the tests use this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from tobitgp.errors import UnavailableError
from tobitgp.results.interfaces.statsmodels_names import ForeignName

_same = partial(ForeignName, "same")
_here = partial(ForeignName, "here")
_none = partial(ForeignName, "none")
_SETTING = "As given to `fit()`."
_CURVE = "Rows by time, columns by row of the data; `interval=` adds bands."
_TIMES = "Exact, with `interval=` for intervals. A DataFrame of CoxPHFitter is a step function."
_PENALTY = _none("Coefficients have no penalty.", "priors={'age': tg.Normal(0, 1)} makes a posterior of them.")
_ROW = "The rows used, in the order of the data; of proportional hazards by strata, time and event, as in CoxPHFitter."
_BASELINE = (
    "By the baseline of the model, at the mean of the columns. The parametric baselines of CoxPHFitter are at medians."
)
_MEAN = "At medians of numbers and the most frequent values of other covariates of the formula."

REGRESSION_NAMES: Mapping[str, ForeignName] = {
    # Settings and columns
    "alpha": _same("The probability outside confidence intervals."),
    "fit_intercept": _here(
        "True keeps the intercept that `formula=` or `ancillary=` leaves out, as there. False also removes that of a "
        "formula."
    ),
    "model_ancillary": _same("Whether the terms of the location are those of the scale, too."),
    **dict.fromkeys(("duration_col", "event_col", "entry_col", "weights_col", "cluster_col"), _same(_SETTING)),
    "robust": _here(
        "The sandwich of scores; with `'ph'` of those of Cox's partial likelihood. Whole weights are frequencies; "
        "WeibullAFTFitter leaves weights out of it."
    ),
    "strata": _here("A list with the column of strata, or None. One column is supported."),
    "formula": _here("The right-hand side of the last fit."),
    "timeline": _same("The default times of predictions."),
    **dict.fromkeys(("penalizer", "l1_ratio"), _PENALTY),
    "label": _none("A regression has no label.", "repr() shows the formula."),
    "regressors": _none("Designs belong to the results.", "formula has the terms, results_.model.exog the columns."),
    "force_no_intercept": _none("It is a flag of classes of lifelines.", "fit_intercept removes the intercept."),
    "baseline_estimation_method": _none("The family has the baseline.", "Use family='ph' or tg.PH('piecewise')."),
    "model": _none("There is no inner object.", "results_ has the fit."),
    # Fits
    "fit": _here("Keyword arguments after the columns. All of lifelines' arguments, except penalties, are read."),
    "fit_right_censoring": _here("The same as `fit`."),
    "fit_left_censoring": _here("As in `fit`."),
    "fit_interval_censoring": _here("As in `fit`. Equal bounds are events; `event_col` is not required."),
    # Rows
    **dict.fromkeys(("durations", "event_observed", "weights"), _here(_ROW)),
    "entry": _here(f"{_ROW} 0 if there is no late entry."),
    "entries": _here("The same as `entry`."),
    # Estimates
    "params_": _here(
        "The coefficients of the class of the family, intercept first. With `family='ph'`, those of CoxPHFitter. "
        "Other models have those of `results_`."
    ),
    **dict.fromkeys(("standard_errors_", "confidence_intervals_"), _here("Those of `params_`.")),
    "variance_matrix_": _here(
        "The one of `params_`. Robust with `robust=True`, except for `'ph'`, where it is not available."
    ),
    "hazard_ratios_": _here("Hazard ratios, by column. WeibullAFTFitter has exp(coef), which are ratios of times."),
    "summary": _here("The columns of lifelines, for `params_`."),
    "print_summary": _here("A head, `summary` and tests. Styles are ascii and html."),
    "log_likelihood_": _here("The full likelihood. CoxPHFitter has the partial one. NaN for a posterior."),
    "log_likelihood_ratio_test": _here(
        "Against the model without covariates. An error for `'ph'`, which has no maximum of the likelihood."
    ),
    "AIC_": _here("As in lifelines for parametric models. NaN for a posterior."),
    "BIC_": _here("Counts all parameters. That of lifelines counts two, whatever the covariates are."),
    "AIC_partial_": _none("The likelihood is a full one, as for parametric baselines in lifelines.", "AIC_ counts it."),
    "concordance_index_": _here("Late entry and weights count."),
    "score": _here("Log-likelihood by row or concordance. CoxPHFitter has the partial likelihood."),
    **dict.fromkeys(("median_survival_time_", "mean_survival_time_"), _here(_MEAN)),
    # Predictions
    **dict.fromkeys(("predict_survival_function", "predict_cumulative_hazard"), _here(_CURVE)),
    "predict_hazard": _here(f"{_CURVE} CoxPHFitter has none with Breslow's baseline."),
    **dict.fromkeys(("predict_percentile", "predict_median"), _here(_TIMES)),
    "predict_expectation": _here("Exact. An error if the mean depends on hazards after the last time."),
    "predict_partial_hazard": _same("Relative to the mean of the columns. Also for Weibull and exponential times."),
    "predict_log_partial_hazard": _same("The logarithm of `predict_partial_hazard`."),
    **dict.fromkeys(("baseline_hazard_", "baseline_cumulative_hazard_", "baseline_survival_"), _here(_BASELINE)),
    # Diagnostics and figures
    "compute_residuals": _here(
        "For accelerated failure times, too. Score residuals and delta_beta have all parameters of `results_`."
    ),
    "compute_followup_hazard_ratios": _here("Fits of the same model to shortened follow-up; `hazard_ratios_` of each."),
    "check_assumptions": _here("The score test of `results_.proportionality()`. lifelines tests two scales of time."),
    "plot": _same("`parameter=` and `hazard_ratios=` are read."),
    "plot_partial_effects_on_outcome": _same("Numbers at medians, `y='hazard'` for all models."),
    "plot_covariate_groups": _same("The old name of `plot_partial_effects_on_outcome`."),
}


def missing_name(model: Any, name: str) -> Any:
    """Raise the error of an attribute that a model lacks."""
    row = REGRESSION_NAMES.get(name)
    if row is None or hasattr(type(model), name):
        return object.__getattribute__(model, name)
    raise UnavailableError(f"SurvivalModel.{name} is not available. {row.words} {row.instead}")
