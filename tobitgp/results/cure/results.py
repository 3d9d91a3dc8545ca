"""A fitted cure model as its users see it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.outcome import outcome
from tobitgp.diagnostics import validation
from tobitgp.diagnostics.check import posterior_findings
from tobitgp.diagnostics.draws import read_draws
from tobitgp.diagnostics.k_hat import OF_CURE, KHat, regression_k_hat
from tobitgp.diagnostics.residual_tests import Finding
from tobitgp.diagnostics.validation import Rng
from tobitgp.errors import SpecError
from tobitgp.numerics.factored import dense
from tobitgp.numerics.sampling import generator
from tobitgp.posterior.estimates import Estimates
from tobitgp.results import curves, hazard_ratios, standardise
from tobitgp.results.averages import Estimated, Population, Sought
from tobitgp.results.cure import questions
from tobitgp.results.cure.averages import cure_averages
from tobitgp.results.cure.draws import CureDraws, draw_cure, draw_times
from tobitgp.results.cure.parts import (
    ENDS,
    CureParts,
    CureTimes,
    being_cured,
    estimates_of_rows,
)
from tobitgp.results.estimates import Linear
from tobitgp.results.hazard_ratios import Kind
from tobitgp.results.hypotheses import WaldResults, likelihood_ratio
from tobitgp.results.predict import check_level, check_what, predict_table, prediction_table, read_questions
from tobitgp.results.regression.likelihood import LikelihoodResults
from tobitgp.results.rows import Asked, Scored, ask, read_scored, response_of_rows
from tobitgp.results.survival import TimeRows
from tobitgp.results.times import Scores
from tobitgp.typing import Array, Frame

WHATS = ("median", "latent", "quantile", "prob", "cured")


class CureResults(LikelihoodResults):
    """A mixture cure model, by :func:`tobitgp.fit` with ``cure="~ terms"``.

    A share of the rows, which may depend on covariates, is cured and never has the event; the times of the others are
    those of a regression of log time, their latency. Coefficients named ``cured[...]`` are log odds of being cured.

    Parameters
    ----------
    parts : CureParts
        Specification, rows and maximum.

    References
    ----------
    (CUR1) to (CUR5) of the theory pages. V. T. Farewell (1982), The use of mixture models for the analysis of survival
    data with long-term survivors, *Biometrics* 38, 1041-1046.

    Examples
    --------
    >>> import tobitgp as tg
    >>> data = tg.datasets.simulate_cure(n=400, rng=1)
    >>> res = tg.fit("Surv(time, event) ~ treated", data, family="weibull", cure="~ treated")
    >>> res.params.round(2)
    Intercept           0.05
    treated             0.25
    cured[Intercept]   -0.80
    cured[treated]      1.06
    sigma               0.81
    dtype: float64
    """

    _parts: CureParts
    _no_mean = "where some are cured the mean time is infinite"

    def _testable(self, kind: Any) -> tuple[Linear, Sequence[str]]:
        self._estimates(kind)
        maximum, k = self._parts.maximum, len(self._columns) + len(self._parts.scale_columns)
        V, N = (dense(each)[:k, :k] for each in (self._parts.covariance, self._parts.unidentified))
        return Linear(np.ones(1), maximum.parameters[None, :k], [V], ~maximum.free[:k], N), self._names[:k]

    # -- the fit ------------------------------------------------------------------------------------------------------

    @property
    def df_model(self) -> float:
        """Number of estimated parameters."""
        return float(self._parts.maximum.free.sum())

    @property
    def fit_history(self) -> pd.DataFrame:
        """Where the search from each start ended: columns ``stage, iterations, log_likelihood, cured, converged``."""
        assert self._parts.ends is not None
        found = pd.DataFrame(self._parts.ends, columns=list(ENDS)).astype({"iterations": int, "converged": bool})
        found.insert(0, "stage", [f"start {i + 1}" for i in range(len(found))])
        return found

    @property
    def _has_ratios(self) -> bool:
        return True

    def _ratio_kind(self) -> Kind:
        raise SpecError(
            "Where some are cured no hazard ratio is the same at all times: predict_hazard(...) at two rows gives both "
            "hazards over time."
        )

    def lr_test(self, other: CureResults) -> WaldResults:
        """Likelihood ratio test against a smaller cure model of the same rows.

        A model without a cured fraction is none: it lies at the end of what the fraction may be.

        Parameters
        ----------
        other : CureResults
            Nested in this one: with fewer free parameters, on the same response.

        Returns
        -------
        WaldResults
            With ``statistic, pvalue, df``, pure numbers.

        Raises
        ------
        SpecError
            As of :meth:`RegressionResults.lr_test`.

        References
        ----------
        S. S. Wilks (1938), The large-sample distribution of the likelihood ratio for testing composite hypotheses,
        *Annals of Mathematical Statistics* 9, 60-62.

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = tg.datasets.simulate_cure(n=400, rng=1)
        >>> larger = tg.fit("Surv(time, event) ~ treated", data, family="weibull", cure="~ treated")
        >>> larger.lr_test(tg.fit("Surv(time, event) ~ treated", data, family="weibull", cure="~ 1"))
        chi2(1) = 26.43, p = 2.73e-07
        """
        return likelihood_ratio(self, other)

    # -- the cured ----------------------------------------------------------------------------------------------------

    def predict_survival_function(
        self,
        df: Frame | None = None,
        times: Any = None,
        *,
        conditional_after: Any = None,
        interval: float | None = None,
        exclude: str | Sequence[str] = (),
        uncured: bool = False,
    ) -> pd.DataFrame:
        r"""Probability of surviving each time, :math:`S(t) = \pi + (1 - \pi) S_u(t)`, never below that of being cured.

        Parameters
        ----------
        df, times, conditional_after, interval, exclude
            As of :meth:`RegressionResults.predict_survival_function`.
        uncured : bool
            Of those who are not cured, :math:`S_u(t)`.

        Returns
        -------
        DataFrame
            Probabilities: times in the index, a column for each row; with ``interval`` the columns are ``(row,
            mean|median|lower|upper)``.

        Raises
        ------
        SpecError, DataError, UnseenLevelError
            As of :meth:`RegressionResults.predict_survival_function`.

        References
        ----------
        (CUR1) of the theory pages.

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = tg.datasets.simulate_cure(n=400, rng=1)
        >>> res = tg.fit("Surv(time, event) ~ treated", data, family="weibull", cure="~ treated")
        >>> res.predict_survival_function({"treated": [0, 1]}, [1, 5], uncured=True).round(2)
                0     1
        1.0  0.39  0.50
        5.0  0.00  0.01
        """
        options: dict[str, Any] = {"conditional_after": conditional_after, "interval": interval, "exclude": exclude}
        results = _Uncured(self._parts) if uncured else self
        return curves.predict_survival_function(results, df, times, **options)

    # -- what questions need ------------------------------------------------------------------------------------------

    def _posterior(self, asked: Asked, *, bands: bool) -> Estimates:
        return estimates_of_rows(self._parts, asked.design, bands=bands)

    def _time_rows(self, df: Frame | None, exclude: Any, *, bands: bool) -> TimeRows:
        asked = ask(self._parts, df, exclude)
        return TimeRows(asked.index, asked.usable, self._times(asked, bands=bands))

    def _times(self, asked: Asked, *, bands: bool) -> CureTimes:
        return CureTimes(self._posterior(asked, bands=bands), np.arange(len(asked.design.H)), self._parts.last)

    def _predict(self, new: Frame | None, what: str | None, **options: Any) -> pd.Series[float] | pd.DataFrame:
        what = check_what(what, WHATS, " of a cure model")
        if what != "cured":
            return predict_table(self, new, what, **options)
        read_questions(what, options["q"], options["below"], options["above"])
        if len(options["exclude"]):
            raise SpecError("what='cured' is no term of the times, of which exclude= takes nothing away.")
        level, bands = check_level(options["interval"]), bool(options["se"]) or options["interval"] is not None
        asked = ask(self._parts, new)
        found = self._answer(asked, [being_cured()], level, se=bool(options["se"]))[0]
        return prediction_table(what, asked, {what: found}, listed=False, bands=bands)

    def _location(self) -> Array:
        return self._time_rows(None, (), bands=False).times.order()

    def _scores(self, df: Frame, scoring_method: str) -> Scores:
        rows = read_scored(self._parts, df)
        density = scoring_method == "log_likelihood"
        values = self._likelihoods(rows) if density else self._times(rows.asked, bands=False).order()
        seen = rows.response
        return Scores(rows.asked.usable, seen.lower, seen.upper, seen.entry, values)

    def _likelihoods(self, rows: Scored) -> Array:
        y, seen = self._posterior(rows.asked, bands=False).given, rows.response
        exact = seen.lower == seen.upper
        left = y.logsf(np.maximum(seen.lower, 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            gone = np.where(np.isposinf(seen.upper), -np.inf, y.logsf(seen.upper) - left)
            value = np.where(exact, y.logpdf(seen.lower), left + np.log(-np.expm1(gone)))
        return np.asarray(value - y.logsf(np.maximum(seen.entry, 0.0)))

    @property
    def _drawn(self) -> tuple[str, ...]:
        return ("uncensored", "conditional")

    def _sample(self, new: Frame | None, draws: int, what: str, exclude: Any, rng: Rng) -> tuple[Asked, Array]:
        asked, start = ask(self._parts, new, exclude), None
        if what == "conditional":
            asked, seen = response_of_rows(self._parts, new, asked)
            known = outcome(seen, log_time=True, labels=asked.labels.to_numpy())
            start = np.exp(known.lower), known.exact
        size = read_draws(draws, rows=len(asked.index))
        return asked, draw_times(self._parts, asked.design, size, generator(rng), start)

    def _draws(self, draws: int, rng: Rng, question: str) -> CureDraws:
        return draw_cure(self._parts, draws, rng, question=question)

    def _k_hat(self, draws: int, rng: Rng) -> KHat:
        return regression_k_hat(draw_cure(self._parts, draws, rng, question="k_hat()"), OF_CURE)

    def _findings(self, rng: Any) -> Iterator[Finding]:
        return posterior_findings(self, rng)

    def _averages(self, population: Population, sought: Sought) -> Estimated:
        return cure_averages(self._parts, population, sought)

    def _summary(self, alpha: float, kind: Any, ratios: pd.DataFrame | None = None) -> Any:
        from tobitgp.report.cure import summarise_cure

        self._estimates(kind)
        return summarise_cure(self, alpha)

    def _without_rows(self) -> CureResults:
        return CureResults(self._parts.without_rows())

    cured_fraction = questions.cured_fraction
    profile_cured = questions.profile_cured
    predict_cured = questions.predict_cured
    hazard_ratios = hazard_ratios.hazard_ratios
    standardise = standardise.standardise
    k_hat = validation.k_hat


class _Uncured(CureResults):
    """The same fit, asked about those who are not cured."""

    def _posterior(self, asked: Asked, *, bands: bool) -> Estimates:
        return estimates_of_rows(self._parts, asked.design, bands=bands, uncured=True)
