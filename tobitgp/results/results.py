"""Results of a fit of any kind: what it states of itself, and the questions that it answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tobitgp.data.arrays import CensoredResponse
from tobitgp.diagnostics import calibration_figures, validation
from tobitgp.diagnostics import check as checks
from tobitgp.diagnostics.elpd import Elpd
from tobitgp.diagnostics.k_hat import KHat
from tobitgp.distributions.event_times import JoinedDraws
from tobitgp.distributions.response import RowDistributions
from tobitgp.errors import SpecError
from tobitgp.formula.spec import ModelSpec
from tobitgp.method_value import call_text
from tobitgp.numerics.sampling import Rng
from tobitgp.posterior.estimates import Estimates
from tobitgp.posterior.nodes import Nodes
from tobitgp.posterior.questions import Question
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
    scale_hypotheses,
    standardise,
    survival_figures,
    times,
    written_curves,
)
from tobitgp.results.anova import term_tests
from tobitgp.results.averages import Averages, Population, Sought
from tobitgp.results.comparable import Subject, subject_of
from tobitgp.results.counterfactuals import Change, ChangedRows
from tobitgp.results.effect_questions import Effect, EffectRequest
from tobitgp.results.fit import Fit
from tobitgp.results.interfaces import broom, classical_tests, row_values, second_summary
from tobitgp.results.joint import DRAWN, JointPosterior
from tobitgp.results.parameter_estimates import CovKind, Linear, with_tested
from tobitgp.results.paths import Paths
from tobitgp.results.predict import whats
from tobitgp.results.process.term_tests import TermTest
from tobitgp.results.ratios import Contrasts, RatioKind, family_ratio
from tobitgp.results.residuals import Tails
from tobitgp.results.rows import Asked, Scored, Scores, ask, no_limits, read_scored
from tobitgp.results.survival import TimeRows, Times
from tobitgp.results.terms import Term
from tobitgp.results.views import COUNTS, ModelData, ModelView, plain_text
from tobitgp.results.why_not import WHY_NOT, known_facts, missing_attribute, reason_of, unavailable
from tobitgp.typing import Array, Frame

_NO_LIKELIHOOD = "\n  llf, aic and bic are NaN for a posterior; compare fits by log_evidence"


if TYPE_CHECKING:  # at run time, the reason for what a kind lacks is given by `__getattr__`
    _Base = Fit
else:
    _Base = object


class Results(_Base):
    """A fit of any kind. Each kind states what it was made of and found; questions are functions of the fit."""

    _parts: Any
    _together: Any = None  # the fit of all responses, where this is one of several
    _causes: tuple[Any, ...] = ()  # of events, where there are several
    _of_cause = False  # whether events of other causes are censoring
    _shows_ratios = False  # whether plot_forest() draws ratios by default
    _from_zero = True  # whether a path of covariates has to begin at time 0
    _about_latent = False  # whether the response, or its logarithm, is the latent value plus noise of a scale
    _averages_warn = False  # whether averages themselves warn of times beyond the follow-up
    _no_mean = ""  # why times have no mean, where they have none
    _no_ratio = ""  # why no ratio of hazards or odds is the same at all times, where none is

    _knows_null = False  # whether summaries show `llnull`, which takes another fit where it is not known
    _figure = "plot"  # the figure that shows the fit
    _never = False  # whether some rows never have the event by the model, so that draws may be infinite

    @property
    def _defective(self) -> bool:
        """Whether some never have the event, of which the fit itself says that times are infinite."""
        return False

    # -- what each kind says of itself --------------------------------------------------------------------------------

    def _ask(self, new: Frame | None, exclude: Any = (), instead: str = "") -> Asked:
        """Rows of new or of the training data that can be used."""
        return ask(self._parts, new, exclude, instead=instead)

    def _number_of(self, cause: Any) -> int:
        """Place of a cause among those of the fit."""
        raise SpecError(f"cause={cause!r}: this fit has one kind of event. Leave cause= out.")

    def _read_scored(self, df: Frame, needed_by: str) -> Scored:
        """New rows of which something is known, and what that is."""
        return read_scored(self._parts, df, needed_by)

    def _using(self, column: str) -> Any:
        """Parts of which a column of the data is an input."""
        return self._parts

    @property
    def _specifications(self) -> list[ModelSpec]:
        """Specification of the formulas."""
        return [self._parts.spec]

    @property
    def _subjects(self) -> Mapping[Any, Subject]:
        """Rows and response of the model; by cause for several causes."""
        return {None: subject_of(self)}

    @property
    def _of_subjects(self) -> bool:
        """Whether training rows are parts of the time of subjects."""
        return bool(getattr(self._parts, "of_subjects", False))

    @property
    def _of_sample(self) -> bool:
        """Whether standard errors are those of sampling weights, with which the likelihood has no unit."""
        return bool(getattr(self._parts, "sampling", False))

    def _ratio_kind(self) -> RatioKind:
        """The ratio of hazards or odds that is the same at all times."""
        if self._no_ratio:
            raise SpecError(self._no_ratio)
        return family_ratio(self._parts)

    def _term_tests(self) -> Iterator[tuple[str, TermTest]]:
        """Joint tests of terms."""
        return term_tests(self)

    def _process_test(self, term: Term) -> TermTest | None:
        """Joint test of a process, of fits that have any."""
        return None

    def _averages(self, population: Population, sought: Sought) -> Averages:
        """Averages over rows under settings of their columns."""
        raise unavailable(self, "An average over rows", "standardise")

    def _effect(self, change: Change, rows: ChangedRows, asked: EffectRequest, *, averaged: bool) -> Effect:
        """Effect of a change of a column, of the mean row where it is ``averaged``."""
        raise unavailable(self, "marginal_effects()", "marginal_effects")

    def _differences(self, contrasts: Contrasts) -> Linear:
        """Differences of f in pairs of rows."""
        raise unavailable(self, "A difference of predictors between rows", "plot_forest")

    def _log_ratios(self, contrasts: Contrasts, sign: float) -> Linear:
        """Logarithms of ratios of hazards or odds in pairs of rows."""
        raise unavailable(self, "A ratio of hazards or odds", "hazard_ratios")

    @property
    def _columns(self) -> Sequence[str]:
        """Names of linear coefficients."""
        return tuple(self._parts.state.linear.columns)

    @property
    def _names(self) -> list[str]:
        """Names of all parameters."""
        return list(self._parts.names)

    def __repr__(self) -> str:
        counts = self._parts.facts.counts
        censored = ", ".join(f"{counts[k]} {k}-censored" for k in COUNTS[1:4] if counts[k]) or "none censored"
        return (
            f"{type(self).__name__}: {self._written}\n"
            f"  {self._family_in_words}, method {self.method}: "
            f"{counts['exact']} rows exact, {censored}, {counts['dropped']} dropped\n"
            f"  {self._criterion_in_words}, {'converged' if self.converged else 'NOT converged'}"
            f"{'' if self.evidence_kind == 'loglik' else _NO_LIKELIHOOD}"
        )

    @property
    def _written(self) -> str:
        """The formula in one line."""
        return str(self._parts.spec.written_as(self.formula))

    @property
    def _column_texts(self) -> tuple[str, ...]:
        """Texts that mention the columns required in new data."""
        weight = getattr(self._parts.state, "var_weight", None)
        return (self._written, *(weight[:1] if weight else ()))

    @property
    def _criterion_in_words(self) -> str:
        name, value = self._criterion()
        return f"{name.lower()} {value}"

    @property
    def _family_in_words(self) -> str:
        return str(self._parts.family.name)

    def _method_with(self, **settings: Any) -> str:
        """How the user writes the method of the fit, or one that forms a posterior, with settings changed."""
        return f"method=tg.{call_text('EP', settings)}"

    @property
    def _fell_back(self) -> bool:
        """Whether another method had to take over."""
        return False

    def _log_noise(self, asked: Asked) -> tuple[Array, Array]:
        """Mean and standard deviation of log sigma in rows, (n,) each."""
        raise unavailable(self, "what='sigma'", "sigma")

    _whats_of = ""  # what a message on ``what=`` says of the kind of fit

    @property
    def _whats(self) -> tuple[str, ...]:
        """Quantities that ``predict`` supports, the default first."""
        return whats()

    @property
    def _own_questions(self) -> Mapping[str, Callable[[], Question]]:
        """Questions that no other kind of fit has."""
        return {}

    def _answer(
        self, asked: Asked, questions: Sequence[Question], level: float | None, *, se: bool
    ) -> list[dict[str, Array]]:
        """Statistics of questions, (n,) each."""
        posterior = self._posterior(asked, bands=se or level is not None)
        return [posterior.statistics(question, level, se=se) for question in questions]

    def _conditional(self, new: Frame | None, level: float | None, *, se: bool) -> pd.DataFrame:
        """Responses where they were seen, imputed where they were censored."""
        raise unavailable(self, "what='conditional'", "conditional")

    def _terms(self, asked: Asked) -> Mapping[str, Nodes | Estimates]:
        """Posterior of every term of the location in rows."""
        raise unavailable(self, "what='terms'", "terms")

    @property
    def _drawn(self) -> tuple[str, ...]:
        """Quantities that ``sample`` supports."""
        return DRAWN

    def _refuse_dependent(self, question: str) -> None:
        """Raise an error for what takes rows as independent where they are not."""

    @property
    def _joint(self) -> JointPosterior:
        """Joint posterior of rows."""
        raise unavailable(self, "The joint distribution of rows", "posterior")

    def _drawn_times(
        self, asked: Asked, times: Times, draws: int, last: float, rng: np.random.Generator
    ) -> RowDistributions:
        """Draws (n, draws) of the distributions of the times of rows, up to a last time requested."""
        parts = self._joint.distributions(asked, draws, max(draws * len(times.which), 1), rng)
        return JoinedDraws(tuple(parts), rng.permutation(draws))

    def _moved_times(self, asked: Asked, step: float) -> RowDistributions | None:
        """Distributions (n, 2 k) at estimates moved up and down along a root of their covariance; None without one."""
        return None

    def _k_hat(self, draws: int, rng: Rng) -> KHat:
        raise unavailable(self, "k_hat()", "k_hat")

    def _predicted_below(self, df: Frame, rows: Scored, y: Array) -> Array:
        """Predicted probability of a lower response than y in new rows, (m,) each."""
        out, inside = np.where(np.isposinf(y), 1.0, 0.0), np.isfinite(y)
        n = int(inside.sum())
        beyond = CensoredResponse(y[inside], np.full(n, np.inf), *no_limits(n), np.ones(n))
        out[inside] = -np.expm1(self._likelihoods(Scored(rows.asked.among(inside), beyond)))
        return out

    def _tails(self, asked: Asked) -> Tails:
        """Training rows as residuals judge them."""
        return Tails.of(self._posterior(asked, bands=False).new, self._parts.rows.response)

    @property
    def _residuals(self) -> Mapping[str, Callable[[Asked], Array]]:
        """Residuals in addition to those that every kind has."""
        return {"deviance": lambda asked: self._tails(asked).deviance()}

    def _time_rows(self, df: Frame | None, exclude: Any, *, bands: bool) -> TimeRows:
        """Rows of a question about times; ``bands`` if it needs errors."""
        asked = ask(self._parts, df, exclude)
        return TimeRows(asked.index, asked.usable, Times.of(self._posterior(asked, bands=bands)))

    def _distributions(self, new: Frame | None, exclude: Any) -> RowDistributions:
        """Distributions of a new response in the rows that can be used."""
        return self._time_rows(new, exclude, bands=False).times.as_known

    def _along(self, of: str, paths: Paths, level: float | None) -> dict[str, Array]:
        """A curve over time of each subject, (m, T), along rows whose covariates change."""
        raise SpecError("id= requires a regression of log time by maximum likelihood, or family='ph'.")

    _location_words = ""  # what `_location` is called in figures, where it is not the estimate of f

    def _expected(self) -> Array:
        """The same, (n,), of each row by the others where that is known."""
        return self._location()

    def _times_left_out(self) -> Times:
        """Times of the training rows, without what a row says itself where that matters."""
        return self._time_rows(None, (), bands=False).times

    def _scores(self, df: Frame, scoring_method: str) -> Scores:
        """Scores of new rows."""
        rows = self._read_scored(df, "score()")
        values = self._likelihoods(rows) if scoring_method == "log_likelihood" else self._order(rows.asked)
        seen = rows.response
        return Scores(rows.asked.usable, seen.lower, seen.upper, seen.entry, values)

    def _order(self, asked: Asked) -> Array:
        """Numbers (n,) by which rows are expected to live longer."""
        return Times.of(self._posterior(asked, bands=False)).order()

    def _training_ends(self) -> tuple[Array, Array, Array]:
        """Limits of the training rows, and their weights."""
        response = self._parts.rows.response
        return response.lower, response.upper, response.weight

    @cached_property
    def _elpds(self) -> dict[str, Elpd]:
        """Leave-one-out and WAIC of earlier comparisons."""
        return {}

    @property
    def parts(self) -> Any:
        """Specification, training data and estimates, as the subpackages pass them to each other."""
        return self._parts

    # -- parameters ----------------------------------------------------------------------------------------------------

    @property
    def _has_ratios(self) -> bool:
        """Whether exponentials of linear coefficients are reported."""
        return False

    _kind: str  # one of `why_not.KINDS`

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Explain why this kind of fit lacks a method of other kinds."""
            return missing_attribute(self, name)

    def __dir__(self) -> list[str]:
        """Public names of what this fit has."""
        facts = known_facts(self)
        names = (name for name in super().__dir__() if not name.startswith("_"))
        return [name for name in names if reason_of(WHY_NOT.get(name, ()), facts) is None]

    def _repr_html_(self) -> str:
        """The summary, in a notebook."""
        return str(self.summary().as_html())

    def _estimates(self, kind: CovKind | None) -> tuple[Linear, Any]:
        """Linear coefficients and the rest, with the covariance that ``kind`` names."""
        if kind is not None:
            raise SpecError(
                f"kind={kind!r} selects a covariance of a mixture, and this fit has only one. Leave kind= out."
            )
        return self._linear, self._rest

    def _profile(self, name: str, alpha: float) -> tuple[float, float]:
        """Interval of a parameter by the profile likelihood."""
        raise SpecError(
            f"method='profile' requires a fit by maximum likelihood. This fit ({type(self).__name__}) supports "
            f"method='wald'."
        )

    def _testable(self, kind: CovKind | None) -> tuple[Linear, Sequence[str]]:
        """Parameters that hypotheses are about, and their names."""
        linear, rest = self._estimates(kind)
        others = self._names[len(self._columns) :]
        return with_tested(linear, rest), [*self._columns, *(others[i] for i in np.flatnonzero(rest.tested))]

    def _series(self, linear: Array, rest: Array) -> pd.Series[float]:
        return pd.Series(np.concatenate([linear, rest]), index=self._names)

    @property
    def params(self) -> pd.Series[float]:
        """Linear coefficients, then hyper-parameters or parameters of the noise, by name; in the user's units."""
        return self._series(self._linear.coefficients(), self._rest.value)

    @property
    def bse(self) -> pd.Series[float]:
        """Standard errors by parameter, 0 if fixed; with a prior, posterior standard deviations.

        In the user's units: roots of the diagonal of ``cov_params()``, by (REG8), (PRE2), (HYP2) or (LR2) of the theory
        pages.
        """
        return self._series(self._linear.errors(), self._rest.errors())

    @property
    def tvalues(self) -> pd.Series[float]:
        """Coefficients divided by standard errors, by parameter; NaN for fixed ones, hyper-parameters, sigma and df.

        Dimensionless numbers: the signed root of (REG10) of the theory pages for a coefficient at a time.
        """
        return self._series(self._linear.z_values(), self._rest.z_values())

    @property
    def pvalues(self) -> pd.Series[float]:
        """Two-sided p-values; for a posterior, twice the probability of a coefficient's less likely sign.

        A Series by parameter; NaN for fixed coefficients, and for hyper-parameters, sigma and df, which cannot be zero.
        See (REG10) of the theory pages for regressions, and the mixture of (PRE3) for posteriors.
        """
        return self._series(self._linear.p_values(), self._rest.p_values())

    # -- the rows and the formula --------------------------------------------------------------------------------------

    @property
    def nobs(self) -> float:
        """Number of observations: frequency weights of the rows used, summed."""
        return self._parts.facts.nobs

    @property
    def formula(self) -> str:
        """The formula as written."""
        return str(self._parts.written_formula)

    @property
    def counts(self) -> pd.Series[int]:
        """How many rows are ``exact``, ``left``, ``right`` and ``interval`` censored, and ``dropped``, by name."""
        return pd.Series([self._parts.facts.counts[name] for name in COUNTS], index=list(COUNTS))

    @property
    def model(self) -> ModelView:
        """Formula, specification and names of columns and parameters."""
        spec, columns = self._parts.spec, list(self._parts.state.linear.columns)
        data = ModelData(self._names, self._parts.covariates, self._parts.training)
        return ModelView(self.formula, spec, plain_text(spec.response.label), columns, data)

    @property
    def df_resid(self) -> float:
        """Residual degrees of freedom: ``nobs`` minus the number of estimated parameters (for a process, ``df_model``).

        With ``id=``, subjects are counted.
        """
        return self._n_units - self._n_free

    @property
    def _n_units(self) -> float:
        """Number of what is independent of each other."""
        return float(getattr(self._parts, "subject_weight", 0.0)) or self.nobs

    @property
    def _n_free(self) -> float:
        """Number of estimated parameters."""
        return self.df_model

    @property
    def aic(self) -> float:
        """``2 k - 2 llf`` on the scale of deviances, k the number of estimated parameters.

        NaN for a posterior, and with sampling weights, since the value would depend on their unit.

        References
        ----------
        Akaike (1974), A new look at the statistical model identification, *IEEE Transactions on Automatic Control* 19,
        716-723.
        """
        return np.nan if self._of_sample else 2.0 * (self._n_free - self.llf)

    @property
    def bic(self) -> float:
        """``k log n - 2 llf`` on the scale of deviances, k the number of estimated parameters.

        n is ``nobs``, or with ``id=`` the number of subjects. NaN for a posterior, and with sampling weights, since the
        value would depend on their unit.

        References
        ----------
        Schwarz (1978), Estimating the dimension of a model, *Annals of Statistics* 6, 461-464.
        """
        return np.nan if self._of_sample else self._n_free * float(np.log(self._n_units)) - 2.0 * self.llf

    # -- questions ----------------------------------------------------------------------------------------------------

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
    _with_scales = scale_hypotheses.with_scales
    t_test = hypotheses.t_test
    wald_test = hypotheses.wald_test
    anova = anova.anova
    _ratio_table = hazard_ratios.ratio_table
    _ratio_tables = hazard_ratios.ratio_tables
    _parameter_frame = parameter_tables.parameter_frame

    conformalise = conformal.conformalise
    _contrast = standardise.contrast_of
    _forest = figures.forest_rows

    tidy = broom.tidy
    glance = broom.glance
    augment = broom.augment

    _results = property(row_values.WithoutLabels)
    fittedvalues = property(row_values.fittedvalues)
    mu = property(row_values.mu)
    resid = property(row_values.resid)
    resid_response = property(row_values.resid_response)
    resid_pearson = property(row_values.resid_pearson)
    resid_deviance = property(row_values.resid_deviance)
    martingale_residuals = property(row_values.martingale_residuals)
    outlier_test = row_values.outlier_test
    scale = property(row_values.scale)
    normalized_cov_params = property(row_values.normalized_cov_params)
    standard_errors = property(row_values.standard_errors)
    use_t = property(row_values.use_t)
    family = property(row_values.family)
    k_constant = property(row_values.k_constant)
    eigenvals = property(row_values.eigenvals)
    condition_number = property(row_values.condition_number)
    wald_test_terms = classical_tests.wald_test_terms
    t_test_pairwise = classical_tests.t_test_pairwise
    info_criteria = classical_tests.info_criteria
    summary2 = second_summary.summary2
    remove_data = second_summary.remove_data

    save = output.save
    report = output.report
    to_maketables = output.to_maketables
    __maketables_coef_table__ = property(output.coef_table)
    __maketables_stat__ = output.stat
    __maketables_depvar__ = property(output.response)
    __maketables_vcov_info__ = property(output.error_type)
    __maketables_stat_labels__ = property(output.stat_labels)
    __maketables_default_stat_keys__ = property(output.default_stats)

    @property
    def default_model_infos(self) -> dict[str, Callable[[Any], str]]:
        """Functions for the rows that ``statsmodels.iolib.summary2.summary_col`` puts below its columns, by label."""
        infos: dict[str, Callable[[Any], str]] = {"N": lambda res: f"{res.nobs:.10g}"}
        for kind in COUNTS[:4]:
            infos[output.STAT_LABELS[kind]] = lambda res, kind=kind: str(int(res.parts.facts.counts[kind]))  # type: ignore[misc]
        return {**infos, self._criterion()[0]: lambda res: str(res._criterion()[1])}
