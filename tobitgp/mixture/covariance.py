r"""Covariance of the parameters of a fitted mixture, and their intervals.

A posterior of variational Bayes counts a censored row as one that was seen, so that its variances are too small: with
one exponential component by the factor (a_0 + exact rows) / (a_0 + rows). Linear response mends this. With L the bound
as a function of the coordinates phi of the posterior, and G the derivative of the posterior means of the parameters in
phi, it is

.. math:: V = G\,(-\partial^2 L / \partial\varphi^2)^{-1}\, G',

while the posterior itself has Fisher's information in place of the second derivative: (LR2) to (LR5) of the theory
pages. At point estimates the same expression is the inverse of the observed information. The gradient is closed, and
its derivative is taken by differences.

References
----------
Giordano, Broderick and Jordan (2018), Covariances, robustness, and variational Bayes, *Journal of Machine Learning
Research* 19(51), 1-49, section 2.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from tobitgp.engines import single_blas_thread
from tobitgp.errors import SpecError
from tobitgp.mixture.ascent import chunks_of, evaluate
from tobitgp.mixture.fitted import MixtureFit
from tobitgp.mixture.model import Bayes
from tobitgp.mixture.rows import arrange, read_rows
from tobitgp.numerics.differences import slope
from tobitgp.typing import Array, BoolArray

_STEP = 0.05  # of a posterior standard deviation
_NOTHING = 1e-12
_LEAST = 1e-6  # smallest ratio of curvature to information that is taken for one


def linear_response(fit: MixtureFit, lower: Array, upper: Array, weight: Array | None = None) -> Array:
    """Covariance of the parameters by linear response, or from the observed information of point estimates.

    Takes four passes over the rows for each coordinate of the posterior, of which a Gaussian component has four and one
    of its weight.

    Shapes: lower, upper, weight (n,); gives (p, p).
    """
    model, family = fit.model, fit.model.family
    raw = read_rows(family, lower, upper, weight)
    working = arrange(family, raw, fit.units)
    chunks = chunks_of(working, fit.k)
    at, unit = fit.state.flat(), _units(fit)

    def gradient(x: Array) -> Array:
        state = fit.state.moved(x)
        return model.gradient(state, evaluate(model, chunks, state)[1])

    with single_blas_thread(), np.errstate(all="ignore"):
        curvature = np.empty((len(at), len(at)))
        for j in range(len(at)):
            way = np.zeros(len(at))
            way[j] = unit[j]
            curvature[j] = -slope(lambda s, way=way: gradient(at + s * way), _STEP) * unit  # type: ignore[misc]
    return _sandwich(fit, 0.5 * (curvature + curvature.T), unit)


def posterior_covariance(fit: MixtureFit) -> Array:
    """Covariance of the parameters under the posterior itself, too small where rows are censored; (p, p)."""
    model = fit.model
    if not isinstance(model, Bayes):
        raise SpecError("Point estimates have no posterior; linear_response gives their covariance.")
    unit = _units(fit)
    return _sandwich(fit, model.information(fit.state) * unit * unit[:, None], unit)


def _units(fit: MixtureFit) -> Array:
    """Sizes of the coordinates' steps."""
    return fit.model.sizes(fit.state, fit.counts[np.argsort(fit.order)])


def held_parameters(fit: MixtureFit) -> BoolArray:
    """Which parameters (p,), in the order of ``fit.names``, are point estimates at a bound."""
    G = _slopes(fit) != 0.0
    held = ~fit.model.free(fit.state)
    return np.asarray((G & held).any(axis=1) & ~(G & ~held).any(axis=1)) & (fit.k > 1 or np.arange(len(G)) > 0)


def _sandwich(fit: MixtureFit, curvature: Array, unit: Array) -> Array:
    """G C^-1 G' along the directions in which the state may move."""
    G, basis = _slopes(fit) * unit, fit.model.directions(fit.state, unit)
    inner = basis.T @ curvature @ basis
    if not np.isfinite(inner).all():
        return np.full((len(G), len(G)), np.nan)
    values, vectors = np.linalg.eigh(inner)
    good = values > _LEAST
    along = G @ basis @ vectors
    V = np.asarray((along[:, good] / values[good]) @ along[:, good].T)
    unknown = (along[:, ~good] ** 2).sum(axis=1) > 1e-6 * (along**2).sum(axis=1)
    unknown |= held_parameters(fit)
    V[unknown] = V[:, unknown] = np.nan
    return V


def _slopes(fit: MixtureFit) -> Array:
    """Derivatives of the parameters in the coordinates, (p, coordinates)."""
    m, k, order = fit.state.weights.size, fit.k, fit.order
    of_weights = fit.model.estimated_weights(fit.state)[1]
    values, of_components = fit.model.estimates(fit.state, fit.units)
    G = np.zeros((k + values.size, m + fit.state.components.size))
    G[:k, :m] = of_weights[order]
    for r in range(len(values)):
        for p in range(len(fit.state.components)):
            G[k * (1 + r) + np.arange(k), m + p * k + order] = of_components[r, p, order]
    return G


def intervals(fit: MixtureFit, V: Array, level: float = 0.95) -> Array:
    """Central intervals of all parameters.

    A covariance says how wide an interval is, not what shape it has. With few exact rows the posterior of a mean has
    long tails and that of a scale is skew, so each family keeps the shape of its own posterior with the information
    that the covariance says is left; weights are normal on the logit scale. (LR6) and (LR7) of the theory pages.

    Shapes: V (p, p); gives (p, 2).
    """
    error = np.sqrt(np.diag(V))
    of_weights = _logit_interval(fit.weights, error[: fit.k], level)
    values = np.array(list(fit.parameters.values()))
    low, high = fit.model.family.interval(values, error[fit.k :].reshape(values.shape), level)
    return np.concatenate([of_weights, np.column_stack([low.ravel(), high.ravel()])])


def _logit_interval(weight: Array, error: Array, level: float) -> Array:
    inside = (weight > 0.0) & (weight < 1.0)
    variance = np.where(inside, weight * (1.0 - weight), 1.0)
    away = np.exp(ndtri(0.5 + 0.5 * level) * error / variance)
    ends = np.column_stack([weight / (weight + (1.0 - weight) * way) for way in (away, 1.0 / away)])
    return np.where(inside[:, None], ends, weight[:, None])
