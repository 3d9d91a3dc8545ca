"""Fits in the form of lifelines' fitters, for the functions of lifelines that take those."""

from functools import partial as _partial

try:
    import lifelines as _lifelines  # noqa: F401
except ImportError as error:
    raise ImportError("Install lifelines 0.30 or newer: pip install 'tobitgp[lifelines]'.") from error

from tobitgp.lifelines.distribution_fitter import DistributionFitter
from tobitgp.lifelines.mixture_fitter import MixtureFitter

# For scripts that import these from lifelines.
WeibullFitter = _partial(DistributionFitter, "weibull")
ExponentialFitter = _partial(DistributionFitter, "exponential")
LogNormalFitter = _partial(DistributionFitter, "lognormal")
LogLogisticFitter = _partial(DistributionFitter, "loglogistic")
GeneralizedGammaFitter = _partial(DistributionFitter, "gengamma")

__all__ = ["DistributionFitter", "MixtureFitter"]
