r"""Uncertainty of what is read off a mixture, by the delta method.

A quantity of a mixture is :math:`\sum_k w_k g_k(\theta_k)`, so that its derivative in a weight is :math:`g_k` and
that in a parameter of component k is :math:`w_k\,\partial g_k`. Components do not see each other's parameters: one
parameter of all of them moves at a time.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tobitgp.mixture import MixtureFit
from tobitgp.mixture.family import ComponentDistribution
from tobitgp.mixture.model import State
from tobitgp.numerics.differences import slope
from tobitgp.typing import Array

_STEP = 0.02  # of a standard deviation of a component, or of the logarithm of a parameter
_NOTHING = 1e-12

OfLaws = Callable[[ComponentDistribution], Array]


def plug_in_theta(fit: MixtureFit) -> Array:
    """Plug-in parameters (D, K), components ordered by mean, on the scale that is modelled."""
    return fit.model.view(State(fit.state.weights, fit.state.components[:, fit.order])).theta


def natural_slopes(fit: MixtureFit, theta: Array) -> tuple[Array, Array]:
    """Derivatives (D, D, K) of the user's parameters in theta, and steps (D, K) of theta that suit each."""
    return fit.model.family.point_estimates(theta, fit.units)[1], fit.model.family.steps(theta)


def mixture_slopes(fit: MixtureFit, of: OfLaws) -> Array:
    """Derivatives (n, p) of ``sum_k w_k of(laws)_k`` in all parameters, in the order of ``fit.names``."""
    theta = plug_in_theta(fit)
    family, units = fit.model.family, fit.units
    slopes, unit = natural_slopes(fit, theta)
    with np.errstate(all="ignore"):
        value = of(family.distribution(theta, units))
        by_theta = []
        for d in range(len(theta)):
            way = np.zeros_like(theta)
            way[d] = unit[d]
            moved = slope(lambda s, way=way: of(family.distribution(theta + s * way, units)), _STEP)  # type: ignore[misc]
            by_theta.append(moved / unit[d][:, None])
        inverse = np.linalg.inv(np.moveaxis(slopes, 2, 0))
    by_natural = np.einsum("dkn,kdr->rkn", np.stack(by_theta), inverse) * fit.weights[:, None]
    return np.concatenate([value, *by_natural]).T


def log_slopes(fit: MixtureFit, of: OfLaws) -> Array:
    r"""Derivatives (n, p) of :math:`\log \sum_k w_k \exp(of_k)`, far out too, where the sum underflows."""
    with np.errstate(all="ignore"):
        each = of(fit.plug_in().distribution)
        share = np.exp(each - np.logaddexp.reduce(each + np.log(fit.weights)[:, None], axis=0)).T
        moved = mixture_slopes(fit, of)
        out = np.where(share[:, None] > 0.0, share[:, None] * moved.reshape(len(share), -1, fit.k), 0.0)
    out[:, 0] = share
    out[np.isnan(share).any(axis=1)] = np.nan
    return out.reshape(moved.shape)


def delta_errors(G: Array, V: Array) -> Array:
    """Standard errors (n,) of quantities with derivatives G (n, p).

    NaN where a derivative in a parameter that has a variance is not finite, or a parameter in them is not determined.
    """
    unknown = np.isnan(np.diag(V))
    lost = (~np.isfinite(G) & (np.diag(V) != 0.0)).any(axis=1)
    G = np.where(np.isfinite(G), G, 0.0)
    size = np.abs(G).max(axis=1, initial=0.0, keepdims=True)
    lost |= (np.abs(G[:, unknown]) > _NOTHING * size).any(axis=1)
    known = G[:, ~unknown]
    variance = np.einsum("np,pq,nq->n", known, V[np.ix_(~unknown, ~unknown)], known)
    return np.where(lost, np.nan, np.sqrt(np.maximum(variance, 0.0)))
