"""The exact evidence and posterior of small censored problems under Gaussian noise, up to quasi-Monte Carlo error."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tobitgp.data.arrays import Problem
from tobitgp.numerics.quadrature import normal_in_box
from tobitgp.priors.block import Inputs
from tobitgp.priors.kernel_block import GPPrior
from tobitgp.priors.prior import DenseBlock
from tobitgp.typing import Array

ROWS, CENSORED = 2000, 300


class Exact(NamedTuple):
    """Log evidence of the standardised rows, its standard error, and mean and sd of f (n,) in the problem's order."""

    evidence: float
    error: float
    mean: Array
    sd: Array


def why_not_exact(problem: Problem) -> str | None:
    """What stands in the way of :func:`exact_posterior`, None where nothing does."""
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

    Given the noisy values f is Gaussian, so its moments follow from theirs inside the box (EX5). Karlova et al. (2024),
    Eq. 33, put right.

    Shapes: K (n, n), sigma (n,).
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


def prior_covariance(linear: DenseBlock | None, gps: tuple[GPPrior, ...], thetas: list[Array]) -> Array:
    """Covariance (n, n) of f at the training rows: no inducing inputs, so nothing is left out."""
    n = len(linear.X) if linear is not None else len(gps[0].inputs.X)
    K = np.zeros((n, n))
    if linear is not None:
        K += linear.X @ linear.X.T
    for gp, theta in zip(gps, thetas, strict=True):
        X, code = Inputs(*gp.inputs)
        part = np.exp(2.0 * theta[0]) * gp.covariance.value(X, X, np.exp(theta[1:]))
        K += part if code is None else np.where(code[:, None] == code, part, 0.0)
    return K


def _log_density(y: Array, S: Array) -> float:
    """Log density of N(0, S) at y."""
    if not len(y):
        return 0.0
    L = np.linalg.cholesky(S)
    z = np.linalg.solve(L, y)
    return -float(0.5 * z @ z + np.log(L.diagonal()).sum() + 0.5 * len(y) * np.log(2.0 * np.pi))
