"""Draws of the hazards of a cause in rows, from the posterior or the normal distribution of the estimates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tobitgp.distributions.response import RowDistributions
from tobitgp.kinds.likelihood import LikelihoodParts, drawn_rows
from tobitgp.results.hazards.cell_times import HazardTimes
from tobitgp.results.hazards.hazard_parts import drawn_hazards
from tobitgp.results.likelihood.likelihood_draws import draw_changes
from tobitgp.results.process.process_draws import JointProcess
from tobitgp.results.rows import Asked
from tobitgp.results.survival import Times
from tobitgp.typing import Array, IntArray


@dataclass(frozen=True, slots=True)
class DrawnDistributions:
    """Draws of the distributions of times in n rows."""

    parts: tuple[RowDistributions, ...]  # (n, s) each
    order: IntArray  # (S,), since draws of one design point follow each other

    def at(self, times: Array, after: Array, rows: slice) -> tuple[Array, Array]:
        """Hazards and cumulative hazards at times (q,) counted from those survived (n,), (n, q, S) each."""
        after = after[rows, None, None]
        found = []
        with np.errstate(all="ignore"):
            for part in self.parts:
                known = part.take((rows, None))
                now = times[:, None] + after
                H, slope = known.modelled_hazard(known.modelled(now))
                begin = np.where(after > 0.0, known.modelled_hazard(known.modelled(after))[0], 0.0)
                found.append((slope / now, H - begin))
        hazard, cumulative = (np.concatenate(values, axis=2) for values in zip(*found, strict=True))
        return hazard[..., self.order], cumulative[..., self.order]


def draw_cause(
    parts: Any, asked: Asked, times: Times, last: float, draws: int, rng: np.random.Generator
) -> DrawnDistributions:
    """Draw from the fit of one cause; times are those of the rows that are asked about."""
    if isinstance(times, HazardTimes):
        rows, cuts, seed = times.frame.iloc[times.which], times.cuts(last), int(rng.integers(2**32))
        hazards = drawn_hazards(times.parts, rows, cuts, times.exclude, draws=draws, seed=seed)
        return DrawnDistributions((hazards,), np.arange(draws))
    n = len(times.which)
    drawn: Sequence[RowDistributions]
    if isinstance(parts, LikelihoodParts):
        change, _ = draw_changes(parts, draws, rng, question="interval= of incidences")
        drawn = drawn_rows(parts, asked.design, change)
    else:
        drawn = list(JointProcess(parts).distributions(asked, draws, max(draws * n, 1), rng))
    return DrawnDistributions(tuple(drawn), rng.permutation(draws))
