"""Results of a fit by maximum likelihood, of every kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.diagnostics import validation
from tobitgp.diagnostics.check import posterior_findings
from tobitgp.diagnostics.k_hat import KHat, regression_k_hat
from tobitgp.diagnostics.residual_tests import Finding, RawTest
from tobitgp.diagnostics.training_draws import read_draws
from tobitgp.distributions.event_times import JoinedDraws
from tobitgp.distributions.response import RowDistributions
from tobitgp.errors import SpecError
from tobitgp.kinds.likelihood import (
    LikelihoodParts,
    drawn_rows,
    estimates_of_rows,
    linear_estimates,
    moved_rows,
    scale_estimates,
    term_estimates,
    tested_estimates,
)
from tobitgp.numerics.sampling import Rng, generator
from tobitgp.posterior.estimates import Estimates
from tobitgp.posterior.questions import conditional
from tobitgp.regression.deviance_residuals import PseudoR2, pseudo_r2
from tobitgp.regression.maximum import known
from tobitgp.results import column_effects, figures, hazard_ratios, joint_draws, standardise
from tobitgp.results.averages import Estimated, Population, Sought
from tobitgp.results.counterfactuals import Change, ChangedRows
from tobitgp.results.effect_questions import Effect, EffectRequest
from tobitgp.results.hypotheses import WaldResults, likelihood_ratio
from tobitgp.results.interfaces import classical_tests, robust, row_values
from tobitgp.results.likelihood import bootstrap, influence, profile_intervals
from tobitgp.results.likelihood.likelihood_averages import likelihood_averages, likelihood_effect
from tobitgp.results.likelihood.likelihood_draws import (
    EstimateDraws,
    JointEstimates,
    draw_changes,
    draw_estimates,
    drawn_responses,
)
from tobitgp.results.likelihood.likelihood_function import log_likelihood_at
from tobitgp.results.likelihood.parametric_times import TimesWithin
from tobitgp.results.parameter_estimates import CovKind, Linear, Transformed
from tobitgp.results.ratios import Contrasts
from tobitgp.results.residuals import Tails
from tobitgp.results.results import Results
from tobitgp.results.rows import Asked, Scored, ask, response_of_rows
from tobitgp.results.survival import TimeRows, Times
from tobitgp.results.views import ModelView
from tobitgp.results.words import Words
from tobitgp.typing import Array, Frame, IntArray


class LikelihoodResults(Results):
    """A fit by maximum likelihood."""

    _parts: LikelihoodParts
    _by_restricted_means = False  # rows are ordered by mean times up to the last, since medians may be infinite, or 0

    def __init__(self, parts: Any):
        self._parts = parts

    # -- the fit ------------------------------------------------------------------------------------------------------

    @property
    def _reported(self) -> LikelihoodParts:
        """Parts whose estimates are those that are reported."""
        return self._parts

    @cached_property
    def _linear(self) -> Linear:
        return linear_estimates(self._reported)

    @cached_property
    def _rest(self) -> Transformed:
        return scale_estimates(self._reported)

    def _testable(self, kind: CovKind | None) -> tuple[Linear, Sequence[str]]:
        self._estimates(kind)
        return tested_estimates(self._reported)

    @property
    def df_model(self) -> float:
        """Number of estimated parameters."""
        return self._n_free

    @property
    def _n_free(self) -> float:
        return float(self._parts.maximum.free.sum())

    @property
    def llf(self) -> float:
        """Maximised log likelihood of the response as written, in nats: (REG2) or (CUR2) of the theory pages."""
        return self._parts.llf

    @cached_property
    def llnull(self) -> float:
        """Maximised log likelihood with an intercept only, in nats; NaN where that has no maximum.

        Formulas of other parameters are kept; (REG2) of the theory pages. It is not stored in files of cure models and
        of models with a parametric baseline.
        """
        return self._parts.null

    @property
    def prsquared(self) -> float:
        """McFadden's pseudo R2, ``1 - llf / llnull``, a dimensionless number; NaN where a likelihood is positive.

        References
        ----------
        McFadden (1974), Conditional logit analysis of qualitative choice behavior, in *Frontiers in Econometrics*.
        """
        return self._pseudo_r2.mcfadden

    @property
    def prsquared_vz(self) -> float:
        """Veall and Zimmermann's pseudo R2, a dimensionless number, the closest to the R2 of the uncensored response.

        (REG11) of the theory pages.

        References
        ----------
        Veall and Zimmermann (1994), *Oxford Bulletin of Economics and Statistics* 56, 485-499.
        """
        return self._pseudo_r2.veall_zimmermann

    @property
    def _pseudo_r2(self) -> PseudoR2:
        return pseudo_r2(self.llf, self.llnull, self._n_units)

    @property
    def evidence_kind(self) -> str:
        """A maximised likelihood, which is not an evidence: ``"loglik"``."""
        return "loglik"

    @property
    def converged(self) -> bool:
        """Whether a maximum was found."""
        return self._parts.maximum.converged

    @property
    def _search_message(self) -> str:
        return self._parts.maximum.message

    @property
    def method(self) -> str:
        """Name of the method: ``"mle"``."""
        return "mle"

    @property
    def cov_type(self) -> str:
        """Kind of covariance: ``"nonrobust"``, ``"HC0"``, ``"HC1"`` or ``"cluster"``."""
        return self._parts.cov_type

    @property
    def fit_history(self) -> pd.DataFrame:
        """The search, one row: columns ``stage, iterations, log_likelihood``."""
        columns = ["stage", "iterations", "log_likelihood"]
        return pd.DataFrame([("newton", self._parts.maximum.iterations, self.llf)], columns=columns)

    def lr_test(self, other: LikelihoodResults) -> WaldResults:
        """Likelihood ratio test against a smaller model of the same rows.

        A model without a cured fraction is not nested in a cure model, since its fraction is at the bound. Splines with
        different knots are not nested either. A Weibull baseline (a spline without inner knots) is nested in all
        splines.

        Parameters
        ----------
        other : fit by maximum likelihood
            Nested in this one: with fewer free parameters, on the same response.

        Returns
        -------
        WaldResults
            With ``statistic, pvalue, df``, dimensionless numbers.

        Raises
        ------
        SpecError
            If ``other`` does not have fewer parameters, has a higher likelihood or other rows, a fit holds no training
            rows, or its weights are sampling weights.

        References
        ----------
        S. S. Wilks (1938), The large-sample distribution of the likelihood ratio for testing
        composite hypotheses, *Annals of Mathematical Statistics* 9, 60-62.

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = tg.datasets.load("tobin")
        >>> larger = tg.fit("durable ~ age + quant | censor(0)", data)
        >>> larger.lr_test(tg.fit("durable ~ age | censor(0)", data))
        chi2(1) = 0.5817, p = 0.4457
        """
        return likelihood_ratio(self, other)

    @property
    def _family_in_words(self) -> str:
        return self._parts.family_words

    def _criterion(self) -> tuple[str, str]:
        return "Log likelihood", f"{self.llf:.2f}"

    def _words(self, alpha: float, kind: Any = None) -> Words:
        """Contents of summaries for this kind of fit."""
        raise NotImplementedError

    def _units(self) -> IntArray | None:
        """Units (n,) of rows that the bootstrap draws together; None of independent rows."""
        return None

    def _refits(self, statistic: bootstrap.Statistic | None) -> bootstrap.Refit:
        """Fits of the same model under other weights, for the bootstrap."""
        return bootstrap.Refit(self, statistic)

    # -- what questions need ------------------------------------------------------------------------------------------

    @property
    def _joint(self) -> JointEstimates:
        return JointEstimates(self._reported)

    def _posterior(self, asked: Asked, *, bands: bool) -> Estimates:
        return estimates_of_rows(self._parts, asked.design, bands=bands)

    def _log_noise(self, asked: Asked) -> tuple[Array, Array]:
        place = self._parts.place_of_scale
        if place is None:
            return super()._log_noise(asked)
        found = estimates_of_rows(self._reported, asked.design)
        V, N = (each[:, place, place] for each in (found.covariance, found.lost))
        return self._parts.sign_of_scale * found.x[place], np.sqrt(known(V, N))

    def _seen(self, new: Frame | None, asked: Asked) -> Scored:
        """Rows of whose response something is known."""
        found = response_of_rows(self._parts, new, asked)
        return found._replace(response=self._parts.known(found.response, found.asked.labels.to_numpy()))

    def _conditional(self, new: Frame | None, level: float | None, *, se: bool) -> pd.DataFrame:
        asked, seen = self._seen(new, ask(self._parts, new))
        posterior = self._posterior(asked, bands=se or level is not None)
        question = conditional(self._parts.family.log_time, *seen.within_window)
        return asked.table(posterior.statistics(question, level, se=se))

    def _terms(self, asked: Asked) -> dict[str, Estimates]:
        return term_estimates(self._reported, asked.design)

    def _likelihoods(self, rows: Scored) -> Array:
        seen = self._parts.known(rows.response, rows.asked.labels.to_numpy())
        y = self._posterior(rows.asked, bands=False).given
        return np.asarray(y.log_likelihood(seen.lower, seen.upper, seen.entry, seen.exit))

    def _tails(self, asked: Asked) -> Tails:
        seen = self._parts.rows.response
        return Tails.of(self._parts.in_training(), seen, self._parts.windows(seen))

    @property
    def _residuals(self) -> dict[str, Callable[[Asked], Array]]:
        own = {"response": response_residuals, "pearson": pearson_residuals} if not self._no_mean else {}
        return {**super()._residuals, **{kind: partial(of, self._parts) for kind, of in own.items()}}

    def _times(self, asked: Asked, *, bands: bool) -> Times:
        posterior = self._posterior(asked, bands=bands)
        if not self._by_restricted_means:
            return Times.of(posterior)
        return TimesWithin(posterior, np.arange(len(asked.design.H)), self._parts.last)  # type: ignore[attr-defined]

    def _time_rows(self, df: Frame | None, exclude: Any, *, bands: bool) -> TimeRows:
        asked = ask(self._parts, df, exclude)
        return TimeRows(asked.index, asked.usable, self._times(asked, bands=bands))

    def _location(self) -> Array:
        if self._by_restricted_means:
            return self._times(ask(self._parts), bands=False).order()
        return super()._location()

    def _order(self, asked: Asked) -> Array:
        return self._times(asked, bands=False).order()

    # -- draws --------------------------------------------------------------------------------------------------------

    def _sample(self, new: Frame | None, draws: int, what: str, exclude: Any, rng: Rng) -> tuple[Asked, Array]:
        asked, ends, shown = ask(self._parts, new, exclude), None, None
        if what == "observed":
            limits = asked.limits()
            shown, window = (limits.lower, limits.upper), np.isfinite(limits.entry) | np.isfinite(limits.exit)
            ends = (limits.entry, limits.exit) if window.any() else None
        if what == "conditional":
            if len(exclude):
                raise SpecError(
                    "what='conditional' conditions on the observed response with all terms. Leave exclude= out."
                )
            asked, seen = self._seen(new, asked)
            ends = seen.within_window
        size, stream = read_draws(draws, rows=len(asked.index)), generator(rng)
        change = draw_changes(self._parts, size, stream, question="sample()")[0]
        if what == "latent":
            return asked, moved_rows(self._parts, asked.design, change)[0]
        y = drawn_responses(drawn_rows(self._parts, asked.design, change), size, stream, ends)
        return asked, y if shown is None else np.clip(y, shown[0][:, None], shown[1][:, None])

    def _moved_times(self, asked: Asked, step: float) -> RowDistributions | None:
        if not self._parts.has_errors:
            return None
        change = step * np.hstack([self._parts.draw_root, -self._parts.draw_root])
        return JoinedDraws(tuple(drawn_rows(self._parts, asked.design, change)), np.arange(change.shape[1]))

    def _draws(self, draws: int, rng: Rng, question: str) -> EstimateDraws:
        self._refuse_dependent(question)
        return draw_estimates(self._parts, draws, rng, question=question)

    def _k_hat(self, draws: int, rng: Rng) -> KHat:
        return regression_k_hat(self._draws(draws, rng, "k_hat()"))

    def _findings(self, rng: Any) -> Iterator[Finding | RawTest]:
        return posterior_findings(self, rng)

    # -- contrasts and averages ---------------------------------------------------------------------------------------

    @property
    def _has_ratios(self) -> bool:
        return self._parts.family.log_time

    def _differences(self, contrasts: Contrasts) -> Linear:
        return self._linear.combine(contrasts.columns, -contrasts.offset)

    def _effect(self, change: Change, rows: ChangedRows, asked: EffectRequest, *, averaged: bool) -> Effect:
        return likelihood_effect(self._parts, change, rows, asked, averaged=averaged)

    def _averages(self, population: Population, sought: Sought) -> Estimated:
        return likelihood_averages(self._parts, population, sought)

    def _without_rows(self) -> Any:
        return type(self)(self._parts.without_rows())

    bootstrap = bootstrap.bootstrap
    influence = influence.influence
    profile_interval = profile_intervals.profile_interval
    _profile = profile_intervals.profile_interval
    posterior = joint_draws.posterior
    hazard_ratios = hazard_ratios.hazard_ratios
    standardise = standardise.standardise
    marginal_effects = column_effects.marginal_effects
    get_margeff = column_effects.marginal_effects
    k_hat = validation.k_hat
    plot = figures.plot
    plot_forest = figures.plot_forest
    plot_terms = figures.plot_terms
    plot_effect = figures.plot_effect
    plot_residuals = figures.plot_residuals

    covariance_type = property(row_values.covariance_type)
    bic_llf = property(classical_tests.bic_llf)
    f_test = classical_tests.f_test
    fvalue = property(classical_tests.fvalue)
    f_pvalue = property(classical_tests.f_pvalue)
    compare_lr_test = classical_tests.compare_lr_test
    pseudo_rsquared = classical_tests.pseudo_rsquared
    cov_HC0 = property(robust.cov_HC0)
    cov_HC1 = property(robust.cov_HC1)
    HC0_se = property(robust.HC0_se)
    HC1_se = property(robust.HC1_se)
    score_residuals = property(robust.score_residuals)
    get_robustcov_results = robust.get_robustcov_results
    _sandwich = robust.sandwich

    @property
    def model(self) -> ModelView:
        """Formula, specification, names of columns and parameters, and the likelihood as a function of these."""
        independent = getattr(self._parts, "frailty", None) is None
        likelihood = partial(log_likelihood_at, self._written_maximum) if independent else None
        return replace(super().model, likelihood=likelihood)

    @property
    def _written_maximum(self) -> LikelihoodParts:
        """Parts at whose maximum, and in whose distributions, parameters are in the user's units."""
        return self._reported

    def _scores_of_rows(self) -> Array:
        """Derivatives (n, k) of the log likelihood of rows, or subjects, in the parameters of the maximum."""
        found = robust.scored_fit(self)
        scores, k = found.maximum.scores, len(found.names)
        scores = scores if isinstance(scores, np.ndarray) else scores.toarray()  # of an absorbed factor
        return np.asarray(scores @ np.linalg.inv(found.moved(np.eye(k))).T)


def response_residuals(parts: LikelihoodParts, asked: Asked) -> Array:
    """Responses, or their means given what was seen, less means."""
    y = parts.in_training()
    return np.asarray(y.conditional_mean(*parts.known(parts.rows.response).within_window) - y.mean())


def pearson_residuals(parts: LikelihoodParts, asked: Asked) -> Array:
    """The same on the scale of the location, in standard deviations there."""
    return np.asarray(parts.in_training().pearson(*parts.known(parts.rows.response).within_window))
