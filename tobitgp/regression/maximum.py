r"""The result of a fit, the way from working coordinates to the user's units, and the covariance of the estimates.

A row of weight c counts as c equal rows in the information. In the middle of the sandwich it does so if weights are
frequencies (:math:`\sum_i c_i s_i s_i'`, and n of HC1 is :math:`\sum_i c_i`); if they are sampling weights, the row has
one weighted score (:math:`\sum_i c_i^2 s_i s_i'`, and n is the number of rows). Within a cluster scores add up to
:math:`\sum_i c_i s_i` either way. R's survreg agrees on the information, on unweighted ``robust = TRUE`` (HC0) and on
unweighted ``cluster`` (no small-sample factor); R's survey and coxph agree on sampling weights.

These are (REG8) of the theory pages.

References
----------
White (1982), Maximum likelihood estimation of misspecified models, *Econometrica* 50, 1-25.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_matrix, eye, hstack

from tobitgp.data.absorbed import Absorbed
from tobitgp.distributions.standard_noise import Distribution
from tobitgp.engines import add_up, blocks
from tobitgp.errors import SpecError
from tobitgp.numerics.bordered import CovarianceMatrix, Factored, Reduced, dense, variances
from tobitgp.regression import convergence
from tobitgp.regression.clusters import Clusters, middle
from tobitgp.regression.newton import Climb, State, chunk_terms, distribution_at, shape_terms
from tobitgp.regression.working import Designs, Working
from tobitgp.typing import Array, BoolArray, IntArray


@dataclass(frozen=True, slots=True)
class Maximum:
    """A maximum of the log likelihood, in the user's units.

    The k parameters are the p coefficients, the q scale coefficients and, where it is estimated, the shape of the
    distribution, or its logarithm.
    """

    coefficients: Array  # (p,)
    gamma: Array  # (q,), log sigma = W gamma + its offset
    shape: (
        float | None
    )  # of the distribution, as its coordinate in a search, estimated or given; None where it has none
    log_likelihood: float  # of the response on the scale that was modelled: for log time add ``outcome.log_jacobian``
    gradient_norm: float  # largest derivative of the log likelihood in standardised coordinates
    inverse_information: CovarianceMatrix  # (k, k), covariance of the estimates, generalised where some of them run off
    unidentified: CovarianceMatrix  # (k, k), N, with ``a'Na > 0`` where ``a'theta`` is one of those that run off
    free: BoolArray  # (k,), parameters that were estimated
    scores: Any  # (n, k), or None, derivatives of each row's log likelihood
    iterations: int
    converged: bool
    message: str  # what happened, and where there is no maximum its cause and a remedy

    @property
    def parameters(self) -> Array:
        """Coefficients, scale coefficients and, where it is a parameter, the shape's coordinate, (k,)."""
        parts = [self.coefficients, self.gamma]
        if len(self.free) > len(self.coefficients) + len(self.gamma):
            parts.append(np.array([self.shape], dtype=np.float64))
        return np.concatenate(parts)


