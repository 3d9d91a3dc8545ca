"""Results of several responses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.diagnostics import validation
from tobitgp.diagnostics.elpd import Elpd
from tobitgp.diagnostics.k_hat import KHat
from tobitgp.diagnostics.process_findings import process_findings
from tobitgp.diagnostics.residual_tests import Finding, RawTest
from tobitgp.diagnostics.training_draws import Draws
from tobitgp.errors import SpecError
from tobitgp.numerics.sampling import Rng
from tobitgp.results import (
    column_effects,
    figures,
    standardise,
)
from tobitgp.results.multivariate import multivariate_predictions, together_questions
from tobitgp.results.multivariate.multivariate_parts import MultivariateParts
from tobitgp.results.multivariate.of_responses import (
    drawn_apart,
    drawn_for_each,
    of_each,
)
from tobitgp.results.multivariate.response_results import ResponseResults
from tobitgp.results.multivariate.together_results import TogetherResults
from tobitgp.results.multivariate.value_draws import ValueDraws, elpd_of_values
from tobitgp.results.parameter_estimates import Linear, Transformed
from tobitgp.results.predict import check_alpha, check_level
from tobitgp.results.process.process_results import GPResults
from tobitgp.results.process.term_tests import TermTest
from tobitgp.results.words import Words


class MultivariateResults(TogetherResults):
    """Fit of several responses to the same rows, by :func:`tobitgp.fit` of ``mvbind(y1, y2) ~ ...``.

    Names of parameters have their response in brackets, e.g. ``z[y1]``.

    Parameters
    ----------
    parts : MultivariateParts
        Data, stacked rows and estimates of the fit.

    Attributes
    ----------
    responses : tuple of str
        As written in ``mvbind(...)``.
    stacked : GPResults
        The underlying fit: one row for each value that is not missing, every response in units of the standard
        deviation of its values and limits (MUL1).

    References
    ----------
    (MUL1) to (MUL3) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("mvbind(durable, quant) ~ age | censor(0, None)", tg.datasets.load("tobin"), rescor=True)
    >>> res
    MultivariateResults: mvbind(durable, quant) ~ age | censor(0, None)
      2 responses, 40 values: 27 exact, 13 left-censored
    """

    _kind = "several"
    _parts: MultivariateParts

    def __init__(self, parts: MultivariateParts):
        self._parts, self.responses = parts, parts.stack.wide.labels
        self.stacked = GPResults.from_parts(parts.stacked)

    @cached_property
    def _each(self) -> tuple[ResponseResults, ...]:
        return tuple(ResponseResults.of(self, j) for j in range(len(self.responses)))

    @cached_property
    def _linear(self) -> Linear:
        return self._parts.estimates.coefficients()

    @cached_property
    def _rest(self) -> Transformed:
        return self._parts.estimates.rest()

    @property
    def _columns(self) -> list[str]:
        return self._parts.estimates.coefficient_names

    def _term_tests(self) -> Iterator[tuple[str, TermTest]]:
        return self._parts.estimates.term_tests()

    def _words(self, alpha: float, kind: Any = None) -> Words:
        from tobitgp.report.several_summary import several_words

        return several_words(self, alpha)

    # -- the fit ------------------------------------------------------------------------------------------------------

    @property
    def _column_texts(self) -> tuple[str, ...]:
        """Texts that mention the columns required in new data."""
        wide = self._parts.stack.wide
        return (wide.formula, wide.sigma or "")

    @property
    def df_model(self) -> float:
        """Effective number of parameters at the maximum: (SIT2) of the theory pages."""
        return self.stacked.df_model

    @property
    def llf(self) -> float:
        """NaN in nats: no likelihood is maximised; ``log_evidence`` is (SIT6) of the theory pages."""
        return float("nan")

    @property
    def priors(self) -> pd.DataFrame:
        """Priors that were used, with the columns of :attr:`GPResults.priors`, in the units of the responses.

        They are (PRI2) and (HYP1) of the theory pages.

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("mvbind(durable, quant) ~ age | censor(0, None)", tg.datasets.load("tobin"), rescor=True)
        >>> res.priors.loc["age[durable]", ["distribution", "source"]].tolist()
        ['normal', 'default']
        """
        return self._parts.estimates.priors()

    @property
    def converged(self) -> bool:
        """Whether search and fixed point converged.

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("mvbind(durable, quant) ~ age | censor(0, None)", tg.datasets.load("tobin"), rescor=True)
        >>> res.converged
        True
        """
        return self.stacked.converged

    @property
    def _search_message(self) -> str:
        return self.stacked._search_message

    def _method_with(self, **settings: Any) -> str:
        return self.stacked._method_with(**settings)

    @property
    def evidence_kind(self) -> str:
        """Kind of ``log_evidence``, as for :attr:`GPResults.evidence_kind`."""
        return self.stacked.evidence_kind

    @property
    def method(self) -> str:
        """How censored rows are integrated over: ``"ep"``, ``"gvi"`` or ``"vi"``."""
        return self.stacked.method

    @property
    def _search(self) -> pd.DataFrame:
        return self.stacked._search

    @property
    def fit_history(self) -> pd.DataFrame:
        """Stages of the fit, a row for each, as for :attr:`GPResults.fit_history`."""
        return self.stacked.fit_history

    @property
    def hyperparameters(self) -> dict[str, float]:
        """Parameters other than linear coefficients, by name, in the units of ``params``."""
        return dict(zip(self._parts.estimates.rest_names, self._rest.value.tolist(), strict=True))

    @property
    def log_evidence(self) -> float:
        """Joint log evidence of all values in nats, at the maximum, on the scale of the responses.

        References
        ----------
        (SIT6) and (MUL1) of the theory pages.

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("mvbind(durable, quant) ~ age | censor(0, None)", tg.datasets.load("tobin"), rescor=True)
        >>> round(res.log_evidence, 1)
        -133.3
        """
        log = self._parts.stack.centre if self._parts.stack.log_time else np.log(self._parts.stack.scale)
        return float(self.stacked.log_evidence - self._parts.exact @ log)

    def correlations(self, interval: float = 0.95) -> pd.DataFrame:
        """Correlations between the responses: of processes, of random effects and of residuals.

        Parameters
        ----------
        interval : float
            Probability of the intervals.

        Returns
        -------
        DataFrame
            A row for each, as ``rescor[y1, y2]``, columns ``estimate, lower, upper``: dimensionless numbers.

        Raises
        ------
        SpecError
            If the interval is outside (0, 1).

        References
        ----------
        (MUL3) of the theory pages, and (COR1).

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("mvbind(durable, quant) ~ age | censor(0, None)", tg.datasets.load("tobin"), rescor=True)
        >>> list(res.correlations().index)
        ['rescor[durable, quant]']
        """
        table = self.summary_frame(1.0 - float(check_level(interval) or 0.95))
        own = [name.startswith(("cor(", "rescor[")) for name in table.index]
        return table.loc[own, ["coef", "lower", "upper"]].set_axis(["estimate", "lower", "upper"], axis=1)

    def regression(self, response: str, given: str | Sequence[str], alpha: float = 0.05) -> pd.DataFrame:
        """Regression of one response on others and the linear terms, e.g. for a censored covariate.

        If the other responses are uncensored, it is the regression ``y ~ x + z``. If they are censored, no value is
        substituted; the regression assumes that they are normal given the terms.

        Parameters
        ----------
        response : str
            Its dependent variable.
        given : str or list of str
            Other responses.
        alpha : float
            One minus the probability of the intervals.

        Returns
        -------
        DataFrame
            A row for each linear term, each of ``given`` and sigma, columns of :meth:`summary_frame`, in units of the
            response over those of the term.

        Raises
        ------
        SpecError
            If a response is unknown, or without ``rescor=True``.

        References
        ----------
        (MUL4) of the theory pages.

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("mvbind(durable, quant) ~ age | censor(0, None)", tg.datasets.load("tobin"), rescor=True)
        >>> list(res.regression("durable", "quant").index)
        ['Intercept', 'age', 'quant', 'sigma']
        """
        given = [given] if isinstance(given, str) else list(given)
        if not given:
            raise SpecError("given= must name one or more other responses.")
        for name in (response, *given):
            if name not in self.responses or (response, *given).count(name) > 1:
                raise SpecError(f"{name!r} must be one of the other responses: {', '.join(self.responses)}.")
        if not self._parts.estimates.correlated:
            raise SpecError("regression() requires correlated residuals. Fit with rescor=True.")
        return self._parts.estimates.regression(response, given, check_alpha(alpha))

    def group_effects(self, *, interval: float | None = 0.95) -> pd.DataFrame:
        """Random effects, a row for each response of each group.

        Parameters
        ----------
        interval : float or None
            Probability of the equal-tailed interval, or None for no interval.

        Returns
        -------
        DataFrame
            Index ``(term, level)``, as ``("re(g)[y1]", "a")``; columns ``estimate, se, lower, upper``, on the scale of
            the response, of its logarithm for log-time families.

        Raises
        ------
        SpecError
            If the model has no random effects, or for an interval outside (0, 1).

        References
        ----------
        (RAN1) of the theory pages.

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = {"g": list("aabbcc"), "u": [1, 1.2, 3, 3.1, 2, 2.2], "v": [0.5, 0.4, 0.1, 0.2, 0.3, 0.3]}
        >>> tg.fit("mvbind(u, v) ~ (1 | g)", data).group_effects().loc["re(g)[u]", "estimate"].idxmax()
        'b'
        """
        return self._parts.estimates.group_effects(interval)

    # -- what questions need ------------------------------------------------------------------------------------------

    def _draws(self, draws: int, rng: Rng, question: str) -> Draws:
        return ValueDraws(self._parts, self.stacked._draws(draws, rng, question))

    def _make_elpd(self, by: str, draws: Any, rng: Rng, method: Any = "auto") -> Elpd:
        return elpd_of_values(self.stacked._make_elpd(by, draws, rng, method), self._parts)

    def _k_hat(self, draws: int, rng: Rng) -> KHat:
        return self.stacked._k_hat(draws, rng)

    def _findings(self, rng: Any) -> Iterator[Finding | RawTest]:
        yield from process_findings(self.stacked, rng)

    def _without_rows(self) -> MultivariateResults:
        return MultivariateResults(self._parts.without_rows())

    # -- of every response --------------------------------------------------------------------------------------------

    marginal_effects = of_each(column_effects.marginal_effects)
    get_margeff = of_each(column_effects.marginal_effects)
    _contrast = of_each(standardise.contrast_of)
    standardise = of_each(standardise.standardise)
    plot_terms = drawn_apart(figures.plot_terms)
    plot_effect = drawn_for_each(figures.plot_effect)
    plot_forest = drawn_for_each(figures.plot_forest)

    # -- of all values together ---------------------------------------------------------------------------------------

    posterior = together_questions.posterior
    _impute = multivariate_predictions.impute
    _draw_together, _draw_conditional = multivariate_predictions.draw, multivariate_predictions.draw_seen
    _moments_together = multivariate_predictions.moments
    k_hat = validation.k_hat
    plot_evidence = figures.plot_evidence

    def plot(self, x: str | None = None, *, interval: float | None = 0.95) -> Any:
        """Fit, data and band of every response along one column, a panel for each, without random effects.

        Parameters
        ----------
        x : str, optional
            Column along which to draw; by default that of the first process, or the first of the linear part. Others
            are held at typical values.
        interval : float or None
            Probability of the band.

        Returns
        -------
        matplotlib axes, one for each response

        Raises
        ------
        SpecError
            If ``x`` is not a column of numbers or dates in the model, there is none, or the fit holds no training rows.

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("mvbind(durable, quant) ~ age | censor(0, None)", tg.datasets.load("tobin"), rescor=True)
        >>> [ax.get_ylabel() for ax in res.plot()]
        ['durable', 'quant']
        """
        from tobitgp.report.several_summary import plot_several

        return plot_several(self, x, interval=interval)
