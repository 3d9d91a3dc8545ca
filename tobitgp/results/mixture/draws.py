"""Draws of the parameters of a mixture that have the covariance of their estimates, and of rows under them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, gammaincinv, ndtr

from tobitgp.errors import SpecError
from tobitgp.mixture import MixtureFit, Predictive, held_parameters
from tobitgp.mixture.inside import draw_inside
from tobitgp.mixture.model import Bayes
from tobitgp.mixture.weibull import LARGEST_SHAPE, SMALLEST_SHAPE
from tobitgp.results.mixture.parts import MixtureParts, covariance_of, training_ends
from tobitgp.results.mixture.slopes import natural_slopes, plug_in_theta
from tobitgp.results.trust.posterior_draws import Draws, chunks, on_grid, streams, training_rows
from tobitgp.typing import Array

_LEAST_KNOWN = 1.0
_SMALLEST = 1e-290


@dataclass(frozen=True, slots=True)
class ComponentDraws(Draws):
    """Draws of a mixture's parameters."""

    parts: MixtureParts
    ends: tuple[Array, Array]  # (n,), the values lie in (lower, upper]
    weights: Array  # (S, K)
    theta: Array  # (S, D, K), plug-in parameters of the components
    seeds: tuple[int, ...]  # one for each chunk of rows

    @property
    def size(self) -> int:
        """S."""
        return len(self.weights)

    @property
    def names(self) -> list[str]:
        """Weights, then parameters of the components."""
        return list(self.parts.fit.names)

    def parameters(self) -> Array:
        """As ``params`` has them, (S, p)."""
        fit = self.parts.fit
        values = np.array([fit.model.family.point_estimates(at, fit.units)[0].ravel() for at in self.theta])
        return np.concatenate([self.weights, values], axis=1)

    def log_likelihoods(self) -> Iterator[tuple[slice, Array]]:
        """See `Draws`."""
        laws = list(self._laws())
        for rows in chunks(len(self.ends[0])):
            lower, upper = (end[rows] for end in self.ends)
            yield rows, on_grid(np.column_stack([law.log_mass(lower, upper) for law in laws]))

    def responses(self) -> Iterator[tuple[slice, Array]]:
        """See `Draws`."""
        laws = list(self._laws())
        for rows, seed in zip(chunks(len(self.ends[0])), self.seeds, strict=True):
            rng = np.random.default_rng(seed)
            yield rows, np.column_stack([law.rvs(rows.stop - rows.start, rng) for law in laws])

    def _laws(self) -> Iterator[Predictive]:
        fit = self.parts.fit
        for w, theta in zip(self.weights, self.theta, strict=True):
            yield Predictive(w, fit.model.family.point_law(theta, fit.units))


def draw_components(
    parts: MixtureParts, draws: int, rng: int | np.random.Generator | None, *, question: str
) -> ComponentDraws:
    """Draw the parameters of a mixture."""
    training = training_rows(parts, question)
    stream, seeds = streams(len(training.labels), rng)
    lower, upper, _ = training_ends(parts)
    weights, theta = draw_parameters(parts.fit, covariance_of(parts), draws, stream)
    return ComponentDraws(parts, (lower, upper), weights, theta, seeds)


def draw_rows(
    fit: MixtureFit,
    V: Array,
    n: int,
    draws: int,
    rng: np.random.Generator,
    ends: tuple[Array, Array] | None = None,
) -> Array:
    """New values (n, draws), or values in (lower, upper] of the ``ends``, (n,) each.

    All of a draw are under one set of parameters; see :func:`draw_parameters`.
    """
    weights, thetas = draw_parameters(fit, V, draws, rng)
    out = np.empty((n, draws))
    for j, (w, theta) in enumerate(zip(weights, thetas, strict=True)):
        law = Predictive(w, fit.model.family.point_law(theta, fit.units))
        out[:, j] = law.rvs(n, rng) if ends is None else draw_inside(law, *ends, rng)
    return out


def draw_parameters(fit: MixtureFit, V: Array, draws: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draws of the weights (draws, K), and of the plug-in parameters (draws, D, K).

    Normal numbers with the correlations of V (of parameters on the scale on which they are unbounded, which is that of
    logarithms for positive ones) say where in its own law each parameter lies. That law has the variance of V: a weight
    is beta, about its estimate, and weights are made to sum to 1 again; a rate of counts is gamma, as its interval is
    (LR6); all else is normal on the unbounded scale. Normal logarithms of what has an error larger than itself, as of
    the weight of a component that is not needed, would lie far beyond what V says. What stands at a bound stays there.
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
