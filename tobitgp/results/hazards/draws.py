"""Draws of hazards: what is likely of the rows of a fit, and new times."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.outcome import Outcome
from tobitgp.diagnostics.draws import Draws, on_grid
from tobitgp.engines import row_chunks
from tobitgp.errors import SpecError
from tobitgp.numerics.sampling import open_uniform
from tobitgp.results.hazards.cells import AtRisk
from tobitgp.results.hazards.parts import HazardParts, extended, log_hazards
from tobitgp.results.hazards.times import FURTHEST, Hazards
from tobitgp.results.joint import JointPosterior
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
    stream: np.random.Generator
    exclude: Any = ()

    @property
    def size(self) -> int:
        """S."""
        return self.number

    def parameters(self) -> Array:
        """See `Draws`."""
        raise SpecError(
            "Draws of the parameters of family='ph' are not available; res.cells.to_arviz() has those of the cells."
        )

    def log_likelihoods(self) -> Iterator[tuple[slice, Array]]:
        """See `Draws`; (PH1)."""
        for rows, hazards in self._chunks(self.parts.cuts):
            entry, exit, event = self.risk.entry[rows], self.risk.exit[rows], self.risk.event[rows]
            H = hazards.cumulative(np.column_stack([entry, exit]))
            log_h = np.log(hazards.hazard(exit[:, None])[:, 0])
            yield rows, on_grid(np.where(event[:, None], log_h, 0.0) - (H[:, 1] - H[:, 0]))

    def responses(self) -> Iterator[tuple[slice, Array]]:
        """See `Draws`; times after the entry of each row."""
        cuts = self.parts.cuts
        if self.parts.family.baseline != "piecewise":
            cuts = extended(cuts, FURTHEST * cuts[-1])
        for rows, hazards in self._chunks(cuts):
            yield rows, drawn_times(hazards, self.risk.entry[rows], self.stream)

    def _chunks(self, cuts: Array) -> Iterator[tuple[slice, Hazards]]:
        seed = int(self.stream.integers(2**32))
        for rows in row_chunks(0, len(self.frame), max(_CHUNK // (self.size * len(cuts)), 1)):
            found = log_hazards(self.parts, self.frame.iloc[rows], cuts, self.exclude, draws=self.size, seed=seed)
            yield rows, Hazards.of(cuts, found)


@dataclass(frozen=True, slots=True)
class JointHazards(JointPosterior):
    """Times of several rows together, on the log scale."""

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
        known: Outcome | None = None,
        window: tuple[Array, Array] | None = None,
    ) -> Array:
        """See `JointPosterior`."""
        n = len(self.frame)
        entry = np.zeros(n) if window is None else np.exp(window[0])
        drawn = HazardDraws(self.parts, self.frame, AtRisk(entry, entry, entry > 0.0, entry), draws, rng, self.exclude)
        if known is not None:
            censored = known.lower < known.upper
            drawn = replace(drawn, risk=drawn.risk._replace(entry=np.exp(np.where(censored, known.lower, -np.inf))))
        out = np.concatenate([y for _, y in drawn.responses()]) if n else np.zeros((0, draws))
        with np.errstate(divide="ignore"):
            out = np.log(out)
        return out if known is None else np.where(censored[:, None], out, known.lower[:, None])


def drawn_times(hazards: Hazards, entry: Array, rng: np.random.Generator) -> Array:
    """A time (n, S) for each draw of the hazards, of rows that were there at their entry."""
    begin = hazards.cumulative(entry[:, None])[:, 0]
    return hazards.time_at(begin - np.log(open_uniform(rng, begin.shape)))
