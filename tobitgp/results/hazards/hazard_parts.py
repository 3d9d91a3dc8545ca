"""The parts of a proportional-hazards fit, and the hazards of rows in bands of time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache as cached
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.design import DesignState
from tobitgp.data.prepare import TrainingData
from tobitgp.data.training_summary import Facts
from tobitgp.distributions.averaged import Averaged
from tobitgp.distributions.piecewise import Piecewise
from tobitgp.formula.hazard_formula import HazardFormula
from tobitgp.formula.spec import ModelSpec
from tobitgp.kinds.process import ProcessParts
from tobitgp.kinds.process_nodes import nodes_of
from tobitgp.kinds.regression import RegressionParts
from tobitgp.posterior.estimates import Sampled
from tobitgp.results.hazards.cells import PH, alike_rows, cell_frame, is_parametric
from tobitgp.results.likelihood.likelihood_draws import JointEstimates
from tobitgp.results.process.process_draws import JointProcess
from tobitgp.results.rows import Asked, ask
from tobitgp.results.terms import model_terms
from tobitgp.results.views import Source
from tobitgp.typing import Array, BoolArray, IntArray

DRAWS = 1000
_HELD = 20_000_000  # rows times draws that are held at once


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
    subject_weight: float = 0.0  # frequency weights of the subjects, summed
    subject: IntArray | None = None  # (n,), subject of each training row
    few: dict[str, Array] = field(default_factory=dict)  # coefficients of which few events tell: maximum and limits

    def inconsistencies(self) -> Iterator[str]:
        """Inconsistent parts of a fit that was read from a file."""
        cuts, kernel = self.cuts, self.family.kernel
        if self.cells.family.name != "exponential" or is_parametric(self.family):
            yield "its cells are not exponential"
        if (self.spec.formula, self.cells.spec.formula) != (
            self.written.rows,
            self.written.cells(self.family.baseline, kernel),
        ):
            yield "the formula of its hazards is read otherwise by this version of tobitgp"
        if (
            cuts.ndim != 1
            or len(cuts) < 2
            or not cuts[0] >= 0.0
            or not np.isfinite(cuts).all()
            or not (np.diff(cuts) > 0.0).all()
        ):
            yield "its bands of time are none"

    @property
    def written_formula(self) -> str:
        """The formula of the call."""
        return self.written.formula

    @property
    def strata(self) -> frozenset[str]:
        """Columns each of whose levels has its own baseline hazard."""
        return self.written.strata

    @property
    def span(self) -> tuple[float, float]:
        """The first entry and the last exit."""
        return float(self.cuts[0]), float(self.cuts[-1])

    @property
    def scale_of_effects(self) -> str:
        """Quantity whose differences are the coefficients."""
        return "log hazard"

    @property
    def estimated(self) -> bool:
        """Whether hazards were estimated by maximum likelihood, and are not averaged over a posterior."""
        return self.cells.estimated

    @property
    def own_terms(self) -> list[str]:
        """Terms of the log hazard that do not change over time."""
        effects = {term.name for term in self.spec.gps if not term.factors}
        skipped = {*self.written.of_time, *effects}
        names = [term.name for term in model_terms(self.cells) if not term.is_offset]
        return [name for name in names if name not in skipped and self.written.is_own(name)]

    @property
    def n_linear(self) -> int:
        """Number of linear coefficients, of a piecewise baseline with those of the bands."""
        return len(self.cells.state.linear.columns)

    @property
    def names(self) -> list[str]:
        """Linear columns, then hyper-parameters; the exponential distribution has no free scale."""
        return np.array(self.cells.names, dtype=object)[self.kept].tolist()

    @property
    def kept(self) -> BoolArray:
        """Which parameters of the cells these are, (k,): a linear column may be called sigma."""
        return np.array([i < self.n_linear or name != "sigma" for i, name in enumerate(self.cells.names)])

    def without_rows(self) -> HazardParts:
        """Parts that answer the same about new rows."""
        return replace(self, cells=self.cells.without_rows(), training=None, covariates=None, subject=None)


FURTHEST = 100.0  # times the last exit, beyond which no percentile is sought


def extended(cuts: Array, last: float) -> Array:
    """Bands that go on in steps of the last one's log length until a time.

    They are the same for all times up to `FURTHEST`, and so are draws of the hazards in them.
    """
    if last <= cuts[-1]:
        return cuts
    step = max(np.log(cuts[-1] / cuts[-2]), 0.1) if cuts[-2] > 0.0 else 0.5
    ratio = max(last / cuts[-1], FURTHEST)
    return np.concatenate([cuts, cuts[-1] * np.exp(step * np.arange(1, int(np.ceil(np.log(ratio) / step)) + 1))])


def drawn_hazards(
    parts: HazardParts, frame: pd.DataFrame, cuts: Array, exclude: Any = (), *, draws: int, seed: int = 0
) -> Piecewise:
    """Hazards of rows in bands, of draws of the parameters, or without draws at the estimates.

    The parameters of a draw are those of the seed, whichever rows are requested.
    """
    n, K, written = len(frame), len(cuts) - 1, parts.written
    own = [name.strip("`") for name in (*written.varying, written.stratum) if name is not None]
    group, size = alike_rows(frame[own]), max(draws, 1)
    if not n:
        return Piecewise.of_logs(cuts, np.zeros((0, size)), np.zeros((1, K, size)), group, parts.cuts[:1])
    first = np.unique(group, return_index=True)[1]
    rows = np.concatenate([np.arange(n), np.repeat(first, K)])
    bands = np.concatenate([np.zeros(n, int), np.tile(np.arange(K), len(first))])
    cells = cell_frame(frame.iloc[rows], bands, cuts, written.stratum)
    found = -locations_of(parts.cells, ask(parts.cells, cells, exclude), draws, seed)
    profile = found[n:].reshape(len(first), K, -1)
    begins = begins_of(parts, frame.iloc[first])
    return Piecewise.of_logs(cuts, found[:n], profile - profile[:, :1], group, begins)


def hazards_of_rows(
    parts: HazardParts, frame: pd.DataFrame, cuts: Array, exclude: Any = (), *, goes_on: bool = False
) -> Callable[[IntArray, bool], Piecewise]:
    """A function for the hazards of some rows, under draws or at the estimates; stored if memory allows.

    Each row is done once, however often it is requested.
    """

    def some(rows: IntArray, draws: bool) -> Piecewise:
        differ, back = np.unique(rows, return_inverse=True)
        found = drawn_hazards(parts, frame.iloc[differ], cuts, exclude, draws=DRAWS if draws else 0)
        return replace(found.take(back.ravel()), goes_on=goes_on)

    every = cached(lambda draws: some(np.arange(len(frame)), draws))
    room = len(frame) * DRAWS <= _HELD
    return lambda rows, draws: every(draws).take(rows) if room else some(rows, draws)


def sampled(
    parts: HazardParts, frame: pd.DataFrame, cuts: Array, exclude: Any = (), *, goes_on: bool = False
) -> Sampled:
    """Weighted draws of the times of rows; by maximum likelihood a new response is that at the estimates."""
    hazards = hazards_of_rows(parts, frame, cuts, exclude, goes_on=goes_on)
    weight, every = np.full(DRAWS, 1.0 / DRAWS), np.arange(len(frame))
    best = (lambda rows: Averaged(hazards(rows, False), np.ones(1))) if parts.estimated else None
    return Sampled(lambda rows: hazards(rows, True), weight, every, best)


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
    if parts.cells.estimated:
        return -parts.cells.predictors(asked.design)[0]
    nodes = nodes_of(parts.cells, asked.design, asked.skip)
    return np.asarray(-(nodes.weight @ nodes.mean))


def locations_of(cells: ProcessParts | RegressionParts, asked: Asked, draws: int, seed: int) -> Array:
    """Draws (n, S) of the locations of cells, or their estimates (n, 1)."""
    if not cells.estimated:
        return JointProcess(cells).locations(asked, draws, seed)
    if draws:
        return JointEstimates(cells).draw(asked, draws, noise=False, rng=np.random.default_rng(seed))
    return cells.predictors(asked.design)[0][:, None]
