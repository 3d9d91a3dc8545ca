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
    from tobitgp.results.boxcox.process_results import BoxCoxGPResults
    from tobitgp.results.boxcox.results import BoxCoxResults
    from tobitgp.results.compare import compare
    from tobitgp.results.cure.results import CureResults
    from tobitgp.results.mixture.fit import MixtureStream
    from tobitgp.results.mixture.results import MixtureResults
    from tobitgp.results.multivariate.results import MultivariateResults
    from tobitgp.results.parametric.results import ParametricHazardResults
    from tobitgp.results.process.results import GPResults
    from tobitgp.results.regression.results import RegressionResults
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
    "results.boxcox.process_results": ["BoxCoxGPResults"],
    "results.boxcox.results": ["BoxCoxResults"],
    "results.cure.results": ["CureResults"],
    "results.competing.results": ["CompetingRisksResults"],
    "results.hazards.results": ["HazardResults"],
    "results.multivariate.results": ["MultivariateResults"],
    "priors.hyperpriors": ["LKJ", "LogNormal", "Normal"],
    "priors.kernel_block": ["Inducing"],
    "results.bounds": ["compare_bounds"],
    "results.compare": ["compare"],
    "results.mixture.fit": ["MixtureStream"],
    "results.mixture.results": ["MixtureResults"],
    "results.parametric.results": ["ParametricHazardResults"],
    "results.process.results": ["GPResults"],
    "results.regression.results": ["RegressionResults"],
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
