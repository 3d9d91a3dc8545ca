"""Draws of a mixture's parameters, and of values under them: (LR9) of the theory pages.

References
----------
Robertson, Tallman and Whiteman (2005), Forecasting using relative entropy, *Journal of Money, Credit and Banking* 37,
383-401, who tilt draws until their means are what is known otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag
from scipy.special import betaincinv, logsumexp, ndtr, softmax

from tobitgp.diagnostics.training_draws import Draws, chunks, on_grid, streams, training_rows
from tobitgp.engines import row_chunks
from tobitgp.errors import SpecError
from tobitgp.kinds.mixture import MixtureParts, covariance_of, training_ends
from tobitgp.mixture import MixtureFit, Predictive, held_parameters
from tobitgp.mixture.evidence_bound import Bayes
from tobitgp.mixture.family import blocks
from tobitgp.mixture.predictive import draw_between
from tobitgp.typing import Array, IntArray

_FEWEST = 1000  # draws from which the requested ones are chosen
_LEVELS = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
_RIDGE = 0.003
_STEPS = 50
_AT_ONCE = 20_000  # rows times components that are evaluated together


def predictives_at(fit: MixtureFit, weights: Array, theta: Array) -> list[Predictive]:
    """Distributions of a value at draws of the weights (S, K) and plug-in parameters (S, D, K)."""
    family, draws = fit.model.family, zip(weights, theta, strict=True)
    return [Predictive(w, family.distribution(at, fit.units)) for w, at in draws]


def draw_rows(
    fit: MixtureFit, V: Array, n: int, draws: int, rng: np.random.Generator, ends: tuple[Array, Array] | None = None
) -> Array:
    """New values (n, draws), or values in (lower, upper] of the ``ends``; parameters are drawn once for all rows."""
    predictives = predictives_at(fit, *draw_parameters(fit, V, draws, rng))
    drawn = [one.rvs(n, rng) if ends is None else draw_between(one, *ends, rng) for one in predictives]
    return np.column_stack(drawn)


def draw_parameters(fit: MixtureFit, V: Array, draws: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draws of the weights (draws, K), and of the plug-in parameters (draws, D, K), kept to the predictive one."""
    if fit.k == 1:
        return _by_scores(fit, V, draws, rng)
    w, theta = _by_scores(fit, V, max(draws, _FEWEST), rng)
    kept = _tilted(fit, w, theta, draws)
    return w[kept], theta[kept]


