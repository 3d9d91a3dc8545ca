"""Hazards of subjects whose covariates change, the sums of those of their rows: (PH9) of the theory pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import softmax

from tobitgp.engines import row_chunks, single_blas_thread
from tobitgp.regression.histories import Histories
from tobitgp.results.hazards.cell_times import CELLS, HazardTimes, curve_of, log_mean_survival
from tobitgp.results.hazards.hazard_parts import DRAWS, HazardParts
from tobitgp.results.paths import Paths
from tobitgp.results.survival import STATISTICS
from tobitgp.typing import Array, IntArray


class RowHazards(Protocol):
    """Hazards of n rows, of S draws or at the estimates."""

    def cumulative(self, times: Array) -> Array:
        """Cumulative hazards at times (n, T) of each row, (n, T, S)."""

    def hazard(self, times: Array) -> Array:
        """Hazards at times (n, T), (n, T, S)."""


@dataclass(frozen=True, slots=True)
class PathHazards:
    """Hazards of m subjects, by those of their n rows."""

    rows: RowHazards
    histories: Histories

    def cumulative(self, times: Array) -> Array:
        """Cumulative hazards at times (m, T), or (1, T), since the first start, (m, T, S)."""
        past = self.histories
        at = np.broadcast_to(times, (len(past.last), times.shape[1]))[past.code]
        start = past.start[:, None]
        risen = self.rows.cumulative(np.clip(at, start, past.stop[:, None])) - self.rows.cumulative(start)
        return self._summed(risen)

    def hazard(self, times: Array) -> Array:
        """Hazards at times (m, T), or (1, T), (m, T, S)."""
        past = self.histories
        at = np.broadcast_to(times, (len(past.last), times.shape[1]))[past.code]
        here = past.here(at)
        return self._summed(here[..., None] * self.rows.hazard(at))

    def survived(self, times: Array, *, rates: bool = False) -> tuple[Array, Array]:
        """Log mean survival over the draws at times (m, T), and with ``rates`` hazards of those who survive, (m, T)."""
        H = self.cumulative(times)
        log_S = log_mean_survival(H)
        if not rates:
            return log_S, np.empty_like(log_S)
        weight = softmax(-H, axis=-1)
        return log_S, (weight * self.hazard(times)).sum(axis=-1)

    def _summed(self, values: Array) -> Array:
        """Sums over the rows of each subject."""
        out = np.zeros((len(self.histories.last), *values.shape[1:]))
        np.add.at(out, self.histories.code, values)
        return out


def along_hazards(parts: HazardParts, of: str, paths: Paths, level: float | None) -> dict[str, Array]:
    """One of ``CURVES`` of each subject, (m, T)."""
    past = paths.histories
    times = HazardTimes.of_rows(parts, paths.frame, paths.exclude)
    last = float(min(paths.times.max(), past.stop.max(initial=0.0)))
    return along_rows(
        lambda rows, draws: times.hazards(times.which[rows], last, draws=draws),
        of,
        paths,
        level,
        draws=not parts.estimated,
    )


def along_rows(
    hazards_of: Callable[[IntArray, bool], RowHazards], of: str, paths: Paths, level: float | None, *, draws: bool
) -> dict[str, Array]:
    """One of ``CURVES`` of each subject, (m, T), by the hazards of some rows at draws or at the estimates."""
    past, grid, made = paths.histories, paths.times, []
    each = DRAWS * len(grid) * (1 + len(past.code) // max(len(past.last), 1))
    with single_blas_thread():
        for span in row_chunks(0, len(past.last), max(CELLS // each, 1)):
            own, rows = past.subjects(span)
            start = np.zeros((len(own.last), 1))

            def hazards(draws: bool, own: Histories = own, rows: IntArray = rows) -> PathHazards:
                return PathHazards(hazards_of(rows, draws), own)

            made.append(curve_of(of, hazards, start, grid, level, draws=draws))
    empty = np.zeros((0, len(grid)))
    return {
        name: np.concatenate([empty, *(one[name] for one in made)])
        for name in (STATISTICS if level is not None else ("mean",))
    }
