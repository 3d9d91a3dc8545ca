"""The result of a fit, and the way from working coordinates back to the user's units."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import block_diag, solve_triangular

from tobitgp.distributions.base import Distribution
from tobitgp.regression import convergence
from tobitgp.regression.newton import Climb, State, chunk_terms, df_terms, law_at
from tobitgp.regression.working import Designs, Working
from tobitgp.typing import Array, BoolArray


@dataclass(frozen=True, slots=True)
class Maximum:
    """A maximum of the log likelihood, in the user's units.

    The k parameters are the p coefficients, the q scale coefficients and, where it is estimated, log df.
    """

    coefficients: Array  # (p,)
    gamma: Array  # (q,), log sigma = W gamma + its offset
    df: float | None  # degrees of freedom of Student's law, estimated or given
    log_likelihood: float  # of the response on the scale that was modelled: for log time add ``outcome.log_jacobian``
    gradient_norm: float  # largest derivative of the log likelihood in standardised coordinates
    information: Array  # (k, k), minus the Hessian, NaN at parameters that were given
    inverse_information: Array  # (k, k), covariance of the estimates, generalised where some of them run off
    unidentified: Array  # (k, k), N, with ``a'Na > 0`` where ``a'theta`` is one of those that run off
    free: BoolArray  # (k,), parameters that were estimated
    scores: Array | None  # (n, k), derivatives of each row's log likelihood
    iterations: int
    converged: bool
    message: str  # what happened, and where there is no maximum its cause and a remedy

    @property
    def parameters(self) -> Array:
        """Coefficients, scale coefficients and, where it is a parameter, log df, (k,)."""
        parts = [self.coefficients, self.gamma]
        if len(self.free) > len(self.coefficients) + len(self.gamma):
            parts.append(np.log(np.array([self.df], dtype=np.float64)))
        return np.concatenate(parts)


def in_users_units(
    end: Climb,
    working: Working,
    law: Distribution,
    design: Designs,
    converged: bool,
    message: str,
    scores: bool,
    flat: bool,
) -> Maximum:
    """Back to the user's units; ``flat`` where some directions run off."""
    x, p, q = end.state.x, working.p, working.q
    coefficients, gamma = design.coefficients.copy(), design.gamma.copy()
    coefficients[design.free_H] = working.inverse_R @ (working.shift + working.scale * x[:p])
    gamma[design.free_W] = working.inverse_V @ x[p : p + q]
    extra = np.ones(int(working.free_df), dtype=np.bool_)
    free = np.concatenate([design.free_H, design.free_W, extra])
    information, inverse, lost = _informations(end.state, working, free, flat)
    at = law_at(law, working, x)
    kept = _scores(working, law, x, design, free) if scores else None
    norm = float(np.abs(end.state.gradient).max(initial=0.0))
    log_likelihood = end.state.value + working.log_scale_sum
    df = getattr(at, "df", None)
    return Maximum(
        coefficients,
        gamma,
        df,
        log_likelihood,
        norm,
        information,
        inverse,
        lost,
        free,
        kept,
        end.iterations,
        converged,
        message,
    )


def with_given_df(fit: Maximum, message: str) -> Maximum:
    """Put log df among the parameters of a fit that was made with df given."""
    k = len(fit.free) + 1
    information, inverse, lost = np.full((k, k), np.nan), np.zeros((k, k)), np.zeros((k, k))
    information[:-1, :-1], inverse[:-1, :-1] = fit.information, fit.inverse_information
    lost[:-1, :-1] = fit.unidentified
    scores = None if fit.scores is None else np.column_stack([fit.scores, np.zeros(len(fit.scores))])
    free = np.append(fit.free, False)
    return replace(
        fit,
        information=information,
        inverse_information=inverse,
        unidentified=lost,
        free=free,
        scores=scores,
        message=message,
    )


def _informations(state: State, working: Working, free: BoolArray, flat: bool) -> tuple[Array, Array, Array]:
    """Information, its inverse and what is unidentified, (k, k) each, in the user's units."""
    A = block_diag(working.scale * working.inverse_R, working.inverse_V, np.eye(int(working.free_df)))
    B = solve_triangular(A, np.eye(len(A)))
    k = len(free)
    at = np.ix_(free, free)
    information, inverse, lost = np.full((k, k), np.nan), np.zeros((k, k)), np.zeros((k, k))
    information[at] = B.T @ -state.hessian @ B
    if flat:
        inverse[at], lost[at] = _open_and_flat(state, working, A)
        return information, inverse, lost
    size = np.sqrt(np.maximum(np.abs(np.diag(state.hessian)), 1e-200))
    try:
        root = np.linalg.inv(np.linalg.cholesky(-state.hessian / size / size[:, None])) / size
        inverse[at] = (root @ A.T).T @ (root @ A.T)
    except np.linalg.LinAlgError:
        inverse[at] = np.nan
    return information, inverse, lost


def _open_and_flat(state: State, working: Working, A: Array) -> tuple[Array, Array]:
    """Squares (k, k) of the directions of which the rows tell, over their information, and of those that run off."""
    unit = np.append(convergence.units(state, working), np.ones(int(working.free_df)))
    values, vectors = np.linalg.eigh(-state.hessian * unit * unit[:, None])
    directions = A @ (unit[:, None] * vectors)
    flat = values < max(convergence.FLAT, 2.0 * float(values[0]))
    told = directions[:, ~flat] / np.sqrt(values[~flat])
    return told @ told.T, directions[:, flat] @ directions[:, flat].T


def _scores(working: Working, law: Distribution, x: Array, design: Designs, free: BoolArray) -> Array:
    """Scores (n, k) in the order of the rows given."""
    out = np.zeros((len(working.order), len(free)))
    columns = np.flatnonzero(free)
    p, q = working.p, working.q
    start = 0
    for chunk in working.chunks:
        rows = working.order[start : start + len(chunk.weight)]
        start += len(rows)
        terms = chunk_terms(chunk, working, law_at(law, working, x), x)
        out[np.ix_(rows, columns[:p])] = (terms.eta / working.scale)[:, None] * design.H[rows]
        out[np.ix_(rows, columns[p : p + q])] = terms.tau[:, None] * design.W[rows]
        if working.free_df:
            out[rows, -1] = df_terms(chunk, working, law, x, terms)[0]
    return out
