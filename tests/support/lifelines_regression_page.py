"""The page of the reference on names of lifelines' regression fitters.

`python -m tests.support.lifelines_regression_page` writes it.
"""

from __future__ import annotations

from pathlib import Path

from tobitgp.survival_model.lifelines_names import REGRESSION_NAMES

# Names of lifelines 0.30 by class, after a fit of right-censored rows.
_NAMES = {
    "WeibullAFTFitter": (
        "AIC_ BIC_ alpha check_assumptions compute_followup_hazard_ratios compute_residuals concordance_index_ "
        "confidence_intervals_ duration_col durations entry entry_col event_col event_observed fit fit_intercept "
        "fit_interval_censoring fit_left_censoring fit_right_censoring force_no_intercept hazard_ratios_ l1_ratio "
        "label log_likelihood_ log_likelihood_ratio_test mean_survival_time_ median_survival_time_ model_ancillary "
        "params_ penalizer plot plot_covariate_groups plot_partial_effects_on_outcome predict_cumulative_hazard "
        "predict_expectation predict_hazard predict_median predict_percentile predict_survival_function print_summary "
        "regressors robust score standard_errors_ strata summary timeline variance_matrix_ weights weights_col"
    ),
    "CoxPHFitter": (
        "AIC_ AIC_partial_ alpha baseline_cumulative_hazard_ baseline_estimation_method baseline_hazard_ "
        "baseline_survival_ check_assumptions cluster_col compute_followup_hazard_ratios compute_residuals "
        "concordance_index_ confidence_intervals_ duration_col durations entries entry_col event_col event_observed "
        "fit fit_right_censoring formula hazard_ratios_ l1_ratio label log_likelihood_ log_likelihood_ratio_test model "
        "params_ penalizer plot plot_covariate_groups plot_partial_effects_on_outcome predict_cumulative_hazard "
        "predict_expectation predict_hazard predict_log_partial_hazard predict_median predict_partial_hazard "
        "predict_percentile predict_survival_function print_summary regressors robust score standard_errors_ strata "
        "summary timeline variance_matrix_ weights weights_col"
    ),
}
REGRESSION_CLASSES = {kind: tuple(names.split()) for kind, names in _NAMES.items()}

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "lifelines_regression.md"

HEAD = """# Names of lifelines' regression fitters

[`SurvivalModel`](survival.md) has most public names of lifelines' `WeibullAFTFitter` and `CoxPHFitter`. A script for
these fitters runs with another import:

```python
from functools import partial

from tobitgp import SurvivalModel as WeibullAFTFitter

LogNormalAFTFitter = partial(WeibullAFTFitter, family="lognormal")
LogLogisticAFTFitter = partial(WeibullAFTFitter, family="loglogistic")
CoxPHFitter = partial(WeibullAFTFitter, family="ph")
```

A name that is not available raises an `AttributeError`. It gives the reason, and what to use instead.

{shares}

The values for `"weibull"`, `"lognormal"` and `"loglogistic"` are those of lifelines' classes at the maximum of the
likelihood, to eight digits. lifelines' search often stops earlier, after four to seven digits of the coefficients.
`tg.PH("piecewise", bands=...)` has the values of `CoxPHFitter(baseline_estimation_method="piecewise")`. `"ph"` has a
smooth baseline instead of the steps of Breslow's. Its coefficients differ from those of `CoxPHFitter()`.
"""

FUNCTIONS = """## Functions of lifelines

| function | here |
|---|---|
| `utils.k_fold_cross_validation(model, df, "time", "event")` | the same values |
| `utils.concordance_index(T, model.predict_median(df), E)` | the same values |
| `utils.median_survival_times(curves)`, `qth_survival_times` | the same values of `predict_survival_function()` |
| `utils.restricted_mean_survival_time(curves, t)` | one curve; `model.predict_restricted_mean()` is exact |
| `calibration.survival_probability_calibration(model, df, t0)` | the same figure |
| `statistics.proportional_hazard_test(model, df)` | models with `family="ph"` or `tg.PH()` |
| `plotting.qq_plot`, `cdf_plot`, `rmst_plot`, `add_at_risk_counts` | not supported: take univariate fitters only |
| `utils.sklearn_adapter` | lifelines 0.30 has none; [`tg.sklearn`](adapters.md) has an estimator |
"""

TITLES = {"same": "Same meaning", "here": "Different definition", "none": "Not available"}


def shares() -> str:
    """How many names of each class are available."""
    lines = ["| fitter of lifelines | names | available |", "|---|---|---|"]
    for kind, names in REGRESSION_CLASSES.items():
        known = sum(REGRESSION_NAMES[name].meaning != "none" for name in names)
        lines.append(f"| {kind} | {len(names)} | {known} |")
    return "\n".join(lines)


def table(meaning: str) -> str:
    """The names of one meaning."""
    rows = []
    for name, row in sorted(REGRESSION_NAMES.items(), key=lambda pair: pair[0].lower()):
        if row.meaning == meaning:
            of = ", ".join(kind for kind, names in REGRESSION_CLASSES.items() if name in names)
            rows.append(f"| `{name}` | {of} | {f'{row.words} {row.instead}'.strip()} |")
    return "\n".join([f"## {TITLES[meaning]}", "", "| name | of | here |", "|---|---|---|", *rows])


def text() -> str:
    """The page."""
    tables = [table(meaning) for meaning in TITLES]
    return "\n\n".join([HEAD.format(shares=shares()).rstrip("\n"), *tables, FUNCTIONS])


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
