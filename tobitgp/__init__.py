"""Gaussian-process regression, and mixtures, for censored and truncated data."""

from importlib import import_module as _import_module
from typing import Any as _Any

__version__ = "1.0.0rc1"

# Modules and the public names from there, imported at their first use; ``__init__.pyi`` shows them to type checkers.
_NAMES = {
    "api": "fit",
    "flow": "flow_normalise",
    "formula": "formula_functions",
    "likelihoods.families": "BoxCox CustomNoise GenGamma Student",
    "method_settings": "EP MLE VI Laplace",
    "mixture": "Binomial EMCM ExponentialFamily NegativeBinomial Pareto SVBCM VBCM",
    "model": "Model",
    "priors.bounded_priors": "PC Beta Uniform",
    "priors.hyperpriors": "LKJ LogNormal Normal",
    "priors.kernel_block": "Inducing",
    "priors.scale_priors": "Exponential Gamma HalfNormal HalfStudent InverseGamma",
    "results.bounds": "compare_bounds",
    "results.compare": "compare",
    "results.competing.competing_results": "CompetingRisksResults",
    "results.hazards.cells": "PH",
    "results.hazards.hazard_results": "HazardResults",
    "results.latent.latent_results": "LatentResults",
    "results.likelihood.boxcox_results": "BoxCoxResults",
    "results.likelihood.cure_results": "CureResults",
    "results.likelihood.distributional_results": "DistributionalResults",
    "results.likelihood.mixed_regression_results": "MixedRegressionResults",
    "results.likelihood.parametric_results": "ParametricHazardResults",
    "results.likelihood.regression_results": "RegressionResults",
    "results.mixture.mixture_results": "MixtureResults",
    "results.mixture.mixture_stream": "MixtureStream",
    "results.multivariate.multivariate_results": "MultivariateResults",
    "results.process.boxcox_process_results": "BoxCoxGPResults",
    "results.process.process_results": "GPResults",
    "results.standardise": "contrast",
    "results.uncertain.uncertain_results": "UncertainInputResults",
    "results.vectors.vector_results": "VectorMixtureResults",
    "selection": "Selection cross_validate select suggest",
    "storage.loading": "load",
    "survival.baseline_table": "table_one",
    "survival_model": "SurvivalModel",
    "versions": "show_versions",
}
_MODULES = "datasets distributions errors lifelines metrics nondetects sklearn survival"
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}

__all__ = sorted([*_HOMES, *_MODULES.split()])


def __getattr__(name: str) -> _Any:
    """Import a module or subpackage, or a name from there, at its first use."""
    if name not in __all__:
        raise AttributeError(f"module 'tobitgp' has no attribute {name!r}")
    home = _import_module(f"tobitgp.{_HOMES.get(name, name)}")
    return globals().setdefault(name, getattr(home, name) if name in _HOMES else home)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
