"""The posterior of a process in rows: of f, of its terms, and of the noise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tobitgp.data.absorbed import Absorbed, Columns
from tobitgp.data.arrays import Design, Groups
from tobitgp.engines import map_independent, row_chunks, single_blas_thread
from tobitgp.errors import SpecError
from tobitgp.formula.functions import nearest
from tobitgp.inference.assembly import noise_scale
from tobitgp.inference.feature_posterior import FeaturePosterior
from tobitgp.inference.site_updates import CHUNK_ROWS
from tobitgp.kinds.likelihood import row_covariance
from tobitgp.kinds.process import Process, ProcessParts
from tobitgp.likelihoods.two_latents import Given as GivenNoise
from tobitgp.numerics.quadrature import gauss_hermite
from tobitgp.posterior.nodes import Nodes
from tobitgp.posterior.questions import QUESTIONS, Question
from tobitgp.priors.structure import Inputs
from tobitgp.results.parameter_estimates import Linear, linear_posterior
from tobitgp.results.predict import check_level
from tobitgp.results.rows import Asked
from tobitgp.results.terms import effect_suffixes, model_terms
from tobitgp.typing import Array

MIN_CHUNK, MAX_CHUNK = 512, 1024
HEAVY = 2_000_000


def nodes_of(parts: Process, design: Design, skip: frozenset[int] = frozenset(), *, spread: bool = True) -> Nodes:
    """Posterior of f in all rows of a design, (PRE1), in the user's units; without ``spread`` as if f were its mean."""
    return parts.joined([_fitted_nodes(fit, design, skip, spread=spread) for fit, *_ in parts.scaled])


def _fitted_nodes(parts: ProcessParts, design: Design, skip: frozenset[int], *, spread: bool) -> Nodes:
    """Nodes of one fit."""
    if parts.fitted.points[0].noise:
        return with_noise_process(parts, design, _pairs(parts, design, skip))

    def marginals(point: FeaturePosterior, at: Sequence[Inputs]) -> tuple[Array, Array | float, Array | float]:
        return point.marginals(at, skip) if spread else (point.means(at, skip), 0.0, 0.0)

    mean, sd = _moments(parts, parts.gp.inputs(design), len(design.H), marginals, parts.gp.problem.units.scale)
    return with_noise(parts, design, parts.gp.known_mean(design) + mean, sd)


def _moments(
    parts: ProcessParts, inputs: Sequence[Inputs], n: int, marginals: Callable[..., Any], scale: float
) -> tuple[Array, Array]:
    """Mean and sd (J, n) of what has such marginals in rows, in units of a scale."""
    points = parts.fitted.points
    mean, sd = np.empty((2, len(points), n))
    for j, point in enumerate(points):
        for rows in row_chunks(0, n, CHUNK_ROWS):
            m, v_p, d = marginals(point, [at.rows(rows) for at in inputs])
            mean[j, rows] = scale * m
            sd[j, rows] = scale * np.sqrt(v_p + d)
    return mean, sd


class Pair(NamedTuple):
    """Distribution of f and log sigma, standardised."""

    mean: Array  # (n, 2)
    V: Array  # (n, 2, 2)


def _pairs(parts: ProcessParts, design: Design, skip: frozenset[int]) -> list[Pair]:
    """That of all rows of a design, at every design point of the hyper-parameters."""
    found = (point.pair(parts.gp.inputs(design), skip) for point in parts.fitted.points)
    return [Pair(mean, V + np.eye(2) * d[:, None, :]) for mean, V, d in found]


NOISE_NODES = 7  # of log sigma in predictions


def with_noise_process(parts: ProcessParts, design: Design, pairs: Sequence[Pair]) -> Nodes:
    """A component for each node of log sigma at each design point, (HET8)."""
    fitted, gp, scale = parts.fitted, parts.gp, parts.gp.problem.units.scale
    x, weight = gauss_hermite(NOISE_NODES)
    mean, sd, sigma = np.empty((3, len(pairs), len(x), len(design.H)))
    for j, (point, pair) in enumerate(zip(fitted.points, pairs, strict=True)):
        at = GivenNoise.of(pair.mean, pair.V, (x, weight))
        mean[j] = gp.known_mean(design) + scale * at.mean.T
        sd[j] = scale * np.sqrt(at.variance)
        sigma[j] = scale * gp.noise_at(design, point.theta, at.h).T
    noises = [gp.family.distribution_at(point.theta) for point in fitted.points for _ in x]
    mean, sd, sigma = (part.reshape(len(noises), len(design.H)) for part in (mean, sd, sigma))
    return Nodes(np.outer(fitted.weights, weight).ravel(), mean, sd, sigma, gp.family.log_time, tuple(noises))


