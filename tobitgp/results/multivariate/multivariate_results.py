"""Results of several responses."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tobitgp.errors import SpecError
from tobitgp.results import output
from tobitgp.results.hazard_ratios import Kind
from tobitgp.results.multivariate import multivariate_predictions
from tobitgp.results.multivariate.multivariate_parts import MultivariateParts, TrainingRows
from tobitgp.results.multivariate.response_estimates import Estimates
from tobitgp.results.parameter_estimates import Linear, Transformed
from tobitgp.results.parameters import EstimatedParameters
from tobitgp.results.predict import check_alpha, check_level
from tobitgp.results.process.process_results import GPResults
from tobitgp.results.process.term_tests import TermTest
from tobitgp.results.views import COUNTS
from tobitgp.results.words import Words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class MultivariateResults(EstimatedParameters):
    """Fit of several responses to the same rows, by :func:`tobitgp.fit` of ``mvbind(y1, y2) ~ ...``.

    Parameters have the names of the response that they are of in brackets, ``z[y1]``.

    Parameters
    ----------
    parts : MultivariateParts
        What the stacked rows were made from, and their fit.
    rows : TrainingRows, optional
        Rows of the fit; none where it comes from a file.

    Attributes
    ----------
    responses : tuple of str
        As written in ``mvbind(...)``.
    stacked : GPResults
        The fit behind it: one row for each value that is known, every response in units of the standard deviation of
        its values and limits (MUL1).

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

    def __init__(self, parts: MultivariateParts, rows: TrainingRows | None = None):
        self.parts, self.responses = parts, parts.stack.wide.labels
        self.stacked = GPResults.from_parts(parts.stacked)
        self._stack, self._rows = parts.stack, rows
        self._of_responses = Estimates(self.stacked, parts.stack)

    @cached_property
    def _linear(self) -> Linear:
        return self._of_responses.coefficients()

    @cached_property
    def _rest(self) -> Transformed:
        return self._of_responses.rest()

    @property
    def _columns(self) -> list[str]:
        return self._of_responses.coefficient_names

    @property
    def _names(self) -> list[str]:
        return [*self._columns, *self._of_responses.rest_names]

    def _term_tests(self) -> Iterator[tuple[str, TermTest]]:
        return self._of_responses.term_tests()

    def _words(self, alpha: float, kind: Any = None) -> Words:
        from tobitgp.report.several_summary import several_words

        return several_words(self, alpha)

    def _ratio_kind(self) -> Kind:
        raise SpecError("Hazard ratios are of one response; fit each by itself, without mvbind().")

    def __repr__(self) -> str:
        counts = self.counts
        censored = [f"{counts[kind]} {kind}-censored" for kind in COUNTS[1:4] if counts[kind]]
        kinds = ", ".join([f"{counts['exact']} exact", *censored])
        values = f"{len(self.responses)} responses, {self.nobs:.10g} values: {kinds}"
        return f"MultivariateResults: {self.formula}\n  {values}"

    # -- parameters ---------------------------------------------------------------------------------------------------

    @property
    def formula(self) -> str:
        """As written: a text.

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("mvbind(durable, quant) ~ age | censor(0, None)", tg.datasets.load("tobin"), rescor=True)
        >>> res.formula
        'mvbind(durable, quant) ~ age | censor(0, None)'
        """
        return self._stack.wide.formula

    @property
    def _column_texts(self) -> tuple[str, ...]:
        """What mentions the columns that new data need."""
        return (self.formula, self._stack.wide.sigma or "")

    @property
    def nobs(self) -> float:
        """Number of values that are known, of all responses; with weights their sum.

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("mvbind(durable, quant) ~ age | censor(0, None)", tg.datasets.load("tobin"), rescor=True)
        >>> res.nobs
        40.0
        """
        return self.stacked.nobs

    @property
    def counts(self) -> pd.Series[int]:
        """Number of values that are exact, left-, right- and interval-censored, and dropped: a Series.

        Values are dropped if a covariate is missing; a missing response is no value.

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("mvbind(durable, quant) ~ age | censor(0, None)", tg.datasets.load("tobin"), rescor=True)
        >>> int(res.counts["left"])
        13
        """
        counts = self.stacked.counts.copy()
        counts["dropped"] = self.parts.dropped
        return counts

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
        return self._of_responses.priors()

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
    def evidence_kind(self) -> str:
        """What ``log_evidence`` is, in a word, as of :attr:`GPResults.evidence_kind`."""
        return self.stacked.evidence_kind

    @property
    def method(self) -> str:
        """How censored rows are integrated over: ``"ep"``, ``"gvi"`` or ``"vi"``."""
        return self.stacked.method

    @property
    def fit_history(self) -> pd.DataFrame:
        """Stages of the fit, a row for each, as of :attr:`GPResults.fit_history`."""
        return self.stacked.fit_history

    @property
    def hyperparameters(self) -> dict[str, float]:
        """Parameters that are no linear coefficients, by name, in the units of ``params``."""
        return dict(zip(self._of_responses.rest_names, self._rest.value.tolist(), strict=True))

    @property
    def log_evidence(self) -> float:
        """Log evidence of all values together in nats, at the maximum, of the density on the scale of the responses.

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
        log = self._stack.centre if self._stack.log_time else np.log(self._stack.scale)
        return float(self.stacked.log_evidence - self.parts.exact @ log)

    def correlations(self, interval: float = 0.95) -> pd.DataFrame:
        """Correlations between the responses: of their curves, of random effects, of residuals.

        Parameters
        ----------
        interval : float
            Probability of the intervals.

        Returns
        -------
        DataFrame
            A row for each, as ``rescor[y1, y2]``, columns ``estimate, lower, upper``: pure numbers.

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
        """Regression of one response on others and the linear terms: the way to a censored covariate.

        Where the others are seen it is that of ``y ~ x + z``. Where they are censored it needs no value in place of a
        limit; it rests on their being normal given the terms.

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
            raise SpecError("given= names another response, or several.")
        for name in (response, *given):
            if name not in self.responses or (response, *given).count(name) > 1:
                raise SpecError(f"{name!r} is none of the other responses: {', '.join(self.responses)}.")
        if not self._of_responses.correlated:
            raise SpecError("regression() rests on correlated residuals; fit with rescor=True.")
        return self._of_responses.regression(response, given, check_alpha(alpha))

    def group_effects(self, *, interval: float | None = 0.95) -> pd.DataFrame:
        """Random effects, a row for each response of each group.

        Parameters
        ----------
        interval : float or None
            Probability of the equal-tailed interval; None for none.

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
        return self._of_responses.group_effects(interval)

    predict = multivariate_predictions.predict
    impute = multivariate_predictions.impute
    sample = multivariate_predictions.sample
    save = output.save

    def plot(self, x: str | None = None, *, interval: float | None = 0.95) -> Any:
        """Fit, data and band of every response along one column, a panel for each, without random effects.

        Parameters
        ----------
        x : str, optional
            Column along which to draw; that of the first process without, or the first of the linear part. Others are
            held at typical values.
        interval : float or None
            Probability of the band.

        Returns
        -------
        matplotlib axes, one for each response

        Raises
        ------
        SpecError
            If ``x`` is no column of numbers or dates in the model, there is none, or the fit holds no training rows.

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("mvbind(durable, quant) ~ age | censor(0, None)", tg.datasets.load("tobin"), rescor=True)
        >>> [ax.get_ylabel() for ax in res.plot()]
        ['durable', 'quant']
        """
        from tobitgp.report.several_summary import plot_several

        return plot_several(self, x, interval=interval)
