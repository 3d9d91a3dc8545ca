"""Gradient of the evidence in all unconstrained parameters, one pass over the rows.

At a fixed point, with ``alpha = lambda1 - lambda2 m``,
``dF/dA = alpha w' - diag(lambda2) A S`` at fixed d; Laplace adds ``alpha q' + (u - diag(lambda2) A q) w'`` with
``q = S A' u``.
Each block turns its columns of that, and ``dF/dd``, into derivatives of its own parameters.
"""

from __future__ import annotations

import numpy as np

from tobitgp.engines import add_up
from tobitgp.inference.layout import block_slopes
from tobitgp.inference.method import Method
from tobitgp.inference.posterior import Chunk, Posterior
from tobitgp.likelihoods.base import Likelihood
from tobitgp.typing import Array


def evidence_gradient(posterior: Posterior, method: Method, likelihood: Likelihood) -> Array:
    """Gradient (k,) of ``posterior.evidence`` in ``posterior.theta``.

    Parameters
    ----------
    posterior : Posterior
        Settled: the formulas hold at a fixed point only.
    method : Method
    likelihood : Likelihood
    """
    blocks, w, sigma = posterior.blocks, posterior.w, posterior.sigma
    likelihood = method.view(likelihood.at(posterior.theta))
    q = _implicit_weights(posterior, method, likelihood)

    def visit(chunk: Chunk) -> list[Array | float]:
        parts, A, marginals = posterior.marginals(chunk)
        s = method.slopes(likelihood, chunk.rows, marginals, sigma)
        lambda2 = marginals.lambda2
        alpha = marginals.lambda1 - lambda2 * marginals.m
        G = posterior.factor.smooth(A)
        for columns in G:
            if columns is not None:
                columns *= -lambda2[:, None]
        A.add_slope(G, alpha, w)
        e = s.e.sum(axis=1)
        if q is not None and s.implicit is not None:
            u, e_m = s.implicit
            Aq = A.times(q)
            A.add_slope(G, alpha, q)
            A.add_slope(G, u - lambda2 * Aq, w)
            e += e_m @ Aq
        out: list[Array | float] = [e]
        slopes = block_slopes(chunk.layout, chunk.inputs, [b.size for b in blocks], G)
        for block, at, part, G_A in zip(blocks, chunk.inputs, parts, slopes, strict=True):
            out.extend(block.backward(at.X, part, G_A, s.g_d))
        return out

    sums = add_up(map(visit, posterior.chunks))
    gradient, at = [], 1
    for block in blocks:
        gradient.append(block.finish(tuple(sums[at : at + block.n_sums])))
        at += block.n_sums
    return np.concatenate([*gradient, sums[0]])


def _implicit_weights(posterior: Posterior, method: Method, likelihood: Likelihood) -> Array | None:
    """``S A' u``, or None for methods whose evidence does not feel the mode move."""

    def visit(chunk: Chunk) -> tuple[Array]:
        _, A, marginals = posterior.marginals(chunk)
        implicit = method.slopes(likelihood, chunk.rows, marginals, posterior.sigma).implicit
        return (np.zeros_like(posterior.w) if implicit is None else A.adjoint(implicit[0]),)

    if method.ascends != "joint":
        return None
    sums = add_up(map(visit, [c for c in posterior.chunks if not likelihood.is_conjugate(c.rows)]))
    return np.zeros_like(posterior.w) if not sums else posterior.factor.solve(sums[0])
