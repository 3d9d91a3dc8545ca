"""The results of each kind of fit by maximum likelihood."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tobitgp.kinds.boxcox import BoxCoxParts
from tobitgp.kinds.cure import CureParts
from tobitgp.kinds.distributional import DistributionalParts
from tobitgp.kinds.likelihood import LikelihoodParts
from tobitgp.kinds.parametric import ParametricParts
from tobitgp.kinds.regression import RegressionParts
from tobitgp.kinds.start_stop import StartStopParts
from tobitgp.results.likelihood.boxcox_results import BoxCoxResults
from tobitgp.results.likelihood.cure_results import CureResults
from tobitgp.results.likelihood.distributional_results import DistributionalResults
from tobitgp.results.likelihood.likelihood_results import LikelihoodResults
from tobitgp.results.likelihood.mixed_regression_results import MixedRegressionResults
from tobitgp.results.likelihood.parametric_results import ParametricHazardResults
from tobitgp.results.likelihood.regression_results import RegressionResults
from tobitgp.results.likelihood.start_stop_results import StartStopResults


def results_of_rows(parts: Any) -> LikelihoodResults:
    """Results of components, of times with a cured fraction, or of formulas of other parameters."""
    if parts.mixed:
        return MixedRegressionResults(parts)
    return (CureResults if parts.cured else DistributionalResults)(parts)


RESULTS: dict[type[LikelihoodParts], Callable[[Any], LikelihoodResults]] = {
    RegressionParts: RegressionResults,
    StartStopParts: StartStopResults,
    CureParts: CureResults,
    BoxCoxParts: BoxCoxResults,
    DistributionalParts: results_of_rows,
    ParametricParts: ParametricHazardResults,
}


def results_of(parts: LikelihoodParts) -> Any:
    """Results that answer questions about a fit."""
    return RESULTS[type(parts)](parts)
