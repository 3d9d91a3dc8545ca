"""Mixtures of censored values: variational Bayes, its stochastic form, and maximum likelihood, on arrays."""

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
