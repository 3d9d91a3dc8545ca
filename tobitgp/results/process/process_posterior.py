r"""The posterior of a process in rows: of all rows, of each without its own response, and of its groups.

The cavity of row n is the posterior with one copy of its site taken out, and

.. math:: p(y_n | y_{-n}, \theta) \approx \int p(y_n | f_n)\, q_{-n}(f_n)\, df_n,

the normaliser that expectation propagation forms in each row: (EP1), (CHK2) and (CHK3) of the theory pages. It is exact
where the posterior is, as for Gaussian values without censoring. With sites of Laplace's method or of variational
inference the formula is the same, its cavity that of another approximation.

References
----------
.. [1] M. Opper and O. Winther, "Gaussian processes for classification: mean-field algorithms", Neural Computation 12
   (2000).
.. [2] A. Vehtari, T. Mononen, V. Tolvanen, T. Sivula and O. Winther, "Bayesian leave-one-out cross-validation
   approximations for Gaussian latent variable models", JMLR 17(103) (2016).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tobitgp.data.absorbed import Absorbed, Columns
from tobitgp.data.arrays import CensoredResponse, Design, Groups
from tobitgp.data.outcome import Outcome, outcome
from tobitgp.diagnostics.training_draws import log_jacobian
from tobitgp.engines import map_independent, row_chunks, single_blas_thread
from tobitgp.errors import SpecError
from tobitgp.formula.functions import nearest
from tobitgp.inference.feature_posterior import Posterior
from tobitgp.inference.method import Marginals, cavity
from tobitgp.inference.pair_sites import by_kind
from tobitgp.inference.pair_sites import cavities as pair_cavities
from tobitgp.inference.partitioned import Sites
from tobitgp.inference.site_updates import CHUNK_ROWS
from tobitgp.kinds.likelihood import row_covariance
from tobitgp.likelihoods.censoring_noise import Spread
from tobitgp.likelihoods.two_latents import Given as GivenNoise
from tobitgp.likelihoods.two_latents import tilted_pair
from tobitgp.numerics.quadrature import gauss_hermite
from tobitgp.posterior.nodes import Nodes
from tobitgp.posterior.questions import QUESTIONS, Question
from tobitgp.posterior.seen import Seen, log_predictive
from tobitgp.priors.block import Inputs
from tobitgp.results.parameter_estimates import Linear, linear_posterior
from tobitgp.results.predict import check_level
from tobitgp.results.rows import Asked, Scored, ask, response_of_rows
from tobitgp.results.terms import OFFSET, effect_suffixes, model_terms
from tobitgp.results.views import Parts
from tobitgp.typing import Array, Frame, IntArray

MIN_CHUNK, MAX_CHUNK = 512, 1024
HEAVY = 2_000_000


def nodes_of(parts: Parts, design: Design, skip: frozenset[int] = frozenset(), *, spread: bool = True) -> Nodes:
    """Posterior of f in all rows of a design, (PRE1), in the user's units; without ``spread`` as if f were its mean."""
    if parts.fitted.points[0].noise:
        return _with_noise_process(parts, design, _pairs(parts, design, skip))

    def marginals(point: Posterior, at: Sequence[Inputs]) -> tuple[Array, Array | float, Array | float]:
        return point.marginals(at, skip) if spread else (point.means(at, skip), 0.0, 0.0)

    mean, sd = _moments(parts, parts.gp.inputs(design), len(design.H), marginals, parts.gp.problem.units.scale)
    return _with_noise(parts, design, parts.gp.known_mean(design) + mean, sd)


