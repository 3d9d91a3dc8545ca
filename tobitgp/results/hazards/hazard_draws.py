"""Draws of hazards: likelihoods of the rows of a fit, new times, and averages over rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.diagnostics.training_draws import Draws, on_grid
from tobitgp.distributions.piecewise import Piecewise
from tobitgp.distributions.step_averages import averaged_step_median
from tobitgp.engines import row_chunks, single_blas_thread
from tobitgp.errors import SpecError
from tobitgp.numerics.sampling import open_uniform
from tobitgp.results.averages import Averages, DrawnAverages, Estimated, Population, Sought
from tobitgp.results.hazards.cells import AtRisk
from tobitgp.results.hazards.hazard_parts import FURTHEST, HazardParts, drawn_hazards, extended
from tobitgp.results.hazards.level_points import fewer_rows
from tobitgp.results.hazards.log_hazards import drawn_locations, moments_of_rows
from tobitgp.results.joint import JointPosterior, Within
from tobitgp.results.likelihood.likelihood_draws import draw_changes
from tobitgp.results.process.process_draws import JointProcess
from tobitgp.results.rows import Asked
from tobitgp.typing import Array

_CHUNK = 8_000_000
_CELLS = 4_000_000  # numbers that averages hold at once


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
        """Signs of coefficients are those of the log hazard."""
        cells, p = self.parts.cells, self.parts.n_linear
        if cells.estimated:
            change, _ = draw_changes(cells, self.size, np.random.default_rng(self.seed), question="draws of hazards")
            out = cells.reported((cells.maximum.parameters[:, None] + change).T)
        else:
            out = JointProcess(cells).parameters(self.size, self.seed)
        out[:, :p] *= -1.0
        return out[:, self.parts.kept]

    def log_likelihoods(self) -> Iterator[tuple[slice, Array]]:
        """By (PH1)."""
        for rows, y in hazards_of_chunks(self.parts, self.frame, self.parts.cuts, self.size, self.seed):
            entry, exit, event = self.risk.entry[rows][:, None], self.risk.exit[rows][:, None], self.risk.event[rows]
            seen = np.where(event[:, None], y.logpdf(exit), y.logsf(exit))
            yield rows, on_grid(seen - y.logsf(entry))

    def responses(self) -> Iterator[tuple[slice, Array]]:
        """Times after the entry of each row."""
        return drawn_times(self.parts, self.frame, self.risk.entry, self.size, self.stream, seed=self.seed)


@dataclass(frozen=True, slots=True)
class JointHazards(JointPosterior):
    """Times of several rows together."""

    parts: HazardParts
    frame: pd.DataFrame  # covariates of the requested rows
    exclude: Any = ()

    @property
    def of_training_rows(self) -> bool:
        return False

    def moments(self, asked: Asked) -> tuple[Array, Array]:
        """Moments of the log hazard except for processes of time."""
        return moments_of_rows(self.parts, asked)

    def draw(
        self,
        asked: Asked,
        draws: int,
        *,
        noise: bool,
        rng: np.random.Generator,
        known: Within = None,
        window: Within = None,
    ) -> Array:
        if not noise:
            return drawn_locations(self.parts, asked, draws, int(rng.integers(2**32)))
        start = np.zeros(len(self.frame)) if window is None else np.maximum(window[0], 0.0)
        if known is not None:
            censored = known[0] < known[1]
            start = np.where(censored, np.maximum(known[0], 0.0), 0.0)
        found = drawn_times(self.parts, self.frame, start, draws, rng, self.exclude)
        out = np.concatenate([np.zeros((0, draws)), *(y for _, y in found)])
        return out if known is None else np.where(censored[:, None], out, known[0][:, None])


def hazards_of_chunks(
    parts: HazardParts, frame: pd.DataFrame, cuts: Array, draws: int, seed: int, exclude: Any = ()
) -> Iterator[tuple[slice, Piecewise]]:
    """Chunks of rows, and draws of their hazards, by the same parameters in all."""
    for rows in row_chunks(0, len(frame), max(_CHUNK // (draws * len(cuts)), 1)):
        yield rows, drawn_hazards(parts, frame.iloc[rows], cuts, exclude, draws=draws, seed=seed)


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
    for rows, y in hazards_of_chunks(parts, frame, cuts, draws, seed, exclude):
        alive = y.logsf(entry[rows][:, None])
        yield rows, replace(y, goes_on=False).survived(alive + np.log(open_uniform(rng, alive.shape)))


def hazard_averages(parts: HazardParts, population: Population, sought: Sought, cuts: Array) -> Averages:
    """Averages over rows, of draws that have the same parameters in all of them: (STD4) of the theory pages.

    ``cuts`` reach to the last time requested. By maximum likelihood averages are those at the estimates, with the
    covariance of draws.
    """
    if sought.what == "mean":
        raise SpecError(
            "The mean time depends on the hazard after the last observed time. Use what='rmst', which does not "
            "depend on it."
        )
    frames = [population.frame.iloc[population.rows(setting)] for setting in range(population.settings)]
    seed, n, made = int(population.rng.integers(2**32)), len(population.weight), []

    def under(share: Array, draws: int, seed: int) -> Array:
        each = (drawn_hazards(parts, frame, cuts, draws=draws, seed=seed) for frame in frames)
        return np.stack([_average(replace(y, goes_on=False), share, sought) for y in each])

    with single_blas_thread():
        for part in row_chunks(0, population.draws, max(_CELLS // n, 1)):
            share = np.repeat(population.weight[:, None], part.stop - part.start, axis=1)
            if population.resampled:
                share = population.rng.standard_gamma(share)
            made.append(under(share / share.sum(axis=0), share.shape[1], seed + part.start))
    drawn = np.concatenate(made, axis=2)
    if not parts.estimated:
        return DrawnAverages(drawn)
    estimate = under((population.weight / population.weight.sum())[:, None], 0, 0)[..., 0]
    with np.errstate(invalid="ignore"):  # of medians that are infinite in some draws
        away = drawn - drawn.mean(axis=2, keepdims=True)
        return Estimated(sought, estimate, np.einsum("ams,bms->mab", away, away) / drawn.shape[2])


def _average(y: Piecewise, share: Array, sought: Sought) -> Array:
    """Averages (m, S) of rows with shares (n, S), each given survival of ``after``."""
    after = 0.0 if sought.after is None else sought.after
    # Fewer rows take longer to find than one restricted mean of all.
    if sought.what == "median" or (sought.what == "rmst" and len(sought.times) > 1):
        y, share = fewer_rows(y, share)
    if sought.what == "rmst":
        return np.stack([(share * y.restricted_mean(t, after)).sum(axis=0) for t in sought.times.tolist()])
    alive = y.logsf(np.full((1, 1), after))

    def survival(times: Array) -> Array:
        return np.asarray((share * np.exp(y.logsf(after + times[None]) - alive)).sum(axis=0))

    if sought.what == "median":
        return averaged_step_median(y, share, after, float(y.cuts[-1]))[None]
    found = np.stack([survival(np.full(share.shape[1], t)) for t in sought.times.tolist()])
    return 1.0 - found if sought.what == "risk" else found
