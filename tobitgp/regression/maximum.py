r"""The result of a fit, the way from working coordinates to the user's units, and the covariance of the estimates.

Weights are frequency weights throughout: a row of weight c counts as c equal rows, in the information, in the middle
of the sandwich (:math:`\sum_i c_i s_i s_i'`) and in the n of HC1; within a cluster scores add up to
:math:`\sum_i c_i s_i`. R's survreg agrees on the information, on unweighted ``robust = TRUE`` (HC0) and on unweighted
``cluster`` (no small-sample factor); with weights *and* ``robust = TRUE`` it leaves the weights out of the middle.

These are (REG8) of the theory pages.

References
----------
White (1982), Maximum likelihood estimation of misspecified models, *Econometrica* 50, 1-25.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from tobitgp.data.absorbed import as_dense
from tobitgp.distributions.base import Distribution
from tobitgp.errors import DataError, SpecError
from tobitgp.numerics.bordered import Reduced
from tobitgp.regression import convergence
from tobitgp.regression.newton import Climb, State, chunk_terms, df_terms, distribution_at
from tobitgp.regression.working import Designs, Working
from tobitgp.typing import Array, BoolArray, IntArray


@dataclass(frozen=True, slots=True)
class Maximum:
    """A maximum of the log likelihood, in the user's units.

    The k parameters are the p coefficients, the q scale coefficients and, where it is estimated, log df.
    """

    coefficients: Array  # (p,)
    gamma: Array  # (q,), log sigma = W gamma + its offset
    df: float | None  # degrees of freedom of Student's distribution, estimated or given
    log_likelihood: float  # of the response on the scale that was modelled: for log time add ``outcome.log_jacobian``
    gradient_norm: float  # largest derivative of the log likelihood in standardised coordinates
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
    end: Climb, working: Working, distribution: Distribution, design: Designs, message: str, *, scores: bool
) -> Maximum:
    """The end of an ascent in the user's units."""
    x, p, q = end.state.x, working.p, working.q
    coefficients, gamma = design.coefficients.copy(), design.gamma.copy()
    coefficients[design.free_H] = working.inverse_R @ (working.shift + working.scale * x[:p])
    gamma[design.free_W] = working.inverse_V @ x[p : p + q]
    free = np.concatenate([design.free_H, design.free_W, np.ones(int(working.free_df), dtype=np.bool_)])
    inverse, lost = _inverse_information(end.state, working, free, flat=end.reason == "flat")
    return Maximum(
        coefficients,
        gamma,
        getattr(distribution_at(distribution, working, x), "df", None),
        end.state.value + working.log_scale_sum,
        float(np.abs(end.state.gradient).max(initial=0.0)),
        inverse,
        lost,
        free,
        _scores(working, distribution, x, design, free) if scores else None,
        end.iterations,
        end.converged,
        message,
    )


def with_given_df(fit: Maximum, message: str) -> Maximum:
    """Put log df among the parameters of a fit that was made with df given."""
    more = ((0, 1), (0, 1))
    return replace(
        fit,
        inverse_information=np.pad(fit.inverse_information, more),
        unidentified=np.pad(fit.unidentified, more),
        free=np.append(fit.free, False),
        scores=None if fit.scores is None else np.pad(fit.scores, ((0, 0), (0, 1))),
        message=message,
    )


def _inverse_information(state: State, working: Working, free: BoolArray, *, flat: bool) -> tuple[Array, Array]:
    """Covariance of the estimates, and what is unidentified, (k, k) each, in the user's units."""
    k = len(free)
    at = np.ix_(free, free)
    inverse, lost = np.zeros((k, k)), np.zeros((k, k))
    if flat:
        inverse[at], lost[at] = _open_and_flat(state, working)
        return inverse, lost
    size = np.sqrt(np.maximum(np.abs(state.hessian.diagonal), 1e-200))
    curvature = state.hessian.each(np.negative).scaled(size, np.divide).reduced()
    try:
        root = _users(curvature.expand(np.linalg.inv(np.linalg.cholesky(curvature.S)).T) / size[:, None], working)
    except np.linalg.LinAlgError:
        inverse[at] = np.nan
        return inverse, lost
    inverse[at] = root @ root.T + np.diag(_of_levels(curvature, size, working))
    return inverse, lost


def _open_and_flat(state: State, working: Working) -> tuple[Array, Array]:
    """Squares (k, k) of the directions of which the rows tell, over their information, and of those that run off."""
    unit = np.append(convergence.units(state, working), np.ones(int(working.free_df)))
    information = state.hessian.each(np.negative).scaled(unit).reduced()
    values, vectors = information.spectrum()
    directions = _users(unit[:, None] * vectors, working)
    flat = values < max(convergence.FLAT, 2.0 * float(values[0]))
    told = directions[:, ~flat] / np.sqrt(values[~flat])
    inverse = told @ told.T + np.diag(_of_levels(information, 1.0 / unit, working))
    return inverse, directions[:, flat] @ directions[:, flat].T


def _users(x: Array, working: Working) -> Array:
    """Working coordinates (k, m) in the user's units."""
    p, q = working.p, working.q
    return np.concatenate([working.scale * (working.inverse_R @ x[:p]), working.inverse_V @ x[p : p + q], x[p + q :]])


