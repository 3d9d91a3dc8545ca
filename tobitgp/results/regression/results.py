"""A fitted censored regression as its users see it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.diagnostics import validation
from tobitgp.diagnostics.check import posterior_findings
from tobitgp.diagnostics.k_hat import KHat, regression_k_hat
from tobitgp.diagnostics.residual_tests import Finding
from tobitgp.diagnostics.validation import Rng
from tobitgp.posterior.estimates import Estimates
from tobitgp.regression.maximum import known
from tobitgp.regression.residuals import PseudoR2, pseudo_r2
from tobitgp.results import effects, figures, hazard_ratios, joint, standardise
from tobitgp.results.averages import Estimated, Population, Sought
from tobitgp.results.estimates import Linear
from tobitgp.results.hazard_ratios import Contrasts
from tobitgp.results.paths import Paths
from tobitgp.results.regression import bootstrap, marginaleffects, profile, residuals
from tobitgp.results.regression.averages import regression_averages
from tobitgp.results.regression.draws import EstimateDraws, JointEstimates, draw_estimates
from tobitgp.results.regression.likelihood import LikelihoodResults
from tobitgp.results.regression.parts import (
    RegressionParts,
    conditional_table,
    estimate_likelihoods,
    estimates_of,
    influence_table,
    log_ratios,
    null_likelihood,
    term_estimates,
)
from tobitgp.results.regression.paths import along_regression
from tobitgp.results.rows import Asked, Scored
from tobitgp.typing import Array, Frame


class RegressionResults(LikelihoodResults):
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

    @cached_property
    def llnull(self) -> float:
        """Maximised log likelihood with an intercept only, in nats; NaN where that has no maximum.

        (REG2) of the theory pages.
        """
        return null_likelihood(self._parts)

    @property
    def fit_history(self) -> pd.DataFrame:
        """The search, one row: columns ``stage, iterations, log_likelihood``."""
        columns = ["stage", "iterations", "log_likelihood"]
        return pd.DataFrame([("newton", self._parts.maximum.iterations, self.llf)], columns=columns)

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
        return pseudo_r2(self.llf, self.llnull, self._n_units)

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
        return influence_table(self._parts, scaled=scaled)

    # -- what questions need ------------------------------------------------------------------------------------------

    @property
    def _joint(self) -> JointEstimates:
        return JointEstimates(self._parts)

    def _posterior(self, asked: Asked, *, bands: bool) -> Estimates:
        return estimates_of(self._parts, asked.design, bands=bands)

    def _log_noise(self, asked: Asked) -> tuple[Array, Array]:
        found = estimates_of(self._parts, asked.design)
        return found.x[1], np.sqrt(known(found.covariance[:, 1, 1], found.lost[:, 1, 1]))

    def _conditional(self, new: Frame | None, level: float | None, *, se: bool) -> pd.DataFrame:
        return conditional_table(self._parts, new, level, se=se)

    @property
    def _residuals(self) -> dict[str, Callable[[Asked], Array]]:
        own = {
            "response": residuals.response_residuals,
            "pearson": residuals.pearson_residuals,
            "deviance": residuals.deviance_residuals,
        }
        return {kind: partial(of, self._parts) for kind, of in own.items()}

    def _along(self, of: str, paths: Paths, level: float | None) -> dict[str, Array]:
        return along_regression(self._parts, of, paths, level)

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

    @property
    def _has_ratios(self) -> bool:
        return self._parts.family.log_time

    def _differences(self, contrasts: Contrasts) -> Linear:
        return self._linear.combine(contrasts.columns, -contrasts.offset)

    def _log_ratios(self, contrasts: Contrasts, sign: float) -> Linear:
        return log_ratios(self._parts, contrasts, sign)

    def _averages(self, population: Population, sought: Sought) -> Estimated:
        return regression_averages(self._parts, population, sought)

    def _summary(self, alpha: float, kind: Any, ratios: pd.DataFrame | None = None) -> Any:
        from tobitgp.report.summaries import summarise_regression

        self._estimates(kind)
        return summarise_regression(self, alpha, ratios)

    def _without_rows(self) -> RegressionResults:
        return RegressionResults(replace(self._parts, training=None, covariates=None))

    bootstrap = bootstrap.bootstrap
    to_marginaleffects = marginaleffects.to_marginaleffects
    profile_interval = profile.profile_interval
    _profile = profile.profile_interval
    posterior = joint.posterior
    hazard_ratios = hazard_ratios.hazard_ratios
    standardise = standardise.standardise
    marginal_effects = effects.marginal_effects
    get_margeff = effects.marginal_effects
    k_hat = validation.k_hat
    plot = figures.plot
    plot_terms = figures.plot_terms
    plot_effect = figures.plot_effect
    plot_forest = figures.plot_forest
    plot_residuals = figures.plot_residuals
