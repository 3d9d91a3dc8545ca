"""What a regression of start-stop rows was made from and what it found: likelihoods of rows given their past, draws."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from tobitgp.data.absorbed import as_dense
from tobitgp.data.arrays import CensoredResponse, Design
from tobitgp.data.outcome import outcome
from tobitgp.diagnostics.draws import on_grid
from tobitgp.distributions.base import Distribution
from tobitgp.likelihoods import Family
from tobitgp.numerics.sampling import open_uniform
from tobitgp.regression.histories import Histories
from tobitgp.regression.start_stop import StartStopProblem, log_survival, row_likelihoods
from tobitgp.results.regression.draws import (
    EstimateDraws,
    draw_estimates,
    moved_noises,
    moved_predictors,
    of_draws,
)
from tobitgp.results.regression.parts import RegressionParts, predictors
from tobitgp.results.survival import Times
from tobitgp.typing import Array, IntArray


@dataclass(frozen=True, slots=True)
class StartStopParts(RegressionParts):
    """A fitted regression of start-stop rows."""

    of_subjects: ClassVar[bool] = True  # whether rows are parts of the time of subjects
    id: str = ""  # the column that names the subject of each row
    subjects: int = 0
    subject_weight: float = 0.0  # their frequency weights, summed
    code: IntArray | None = None  # (n,), subject of each training row

    def without_rows(self) -> StartStopParts:
        """Parts that answer the same about new rows."""
        maximum, facts = replace(self.maximum, scores=None), replace(self.facts)
        return replace(self, facts=facts, maximum=maximum, training=None, covariates=None, code=None)


def histories_of(code: IntArray, response: CensoredResponse) -> Histories:
    """Rows of subjects in time."""
    return Histories.of(code, np.maximum(response.entry, 0.0), response.lower)


def training_histories(parts: StartStopParts) -> Histories:
    """Those of the training rows."""
    response = parts.rows.response  # refused where there are none
    assert parts.code is not None
    return histories_of(parts.code, response)


def problem_of(
    response: CensoredResponse, histories: Histories, design: Design, family: Family, known: tuple[Array, Array]
) -> StartStopProblem:
    """The likelihood of rows, with ``known`` coefficients and log sigma, NaN where they are estimated."""
    ends = response.rows(histories.last)
    seen = outcome(replace(ends, entry=np.full_like(ends.entry, -np.inf)), log_time=True)
    rows = seen, histories, as_dense(design.H), design.offset
    return StartStopProblem.of(*rows, family.distribution, known, free_shape=family.estimate_shape)


def estimate_row_likelihoods(
    parts: StartStopParts, histories: Histories, design: Design, response: CensoredResponse
) -> Array:
    """Log likelihoods (n,) of rows given the past of their subject, at the estimates."""
    eta, tau = predictors(parts, design)
    return row_likelihoods(parts.noise, histories, response.lower == response.upper, eta, tau)


def survival_of_rows(parts: StartStopParts, times: Array) -> Array:
    """Log probability (n, k) that subjects survive times (n, k) within each training row."""
    histories, (eta, tau) = training_histories(parts), predictors(parts, parts.rows.design)
    return log_survival(parts.noise, histories, times, eta, tau, histories.log_psi(eta)[0])


@dataclass(frozen=True, slots=True)
class HistoryTimes(Times):
    """Times within the training rows, after the past of their subjects."""

    parts: StartStopParts

    def survive(self, times: Array) -> Array:
        """See `Times`."""
        return survival_of_rows(self.parts, times)


@dataclass(frozen=True, slots=True)
class StartStopDraws(EstimateDraws):
    """Draws of the parameters."""

    parts: StartStopParts

    def log_likelihoods(self) -> Iterator[tuple[slice, Array]]:
        """See `Draws`; of rows given the past of their subject, all in one chunk."""
        histories, response = training_histories(self.parts), self.parts.rows.response
        eta, tau = moved_predictors(self.parts, self.parts.rows.design, self.change)
        event = response.lower == response.upper

        def of(noise: Distribution, eta: Array, tau: Array) -> Array:
            return row_likelihoods(noise, histories, event, eta, tau)

        yield slice(0, len(eta)), on_grid(of_draws(moved_noises(self.parts, self.change), of, eta, tau))

    def responses(self) -> Iterator[tuple[slice, Array]]:
        """See `Draws`; times after the start of each row, if its covariates stay."""
        histories = training_histories(self.parts)
        eta, tau = moved_predictors(self.parts, self.parts.rows.design, self.change)
        uniform = open_uniform(np.random.default_rng(self.seeds[0]), eta.shape)

        def further(noise: Distribution, begin: Array, tau: Array, uniform: Array) -> Array:
            sigma = np.exp(tau)
            with np.errstate(invalid="ignore"):
                alive = np.where(np.isneginf(begin), 0.0, noise.log_sf(begin / sigma))
            return np.asarray(np.exp(sigma * noise.inverse_log_sf(np.log(uniform) + alive)) - np.exp(begin))

        with np.errstate(over="ignore"):
            begin = histories.log_psi(eta)[0]
            psi = of_draws(moved_noises(self.parts, self.change), further, begin, tau, uniform)
            yield slice(0, len(eta)), histories.start[:, None] + np.exp(eta) * psi


def draw_start_stop(parts: StartStopParts, draws: int, rng: Any, *, question: str) -> StartStopDraws:
    """Draw the parameters."""
    found = draw_estimates(parts, draws, rng, question=question)
    return StartStopDraws(parts, found.change, found.squares, found.seeds)
