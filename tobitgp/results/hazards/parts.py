"""What a fit of proportional hazards was made from, and its log hazards in bands of time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.design import DesignState
from tobitgp.data.prepare import TrainingData
from tobitgp.data.training_summary import Facts
from tobitgp.formula.hazards import HazardFormula
from tobitgp.formula.spec import ModelSpec
from tobitgp.numerics.sampling import generator
from tobitgp.results.hazards.cells import PH, cell_frame
from tobitgp.results.process.draws import JointProcess
from tobitgp.results.regression.draws import JointEstimates
from tobitgp.results.regression.parts import RegressionParts, predictors
from tobitgp.results.rows import ask
from tobitgp.results.views import Parts, Source
from tobitgp.typing import Array

DRAWS = 1000


@dataclass(frozen=True, slots=True)
class HazardParts(Source):
    """Rows, their cells' fit, and the bands."""

    spec: ModelSpec  # of the rows
    state: DesignState
    facts: Facts
    written: HazardFormula
    family: PH
    cuts: Array  # (K + 1,), ends of the bands, from 0 to the last exit
    cells: Parts | RegressionParts  # of exponential exposures, whose location is minus the log hazard
    training: TrainingData | None = None
    covariates: pd.DataFrame | None = None

    @property
    def estimated(self) -> bool:
        """Whether hazards were estimated by maximum likelihood, and are not averaged over a posterior."""
        return isinstance(self.cells, RegressionParts)

    @property
    def n_linear(self) -> int:
        """Number of linear coefficients, of a piecewise baseline with those of the bands."""
        return len(self.cells.state.linear.columns)

    @property
    def names(self) -> list[str]:
        """Linear columns, then hyper-parameters; the exponential distribution has no scale of its own."""
        return [name for name in self.cells.names if name != "sigma"]

    def without_rows(self) -> HazardParts:
        """Parts that answer the same about new rows."""
        return replace(self, cells=self.cells.without_rows(), training=None, covariates=None)


def extended(cuts: Array, last: float) -> Array:
    """Bands that go on in steps of the last one's log length until a time."""
    if last <= cuts[-1]:
        return cuts
    step = max(np.log(cuts[-1] / cuts[-2]), 0.1) if cuts[-2] > 0.0 else 0.5
    further = cuts[-1] * np.exp(step * np.arange(1, int(np.ceil(np.log(last / cuts[-1]) / step)) + 1))
    return np.concatenate([cuts, further])


def log_hazards(parts: HazardParts, frame: pd.DataFrame, cuts: Array, exclude: Any, *, draws: int) -> Array:
    """Log hazards (n, K, draws) of rows in bands, parameters shared by the rows of a draw; estimates without draws."""
    n, K = len(frame), len(cuts) - 1
    cells = cell_frame(frame.iloc[np.repeat(np.arange(n), K)], np.tile(np.arange(K), n), cuts)
    asked = ask(parts.cells, cells, exclude)
    if draws:
        joint = JointEstimates(parts.cells) if isinstance(parts.cells, RegressionParts) else JointProcess(parts.cells)
        location = joint.draw(asked, draws, noise=False, rng=generator(None))
    else:
        assert isinstance(parts.cells, RegressionParts)
        location = predictors(parts.cells, asked.design)[0][:, None]
    return -location.reshape(n, K, -1)
