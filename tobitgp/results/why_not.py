"""Why a method is not defined for a fit: facts about the fit, and their mathematical consequences.

The errors of missing methods, the matrix of kinds and methods in the tests, and the page of the reference use this
table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from tobitgp.errors import UnavailableError
from tobitgp.results.interfaces.statsmodels_names import STATSMODELS_NAMES

KINDS = {
    "process": "a Gaussian process",
    "regression": "a regression by maximum likelihood",
    "start-stop": "a regression of start-stop rows",
    "cure": "a cure model",
    "distributional": "a regression with formulas of other parameters",
    "mixture of regressions": "a mixture of regressions",
    "Box-Cox": "a Box-Cox regression",
    "Box-Cox process": "a Box-Cox process",
    "mixture": "a mixture",
    "hazard": "proportional hazards with a posterior",
    "piecewise": "piecewise hazards by maximum likelihood",
    "parametric": "a parametric baseline hazard",
    "frailty": "a frailty model",
    "causes": "competing risks",
    "several": "several responses",
    "latent": "responses over latent coordinates",
    "uncertain": "a process over a measured input",
    "mixture of vectors": "a mixture of vectors",
}


@dataclass(frozen=True)
class Reason:
    """Holds for a fit of which one of the facts in `when` is known and none of those in `unless`."""

    words: str
    when: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()

    def holds(self, known: frozenset[str]) -> bool:
        """Whether it does, for what is known about a fit."""
        return (not self.when or not known.isdisjoint(self.when)) and known.isdisjoint(self.unless)


POSTERIORS = ("process", "Box-Cox process", "several")

MIXTURES = ("mixture", "mixture of vectors")

NO_COLUMNS = Reason("No column distinguishes the rows of a mixture.", MIXTURES)
NO_LATENT = Reason("The model has no latent coordinates.", (), ("latent",))
NO_ERRORS = Reason("Parameters maximise a bound and have no standard errors.", ("latent", "uncertain"))
KNOWN_INPUT = Reason("The inputs are known without errors.", (), ("uncertain",))
MEASURED = Reason("The question is about processes over known inputs.", ("uncertain",))
NO_COVARIATES = Reason("The formula has no covariates: rows have latent coordinates.", ("latent",))
NO_LINE = Reason("A mixture has no location that is linear or a process.", MIXTURES)
NO_SLOPES = Reason("A mixture has no degrees of freedom of residuals.", MIXTURES)
PRIORS_ONLY = Reason("A mixture has priors where a process has hyper-parameters.", MIXTURES)
NO_GAUSSIAN = Reason("A mixture has no Gaussian posterior whose importance weights could be computed.", MIXTURES)
NO_SITES = Reason("Rows of a mixture have responsibilities and no Gaussian sites.", MIXTURES)
SITES_OF_TWO = Reason("The site of a row is a density of f and log sigma together.", ("noise process",))
SITES_OF_COORDINATES = Reason("The likelihood of a row is approximated in its coordinates, not in f.", ("latent",))
SITES_OF_INPUTS = Reason("The likelihood of a row is approximated in its input and f together.", ("uncertain",))
SITES_OF_VALUES = Reason("Each value of a row has a site.", ("several",))
MIRRORED = Reason(
    "The exact posterior is the same at the mirror image of each coordinate, so that no Gaussian is close to it.",
    ("latent",),
)
WITHOUT_NOISE = Reason(
    "Without noise the curve goes through the rows, which have no density given it.", ("noise-free",)
)
NO_RESIDUALS = Reason("Without noise the curve goes through the rows, and leaves no residuals.", ("noise-free",))
NO_TESTS = Reason(
    "Without noise the curve is known at rows, and its covariance there has no inverse to test it by.", ("noise-free",)
)
NO_BOUND = Reason("Without noise no normal distribution has a finite bound.", ("noise-free",))
NO_PRIORS_OF = Reason("Parameters maximise a bound and have no priors.", ("latent", "uncertain"))
NO_PREDICTED_ROW = Reason(
    "All rows of a mixture have the same prediction, so that rows cannot be compared with their predictions.", MIXTURES
)
NO_WORST = Reason("The saturated model of counts of a mixture is not defined.", ("vbcm poisson",))
WHOLE = Reason("Quantiles of counts are whole numbers, which have no interval.", ("counts",))

CAUSES = Reason(
    "The time of the first event has no location that is linear in terms: each cause has a model.", ("causes",)
)
TAILS_OF_CAUSES = Reason(
    "The mean time of the first event depends on the tails of all causes, about which censored rows contain no "
    "information.",
    ("causes",),
)
ONE_EVENT = Reason("The interface of lifelines knows one kind of event.", ("causes",))
ONE_CAUSE = Reason("There is only one cause.", (), ("causes",))

NOT_TIMES = Reason("The responses are not times.", ("several", "latent", "mixture of vectors"))
NOT_TIME = Reason("The response is not a time.", (), ("time",))
NOT_RIGHT = Reason("The response is not a right-censored time.", (), ("censored times",))
NO_LIMIT = Reason("Times have no detection limit: the follow-up of a new row is unknown.", ("time",), ("limits",))
LATE = Reason("Rows enter late. When others would have been censored is unknown.", ("entry",))
BEYOND = Reason(
    "The hazard after the last observed time is unknown, and the mean depends on it.", ("hazard", "piecewise")
)
CURED_MEAN = Reason("The mean time of a row that may be cured is infinite.", ("cure",))
NOBODY_CURED = Reason("The model has no cured rows.", (), ("cure",))
NO_SCALE = Reason("A hazard has no noise scale.", ("hazard", "piecewise", "parametric", "frailty", "no scale"))
NO_RATIO = Reason("The ratio of two hazards changes with time in this model.", ("no ratio",))

NOT_MAXIMISED = Reason("It is defined for a maximised likelihood only.", (), ("likelihood",))
NOT_POSTERIOR = Reason("It is defined for a posterior or its evidence only.", ("likelihood",))
ROBUST = Reason(
    "Robust covariances are for misspecified models, for which the statistic has no chi-squared distribution.",
    ("robust",),
)
CLUSTERS = Reason("The column of clusters is not part of the formula that is cross-validated.", ("robust",))
UNSEEN = Reason("The posterior does not include the responses of new rows.", POSTERIORS)
NOT_PROCESS = Reason("It is defined for processes only.", (), POSTERIORS)
ONE_CRITERION = Reason(
    "Which row is most informative depends on how the variances of several responses are weighted. Use a single "
    "response, `res[response]`.",
    ("several",),
)
NO_GROUPS = Reason("The model has no groups.", (), ("groups",))

ROWLESS = Reason("The fit keeps no rows of a partitioned data set.", ("no rows",))
SHARED = Reason("Rows of a group share a frailty, so the likelihood is not a product over rows.", ("frailty",))
PATHS = Reason("The rows of a subject are one observation, which conformal intervals cannot divide.", ("subjects",))
PATHS_SCORED = Reason("The rows of a subject are one observation, which the Brier score cannot divide.", ("subjects",))
PATHS_AVERAGED = Reason(
    "A row is a part of the time of a subject. Its covariates after its end are unknown, so that averages over "
    "rows require one row per subject.",
    ("subjects",),
)
PARTS = Reason(
    "The rows of a subject are parts of one time. One that ends where covariates change is not censored, and an "
    "average over rows has no population.",
    ("start-stop",),
)
ONE_ROW_EACH = Reason("The interface of lifelines reads one row for each subject.", ("subjects",))
CONSTANT = Reason("No subject has covariates that change.", (), ("subjects",))

HAZARDS = ("hazard", "piecewise", "parametric", "frailty")
SITES_OF_CELLS = Reason("A row has a site in each band of time that it passes.", ("hazard",))
SITES_OF_ROWS = (SITES_OF_COORDINATES, SITES_OF_INPUTS, SITES_OF_CELLS)
NO_BANDS = Reason("Only hazards that are constant in bands of time have bands.", (), ("hazard", "piecewise"))
NOT_PARAMETRIC = Reason("The model has no parametric baseline hazard.", (), ("parametric", "frailty"))
NOT_HAZARDS = Reason("The model does not assume proportional hazards.", (), HAZARDS)
OF_COMPONENTS = Reason("Each component has coefficients and a scale.", ("mixture of regressions",))
BY_LIKELIHOOD = Reason("The number of components is given, and all have rows.", ("mixture of regressions",))
NO_POWER = Reason("The response is not transformed by a power.", (), ("Box-Cox", "Box-Cox process"))
NOT_MIXTURE = Reason("The model has no components.", (), (*MIXTURES, "mixture of regressions"))
NOT_VECTORS = Reason("The components are not distributions of vectors.", (), ("mixture of vectors",))
NO_PATH = Reason("The fit records the stages of its search, and no path of a bound.", (), ("mixture",))
ONE_RESPONSE = Reason("There is only one response.", (), ("several", "latent", "mixture of vectors"))
NOT_LINEAR = Reason("The interface of marginaleffects reads coefficients of a linear predictor.", (), ("regression",))
POWER_VARIES = Reason("The posterior is an average over powers, each with a different scale.", ("Box-Cox process",))
NO_COMMON_RATIO = Reason("No ratio of hazards is the same at all times.", ("Box-Cox", "Box-Cox process", "uncertain"))

NO_MEAN = Reason("The times have no mean.", ("no mean",))
TIMES_OF_CAUSES = Reason("The time of the first event has no mean within the follow-up.", ("causes",))
NO_PEARSON = Reason("A mixture has no single scale for residuals.", MIXTURES)
NO_DEVIANCE = Reason("The saturated model of a mixture is not defined.", MIXTURES)
ONE_SIGMA = Reason("The noise has no scale that is the same in all rows.", (), ("one sigma", *HAZARDS))
NOT_LEAST_SQUARES = Reason(
    "It is defined for rows with one location and a likelihood like that of weighted least squares.",
    (),
    ("regression",),
)
OF_RESPONSES = Reason("Each response has its own.", ("several", "latent", "mixture of vectors"), ("one sigma",))
NO_MATRIX = Reason("The columns of several models are not one matrix.", ("several", "latent", "causes"))
OF_CAUSES = Reason("Each cause has its own.", ("causes",))
OF_CELLS = Reason("The rows are divided into cells of a Poisson likelihood.", ("piecewise",))
ROBUST_HAZARDS = Reason("Robust covariances require a maximised likelihood.", ("hazard",))
CONSTANT_RATIOS = Reason("The ratio of two hazards is the same at all times.", ("parametric", "frailty"))
ROBUST_BY_FIT = Reason("The covariance of a maximised likelihood is robust by cov_type=.", ("parametric", "frailty"))
CHANGING = Reason(
    "A coefficient that changes over time has no residuals of a single coefficient.", ("changing effects",)
)

_FOREIGN = {name: row for name, row in STATSMODELS_NAMES.items() if row.meaning == "none"}

_LIKELIHOOD, _POSTERIOR = (NO_COLUMNS, NOT_MAXIMISED), (NOT_POSTERIOR, PRIORS_ONLY)
_MEANS, _LEVERAGE = (NO_MEAN, TIMES_OF_CAUSES, PARTS), (NOT_LEAST_SQUARES,)
_SCALES = (OF_RESPONSES, OF_CAUSES, NO_PEARSON, POWER_VARIES, ONE_SIGMA)

# Public names that not every kind of fit has, and why a fit may have none. Where no reason holds, an answer is missing.
WHY_NOT: Mapping[str, tuple[Reason, ...]] = {
    **dict.fromkeys(("influence", "llnull", "lr_test", "profile_interval", "prsquared", "prsquared_vz"), _LIKELIHOOD),
    **dict.fromkeys(("aic", "bic", "bootstrap", "cov_type", "llf"), (NOT_MAXIMISED,)),
    **dict.fromkeys(("hyperparameters", "log_evidence"), _POSTERIOR),
    "elbo": (*_POSTERIOR, NO_BOUND),
    **dict.fromkeys(("log_evidence_integrated", "priors"), (*_POSTERIOR, NO_PRIORS_OF)),
    **dict.fromkeys(("inducing_inputs", "slopes", "from_parts"), (MEASURED, NOT_PROCESS)),
    "k_hat": (NO_GAUSSIAN, SHARED, POWER_VARIES, MIRRORED, WITHOUT_NOISE),
    "posterior": (NO_LINE, CAUSES, POWER_VARIES),
    "plot_evidence": (NOT_POSTERIOR,),
    "group_effects": (NO_GROUPS,),
    **dict.fromkeys(("plot_terms", "terms"), (NO_LINE, NO_COVARIATES, CAUSES, OF_COMPONENTS)),
    "get_margeff": (NO_COLUMNS, NO_COVARIATES, CAUSES),
    **dict.fromkeys(("marginal_effects", "plot_effect", "plot_forest", "standardise"), (NO_COLUMNS, NO_COVARIATES)),
    "hazard_ratios": (NO_COLUMNS, NOT_TIMES, NO_COMMON_RATIO),
    "concordance_index_": (NO_COLUMNS, NOT_TIMES),
    "concordance_index": (ONE_CAUSE,),
    **dict.fromkeys(("predict_cumulative_incidence", "plot_cumulative_incidence"), (ONE_CAUSE,)),
    **dict.fromkeys(("predict_survival_function", "plot_survival"), (NOT_TIMES,)),
    **dict.fromkeys(("predict_hazard", "predict_cumulative_hazard", "plot_hazard"), (NOT_TIMES,)),
    "predict_expectation": (NOT_TIMES, TAILS_OF_CAUSES),
    **dict.fromkeys(("predict_median", "predict_percentile", "predict_restricted_mean", "write_curves"), (NOT_TIMES,)),
    **dict.fromkeys(("latent", "plot_latent", "relevance"), (NO_LATENT,)),
    "true_inputs": (KNOWN_INPUT,),
    **dict.fromkeys(("bse", "conf_int", "cov_params", "pvalues", "tvalues"), (NO_ERRORS,)),
    **dict.fromkeys(("t_test", "wald_test"), (NO_ERRORS,)),
    "anova": (NO_ERRORS, NO_TESTS),
    **dict.fromkeys(("conformalise", "get_distribution", "get_prediction", "predict", "sample"), ()),
    "conditional": (CAUSES,),
    "sigma": (NO_COLUMNS, CAUSES, NO_SCALE, OF_COMPONENTS),
    **dict.fromkeys(("cured_fraction", "predict_cured", "profile_cured"), (NOBODY_CURED,)),
    **dict.fromkeys(("bands", "cells"), (NO_BANDS,)),
    **dict.fromkeys(("frailties", "knots"), (NOT_PARAMETRIC,)),
    "proportionality": (NOT_HAZARDS,),
    "robust_hazard_ratios": (NOT_HAZARDS, ROBUST_BY_FIT),
    "hazard_ratios_over_time": (NOT_HAZARDS, CONSTANT_RATIOS),
    **dict.fromkeys(("mass_beyond", "power", "power_interval"), (NO_POWER,)),
    **dict.fromkeys(("components", "n_components", "plot_components"), (NOT_MIXTURE,)),
    **dict.fromkeys(("weights", "means", "covariances"), (NOT_MIXTURE, NOT_VECTORS)),
    **dict.fromkeys(("n_effective", "predictive"), (BY_LIKELIHOOD, NOT_MIXTURE)),
    **dict.fromkeys(("elbo_rows", "variational"), (NOT_POSTERIOR, NOT_MIXTURE)),
    "sites": (CAUSES, NOT_POSTERIOR, NO_SITES, SITES_OF_TWO, SITES_OF_VALUES, *SITES_OF_ROWS),
    "plot_history": (NO_PATH,),
    "selection": (BY_LIKELIHOOD, NOT_MIXTURE),
    **dict.fromkeys(("correlations", "impute", "regression"), (ONE_RESPONSE,)),
    "to_marginaleffects": (NOT_LINEAR,),
    **dict.fromkeys(("log_likelihood_draws", "loo", "score", "to_arviz", "waic"), (WITHOUT_NOISE,)),
    **dict.fromkeys(("check", "residuals"), (NO_RESIDUALS,)),
    "summary": (),
    **dict.fromkeys(("plot", "plot_calibration", "plot_cox_snell", "plot_predictive_check", "plot_residuals"), ()),
    **dict.fromkeys(("default_model_infos", "df_model", "df_resid", "model", "parts", "report", "to_maketables"), ()),
    # Under the names of statsmodels
    **{name: (Reason(row.words),) for name, row in _FOREIGN.items()},
    **dict.fromkeys(("fittedvalues", "mu", "resid", "resid_response"), _MEANS),
    "resid_pearson": (*_MEANS, NO_PEARSON),
    "wresid": (*_LEVERAGE, ONE_SIGMA),
    "resid_deviance": (NO_DEVIANCE,),
    "outlier_test": (OF_RESPONSES,),
    **dict.fromkeys(("deviance", "resid_working", "get_hat_matrix_diag", "get_influence"), _LEVERAGE),
    "scale": _SCALES,
    "normalized_cov_params": (NO_ERRORS, *_SCALES),
    **dict.fromkeys(("eigenvals", "condition_number"), (NO_COLUMNS, NO_MATRIX)),
    "k_constant": (NO_COLUMNS,),
    "covariance_type": (NOT_MAXIMISED,),
    **dict.fromkeys(("cov_HC0", "cov_HC1", "HC0_se", "HC1_se"), (ROBUST_HAZARDS, *_LIKELIHOOD, SHARED)),
    "get_robustcov_results": (ROBUST_HAZARDS, *_LIKELIHOOD, SHARED, OF_CAUSES, OF_CELLS),
    "score_residuals": (*_LIKELIHOOD, SHARED, OF_CAUSES),
    **dict.fromkeys(("compare_lr_test", "pseudo_rsquared"), _LIKELIHOOD),
    "f_test": (NO_SLOPES, NOT_MAXIMISED),
    **dict.fromkeys(("fvalue", "f_pvalue"), (*_LIKELIHOOD, OF_CAUSES)),
    "bic_llf": (NOT_MAXIMISED,),
    "wald_test_terms": (NO_COLUMNS, NO_ERRORS),
    "t_test_pairwise": (NO_COLUMNS, NO_ERRORS, OF_RESPONSES, OF_CAUSES),
    "standard_errors": (NO_ERRORS,),
    **dict.fromkeys(("baseline_cumulative_hazard", "baseline_cumulative_hazard_function"), (SHARED, NOT_HAZARDS)),
    "schoenfeld_residuals": (SHARED, NOT_HAZARDS, CHANGING),
    **dict.fromkeys(("family", "info_criteria", "martingale_residuals", "summary2", "use_t"), ()),
}

NO_PRIORS = "Maximum likelihood has no priors; method='ep' fits under priors where the family has it."
_AT_ROWS = "predict() predicts the response, and plot_effect() draws it along a column."
_OF_CAUSE = "res[cause] is the fit of one cause."
# Alternatives, by name; by the words of a reason if they do not depend on the name.
INSTEAD: Mapping[str, str] = {
    **{name: row.instead for name, row in _FOREIGN.items()},
    "bootstrap": "Use sample() and posterior() for draws from a posterior; cov_type='HC0' and 'cluster' require "
    "maximum likelihood.",
    "priors": NO_PRIORS,
    "plot_terms": "plot() draws the fit, with a panel for each process where there are several.",
    "plot_history": "fit_history lists the search.",
    "profile_interval": "conf_int() is available for every fit.",
    "lr_test": "wald_test() and tg.compare() are available for every fit.",
    "marginal_effects": _AT_ROWS,
    "get_margeff": _AT_ROWS,
    CAUSES.words: _OF_CAUSE,
    OF_CAUSES.words: _OF_CAUSE,
    OF_RESPONSES.words: "res[response] is the fit of one response.",
    NO_MEAN.words: "predict() gives medians, and residuals('martingale') are available.",
    ONE_SIGMA.words: "predict(what='sigma') gives the scale of each row where it is defined.",
    NOT_LEAST_SQUARES.words: "residuals() is available for other fits, and influence() for maximum likelihood.",
    OF_CELLS.words: "cov_HC0 is the robust covariance, and robust_hazard_ratios(groups=) supports clusters.",
    ROBUST_HAZARDS.words: "robust_hazard_ratios(groups=) has robust standard errors of linear terms.",
    ROBUST_BY_FIT.words: "get_robustcov_results() changes that of a fit.",
    CONSTANT_RATIOS.words: "tv(x) with family='ph' lets the coefficient of x change.",
    CHANGING.words: "proportionality() tests coefficients, and plot() draws them.",
    TAILS_OF_CAUSES.words: "predict_restricted_mean() is the mean up to a time.",
    ONE_CAUSE.words: "Surv(time, cause) with several causes fits competing risks.",
    NOBODY_CURED.words: "tg.fit(..., cure='~ 1') fits a cure model.",
    ONE_RESPONSE.words: "mvbind(y1, y2) ~ ... fits several responses.",
    NO_LATENT.words: "mvbind(y1, y2) ~ gp(latent(2)) fits them.",
    KNOWN_INPUT.words: "gp(x, se=sx) fits errors.",
    NO_GROUPS.words: "(1 | g) makes groups.",
    SITES_OF_VALUES.words: "res.stacked.sites has all of them, with each response in standard units.",
    SITES_OF_CELLS.words: "res.cells.sites has all of them.",
    OF_COMPONENTS.words: "res.components has them.",
    WITHOUT_NOISE.words: "loo(method='ep') and tg.cross_validate() predict rows from the others.",
    NO_RESIDUALS.words: "loo() and tg.cross_validate() predict rows from the others.",
    NO_TESTS.words: "wald_test() tests coefficients, and tg.compare() compares fits.",
    NO_BOUND.words: "log_evidence is that of expectation propagation.",
    NOT_MIXTURE.words: "y ~ mixture(2) fits a mixture.",
}


def known_facts(results: Any) -> frozenset[str]:
    """What reasons ask about a fit."""
    parts = results.parts
    rows = getattr(parts, "training", None) is not None
    scale = getattr(getattr(parts, "spec", None), "scale", None)
    facts = {
        results._kind: True,
        "likelihood": results.evidence_kind == "loglik",
        "no rows": not rows,
        "no mean": bool(results._no_mean),
        "one sigma": "sigma" in results._names[len(results._columns) :],
        "changing effects": bool(getattr(getattr(parts, "written", None), "changing", ())),
        "noise process": scale is not None and len(scale.gps) > 0,
        "noise-free": bool(getattr(results.parts, "noise_free", False)),
    }
    return frozenset(fact for fact, known in facts.items() if known)


def reason_of(reasons: Iterable[Reason], known: frozenset[str]) -> Reason | None:
    """The first reason that holds."""
    return next((reason for reason in reasons if reason.holds(known)), None)


def missing_attribute(results: Any, name: str) -> Any:
    """Raise the error of an attribute that ``results`` lack, in words if other kinds of results have it."""
    if name not in WHY_NOT or hasattr(type(results), name):
        return object.__getattribute__(results, name)
    raise unavailable(results, f"res.{name}", name)


def unavailable(results: Any, what: str, name: str) -> UnavailableError:
    """The error of a question that this kind of fit does not answer: what, why, and what to use instead."""
    reason, kind = reason_of(WHY_NOT[name], known_facts(results)), KINDS[results._kind]
    words = f"not available for {kind} yet." if reason is None else f"not defined for {kind}. {reason.words}"
    instead = INSTEAD.get(name, "") or ("" if reason is None else INSTEAD.get(reason.words, ""))
    return UnavailableError(f"{what}: {words} {instead}".rstrip())


_P = ParamSpec("_P")
_R = TypeVar("_R")


def where_defined(question: Callable[_P, _R]) -> Callable[_P, _R]:
    """A question that raises the reason where it has no meaning for a fit."""
    name = question.__name__

    @wraps(question)
    def answer(*args: _P.args, **options: _P.kwargs) -> _R:
        results: Any = args[0]
        if reason_of(WHY_NOT[name], known_facts(results)) is not None:
            raise unavailable(results, f"res.{name}", name)
        return question(*args, **options)

    return answer
