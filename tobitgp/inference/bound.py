"""The evidence lower bound of any Gaussian posterior over the features."""

from __future__ import annotations

from tobitgp.engines import add_up
from tobitgp.inference.posterior import Chunk, Posterior
from tobitgp.likelihoods.base import Likelihood


def lower_bound(posterior: Posterior, likelihood: Likelihood) -> float:
    """``sum E_q log p(y | f) - KL(q(w) || N(0, I))``, a lower bound on the log evidence whatever method made q.

    Parameters
    ----------
    posterior : Posterior
        With its chunks.
    likelihood : Likelihood

    Returns
    -------
    float
        Of the standardised rows.
    """
    likelihood = likelihood.at(posterior.theta)

    def expected(chunk: Chunk) -> tuple[float]:
        _, _, q = posterior.marginals(chunk)
        value = likelihood.expected(chunk.rows, q.m, q.v_p + q.d, posterior.sigma, slopes=False).value
        return (float(chunk.rows.weight @ value),)

    w, factor = posterior.w, posterior.factor
    divergence = 0.5 * (factor.trace_inverse() + float(w @ w) - len(w) + factor.log_det())
    return float((add_up(map(expected, posterior.chunks)) or [0.0])[0]) - divergence


def effective_parameters(posterior: Posterior) -> float:
    """``tr(S A' diag(lambda2) A) = M - tr S``: how many parameters the data determine."""
    return len(posterior.w) - posterior.factor.trace_inverse()
