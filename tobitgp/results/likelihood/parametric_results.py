"""A fit with a parametric baseline as its users see it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.diagnostics.residual_tests import Finding, RawTest
from tobitgp.diagnostics.training_draws import training_rows
from tobitgp.distributions.baselines import GompertzBaseline
from tobitgp.errors import SpecError
from tobitgp.kinds.parametric import ParametricParts
from tobitgp.results import figures, hazard_ratios
from tobitgp.results.anova import term_tests
from tobitgp.results.averages import Estimated, Population, Sought
from tobitgp.results.hazards.cells import at_risk
from tobitgp.results.hazards.hazard_questions import without_strata
from tobitgp.results.hazards.proportionality import (
    proportionality_findings,
    proportionality_table,
    tested_columns,
)
from tobitgp.results.hazards.row_paths import along_parametric
from tobitgp.results.interfaces import baseline
from tobitgp.results.likelihood.likelihood_results import LikelihoodResults
from tobitgp.results.likelihood.parametric_times import TimesOfBaseline, warn_infinite
from tobitgp.results.parameter_estimates import Linear
from tobitgp.results.paths import Paths
from tobitgp.results.predict import check_level
from tobitgp.results.prediction import predict_table
from tobitgp.results.process.term_tests import TermTest
from tobitgp.results.ratios import Contrasts, RatioKind
from tobitgp.results.rows import Asked
from tobitgp.results.summary_notes import ParameterGroup, hazard_title, likelihood_words, row_notes
from tobitgp.results.terms import model_terms
from tobitgp.results.words import HAZARD, ODDS, Words, noted
from tobitgp.typing import Array, Frame, IntArray

_OF = {
    "hazard": "Coefficients are logarithms of hazard ratios.",
    "odds": "Coefficients are logarithms of odds ratios of the event before any time.",
    "probit": "Coefficients are differences of minus the probit of survival; no ratio is the same at all times.",
}
_RATIOS = {"hazard": "Hazard ratios", "odds": "Odds ratios"}


class ParametricHazardResults(LikelihoodResults):
    """A parametric baseline with linear terms, by :func:`tobitgp.fit` with ``family=tg.PH("spline")`` etc.

    Coefficients are log hazard ratios, log odds ratios of the event with ``link="odds"``, and differences of the probit
    with ``link="probit"``. With ``strata(g)`` each level has its own parameters of the baseline. With a frailty,
    coefficients are conditional on it, and predictions average over the frailty of a new group.

    Parameters
    ----------
    parts : ParametricParts
        Specification, rows and maximum.

    References
    ----------
    (PH5) to (PH8) of the theory pages. P. Royston and M. K. B. Parmar (2002), Flexible parametric proportional-hazards
    and proportional-odds models for censored survival data, *Statistics in Medicine* 21, 2175-2197.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("Surv(time, event) ~ age + sex", tg.datasets.load("lung"), family=tg.PH("weibull"))
    >>> res.params.round(3)
    Intercept   -8.322
    age          0.016
    sex         -0.507
    shape        1.326
    dtype: float64
    """

    _parts: ParametricParts
    _shows_ratios = True
    _from_zero = False

    # -- the fit ------------------------------------------------------------------------------------------------------

    @property
    def knots(self) -> list[float]:
        """Times of the knots of a spline, the outer ones too, in units of the response: (PH7) of the theory pages."""
        return np.exp(np.array(getattr(self._parts.baseline, "knots", ()))).tolist()

    def frailties(self, *, interval: float | None = 0.95) -> pd.DataFrame:
        """Frailties of the groups given their observations, at the estimates of all parameters.

        Parameters
        ----------
        interval : float or None
            Probability of the equal-tailed interval of the gamma distribution; None for none.

        Returns
        -------
        DataFrame
            A row for each group; columns ``estimate, se, lower, upper``: factors of the hazard, dimensionless numbers,
            1 on average.

        Raises
        ------
        SpecError
            If the model has no frailty, or for an interval outside (0, 1).

        References
        ----------
        (PH8) of the theory pages.

        Examples
        --------
        >>> import numpy as np
        >>> import tobitgp as tg
        >>> rng, g = np.random.default_rng(1), np.repeat(np.arange(40), 4)
        >>> data = {"time": rng.exponential(1.0 / rng.gamma(2.0, 0.5, 40)[g]), "event": np.ones(160), "g": g}
        >>> res = tg.fit("Surv(time, event) ~ (1 | g)", data, family=tg.PH("weibull", frailty="gamma"))
        >>> res.frailties().columns.tolist()
        ['estimate', 'se', 'lower', 'upper']
        """
        from scipy.special import gammaincinv

        level, parts = check_level(interval), self._parts
        if parts.frailties is None:
            raise SpecError("This model has no frailty. Use tg.PH('weibull', frailty='gamma') with (1 | g).")
        shape, rate = parts.frailties.T
        table = pd.DataFrame({"estimate": shape / rate, "se": np.sqrt(shape) / rate})
        if level is not None:
            for name, order in (("lower", 0.5 - 0.5 * level), ("upper", 0.5 + 0.5 * level)):
                table[name] = gammaincinv(shape, order) / rate
        return table.set_axis(pd.Index(list(parts.groups), name=parts.frailty))

    def proportionality(self, *, terms: bool = True) -> pd.DataFrame:
        """See :meth:`tobitgp.HazardResults.proportionality`; the link is that of hazards, and rows are right-censored.

        With ``cov_type="cluster"`` and sampling weights, residuals are added up within clusters.
        """
        parts = self._parts
        if parts.link != "hazard":
            raise SpecError(f"proportionality() is for hazards, which are not proportional with link={parts.link!r}.")
        if parts.frailty is not None:
            raise SpecError("proportionality() requires independent rows, and these rows share frailties.")
        if not self._one_sided:
            raise SpecError("proportionality() requires exact or right-censored rows, with or without late entry.")
        training = training_rows(parts, "proportionality()")
        at = training.design, at_risk(training.response), -parts.predictors(training.design)[0]
        return proportionality_table(parts, parts.written, *at, terms=terms, clusters=parts.clusters)

    # -- what questions need ------------------------------------------------------------------------------------------

    def _times(self, asked: Asked, *, bands: bool) -> TimesOfBaseline:
        posterior, rows = self._posterior(asked, bands=bands), np.arange(len(asked.design.H))
        return TimesOfBaseline(posterior, rows, self._parts.last, self._defective)

    @property
    def _defective(self) -> bool:
        """Whether some never have the event: a hazard falls so fast that its integral is finite."""
        return isinstance(self._parts.baseline, GompertzBaseline) and bool(
            (self._parts.maximum.gamma[: self._parts.n_baseline] < 0.0).any()
        )

    def _along(self, of: str, paths: Paths, level: float | None) -> dict[str, Array]:
        return along_parametric(self._parts, of, paths, level)

    _by_restricted_means = True
    _location_words = "mean up to the end of follow-up"
    _whats_of = " for a parametric baseline"
    _whats = ("median", "quantile", "prob", "uncensored", "latent", "conditional", "terms")
    _drawn = ("uncensored", "latent", "conditional")

    def _predict(self, new: Frame | None, what: str | None, **options: Any) -> pd.Series[float] | pd.DataFrame:
        found = predict_table(self, new, what, **options)
        if self._defective:
            warn_infinite(np.asarray(found, dtype=np.float64))
        return found

    def _ratio_kind(self) -> RatioKind:
        if self._parts.link == "probit":
            raise SpecError(
                "link='probit' has neither hazard nor odds ratios that are the same at all times. Use "
                "predict_hazard(...) for two rows to get both hazards over time."
            )
        return RatioKind(HAZARD if self._parts.link == "hazard" else ODDS, 1.0)

    def _log_ratios(self, contrasts: Contrasts, sign: float) -> Linear:
        return self._linear.combine(sign * contrasts.columns, -sign * contrasts.offset)

    def _ratio_table(
        self, alpha: float = 0.05, terms: Any = None, at: Any = None, reference: Any = None
    ) -> pd.DataFrame:
        own = self._own_terms() if at is None and terms is None else terms
        at, reference = without_strata(self._parts.written, own, at, reference)
        return hazard_ratios.ratio_table(self, alpha, own, at, reference)

    def _forest(self, terms: Any, alpha: float, *, ratios: bool) -> list[Any]:
        return figures.forest_rows(self, self._own_terms() if terms is None else terms, alpha, ratios=ratios)

    baseline_cumulative_hazard = property(baseline.baseline_cumulative_hazard)
    baseline_cumulative_hazard_function = property(baseline.baseline_cumulative_hazard_function)
    schoenfeld_residuals = property(baseline.schoenfeld_residuals)

    @property
    def _log_relative_hazards(self) -> Array:
        """Log hazards (n,) of the training rows but for the baseline."""
        return self._parts.predictors(self._parts.rows.design)[0]

    def plot(self, *, interval: float | None = 0.95) -> Any:  # type: ignore[override]
        """See :meth:`tobitgp.HazardResults.plot`; a hazard for each stratum, of a row with typical covariates."""
        from tobitgp.report.hazard_summary import typical_rows

        return self.plot_hazard(df=typical_rows(self._parts), interval=interval)

    def _own_terms(self) -> list[str]:
        """Terms of the log hazard other than the baseline."""
        names = [term.name for term in model_terms(self._parts) if not term.is_offset]
        return [name for name in names if self._parts.written.is_own(name)]

    def _findings(self, rng: Any) -> Iterator[Finding | RawTest]:
        if self._parts.frailty is not None:
            return
        yield from super()._findings(rng)
        if self._parts.link == "hazard" and self._one_sided and tested_columns(self._parts, self._parts.written):
            yield from proportionality_findings(self._parts, self._parts.written, self.proportionality(), has_tv=False)

    @property
    def _one_sided(self) -> bool:
        """Whether rows are exact or right-censored."""
        seen = self._parts.rows.response
        one_sided = np.isposinf(seen.upper) | (seen.lower == seen.upper)
        return bool(one_sided.all()) and not np.isfinite(seen.exit).any()

    def _refuse_dependent(self, question: str) -> None:
        if self._parts.frailty is not None:
            raise SpecError(f"{question} requires independent rows, and these rows share frailties.")

    def _units(self) -> IntArray | None:
        if self._parts.of_subjects:
            raise SpecError("bootstrap() draws subjects, and this fit does not store their column. Give it as groups=.")
        return None

    def _term_tests(self) -> Iterator[tuple[str, TermTest]]:
        return term_tests(self, self._parts.written.is_own)

    def _averages(self, population: Population, sought: Sought) -> Estimated:
        if sought.what == "mean" and self._defective:
            raise SpecError(
                "If some subjects never have the event, the mean time is infinite. Use what='rmst', "
                "the mean up to a time."
            )
        return super()._averages(population, sought)

    @property
    def _kind(self) -> str:  # type: ignore[override]
        return "frailty" if self._parts.frailty is not None else "parametric"

    def _words(self, alpha: float, kind: Any = None) -> Words:
        parts, names, p = self._parts, self._names, len(self._columns)
        baseline, facts, q = parts.baseline.words, [], len(names) - (parts.frailty is not None)
        if self.knots:
            baseline = f"{baseline}, df = {parts.baseline.size}"
        title, notes = hazard_title(parts.link), [_OF[parts.link]]
        if parts.frailty is not None:
            title = hazard_title(parts.link, "with a gamma frailty")
            facts.append(("Frailty:", f"{parts.frailty}, {len(parts.groups)} groups"))
            notes.append(
                "Coefficients are conditional on the frailty (mean 1, variance theta); predictions average over it."
            )
        ratios = [i for i in range(p) if parts.link in _RATIOS and parts.written.is_own(names[i])]
        coefficients = ParameterGroup("Coefficients", range(p), _RATIOS.get(parts.link, ""), ratios)
        return likelihood_words(
            self,
            alpha,
            title,
            [("Baseline:", baseline), *facts],
            [
                coefficients,
                ParameterGroup("Baseline hazard", range(p, q), tested=False),
                ParameterGroup("Frailty variance", range(q, len(names)), tested=False),
            ],
            [*row_notes(self), *noted("coefficients", notes), *noted("parameters", [_baseline_note(self)])],
        )


def _baseline_note(results: ParametricHazardResults) -> str:
    """Note on the parameters of the baseline."""
    if results.knots:
        shown = ", ".join(f"{knot:.4g}" for knot in np.unique(results.knots))
        return f"The baseline is a natural cubic spline of log time with knots at the times {shown}."
    if results.parts.baseline.positive:
        return "Cumulative hazards are exp(Intercept + x'b) t^shape."
    return "Hazards are exp(Intercept + x'b + shape t), shape in units of 1 / time."
