"""The posterior of a fitted process in rows: weighted normals of f, and the noise that goes with each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tobitgp.data.shapes import Design
from tobitgp.distributions.base import Distribution
from tobitgp.engines import map_independent, row_chunks, single_blas_thread
from tobitgp.inference.site_updates import CHUNK_ROWS
from tobitgp.posterior.nodes import Nodes
from tobitgp.posterior.questions import Question
from tobitgp.priors.block import Inputs
from tobitgp.results.estimates import linear_posterior
from tobitgp.results.rows import Asked
from tobitgp.results.terms import OFFSET, model_terms
from tobitgp.results.views import Parts
from tobitgp.typing import Array

MIN_CHUNK, MAX_CHUNK = 128, 1024
HEAVY = 100_000


def nodes_of(parts: Parts, design: Design, skip: frozenset[int] = frozenset()) -> Nodes:
    """Posterior of f in all rows of a design, (PRE1), in the user's units."""
    inputs, known = parts.gp.inputs(design), parts.gp.known_mean(design)
    made = [_nodes(parts, design, inputs, known, rows, skip) for rows in row_chunks(0, len(known), CHUNK_ROWS)]
    if len(made) == 1:
        return made[0]
    J = len(parts.fitted.points)
    mean, sd = (np.concatenate([np.empty((J, 0)), *(getattr(one, k) for one in made)], axis=1) for k in ("mean", "sd"))
    return Nodes(parts.fitted.weights, mean, sd, noise_sds(parts, design), parts.gp.family.log_time, noises(parts))


def _nodes(
    parts: Parts, design: Design, inputs: Sequence[Inputs], known: Array, rows: slice, skip: frozenset[int]
) -> Nodes:
    """Posterior of f in some rows."""
    points, scale = parts.fitted.points, parts.gp.problem.units.scale
    here = [at.rows(rows) for at in inputs]
    mean, sd = np.empty((2, len(points), len(known[rows])))
    for j, point in enumerate(points):
        A, d = point.features(here, skip)
        mean[j], sd[j] = A.times(point.w), np.sqrt(point.factor.variance(A) + d)
    sigma = noise_sds(parts, design)
    sigma = sigma if sigma.shape[1] == 1 else sigma[:, rows]
    mean, sd = known[rows] + scale * mean, scale * sd
    return Nodes(parts.fitted.weights, mean, sd, sigma, parts.gp.family.log_time, noises(parts))


def noise_sds(parts: Parts, design: Design | None = None) -> Array:
    """Noise scales (J, 1), or (J, n) where rows differ, in the user's units."""
    sigma = parts.gp.problem.units.scale * np.array([[point.sigma] for point in parts.fitted.points])
    return sigma if design is None or design.spread is None else sigma * design.spread


def noises(parts: Parts) -> tuple[Distribution, ...]:
    """Distribution of the noise at every design point."""
    return tuple(parts.gp.family.law_at(point.theta) for point in parts.fitted.points)


def answer(
    parts: Parts, asked: Asked, questions: Sequence[Question], level: float | None, *, se: bool
) -> list[dict[str, Array]]:
    """Statistics of questions, a chunk of rows at a time; (n,) each."""
    design = asked.design
    n, inputs, known = len(design.H), parts.gp.inputs(design), parts.gp.known_mean(design)

    def chunk(rows: slice) -> list[dict[str, Array]]:
        nodes = _nodes(parts, design, inputs, known, rows, asked.skip)
        return [nodes.statistics(question.take(rows), level, se=se) for question in questions]

    size = min(max(n // 8, MIN_CHUNK), MAX_CHUNK)
    work = n * len(parts.fitted.points) * max(parts.fitted.n_features, 1)
    with single_blas_thread():
        made = map_independent(chunk, list(row_chunks(0, n, size)) or [slice(0, 0)], heavy=work > HEAVY)
    return [
        {name: np.concatenate([one[k][name] for one in made]) for name in made[0][k]} for k in range(len(questions))
    ]


def term_nodes(parts: Parts, design: Design, skip: frozenset[int] = frozenset()) -> dict[str, Nodes]:
    """Posterior of each term in every row, in the user's units; they add up to f."""
    fitted, gp, n = parts.fitted, parts.gp, len(design.H)
    linear = linear_posterior(fitted, gp)
    inputs, sigma = gp.inputs(design), noise_sds(parts)
    out: dict[str, Nodes] = {}
    for term in model_terms(parts):
        mean, sd = np.zeros((len(fitted.points), n)), np.zeros((len(fitted.points), n))
        if term.columns:
            at = list(term.columns)
            H = design.H[:, at]
            mean = linear.mean[:, at] @ H.T
            V = linear.covariance[:, at][:, :, at]
            sd = np.sqrt(np.maximum(np.einsum("ni,jik,nk->jn", H, V, H, optimize=True), 0.0))
        elif term.block is not None and term.block not in skip:
            mean, sd = process_moments(parts, inputs, term.block)
        elif term.name == OFFSET:
            mean += design.offset
        out[term.name] = Nodes(fitted.weights, mean, sd, sigma, gp.family.log_time)
    return out


def process_moments(parts: Parts, inputs: Sequence[Inputs], block: int) -> tuple[Array, Array]:
    """Mean and sd (J, n) of one process in rows with the given inputs, in the user's units."""
    points, scale, n = parts.fitted.points, parts.gp.problem.units.scale, len(inputs[block].X)
    mean, sd = np.empty((len(points), n)), np.empty((len(points), n))
    for j, point in enumerate(points):
        for rows in row_chunks(0, n, CHUNK_ROWS):
            A, d = point.term_features([at.rows(rows) for at in inputs], block)
            mean[j, rows] = scale * A.times(point.w)
            sd[j, rows] = scale * np.sqrt(point.factor.variance(A) + d)
    return mean, sd
