"""Every public name of three result classes of statsmodels, and what it means here or why it is not available.

The errors of missing names, the page of the reference and the tests use this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple


class ForeignName(NamedTuple):
    """A name of another package: the same meaning, a different meaning here, or none."""

    meaning: Literal["same", "here", "none"]
    words: str  # what differs, or why there is none
    instead: str = ""  # what to use, where there is none


def _same(words: str) -> ForeignName:
    return ForeignName("same", words)


def _here(words: str) -> ForeignName:
    return ForeignName("here", words)


def _none(words: str, instead: str) -> ForeignName:
    return ForeignName("none", words, instead)


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_SQUARES = "Sums of squares do not measure the fit of censored responses."
_FIT = "llf, prsquared_vz and pseudo_rsquared() do; scale is the variance of the noise."
_R2 = "R2 of censored responses has several definitions."
_R2_INSTEAD = "Choose prsquared, prsquared_vz or pseudo_rsquared(), which are defined unambiguously."
_LEVERAGES = "The correction for leverages belongs to least squares."
_HC = "get_robustcov_results('HC1') and bootstrap() are available."
_ANSCOMBE = "The Anscombe transformation is known for families of GLM without censoring."
_QUANTILE = "residuals('quantile') are exactly normal, for censored rows too."
_PARTIAL = "The figure requires a GLM with a link."
_EMPIRICAL = "The empirical likelihood is that of moments of uncensored responses."
_PROFILE = "conf_int(method='profile') and profile_interval() use the likelihood of the model."

_RESID = "The response less its mean. A censored response counts by its mean given its limits."
_NORMAL = "By the normal distribution instead of t, with the covariance of maximum likelihood."
_F = (
    "The Wald statistic divided by its degrees of freedom, with the covariance of maximum likelihood. That of OLS is "
    "smaller by the factor (n - k) / n. `df_denom` is `df_resid`, which counts sigma."
)
_MEAN = "The mean of the response before censoring, in the rows used."

STATSMODELS_NAMES: Mapping[str, ForeignName] = {
    # Estimates
    "params": _here("Coefficients as in statsmodels, followed by sigma and other parameters."),
    "bse": _here("By the observed information. The value of OLS is larger by the factor sqrt(n / (n - k))."),
    "standard_errors": _same("An array; `bse` has the names."),
    "tvalues": _here(
        "Coefficients divided by `bse`; NaN for parameters such as sigma, for which zero is not possible."
    ),
    "pvalues": _here(_NORMAL),
    "conf_int": _here(f"{_NORMAL} Intervals of sigma are formed on the log scale."),
    "cov_params": _here(
        "The covariance of all parameters, sigma included. That of OLS is larger by the factor n / (n - k)."
    ),
    "normalized_cov_params": _same("The covariance of the coefficients divided by `scale`."),
    "scale": _here("Sigma squared, by maximum likelihood: that of OLS is larger by n / (n - k). 1 for hazards."),
    "use_t": _here("Always False; True in OLS."),
    "cov_type": _same("One of nonrobust, HC0, HC1 and cluster."),
    "covariance_type": _same("The same as `cov_type`."),
    "cov_kwds": _none("The options of the covariance are not kept.", "cov_type is its kind; summary() has notes."),
    "cov_HC0": _same("The covariance of all parameters, sigma included."),
    "cov_HC1": _here("As cov_HC0, with the factor n / (n - k) where k counts sigma."),
    "HC0_se": _same("By parameter."),
    "HC1_se": _here("As HC0_se, with the factor n / (n - k) where k counts sigma."),
    **dict.fromkeys(("cov_HC2", "HC2_se", "cov_HC3", "HC3_se"), _none(_LEVERAGES, _HC)),
    "get_robustcov_results": _here("Results with another covariance: nonrobust, HC0, HC1 or cluster with groups=."),
    # Rows
    "fittedvalues": _same(_MEAN),
    "mu": _same("The same as `fittedvalues`."),
    "resid": _same(_RESID),
    "resid_response": _same("The same as `resid`."),
    "resid_pearson": _here("residuals('pearson'): `resid` on the scale of the location, in standard deviations."),
    "resid_deviance": _here("residuals('deviance'): signed roots of deviances. Those of GLM are sigma times these."),
    "resid_working": _same("The step of Newton's method in the location of each row, as in survreg."),
    "wresid": _same("`resid` on the scale of the location, divided by the relative standard deviation of the row."),
    "resid_anscombe": _none(_ANSCOMBE, _QUANTILE),
    "resid_anscombe_scaled": _none(_ANSCOMBE, _QUANTILE),
    "resid_anscombe_unscaled": _none(_ANSCOMBE, _QUANTILE),
    "martingale_residuals": _here(
        "Events less cumulative hazards. PHReg omits the step of the hazard at the row's time."
    ),
    "schoenfeld_residuals": _same("Covariates of events less their weighted means in the risk set; otherwise NaN."),
    "score_residuals": _here("Derivatives of the log likelihood of each row, of the baseline too, by all parameters."),
    "get_hat_matrix_diag": _same("With the observed information of each row; sigma is held."),
    "get_influence": _here("Leverages, studentised residuals, Cook's distances and dfbetas by one step; no refits."),
    "outlier_test": _here("Two-sided probabilities of quantile residuals with a correction, censored rows included."),
    "deviance": _here("The sum of squared deviance residuals, sigma held. That of GLM is sigma squared times this."),
    "null_deviance": _none("The null model has another sigma, so deviances are not comparable.", "llnull is known."),
    "null": _none("The means of the null model are one number.", "llnull is its log likelihood."),
    "pearson_chi2": _none("With censored rows, the sum is not chi-squared.", "check() tests the residuals."),
    "groups": _none("A fit does not keep the labels of its clusters.", "cov_type says whether there are any."),
    # Likelihood and fit
    "llf": _same("NaN for a posterior."),
    "llnull": _here("With an intercept only, for which sigma is estimated. GLM keeps sigma of the full model."),
    "llf_scaled": _none("The likelihood has all parameters.", "tg.fit(..., fixed={'sigma': s}) has its llf."),
    "aic": _here("Counts sigma and other parameters; OLS counts coefficients only. NaN for a posterior."),
    "bic": _here("Counts sigma and other parameters; OLS counts coefficients only. NaN for a posterior."),
    "bic_llf": _here("The same as `bic`."),
    "bic_deviance": _none("Deviances compare models with the same sigma only.", "bic and bic_llf use llf."),
    "info_criteria": _here(
        "aic, bic, aicc and hqic count sigma, as with dk_params=1. loo and waic are available for every fit."
    ),
    "pseudo_rsquared": _here("By `llnull`. kind='cs' is R2 of OLS for uncensored normal responses."),
    **dict.fromkeys(("rsquared", "rsquared_adj"), _none(_R2, _R2_INSTEAD)),
    **dict.fromkeys(("ssr", "ess", "centered_tss", "uncentered_tss"), _none(_SQUARES, _FIT)),
    **dict.fromkeys(("mse_model", "mse_resid", "mse_total"), _none(_SQUARES, _FIT)),
    "nobs": _same("The sum of frequency weights."),
    "df_model": _here(
        "As in statsmodels for regressions. Otherwise the number of parameters, effective for a posterior."
    ),
    "df_resid": _here("`nobs` less the number of estimated parameters, which includes sigma."),
    "k_constant": _same("1 if a coefficient is an intercept."),
    "condition_number": _same("The value for `model.exog`."),
    "eigenvals": _same("The eigenvalues of the cross products of `model.exog`, the largest first."),
    "converged": _same("Whether the search ended at a maximum."),
    "fit_history": _here("A DataFrame with a row for each stage of the search."),
    "mle_settings": _none("Settings belong to the method.", "tg.MLE(...) has them, and fit_history the search."),
    "method": _here("The name of the method, e.g. mle or ep."),
    "family": _here("The name of the family, as family= takes it."),
    "model": _here("Formula, names, endog, exog; loglike, score and hessian of all params for maximum likelihood."),
    # Tests
    "t_test": _here(f"{_NORMAL} r_matrix= is read."),
    "wald_test": _here("Chi-squared, with the covariance of maximum likelihood; use_f=True is f_test()."),
    "f_test": _here(_F),
    "fvalue": _here(f"The test of all coefficients but the intercept. {_F}"),
    "f_pvalue": _here("The upper tail of `fvalue`."),
    "wald_test_terms": _here("Each term by chi-squared, as anova(). That of OLS has F statistics."),
    "t_test_pairwise": _here("Levels of a factor in pairs, by the normal distribution."),
    "compare_lr_test": _same("Against a nested fit, with a check that it is nested."),
    "compare_f_test": _none(_SQUARES, "compare_lr_test() and f_test() are available."),
    "compare_lm_test": _none("Scores at the restricted model are not computed.", "compare_lr_test() is available."),
    "score_test": _none("Scores of columns outside the model are not computed.", "compare_lr_test() is available."),
    **dict.fromkeys(("conf_int_el", "el_test"), _none(_EMPIRICAL, _PROFILE)),
    # Hazards
    "baseline_cumulative_hazard": _here(
        "Times, cumulative hazards and survival by stratum, with numbers at 0 and factors at their first level, by the "
        "baseline of the model. PHReg has Breslow's steps before each time."
    ),
    "baseline_cumulative_hazard_function": _here("A dict of functions of time, as baseline_cumulative_hazard."),
    "weighted_covariate_averages": _none("They are a step of Schoenfeld residuals.", "schoenfeld_residuals has these."),
    # Predictions and effects
    "predict": _here("The median by default; what='uncensored' is the mean. Columns by name, not an array."),
    "get_prediction": _here("Columns as in statsmodels. Limits for observations are quantiles."),
    "get_distribution": _here("A distribution of the response in rows, with scipy's methods."),
    "get_margeff": _here("A DataFrame of average effects on a quantity named by what=."),
    **dict.fromkeys(
        ("plot_added_variable", "plot_ceres_residuals", "plot_partial_residuals"),
        _none(_PARTIAL, "plot_terms() draws terms, and plot_residuals() draws residuals."),
    ),
    # Output
    "summary": _here("A Summary of statsmodels with the counts of censored rows."),
    "summary2": _here("A Summary of statsmodels.iolib.summary2 with the counts of censored rows."),
    "save": _here("Data only, no pickle."),
    "load": _none("A function reads fits.", "tg.load(path) reads what save() wrote."),
    "remove_data": _same("In place; the fit then predicts new rows only."),
    "initialize": _none("Results are complete when they are made.", "Use tg.fit() for a new fit."),
}

# Names of statsmodels 0.15 by class of results.
STATSMODELS_CLASSES: Mapping[str, tuple[str, ...]] = {
    "OLS": _words(
        "HC0_se HC1_se HC2_se HC3_se aic bic bse centered_tss compare_f_test compare_lm_test compare_lr_test "
        "condition_number conf_int conf_int_el cov_HC0 cov_HC1 cov_HC2 cov_HC3 cov_kwds cov_params cov_type "
        "df_model df_resid eigenvals el_test ess f_pvalue f_test fittedvalues fvalue get_influence "
        "get_prediction get_robustcov_results info_criteria initialize k_constant llf load model mse_model "
        "mse_resid mse_total nobs normalized_cov_params outlier_test params predict pvalues remove_data resid "
        "resid_pearson rsquared rsquared_adj save scale ssr summary summary2 t_test t_test_pairwise tvalues "
        "uncentered_tss use_t wald_test wald_test_terms wresid"
    ),
    "GLM": _words(
        "aic bic bic_deviance bic_llf bse conf_int converged cov_kwds cov_params cov_type deviance df_model "
        "df_resid f_test family fit_history fittedvalues get_distribution get_hat_matrix_diag get_influence "
        "get_margeff get_prediction info_criteria initialize k_constant llf llf_scaled llnull load method "
        "mle_settings model mu nobs normalized_cov_params null null_deviance params pearson_chi2 "
        "plot_added_variable plot_ceres_residuals plot_partial_residuals predict pseudo_rsquared pvalues "
        "remove_data resid_anscombe resid_anscombe_scaled resid_anscombe_unscaled resid_deviance "
        "resid_pearson resid_response resid_working save scale score_test summary summary2 t_test "
        "t_test_pairwise tvalues use_t wald_test wald_test_terms"
    ),
    "PHReg": _words(
        "baseline_cumulative_hazard baseline_cumulative_hazard_function bse conf_int cov_params "
        "covariance_type df_model df_resid f_test get_distribution groups initialize k_constant llf load "
        "martingale_residuals model normalized_cov_params params predict pvalues remove_data save scale "
        "schoenfeld_residuals score_residuals standard_errors summary t_test t_test_pairwise tvalues use_t "
        "wald_test wald_test_terms weighted_covariate_averages"
    ),
}
