"""What fits whose rows have several parameters say of themselves and of times."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.arrays import CensoredResponse
from tobitgp.data.outcome import check_response
from tobitgp.diagnostics import validation
from tobitgp.diagnostics.check import posterior_findings
from tobitgp.diagnostics.draws import read_draws
from tobitgp.diagnostics.k_hat import BY_SIMULATION, KHat, regression_k_hat
from tobitgp.diagnostics.residual_tests import Finding, RawTest
from tobitgp.diagnostics.validation import Rng
from tobitgp.numerics.sampling import generator
from tobitgp.posterior.estimates import Estimates
from tobitgp.posterior.questions import conditional
from tobitgp.results import figures, hazard_ratios, standardise
from tobitgp.results.averages import Estimated, Population, Sought
from tobitgp.results.distributional.averages import distributional_averages
from tobitgp.results.distributional.draws import DistributionalDraws, draw_parameters, draw_times
from tobitgp.results.distributional.parts import (
    DistributionalParts,
    TimesWithin,
    estimates_of_rows,
)
from tobitgp.results.estimates import Linear
from tobitgp.results.hazard_ratios import Contrasts
from tobitgp.results.regression.likelihood import LikelihoodResults
from tobitgp.results.regression.parts import term_estimates
from tobitgp.results.rows import Asked, Scored, ask, read_scored, response_of_rows
from tobitgp.results.survival import TimeRows
from tobitgp.results.times import Scores
from tobitgp.typing import Array, Frame


class DistributionalResults(LikelihoodResults):
    """A fit by maximum likelihood whose rows have several parameters."""

    _parts: DistributionalParts

    @property
    def df_model(self) -> float:
        """Number of estimated parameters."""
        return float(self._parts.maximum.free.sum())

    @property
    def _has_ratios(self) -> bool:
        return True

    def _posterior(self, asked: Asked, *, bands: bool) -> Estimates:
        return estimates_of_rows(self._parts, asked.design, bands=bands)

    def _time_rows(self, df: Frame | None, exclude: Any, *, bands: bool) -> TimeRows:
        asked = ask(self._parts, df, exclude)
        return TimeRows(asked.index, asked.usable, self._times(asked, bands=bands))

    def _times(self, asked: Asked, *, bands: bool) -> TimesWithin:
        return TimesWithin(self._posterior(asked, bands=bands), np.arange(len(asked.design.H)), self._parts.last)

    _location_words = "mean up to the end of follow-up"

    def _location(self) -> Array:
        return self._time_rows(None, (), bands=False).times.order()

    def _scores(self, df: Frame, scoring_method: str) -> Scores:
        rows = read_scored(self._parts, df)
        density = scoring_method == "log_likelihood"
        values = self._likelihoods(rows) if density else self._times(rows.asked, bands=False).order()
        seen = rows.response
        return Scores(rows.asked.usable, seen.lower, seen.upper, seen.entry, values)

    def _likelihoods(self, rows: Scored) -> Array:
        seen, y = self._checked(rows), self._posterior(rows.asked, bands=False).given
        return np.asarray(y.log_likelihood(seen.lower, seen.upper, seen.entry, seen.exit))

    def _checked(self, rows: Scored) -> CensoredResponse:
        """What is known of rows, if that may have been seen."""
        check_response(rows.response, log_time=True, labels=rows.asked.labels.to_numpy())
        return rows.response

    def _seen(self, new: Frame | None, asked: Asked) -> Scored:
        """Rows of whose response something is known."""
        found = response_of_rows(self._parts, new, asked)
        return found._replace(response=self._checked(found))

    def _conditional(self, new: Frame | None, level: float | None, *, se: bool) -> pd.DataFrame:
        asked, seen = self._seen(new, ask(self._parts, new))
        posterior = self._posterior(asked, bands=se or level is not None)
        return asked.table(posterior.statistics(conditional(True, *seen.within_window), level, se=se))

    @property
    def _drawn(self) -> tuple[str, ...]:
        return ("uncensored", "conditional")

    def _sample(self, new: Frame | None, draws: int, what: str, exclude: Any, rng: Rng) -> tuple[Asked, Array]:
        asked, known = ask(self._parts, new, exclude), None
        if what == "conditional":
            asked, seen = self._seen(new, asked)
            known = seen.within_window
        size = read_draws(draws, rows=len(asked.index))
        return asked, draw_times(self._parts, asked.design, size, generator(rng), known)

    def _draws(self, draws: int, rng: Rng, question: str) -> DistributionalDraws:
        return draw_parameters(self._parts, draws, rng, question=question)

    def _k_hat(self, draws: int, rng: Rng) -> KHat:
        return regression_k_hat(draw_parameters(self._parts, draws, rng, question="k_hat()"), BY_SIMULATION)

    def _findings(self, rng: Any) -> Iterator[Finding | RawTest]:
        return posterior_findings(self, rng)

    def _terms(self, asked: Asked) -> dict[str, Estimates]:
        return term_estimates(self._parts, asked.design)

    def _differences(self, contrasts: Contrasts) -> Linear:
        return self._linear.combine(contrasts.columns, -contrasts.offset)

    def _averages(self, population: Population, sought: Sought) -> Estimated:
        return distributional_averages(self._parts, population, sought)

    def _without_rows(self) -> Any:
        return type(self)(self._parts.without_rows())

    hazard_ratios = hazard_ratios.hazard_ratios
    standardise = standardise.standardise
    k_hat = validation.k_hat
    plot_terms = figures.plot_terms
    plot_effect = figures.plot_effect
    plot_residuals = figures.plot_residuals
