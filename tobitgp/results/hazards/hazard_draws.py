"""Draws of hazards: what is likely of the rows of a fit, and new times."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.diagnostics.training_draws import Draws, on_grid
from tobitgp.engines import row_chunks
from tobitgp.kinds.regression import RegressionParts
from tobitgp.numerics.sampling import open_uniform
from tobitgp.results.hazards.bands import Hazards
from tobitgp.results.hazards.cell_times import FURTHEST
from tobitgp.results.hazards.cells import AtRisk
from tobitgp.results.hazards.hazard_parts import HazardParts, extended, log_hazards
from tobitgp.results.joint import JointPosterior
from tobitgp.results.likelihood.likelihood_draws import draw_changes
from tobitgp.results.process.process_draws import JointProcess
from tobitgp.results.rows import Asked
from tobitgp.typing import Array

_CHUNK = 8_000_000


@dataclass(frozen=True, slots=True)
class HazardDraws(Draws):
    """Draws of the hazards of rows at risk."""

    parts: HazardParts
    frame: pd.DataFrame  # covariates of the n rows
    risk: AtRisk
    number: int
    seed: int  # of the parameters
    stream: np.random.Generator  # of times

    @property
    def size(self) -> int:
        """S."""
        return self.number

    def parameters(self) -> Array:
        """See `Draws`; signs of coefficients are those of the log hazard."""
        cells, p = self.parts.cells, self.parts.n_linear
        if isinstance(cells, RegressionParts):
            change, _ = draw_changes(cells, self.size, np.random.default_rng(self.seed), question="draws of hazards")
            out = cells.reported((cells.maximum.parameters[:, None] + change).T)
        else:
            out = JointProcess(cells).parameters(self.size, self.seed)
        out[:, :p] *= -1.0
        return out[:, self.parts.kept]

    def log_likelihoods(self) -> Iterator[tuple[slice, Array]]:
        """See `Draws`; (PH1)."""
        for rows, hazards in drawn_hazards(self.parts, self.frame, self.parts.cuts, self.size, self.seed):
            entry, exit, event = self.risk.entry[rows], self.risk.exit[rows], self.risk.event[rows]
            H = hazards.cumulative(np.column_stack([entry, exit]))
            log_h = np.log(hazards.hazard(exit[:, None])[:, 0])
            yield rows, on_grid(np.where(event[:, None], log_h, 0.0) - (H[:, 1] - H[:, 0]))

    def responses(self) -> Iterator[tuple[slice, Array]]:
        """See `Draws`; times after the entry of each row."""
        return drawn_times(self.parts, self.frame, self.risk.entry, self.size, self.stream, seed=self.seed)


@dataclass(frozen=True, slots=True)
class JointHazards(JointPosterior):
    """Times of several rows together."""

    parts: HazardParts
    frame: pd.DataFrame  # covariates of the rows that are asked about
    exclude: Any = ()

    @property
    def of_training_rows(self) -> bool:
        """See `JointPosterior`."""
        return False

    def draw(
        self,
        asked: Asked,
        draws: int,
        *,
        noise: bool,
        rng: np.random.Generator,
        known: tuple[Array, Array] | None = None,
        window: tuple[Array, Array] | None = None,
    ) -> Array:
        """See `JointPosterior`."""
        start = np.zeros(len(self.frame)) if window is None else np.maximum(window[0], 0.0)
        if known is not None:
            censored = known[0] < known[1]
            start = np.where(censored, np.maximum(known[0], 0.0), 0.0)
        found = drawn_times(self.parts, self.frame, start, draws, rng, self.exclude)
        out = np.concatenate([np.zeros((0, draws)), *(y for _, y in found)])
        return out if known is None else np.where(censored[:, None], out, known[0][:, None])


def drawn_hazards(
    parts: HazardParts, frame: pd.DataFrame, cuts: Array, draws: int, seed: int, exclude: Any = ()
) -> Iterator[tuple[slice, Hazards]]:
    """Chunks of rows, and draws of their hazards, by the same parameters in all."""
    for rows in row_chunks(0, len(frame), max(_CHUNK // (draws * len(cuts)), 1)):
        found = log_hazards(parts, frame.iloc[rows], cuts, exclude, draws=draws, seed=seed)
        yield rows, Hazards.of(cuts, found)


def drawn_times(
    parts: HazardParts,
    frame: pd.DataFrame,
    entry: Array,
    draws: int,
    rng: np.random.Generator,
    exclude: Any = (),
    seed: int | None = None,
) -> Iterator[tuple[slice, Array]]:
    """Chunks of rows, and a time for each draw of their hazards, of rows that were there at their entry (n,)."""
    cuts = parts.cuts
    if parts.family.baseline != "piecewise":
        cuts = extended(cuts, FURTHEST * cuts[-1])
    seed = int(rng.integers(2**32)) if seed is None else seed
    for rows, hazards in drawn_hazards(parts, frame, cuts, draws, seed, exclude):
        begin = hazards.cumulative(entry[rows][:, None])[:, 0]
        yield rows, hazards.time_at(begin - np.log(open_uniform(rng, begin.shape)))