def with_noise(parts: ProcessParts, design: Design, mean: Array, sd: Array) -> Nodes:
    """A component for each design point."""
    noises = tuple(parts.gp.family.distribution_at(point.theta) for point in parts.fitted.points)
    return Nodes(parts.fitted.weights, mean, sd, noise_sds(parts, design), parts.gp.family.log_time, noises)


def noise_sds(parts: ProcessParts, design: Design | None = None) -> Array:
    """Noise scales (J, 1), or (J, n) where rows differ, in the user's units."""
    points, scale = parts.fitted.points, parts.gp.problem.units.scale
    if design is None:
        return scale * np.array([[noise_scale(point.theta)] for point in points])
    return scale * np.array([parts.gp.noise(design, point.theta) for point in points])


def log_noise_moments(parts: ProcessParts, design: Design) -> tuple[Array, Array]:
    """Mean and standard deviation of log sigma in all rows of a design, over all that is not known of it, (n,) each."""
    mean, variance = np.log(noise_sds(parts, design)) * np.ones(len(design.H)), np.zeros(len(design.H))
    if parts.fitted.points[0].noise:
        pairs = _pairs(parts, design, frozenset())
        mean = mean + np.stack([pair.mean[:, 1] for pair in pairs])
        variance = parts.fitted.weights @ np.stack([pair.V[:, 1, 1] for pair in pairs])
    centre = parts.fitted.weights @ mean
    return centre, np.sqrt(variance + parts.fitted.weights @ np.square(mean - centre))


