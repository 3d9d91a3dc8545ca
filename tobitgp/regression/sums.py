"""Log likelihood of the working problem, its gradient and Hessian: sums over chunks of rows.

Rows bring (REG2) to (REG5) of the theory pages.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tobitgp.distributions.base import Distribution
from tobitgp.engines import add_up
from tobitgp.likelihoods.row_terms import Terms, row_terms, subtract
from tobitgp.numerics.linear_algebra import gram
from tobitgp.regression.working import Chunk, Working
from tobitgp.typing import Array

_STEP = 0.03  # of differences in log df


@dataclass(frozen=True, slots=True)
class State:
    """The working log likelihood at one point."""

    x: Array  # (k,)
    value: float
    gradient: Array  # (k,)
    hessian: Array  # (k, k)


def evaluate(working: Working, law: Distribution, x: Array) -> State:
    """Log likelihood, gradient and Hessian at x = (b, g[, log df])."""
    value, gradient, hessian = add_up(_sums(chunk, working, law, x) for chunk in working.chunks)
    p = working.p
    hessian[p:, :p] = hessian[:p, p:].T
    return State(x, float(value), gradient, 0.5 * (hessian + hessian.T))


def law_at(law: Distribution, working: Working, x: Array) -> Distribution:
    """The law at the degrees of freedom of x."""
    return law.with_shape(float(np.exp(x[-1]))) if working.free_df else law


def chunk_terms(chunk: Chunk, working: Working, law: Distribution, x: Array) -> Terms:
    """Terms of a chunk's rows of unit weight, window taken off, in working units."""
    p, q = working.p, working.q
    eta = chunk.Q @ x[:p]
    tau = chunk.tau0[0] + x[p : p + q].sum() if working.constant else chunk.tau0 + chunk.V @ x[p : p + q]
    terms = row_terms(law, chunk.kind, chunk.lower, chunk.upper, chunk.width, eta, np.asarray(tau))
    if chunk.window == "open":
        return terms
    return subtract(terms, row_terms(law, chunk.window, chunk.entry, chunk.exit, chunk.span, eta, np.asarray(tau)))


def df_terms(
    chunk: Chunk, working: Working, law: Distribution, x: Array, here: Terms
) -> tuple[Array, Array, Array, Array]:
    """Derivatives of the rows' log likelihood in log df, once, twice, and with eta and tau: fourth-order differences.

    Shapes: x (k,).
    """
    moved = (law.with_shape(float(np.exp(x[-1] + s * _STEP))) for s in (-2.0, -1.0, 1.0, 2.0))
    at = [chunk_terms(chunk, working, each, x) for each in moved]
    at.insert(2, here)

    def slope(name: str) -> Array:
        v = [getattr(terms, name) for terms in at]
        return np.asarray((8.0 * (v[3] - v[1]) - (v[4] - v[0])) / (12.0 * _STEP))

    v = [terms.value for terms in at]
    second = (16.0 * (v[3] + v[1]) - (v[4] + v[0]) - 30.0 * v[2]) / (12.0 * _STEP * _STEP)
    return slope("value"), second, slope("eta"), slope("tau")


def _sums(chunk: Chunk, working: Working, law: Distribution, x: Array) -> tuple[float, Array, Array]:
    """One chunk's part of value, gradient and Hessian."""
    here = chunk_terms(chunk, working, law_at(law, working, x), x)
    p, q, w, Q = working.p, working.q, chunk.weight, chunk.Q
    terms = Terms(*(w * t for t in here))
    gradient, hessian = np.zeros(len(x)), np.zeros((len(x), len(x)))
    gradient[:p] = terms.eta @ Q
    hessian[:p, :p] = _weighted_gram(Q, terms.eta_eta)
    at = slice(p, p + q)
    if working.constant and q:
        gradient[p], hessian[:p, p], hessian[p, p] = terms.tau.sum(), terms.eta_tau @ Q, terms.tau_tau.sum()
    elif q:
        gradient[at] = terms.tau @ chunk.V
        hessian[:p, at] = (Q.T * terms.eta_tau) @ chunk.V
        hessian[at, at] = _weighted_gram(chunk.V, terms.tau_tau)
    if working.free_df:
        slope, second, eta, tau = (w * t for t in df_terms(chunk, working, law, x, here))
        gradient[-1], hessian[-1, -1] = slope.sum(), second.sum()
        hessian[:p, -1] = eta @ Q
        hessian[at, -1] = hessian[-1, at] = tau @ chunk.V
    return float(terms.value.sum()), gradient, hessian


def _weighted_gram(A: Array, d: Array) -> Array:
    """``A' diag(d) A``, by one rank update where d has one sign."""
    if len(d) and d.max() <= 0.0:
        lower = gram(A, -d)
        return -(np.tril(lower) + np.tril(lower, -1).T)
    return np.asarray((A.T * d) @ A)
