"""The posterior of a process in several rows together: a mixture over the design points of its hyper-parameters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tobitgp.data.outcome import Outcome
from tobitgp.engines import map_independent, row_chunks, single_blas_thread
from tobitgp.inference.posterior import Posterior as FittedPoint
from tobitgp.numerics.draws import open_uniform
from tobitgp.posterior.seen import CHUNK, Seen, latent_quantiles, normal_draws
from tobitgp.priors.block import Inputs
from tobitgp.results.conditional import seen_in_training
from tobitgp.results.joint import JointLaw, draw_within
from tobitgp.results.rows import Asked
from tobitgp.results.views import Parts
from tobitgp.typing import Array


@dataclass(frozen=True, slots=True)
class ProcessLaw(JointLaw):
    """Of f in several rows."""

    parts: Parts

    def moments(self, asked: Asked) -> tuple[Array, Array]:
        """Mean (n,) and covariance (n, n) of f, by the law of total covariance over the design points."""
        fitted, gp = self.parts.fitted, self.parts.gp
        scale = gp.problem.units.scale
        inputs, known = gp.inputs(asked.design), gp.known_mean(asked.design)
        means, V = np.empty((len(fitted.points), len(known))), np.zeros((len(known), len(known)))
        for j, (point, weight) in enumerate(zip(fitted.points, fitted.weights, strict=True)):
            A, d = point.features(inputs, asked.skip)
            means[j] = known + scale * A.times(point.w)
            V += weight * scale**2 * (point.factor.covariance(A) + np.diag(d))
            for E in unseen_groups(point, inputs, asked.skip):
                V += weight * scale**2 * (E @ E.T - np.diag(np.einsum("nk,nk->n", E, E)))
        mean = fitted.weights @ means
        between = means - mean
        return mean, V + np.einsum("j,jn,jk->nk", fitted.weights, between, between)

    @property
    def of_training_rows(self) -> bool:
        """What was seen of a new row says something of f, which the posterior has not heard."""
        return True

    def draw(
        self,
        asked: Asked,
        draws: int,
        *,
        noise: bool,
        rng: np.random.Generator,
        known: Outcome | None = None,
        window: tuple[Array, Array] | None = None,
    ) -> Array:
        """Draws (n, draws) of f, or of f plus noise, on the scale of f, the rows of a draw together."""
        fitted, gp = self.parts.fitted, self.parts.gp
        scale = gp.problem.units.scale
        inputs, offset = gp.inputs(asked.design), gp.known_mean(asked.design)
        seen = None if known is None else seen_in_training(self.parts)
        out = np.empty((len(offset), draws))
        chosen = rng.choice(len(fitted.weights), size=draws, p=fitted.weights)
        for j, point in enumerate(fitted.points):
            at = np.flatnonzero(chosen == j)
            if not len(at):
                continue
            A, d = point.features(inputs, asked.skip)
            f = A.times(point.w[:, None] + point.factor.colour(rng.standard_normal((len(point.w), len(at)))))
            for E in unseen_groups(point, inputs, asked.skip):
                f += E @ rng.standard_normal((E.shape[1], len(at)))
                d = d - np.einsum("nk,nk->n", E, E)
            law, variance = gp.family.law_at(point.theta), np.maximum(d, 0.0)
            sigma = asked.design.noise(point.sigma)
            free = noise and known is None and window is None
            if free and law.gaussian:
                variance = variance + np.square(sigma)
            f += np.sqrt(variance)[:, None] * rng.standard_normal(f.shape)
            if free and not law.gaussian:
                f += np.reshape(sigma, (-1, 1)) * law.ppf(open_uniform(rng, f.shape))
            if seen is None:
                y = offset[:, None] + scale * f
                if window is not None:
                    y = draw_within(law, y, scale * np.reshape(sigma, (-1, 1)), *window, open_uniform(rng, f.shape))
                out[:, at] = y
            else:
                sd = np.sqrt(point.factor.variance(A) + variance)
                scores = (f - A.times(point.w)[:, None]) / np.maximum(sd, 1e-300)[:, None]
                out[:, at] = _draw_seen(seen, j, scores, rng)
        return out


def _draw_seen(seen: Seen, j: int, scores: Array, rng: np.random.Generator) -> Array:
    """What rows may have been, (n, draws), given how f stands in its posterior law at a design point.

    That law is normal, the rows' f together; given what was seen of a row alone its f is not. Orders of the one are
    taken for orders of the other: a normal copula, whose margins are those of imputation, (PRE8) of the theory pages.
    """
    out = np.repeat(seen.lower[:, None], scores.shape[1], axis=1)
    censored = np.flatnonzero(seen.lower != seen.upper)
    uniform = open_uniform(rng, (len(censored), scores.shape[1]))

    def draw(span: slice) -> None:
        places = censored[span]
        out[places] = _draw_part(seen.take(places), j, scores[places], uniform[span])

    chunks = list(row_chunks(0, len(censored), CHUNK))
    with single_blas_thread():
        map_independent(draw, chunks, heavy=len(chunks) > 4)
    return out


def _draw_part(rows: Seen, j: int, scores: Array, uniform: Array) -> Array:
    if rows.closed:
        return normal_draws(rows, j, scores, uniform)
    at = rows.component(j)
    return draw_within(at.noise, latent_quantiles(at, scores), at.sigma[:, None], at.lower, at.upper, uniform)


def unseen_groups(point: FittedPoint, inputs: Sequence[Inputs], skip: frozenset[int]) -> Iterator[Array]:
    """Features (n, K) of the weights that groups not seen in training share among their rows, block by block."""
    for t, (block, at) in enumerate(zip(point.blocks, inputs, strict=True)):
        if at.code is None or t in skip or not (at.code < 0).any():
            continue
        new, position = np.unique(at.code, return_inverse=True)
        A = block.features(at.X).A
        for column in A.T:
            yield np.where(np.equal.outer(position, np.flatnonzero(new < 0)), column[:, None], 0.0)