def _moments(
    parts: Parts, inputs: Sequence[Inputs], n: int, marginals: Callable[..., Any], scale: float
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


def _pairs(parts: Parts, design: Design, skip: frozenset[int]) -> list[Pair]:
    """That of all rows of a design, at every design point of the hyper-parameters."""
    found = (point.pair(parts.gp.inputs(design), skip) for point in parts.fitted.points)
    return [Pair(mean, V + np.eye(2) * d[:, None, :]) for mean, V, d in found]


NOISE_NODES = 7  # of log sigma in predictions


def _with_noise_process(parts: Parts, design: Design, pairs: Sequence[Pair]) -> Nodes:
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


def _with_noise(parts: Parts, design: Design, mean: Array, sd: Array) -> Nodes:
    noises = tuple(parts.gp.family.distribution_at(point.theta) for point in parts.fitted.points)
    return Nodes(parts.fitted.weights, mean, sd, noise_sds(parts, design), parts.gp.family.log_time, noises)


def noise_sds(parts: Parts, design: Design | None = None) -> Array:
    """Noise scales (J, 1), or (J, n) where rows differ, in the user's units."""
    points, scale = parts.fitted.points, parts.gp.problem.units.scale
    if design is None:
        return scale * np.array([[point.sigma] for point in points])
    return scale * np.array([parts.gp.noise(design, point.theta) for point in points])


def log_noise_moments(parts: Parts, design: Design) -> tuple[Array, Array]:
    """Mean and standard deviation of log sigma in all rows of a design, over all that is not known of it, (n,) each."""
    mean, variance = np.log(noise_sds(parts, design)) * np.ones(len(design.H)), np.zeros(len(design.H))
    if parts.fitted.points[0].noise:
        pairs = _pairs(parts, design, frozenset())
        mean = mean + np.stack([pair.mean[:, 1] for pair in pairs])
        variance = parts.fitted.weights @ np.stack([pair.V[:, 1, 1] for pair in pairs])
    centre = parts.fitted.weights @ mean
    return centre, np.sqrt(variance + parts.fitted.weights @ np.square(mean - centre))


def answer(
    parts: Parts, asked: Asked, questions: Sequence[Question], level: float | None, *, se: bool
) -> list[dict[str, Array]]:
    """Statistics of questions, a chunk of rows at a time; (n,) each."""
    n = len(asked.design.H)
    spread = se or level is not None or not all(question.of_means for question in questions)

    def chunk(rows: slice) -> list[dict[str, Array]]:
        nodes = nodes_of(parts, asked.design.rows(rows), asked.skip, spread=spread)
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
            mean, sd = _linear_moments(linear, design.H, at)
        elif term.block is not None and term.block not in skip:
            mean, sd = process_moments(parts, inputs, term.blocks)
        elif term.name == OFFSET:
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


def process_moments(parts: Parts, inputs: Sequence[Inputs], blocks: Sequence[int]) -> tuple[Array, Array]:
    """Mean and sd (J, n) of one process, and its line, in rows with the given inputs, in the user's units."""
    scale = 1.0 if blocks[0] in parts.fitted.points[0].noise else parts.gp.problem.units.scale
    n = len(inputs[blocks[0]].X)
    return _moments(parts, inputs, n, lambda point, at: point.term_marginals(at, blocks), scale)


def cavities(parts: Parts) -> Nodes:
    """Posterior of f in the training rows, each without a copy of itself, or all of one that counts less."""
    copies = np.maximum(parts.rows.response.weight, 1.0)
    design, scale = parts.gp.judged(parts.rows.design), parts.gp.problem.units.scale
    order = parts.gp.problem.order
    if parts.fitted.points[0].noise:
        return _with_noise_process(
            parts, design, [_pair_cavities(parts, point, copies) for point in parts.fitted.points]
        )
    inputs, n = parts.gp.inputs(design), len(design.H)
    mean, sd = np.empty((2, len(parts.fitted.points), n))
    for j, point in enumerate(parts.fitted.points):
        sites = site_order(point, order)
        for rows in row_chunks(0, n, CHUNK_ROWS):
            q = Marginals(*point.marginals([at.rows(rows) for at in inputs]), sites.lambda1[rows], sites.lambda2[rows])
            _, v_c, mean_c = cavity(q, copies[rows])
            mean[j, rows], sd[j, rows] = scale * mean_c, scale * np.sqrt(v_c + q.d)
    return _with_noise(parts, design, parts.gp.known_mean(design) + mean, sd)


def _pair_cavities(parts: Parts, point: Posterior, copies: Array) -> Pair:
    """The same of f and log sigma."""
    design = parts.gp.judged(parts.rows.design)
    mean, V, d = point.pair(parts.gp.inputs(design))
    c = pair_cavities(mean, V, site_order(point, parts.gp.problem.order), copies)
    return Pair(c.mean, c.V + np.eye(2) * d[:, None, :])


def site_order(point: Posterior, order: IntArray) -> Sites:
    """Sites of the training rows in the order of the data."""
    back = np.argsort(order)
    return Sites(point.sites.lambda1[back], point.sites.lambda2[back])


def seen_in_training(parts: Parts) -> Seen:
    """Training rows: the cavity of each."""
    nodes = cavities(parts)
    return _seen(nodes, outcome(parts.rows.response, log_time=nodes.log))


def seen_in_rows(parts: Parts, new: Frame | None) -> tuple[Asked, Seen]:
    """Rows without themselves: cavities of training rows, the predictive distribution of new ones.

    Components are weighted by what they say of a new row inside its window.
    """
    asked = ask(parts, new)
    if new is None:
        return asked, seen_in_training(parts)
    asked, response = response_of_rows(parts, new, asked)
    seen = predicted_rows(parts, response, asked)
    log_weight = log_predictive(seen)
    weight = np.exp(log_weight - log_weight.max(axis=0))
    return asked, replace(seen, weight=weight / weight.sum(axis=0))


def predicted_rows(parts: Parts, response: CensoredResponse, asked: Asked) -> Seen:
    """New rows under the posterior as it stands, and what was seen of them."""
    known = outcome(response, log_time=parts.gp.family.log_time, labels=asked.labels.to_numpy())
    return _seen(nodes_of(parts, asked.design), known)


def _seen(nodes: Nodes, known: Outcome) -> Seen:
    weight = np.repeat(nodes.weight[:, None], nodes.mean.shape[1], axis=1)
    ends = known.lower, known.upper, nodes.log, nodes.noises, known.entry, known.exit
    return Seen(weight, nodes.mean, nodes.sd, nodes.sigma, *ends)


def process_likelihoods(parts: Parts, rows: Scored) -> Array:
    """Log predictive density of exact rows, log probability of what was seen of the others; (m,)."""
    seen = predicted_rows(parts, rows.response, rows.asked)
    values = np.logaddexp.reduce(log_predictive(seen), axis=0)
    return values + log_jacobian(outcome(rows.response, log_time=seen.log), log_time=seen.log)


def group_table(parts: Parts, term: str | None, interval: float | None) -> pd.DataFrame:
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


def _effect_inputs(parts: Parts, t: int, block: int) -> Iterator[tuple[str, list[Inputs]]]:
    """What follows the name of a random effect in that of each of its coefficients, and rows in which f holds these."""
    inputs, columns = list(parts.gp.inputs(_one_row_each(parts, t))), parts.gp.effects[t]
    if not columns:
        yield "", inputs
        return
    T = parts.fitted.parameters.effects[sum(map(bool, parts.gp.effects[:t]))].T
    scaled = T / parts.gp.problem.units.x_scale[t][:, None]
    for suffix, weights in zip(effect_suffixes(columns), scaled, strict=True):
        X = np.tile(weights, (len(inputs[block].X), 1))
        yield suffix, [*inputs[:block], Inputs(X, inputs[block].code), *inputs[block + 1 :]]


def _chosen(parts: Parts, term: Any) -> list[int]:
    """Places of random effects among the processes."""
    names = {item.name: t for t, item in enumerate(parts.gp.terms) if not item.factors}
    if not names:
        raise SpecError(
            "This model has no random effects; re(g) in the formula gives an intercept to each level of g, (1 + z | g) "
            "a slope too."
        )
    if term is None:
        return list(names.values())
    if term not in names:
        listed = ", ".join(map(repr, names))
        raise SpecError(
            f"term={term!r} names no random effects{nearest(str(term), list(names))}; this model has {listed}."
        )
    return [names[term]]


def _one_row_each(parts: Parts, t: int) -> Design:
    """Rows that differ in nothing but the group of one process, and of all that have the same groups."""
    levels, centres = parts.state.group_levels, parts.gp.problem.units.x_centre
    n, terms = len(levels[t] or ()), parts.gp.terms
    codes = [np.arange(n) if term.group == terms[t].group else np.zeros(n, dtype=np.intp) for term in terms]
    groups = tuple(
        None if known is None else Groups(code, len(known)) for code, known in zip(codes, levels, strict=True)
    )
    X = tuple(np.tile(centre, (n, 1)) for centre in centres)
    return Design(_no_columns(parts, n), parts.gp.columns, X, np.zeros(n), groups)


def _no_columns(parts: Parts, n: int) -> Columns:
    """Linear columns (n, p) of zeros."""
    p, factor = len(parts.gp.columns), None if parts.gp.linear is None else parts.gp.linear.factor
    if factor is None:
        return np.zeros((n, p))
    return Absorbed(np.zeros((n, p - factor.size)), np.zeros(n), np.zeros(n, dtype=np.intp), factor.start, factor.size)


class Predicted(NamedTuple):
    """Log predictive density or probability of n rows at J design points, of the response as written, (J, n) each."""

    without: Array  # of one copy of a row under the posterior without it
    within: Array  # under the posterior


class LeftOut(NamedTuple):
    """Rows left out, averaged over the design points, (n,) each."""

    elpd: Array  # (n,), log predictive density of each row without it
    within: Array  # (n,), that with it
    share: Array  # (n,)


def predict_left_out(parts: Parts) -> Predicted:
    """Rows left out at every design point, in the order of the data."""
    problem, fitted = parts.gp.problem, parts.fitted
    J = len(fitted.points)
    work = problem.n * J * max(fitted.n_features, 1)
    with single_blas_thread():
        found = map_independent(lambda point: _at_point(parts, point), fitted.points, heavy=work > HEAVY)
    without, within = np.empty((J, problem.n)), np.empty((J, problem.n))
    known = outcome(parts.rows.response, log_time=parts.family.log_time)
    shift = log_jacobian(known, log_time=parts.family.log_time) - np.where(
        known.exact, np.log(problem.units.scale), 0.0
    )
    for j, pair in enumerate(found):
        without[j, problem.order], within[j, problem.order] = pair
    return Predicted(without + shift, within + shift)


def _at_point(parts: Parts, point: Posterior) -> tuple[Array, Array]:
    """In the order of the problem, standardised."""
    problem, inputs = parts.gp.problem, parts.gp.prior.inputs
    if parts.fitted.points[0].noise:
        return _pairs_at_point(parts, point)
    likelihood = Spread(parts.family.likelihood.over(problem.rows).at(point.theta))
    without, within, start = np.empty(problem.n), np.empty(problem.n), 0
    for kind in parts.gp.rows_at(point.theta):
        for span in row_chunks(start, start + len(kind), CHUNK_ROWS):
            rows = kind[slice(span.start - start, span.stop - start)]
            lambda1, lambda2 = point.sites.lambda1[span], point.sites.lambda2[span]
            q = Marginals(*point.marginals([at.rows(span) for at in inputs]), lambda1, lambda2)
            _, v_c, mu_c = cavity(q, rows.weight)
            without[span] = likelihood.tilted(rows, mu_c, v_c + q.d, point.sigma).log_Z
            within[span] = likelihood.tilted(rows, q.m, q.v_p + q.d, point.sigma).log_Z
        start += len(kind)
    return without, within


def _pairs_at_point(parts: Parts, point: Posterior) -> tuple[Array, Array]:
    """The same where rows tell of log sigma too."""
    problem, rows = parts.gp.problem, parts.gp.rows_at(point.theta)
    likelihood = parts.family.likelihood.over(problem.rows).at(point.theta)
    mean, V, d = point.pair(parts.gp.prior.inputs)
    c = pair_cavities(mean, V, point.sites, problem.weight)
    found = []
    for m, spread in ((c.mean, c.V), (mean, V)):
        both = by_kind(rows, m, spread + np.diag([0.0, 1.0]) * d[:, 1, None, None], d[:, 0])
        found.append(np.concatenate([tilted_pair(likelihood, point.sigma, *args).log_Z for args in both]))
    return found[0], found[1]


def average_left_out(weight: Array, predicted: Predicted) -> LeftOut:
    r"""Average over design points as the hyper-parameters are known without the row.

    The posterior without row n weights point j by :math:`w_{jn} \propto w_j / p(y_n | y_{-n}, \theta_j)`, so that,
    (PRE9) of the theory pages,

    .. math:: p(y_n | y_{-n}) = \sum_j w_{jn}\, p(y_n | y_{-n}, \theta_j)
              = 1 \Big/ \sum_j \frac{w_j}{p(y_n | y_{-n}, \theta_j)}.

    ``share`` is :math:`1 / \sum_j w_{jn}^2 / w_j`, the effective sample size of the new weights relative to the old.

    Shapes: weight (J,).
    """
    with np.errstate(divide="ignore"):
        log_weight = np.log(weight)[:, None]
    raised = log_weight - predicted.without
    total = np.logaddexp.reduce(raised, axis=0)
    share = np.exp(-np.logaddexp.reduce(2.0 * (raised - total) - log_weight, axis=0))
    return LeftOut(-total, np.logaddexp.reduce(log_weight + predicted.within, axis=0), np.minimum(share, 1.0))
