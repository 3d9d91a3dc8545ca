"""A fit of proportional hazards as its users see it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, cast

import numpy as np
import pandas as pd

from tobitgp.data.outcome import check_response
from tobitgp.diagnostics import validation
from tobitgp.diagnostics.k_hat import KHat
from tobitgp.diagnostics.residual_tests import Finding, RawTest
from tobitgp.diagnostics.training_draws import read_draws, training_rows
from tobitgp.distributions.piecewise import band_of
from tobitgp.distributions.response import RowDistributions
from tobitgp.numerics.sampling import Rng, generator
from tobitgp.posterior.estimates import Estimates
from tobitgp.posterior.nodes import Nodes
from tobitgp.posterior.questions import Question
from tobitgp.results import column_effects, figures, hazard_ratios, joint_draws, standardise
from tobitgp.results.anova import term_tests
from tobitgp.results.averages import Averages, Population, Sought
from tobitgp.results.counterfactuals import Change, ChangedRows
from tobitgp.results.hazards import hazard_questions, piecewise_likelihood
from tobitgp.results.hazards.cell_times import HazardTimes
from tobitgp.results.hazards.cells import at_risk, exposures
from tobitgp.results.hazards.changing_ratios import hazard_ratios_over_time
from tobitgp.results.hazards.hazard_draws import HazardDraws, JointHazards, hazard_averages
from tobitgp.results.hazards.hazard_parts import HazardParts, drawn_hazards, expected_level
from tobitgp.results.hazards.log_hazards import effect_on_rows, location_of_rows, terms_of_rows
from tobitgp.results.hazards.proportionality import (
    proportionality_findings,
    tested_columns,
)
from tobitgp.results.hazards.robust_errors import robust_hazard_ratios
from tobitgp.results.hazards.row_paths import along_hazards
from tobitgp.results.interfaces import baseline, classical_tests, robust, row_values
from tobitgp.results.likelihood.regression_results import RegressionResults
from tobitgp.results.parameter_estimates import Linear, Transformed
from tobitgp.results.paths import Paths
from tobitgp.results.priors import prior_table
from tobitgp.results.process.process_results import GPResults
from tobitgp.results.process.term_tests import TermTest
from tobitgp.results.ratios import RatioKind
from tobitgp.results.residuals import Tails
from tobitgp.results.results import Results
from tobitgp.results.rows import Asked, Scored, ask, response_of_rows
from tobitgp.results.survival import TimeRows, Times
from tobitgp.results.why_not import unavailable
from tobitgp.results.words import HAZARD, Words
from tobitgp.typing import Array, Frame, IntArray


class HazardResults(Results):
    """Proportional hazards with a flexible baseline, by :func:`tobitgp.fit` with ``family="ph"``.

    Coefficients are log hazard ratios. The log hazard is a baseline, a function of log time, with linear terms,
    processes and random effects added; the baseline is a Gaussian process, or constant in bands (:class:`tobitgp.PH`).

    Parameters
    ----------
    parts : HazardParts
        Rows, bands, and the fit of the cells.

    References
    ----------
    (PH1) to (PH3) of the theory pages. A. Bender, A. Groll and F. Scheipl (2018), A generalized additive model approach
    to time-to-event analysis, *Statistical Modelling* 18, 299-321.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("Surv(time, event) ~ age + sex", tg.datasets.load("lung"), family="ph")
    >>> res.params[["age", "sex"]].round(2).to_dict()
    {'age': 0.02, 'sex': -0.51}
    """

    _parts: HazardParts
    _shows_ratios = True
    _from_zero = False
    _averages_warn = True
    _no_mean = "the mean time depends on the hazard after the last observed time"
    _data: pd.DataFrame | None = None  # the training data as given, where the fit was made from them

    def __init__(self, parts: HazardParts):
        self._parts = parts

    @cached_property
    def cells(self) -> GPResults | RegressionResults:
        """Results of the rows' cells, exponential exposures whose location is minus the log hazard; (PH2).

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("Surv(time, event) ~ age", tg.datasets.load("lung"), family=tg.PH("piecewise"))
        >>> res.cells.parts.family.name
        'exponential'
        """
        cells = self._parts.cells
        return RegressionResults(cells) if cells.estimated else GPResults.from_parts(cells)

    @cached_property
    def _linear(self) -> Linear:
        p = self._parts.n_linear
        return self.cells._linear.combine(-np.eye(p), np.zeros(p))

    @cached_property
    def _rest(self) -> Transformed:
        kept: Transformed = self.cells._rest.some(self._parts.kept[self._parts.n_linear :])
        return kept

    @property
    def _columns(self) -> tuple[str, ...]:
        return tuple(self._parts.cells.state.linear.columns)

    # -- the fit ------------------------------------------------------------------------------------------------------

    @property
    def hyperparameters(self) -> dict[str, float]:
        """Values at the maximum by name, natural scale, ready for ``fixed=``; none of a piecewise baseline alone."""
        return {name: value for name, value in getattr(self.cells, "hyperparameters", {}).items() if name != "sigma"}

    @property
    def priors(self) -> pd.DataFrame:
        """Priors that were used, with the columns of :attr:`GPResults.priors`.

        Those of coefficients are on the scale of the log hazard: (PRI2) and (HYP1) of the theory pages.

        Raises
        ------
        UnavailableError
            For a fit by maximum likelihood, which has no priors.
        """
        if self._parts.estimated:
            raise unavailable(self, "res.priors", "priors")
        table = prior_table(self.cells.parts.gp).drop(index="sigma")
        sign = np.where(table.index.isin(self._columns), -1.0, 1.0)
        return table.assign(location=sign * table["location"] + 0.0)

    @property
    def bands(self) -> pd.DataFrame:
        """Bands of time, a row for each: columns ``start, stop, events, exposure``, the sums of (PH2) by weight.

        Exposures are in units of time.
        """
        cuts, risk = self._parts.cuts, at_risk(training_rows(self._parts, "bands").response)
        seen = risk.event * risk.weight
        events = np.bincount(band_of(risk.exit, cuts), seen, len(cuts) - 1)
        exposure = risk.weight @ exposures(risk.entry, risk.exit, cuts)
        return pd.DataFrame({"start": cuts[:-1], "stop": cuts[1:], "events": events, "exposure": exposure})

    @property
    def df_model(self) -> float:
        """Effective number of parameters, (SIT2) of the theory pages; by maximum likelihood all, those of bands too."""
        return float(self.cells._n_free)

    @property
    def llf(self) -> float:
        """Maximised log likelihood (PH2) of the times in nats; NaN of a posterior, see ``log_evidence``."""
        return float(self.cells.llf)

    @property
    def log_evidence(self) -> float:
        """Log evidence of the times in nats, (SIT6) and (PH2) of the theory pages; NaN by maximum likelihood."""
        return float(getattr(self.cells, "log_evidence", np.nan))

    @property
    def log_evidence_integrated(self) -> float:
        """The same in nats, with hyper-parameters and their priors integrated out; NaN where they were maximised.

        (HYP7) of the theory pages.
        """
        return float(getattr(self.cells, "log_evidence_integrated", np.nan))

    def _method_with(self, **settings: Any) -> str:
        return self.cells._method_with(**settings)

    @property
    def evidence_kind(self) -> str:
        """Kind of ``log_evidence``, as for a process, or ``"loglik"``."""
        return str(self.cells.evidence_kind)

    @property
    def converged(self) -> bool:
        """Whether the search ended at a maximum, and more bands would not move coefficients."""
        return bool(self.cells.converged)

    @property
    def _search_message(self) -> str:
        return str(self.cells._search_message)

    @property
    def fit_history(self) -> pd.DataFrame:
        """Stages of the fit of the cells, a row for each, with the columns of a process or of a regression."""
        return pd.DataFrame(self.cells.fit_history)

    @property
    def method(self) -> str:
        """Name of the method that fitted."""
        return str(self.cells.method)

    @property
    def cov_type(self) -> str:
        """Kind of covariance."""
        return str(getattr(self.cells, "cov_type", "nonrobust"))

    def _criterion(self) -> tuple[str, str]:
        found: tuple[str, str] = self.cells._criterion()
        return found

    @property
    def _n_free(self) -> float:
        return float(self.cells._n_free)

    # -- what questions need ------------------------------------------------------------------------------------------

    _whats_of = " for proportional hazards"
    _whats = ("median", "quantile", "prob", "latent", "terms")
    _drawn = ("uncensored", "latent", "conditional")
    _has_ratios = True

    def _times(self, asked: Asked) -> HazardTimes:
        """Times of rows, up to the last exit."""
        return HazardTimes.of_rows(self._parts, asked.frame, asked.excluded)

    def _time_rows(self, df: Frame | None, exclude: Any, *, bands: bool) -> TimeRows:
        asked = ask(self._parts, df, exclude)
        return TimeRows(asked.index, asked.usable, self._times(asked))

    def _answer(
        self, asked: Asked, questions: Sequence[Question], level: float | None, *, se: bool
    ) -> list[dict[str, Array]]:
        times = self._times(asked)
        return [
            (location_of_rows(self._parts, asked) if question.of_means else times).statistics(question, level, se=se)
            for question in questions
        ]

    def _terms(self, asked: Asked) -> dict[str, Nodes | Estimates]:
        return terms_of_rows(self._parts, asked)

    def _effect(self, change: Change, rows: ChangedRows, asked: Any, *, averaged: bool) -> Any:
        return effect_on_rows(self._parts, change, rows, asked)

    def _k_hat(self, draws: int, rng: Rng) -> KHat:
        return self.cells._k_hat(draws, rng)

    def _drawn_times(
        self, asked: Asked, times: Times, draws: int, last: float, rng: np.random.Generator
    ) -> RowDistributions:
        known = cast(HazardTimes, times)
        rows, seed = known.frame.iloc[known.which], int(rng.integers(2**32))
        drawn = drawn_hazards(known.parts, rows, known.cuts(last), known.exclude, draws=draws, seed=seed)
        return replace(drawn, goes_on=False)

    def _along(self, of: str, paths: Paths, level: float | None) -> dict[str, Array]:
        return along_hazards(self._parts, of, paths, level)

    def _order(self, asked: Asked) -> Array:
        return self._times(asked).order()

    def _likelihoods(self, rows: Scored) -> Array:
        at_risk(rows.response)
        return self._times(rows.asked).log_likelihoods(rows.response)

    def _tails(self, asked: Asked) -> Tails:
        times = self._times(asked)
        return Tails.of_survival(lambda at: times.survive(at[:, None])[:, 0], self._parts.rows.response)

    def _predicted_below(self, df: Frame, rows: Scored, y: Array) -> Array:
        times = self._times(rows.asked)
        last = times.furthest(None)
        below = -np.expm1(Times.survive(times.until(last), np.clip(y, 0.0, last)[:, None])[:, 0])
        return np.where(np.isposinf(y), 1.0, below)

    @property
    def _joint(self) -> JointHazards:
        assert self._parts.covariates is not None
        return JointHazards(self._parts, self._parts.covariates)

    def _sample(self, new: Frame | None, draws: int, what: str, exclude: Any, rng: Rng) -> tuple[Asked, Array]:
        asked, known = ask(self._parts, new, exclude), None
        if what == "conditional":
            asked, seen = response_of_rows(self._parts, new, asked)
            check_response(seen, log_time=True, labels=asked.labels.to_numpy())
            known = seen.within_window
        size, rows = read_draws(draws, rows=len(asked.index)), JointHazards(self._parts, asked.frame, exclude)
        return asked, rows.draw(asked, size, noise=what != "latent", rng=generator(rng), known=known)

    def _location(self) -> Array:
        assert self._parts.covariates is not None
        return -expected_level(self._parts, self._parts.covariates)

    def _findings(self, rng: Any) -> Iterator[Finding | RawTest]:
        yield from self.cells._findings(rng)
        if tested_columns(self._parts, self._parts.written):
            yield from proportionality_findings(self._parts, self._parts.written, self.proportionality(), has_tv=True)

    def _draws(self, draws: int, rng: Rng, question: str) -> HazardDraws:
        training = training_rows(self._parts, question)
        assert self._parts.covariates is not None
        stream, risk = generator(rng), at_risk(training.response)
        return HazardDraws(self._parts, self._parts.covariates, risk, draws, int(stream.integers(2**32)), stream)

    def _term_tests(self) -> Iterator[tuple[str, TermTest]]:
        return term_tests(self.cells, self._parts.written.is_own, [self._parts.written.baseline])

    def _averages(self, population: Population, sought: Sought) -> Averages:
        times = HazardTimes.of_rows(self._parts, population.frame, ())
        after = 0.0 if sought.after is None else sought.after
        last = times.furthest(np.array([after])) if sought.what == "median" else after + float(sought.times.max())
        found = hazard_averages(self._parts, population, sought, times.cuts(last))
        if sought.what == "median":
            times.warn_of_times({"": found.statistics(None)["estimate"].ravel()}, np.array(after))
        else:
            times.warn_beyond(last)
            times.warn_before(after if sought.after is not None else float(sought.times.min()))
        return found

    def _forest(self, terms: Any, alpha: float, *, ratios: bool) -> list[Any]:
        rows = self.cells._forest(self._parts.own_terms if terms is None else terms, alpha, ratios=ratios)
        if ratios:
            return rows
        return [row._replace(value=0.0 - row.value, low=-row.high, high=-row.low) for row in rows]

    def _ratio_kind(self) -> RatioKind:
        return RatioKind(HAZARD, -1.0)

    @property
    def _kind(self) -> str:  # type: ignore[override]
        return "piecewise" if self._parts.estimated else "hazard"

    def _words(self, alpha: float, kind: Any = None) -> Words:
        from tobitgp.report.hazard_summary import hazard_words

        return hazard_words(self, alpha)

    def _without_rows(self) -> HazardResults:
        return HazardResults(self._parts.without_rows())

    def _refuse_dependent(self, question: str) -> None:
        piecewise_likelihood.cells_at_maximum(self._parts, question)

    def _refits(self, statistic: Any) -> piecewise_likelihood.CellRefit:
        return piecewise_likelihood.CellRefit(self, statistic)

    def _units(self) -> IntArray | None:
        return None

    llnull = cached_property(piecewise_likelihood.llnull)
    prsquared = property(piecewise_likelihood.prsquared)
    profile_interval = piecewise_likelihood.profile_interval
    _profile = piecewise_likelihood.profile_interval
    lr_test = piecewise_likelihood.lr_test
    bootstrap = piecewise_likelihood.bootstrap
    influence = piecewise_likelihood.influence
    group_effects = hazard_questions.group_effects
    proportionality = hazard_questions.proportionality
    _ratio_table = hazard_questions.ratios_of_cells
    hazard_ratios = hazard_ratios.hazard_ratios
    robust_hazard_ratios = robust_hazard_ratios
    hazard_ratios_over_time = hazard_ratios_over_time
    plot_forest = figures.plot_forest
    plot = hazard_questions.plot
    standardise = standardise.standardise
    posterior = joint_draws.posterior
    marginal_effects = column_effects.marginal_effects
    get_margeff = column_effects.marginal_effects
    k_hat = validation.k_hat
    plot_effect = figures.plot_effect
    plot_terms = figures.plot_terms
    plot_residuals = figures.plot_residuals

    covariance_type = property(row_values.covariance_type)
    bic_llf = property(classical_tests.bic_llf)
    f_test = classical_tests.f_test
    fvalue = property(classical_tests.fvalue)
    f_pvalue = property(classical_tests.f_pvalue)
    compare_lr_test = classical_tests.compare_lr_test
    pseudo_rsquared = classical_tests.pseudo_rsquared
    _sandwich = robust.sandwich_of_changes
    cov_HC0 = property(robust.cov_HC0)
    cov_HC1 = property(robust.cov_HC1)
    HC0_se = property(robust.HC0_se)
    HC1_se = property(robust.HC1_se)
    score_residuals = property(robust.score_residuals)
    baseline_cumulative_hazard = property(baseline.baseline_cumulative_hazard)
    baseline_cumulative_hazard_function = property(baseline.baseline_cumulative_hazard_function)
    schoenfeld_residuals = property(baseline.schoenfeld_residuals)

    def _scores_of_rows(self) -> Array:
        """Derivatives (n, k) of the log likelihood of rows in the coefficients of the log hazard."""
        return piecewise_likelihood.scores_of_rows(self._parts, written=True)

    @property
    def _log_relative_hazards(self) -> Array:
        """Log hazards (n,) of the training rows but for the baseline."""
        return -self._location()
