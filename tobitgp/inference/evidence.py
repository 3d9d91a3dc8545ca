"""Lower bound of a posterior over all rows, its gradient, sites and moments; exact posteriors of small problems.

At a fixed point, with ``alpha = lambda1 - lambda2 m``, ``dF/dA = alpha w' - diag(lambda2) A S`` at fixed d; Laplace
adds ``alpha q' + (u - diag(lambda2) A q) w'`` with ``q = S A' u``: (SIT9) and (LA6) of the theory pages. Each block
turns its columns of ``dF/dA``, and ``dF/dd``, into derivatives with respect to its parameters.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tobitgp.data.arrays import Problem
from tobitgp.engines import LocalPartitions, add_up
from tobitgp.inference.compiled_rows import CompiledMoments
from tobitgp.inference.feature_layout import block_slopes
from tobitgp.inference.feature_posterior import NO_SITES, FeaturePosterior, FeatureWeights
from tobitgp.inference.method import Method
from tobitgp.inference.partitioned import PartitionedRows, RowPartition, Sites
from tobitgp.inference.site_updates import SiteChunk, SitesState, final_moments, final_sites, slopes_of, unexplained
from tobitgp.inference.structured import structure_gradient
from tobitgp.likelihoods.censoring_noise import Spread
from tobitgp.likelihoods.row_terms import Likelihood
from tobitgp.numerics.quadrature import normal_in_box
from tobitgp.priors.prior import Prior
from tobitgp.typing import Array


class Explained(NamedTuple):
    """What a posterior says of all rows together."""

    bound: float  # evidence lower bound of the standardised rows, whatever method made the posterior
    effective: float  # effective number of parameters


def explained(posterior: FeaturePosterior, likelihood: Likelihood) -> Explained:
    """The bound ``sum E_q log p(y | f) - KL(q || prior)``, (SIT7), and ``tr(V Lambda)``, how much the data determine.

    The divergence is ``1/2 (alpha' m + log |I + K Lambda| - tr(V Lambda))``.
    """
    q, likelihood = posterior.q, likelihood.at(posterior.theta)
    if posterior.pairs is not None:
        return Explained(posterior.pairs.bound(likelihood, posterior.sigma), posterior.pairs.effective)
    expected, effective = add_up(posterior.rows.collect(expectation, q, Spread(likelihood)))
    return Explained(expected - 0.5 * (q.quadratic + q.log_det - effective), effective)


def expectation(state: SitesState, q: FeatureWeights, likelihood: Spread) -> list[Any]:
    """``sum E_q log p(y | f)`` and ``sum lambda2 v_p`` over some rows."""
    by_core = Spread(CompiledMoments.of(likelihood.noise, state.setting.method))

    def visit(chunk: SiteChunk) -> tuple[float, float]:
        m, of_rows = state.marginals(chunk, q)[1], by_core if chunk.rows.spread is None else likelihood
        value = of_rows.expected(chunk.rows, m.m, m.v_p + m.d, state.setting.sigma, slopes=False).value
        return float(chunk.rows.weight @ value), float(m.lambda2 @ m.v_p)

    return add_up(map(visit, state.chunks))


def evidence_gradient(posterior: FeaturePosterior, method: Method) -> Array:
    """Gradient (k,) of ``posterior.evidence`` in ``posterior.theta``."""
    q, implicit = posterior.q, None
    if method.traits.ascends == "joint":
        implicit = _implicit(posterior)
    noise, *sums = add_up(posterior.rows.collect(slope_sums, q, implicit))
    by_block = [block.finish(own) for block, own in zip(posterior.blocks, sums, strict=True)]
    if q.structured is not None:
        by_block = _with_structure(by_block, q, None if implicit is None else implicit.at_knots)
    return np.concatenate([*by_block, noise])


def _with_structure(by_block: list[Array], q: FeatureWeights, implicit: Array | None) -> list[Array]:
    """Gradients by block, those of the structure's terms from all of it."""
    assert q.structured is not None
    which = q.structured.field.blocks.tolist()
    slopes = structure_gradient(q.structured, q.w, q.factor, implicit)
    ends = np.cumsum([len(by_block[block]) for block in which])
    for block, own in zip(which, np.split(slopes, ends[:-1]), strict=True):
        by_block[block] = own
    return by_block


class Implicit(NamedTuple):
    """How the evidence feels the mode move, (LA5): f moves by ``V u``."""

    weights: Array  # (M,), ``q = B^-1 A~' u``
    rest: Array | None = None  # (n,), ``V0 u`` in the rows, in the order of the partitions
    at_knots: Array | None = None  # (N,), ``u - Lambda A q`` summed


def _implicit(posterior: FeaturePosterior) -> Implicit:
    q = posterior.q
    if q.structured is None:
        sums = add_up(posterior.rows.collect(implicit_sums, q))
        return Implicit(q.factor.solve(sums[0]) if sums else np.zeros_like(q.w))
    knots, field = q.structured.knots, q.structured.field
    of_rows = np.concatenate(posterior.rows.collect(implicit_rows, q))
    weights, u = q.factor.solve(q.structured.A.T @ of_rows), knots.sums(of_rows)
    rest = q.structured.conditioned.solve(u[:, None])[:, 0]
    return Implicit(weights, rest[knots.of_row], u - field.U[:, 1:] @ weights)


def implicit_sums(state: SitesState, q: FeatureWeights) -> list[Any]:
    """``A' u`` over some rows, whose known sites add nothing."""

    def visit(chunk: SiteChunk) -> tuple[Array]:
        A, marginals = state.marginals(chunk, q)
        implicit = slopes_of(state.setting, chunk.rows, marginals).implicit
        return (np.zeros_like(q.w) if implicit is None else A.adjoint(implicit[0]),)

    return add_up(visit(chunk) for chunk in state.others())


def implicit_rows(state: SitesState, q: FeatureWeights) -> Array:
    """Laplace's u in some rows, (n,); zero where sites are known."""
    out = np.zeros(len(state.part))
    for chunk in state.others():
        implicit = slopes_of(state.setting, chunk.rows, state.marginals(chunk, q)[1]).implicit
        if implicit is not None:
            out[chunk.span] = implicit[0]
    return out


def slope_sums(state: SitesState, q: FeatureWeights, implicit: Implicit | None) -> list[Any]:
    """Derivatives in the noise parameters, and the sums for each block's ``finish``, over some rows."""
    blocks, layout = state.setting.blocks, state.setting.layout

    def visit(chunk: SiteChunk) -> list[Any]:
        parts, A, d = state.features(chunk, slopes=True)
        A, marginals, whitened = state.marginals_of(chunk, q, A, d)
        s = slopes_of(state.setting, chunk.rows, marginals)
        lambda2 = marginals.lambda2
        alpha = marginals.lambda1 - lambda2 * marginals.m
        G = q.factor.smooth(A, whitened)
        for columns in G:
            if columns is not None:
                columns *= -lambda2[:, None]
        A.add_slope(G, alpha, q.w)
        e = s.e
        if implicit is not None and s.implicit is not None:
            u, e_m = s.implicit
            moved = A.times(implicit.weights)
            if implicit.rest is not None:
                moved += implicit.rest[state.part.places(chunk.span)]
            A.add_slope(G, alpha, implicit.weights)
            A.add_slope(G, u - lambda2 * moved, q.w)
            e = e + e_m * moved
        scales, noise = chunk.rows.scales, e.sum(axis=1)
        if scales is not None:
            noise = np.concatenate([e[-1] @ scales[:, 1:], noise])
        slopes = zip(blocks, chunk.inputs, parts, block_slopes(layout, chunk.inputs, blocks, G), strict=True)
        return [noise, *(block.backward(at.X, part, G_A, s.g_d) for block, at, part, G_A in slopes)]

    return add_up(map(visit, state.chunks))


COARSE = 1.0  # nats that basis functions may leave without a warning


def sites_of(posterior: FeaturePosterior) -> Sites:
    """Sites in the problem's order; none of rows that lie elsewhere."""
    if not isinstance(posterior.rows, LocalPartitions):
        return NO_SITES
    return Sites(*_in_order(posterior.rows.collect(final_sites)))


def precisions_of(data: PartitionedRows) -> Array:
    """Site precisions (n,) in the problem's order, none of them negative; none of rows that lie elsewhere."""
    if not isinstance(data.partitions, LocalPartitions):
        return NO_SITES.lambda2
    return np.maximum(_in_order(data.partitions.collect(started_sites))[1], 0.0)


def started_sites(part: RowPartition) -> tuple[tuple[int, ...], tuple[Array, Array]]:
    """Number of rows of every kind, and both natural parameters of the sites to start from."""
    assert part.sites is not None
    return tuple(map(len, part.rows)), (part.sites.lambda1, part.sites.lambda2)


def nats_left(posterior: FeaturePosterior) -> float:
    """``1/2 sum lambda2 d`` over the rows whose sites hold information, wherever they lie."""
    if posterior.pairs is not None:
        return float(posterior.pairs.nats_left)
    return sum(posterior.rows.collect(unexplained))


def moments_of(posterior: FeaturePosterior) -> tuple[Array, Array]:
    """Mean and variance (n,) of f in the rows, in the problem's order."""
    return _in_order(posterior.rows.collect(final_moments, posterior.q))


def _in_order(parts: list[tuple[tuple[int, ...], tuple[Array, Array]]]) -> tuple[Array, Array]:
    """Values of all rows in the order of kinds, from those of each part with its number of rows of every kind."""
    if len(parts) == 1:
        return parts[0][1]
    cuts = [np.split(np.stack(pair), np.cumsum(sizes)[:-1], axis=1) for sizes, pair in parts]
    first, second = np.concatenate([kind for kinds in zip(*cuts, strict=True) for kind in kinds], axis=1)
    return first, second


ROWS, CENSORED = 2000, 300


class Exact(NamedTuple):
    """Log evidence of the standardised rows, its standard error, and mean and sd of f (n,) in the problem's order."""

    evidence: float
    error: float
    mean: Array
    sd: Array


def why_not_exact(problem: Problem) -> str | None:
    """Why :func:`exact_posterior` is not available for a problem; None if it is."""
    weight = problem.weight
    if any(rows.window is not None for rows in problem.rows):
        return "rows are truncated"
    if (weight != np.round(weight)).any():
        return "weights are not whole numbers"
    censored = sum(float(rows.weight.sum()) for rows in problem.rows if rows.kind != "exact")
    if censored > CENSORED or weight.sum() > ROWS:
        return f"more than {CENSORED} rows are censored, or there are more than {ROWS}"
    return None


def exact_posterior(problem: Problem, K: Array, sigma: float | Array) -> Exact:
    """Density of the exact rows times the probability that the others lie in their box given them, (EX1) and (EX2).

    Given the noisy values f is Gaussian, so its moments follow from theirs (EX5): Karlova et al., Eq. 33, put right.
    """
    each = np.repeat(np.arange(problem.n), problem.weight.astype(np.intp))
    lower, upper = (np.concatenate([getattr(rows, end) for rows in problem.rows])[each] for end in ("lower", "upper"))
    S = K[np.ix_(each, each)] + np.diag(np.broadcast_to(np.square(sigma), problem.n)[each])
    seen = lower == upper
    y, hidden = lower[seen], ~seen
    G = np.linalg.solve(S[np.ix_(seen, seen)], S[np.ix_(seen, hidden)]).T
    evidence, error = _log_density(y, S[np.ix_(seen, seen)]), 0.0
    e_y, c_y = np.where(seen, lower, 0.0), np.zeros_like(S)
    if hidden.any():
        cov = S[np.ix_(hidden, hidden)] - G @ S[np.ix_(seen, hidden)]
        box = normal_in_box(G @ y, cov, lower[hidden], upper[hidden])
        evidence, error = evidence + box.log_mass, box.error
        e_y[hidden], c_y[np.ix_(hidden, hidden)] = box.mean, box.cov
    W: Array = np.asarray(np.linalg.solve(S, K[each]).T, dtype=np.float64)
    var: Array = K.diagonal() - np.einsum("nm,mn->n", W, K[each]) + np.einsum("nm,nm->n", W @ c_y, W)
    mean = np.einsum("ni,i->n", W, e_y)
    return Exact(evidence, error, mean, np.sqrt(np.maximum(var, 0.0)))


def prior_covariance(prior: Prior, thetas: list[Array]) -> Array:
    """Covariance (n, n) of f at the training rows: no inducing inputs, so nothing is left out."""
    parts = [(block.code, block.X @ block.X.T) for block in prior.with_linear(())]
    for gp, theta in zip(prior.gps, thetas, strict=True):
        parts.append((gp.inputs.code, gp.covariance_of_rows(theta)))
    return np.sum([K if code is None else np.where(code[:, None] == code, K, 0.0) for code, K in parts], axis=0)


def _log_density(y: Array, S: Array) -> float:
    """Log density of N(0, S) at y."""
    if not len(y):
        return 0.0
    L = np.linalg.cholesky(S)
    z = np.linalg.solve(L, y)
    return -float(0.5 * z @ z + np.log(L.diagonal()).sum() + 0.5 * len(y) * np.log(2.0 * np.pi))
