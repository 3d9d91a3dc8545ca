"""The results of fits of rows with several parameters."""

from __future__ import annotations

from typing import Any

from tobitgp.results.likelihood.cure_results import CureResults
from tobitgp.results.likelihood.distributional_results import DistributionalResults
from tobitgp.results.likelihood.likelihood_results import LikelihoodResults
from tobitgp.results.likelihood.mixed_regression_results import MixedRegressionResults


def results_of_rows(parts: Any) -> LikelihoodResults:
    """Results of components, of times with a cured fraction, or of formulas of other parameters."""
    if parts.mixed:
        return MixedRegressionResults(parts)
    return (CureResults if parts.cured else DistributionalResults)(parts)
