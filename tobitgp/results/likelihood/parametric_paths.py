"""Hazards of subjects whose covariates change, under a parametric baseline: (PH9) of the theory pages."""

from __future__ import annotations

import numpy as np

from tobitgp.distributions.transformed import Transformed
from tobitgp.errors import SpecError
from tobitgp.kinds.likelihood import moved_rows
from tobitgp.kinds.parametric import ParametricParts
from tobitgp.results.hazards.hazard_parts import DRAWS
from tobitgp.results.hazards.row_paths import along_rows
from tobitgp.results.likelihood.likelihood_draws import draw_changes
from tobitgp.results.paths import Paths
from tobitgp.typing import Array, IntArray


def along_parametric(parts: ParametricParts, of: str, paths: Paths, level: float | None) -> dict[str, Array]:
    """One of ``CURVES`` of each subject, (m, T)."""
    if parts.link != "hazard" or parts.frailty is not None:
        raise SpecError("id= adds hazards up over rows, and goes with link='hazard' and without frailty=.")
    k = len(parts.maximum.free)
    changes = {False: np.zeros((k, 1))}
    if level is not None:
        changes[True] = draw_changes(parts, DRAWS, np.random.default_rng(0), question="interval= along a path")[0]

    def hazards(rows: IntArray, draws: bool) -> Transformed:
        return parts.at(moved_rows(parts, paths.asked.design.rows(rows), changes[draws]))

    return along_rows(hazards, of, paths, level, estimated=True)
