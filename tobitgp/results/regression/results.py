"""A fitted censored regression as its users see it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.diagnostics import validation
from tobitgp.diagnostics.check import posterior_findings
from tobitgp.diagnostics.k_hat import KHat, regression_k_hat
from tobitgp.diagnostics.residual_tests import Finding
from tobitgp.diagnostics.validation import Rng
from tobitgp.posterior.estimates import Estimates
from tobitgp.regression.residuals import PseudoR2, pseudo_r2
from tobitgp.results import changes, joint, output
from tobitgp.results.estimates import Linear, ScaleEstimates
from tobitgp.results.hypotheses import WaldResults
from tobitgp.results.predict import check_alpha
from tobitgp.results.regression.draws import EstimateDraws, EstimateLaw, draw_estimates
from tobitgp.results.regression.parts import (
    RegressionParts,
    conditional_table,
    estimates_of,
    linear_estimates,
    null_likelihood,
    scale_estimates,
    term_estimates,
)
from tobitgp.results.results import Results
from tobitgp.results.rows import Asked
from tobitgp.results.times import Scored, estimate_likelihoods
from tobitgp.results.views import COUNTS, RATIO_COLUMNS
from tobitgp.typing import Array, Frame


class RegressionResults(Results):
    """A censored regression fitted by maximum likelihood.

    Made by :func:`tobitgp.fit` from a formula without processes. Standard errors come from the observed information,
    or the sandwich that ``cov_type=`` names; intervals of sigma and df are formed on the log scale.

    Parameters
    ----------
    parts : RegressionParts
        Specification, rows and maximum.

    References
    ----------
    .. [1] J. Tobin, "Estimation of relationships for limited dependent variables", Econometrica 26 (1958), 24-36.
    .. [2] R. J. Olsen, "Note on the uniqueness of the maximum likelihood estimator for the Tobit model", Econometrica
       46 (1978), 1211-1215.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age + quant | censor(0)", tg.datasets.load("tobin"))
    >>> res
    RegressionResults: durable ~ age + quant | censor(0)
      gaussian, method mle: 7 rows exact, 13 left-censored, 0 dropped
      log likelihood -28.94, converged
    >>> res.params.round(3)
    Intercept    15.145
    age          -0.129
    quant        -0.046
    sigma         5.573
    dtype: float64
    """

    _parts: RegressionParts

    def __init__(self, parts: RegressionParts):
        self._parts = parts

    @cached_property
    def _linear(self) -> Linear:
        return linear_estimates(self._parts)

    @cached_property
    def _rest(self) -> ScaleEstimates:
        return scale_estimates(self._parts)

    @property
    def _columns(self) -> tuple[str, ...]:
        return self._parts.columns

    @property
    def _names(self) -> list[str]:
        return self._parts.names

    # -- the fit ------------------------------------------------------------------------------------------------------

    @property
    def df_model(self) -> float:
        """Number of estimated parameters beside the intercept and those of the noise."""
        p = len(self._columns)
        return float(self._parts.maximum.free[:p].sum()) - float(self._has_free_intercept)

    @property
    def _has_free_intercept(self) -> bool:
        columns = self._columns
        return "Intercept" in columns and bool(self._parts.maximum.free[columns.index("Intercept")])

    @property
    def df_resid(self) -> float:
        """``nobs`` less the number of estimated parameters."""
        return self.nobs - self._n_free

    @property
    def _n_free(self) -> float:
        return float(self._parts.maximum.free.sum())

    @property
    def llf(self) -> float:
        """Maximised log likelihood of the response as written, in nats: (REG2) of the theory pages."""
        return self._parts.llf

    @cached_property
    def llnull(self) -> float:
        """Maximised log likelihood with an intercept only, in nats; NaN where that has no maximum.

        (REG2) of the theory pages.
        """
        return null_likelihood(self._parts)

    @property
    def aic(self) -> float:
        """``2 k - 2 llf`` on the scale of deviances, k the number of estimated parameters.

        References
        ----------
        Akaike (1974), A new look at the statistical model identification, *IEEE Transactions on Automatic Control* 19,
        716-723.
        """
        return 2.0 * (self._n_free - self.llf)

    @property
    def bic(self) -> float:
        """``k log nobs - 2 llf`` on the scale of deviances, k the number of estimated parameters.

        References
        ----------
        Schwarz (1978), Estimating the dimension of a model, *Annals of Statistics* 6, 461-464.
        """
        return self._n_free * float(np.log(self.nobs)) - 2.0 * self.llf

    @property
    def evidence_kind(self) -> str:
        """A maximised likelihood, which is no evidence: ``"loglik"``."""
        return "loglik"

    @property
    def converged(self) -> bool:
        """Whether a maximum was found."""
        return self._parts.maximum.converged

    @property
    def fit_history(self) -> pd.DataFrame:
        """The search, one row: columns ``stage, iterations, log_likelihood``."""
        columns = ["stage", "iterations", "log_likelihood"]
        return pd.DataFrame([("newton", self._parts.maximum.iterations, self.llf)], columns=columns)

    @property
    def method(self) -> str:
        """Name of the method: ``"mle"``."""
        return "mle"

    @property
    def cov_type(self) -> str:
        """Kind of covariance: ``"nonrobust"``, ``"HC0"``, ``"HC1"`` or ``"cluster"``."""
        return self._parts.cov_type

    def _criterion(self) -> tuple[str, str]:
        return "Log likelihood", f"{self.llf:.2f}"

    @property
    def prsquared(self) -> float:
        """McFadden's pseudo R2, ``1 - llf / llnull``, a pure number; NaN where a likelihood is positive.

        References
        ----------
        McFadden (1974), Conditional logit analysis of qualitative choice behavior, in *Frontiers in Econometrics*.
        """
        return self._pseudo_r2.mcfadden

    @property
    def prsquared_vz(self) -> float:
        """Veall and Zimmermann's pseudo R2, a pure number, which comes nearest to that of the uncensored response.

        (REG11) of the theory pages.

        References
        ----------
        Veall and Zimmermann (1994), *Oxford Bulletin of Economics and Statistics* 56, 485-499.
        """
        return self._pseudo_r2.veall_zimmermann

    @property
    def _pseudo_r2(self) -> PseudoR2:
        return pseudo_r2(self.llf, self.llnull, self.nobs)

    def lr_test(self, other: RegressionResults) -> WaldResults:
        """Likelihood ratio test against a smaller model of the same rows.

        Parameters
        ----------
        other : RegressionResults
            Nested in this one: with fewer free parameters, on the same response.

        Returns
        -------
        WaldResults
            With ``statistic, pvalue, df``.

        Raises
        ------
        SpecError
            If ``other`` has no fewer parameters, a higher likelihood, or other rows, or a fit holds no training rows.

        References
        ----------
        S. S. Wilks (1938), The large-sample distribution of the likelihood ratio for testing
        composite hypotheses, *Annals of Mathematical Statistics* 9, 60-62.

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = tg.datasets.load("tobin")
        >>> whole = tg.fit("durable ~ age + quant | censor(0)", data)
        >>> whole.lr_test(tg.fit("durable ~ age | censor(0)", data))
        chi2(1) = 0.5817, p = 0.4457
        """
        from tobitgp.results.hypotheses import likelihood_ratio

        return likelihood_ratio(self, other)

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """All parameters in one table.

        Parameters
        ----------
        alpha : float
            Probability left out of the intervals, between 0 and 1.

        Returns
        -------
        DataFrame
            In the user's units, but for z and its tail probability: columns ``coef, std err, z, P>|z|, lower, upper``;
            for log-time families also ``exp(coef)``, the factor by which a coefficient multiplies times, with its ends
            ``exp(coef) lower`` and ``exp(coef) upper``, NaN for the parameters of the noise.

        Raises
        ------
        SpecError
            If ``alpha`` does not lie between 0 and 1.

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = {"days": [2.0, 3.0, 5.0, 8.0, 9.0], "seen": [1, 1, 0, 1, 0], "dose": [0.0, 1.0, 1.0, 2.0, 3.0]}
        >>> res = tg.fit("Surv(days, seen) ~ dose", data, family="weibull")
        >>> res.summary_frame()[["coef", "exp(coef)", "exp(coef) lower", "exp(coef) upper"]].round(2)
                   coef  exp(coef)  exp(coef) lower  exp(coef) upper
        Intercept   0.8       2.22             1.45             3.40
        dose        0.7       2.02             1.41             2.89
        sigma       0.2        NaN              NaN              NaN
        """
        frame = super().summary_frame(alpha)
        if self._parts.family.log_time:
            linear = frame.iloc[: len(self._columns)]
            with np.errstate(over="ignore"):
                for name, of in zip(RATIO_COLUMNS, ("coef", "lower", "upper"), strict=True):
                    frame[name] = np.exp(linear[of])
        return frame

    def summary(self, alpha: float = 0.05) -> Any:
        """Tables to read or to paste into a report.

        Parameters
        ----------
        alpha : float
            Probability left out of the intervals.

        Returns
        -------
        statsmodels.iolib.summary.Summary
            Prints as text; ``as_html``, ``as_latex``, ``as_csv``.

        Raises
        ------
        SpecError
            If ``alpha`` does not lie between 0 and 1.

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"), fixed={"sigma": 5.0})
        >>> print(res.summary().tables[2])
        ==============================================================================
                         coef     std err          z     P>|z|       [0.025     0.975]
        ------------------------------------------------------------------------------
        Intercept      5.1169      9.0433      0.566     0.572     -12.6075    22.8414
        age           -0.1413      0.1905     -0.742     0.458      -0.5147     0.2321
        ==============================================================================
        """
        from tobitgp.report.summaries import summarise_regression

        return summarise_regression(self, check_alpha(alpha))

    def influence(self, *, scaled: bool = False) -> pd.DataFrame:
        """Approximate change of every estimate when a row is added: one Newton step.

        Parameters
        ----------
        scaled : bool
            In standard errors (dfbetas).

        Returns
        -------
        DataFrame
            In the user's units: a row for each row of the training data, a column for each parameter, sigma and df as
            logarithms.

        Raises
        ------
        SpecError
            If the fit holds no training rows.

        References
        ----------
        .. [1] T. M. Therneau and P. M. Grambsch, *Modeling Survival Data* (2000), section 7.1; (REG9) of the theory
           pages.

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"))
        >>> res.influence(scaled=True)["age"].abs().nlargest(2).round(2)
        16    0.39
        5     0.20
        Name: age, dtype: float64
        """
        from tobitgp.results.regression.parts import influence_table

        return influence_table(self._parts, scaled=scaled)

    # -- what questions need ------------------------------------------------------------------------------------------

    @property
    def _joint(self) -> EstimateLaw:
        return EstimateLaw(self._parts)

    def _posterior(self, asked: Asked, *, bands: bool) -> Estimates:
        return estimates_of(self._parts, asked.design, bands=bands)

    def _conditional(self, new: Frame | None, level: float | None, *, se: bool) -> pd.DataFrame:
        return conditional_table(self._parts, new, level, se=se)

    def _terms(self, asked: Asked) -> dict[str, Estimates]:
        return term_estimates(self._parts, asked.design)

    def _likelihoods(self, rows: Scored) -> Array:
        return estimate_likelihoods(self._parts, rows)

    def _draws(self, draws: int, rng: Rng, question: str) -> EstimateDraws:
        return draw_estimates(self._parts, draws, rng, question=question)

    def _k_hat(self, draws: int, rng: Rng) -> KHat:
        return regression_k_hat(draw_estimates(self._parts, draws, rng, question="k_hat()"))

    def _findings(self, rng: Any) -> Iterator[Finding]:
        return posterior_findings(self, rng)

    def _without_rows(self) -> RegressionResults:
        return RegressionResults(replace(self._parts, training=None, covariates=None))

    posterior = joint.posterior
    sample = joint.sample
    marginal_effects = changes.marginal_effects
    get_margeff = changes.marginal_effects
    k_hat = validation.k_hat
    plot = output.plot
    plot_terms = output.plot_terms
    plot_residuals = output.plot_residuals

    def __repr__(self) -> str:
        parts, counts = self._parts, self._parts.facts.counts
        censored = ", ".join(f"{counts[k]} {k}-censored" for k in COUNTS[1:4] if counts[k]) or "none censored"
        return (
            f"RegressionResults: {parts.spec.written}\n"
            f"  {parts.family.name}, method mle: "
            f"{counts['exact']} rows exact, {censored}, {counts['dropped']} dropped\n"
            f"  log likelihood {self.llf:.2f}, {'converged' if self.converged else 'NOT converged'}"
        )
