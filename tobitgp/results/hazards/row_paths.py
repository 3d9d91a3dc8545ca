"""Times of subjects whose covariates change, with the hazards of their rows: (PH9) of the theory pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tobitgp.distributions.averaged import Averaged
from tobitgp.distributions.response import RowDistributions
from tobitgp.distributions.transformed import TransformedTimes
from tobitgp.errors import SpecError
from tobitgp.kinds.likelihood import moved_rows
from tobitgp.kinds.parametric import ParametricParts
from tobitgp.posterior.estimates import Sampled
from tobitgp.regression.start_stop_likelihood import Histories
from tobitgp.results.hazards.cell_times import HazardTimes
from tobitgp.results.hazards.hazard_parts import DRAWS, HazardParts, hazards_of_rows
from tobitgp.results.likelihood.likelihood_draws import draw_changes
from tobitgp.results.paths import Paths
from tobitgp.results.survival import Times
from tobitgp.typing import Array, IntArray

OfRows = Callable[[IntArray, bool], RowDistributions]  # of some rows, (n, S) under draws, (n, 1) at the estimates


@dataclass(frozen=True, slots=True)
class AlongRows(RowDistributions):
    """Times of m subjects, given that they live at their first start, with the hazards of their n rows."""

    rows: RowDistributions  # (n, ..., S)
    histories: Histories

    log = True

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.histories.last), *self.rows.shape[1:])

    def take(self, rows: Any) -> AlongRows:
        """All of the subjects, with axes more."""
        assert isinstance(rows, tuple)
        assert rows[0] == slice(None)
        return replace(self, rows=self.rows.take(rows))

    def logsf(self, y: Array) -> Array:
        start, stop = (end[:, None, None] for end in (self.histories.start, self.histories.stop))
        left = self.rows.logsf(np.clip(self._of_rows(y), start, stop)) - self.rows.logsf(start)
        return self._summed(left)

    def log_hazard(self, y: Array) -> Array:
        at = self._of_rows(y)
        here = self.histories.here(at[..., 0])[..., None]
        with np.errstate(divide="ignore"):
            return np.log(self._summed(np.where(here, np.exp(self.rows.log_hazard(at)), 0.0)))

    def _of_rows(self, y: Array) -> Array:
        """Values (m, T, 1), or (1, T, 1), that each row meets."""
        return np.broadcast_to(y, (len(self.histories.last), *y.shape[1:]))[self.histories.code]

    def _summed(self, values: Array) -> Array:
        """Sums over the rows of each subject."""
        out = np.zeros((len(self.histories.last), *values.shape[1:]))
        np.add.at(out, self.histories.code, values)
        return out


def along_hazards(parts: HazardParts, of: str, paths: Paths, level: float | None) -> dict[str, Array]:
    """One of ``CURVES`` of each subject, (m, T)."""
    last = float(min(paths.times.max(), paths.histories.stop.max(initial=0.0)))
    times = HazardTimes.of_rows(parts, paths.frame, paths.exclude)
    hazards = hazards_of_rows(parts, times.frame, times.cuts(last), paths.exclude, goes_on=True)
    return along_rows(
        lambda rows, draws: hazards(times.which[rows], draws), of, paths, level, estimated=parts.estimated
    )


def along_rows(of_rows: OfRows, of: str, paths: Paths, level: float | None, *, estimated: bool) -> dict[str, Array]:
    """One of ``CURVES`` of each subject, (m, T), by the distributions of some rows."""

    def subjects(some: IntArray, draws: bool) -> AlongRows:
        own, rows = paths.histories.subjects(some)
        return AlongRows(of_rows(rows, draws), own)

    def best(some: IntArray) -> RowDistributions:
        return Averaged(subjects(some, False), np.ones(1))

    every = np.arange(len(paths.histories.last))
    known = Sampled(lambda some: subjects(some, True), np.full(DRAWS, 1.0 / DRAWS), every, best if estimated else None)
    return Times(known, every).curve(of, paths.times, None, level)


def along_parametric(parts: ParametricParts, of: str, paths: Paths, level: float | None) -> dict[str, Array]:
    """One of ``CURVES`` of each subject, (m, T)."""
    if parts.link != "hazard" or parts.frailty is not None:
        raise SpecError("id= sums hazards over rows and requires link='hazard' without frailty=.")
    k = len(parts.maximum.free)
    changes = {False: np.zeros((k, 1))}
    if level is not None:
        changes[True] = draw_changes(parts, DRAWS, np.random.default_rng(0), question="interval= along a path")[0]

    def hazards(rows: IntArray, draws: bool) -> TransformedTimes:
        return parts.at(moved_rows(parts, paths.asked.design.rows(rows), changes[draws]))

    return along_rows(hazards, of, paths, level, estimated=True)
