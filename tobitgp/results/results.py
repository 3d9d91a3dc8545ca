"""The questions that every fit answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

from tobitgp.diagnostics import calibration_figures, validation
from tobitgp.diagnostics import check as checks
from tobitgp.results import (
    anova,
    conformal,
    curves,
    figures,
    hazard_ratios,
    hypotheses,
    joint_draws,
    output,
    parameter_tables,
    predicted_distribution,
    prediction,
    standardise,
    survival_figures,
    times,
    written_curves,
)
from tobitgp.results.anova import term_tests
from tobitgp.results.fit import Fit
from tobitgp.results.process.term_tests import TermTest
from tobitgp.results.views import COUNTS


class Results(Fit):
    """A fit of any kind, and the questions that it answers, which are functions of the fit."""

    predict = prediction.predict
    _predict = prediction.predict_table
    _location = prediction.location
    sample = joint_draws.sample
    _sample = joint_draws.draw_rows
    _draw_inside = joint_draws.draw_inside
    get_prediction = prediction.get_prediction
    get_distribution = predicted_distribution.get_distribution
    residuals = prediction.residuals

    predict_survival_function = curves.predict_survival_function
    predict_cumulative_hazard = curves.predict_cumulative_hazard
    predict_hazard = curves.predict_hazard
    write_curves = written_curves.write_curves
    plot_survival = survival_figures.plot_survival
    plot_hazard = survival_figures.plot_hazard

    predict_percentile = times.predict_percentile
    predict_median = times.predict_median
    predict_expectation = times.predict_expectation
    predict_restricted_mean = times.predict_restricted_mean
    concordance_index_ = cached_property(times.concordance_index)
    score = times.score

    _row_tests = checks.row_tests
    check = checks.check
    _make_elpd = validation.make_elpd
    loo = validation.loo
    waic = validation.waic
    log_likelihood_draws = validation.log_likelihood_draws
    to_arviz = validation.to_arviz
    plot_calibration = calibration_figures.plot_calibration
    plot_cox_snell = calibration_figures.plot_cox_snell
    plot_predictive_check = calibration_figures.plot_predictive_check

    conf_int = parameter_tables.conf_int
    cov_params = parameter_tables.cov_params
    summary_frame = parameter_tables.summary_frame
    summary = parameter_tables.summary
    t_test = hypotheses.t_test
    wald_test = hypotheses.wald_test
    anova = anova.anova
    _ratio_tables = hazard_ratios.ratio_tables

    conformalise = conformal.conformalise
    _contrast = standardise.contrast_of
    _forest = figures.forest_rows

    save = output.save
    report = output.report
    to_maketables = output.to_maketables
    __maketables_coef_table__ = property(output.coef_table)
    __maketables_stat__ = output.stat
    __maketables_depvar__ = property(output.response)
    __maketables_vcov_info__ = property(output.error_type)
    __maketables_stat_labels__ = property(output.stat_labels)
    __maketables_default_stat_keys__ = property(output.default_stats)

    def _term_tests(self) -> Iterator[tuple[str, TermTest]]:
        return term_tests(self)

    @property
    def default_model_infos(self) -> dict[str, Callable[[Any], str]]:
        """What makes the rows that ``statsmodels.iolib.summary2.summary_col`` puts below its columns, by label."""
        infos: dict[str, Callable[[Any], str]] = {"N": lambda res: f"{res.nobs:.10g}"}
        for kind in COUNTS[:4]:
            infos[output.STAT_LABELS[kind]] = lambda res, kind=kind: str(int(res.parts.facts.counts[kind]))  # type: ignore[misc]
        return {**infos, self._criterion()[0]: lambda res: str(res._criterion()[1])}
