"""The evidence lower bound of any Gaussian posterior over the features."""

from __future__ import annotations

import numpy as np

from tobitgp.engines import add_up
from tobitgp.inference.posterior import Chunk, Posterior
from tobitgp.likelihoods.base import Likelihood
from tobitgp.numerics.linalg import inverse_factor, log_det


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

    def expected(chunk: Chunk) -> tuple[float]:
        _, _, q = posterior.marginals(chunk)
        value = likelihood.expected(chunk.rows, q.m, q.v_p + q.d, posterior.sigma).value
        return (float(chunk.rows.weight @ value),)

    w, L_B = posterior.w, posterior.L_B
    trace = float(np.square(inverse_factor(L_B)).sum())
    divergence = 0.5 * (trace + float(w @ w) - len(w) + log_det(L_B))
    return float((add_up(expected, posterior.chunks) or [0.0])[0]) - divergence


def effective_parameters(posterior: Posterior) -> float:
    """``tr(S A' diag(lambda2) A) = M - tr S``: how many parameters the data determine."""
    return len(posterior.w) - float(np.square(inverse_factor(posterior.L_B)).sum())
