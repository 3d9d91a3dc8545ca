"""Fits in the form of lifelines' fitters, for the functions of lifelines that take those."""

try:
    import lifelines as _lifelines  # noqa: F401
except ImportError as error:
    raise ImportError("tg.lifelines needs lifelines 0.30 or newer: pip install lifelines") from error

from tobitgp.lifelines.distribution_fitter import DistributionFitter
from tobitgp.lifelines.mixture_fitter import MixtureFitter

__all__ = ["DistributionFitter", "MixtureFitter"]
