"""Residuals of the rows a mixture was fitted to; see `tobitgp.regression.residuals`."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri_exp

from tobitgp.errors import SpecError
from tobitgp.mixture import MixtureFit, Predictive, impute
from tobitgp.regression.residuals import expected_hazard
from tobitgp.results.mixture.scales import finite_mean
from tobitgp.typing import Array

KINDS = ("quantile", "cox_snell", "martingale", "response")


def residuals(fit: MixtureFit, kind: str, lower: Array, upper: Array, uniform: Array) -> Array:
    """Residuals of rows in (lower, upper], (n,).

    Shapes: lower, upper, uniform (n,).
    """
    if not isinstance(kind, str) or kind not in KINDS:
        raise SpecError(f"kind={kind!r} is not offered; choose one of {', '.join(map(repr, KINDS))}.")
    predictive = fit.predictive()
    if kind == "response":
        return np.asarray(impute(fit, lower, upper)[0] - finite_mean(fit, "kind='quantile' has no need of it"))
    if fit.model.family.support == "counts":
        lower = np.where(lower == upper, lower - 1.0, lower)
    if kind == "quantile":
        return _scores(predictive, lower, upper, uniform)
    censored = np.isposinf(upper)
    hazard = expected_hazard(
        predictive.cumulative_hazard(lower), predictive.cumulative_hazard(np.where(censored, lower, upper)), censored
    )
    return hazard if kind == "cox_snell" else np.where(censored, 0.0, 1.0) - hazard


def _scores(predictive: Predictive, lower: Array, upper: Array, uniform: Array) -> Array:
    with np.errstate(divide="ignore"):
        share, rest = np.log(uniform), np.log1p(-uniform)
        below = np.logaddexp(rest + predictive.logcdf(lower), share + predictive.logcdf(upper))
        above = np.logaddexp(rest + predictive.logsf(lower), share + predictive.logsf(upper))
    left = below < above
    score = ndtri_exp(np.minimum(np.where(left, below, above), 0.0))
    return np.asarray(np.where(left, score, -score))
