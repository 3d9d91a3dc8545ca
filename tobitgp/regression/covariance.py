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


def covariance(
    fit: Maximum, kind: Kind = "nonrobust", *, weight: Array | None = None, groups: IntArray | None = None
) -> Array:
    """Covariance of all parameters: coefficients, scale coefficients and, where it is estimated, log df.

    Parameters
    ----------
    fit : Maximum
        With its scores, unless ``kind`` is "nonrobust".
    kind : {"nonrobust", "HC0", "HC1", "cluster"}
        HC1 is HC0 times n / (n - k) with n the sum of the weights and k the number of estimated parameters.
    weight : (n,) array, optional
        Frequency weights the fit was made with; ones by default.
    groups : (n,) integer array, optional
        Cluster of each row, for "cluster".

    Returns
    -------
    (k, k) array
        Rows and columns of parameters that were given are 0.

    Raises
    ------
    SpecError
        For another kind, a fit without scores, or "cluster" without groups.
    DataError
        If there are fewer than two clusters.

    Examples
    --------
    >>> from tobitgp.data.outcome import Outcome
    >>> from tobitgp.regression import maximise
    >>> y, inf = np.array([1.0, 2.0, 4.0, 5.0]), np.full(4, np.inf)
    >>> rows = Outcome(y, y, np.zeros(4), -inf, inf, inf, np.ones(4))
    >>> fit = maximise(rows, np.ones((4, 1)), scores=True)
    >>> print(np.diag(covariance(fit, "HC0")).round(4))
    [0.625  0.0225]
    """
    if kind not in KINDS:
        raise SpecError(f"cov_type {kind!r} is not one of {', '.join(KINDS)}.")
    V = fit.inverse_information
    if kind == "nonrobust":
        return V
    if fit.scores is None:
        raise SpecError(f"cov_type {kind!r} needs the rows' scores: fit with scores=True.")
    c = np.ones(len(fit.scores)) if weight is None else weight
    free = fit.free
    out = np.where(np.isnan(V), np.nan, 0.0)
    D = fit.scores[:, free] @ V[np.ix_(free, free)]
    if kind == "cluster":
        total = _cluster_sums(D * c[:, None], groups)
        out[np.ix_(free, free)] = total.T @ total
        return out
    factor = float(c.sum() / (c.sum() - free.sum())) if kind == "HC1" else 1.0
    out[np.ix_(free, free)] = factor * (D.T * c) @ D
    return out


def _cluster_sums(D: Array, groups: IntArray | None) -> Array:
    """Sums (G, k) of rows within clusters."""
    if groups is None:
        raise SpecError('cov_type "cluster" needs groups.')
    levels, code = np.unique(groups, return_inverse=True)
    if len(levels) < 2:
        raise DataError("Clustered standard errors need at least two clusters.")
    return np.column_stack([np.bincount(code, weights=column, minlength=len(levels)) for column in D.T])
