r"""Covariance of the estimates: inverse information, or a sandwich of it around the rows' scores.

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

from typing import Literal

import numpy as np

from tobitgp.errors import DataError, SpecError
from tobitgp.regression.maximum import Maximum
from tobitgp.typing import Array, IntArray

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
    return np.asarray(size[:, None] * vectors * np.sqrt(np.maximum(values, 0.0)))


def _cluster_sums(D: Array, groups: IntArray | None) -> Array:
    """Sums (G, k) of rows within clusters."""
    if groups is None:
        raise SpecError('cov_type "cluster" needs groups.')
    levels, code = np.unique(groups, return_inverse=True)
    if len(levels) < 2:
        raise DataError("Clustered standard errors need at least two clusters.")
    return np.column_stack([np.bincount(code, weights=column, minlength=len(levels)) for column in D.T])
