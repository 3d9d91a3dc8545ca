"""The evidence lower bound of any Gaussian posterior over the features."""

from __future__ import annotations

from tobitgp.inference.passes import Chunk, State
from tobitgp.inference.posterior import Gaussian, Posterior
from tobitgp.likelihoods.base import Likelihood
from tobitgp.likelihoods.censoring_noise import Spread


def lower_bound(posterior: Posterior, likelihood: Likelihood) -> float:
    """``sum E_q log p(y | f) - KL(q(w) || N(0, I))``, a lower bound on the log evidence whatever method made q.

    (SIT7) of the theory pages.
    """
    w, factor = posterior.q
    divergence = 0.5 * (factor.trace_inverse() + float(w @ w) - len(w) + factor.log_det())
    expected = posterior.rows.collect(expectation, posterior.q, Spread(likelihood.at(posterior.theta)))
    return sum(expected) - divergence


def expectation(state: State, q: Gaussian, likelihood: Likelihood) -> float:
    """``sum E_q log p(y | f)`` over some rows."""

    def visit(chunk: Chunk) -> float:
        m = state.marginals(chunk, q)[1]
        value = likelihood.expected(chunk.rows, m.m, m.v_p + m.d, state.setting.sigma, slopes=False).value
        return float(chunk.rows.weight @ value)

    return sum(map(visit, state.chunks))


def effective_parameters(posterior: Posterior) -> float:
    """``tr(S A' diag(lambda2) A) = M - tr S``: how many parameters the data determine."""
    return len(posterior.w) - posterior.factor.trace_inverse()