def _of_levels(information: Reduced, size: Array, working: Working) -> Array:
    """Variances (k,) of levels that were eliminated given all else, in the user's units."""
    out, R = np.zeros(len(size)), working.inverse_R
    if len(information.gone):
        length = R.size[information.gone - R.start] * size[information.gone] / working.scale
        out[information.gone] = 1.0 / (information.pivot * length**2)
    return out


def _scores(working: Working, distribution: Distribution, x: Array, design: Designs, free: BoolArray) -> Array:
    """Scores (n, k) in the order of the rows given."""
    out = np.zeros((len(working.order), len(free)))
    columns = np.flatnonzero(free)
    p, q = working.p, working.q
    start = 0
    for chunk in working.chunks:
        rows = working.order[start : start + len(chunk.seen)]
        start += len(rows)
        terms = chunk_terms(chunk, working, distribution_at(distribution, working, x), x)
        out[np.ix_(rows, columns[:p])] = (terms.eta / working.scale)[:, None] * as_dense(design.H[rows])
        out[np.ix_(rows, columns[p : p + q])] = terms.tau[:, None] * design.W[rows]
        if working.free_df:
            out[rows, -1] = df_terms(chunk, working, distribution, x, terms)[0]
    return out


Kind = Literal["nonrobust", "HC0", "HC1", "cluster"]
KINDS: tuple[str, ...] = ("nonrobust", "HC0", "HC1", "cluster")
_BLIND = 1e-10  # share of a variance that scores tell of
_ROUNDING = 1e-10


def covariance(
    fit: Maximum, kind: Kind = "nonrobust", *, weight: Array | None = None, groups: IntArray | None = None
) -> Array:
    """Covariance of all parameters: coefficients, scale coefficients and, where it is estimated, log df.

    Shapes: weight, groups (n,); gives (k, k).
    """
    if kind not in KINDS:
        raise SpecError(f"cov_type {kind!r} is not one of {', '.join(KINDS)}.")
    V = fit.inverse_information
    if kind == "nonrobust":
        return V
    if fit.scores is None:
        raise SpecError(f"cov_type {kind!r} needs the rows' scores: fit with scores=True.")
    c = np.ones(len(fit.scores)) if weight is None else weight
    D = fit.scores @ V
    if kind == "cluster":
        total = _cluster_sums(D * c[:, None], groups)
        return np.asarray(total.T @ total)
    more = float(c.sum() - fit.free.sum()) if kind == "HC1" else float(c.sum())
    factor = float(c.sum()) / more if more > 0.0 else np.nan
    return np.asarray(factor * (D.T * c) @ D)


def unidentified(
    fit: Maximum, kind: Kind = "nonrobust", *, weight: Array | None = None, groups: IntArray | None = None
) -> Array:
    r"""What the rows, or the scores of a sandwich, leave open: N, with :math:`a'Na > 0` where :math:`a'\theta` is.

    A sandwich does not see the noise of a row that alone determines a combination of the parameters (leverage 1: the
    only row of a level), since its score is 0 whatever the noise. Such combinations are null vectors of the middle.
    Clusters are judged where there are more of them than parameters.

    Gives (k, k).
    """
    if kind == "nonrobust" or fit.scores is None or not np.isfinite(fit.inverse_information).all():
        return fit.unidentified
    at = np.ix_(fit.free, fit.free)
    root = normal_root(fit.inverse_information[at])
    scores = fit.scores[:, fit.free] @ root * np.sqrt(np.ones(len(fit.scores)) if weight is None else weight)[:, None]
    if kind == "cluster":
        scores = _cluster_sums(scores if weight is None else scores * np.sqrt(weight)[:, None], groups)
        if len(scores) <= len(root):
            return fit.unidentified
    values, vectors = np.linalg.eigh(scores.T @ scores)
    blind = root @ vectors[:, values < _BLIND]
    out = fit.unidentified.copy()
    out[at] += blind @ blind.T
    return out


def known(variance: Array, lost: Array) -> Array:
    """Variances, NaN where the quadratic form ``lost`` of what is unidentified is more than rounding errors."""
    return np.where(lost > _ROUNDING * variance, np.nan, variance)


def hide(V: Array, N: Array) -> Array:
    """A covariance (..., k, k) with NaN in the rows and columns of what is unidentified by N (k, k)."""
    lost = np.diag(N) > _ROUNDING * np.einsum("...ii->...i", V)
    return np.where(lost[..., None] | lost[..., None, :], np.nan, V)


def normal_root(covariance: Array) -> Array:
    """A root R (k, k) of a covariance ``R R'``, columns of zeros where that is singular."""
    sd = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    size = np.where(sd > 0.0, sd, 1.0)
    values, vectors = np.linalg.eigh(covariance / size / size[:, None])
    values = np.where(values > _ROUNDING * values.max(initial=0.0), values, 0.0)
    return np.asarray(size[:, None] * vectors * np.sqrt(values))


def _cluster_sums(D: Array, groups: IntArray | None) -> Array:
    """Sums (G, k) of rows within clusters."""
    if groups is None:
        raise SpecError('cov_type "cluster" needs groups.')
    levels, code = np.unique(groups, return_inverse=True)
    if len(levels) < 2:
        raise DataError("Clustered standard errors need at least two clusters.")
    return np.column_stack([np.bincount(code, weights=column, minlength=len(levels)) for column in D.T])
