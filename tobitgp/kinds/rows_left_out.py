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

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from tobitgp.data.arrays import CensoredResponse
from tobitgp.data.outcome import Outcome, outcome
from tobitgp.engines import map_independent, row_chunks, single_blas_thread
from tobitgp.errors import SpecError
from tobitgp.inference.compiled_rows import CompiledMoments
from tobitgp.inference.feature_posterior import FeaturePosterior
from tobitgp.inference.method import Marginals, cavity
from tobitgp.inference.noise_free import Solved
from tobitgp.inference.pair_rules import cavities as pair_cavities
from tobitgp.inference.pair_sites import by_kind
from tobitgp.inference.partitioned import RowPartition, Sites
from tobitgp.inference.site_updates import CHUNK_ROWS
from tobitgp.kinds.process import Process, ProcessParts, ScaledFit
from tobitgp.kinds.process_nodes import HEAVY, Pair, nodes_of, with_noise, with_noise_process
from tobitgp.kinds.without_noise import ASKED, INSTEAD
from tobitgp.likelihoods.censoring_noise import Spread
from tobitgp.likelihoods.two_latents import tilted_pair
from tobitgp.posterior.nodes import Nodes
from tobitgp.posterior.seen import LeftOutRows, log_predictive
from tobitgp.results.rows import Asked, Scored, ask, response_of_rows
from tobitgp.typing import Array, Frame, IntArray


def cavities(parts: Process) -> Nodes:
    """Posterior of f in the training rows, each without a copy of itself, or all of one that counts less."""
    return parts.joined([_fitted_cavities(fit) for fit, *_ in parts.scaled])


def _fitted_cavities(parts: ProcessParts) -> Nodes:
    """Cavities of one fit."""
    copies = np.maximum(parts.rows.response.weight, 1.0)
    design, scale = parts.gp.judged(parts.rows.design), parts.gp.problem.units.scale
    order = parts.gp.problem.order
    if parts.fitted.points[0].noise:
        return with_noise_process(
            parts, design, [_pair_cavities(parts, point, copies) for point in parts.fitted.points]
        )
    inputs, n = parts.gp.inputs(design), len(design.H)
    mean, sd = np.empty((2, len(parts.fitted.points), n))
    if parts.gp.parameters.noise_free:
        for j, point in enumerate(parts.fitted.points):
            mean[j, order], variance = noise_free_cavities(parts, point)
            sd[j, order] = np.sqrt(variance)
        return with_noise(parts, design, parts.gp.known_mean(design) + scale * mean, scale * sd)
    for j, point in enumerate(parts.fitted.points):
        sites = site_order(point, order)
        for rows in row_chunks(0, n, CHUNK_ROWS):
            q = Marginals(*point.marginals([at.rows(rows) for at in inputs]), sites.lambda1[rows], sites.lambda2[rows])
            _, v_c, mean_c = cavity(q, copies[rows])
            mean[j, rows], sd[j, rows] = scale * mean_c, scale * np.sqrt(v_c + q.d)
    return with_noise(parts, design, parts.gp.known_mean(design) + mean, sd)


def noise_free_cavities(parts: ProcessParts, point: FeaturePosterior) -> tuple[Array, Array]:
    """Mean and variance (n,) of f in each training row without its site, (NF6), in the order of the problem."""
    problem = parts.gp.problem
    part = RowPartition(problem.rows, tuple(parts.gp.prior.inputs), point.sites)
    found = Solved.of(part, point.blocks, parts.fitted.method, warm=True)
    count = np.bincount(found.places.of_row)
    if (count > 1).any():
        some = problem.order[np.flatnonzero(found.places.of_row == int(count.argmax()))]
        named = ", ".join(str(label) for label in np.sort(parts.rows.labels[some][:5]))
        raise SpecError(
            f"{ASKED}a row cannot be left out if another row has the same inputs, here rows {named}. Fit with one of "
            f"them.{INSTEAD}"
        )
    mean, variance = found.cavities
    return mean[found.places.of_row], variance[found.places.of_row]


def _pair_cavities(parts: ProcessParts, point: FeaturePosterior, copies: Array) -> Pair:
    """The same for f and log sigma."""
    design = parts.gp.judged(parts.rows.design)
    mean, V, d = point.pair(parts.gp.inputs(design))
    c = pair_cavities(mean, V, site_order(point, parts.gp.problem.order), copies)
    return Pair(c.mean, c.V + np.eye(2) * d[:, None, :])


def site_order(point: FeaturePosterior, order: IntArray) -> Sites:
    """Sites of the training rows in the order of the data."""
    back = np.argsort(order)
    return Sites(point.sites.lambda1[back], point.sites.lambda2[back])


def seen_in_training(scaled: ScaledFit) -> LeftOutRows:
    """Training rows of a fit: the cavity of each."""
    nodes = _fitted_cavities(scaled.fit)
    return _seen(scaled, nodes, outcome(scaled.fit.rows.response, log_time=nodes.log))


def predicted_rows(scaled: ScaledFit, response: CensoredResponse, asked: Asked) -> LeftOutRows:
    """New rows under the posterior without change, and what was observed about them."""
    return _seen(scaled, nodes_of(scaled.fit, asked.design), scaled.outcome(response, asked.labels.to_numpy()))


def _seen(scaled: ScaledFit, nodes: Nodes, known: Outcome) -> LeftOutRows:
    weight = scaled.weight * np.repeat(nodes.weight[:, None], nodes.mean.shape[1], axis=1)
    ends = known.lower, known.upper, nodes.log, nodes.noises, known.entry, known.exit
    return LeftOutRows(weight, nodes.mean, nodes.sd, nodes.sigma, *ends, scaled.power)


