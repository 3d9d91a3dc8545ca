"""Every public name of two univariate fitters of lifelines, and what it means in `tobitgp.lifelines`.

The errors of missing names, the page of the reference and the tests use this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from tobitgp.results.interfaces.statsmodels_names import ForeignName

_same = partial(ForeignName, "same")
_here = partial(ForeignName, "here")


UNIVARIATE_CURVES = ("survival_function", "hazard", "cumulative_hazard", "cumulative_density", "density")
_WEIBULL = "A parameter of the Weibull distribution"
_PARAMS = "For other distributions, params_ has the parameters."
_LIKELIHOOD = (
    "A posterior has no maximum of the likelihood. Compare fits by results_.log_evidence, or use "
    "MixtureFitter(..., method='em')."
)
_BAND = (
    "For distributions of lifelines as in WeibullFitter: the value plus and minus multiples of its standard "
    "error. Otherwise that of results_, which stays in the range of the curve."
)

UNIVARIATE_NAMES: Mapping[str, ForeignName] = {
    # Fit
    "fit": _here("Arguments as in WeibullFitter, in the same order; initial_point and fit_options have no effect."),
    "fit_right_censoring": _here("The same as `fit`."),
    "fit_left_censoring": _here(
        "Arguments as in `fit`. With a late entry the event lies between entry and duration; lifelines uses the "
        "probability that it lies before the duration."
    ),
    "fit_interval_censoring": _here("Arguments as in WeibullFitter; an upper bound may be infinite."),
    "alpha": _same("One minus the probability of intervals."),
    "label": _same("Name of the columns of curves."),
    "durations": _same("As given to fit().", "It has lower_bound and upper_bound."),
    "lower_bound": _same("As given to fit_interval_censoring().", "It has durations."),
    "upper_bound": _same("As given to fit_interval_censoring().", "It has durations."),
    "event_observed": _same("1 for an event, 0 for a censored duration; for intervals, 1 where both ends are equal."),
    "entry": _same("Times of late entry, 0 if there is none."),
    "weights": _same("Frequency weights, 1 by default."),
    "timeline": _same("Times of the curves: as given, or up to 500 from the first to the last duration."),
    "event_table": _same("Numbers at risk, censored and observed by time; None if not right-censored."),
    # Estimates
    "params_": _same("By name. A distribution that lifelines does not have, or a mixture, has the names of tg.fit()."),
    "lambda_": _same(f"{_WEIBULL}, the time at which 37% survive.", _PARAMS),
    "rho_": _same(f"{_WEIBULL}, its shape.", _PARAMS),
    "variance_matrix_": _here("From the observed information, as in lifelines; for a posterior, by linear response."),
    "summary": _here(
        "The columns of lifelines. `cmp to`, `z` and `p` are NaN for parameters without a value of no effect; these "
        "have the limits of results_.conf_int()."
    ),
    "print_summary": _here("As in lifelines; results_.summary() is printed for other distributions."),
    "log_likelihood_": _here("NaN for a posterior; compare these by results_.log_evidence."),
    "AIC_": _here("As in lifelines. One weight of a mixture is not counted.", _LIKELIHOOD),
    "BIC_": _here("By the number of rows, as in lifelines. One weight of a mixture is not counted.", _LIKELIHOOD),
    # Curves
    "survival_function_": _same("By the timeline. All curves of a posterior are those of the predictive distribution."),
    **dict.fromkeys(("cumulative_hazard_", "hazard_", "density_", "cumulative_density_"), _same("By the timeline.")),
    "survival_function_at_times": _same(
        "A Series by time; predict(conditional_after=) is for subjects with a given age."
    ),
    "cumulative_hazard_at_times": _same("A Series by time."),
    "hazard_at_times": _here("A Series by time, per unit of time. KaplanMeierFitter has none."),
    "density_at_times": _same("A Series by time, per unit of time."),
    "cumulative_density_at_times": _same("A Series by time."),
    "confidence_interval_": _here(f"That of the cumulative hazard; KaplanMeierFitter has that of survival. {_BAND}"),
    **{f"confidence_interval_{curve}_": _here(_BAND) for curve in UNIVARIATE_CURVES},
    # Questions
    "predict": _here(
        "Survival at times, as in lifelines; with conditional_after=, for subjects that have survived so long."
    ),
    "percentile": _here("As in lifelines; with conditional_after=, the remaining time."),
    "median_survival_time_": _same("The time at which survival is one half."),
    "conditional_time_to_event_": _here(
        "Computed from the distribution. lifelines reads it off the timeline, and has none beyond its end."
    ),
    "subtract": _here(
        "Differences of cumulative hazards, as in WeibullFitter; KaplanMeierFitter has those of survival."
    ),
    "divide": _here("Ratios of cumulative hazards, as in WeibullFitter; KaplanMeierFitter has those of survival."),
    # Figures
    "plot": _same("plot_cumulative_hazard() with a DeprecationWarning."),
    "plot_survival_function": _same("By lifelines, with the intervals above."),
    "plot_cumulative_hazard": _same("By lifelines, with the intervals above."),
    "plot_cumulative_density": _same("By lifelines, with the intervals above."),
    **dict.fromkeys(("plot_density", "plot_hazard"), _here("By lifelines. KaplanMeierFitter has none.")),
    "plot_loglogs": _same("As in KaplanMeierFitter."),
}
