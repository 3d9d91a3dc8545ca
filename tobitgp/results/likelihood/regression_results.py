"""A fitted censored regression as its users see it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from tobitgp.data.linear_columns import INTERCEPT
from tobitgp.data.outcome import outcome
from tobitgp.distributions.location_scale import LocationScale
from tobitgp.kinds.likelihood import LikelihoodParts
from tobitgp.kinds.regression import RegressionParts, log_ratios
from tobitgp.posterior.nodes import Nodes
from tobitgp.regression.deviance_residuals import deviance
from tobitgp.results.interfaces import leverage, row_values
from tobitgp.results.likelihood import marginaleffects
from tobitgp.results.likelihood.accelerated_paths import along_regression
from tobitgp.results.likelihood.likelihood_results import LikelihoodResults, response_residuals
from tobitgp.results.parameter_estimates import Linear
from tobitgp.results.paths import Paths
from tobitgp.results.ratios import Contrasts
from tobitgp.results.residuals import pearson
from tobitgp.results.rows import Asked
from tobitgp.results.summary_notes import (
    DISTRIBUTION,
    ParameterGroup,
    likelihood_words,
    model_title,
    ratio_words,
    row_notes,
    scale_formula,
)
from tobitgp.results.words import Words, noted
from tobitgp.typing import Array


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

    _kind = "regression"
    _about_latent = True
    _parts: RegressionParts

    # -- the fit ------------------------------------------------------------------------------------------------------

    @property
    def df_model(self) -> float:
        """Number of estimated parameters other than the intercept and those of the noise."""
        return estimated_slopes(self._parts)

    # -- what questions need ------------------------------------------------------------------------------------------

    @property
    def _residuals(self) -> dict[str, Callable[[Asked], Array]]:
        own = {
            "response": response_residuals,
            "pearson": noise_residuals,
            "deviance": deviance_residuals,
        }
        return {kind: partial(of, self._parts) for kind, of in own.items()}

    def _along(self, of: str, paths: Paths, level: float | None) -> dict[str, Array]:
        return along_regression(self._parts, of, paths, level)

    def _log_ratios(self, contrasts: Contrasts, sign: float) -> Linear:
        return log_ratios(self._parts, contrasts, sign)

    _knows_null = True

    def _words(self, alpha: float, kind: Any = None) -> Words:
        return regression_words(self, alpha)

    def _without_rows(self) -> Any:
        return type(self)(replace(self._parts, training=None, covariates=None))

    to_marginaleffects = marginaleffects.to_marginaleffects

    deviance = property(row_values.deviance)
    wresid = property(row_values.wresid)
    resid_working = property(leverage.resid_working)
    get_hat_matrix_diag = leverage.get_hat_matrix_diag
    get_influence = leverage.get_influence


def estimated_slopes(parts: LikelihoodParts) -> float:
    """Number of estimated coefficients of the location other than the intercept."""
    return float(
        sum(free and name != "Intercept" for name, free in zip(parts.columns, parts.maximum.free, strict=False))
    )


_SHAPED = ("weibull", "loglogistic")  # families that others write with a shape


def regression_words(results: Any, alpha: float) -> Words:
    """Contents of the summary of a regression."""
    parts, p, k = results._parts, len(results._columns), len(results._names)
    positive, q = parts.family.log_time, p + len(parts.scale_columns)
    ratios = [i for i in range(p if positive else 0) if results._names[i] != INTERCEPT]
    of_ratios = "Time ratios" if parts.spec.response.kind == "surv" else "Ratios"
    scale = []
    if positive:
        scale.append("Coefficients and sigma are on the scale of the logarithm of the response.")
        scale += ["exp(coef) is the factor of the response per unit of a column."] * bool(ratios)
        scale += ["The shape of the distribution of the response is 1 / sigma."] * (parts.family.name in _SHAPED)
    return likelihood_words(
        results,
        alpha,
        model_title(results, positive=positive),
        [],
        [
            ParameterGroup("Coefficients", range(p), of_ratios, ratios),
            ParameterGroup("log(sigma)", range(p, q)),
            ParameterGroup(DISTRIBUTION, range(q, k), tested=False),
        ],
        [*row_notes(results, times=not positive), *noted("scale", scale)],
        formulas=scale_formula(results),
        of_ratios=ratio_words(results),
    )


def noise_residuals(parts: RegressionParts, asked: Asked) -> Array:
    """The same on the scale of the location, in standard deviations of the noise."""
    y, known = parts.in_training(), outcome(parts.rows.response, log_time=parts.family.log_time)
    latent = LocationScale(y.noise, y.location, y.scale).conditional_mean(known.lower, known.upper)
    one = y.location[None]
    return pearson(Nodes(np.ones(1), one, 0.0 * one, y.scale[None], noises=(y.noise,)), latent)


def deviance_residuals(parts: RegressionParts, asked: Asked) -> Array:
    """Signed roots of deviances, (REG18)."""
    return deviance(parts.in_training(), outcome(parts.rows.response, log_time=parts.family.log_time))
