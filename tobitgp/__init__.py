"""Gaussian-process regression, and mixtures, for censored and truncated data."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tobitgp import datasets, distributions, errors
from tobitgp.api import fit
from tobitgp.formula import formula_functions
from tobitgp.inference import EP, VI, Laplace
from tobitgp.likelihoods.families import Student
from tobitgp.mixture import EMCM, SVBCM, VBCM
from tobitgp.model import Model
from tobitgp.priors.hyperpriors import LogNormal, Normal
from tobitgp.priors.kernel_block import Inducing
from tobitgp.results.bounds import compare_bounds
from tobitgp.results.compare import compare
from tobitgp.results.mixture.fit import MixtureStream
from tobitgp.results.mixture.results import MixtureResults
from tobitgp.results.process.results import GPResults
from tobitgp.results.regression.results import RegressionResults
from tobitgp.selection import Selection, cross_validate, select
from tobitgp.storage import load
from tobitgp.survival_model import SurvivalModel
from tobitgp.versions import show_versions

if TYPE_CHECKING:
    from tobitgp import metrics, sklearn

__version__ = "0.1.0"

__all__ = [
    "EMCM",
    "EP",
    "SVBCM",
    "VBCM",
    "VI",
    "GPResults",
    "Inducing",
    "Laplace",
    "LogNormal",
    "MixtureResults",
    "MixtureStream",
    "Model",
    "Normal",
    "RegressionResults",
    "Selection",
    "Student",
    "SurvivalModel",
    "compare",
    "compare_bounds",
    "cross_validate",
    "datasets",
    "distributions",
    "errors",
    "fit",
    "formula_functions",
    "load",
    "metrics",
    "select",
    "show_versions",
    "sklearn",
]

_LAZY = ("metrics", "sklearn")

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import a room at its first use."""
        if name in _LAZY:
            return import_module(f"tobitgp.{name}")
        raise AttributeError(f"module 'tobitgp' has no attribute {name!r}")
