"""Residuals of the rows a mixture was fitted to, and draws of new rows; see `tobitgp.regression.residuals`."""

from __future__ import annotations

import numpy as np
from scipy.special import betaincinv, gammaincinv, ndtr, ndtri_exp

from tobitgp.errors import SpecError
from tobitgp.mixture import MixtureFit, Predictive, held_parameters, impute
from tobitgp.mixture.model import Bayes
from tobitgp.mixture.weibull import LARGEST_SHAPE, SMALLEST_SHAPE
from tobitgp.regression.residuals import expected_hazard
from tobitgp.results.mixture.scales import finite_mean
from tobitgp.results.mixture.slopes import natural_slopes, plug_in_theta
from tobitgp.typing import Array

_LEAST_KNOWN = 1.0
_SMALLEST = 1e-290
KINDS = ("quantile", "cox_snell", "martingale", "response")


def residuals(fit: MixtureFit, kind: str, lower: Array, upper: Array, uniform: Array) -> Array:
    """Residuals of rows in (lower, upper], (n,).

    Parameters
    ----------
    fit : MixtureFit
    kind : {"quantile", "cox_snell", "martingale", "response"}
    lower, upper : (n,) array
    uniform : (n,) array
        Where in its mass a row stands, for normal scores; read on censored rows and counts.
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


def draw_rows(fit: MixtureFit, V: Array, n: int, draws: int, rng: np.random.Generator) -> Array:
    """New values (n, draws), all of a draw under one set of parameters; see :func:`draw_parameters`."""
    weights, thetas = draw_parameters(fit, V, draws, rng)
    out = np.empty((n, draws))
    for j, (w, theta) in enumerate(zip(weights, thetas, strict=True)):
        out[:, j] = Predictive(w, fit.model.family.point_law(theta, fit.units)).rvs(n, rng)
    return out


def draw_parameters(fit: MixtureFit, V: Array, draws: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draws of the weights (draws, K), and of the plug-in parameters (draws, D, K).

    Normal numbers with the correlations of V (of parameters on the scale on which they are unbounded, which is that of
    logarithms for positive ones) say where in its own law each parameter lies. That law has the variance of V: a weight
    is beta, about its estimate, and weights are made to sum to 1 again; a rate of counts is gamma, as its interval is
    (LR6); all else is normal on the unbounded scale. Normal logarithms of what has an error larger than itself, as of
    the weight of a component that is not needed, would lie far beyond what V says. What stands at a bound stays there.

    Raises
    ------
    SpecError
        If a parameter is not determined by the rows.
    """
    held = held_parameters(fit)
    V = np.where(held | held[:, None], 0.0, V)
    unknown = [name for name, variance in zip(fit.names, np.diag(V), strict=True) if not np.isfinite(variance)]
    if unknown:
        remedy = "fit fewer components, or draw" if fit.k > 1 else "draw"
        raise SpecError(
            f"The rows do not determine {', '.join(unknown)}, so that there is nothing to draw them from; {remedy} "
            "single values at the estimates by predictive.rvs()."
        )
    theta, weights = plug_in_theta(fit), fit.weights
    slopes, _ = natural_slopes(fit, theta)
    k, D = fit.k, len(theta)
    T = np.zeros((k + D * k, k + D * k))
    T[:k, :k] = np.diag(1.0 / np.maximum(weights, 1e-300))
    shaped = "shape" in fit.model.family.parameters
    inverse = _log_slopes(fit) if shaped else np.linalg.inv(np.moveaxis(slopes, 2, 0))
    for d in range(D):
        for r in range(D):
            T[k * (1 + d) + np.arange(k), k * (1 + r) + np.arange(k)] = inverse[:, d, r]
    values, vectors = np.linalg.eigh(T @ V @ T.T)
    moves = rng.standard_normal((draws, len(T))) @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
    size = np.sqrt(np.maximum(np.einsum("pi,ij,pj->p", T, V, T), 0.0))
    z = np.divide(moves, size, out=np.zeros_like(moves), where=size > 0.0)
    error, ways = np.sqrt(np.maximum(np.diag(V), 0.0)), moves[:, k:].reshape(draws, D, k)
    w = _beta_weights(weights, error[:k], z[:, :k])
    if fit.model.family.support == "counts":
        return w, _gamma_rates(fit, theta, error[k:], z[:, k:])[:, None]
    return w, np.stack([_with_shape(theta, way) for way in ways]) if shaped else theta + ways


def _beta_weights(mean: Array, error: Array, z: Array) -> Array:
    """Weights (draws, K) at the normal scores z, of beta laws with these means (K,) and errors (K,), summing to 1.

    The variance w (1 - w) / (A + 1) of a weight w has a bound, of which linear response knows nothing: A is at least 1.
    """
    full = mean * (1.0 - mean)
    free = (error > 0.0) & (full > 0.0)
    known = np.maximum(full[free] / error[free] ** 2 - 1.0, _LEAST_KNOWN)
    w = np.tile(mean, (len(z), 1))
    w[:, free] = betaincinv(known * mean[free], known * (1.0 - mean[free]), ndtr(z[:, free]))
    total = w.sum(axis=1, keepdims=True)
    return np.where(total > 0.0, w / np.where(total > 0.0, total, 1.0), mean)


def _gamma_rates(fit: MixtureFit, theta: Array, error: Array, z: Array) -> Array:
    """Logarithms of rates (draws, K) at the normal scores z, of gamma laws that know no less than a prior."""
    rate, free = fit.values[fit.k :], error > 0.0
    least = fit.model.prior[0] if isinstance(fit.model, Bayes) else 0.0
    a = np.maximum((rate[free] / error[free]) ** 2, least)
    times = np.tile(rate / fit.model.family.point_estimates(theta, fit.units)[0][0], (len(z), 1))
    times[:, free] *= gammaincinv(a, ndtr(z[:, free])) / a
    return np.asarray(theta[0] + np.log(np.maximum(times, _SMALLEST)))


def _log_slopes(fit: MixtureFit) -> Array:
    """Derivatives (K, D, D) of the logarithms of the user's parameters in themselves."""
    values = np.stack(list(fit.parameters.values()))
    return np.asarray(np.einsum("dk,dr->kdr", 1.0 / values, np.eye(len(values))))


def _with_shape(theta: Array, way: Array) -> Array:
    """Weibull (u, shape), moved along log scale and log shape: shapes are positive, and u is no parameter by itself."""
    shape = np.clip(theta[1] * np.exp(way[1]), SMALLEST_SHAPE, LARGEST_SHAPE)
    return np.stack([shape * (theta[0] / theta[1] - way[0]), shape])
