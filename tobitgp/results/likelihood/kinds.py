"""The results of each kind of fit by maximum likelihood."""

from __future__ import annotations

from typing import Any

from tobitgp.kinds.boxcox import BoxCoxParts
from tobitgp.kinds.cure import CureParts
from tobitgp.kinds.likelihood import LikelihoodParts
from tobitgp.kinds.parametric import ParametricParts
from tobitgp.kinds.regression import RegressionParts
from tobitgp.kinds.start_stop import StartStopParts
from tobitgp.results.boxcox.results import BoxCoxResults
from tobitgp.results.cure.results import CureResults
from tobitgp.results.likelihood.results import LikelihoodResults
from tobitgp.results.parametric.results import ParametricHazardResults
from tobitgp.results.regression.results import RegressionResults
from tobitgp.results.start_stop.results import StartStopResults

RESULTS: dict[type[LikelihoodParts], type[LikelihoodResults]] = {
    RegressionParts: RegressionResults,
    StartStopParts: StartStopResults,
    CureParts: CureResults,
    BoxCoxParts: BoxCoxResults,
    ParametricParts: ParametricHazardResults,
}


def results_of(parts: LikelihoodParts) -> Any:
    """Results that answer questions about a fit."""
    return RESULTS[type(parts)](parts)