def answer(
    parts: Process, asked: Asked, questions: Sequence[Question], level: float | None, *, se: bool
) -> list[dict[str, Array]]:
    """Statistics of questions, a chunk of rows at a time; (n,) each."""
    n = len(asked.design.H)
    spread = se or level is not None or not all(question.of_means for question in questions)

    def chunk(rows: slice) -> list[dict[str, Array]]:
        nodes = nodes_of(parts, asked.design.rows(rows), asked.skip, spread=spread)
        return [nodes.statistics(question.take(rows), level, se=se) for question in questions]

    size = min(max(n // 8, MIN_CHUNK), MAX_CHUNK)
    work = n * sum(len(fit.fitted.points) * max(fit.fitted.n_features, 1) for fit, *_ in parts.scaled)
    with single_blas_thread():
        made = map_independent(chunk, list(row_chunks(0, n, size)) or [slice(0, 0)], heavy=work > HEAVY)
    return [
        {name: np.concatenate([one[k][name] for one in made]) for name in made[0][k]} for k in range(len(questions))
    ]


def term_nodes(parts: ProcessParts, design: Design, skip: frozenset[int] = frozenset()) -> dict[str, Nodes]:
    """Posterior of each term in every row, in the user's units; they add up to f."""
    fitted, gp, n = parts.fitted, parts.gp, len(design.H)
    linear = linear_posterior(fitted, gp)
    inputs, sigma = gp.inputs(design), noise_sds(parts)
    out: dict[str, Nodes] = {}
    for term in model_terms(parts):
        mean, sd = np.zeros((len(fitted.points), n)), np.zeros((len(fitted.points), n))
        if term.columns:
            at = list(term.columns)
            mean, sd = _linear_moments(linear, design.H, at)
        elif term.block is not None and term.block not in skip:
            mean, sd = process_moments(parts, inputs, term.blocks)
        elif term.is_offset:
            mean += design.offset
        out[term.name] = Nodes(fitted.weights, mean, sd, sigma, gp.family.log_time)
    return out


def _linear_moments(linear: Linear, H: Columns, at: list[int]) -> tuple[Array, Array]:
    """Mean and sd (J, n) of the part of f that some of the columns make."""
    if isinstance(H, Absorbed):
        H = H.only(at)
        variance = np.stack([row_covariance([H], V)[:, 0, 0] for V in linear.covariance])
        return (H @ linear.mean.T).T, np.sqrt(np.maximum(variance, 0.0))
    H, V = H[:, at], linear.within[:, at][:, :, at]
    return linear.mean[:, at] @ H.T, np.sqrt(np.maximum(np.einsum("ni,jik,nk->jn", H, V, H, optimize=True), 0.0))


def process_moments(parts: ProcessParts, inputs: Sequence[Inputs], blocks: Sequence[int]) -> tuple[Array, Array]:
    """Mean and sd (J, n) of one process, and its line, in rows with the given inputs, in the user's units."""
    scale = 1.0 if blocks[0] in parts.fitted.points[0].noise else parts.gp.problem.units.scale
    n = len(inputs[blocks[0]].X)
    return _moments(parts, inputs, n, lambda point, at: point.term_marginals(at, blocks), scale)


def group_table(parts: ProcessParts, term: str | None, interval: float | None) -> pd.DataFrame:
    """Random effects, a row for each group; see ``GPResults.group_effects``."""
    level = check_level(interval)
    tables, keys = [], []
    for t in _chosen(parts, term):
        levels = parts.state.group_levels[t]
        assert levels is not None
        block = t + (parts.gp.linear is not None)
        for effect, inputs in _effect_inputs(parts, t, block):
            moments = process_moments(parts, inputs, (block,))
            nodes = Nodes(parts.fitted.weights, *moments, noise_sds(parts), parts.gp.family.log_time)
            tables.append(pd.DataFrame(nodes.statistics(QUESTIONS["latent"](nodes.log), level, se=True)))
            keys += [(parts.gp.terms[t].name + effect, item) for item in levels]
    return pd.concat(tables).set_axis(pd.MultiIndex.from_tuples(keys, names=["term", "level"]))


def _effect_inputs(parts: ProcessParts, t: int, block: int) -> Iterator[tuple[str, list[Inputs]]]:
    """Suffixes of a random effect in the names of its coefficients, and rows in which f holds these."""
    inputs, columns = list(parts.gp.inputs(_one_row_each(parts, t))), parts.gp.effects[t]
    if not columns:
        yield "", inputs
        return
    T = parts.fitted.parameters.effects[sum(map(bool, parts.gp.effects[:t]))].T
    scaled = T / parts.gp.problem.units.x_scale[t][:, None]
    for suffix, weights in zip(effect_suffixes(columns), scaled, strict=True):
        X = np.tile(weights, (len(inputs[block].X), 1))
        yield suffix, [*inputs[:block], Inputs(X, inputs[block].code), *inputs[block + 1 :]]


def _chosen(parts: ProcessParts, term: Any) -> list[int]:
    """Places of random effects among the processes."""
    names = {item.name: t for t, item in enumerate(parts.gp.terms) if not item.factors}
    if not names:
        raise SpecError(
            "This model has no random effects. In a formula, re(g) gives each level of g an intercept, and (1 + "
            "z | g) also a slope."
        )
    if term is None:
        return list(names.values())
    if term not in names:
        listed = ", ".join(map(repr, names))
        raise SpecError(
            f"term={term!r} is not a random effect{nearest(str(term), list(names))}. This model has {listed}."
        )
    return [names[term]]


def _one_row_each(parts: ProcessParts, t: int) -> Design:
    """Rows that differ in nothing but the group of one process, and of all that have the same groups."""
    levels, centres = parts.state.group_levels, parts.gp.problem.units.x_centre
    n, terms = len(levels[t] or ()), parts.gp.terms
    codes = [np.arange(n) if term.group == terms[t].group else np.zeros(n, dtype=np.intp) for term in terms]
    groups = tuple(
        None if known is None else Groups(code, len(known)) for code, known in zip(codes, levels, strict=True)
    )
    X = tuple(np.tile(centre, (n, 1)) for centre in centres)
    return Design(_no_columns(parts, n), parts.gp.columns, X, np.zeros(n), groups)


def _no_columns(parts: ProcessParts, n: int) -> Columns:
    """Linear columns (n, p) of zeros."""
    p, factor = len(parts.gp.columns), None if parts.gp.linear is None else parts.gp.linear.factor
    if factor is None:
        return np.zeros((n, p))
    return Absorbed(np.zeros((n, p - factor.size)), np.zeros(n), np.zeros(n, dtype=np.intp), factor.start, factor.size)