def in_users_units(
    end: Climb, working: Working, distribution: Distribution, design: Designs, message: str, *, scores: bool
) -> Maximum:
    """The end of an ascent in the user's units."""
    x, p, q = end.state.x, working.p, working.q
    coefficients, gamma = design.coefficients.copy(), design.gamma.copy()
    coefficients[design.free_H] = working.inverse_R @ (working.shift + working.scale * x[:p])
    gamma[design.free_W] = working.inverse_V @ x[p : p + q]
    free = np.concatenate([design.free_H, design.free_W, np.ones(int(working.free_shape), dtype=np.bool_)])
    inverse, lost = _inverse_information(end.state, working, free, flat=end.reason == "flat")
    return Maximum(
        coefficients,
        gamma,
        None if distribution.shape_name is None else distribution_at(distribution, working, x).coordinate,
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


def with_given_shape(fit: Maximum, message: str) -> Maximum:
    """Put the shape among the parameters of a fit that was made with it given."""

    def padded(V: CovarianceMatrix) -> CovarianceMatrix:
        if isinstance(V, Factored):
            return Factored(np.pad(V.root, ((0, 1), (0, 0))), np.append(V.own, 0.0))
        return np.pad(V, ((0, 1), (0, 1)))

    return replace(
        fit,
        inverse_information=padded(fit.inverse_information),
        unidentified=padded(fit.unidentified),
        free=np.append(fit.free, False),
        scores=None if fit.scores is None else fit.scores @ eye(len(fit.free), len(fit.free) + 1, format="csr"),
        message=message,
    )


def _inverse_information(
    state: State, working: Working, free: BoolArray, *, flat: bool
) -> tuple[CovarianceMatrix, CovarianceMatrix]:
    """Covariance of the estimates, and what is unidentified, (k, k) each, in the user's units."""
    lost = np.zeros((len(state.x), 0))
    if flat:
        told, own, lost = _told_and_flat(state, working)
    else:
        size = np.sqrt(np.maximum(np.abs(state.hessian.diagonal), 1e-200))
        curvature = state.hessian.each(np.negative).scaled(size, np.divide).reduced()
        try:
            root = np.linalg.inv(np.linalg.cholesky(curvature.S)).T
        except np.linalg.LinAlgError:
            root = np.full_like(curvature.S, np.nan)
        told = _users(curvature.expand(root) / size[:, None], working)
        own = _of_levels(curvature, size, working)
    absorbed = len(working.inverse_R.size) > 0
    return _of_all(told, own, free, absorbed), _of_all(lost, np.zeros(len(lost)), free, absorbed)


def _of_all(root: Array, own: Array, free: BoolArray, absorbed: bool) -> CovarianceMatrix:
    """``root root' + diag(own)`` of the free among all parameters; an array where no factor is absorbed."""
    if absorbed:
        every = Factored(np.zeros((len(free), root.shape[1])), np.zeros(len(free)))
        every.root[free], every.own[free] = root, own
        return every
    out = np.zeros((len(free), len(free)))
    out[np.ix_(free, free)] = root @ root.T
    return out


def _told_and_flat(state: State, working: Working) -> tuple[Array, Array, Array]:
    """Directions (k, m) of which the rows tell, over their information, variances of levels, and those that run off."""
    unit = np.append(convergence.units(state, working), np.ones(int(working.free_shape)))
    information = state.hessian.each(np.negative).scaled(unit).reduced()
    values, vectors = information.spectrum()
    directions = _users(unit[:, None] * vectors, working)
    flat = values < max(convergence.FLAT, 2.0 * float(values[0]))
    told = directions[:, ~flat] / np.sqrt(values[~flat])
    return told, _of_levels(information, 1.0 / unit, working), directions[:, flat]


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


def _scores(working: Working, distribution: Distribution, x: Array, design: Designs, free: BoolArray) -> Any:
    """Scores (n, k) in the order of the rows given, a sparse matrix of those of an absorbed factor."""
    n, q = len(working.order), working.q
    by_eta, rest = np.zeros(n), np.zeros((n, q + working.free_shape))
    start = 0
    for chunk in working.chunks:
        rows = working.order[start : start + len(chunk.seen)]
        start += len(rows)
        terms = chunk_terms(chunk, working, distribution_at(distribution, working, x), x)
        by_eta[rows] = terms.eta / working.scale
        rest[rows, :q] = terms.tau[:, None] * design.W[rows]
        if working.free_shape:
            rest[rows, -1] = shape_terms(chunk, working, distribution, x, terms)[0]
    if isinstance(design.H, Absorbed):
        scores = hstack([design.H.sparse().multiply(by_eta[:, None]), csr_matrix(rest)], format="csr")
        return scores @ eye(len(free), format="csr")[free]
    out = np.zeros((n, len(free)))
    out[:, free] = np.hstack([by_eta[:, None] * design.H, rest])
    return out


CovarianceKind = Literal["nonrobust", "HC0", "HC1", "cluster"]
KINDS: tuple[str, ...] = ("nonrobust", "HC0", "HC1", "cluster")
_BLIND = 1e-10  # share of a variance that scores determine
_ROUNDING = 1e-10


def covariance(
    fit: Maximum,
    kind: CovarianceKind = "nonrobust",
    *,
    weight: Array | None = None,
    groups: Clusters | IntArray | None = None,
    sampling: bool = False,
) -> CovarianceMatrix:
    """Covariance of all parameters: coefficients, scale coefficients and, where it is estimated, the shape.

    Shapes: weight, groups (n,), of one direction; gives (k, k). Weights are frequencies, or ``sampling`` weights.
    """
    if kind not in KINDS:
        raise SpecError(f"cov_type={kind!r}: must be one of {', '.join(KINDS)}.")
    if kind == "nonrobust":
        return fit.inverse_information
    if fit.scores is None:
        raise SpecError(f"cov_type={kind!r}: requires the rows' scores. Fit with scores=True.")
    V = dense(fit.inverse_information)
    scores: Any = fit.scores
    c = np.ones(scores.shape[0]) if weight is None else weight
    n = float((c > 0.0).sum() if sampling else c.sum())
    if kind == "cluster":
        return _clustered(V, Clusters.of(groups), scores, c, n, fit.free)
    more = n - float(fit.free.sum()) if kind == "HC1" else n
    factor = n / more if more > 0.0 else np.nan
    if sampling:
        c = c * c
    if isinstance(fit.inverse_information, Factored):
        return np.asarray(factor * (V @ (scores.T @ scores.multiply(c[:, None]).tocsr()).toarray() @ V))
    D = scores @ V
    return np.asarray(factor * (D.T * c) @ D)


def _clustered(V: Array, clusters: Clusters, scores: Any, weight: Array, n: float, free: BoolArray) -> Array:
    """Covariance (k, k) by sums of the scores of n observations within clusters."""
    clusters.check_number(free)
    k = int(free.sum())
    if clusters.code.shape[1] == 1:
        return clusters.crossed(scores, weight, V, n, k)
    at, out = np.ix_(free, free), np.zeros_like(V)
    root = normal_root(V[at])
    levels = clusters.levels_among(len(free))[free]
    out[at] = root @ middle(clusters, scores[:, free], weight, n, root, levels) @ root.T
    return out


def unidentified(
    fit: Maximum,
    kind: CovarianceKind = "nonrobust",
    *,
    weight: Array | None = None,
    groups: Clusters | IntArray | None = None,
) -> CovarianceMatrix:
    r"""What the rows, or the scores of a sandwich, leave open: N, with :math:`a'Na > 0` where :math:`a'\theta` is.

    A sandwich does not see the noise of a row that alone determines a combination of the parameters (leverage 1: the
    only row of a level), since its score is 0 whatever the noise. Such combinations are null vectors of the middle.
    Clusters are judged where there are more of them than parameters.

    Gives (k, k).
    """
    V = fit.inverse_information
    if kind == "nonrobust" or fit.scores is None or not np.isfinite(variances(V)).all():
        return fit.unidentified
    at = np.ix_(fit.free, fit.free)
    root = normal_root(dense(V)[at])
    c = np.ones(fit.scores.shape[0]) if weight is None else weight
    if kind == "cluster":
        number, middle = Clusters.of(groups).finest(fit.scores[:, fit.free], c, root)
        if number <= len(root):
            return fit.unidentified
    elif isinstance(V, Factored):
        scores = fit.scores[:, fit.free].multiply(np.sqrt(c)[:, None]).tocsr()
        middle = root.T @ ((scores.T @ scores) @ root)
    else:
        scores = fit.scores[:, fit.free] @ root * np.sqrt(c)[:, None]
        middle = scores.T @ scores
    values, vectors = np.linalg.eigh(middle)
    blind = root @ vectors[:, values < _BLIND]
    out = dense(fit.unidentified).copy()
    out[at] += blind @ blind.T
    return out


def known(variance: Array, lost: Array) -> Array:
    """Variances, NaN where the quadratic form ``lost`` of what is unidentified is more than rounding errors."""
    return np.where(is_lost(variance, lost), np.nan, variance)


def is_lost(variance: Array, lost: Array) -> BoolArray:
    """Whether a quadratic form of what is unidentified is more than rounding errors of a variance."""
    return np.asarray(lost > _ROUNDING * variance)


def hide(V: Array, N: Array) -> Array:
    """A covariance (..., k, k) with NaN in the rows and columns of what is unidentified by N (k, k)."""
    lost = is_lost(np.einsum("...ii->...i", V), np.diag(N))
    return np.where(lost[..., None] | lost[..., None, :], np.nan, V)


def normal_root(covariance: Array) -> Array:
    """A root R (k, k) of a covariance ``R R'``, columns of zeros where that is singular."""
    sd = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    size = np.where(sd > 0.0, sd, 1.0)
    values, vectors = np.linalg.eigh(covariance / size / size[:, None])
    least = 8 * len(values) * np.finfo(np.float64).eps  # columns far from 0 leave little between this and 1
    values = np.where(values > least * values.max(initial=0.0), values, 0.0)
    return np.asarray(size[:, None] * vectors * np.sqrt(values))


def root_of_rows(covariance: Array, columns: Sequence[Array], x: Sequence[Array], weight: Array) -> Array:
    """A root R (k, k) of a covariance of estimates by which draws do not depend on how columns are coded.

    Its columns are the principal components of what the parameters of rows, ``x_j = H_j theta_j``, vary by, each of
    these in units of its variation: functions of the rows, whose signs the rows decide too. Columns (n, k_j) are
    those of each parameter in the order of the estimates, values x (n,).
    """
    root, pieces = normal_root(covariance), blocks(len(weight))
    own = np.split(root, np.cumsum([each.shape[1] for each in columns])[:-1])

    def moves(at: slice) -> list[Array]:
        return [np.asarray(each[at] @ part) for each, part in zip(columns, own, strict=True)]

    squares = [[float(weight[at] @ np.square(each).sum(axis=1)) for each in moves(at)] for at in pieces]
    size = np.sqrt(np.sum(squares, axis=0))
    places = np.flatnonzero(size).tolist()
    if not len(places):
        return root
    centred = {j: x[j] - np.average(x[j], weights=weight) for j in places}

    def varied() -> Iterator[tuple[Array, Array, Array]]:
        """Weights, moves in units of their variation, and values, of blocks of rows of each parameter."""
        for at in pieces:
            by = moves(at)
            yield from ((weight[at], by[j] / size[j], centred[j][at]) for j in places)

    gram = np.sum([U.T @ (w[:, None] * U) for w, U, _ in varied()], axis=0)
    turn = np.linalg.eigh(gram)[1][:, ::-1]
    return np.asarray(root @ (turn * _signs(lambda: ((w, U @ turn, at) for w, U, at in varied()))))


_CLEAR = 1e-3  # share of its largest value, above which a number decides a sign


def _signs(moves: Callable[[], Iterable[tuple[Array, Array, Array]]]) -> Array:
    """Signs (k,) by the mean of the components in the rows, else their skewness, else their covariance with x."""
    sums: Any = add_up((w.sum(), w @ U**2, w @ x**2) for w, U, x in moves())
    total, squares, of_x = sums
    length = np.sqrt(np.maximum(squares, 1e-200))
    units = ((w, U / length, x) for w, U, x in moves())
    mean, skew, along = add_up((w @ U, w @ U**3, (w * x) @ U) for w, U, x in units)
    decide = [mean / np.sqrt(total), np.sqrt(total) * skew, along / np.sqrt(max(float(of_x), 1e-300))]
    sign = np.sign(decide[-1])
    for value in reversed(decide):
        sign = np.where(np.abs(value) > _CLEAR, np.sign(value), sign)
    return np.where(sign == 0.0, 1.0, sign)
