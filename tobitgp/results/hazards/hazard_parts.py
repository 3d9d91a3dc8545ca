"""What a fit of proportional hazards was made from, and its log hazards in bands of time."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.design import DesignState
from tobitgp.data.prepare import TrainingData
from tobitgp.data.training_summary import Facts
from tobitgp.formula.hazard_formula import HazardFormula
from tobitgp.formula.spec import ModelSpec
from tobitgp.kinds.process import ProcessParts
from tobitgp.kinds.process_nodes import nodes_of
from tobitgp.kinds.regression import RegressionParts
from tobitgp.results.hazards.cells import PH, alike_rows, cell_frame
from tobitgp.results.likelihood.likelihood_draws import JointEstimates
from tobitgp.results.process.process_draws import JointProcess
from tobitgp.results.rows import Asked, ask
from tobitgp.results.views import Source
from tobitgp.typing import Array, BoolArray, IntArray

DRAWS = 1000


@dataclass(frozen=True, slots=True)
class HazardParts(Source):
    """Rows, their cells' fit, and the bands."""

    spec: ModelSpec  # of the rows
    state: DesignState
    facts: Facts
    written: HazardFormula
    family: PH
    cuts: Array  # (K + 1,), ends of the bands, from the first entry to the last exit
    begins: dict[str, float]  # first entries of the strata, or of all rows
    cells: ProcessParts | RegressionParts  # of exponential exposures, whose location is minus the log hazard
    training: TrainingData | None = None
    covariates: pd.DataFrame | None = None
    of_subjects: bool = False  # whether rows are parts of the time of subjects
    few: dict[str, Array] = field(default_factory=dict)  # coefficients of which few events tell: maximum and limits

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
        return np.array(self.cells.names, dtype=object)[self.kept].tolist()

    @property
    def kept(self) -> BoolArray:
        """Which parameters of the cells these are, (k,): a linear column may be called sigma."""
        return np.array([i < self.n_linear or name != "sigma" for i, name in enumerate(self.cells.names)])

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


@dataclass(frozen=True, slots=True)
class LogHazards:
    """Log hazards of n rows in K bands, ``level[i] + profile[group[i], k]``, of S draws of the parameters."""

    level: Array  # (n, S), of the first band
    profile: Array  # (P, K, S), less those of the first band
    group: IntArray  # (n,), rows of one stratum whose coefficients change over time alike
    begin: Array  # (P,), first entries, before which nothing is known of hazards

    def rows(self) -> Array:
        """All of them, (n, K, S)."""
        return self.level[:, None] + self.profile[self.group]


def log_hazards(
    parts: HazardParts, frame: pd.DataFrame, cuts: Array, exclude: Any = (), *, draws: int, seed: int = 0
) -> LogHazards:
    """Log hazards of rows, at the estimates without draws.

    The parameters of a draw are those of the seed, whichever rows are asked about.
    """
    n, K, written = len(frame), len(cuts) - 1, parts.written
    own = [name.strip("`") for name in (*written.varying, written.stratum) if name is not None]
    group, size = alike_rows(frame[own]), max(draws, 1)
    if not n:
        return LogHazards(np.zeros((0, size)), np.zeros((0, K, size)), group, np.zeros(0))
    first = np.unique(group, return_index=True)[1]
    rows = np.concatenate([np.arange(n), np.repeat(first, K)])
    bands = np.concatenate([np.zeros(n, int), np.tile(np.arange(K), len(first))])
    cells = cell_frame(frame.iloc[rows], bands, cuts, written.stratum)
    found = -_locations(parts.cells, ask(parts.cells, cells, exclude), draws, seed)
    profile = found[n:].reshape(len(first), K, -1)
    return LogHazards(found[:n], profile - profile[:, :1], group, begins_of(parts, frame.iloc[first]))


def begins_of(parts: HazardParts, frame: pd.DataFrame) -> Array:
    """First entries (n,) of the strata of rows."""
    stratum = parts.written.stratum
    if stratum is None:
        return np.full(len(frame), float(parts.cuts[0]))
    levels = frame[stratum.strip("`")].astype(str)
    return np.array([parts.begins.get(level, parts.cuts[0]) for level in levels], dtype=np.float64)


def expected_level(parts: HazardParts, frame: pd.DataFrame) -> Array:
    """Means (n,) of the log hazards of rows in the first band, but for effects that change over time."""
    band = np.zeros(len(frame), dtype=int)
    still = frame.assign(**dict.fromkeys(parts.written.changing, 0))
    asked = ask(parts.cells, cell_frame(still, band, parts.cuts, parts.written.stratum))
    if isinstance(parts.cells, RegressionParts):
        return -parts.cells.predictors(asked.design)[0]
    nodes = nodes_of(parts.cells, asked.design, asked.skip)
    return np.asarray(-(nodes.weight @ nodes.mean))


def _locations(cells: ProcessParts | RegressionParts, asked: Asked, draws: int, seed: int) -> Array:
    """Draws (n, S) of the locations of cells, or their estimates (n, 1)."""
    if isinstance(cells, ProcessParts):
        return JointProcess(cells).locations(asked, draws, seed)
    if draws:
        return JointEstimates(cells).draw(asked, draws, noise=False, rng=np.random.default_rng(seed))
    return cells.predictors(asked.design)[0][:, None]
