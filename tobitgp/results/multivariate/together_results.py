"""Methods of results of several responses, for each response and for all values together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, ClassVar

from tobitgp.diagnostics import calibration_figures, validation
from tobitgp.diagnostics import check as checks
from tobitgp.diagnostics.residual_tests import Finding, RawTest
from tobitgp.errors import SpecError
from tobitgp.results import (
    conformal,
    curves,
    figures,
    predicted_distribution,
    prediction,
    survival_figures,
    times,
    written_curves,
)
from tobitgp.results.multivariate import of_responses, together_questions
from tobitgp.results.multivariate.of_responses import (
    drawn_apart,
    drawn_for_each,
    find_response,
    of_all,
    of_each,
    of_one,
)
from tobitgp.results.ratios import RatioKind
from tobitgp.results.results import Results
from tobitgp.results.views import COUNTS, ModelData, ModelView


class TogetherResults(Results):
    """Results of several responses, each of which has results alone."""

    responses: tuple[str, ...]
    _each: Any  # results of each response, (J,)
    _of_rows: ClassVar[Mapping[str, Any]] = {}  # quantities of a row that are not of one response

    def __getitem__(self, response: str) -> Any:
        """One response, with the methods of a fit of it."""
        return self._each[find_response(response, self.responses)]

    def _panels(self, ax: Any) -> list[Any]:
        """Axes with the name of each response, those that are given or new ones."""
        from tobitgp.report.several_summary import panels_of

        return panels_of(self.responses, ax)

    def _ratio_kind(self) -> RatioKind:
        raise SpecError("Hazard ratios require one response. Fit each response separately, without mvbind().")

    @property
    def _values_in_words(self) -> str:
        """Numbers of responses and values."""
        counts = self.counts
        censored = [f"{counts[kind]} {kind}-censored" for kind in COUNTS[1:4] if counts[kind]]
        kinds = ", ".join([f"{counts['exact']} exact", *censored])
        return f"{len(self.responses)} responses, {self.nobs:.10g} values: {kinds}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}: {self.formula}\n  {self._values_in_words}"

    @property
    def model(self) -> ModelView:
        """Formula, specification and names of columns and parameters, as for :attr:`GPResults.model`."""
        parts, data = self._parts, ModelData(self._names, self._parts.covariates)
        return ModelView(parts.spec.formula, parts.spec, parts.spec.response.label, list(self._columns), data)

    def _criterion(self) -> tuple[str, str]:
        return "Log evidence", f"{self.log_evidence:.2f} ({self.evidence_kind})"

    def _row_tests(self, rng: Any) -> Iterator[Finding | RawTest]:
        for name in self.responses:
            for found in self[name]._row_tests(rng):
                yield found._replace(name=f"{found.name}[{name}]")

    # -- of every response --------------------------------------------------------------------------------------------

    predict = together_questions.predict
    get_prediction = of_each(prediction.get_prediction)
    get_distribution = of_each(predicted_distribution.get_distribution)
    residuals = of_each(prediction.residuals)
    predict_survival_function = of_each(curves.predict_survival_function, "df", curves.read_grid)
    predict_cumulative_hazard = of_each(curves.predict_cumulative_hazard, "df", curves.read_grid)
    predict_hazard = of_each(curves.predict_hazard, "df", curves.read_grid)
    predict_percentile = of_each(times.predict_percentile, "df")
    predict_median = of_each(times.predict_median, "df")
    predict_expectation = of_each(times.predict_expectation, "df")
    predict_restricted_mean = of_each(times.predict_restricted_mean, "df")
    write_curves = of_one(written_curves.write_curves)
    conformalise = of_each(conformal.conformalise)
    plot_residuals = drawn_apart(figures.plot_residuals)
    plot_calibration = drawn_for_each(calibration_figures.plot_calibration)
    plot_cox_snell = drawn_for_each(calibration_figures.plot_cox_snell)
    plot_predictive_check = drawn_for_each(calibration_figures.plot_predictive_check)
    plot_survival = drawn_for_each(survival_figures.plot_survival)
    plot_hazard = drawn_for_each(survival_figures.plot_hazard)

    # -- of all values together ---------------------------------------------------------------------------------------

    impute = together_questions.impute
    sample = together_questions.sample
    score = of_responses.score
    concordance_index_ = cached_property(of_responses.concordance_index)
    check = of_all(checks.check)
    loo = of_all(validation.loo)
    waic = of_all(validation.waic)
    log_likelihood_draws = of_all(validation.log_likelihood_draws)
    to_arviz = of_all(validation.to_arviz)
