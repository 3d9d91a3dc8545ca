"""Mixtures of censored values: variational Bayes, its stochastic form, and maximum likelihood, on arrays."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING
from typing import Any as _Any

if TYPE_CHECKING:
    from tobitgp.mixture.array_fit import MIXTURE_FAMILIES, fit_mixture
    from tobitgp.mixture.fitted_mixture import (
        MixtureFit,
        held_parameters,
        impute,
        intervals,
        linear_response,
        posterior_covariance,
    )
    from tobitgp.mixture.methods import EMCM, MIXTURE_METHODS, SVBCM, VBCM
    from tobitgp.mixture.mixture_priors import Dirichlet, DirichletProcess
    from tobitgp.mixture.predictive import Predictive
    from tobitgp.mixture.ready_families import Binomial, ExponentialFamily, NegativeBinomial, Pareto
    from tobitgp.mixture.streamed_rows import Stream, mixture_of, partial_fit, start_stream

__all__ = [
    "EMCM",
    "MIXTURE_FAMILIES",
    "MIXTURE_METHODS",
    "SVBCM",
    "VBCM",
    "Binomial",
    "Dirichlet",
    "DirichletProcess",
    "ExponentialFamily",
    "MixtureFit",
    "NegativeBinomial",
    "Pareto",
    "Predictive",
    "Stream",
    "fit_mixture",
    "held_parameters",
    "impute",
    "intervals",
    "linear_response",
    "mixture_of",
    "partial_fit",
    "posterior_covariance",
    "start_stream",
]

# Names by the module that they are from, imported at their first use.
_NAMES = {
    "array_fit": "MIXTURE_FAMILIES fit_mixture",
    "fitted_mixture": "MixtureFit held_parameters impute intervals linear_response posterior_covariance",
    "methods": "EMCM MIXTURE_METHODS SVBCM VBCM",
    "mixture_priors": "Dirichlet DirichletProcess",
    "predictive": "Predictive",
    "ready_families": "Binomial ExponentialFamily NegativeBinomial Pareto",
    "streamed_rows": "Stream mixture_of partial_fit start_stream",
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> _Any:
    """Import a name at its first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'tobitgp.mixture' has no attribute {name!r}")
    return globals().setdefault(name, getattr(_import_module(f"tobitgp.mixture.{_HOMES[name]}"), name))
