"""Gradient of the evidence in all unconstrained parameters, one pass over the rows.

At a fixed point, with ``alpha = lambda1 - lambda2 m``,
``dF/dA = alpha w' - diag(lambda2) A S`` at fixed d; Laplace adds ``alpha q' + (u - diag(lambda2) A q) w'`` with
``q = S A' u``.
Each block turns its columns of that, and ``dF/dd``, into derivatives of its own parameters.
"""

from __future__ import annotations

import itertools

import numpy as np

from tobitgp.engines import add_up
from tobitgp.inference.method import Method
from tobitgp.inference.posterior import Chunk, Posterior
from tobitgp.likelihoods.base import Likelihood
from tobitgp.numerics.linalg import solve_lower, solve_upper, solve_vector
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
    blocks, w, L_B, sigma = posterior.blocks, posterior.w, posterior.L_B, posterior.sigma
    ends = np.cumsum([0, *(b.size for b in blocks)])
    columns = [slice(i, j) for i, j in itertools.pairwise(ends)]
    q = _implicit_weights(posterior, method, likelihood)

    def visit(chunk: Chunk) -> list[Array | float]:
        parts, A, marginals = posterior.marginals(chunk)
        s = method.slopes(likelihood, chunk.rows, marginals, sigma)
        alpha = marginals.lambda1 - marginals.lambda2 * marginals.m
        AS = solve_upper(L_B, solve_lower(L_B, A.T)).T
        AS *= -marginals.lambda2[:, None]
        G_A = AS
        e = float(s.e.sum())
        G_A += np.multiply.outer(alpha, w)
        if q is not None and s.implicit is not None:
            u, e_m = s.implicit
            Aq = A @ q
            G_A += np.multiply.outer(alpha, q) + np.multiply.outer(u - marginals.lambda2 * Aq, w)
            e += float(e_m @ Aq)
        out: list[Array | float] = [e]
        for block, X, part, here in zip(blocks, chunk.inputs, parts, columns, strict=True):
            out.extend(block.backward(X, part, G_A[:, here], s.g_d))
        return out

    sums = add_up(visit, posterior.chunks) or [0.0]
    gradient, at = [], 1
    for block in blocks:
        gradient.append(block.finish(tuple(sums[at : at + block.n_sums])))
        at += block.n_sums
    return np.concatenate([*gradient, [sums[0]]])


def _implicit_weights(posterior: Posterior, method: Method, likelihood: Likelihood) -> Array | None:
    """``S A' u``, or None for methods whose evidence does not feel the mode move."""

    def visit(chunk: Chunk) -> tuple[Array]:
        _, A, marginals = posterior.marginals(chunk)
        implicit = method.slopes(likelihood, chunk.rows, marginals, posterior.sigma).implicit
        return (np.zeros(A.shape[1]) if implicit is None else A.T @ implicit[0],)

    if method.ascends != "joint":
        return None
    sums = add_up(visit, [c for c in posterior.chunks if c.rows.kind != "exact"])
    return np.zeros_like(posterior.w) if sums is None else solve_vector(posterior.L_B, sums[0])