def seen_in_rows(parts: Process, new: Frame | None) -> tuple[Asked, list[LeftOutRows]]:
    """Rows under the posterior without them: cavities of training rows, the predictive distribution of new rows.

    Components are weighted by their probability of the window of a new row.
    """
    asked = ask(parts, new)
    if new is None:
        return asked, [seen_in_training(scaled) for scaled in parts.scaled]
    asked, response = response_of_rows(parts, new, asked)
    each = [predicted_rows(scaled, response, asked) for scaled in parts.scaled]
    pairs = zip(parts.scaled, each, strict=True)
    said = [scaled.log_jacobian(response) + log_predictive(seen) for scaled, seen in pairs]
    total = np.logaddexp.reduce(np.concatenate(said), axis=0)
    return asked, [replace(seen, weight=np.exp(word - total)) for seen, word in zip(each, said, strict=True)]


def process_likelihoods(parts: Process, rows: Scored) -> Array:
    """Log predictive density of exact rows, log probability of what was observed about the others; (m,)."""
    each = [
        np.logaddexp.reduce(log_predictive(predicted_rows(scaled, rows.response, rows.asked)), axis=0)
        + scaled.log_jacobian(rows.response)
        for scaled in parts.scaled
    ]
    return np.asarray(np.logaddexp.reduce(each, axis=0))


class Predicted(NamedTuple):
    """Log predictive density or probability of n rows at J design points, of the response as written, (J, n) each."""

    without: Array  # of one copy of a row under the posterior without it
    within: Array  # under the posterior


class LeftOut(NamedTuple):
    """Rows left out, averaged over the design points, (n,) each."""

    elpd: Array  # (n,), log predictive density of each row without it
    within: Array  # (n,), that with it
    share: Array  # (n,)


def left_out(parts: Process) -> LeftOut:
    """Training rows left out, averaged over the design points of all fits."""
    each = [predict_left_out(scaled, parts.rows.response) for scaled in parts.scaled]
    weight = [scaled.weight * scaled.fit.fitted.weights for scaled in parts.scaled]
    joined = Predicted(*(np.concatenate(values) for values in zip(*each, strict=True)))
    return average_left_out(np.concatenate(weight), joined)


def predict_left_out(scaled: ScaledFit, response: CensoredResponse) -> Predicted:
    """Rows left out at every design point of a fit, in the order of the data, for the response of these rows."""
    parts = scaled.fit
    problem, fitted = parts.gp.problem, parts.fitted
    J = len(fitted.points)
    work = problem.n * J * max(fitted.n_features, 1)
    with single_blas_thread():
        found = map_independent(lambda point: _at_point(parts, point), fitted.points, heavy=work > HEAVY)
    without, within = np.empty((J, problem.n)), np.empty((J, problem.n))
    exact = response.lower == response.upper
    shift = scaled.log_jacobian(response) - np.where(exact, np.log(problem.units.scale), 0.0)
    for j, pair in enumerate(found):
        without[j, problem.order], within[j, problem.order] = pair
    return Predicted(without + shift, within + shift)


def _at_point(parts: ProcessParts, point: FeaturePosterior) -> tuple[Array, Array]:
    """In the order of the problem, standardised."""
    problem, inputs = parts.gp.problem, parts.gp.prior.inputs
    if parts.fitted.points[0].noise:
        return _pairs_at_point(parts, point)
    likelihood = Spread(parts.family.likelihood.over(problem.rows).at(point.theta))
    if parts.gp.parameters.noise_free:
        return _noise_free_at_point(parts, point)
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


def _noise_free_at_point(parts: ProcessParts, point: FeaturePosterior) -> tuple[Array, Array]:
    """The same without noise: a known row has an infinite density in the posterior, and others are certain there."""
    problem, without, start = parts.gp.problem, np.empty(parts.gp.problem.n), 0
    mean, variance = noise_free_cavities(parts, point)
    within = np.zeros(problem.n)
    for rows in problem.rows:
        span = slice(start, start + len(rows))
        without[span] = parts.family.likelihood.tilted(rows, mean[span], variance[span], 0.0).log_Z
        if rows.kind == "exact":
            within[span] = np.inf
        else:
            m, v_p, d = point.marginals([at.rows(span) for at in parts.gp.prior.inputs])
            within[span] = parts.family.likelihood.tilted(rows, m, v_p + d, 0.0).log_Z
        start += len(rows)
    return without, within


def _pairs_at_point(parts: ProcessParts, point: FeaturePosterior) -> tuple[Array, Array]:
    """The same where rows are informative about log sigma too."""
    problem, rows = parts.gp.problem, parts.gp.rows_at(point.theta)
    known = parts.family.likelihood.over(problem.rows).at(point.theta)
    likelihood = CompiledMoments.of(known, parts.fitted.method)
    mean, V, d = point.pair(parts.gp.prior.inputs)
    c = pair_cavities(mean, V, point.sites, problem.weight)
    found = []
    for m, spread in ((c.mean, c.V), (mean, V)):
        both = by_kind(rows, m, spread + np.diag([0.0, 1.0]) * d[:, 1, None, None], d[:, 0])
        found.append(np.concatenate([tilted_pair(likelihood, point.sigma, *args).log_Z for args in both]))
    return found[0], found[1]


def average_left_out(weight: Array, predicted: Predicted) -> LeftOut:
    r"""Average over design points with the posterior weights of the hyper-parameters without the row.

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
