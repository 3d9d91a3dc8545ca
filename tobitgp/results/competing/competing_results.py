"""A fit of competing risks as its users see it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd

from tobitgp.data.linear_columns import INTERCEPT
from tobitgp.diagnostics import validation
from tobitgp.diagnostics.elpd import Elpd
from tobitgp.diagnostics.k_hat import KHat
from tobitgp.diagnostics.training_draws import training_rows
from tobitgp.distributions.event_times import First
from tobitgp.errors import SpecError, UnavailableError
from tobitgp.formula.spec import ModelSpec
from tobitgp.numerics.sampling import Rng, generator
from tobitgp.regression.deviance_residuals import PseudoR2, pseudo_r2
from tobitgp.results import anova, figures, hazard_ratios, parameter_tables, standardise
from tobitgp.results.averages import Averages, Population, Sought
from tobitgp.results.comparable import Subject, subject_of
from tobitgp.results.competing import cause_effects, cause_estimates, cause_refits, competing_questions
from tobitgp.results.competing.cause_draws import MOVE, CauseDraws, cause_averages, joint_elpd, joint_k_hat
from tobitgp.results.competing.cause_estimates import IndependentLinear, beside, sums, tables, words
from tobitgp.results.competing.competing_parts import CompetingParts, RowsOfCause, SeenCauses
from tobitgp.results.competing.first_times import DRAWS, FirstTimes
from tobitgp.results.interfaces import classical_tests, robust, row_values
from tobitgp.results.likelihood import bootstrap
from tobitgp.results.likelihood.likelihood_results import LikelihoodResults
from tobitgp.results.parameter_estimates import CovKind
from tobitgp.results.predict import check_level, check_what, prediction_table, read_questions
from tobitgp.results.process.process_results import GPResults
from tobitgp.results.process.term_tests import TermTest
from tobitgp.results.residuals import Tails
from tobitgp.results.results import Results
from tobitgp.results.rows import Asked, Scored, Scores, ask
from tobitgp.results.scale_hypotheses import WithScales
from tobitgp.results.survival import TimeRows
from tobitgp.results.terms import find_terms, model_terms
from tobitgp.results.views import ModelData, ModelView
from tobitgp.results.why_not import missing_attribute
from tobitgp.results.words import Words
from tobitgp.typing import Array, Frame

if TYPE_CHECKING:
    from tobitgp.formula.competing_risks import Cause


class CompetingRisksResults(Results):
    """Models of the hazards of several causes, by :func:`tobitgp.fit` of ``Surv(time, cause) ~ ...``.

    Every cause has its own model, in which events of the other causes are censoring. ``res["death"]`` gives the results
    of one cause. Its coefficients are cause-specific. Its survival, which raises a warning, is *net* survival: that of
    a world in which the other causes do not occur and nothing else changes. The probability of an event in the presence
    of the other causes is :meth:`predict_cumulative_incidence`. In hypotheses, the name of a coefficient includes the
    cause: ``res.t_test("sex[1] = sex[2]")`` tests whether a column has the same effect on two hazards.

    Parameters
    ----------
    parts : CompetingParts
        Fits of the causes.

    Attributes
    ----------
    causes : tuple
        Values of the column of causes, without the value of censored rows.

    References
    ----------
    Kalbfleisch and Prentice (2002), *The Statistical Analysis of Failure Time Data*, 2nd ed., chapter 8; (CR1) to (CR5)
    of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung").assign(cause=lambda d: d["event"] * (1 + (d["age"] > 65)))
    >>> res = tg.fit("Surv(time, cause) ~ sex", lung, family="weibull")
    >>> res
    CompetingRisksResults: Surv(time, cause) ~ sex
      2 causes of 'cause', censored where it is 0: 92 of 1, 73 of 2; 63 censored, 0 dropped
      log likelihood -1260.75, converged
    >>> res[2].params.round(2).to_dict()
    {'Intercept': 5.88, 'sex': 0.6, 'sigma': 0.81}
    """

    _kind = "causes"
    _parts: CompetingParts
    _location_words = "mean time up to the last"

    def __init__(self, parts: CompetingParts):
        self._parts, self.causes = parts, tuple(parts.fits)
        self._causes = self.causes
        for fit in parts.fits.values():
            fit._of_cause = True

    def __getitem__(self, cause: Cause) -> Any:
        return self._parts.fits[self.causes[self._number_of(cause)]]

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Point to attributes that each cause has separately."""
            for cause, fit in self.__dict__["_parts"].fits.items() if "_parts" in self.__dict__ else ():
                if not name.startswith("_") and hasattr(type(fit), name):
                    words = f"Competing risks have no common {name!r}. Use that of a cause, e.g. res[{cause!r}].{name}."
                    raise UnavailableError(words)
            return missing_attribute(self, name)

    def __repr__(self) -> str:
        counts = self.counts
        events = ", ".join(f"{counts[cause]} of {cause}" for cause in self.causes)
        sums = {"log likelihood": self.llf, "log evidence": self.log_evidence}
        found = [f"{name} {value:.2f}" for name, value in sums.items() if np.isfinite(value)]
        return (
            f"CompetingRisksResults: {self.formula}\n"
            f"  {self._parts.read_in_words}: {events}; {counts['censored']} censored, {counts['dropped']} dropped\n"
            f"  {', '.join([*found, 'converged' if self.converged else 'NOT converged'])}"
        )

    @property
    def _fits(self) -> dict[Any, Any]:
        return dict(self._parts.fits)

    @property
    def _column_texts(self) -> tuple[str, ...]:
        return (self.formula, *(text for fit in self._fits.values() for text in fit._column_texts))

    def _number_of(self, cause: Any) -> int:
        if not pd.api.types.is_scalar(cause) or cause not in self.causes:
            raise SpecError(f"cause={cause!r} must be one of the causes: {', '.join(map(repr, self.causes))}.")
        return self.causes.index(cause)

    # -- the fit ------------------------------------------------------------------------------------------------------

    @property
    def nobs(self) -> float:
        """Number of observations: frequency weights of the rows, summed; of the first cause's fit."""
        return float(self[self.causes[0]].nobs)

    @property
    def counts(self) -> pd.Series[int]:
        """Number of rows with an event of each cause, ``censored`` and ``dropped``, by name."""
        return self._parts.counts.copy()

    @property
    def model(self) -> ModelView:
        """Formula, specification of the first cause, and names of columns and parameters, as ``sex[death]``."""
        parts = self._parts
        response = parts.formulas[0].partition("~")[0].strip()
        data = ModelData(parts.names, parts.covariates)
        columns = [f"{name}[{cause}]" for cause, fit in self._fits.items() for name in fit._columns]
        return ModelView(self.formula, parts.spec, response, columns, data)

    @property
    def _specifications(self) -> list[ModelSpec]:
        return [fit.parts.spec for fit in self._fits.values()]

    @property
    def _subjects(self) -> Mapping[Any, Subject]:
        return {cause: subject_of(fit) for cause, fit in self._fits.items()}

    @property
    def _estimated(self) -> bool:
        """Whether all causes were fitted by maximum likelihood."""
        return all(fit.evidence_kind == "loglik" for fit in self._fits.values())

    @property
    def _n_free(self) -> float:
        return float(sum(fit._n_free for fit in self._fits.values()))

    def _criterion(self) -> tuple[str, str]:
        if self._estimated:
            return "Log likelihood", f"{self.llf:.2f}"
        return "Log evidence", f"{self.log_evidence:.2f}"

    @property
    def hyperparameters(self) -> dict[str, float]:
        """Values at the maximum on their natural scales, of the causes with a posterior, as ``sd(gp(x))[death]``."""
        every = ((cause, getattr(fit, "hyperparameters", {})) for cause, fit in self._fits.items())
        return {f"{name}[{cause}]": value for cause, found in every for name, value in found.items()}

    @property
    def converged(self) -> bool:
        """Whether the fits of all causes did."""
        return all(fit.converged for fit in self._fits.values())

    @property
    def _search_message(self) -> str:
        return min(self._fits.values(), key=attrgetter("converged"))._search_message

    @property
    def _pseudo_r2(self) -> PseudoR2:
        return pseudo_r2(self.llf, self.llnull, self._n_units)

    df_model = sums(GPResults, "df_model")
    llf = sums(LikelihoodResults, "llf")
    llnull = sums(LikelihoodResults, "llnull")
    log_evidence = sums(GPResults, "log_evidence")
    log_evidence_integrated = sums(GPResults, "log_evidence_integrated")
    elbo = sums(GPResults, "elbo")
    prsquared = LikelihoodResults.prsquared
    method = words(GPResults, "method")
    evidence_kind = words(GPResults, "evidence_kind")
    cov_type = words(LikelihoodResults, "cov_type", "posterior sd")
    fit_history = tables(LikelihoodResults, "fit_history", "stage")
    priors = tables(GPResults, "priors")
    params = tables(Results, "params")
    bse = tables(Results, "bse")
    tvalues = tables(Results, "tvalues")
    pvalues = tables(Results, "pvalues")

    def _testable(self, kind: CovKind | None) -> tuple[Any, list[str]]:
        """Coefficients that hypotheses are about, and their names, as ``sex[death]``."""
        every = {cause: fit._testable(kind) for cause, fit in self._fits.items()}
        names = [f"{name}[{cause}]" for cause, (_, columns) in every.items() for name in columns]
        return IndependentLinear([linear for linear, _ in every.values()]), names

    def _with_scales(self, kind: CovKind | None) -> WithScales:
        """The same with logarithms of positive parameters, as ``sigma[death]``."""
        every = {cause: fit._with_scales(kind) for cause, fit in self._fits.items()}
        names = [f"{name}[{cause}]" for cause, found in every.items() for name in found.columns]
        logs = [log for found in every.values() for log in found.logs]
        return WithScales(IndependentLinear([found.linear for found in every.values()]), names, logs)

    def _term_tests(self) -> Iterator[tuple[str, TermTest]]:
        for cause, fit in self._fits.items():
            yield from ((f"{name}[{cause}]", test) for name, test in fit._term_tests())

    @property
    def _shows_ratios(self) -> bool:  # type: ignore[override]
        return any(fit._shows_ratios for fit in self._fits.values())

    def _forest(self, terms: Any, alpha: float, *, ratios: bool) -> list[Any]:
        every = ((cause, fit._forest(terms, alpha, ratios=ratios)) for cause, fit in self._fits.items())
        return [row._replace(label=f"{cause}: {row.label}") for cause, rows in every for row in rows]

    def _ratio_kind(self) -> Any:
        return self[self.causes[0]]._ratio_kind()

    conf_int = cause_estimates.conf_int
    _parameter_frame = beside(parameter_tables.parameter_frame, name="_parameter_frame")
    cov_params = cause_estimates.cov_params
    _ratio_table = beside(hazard_ratios.ratio_table, name="_ratio_table")
    hazard_ratios = hazard_ratios.hazard_ratios
    anova = beside(anova.anova, "term")
    lr_test = cause_estimates.lr_test

    def _ratio_tables(self, alpha: float) -> list[pd.DataFrame]:
        each = self._fits.items()
        return [fit._ratio_table(alpha).rename(index=f"{cause}: {{}}".format) for cause, fit in each]

    def _words(self, alpha: float, kind: Any = None) -> Words:
        from tobitgp.report.competing_summary import cause_words

        return cause_words(self, alpha)

    # -- rows ---------------------------------------------------------------------------------------------------------

    def _excluded(self, exclude: Any) -> list[list[str]]:
        """Terms to leave out of the model of each cause; a term that no cause has raises an error."""
        fits = [fit.parts for fit in self._fits.values()]
        names = [exclude] if isinstance(exclude, str) or not isinstance(exclude, Sequence) else list(exclude)
        known = [{term.name for term in model_terms(parts)} - {INTERCEPT} for parts in fits]
        for name in names:
            if not any(name in terms for terms in known):
                find_terms(max(fits, key=lambda parts: len(model_terms(parts))), [name])
        return [[name for name in names if name in terms] for terms in known]

    def _ask(self, new: Frame | None, exclude: Any = (), instead: str = "") -> Asked:
        if new is None:
            return ask(self._parts)
        each = [fit._ask(new, names) for fit, names in zip(self._fits.values(), self._excluded(exclude), strict=True)]
        usable = np.logical_and.reduce([asked.usable for asked in each])
        return each[0].among(usable[each[0].usable])

    def _using(self, column: str) -> Any:
        fits = [fit.parts for fit in self._fits.values()]
        return next((parts for parts in fits if column in parts.state.input_names), fits[0])

    def _seen_of(self, df: Frame, needed_by: str) -> SeenCauses:
        """New rows with what is known about their times and causes."""
        scored = [fit._read_scored(df, needed_by) for fit in self._fits.values()]
        return SeenCauses.of([RowsOfCause(one.asked.usable, one.response) for one in scored])

    def _read_scored(self, df: Frame, needed_by: str) -> Scored:
        seen, asked = self._seen_of(df, needed_by), self._ask(df)
        return Scored(asked.among(seen.kept[asked.usable]), seen.response)

    def _time_rows(self, df: Frame | None, exclude: Any, *, bands: bool) -> TimeRows:
        """Rows of which all causes know the covariates."""
        names, fits = self._excluded(exclude), list(self._fits.values())
        rows = [fit._time_rows(df, own, bands=False) for fit, own in zip(fits, names, strict=True)]
        usable = np.logical_and.reduce([row.usable for row in rows])
        causes = tuple(replace(row.times, which=row.times.which[usable[row.usable]]) for row in rows)

        def draw(last: float) -> First:
            return self._first(df, times, DRAWS, last, generator(None), names)

        times = FirstTimes(None, np.arange(usable.sum()), causes, draw, self._followed)  # type: ignore[arg-type]
        return TimeRows(rows[0].index, usable, times)

    def _first(
        self,
        df: Frame | None,
        times: FirstTimes,
        draws: int,
        last: float,
        rng: np.random.Generator,
        exclude: Sequence[Sequence[str]] | None = None,
    ) -> First:
        """Draws of the distributions of all causes, whose parameters are independent."""
        fits, out = list(self._fits.values()), []
        asked = [fit._ask(df, names) for fit, names in zip(fits, exclude or [()] * len(fits), strict=True)]
        usable = np.logical_and.reduce([each.usable for each in asked])
        for fit, each, cause in zip(fits, asked, times.causes, strict=True):
            out.append(fit._drawn_times(each.among(usable[each.usable]), cause, draws, last, rng))
        return First(tuple(out))

    def _moved(self, df: Frame, times: FirstTimes) -> list[First] | None:
        """For each cause distributions (n, 2 k) with its estimates moved along a root of their covariance, up and down.

        None where the distributions of a cause are not a function of estimates of one likelihood.
        """
        fits = list(self._fits.values())
        each = [fit._moved_times(fit._ask(df), MOVE) for fit in fits]
        if any(one is None for one in each):
            return None
        usable = np.logical_and.reduce([fit._ask(df).usable for fit in fits])
        assert usable.all()
        still = [cause.new.take(np.s_[:, None]) for cause in times.causes]
        return [First((*still[:k], moved, *still[k + 1 :])) for k, moved in enumerate(each) if moved is not None]

    @property
    def _followed(self) -> float | None:
        """The last time that was seen, where rows are held."""
        seen = self._parts.seen
        return None if seen is None else float(seen.time.max())

    _whats = ("median", "quantile", "prob")
    _drawn = ("uncensored", "conditional")
    _whats_of = " for the first event; use res[cause].predict() for a single cause"

    def _predict(self, new: Frame | None, what: str | None, **options: Any) -> pd.Series[float] | pd.DataFrame:
        what, level = check_what(what, self._whats, self._whats_of), check_level(options["interval"])
        asks, listed = read_questions(what, options["q"], options["below"], options["above"])
        exclude, se = options["exclude"], bool(options["se"])
        asked, times = self._ask(new, exclude), cast(FirstTimes, self._time_rows(new, exclude, bands=False).times)
        found = {key: times.statistics(make(True, asked), level, se=se) for key, make in asks.items()}
        return prediction_table(what, asked, found, listed=listed, bands=se or level is not None)

    def _tails(self, asked: Asked) -> Tails:
        every = [(self._parts.among(cause), fit._tails(fit._ask(None))) for cause, fit in self._fits.items()]

        def log_survival(times: Array) -> Array:
            total = np.zeros(len(times))
            for among, tails in every:
                at = np.ones(len(among))
                at[among] = np.log(times) if tails.log else times
                total += tails.log_probability(at, np.full(len(at), np.inf))[among]
            return total

        return Tails.of_survival(log_survival, self._parts.rows.response)

    def _times_left_out(self) -> FirstTimes:
        every = [(self._parts.among(cause), fit._times_left_out()) for cause, fit in self._fits.items()]
        causes = tuple(replace(times, which=times.which[among]) for among, times in every)
        return replace(cast(FirstTimes, self._time_rows(None, (), bands=False).times), causes=causes)

    def _location(self) -> Array:
        return self._time_rows(None, (), bands=False).times.order()

    def _scores(self, df: Frame, scoring_method: str) -> Scores:
        rows = self._read_scored(df, "score()")
        seen, known = rows.response, self._time_rows(df, (), bands=False)
        order = known.times.order()[rows.asked.usable[known.usable]]
        return Scores(rows.asked.usable, seen.lower, seen.upper, seen.entry, order)

    def _predicted_below(self, df: Frame, rows: Scored, y: Array) -> Array:
        known = self._time_rows(df, (), bands=False)
        times, last = known.times, known.times.furthest(None)
        part = replace(times, which=times.which[rows.asked.usable[known.usable]])
        below = -np.expm1(part.survive(np.clip(y, 0.0, last)[:, None])[:, 0])
        return np.where(np.isposinf(y), 1.0, below)

    def _sample(self, new: Frame | None, draws: int, what: str, exclude: Any, rng: Rng) -> tuple[Asked, Array]:
        stream, asked = generator(rng), self._ask(new, exclude)
        each = [
            fit._sample(new, draws, what, names, stream)
            for fit, names in zip(self._fits.values(), self._excluded(exclude), strict=True)
        ]
        return asked, np.min([y[asked.usable[own.usable]] for own, y in each], axis=0)

    def _draws(self, draws: int, rng: Rng, question: str) -> CauseDraws:
        training_rows(self._parts, question)
        stream = generator(rng)
        each = tuple(fit._draws(draws, stream, question) for fit in self._fits.values())
        return CauseDraws(self._parts, each, tuple(self._parts.among(cause) for cause in self.causes))

    def _make_elpd(self, by: str, draws: int, rng: Rng, method: str = "auto") -> Elpd:
        training_rows(self._parts, f"{by}()")
        stream = generator(rng)
        found = {cause: fit._make_elpd(by, draws, stream, method) for cause, fit in self._fits.items()}
        return joint_elpd(found, self._parts)

    def _k_hat(self, draws: int, rng: Rng) -> KHat:
        stream = generator(rng)
        return joint_k_hat([fit._k_hat(draws, stream) for fit in self._fits.values()])

    def _refuse_dependent(self, question: str) -> None:
        for fit in self._fits.values():
            if fit.bootstrap:  # which says why where a kind has none
                fit._refuse_dependent(question)

    def _units(self) -> None:
        """Rows are drawn independently."""

    def _refits(self, statistic: bootstrap.Statistic | None) -> cause_refits.CauseRefits:
        return cause_refits.CauseRefits(self, statistic)

    def _averages(self, population: Population, sought: Sought) -> Averages:
        times = cast(FirstTimes, self._time_rows(population.frame, (), bands=False).times)
        found = cause_averages(self, times, population, sought)
        if sought.what == "median":
            times.warn_of_times({"": found.statistics(None)["estimate"].ravel()}, np.array(sought.after or 0.0))
        return found

    def _without_rows(self) -> CompetingRisksResults:
        fits = {cause: fit._without_rows() for cause, fit in self._fits.items()}
        return CompetingRisksResults(replace(self._parts.without_rows(), fits=fits))

    predict_cumulative_incidence = competing_questions.predict_cumulative_incidence
    residuals = competing_questions.residuals
    score = competing_questions.score  # type: ignore[assignment]
    concordance_index = competing_questions.concordance_index
    check = competing_questions.check
    bootstrap = bootstrap.bootstrap
    covariance_type = property(row_values.covariance_type)
    bic_llf = property(classical_tests.bic_llf)
    f_test = classical_tests.f_test
    compare_lr_test = classical_tests.compare_lr_test
    pseudo_rsquared = classical_tests.pseudo_rsquared
    _sandwich = robust.sandwich_of_changes
    cov_HC0 = property(robust.cov_HC0)
    cov_HC1 = property(robust.cov_HC1)
    HC0_se = property(robust.HC0_se)
    HC1_se = property(robust.HC1_se)
    influence = cause_refits.influence
    profile_interval = cause_refits.profile_interval
    k_hat = validation.k_hat
    standardise = standardise.standardise
    marginal_effects = cause_effects.marginal_effects
    plot_cumulative_incidence = competing_questions.plot_cumulative_incidence
    plot = competing_questions.plot_cumulative_incidence
    plot_forest = figures.plot_forest
    plot_residuals = figures.plot_residuals
    plot_effect = figures.plot_effect
