"""Gaussian-process regression, and mixtures, for censored and truncated data."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tobitgp import datasets, distributions, errors, metrics, nondetects, sklearn
    from tobitgp.api import fit
    from tobitgp.flow import flow_normalise
    from tobitgp.formula import formula_functions
    from tobitgp.inference import EP, VI, Laplace
    from tobitgp.likelihoods.families import BoxCox, GenGamma, Student
    from tobitgp.mixture import EMCM, SVBCM, VBCM
    from tobitgp.model import Model
    from tobitgp.priors.hyperpriors import LKJ, LogNormal, Normal
    from tobitgp.priors.kernel_block import Inducing
    from tobitgp.results.bounds import compare_bounds
    from tobitgp.results.compare import compare
    from tobitgp.results.likelihood.boxcox_results import BoxCoxResults
    from tobitgp.results.likelihood.cure_results import CureResults
    from tobitgp.results.likelihood.parametric_results import ParametricHazardResults
    from tobitgp.results.likelihood.regression_results import RegressionResults
    from tobitgp.results.mixture.mixture_results import MixtureResults
    from tobitgp.results.mixture.mixture_stream import MixtureStream
    from tobitgp.results.multivariate.multivariate_results import MultivariateResults
    from tobitgp.results.process.boxcox_process_results import BoxCoxGPResults
    from tobitgp.results.process.process_results import GPResults
    from tobitgp.results.standardise import contrast
    from tobitgp.selection.cross_validation import cross_validate
    from tobitgp.selection.select import Selection, select
    from tobitgp.storage import load
    from tobitgp.survival_model import SurvivalModel
    from tobitgp.versions import show_versions

__version__ = "0.1.0"

__all__ = [
    "EMCM",
    "EP",
    "LKJ",
    "PH",
    "SVBCM",
    "VBCM",
    "VI",
    "BoxCox",
    "BoxCoxGPResults",
    "BoxCoxResults",
    "CompetingRisksResults",
    "CureResults",
    "GPResults",
    "GenGamma",
    "HazardResults",
    "Inducing",
    "Laplace",
    "LogNormal",
    "MixtureResults",
    "MixtureStream",
    "Model",
    "MultivariateResults",
    "Normal",
    "ParametricHazardResults",
    "RegressionResults",
    "Selection",
    "Student",
    "SurvivalModel",
    "compare",
    "compare_bounds",
    "contrast",
    "cross_validate",
    "datasets",
    "distributions",
    "errors",
    "fit",
    "flow_normalise",
    "formula_functions",
    "load",
    "metrics",
    "nondetects",
    "select",
    "show_versions",
    "sklearn",
    "suggest",
]

# Rooms and the names from there, imported at their first use: nobody waits for what is not asked for.
_ROOMS = {
    "api": ["fit"],
    "flow": ["flow_normalise"],
    "formula": ["formula_functions"],
    "inference": ["EP", "VI", "Laplace"],
    "likelihoods.families": ["BoxCox", "GenGamma", "Student"],
    "mixture": ["EMCM", "SVBCM", "VBCM"],
    "model": ["Model"],
    "results.hazards.cells": ["PH"],
    "results.process.boxcox_process_results": ["BoxCoxGPResults"],
    "results.likelihood.boxcox_results": ["BoxCoxResults"],
    "results.likelihood.cure_results": ["CureResults"],
    "results.competing.competing_results": ["CompetingRisksResults"],
    "results.hazards.hazard_results": ["HazardResults"],
    "results.multivariate.multivariate_results": ["MultivariateResults"],
    "priors.hyperpriors": ["LKJ", "LogNormal", "Normal"],
    "priors.kernel_block": ["Inducing"],
    "results.bounds": ["compare_bounds"],
    "results.compare": ["compare"],
    "results.mixture.mixture_stream": ["MixtureStream"],
    "results.mixture.mixture_results": ["MixtureResults"],
    "results.likelihood.parametric_results": ["ParametricHazardResults"],
    "results.process.process_results": ["GPResults"],
    "results.likelihood.regression_results": ["RegressionResults"],
    "results.standardise": ["contrast"],
    "selection": ["Selection", "cross_validate", "select", "suggest"],
    "storage": ["load"],
    "survival_model": ["SurvivalModel"],
    "versions": ["show_versions"],
}
_HOMES = {name: room for room, names in _ROOMS.items() for name in names}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import a module or subpackage, or a name from there, at its first use."""
        if name not in __all__:
            raise AttributeError(f"module 'tobitgp' has no attribute {name!r}")
        home = import_module(f"tobitgp.{_HOMES.get(name, name)}")
        return globals().setdefault(name, getattr(home, name) if name in _HOMES else home)

    def __dir__() -> list[str]:
        return [*globals(), *__all__]