def _by_scores(fit: MixtureFit, V: Array, draws: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draws with the covariance V, whatever they say together of a new value.

    Normal numbers with the correlations of V on the unbounded scale say where in its distribution each parameter
    lies: weights are beta, made to sum to 1, rates of counts gamma as in (LR6), all else normal on that scale. Normal
    logarithms of what has an error larger than itself would lie far beyond what V says.
    """
    held = held_parameters(fit)
    V = np.where(held | held[:, None], 0.0, V)
    unknown = [name for name, variance in zip(fit.names, np.diag(V), strict=True) if not np.isfinite(variance)]
    if unknown:
        remedy = "fit fewer components, or draw" if fit.k > 1 else "draw"
        raise SpecError(
            f"The rows do not determine {', '.join(unknown)}, so that they cannot be drawn; {remedy} single "
            f"values at the estimates by predictive.rvs()."
        )
    family, k, theta, weights = fit.model.family, fit.k, fit.theta, fit.weights
    slopes, values = family.point_estimates(theta, fit.units)[1], np.stack(list(fit.parameters.values()))
    T = block_diag(np.diag(1.0 / np.maximum(weights, 1e-300)), blocks(family.unbounded_slopes(theta, values, slopes)))
    variances, vectors = np.linalg.eigh(T @ V @ T.T)
    moves = rng.standard_normal((draws, len(T))) @ (vectors * np.sqrt(np.maximum(variances, 0.0))).T
    size = np.sqrt(np.maximum(np.einsum("pi,ij,pj->p", T, V, T), 0.0))
    z = np.divide(moves, size, out=np.zeros_like(moves), where=size > 0.0)
    error = np.sqrt(np.maximum(np.diag(V), 0.0))
    prior = fit.model.prior.values if isinstance(fit.model, Bayes) else None
    of_moves, of_z = (each[:, k:].reshape(draws, *theta.shape) for each in (moves, z))
    drawn = family.drawn(theta, of_moves, of_z, values, error[k:].reshape(theta.shape), prior)
    return _beta_weights(weights, error[:k], z[:, :k]), drawn


def _tilted(fit: MixtureFit, w: Array, theta: Array, number: int) -> IntArray:
    """Which of the draws to take, as many as requested, so that their mean distribution is the predictive one.

    Components that the rows hardly distinguish have errors beyond where the likelihood is normal, and the mean over
    such draws is another distribution than the rows have. The tilt is the one of least relative entropy.
    """
    predictive = fit.predictive()
    x = np.unique(predictive.ppf(_LEVELS))
    x = x[np.isfinite(x)]
    flat = fit.model.family.distribution(np.moveaxis(theta, 0, 1).reshape(theta.shape[1], -1), fit.units)
    survival = np.einsum("sk,skm->sm", w, np.exp(flat.log_sf(x)).reshape(*w.shape, len(x)))
    away = np.column_stack([survival - predictive.sf(x), w - fit.weights])
    spread = away.std(axis=0)
    seen = spread > 0.0
    log_p = _log_tilt(away[:, seen] / spread[seen])
    share = np.cumsum(softmax(log_p))
    return np.searchsorted(share, (np.arange(number) + 0.5) / number * share[-1])


def _log_tilt(away: Array) -> Array:
    """Logarithms (S,) of factors under which means of away (S, m) are 0, but for a ridge; Newton's method."""

    def lost(at: Array) -> float:
        return float(logsumexp(away @ at) + 0.5 * _RIDGE * at @ at)

    m = away.shape[1]
    at, value = np.zeros(m), lost(np.zeros(m))
    for _ in range(_STEPS):
        p = softmax(away @ at)
        mean = p @ away
        slope = mean + _RIDGE * at
        bent = away.T @ (p[:, None] * away) - np.outer(mean, mean) + _RIDGE * np.eye(m)
        way, length = -np.linalg.solve(bent, slope), 1.0
        while lost(at + length * way) > value and length > 1e-6:
            length *= 0.5
        at, before, value = at + length * way, value, lost(at + length * way)
        if before - value < 1e-9:
            break
    return np.asarray(away @ at)


def _beta_weights(mean: Array, error: Array, z: Array) -> Array:
    """Weights (draws, K) at scores z, beta with means and errors (K,) as far as these have one, and of sum 1."""
    full = mean * (1.0 - mean)
    free = (error > 0.0) & (full > 0.0)
    known = np.maximum(full[free] / error[free] ** 2 - 1.0, 1.0)
    w = np.tile(mean, (len(z), 1))
    w[:, free] = betaincinv(known * mean[free], known * (1.0 - mean[free]), ndtr(z[:, free]))
    total = w.sum(axis=1, keepdims=True)
    return np.where(total > 0.0, w / np.where(total > 0.0, total, 1.0), mean)


@dataclass(frozen=True, slots=True)
class ComponentDraws(Draws):
    """Draws of a mixture's parameters."""

    parts: MixtureParts
    weights: Array  # (S, K)
    theta: Array  # (S, D, K), plug-in parameters of the components
    seeds: tuple[int, ...]  # one for each chunk of rows

    @property
    def size(self) -> int:
        """S."""
        return len(self.weights)

    def parameters(self) -> Array:
        """As ``params`` has them, (S, p)."""
        fit = self.parts.fit
        values = np.array([fit.model.family.point_estimates(at, fit.units)[0].ravel() for at in self.theta])
        return np.concatenate([self.weights, values], axis=1)

    def log_likelihoods(self) -> Iterator[tuple[slice, Array]]:
        """See `Draws`."""
        (lower, upper, _), window = training_ends(self.parts), self.parts.rows.response.window
        for rows in chunks(len(lower)):
            log_p = self._log_masses(lower[rows], upper[rows])
            if window is not None:
                log_p -= self._log_masses(*(end[rows] for end in window))
            yield rows, on_grid(log_p)

    def _log_masses(self, lower: Array, upper: Array) -> Array:
        """Log probabilities or densities (n, S) of rows, under many draws at a time."""
        fit, k, out = self.parts.fit, self.weights.shape[1], []
        for some in row_chunks(0, self.size, max(_AT_ONCE // (k * len(lower)), 1)):
            theta = np.moveaxis(self.theta[some], 0, 1).reshape(self.theta.shape[1], -1)
            log_p = fit.model.family.distribution(theta, fit.units).log_interval(lower, upper)
            with np.errstate(divide="ignore", invalid="ignore"):
                log_w = np.log(self.weights[some])[:, :, None]
                out.append(np.logaddexp.reduce(log_p.reshape(-1, k, len(lower)) + log_w, axis=1))
        return np.concatenate(out).T

    def responses(self) -> Iterator[tuple[slice, Array]]:
        """See `Draws`."""
        predictives = self._predictives()
        for rows, seed in zip(chunks(len(self.parts.rows.labels)), self.seeds, strict=True):
            rng = np.random.default_rng(seed)
            yield rows, np.column_stack([one.rvs(rows.stop - rows.start, rng) for one in predictives])

    def _predictives(self) -> list[Predictive]:
        return predictives_at(self.parts.fit, self.weights, self.theta)


def draw_components(
    parts: MixtureParts, draws: int, rng: int | np.random.Generator | None, *, question: str
) -> ComponentDraws:
    """Draw the parameters of a mixture."""
    stream, seeds = streams(len(training_rows(parts, question).labels), rng)
    return ComponentDraws(parts, *draw_parameters(parts.fit, covariance_of(parts), draws, stream), seeds)
