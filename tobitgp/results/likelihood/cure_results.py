"""A fitted cure model as its users see it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import pandas as pd

from tobitgp.data.frames import reads_frames
from tobitgp.errors import SpecError
from tobitgp.kinds.cure import ENDS, CureParts, being_cured
from tobitgp.kinds.distributional import DistributionalParts
from tobitgp.kinds.likelihood import estimates_of_rows
from tobitgp.posterior.estimates import Estimates
from tobitgp.posterior.questions import Question
from tobitgp.results import curves
from tobitgp.results.averages import Estimated, Population, Sought
from tobitgp.results.likelihood import cure_questions
from tobitgp.results.likelihood.likelihood_results import LikelihoodResults
from tobitgp.results.rows import Asked
from tobitgp.results.summary_notes import (
    DISTRIBUTION,
    ParameterGroup,
    hazard_title,
    likelihood_words,
    model_title,
    row_notes,
)
from tobitgp.results.words import SummaryTable, Words, noted
from tobitgp.typing import Frame

INTERCEPT = "cured[Intercept]"
_NOTE = (
    "cured[...] are log odds of being cured (infinite times); the other coefficients belong to {} of those not cured."
)


class CureResults(LikelihoodResults):
    """A mixture cure model, by :func:`tobitgp.fit` with ``cure="~ terms"``.

    A fraction of the rows, which may depend on covariates, is cured and never has the event. The times of the other
    rows follow a regression of log time (the latency). Coefficients named ``cured[...]`` are log odds of being cured.

    Parameters
    ----------
    parts : CureParts
        Specification, rows and maximum.
    uncured : bool
        Whether predictions are for the times of those who are not cured.

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

    _kind = "cure"
    _parts: CureParts | DistributionalParts
    _never = True
    _no_mean = "where some are cured the mean time is infinite"
    _no_ratio = (
        "In a cure model no hazard ratio is the same at all times. Use predict_hazard(...) for two rows to "
        "get both hazards over time."
    )

    def __init__(self, parts: CureParts | DistributionalParts, *, uncured: bool = False):
        self._parts = parts
        self._of_uncured = uncured  # whether questions are about those who are not cured

    def _posterior(self, asked: Asked, *, bands: bool) -> Estimates:
        at = self._parts.uncured_at if self._of_uncured else None
        return estimates_of_rows(self._parts, asked.design, bands=bands, at=at)

    # -- the fit ------------------------------------------------------------------------------------------------------

    @property
    def fit_history(self) -> pd.DataFrame:
        """Where the search from each start ended: columns ``stage, iterations, log_likelihood, cured, converged``."""
        if self._parts.ends is None:
            return LikelihoodResults.fit_history.fget(self)  # type: ignore[attr-defined]
        found = pd.DataFrame(self._parts.ends, columns=list(ENDS)).astype({"iterations": int, "converged": bool})
        found.insert(0, "stage", [f"start {i + 1}" for i in range(len(found))])
        return found

    # -- the cured ----------------------------------------------------------------------------------------------------

    @reads_frames
    def predict_survival_function(
        self,
        df: Frame | None = None,
        times: Any = None,
        *,
        conditional_after: Any = None,
        interval: float | None = None,
        exclude: str | Sequence[str] = (),
        id: str | None = None,
        uncured: bool = False,
    ) -> pd.DataFrame:
        r"""Probability of surviving each time, :math:`S(t) = \pi + (1 - \pi) S_u(t)`, never below that of being cured.

        Parameters
        ----------
        df, times, conditional_after, interval, exclude, id
            As for :meth:`RegressionResults.predict_survival_function`.
        uncured : bool
            Survival of those who are not cured, :math:`S_u(t)`.

        Returns
        -------
        DataFrame
            Probabilities: times in the index, a column for each row; with ``interval`` the columns are ``(row,
            mean|median|lower|upper)``.

        Raises
        ------
        SpecError, DataError, UnseenLevelError
            As for :meth:`RegressionResults.predict_survival_function`.

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
        options: dict[str, Any] = {"conditional_after": conditional_after, "interval": interval}
        options |= {"exclude": exclude, "id": id}
        results = CureResults(self._parts, uncured=True) if uncured else self
        return curves.predict_survival_function(results, df, times, **options)

    # -- what questions need ------------------------------------------------------------------------------------------

    _by_restricted_means = True
    _location_words = "mean up to the end of follow-up"
    _figure = "plot_survival"
    _whats_of = " for a cure model"
    _whats = ("median", "latent", "quantile", "prob", "cured", "sigma", "terms")
    _drawn = ("uncensored", "latent", "conditional")

    @property
    def _own_questions(self) -> dict[str, Callable[[], Question]]:
        return {"cured": being_cured}

    def _averages(self, population: Population, sought: Sought) -> Estimated:
        if sought.what == "mean":
            raise SpecError("In a cure model the mean time is infinite. Use what='rmst', the mean up to a time.")
        return super()._averages(population, sought)

    def _words(self, alpha: float, kind: Any = None) -> Words:
        names, p, q = self._names, len(self._columns), len(self._parts.scale_columns)
        cured, link, added = range(p, p + q), self._parts.link, "with a cured fraction"
        baseline = getattr(self._parts, "baseline", None)
        facts = [] if baseline is None else [("Baseline:", str(baseline.words))]
        ratio = {None: "Time ratios", "hazard": "Hazard ratios", "odds": "Odds ratios"}.get(link, "")
        found: list[Any] = []
        with suppress(SpecError):  # without rows the fraction may be unknown
            label = "all rows" if self._parts.one_fraction else "mean over the rows"
            found = [(label, self.cured_fraction(interval=1.0 - alpha))]
        return likelihood_words(
            self,
            alpha,
            model_title(self, positive=True, added=added) if link is None else hazard_title(link, added),
            facts,
            [
                ParameterGroup(
                    "Coefficients", range(p), ratio, [i for i in range(p) if ratio and names[i] != "Intercept"]
                ),
                ParameterGroup("logit(cured)", cured, "Odds ratios", [i for i in cured if names[i] != INTERCEPT]),
                ParameterGroup(DISTRIBUTION, range(p + q, len(names)), tested=False),
            ],
            [
                *row_notes(self),
                *noted("coefficients", [_NOTE.format(self._parts.latency_words)]),
                *noted("parameters", cure_questions.profile_note(self, alpha)),
            ],
            formulas=self._parts.formula_texts,
            tables=[SummaryTable("Cured fraction", found, "estimate")],
        )

    cured_fraction = cure_questions.cured_fraction
    profile_cured = cure_questions.profile_cured
    predict_cured = cure_questions.predict_cured
