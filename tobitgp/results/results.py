"""What every fit says of itself, and the questions that it answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.diagnostics import calibration, validation
from tobitgp.diagnostics import check as checks
from tobitgp.diagnostics.draws import Draws
from tobitgp.diagnostics.elpd import Elpd
from tobitgp.diagnostics.k_hat import KHat
from tobitgp.diagnostics.residual_tests import Finding, RawTest
from tobitgp.diagnostics.validation import Rng
from tobitgp.posterior.estimates import Estimates
from tobitgp.posterior.nodes import Nodes
from tobitgp.posterior.questions import Question
from tobitgp.results import curves, output, prediction, times
from tobitgp.results.estimates import Linear
from tobitgp.results.hypotheses import ContrastResults, WaldResults, contrast, wald
from tobitgp.results.joint import JointLaw
from tobitgp.results.predict import check_alpha, predict_table
from tobitgp.results.rows import Asked, ask
from tobitgp.results.survival import TimeRows, Times
from tobitgp.results.times import Scored, Scores, read_scored
from tobitgp.results.views import COUNTS, FRAME_COLUMNS, ModelView, view_model
from tobitgp.typing import Array, Frame


def _count_infos() -> dict[str, Callable[[Any], str]]:
    """How rows of ``summary_col`` give the number of observations and of rows of each kind."""

    def counter(name: str) -> Callable[[Any], str]:
        return lambda res: str(int(res.counts[name]))

    labels = {name: name.capitalize() + ("" if name == "exact" else "-censored") for name in COUNTS[:4]}
    return {"N": lambda res: f"{res.nobs:.10g}", **{label: counter(name) for name, label in labels.items()}}


class Results:
    """A fit of any kind: what it was made of, its estimates, and the questions that it answers.

    Each kind says what its estimates are, and how its rows are predicted, drawn and scored; the questions themselves
    are functions of results, one room for each subject.
    """

    _parts: Any

    # -- what each kind says of itself --------------------------------------------------------------------------------

    @property
    def _linear(self) -> Linear:
        """Linear coefficients."""
        raise NotImplementedError

    @property
    def _rest(self) -> Any:
        """Parameters other than linear coefficients, on the scale on which they are reported."""
        raise NotImplementedError

    @property
    def _columns(self) -> Sequence[str]:
        """Names of linear coefficients."""
        raise NotImplementedError

    @property
    def _names(self) -> list[str]:
        """Names of all parameters."""
        raise NotImplementedError

    def _criterion(self) -> tuple[str, str]:
        """What the fit is compared by, and its value in words."""
        raise NotImplementedError

    @property
    def method(self) -> str:
        """Name of the method that fitted."""
        raise NotImplementedError

    @property
    def evidence_kind(self) -> str:
        """What the fit is compared by."""
        raise NotImplementedError

    def _posterior(self, asked: Asked, *, bands: bool) -> Nodes | Estimates:
        """What is known of the distribution of the response in rows; ``bands`` if errors will be asked for."""
        raise NotImplementedError

    def _answer(
        self, asked: Asked, questions: Sequence[Question], level: float | None, *, se: bool
    ) -> list[dict[str, Array]]:
        """Statistics of questions, (n,) each."""
        posterior = self._posterior(asked, bands=se or level is not None)
        return [posterior.statistics(question, level, se=se) for question in questions]

    def _conditional(self, new: Frame | None, level: float | None, *, se: bool) -> pd.DataFrame:
        """Responses where they were seen, imputed where they were censored."""
        raise NotImplementedError

    def _terms(self, asked: Asked) -> Mapping[str, Nodes | Estimates]:
        """What is known of every term of the location in rows."""
        raise NotImplementedError

    def _predict(self, new: Frame | None, what: str | None, **options: Any) -> pd.Series[float] | pd.DataFrame:
        return predict_table(self, new, what, **options)

    @property
    def _joint(self) -> JointLaw:
        """What is known of rows together."""
        raise NotImplementedError

    def _k_hat(self, draws: int, rng: Rng) -> KHat:
        raise NotImplementedError

    def _draws(self, draws: int, rng: Rng, question: str) -> Draws:
        """Draws from the posterior, or from the normal distribution of the estimates."""
        raise NotImplementedError

    def _findings(self, rng: Any) -> Iterator[Finding | RawTest]:
        """Diagnostics of this kind of fit; tests share one level with those of the residuals."""
        raise NotImplementedError

    def _likelihoods(self, rows: Scored) -> Array:
        """Log likelihoods (m,) of new rows."""
        raise NotImplementedError

    def _without_rows(self) -> Any:
        """The fit without its training rows, as workers are sent it."""
        raise NotImplementedError

    def _time_rows(self, df: Frame | None, exclude: Any, *, bands: bool) -> TimeRows:
        """Rows of a question about times; ``bands`` if it needs errors."""
        asked = ask(self._parts, df, exclude)
        return TimeRows(asked.index, asked.usable, Times.of(self._posterior(asked, bands=bands)))

    def _scores(self, df: Frame, scoring_method: str) -> Scores:
        """What new rows score."""
        rows = read_scored(self._parts, df)
        values = (
            self._likelihoods(rows)
            if scoring_method == "log_likelihood"
            else Times.of(self._posterior(rows.asked, bands=False)).percentile(0.5, None)
        )
        seen = rows.response
        return Scores(rows.asked.usable, seen.lower, seen.upper, seen.entry, values)

    def _training_ends(self) -> tuple[Array, Array, Array]:
        """What is known of the training rows, and their weights."""
        response = self._parts.rows.response
        return response.lower, response.upper, response.weight

    @cached_property
    def _elpds(self) -> dict[str, Elpd]:
        """Leave-one-out and WAIC that comparisons asked for already."""
        return {}

    # -- questions ----------------------------------------------------------------------------------------------------

    predict = prediction.predict
    get_prediction = prediction.get_prediction
    residuals = prediction.residuals

    predict_survival_function = curves.predict_survival_function
    predict_cumulative_hazard = curves.predict_cumulative_hazard
    predict_hazard = curves.predict_hazard
    plot_survival = curves.plot_survival
    plot_hazard = curves.plot_hazard
    _average_curve = curves.average_curve

    predict_percentile = times.predict_percentile
    predict_median = times.predict_median
    predict_expectation = times.predict_expectation
    predict_restricted_mean = times.predict_restricted_mean
    concordance_index_ = cached_property(times.concordance_index)
    score = times.score

    check = checks.check
    loo = validation.loo
    waic = validation.waic
    log_likelihood_draws = validation.log_likelihood_draws
    to_arviz = validation.to_arviz
    plot_calibration = calibration.plot_calibration
    plot_cox_snell = calibration.plot_cox_snell
    plot_predictive_check = calibration.plot_predictive_check

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
    def parts(self) -> Any:
        """Specification, training data and estimates, as the rooms below hand them on."""
        return self._parts

    @property
    def default_model_infos(self) -> dict[str, Callable[[Any], str]]:
        """Rows that ``statsmodels.iolib.summary2.summary_col`` puts below its columns.

        Returns
        -------
        dict of str to callable
            By the label of the row, what makes its text of results.

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"))
        >>> list(res.default_model_infos)
        ['N', 'Exact', 'Left-censored', 'Right-censored', 'Interval-censored', 'Log likelihood']
        """
        return {**_count_infos(), self._criterion()[0]: lambda res: str(res._criterion()[1])}

    # -- the rows and the formula -------------------------------------------------------------------------------------

    @property
    def nobs(self) -> float:
        """Number of observations: frequency weights of the rows used, summed."""
        return self._parts.facts.nobs

    @property
    def formula(self) -> str:
        """The formula as written."""
        return self._parts.spec.formula

    @property
    def counts(self) -> pd.Series[int]:
        """How many rows are ``exact``, ``left``, ``right`` and ``interval`` censored, and ``dropped``, by name."""
        return pd.Series([self._parts.facts.counts[name] for name in COUNTS], index=list(COUNTS))

    @property
    def model(self) -> ModelView:
        """Formula, specification and names of columns and parameters."""
        return view_model(self._parts, self._names, self._parts.covariates)

    # -- the estimates ------------------------------------------------------------------------------------------------

    def _series(self, linear: Array, rest: Array) -> pd.Series[float]:
        return pd.Series(np.concatenate([linear, rest]), index=self._names)

    @property
    def params(self) -> pd.Series[float]:
        """Linear coefficients, then hyper-parameters or parameters of the noise; natural scale, the user's units.

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"), fixed={"sigma": 5.0})
        >>> res.params.round(2)
        Intercept    5.12
        age         -0.14
        sigma        5.00
        dtype: float64
        """
        return self._series(self._linear.coefficients(), self._rest.value)

    @property
    def bse(self) -> pd.Series[float]:
        """Standard errors by parameter, 0 where fixed; under a prior posterior standard deviations.

        In the user's units: roots of the diagonal of ``cov_params()``, by (REG8), (PRE2), (HYP2) or (LR2) of the theory
        pages.
        """
        return self._series(self._linear.errors(), self._rest.errors())

    @property
    def tvalues(self) -> pd.Series[float]:
        """Coefficients over their standard errors, by parameter; NaN for fixed ones, hyper-parameters, sigma and df.

        Pure numbers: the signed root of (REG10) of the theory pages for a coefficient at a time.
        """
        error = self._linear.errors()
        z = np.divide(self._linear.coefficients(), error, out=np.full_like(error, np.nan), where=error > 0)
        return self._series(z, self._rest.z_values())

    @property
    def pvalues(self) -> pd.Series[float]:
        """Two-sided tail probabilities; of a posterior twice the probability of a coefficient's less likely sign.

        A Series by parameter; NaN for fixed coefficients, and for hyper-parameters, sigma and df, of which zero is no
        value to test. Of a regression the tail of (REG10) of the theory pages, of a posterior that of the mixture of
        (PRE3).
        """
        return self._series(self._linear.p_values(), self._rest.p_values())

    def conf_int(self, alpha: float = 0.05) -> pd.DataFrame:
        """Intervals of probability ``1 - alpha``.

        ``coef +- z se`` of a regression's coefficients; posterior quantiles of those under a prior (of the mixture
        where hyper-parameters were integrated); ``exp(log value +- z se)`` for hyper-parameters, sigma and df, se being
        that of the logarithm. A fixed parameter has both ends at its value.

        Parameters
        ----------
        alpha : float
            Probability left out of the intervals, between 0 and 1.

        Returns
        -------
        DataFrame
            A row for each parameter, columns 0 and 1, in the user's units.

        Raises
        ------
        SpecError
            If ``alpha`` does not lie between 0 and 1.

        References
        ----------
        (REG8) of the theory pages for regressions; under a prior quantiles by (PRE3) for coefficients, (HYP12)
        for hyper-parameters.

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"), fixed={"sigma": 5.0})
        >>> res.conf_int().round(2)
                       0      1
        Intercept -12.61  22.84
        age        -0.51   0.23
        sigma       5.00   5.00
        """
        alpha = check_alpha(alpha)
        ends = np.concatenate([self._linear.interval(alpha), self._rest.interval(alpha)])
        return pd.DataFrame(ends, index=self._names)

    def cov_params(self) -> pd.DataFrame:
        """Covariance of all parameters.

        Of a regression, that of the estimates, of sigma and df by the delta method. Of a posterior, that of the linear
        coefficients, and of hyper-parameters by the delta method; none is formed between these two.

        Returns
        -------
        DataFrame
            A row and a column for each parameter, in squares of the user's units; 0 where fixed.

        References
        ----------
        (REG8) of the theory pages for regressions; under a prior (FEA3) and (PRE2) for coefficients, (HYP12) or
        the curvature (HYP2) for hyper-parameters.

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"), fixed={"sigma": 5.0})
        >>> res.cov_params().round(2)
                   Intercept   age  sigma
        Intercept      81.78 -1.70    0.0
        age            -1.70  0.04    0.0
        sigma           0.00  0.00    0.0
        """
        names, p = self._names, len(self._columns)
        covariance = np.zeros((len(names), len(names)))
        covariance[:p, :p] = self._linear.total_covariance()
        covariance[p:, p:] = self._rest.covariance()
        covariance[p:, :p] = self._rest.cross
        covariance[:p, p:] = covariance[p:, :p].T
        return pd.DataFrame(covariance, index=names, columns=names)

    def t_test(self, hypotheses: Any) -> ContrastResults:
        """Hypotheses about linear coefficients, each on its own, from their joint normal law or posterior.

        Parameters
        ----------
        hypotheses : str, list of str, (k, p) array, or pair of such an array and k values
            As ``"x = 0, z = 1"``, ``"x - 2*z"``, or rows of weights of the p linear coefficients.

        Returns
        -------
        ContrastResults
            With ``effect, sd, tvalue, pvalue, conf_int(alpha), summary_frame(alpha)``; p-values are two-sided, as in
            ``pvalues``.

        Raises
        ------
        SpecError
            If a hypothesis cannot be read.

        References
        ----------
        (REG10) of the theory pages for one hypothesis at a time, its tail under a prior that of the mixture of (PRE3).

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("durable ~ age + quant | censor(0)", tg.datasets.load("tobin"), fixed={"sigma": 5.0})
        >>> res.t_test("age = 0, age = quant").summary_frame().round(2)
                     coef  std err     z  P>|z|  lower  upper
        age = 0     -0.12     0.19 -0.61   0.54  -0.49   0.26
        age = quant -0.07     0.21 -0.34   0.73  -0.47   0.33
        """
        return contrast(self._linear, self._columns, hypotheses)

    def wald_test(self, hypotheses: Any) -> WaldResults:
        """Several hypotheses about linear coefficients together, by their means and covariance.

        Parameters
        ----------
        hypotheses : str, list of str, (k, p) array, or pair of such an array and k values
            As in ``t_test``.

        Returns
        -------
        WaldResults
            With ``statistic, pvalue, df, summary_frame()``.

        Raises
        ------
        SpecError
            If a hypothesis cannot be read, or they depend on each other.

        References
        ----------
        (REG10) of the theory pages; A. Wald, "Tests of statistical hypotheses concerning several parameters when the
        number of observations is large", Transactions of the AMS 54 (1943).

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("durable ~ age + quant | censor(0)", tg.datasets.load("tobin"), fixed={"sigma": 5.0})
        >>> res.wald_test("age = 0, quant = 0")
        chi2(2) = 1.316, p = 0.5179
        """
        return wald(self._linear, self._columns, hypotheses)

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """All parameters in one table.

        Parameters
        ----------
        alpha : float
            Probability left out of the intervals, between 0 and 1.

        Returns
        -------
        DataFrame
            A row for each parameter, columns ``coef, std err, z, P>|z|, lower, upper``: in the user's units, but for z
            and its tail probability.

        Raises
        ------
        SpecError
            If ``alpha`` does not lie between 0 and 1.

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"), fixed={"sigma": 5.0})
        >>> res.summary_frame().round(2)
                   coef  std err     z  P>|z|  lower  upper
        Intercept  5.12     9.04  0.57   0.57 -12.61  22.84
        age       -0.14     0.19 -0.74   0.46  -0.51   0.23
        sigma      5.00     0.00   NaN    NaN   5.00   5.00
        """
        ends = self.conf_int(alpha)
        columns = [self.params, self.bse, self.tvalues, self.pvalues, ends[0], ends[1]]
        return pd.DataFrame(dict(zip(FRAME_COLUMNS, columns, strict=True)))
