"""The standardised problem that is maximised; known coefficients become offsets.

Known coefficients become offsets.

The standardised problem that is maximised.

With H = Q R, columns of Q orthonormal, and b0 the least-squares fit of the rows' mid-points and limits, the working
response is (y - offset - Q b0) / scale, its location Q b. Nothing that follows depends on the units of the response
or the columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.linalg import blas

from tobitgp.data.columns import check_size
from tobitgp.data.outcome import Outcome
from tobitgp.engines import row_chunks
from tobitgp.errors import DataError, NumericalError
from tobitgp.likelihoods.row_terms import KINDS, Kind, kind_of
from tobitgp.numerics.linear_algebra import cholesky
from tobitgp.typing import Array, BoolArray, IntArray


@dataclass(frozen=True, slots=True)
class Designs:
    """Designs split into what is estimated and what is known."""

    H: Array  # (n, p), columns whose coefficients are estimated
    W: Array  # (n, p), columns whose coefficients are estimated
    offset: Array  # (n,), the rest, known coefficients included
    tau_offset: Array  # (n,), the rest, known coefficients included
    coefficients: Array  # of all columns; NaN where they are estimated
    gamma: Array  # of all columns; NaN where they are estimated
    free_H: BoolArray  # where they are estimated
    free_W: BoolArray  # where they are estimated


def split(
    H: Array, W: Array, offset: Array, tau_offset: Array, coefficients: Array | None, gamma: Array | None
) -> Designs:
    """Move known coefficients, those that are not NaN, into the offsets."""
    beta = np.full(H.shape[1], np.nan) if coefficients is None else np.array(coefficients, dtype=np.float64)
    known = np.full(W.shape[1], np.nan) if gamma is None else np.array(gamma, dtype=np.float64)
    free_H, free_W = np.isnan(beta), np.isnan(known)
    if not free_H.all():
        offset = offset + H[:, ~free_H] @ beta[~free_H]
        H = H[:, free_H]
    if not free_W.all():
        tau_offset = tau_offset + W[:, ~free_W] @ known[~free_W]
        W = W[:, free_W]
    return Designs(H, W, offset, tau_offset, beta, known, free_H, free_W)


_CHUNK = 8192
_ILL = 1e-6


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some rows of one kind seen through one kind of window, on the working scale."""

    kind: Kind  # what is known of the row; what is known of its window ("open": no truncation)
    window: Kind  # what is known of the row; what is known of its window ("open": no truncation)
    lower: Array  # (m,)
    upper: Array  # (m,)
    width: Array  # (m,)
    entry: Array  # (m,)
    exit: Array  # (m,)
    span: Array  # (m,)
    weight: Array  # (m,)
    Q: Array  # (m, p)
    V: Array  # (m, q)
    tau0: Array  # (m,), known part of log sigma


@dataclass(frozen=True, slots=True)
class Working:
    """The problem in coordinates x = (b, g[, log df])."""

    chunks: tuple[Chunk, ...]
    order: IntArray  # (n,), position of each working row among the rows given
    inverse_R: Array  # (p, p), ``Q = H inverse_R``
    inverse_V: Array  # (q, q), ``V = W inverse_V``
    shift: Array  # (p,), b0, in the user's units of y
    scale: float
    log_scale_sum: float  # what the working log likelihood lacks: ``-log(scale)`` times the weight of the exact rows
    constant: bool  # log sigma is one number for all rows
    free_df: bool  # degrees of freedom are estimated

    @property
    def p(self) -> int:
        """Number of location coefficients."""
        return len(self.inverse_R)

    @property
    def q(self) -> int:
        """Number of scale coefficients."""
        return len(self.inverse_V)


def standardise(outcome: Outcome, H: Array, W: Array, offset: Array, tau_offset: Array, *, free_df: bool) -> Working:
    """Orthonormal columns, residuals of a first fit as response, rows sorted by kind.

    Shapes: H, W (n, p), offset, tau_offset (n,).
    """
    kind = kind_of(outcome.lower, outcome.upper)
    window = kind_of(outcome.entry, outcome.exit)
    key = kind * len(KINDS) + window
    order: IntArray | slice = np.argsort(key, kind="stable") if (np.diff(key) < 0).any() else slice(None)
    weight = outcome.weight[order]
    Q, inverse_R = _orthonormal(H[order])
    lower, upper = outcome.lower[order] - offset[order], outcome.upper[order] - offset[order]
    middle = np.where(np.isinf(lower), upper, np.where(np.isinf(upper), lower, 0.5 * lower + 0.5 * upper))
    middle[~np.isfinite(middle)] = 0.0
    shift = Q.T @ middle
    fitted = Q @ shift
    scale = _spread(middle - fitted, middle)
    check_size("the response", scale)
    constant = W.shape[1] <= 1 and _all_equal(W) and _all_equal(tau_offset)
    V, inverse_V = _scale_design(W[order], constant)
    exit, entry = outcome.exit[order], outcome.entry[order]
    arrays = (
        (lower - fitted) / scale,
        (upper - fitted) / scale,
        outcome.width[order] / scale,
        (entry - offset[order] - fitted) / scale,
        (exit - offset[order] - fitted) / scale,
        outcome.span[order] / scale,
        weight,
        Q,
        V,
        tau_offset[order] - np.log(scale),
    )
    chunks = _cut(key[order], arrays)
    lost = -float(weight[kind[order] == 0].sum()) * float(np.log(scale))
    positions = np.arange(len(key)) if isinstance(order, slice) else order
    return Working(chunks, positions, inverse_R, inverse_V, shift, scale, lost, constant, free_df)


def _all_equal(values: Array) -> bool:
    return bool((values == values.flat[0]).all()) if values.size else True


def _orthonormal(H: Array) -> tuple[Array, Array]:
    """Columns of nearly unit Gram matrix that span those of H, and the matrix that makes them."""
    norms = np.sqrt(np.einsum("ij,ij->j", H, H))
    if not H.shape[1]:
        return H, np.zeros((0, 0))
    scaled = np.ascontiguousarray(H) / np.where(norms > 0.0, norms, 1.0)
    try:
        R = cholesky(blas.dsyrk(1.0, scaled.T, lower=1)).T
        well = float(np.diag(R).min()) > _ILL
    except NumericalError:
        well = False
    if not well:
        R = np.asarray(np.linalg.qr(scaled, mode="r"))
        if np.abs(np.diag(R)).min() <= 4.0 * np.finfo(float).eps * len(R):
            raise DataError("A column of the design is determined by the others.")
    inverse = np.linalg.inv(R)
    return scaled @ inverse, inverse / norms[:, None]


def _scale_design(W: Array, constant: bool) -> tuple[Array, Array]:
    """Columns of mean square about 1 that span those of W, and the matrix that makes them."""
    if constant and W.shape[1]:
        return np.ones_like(W), np.array([[1.0 / W[0, 0]]])
    V, inverse = _orthonormal(W)
    root = np.sqrt(max(len(W), 1))
    return V * root, inverse * root


def _spread(residual: Array, middle: Array) -> float:
    """Root mean square of the residuals, or a unit where the first fit is perfect."""
    largest = float(np.abs(residual).max(initial=0.0))
    size = float(np.abs(middle).max(initial=0.0))
    if largest <= 1e-13 * size or largest == 0.0:
        return size or 1.0
    return largest * float(np.sqrt(np.mean((residual / largest) ** 2)))


def _cut(key: IntArray, arrays: tuple[Array, ...]) -> tuple[Chunk, ...]:
    """Chunks of one kind and window each."""
    chunks = []
    edges = np.concatenate([[0], np.flatnonzero(np.diff(key)) + 1, [len(key)]])
    for start, stop in pairwise(edges):
        kind, window = divmod(int(key[start]), len(KINDS))
        for rows in row_chunks(int(start), int(stop), _CHUNK):
            chunks.append(Chunk(KINDS[kind], KINDS[window], *(a[rows] for a in arrays)))
    return tuple(chunks)


def log_sigmas(working: Working, x: Array) -> tuple[float, float]:
    """Smallest and largest working log sigma at x."""
    g = x[working.p : working.p + working.q]
    if working.constant:
        tau = float(working.chunks[0].tau0[0] + g.sum())
        return tau, tau
    taus = [chunk.tau0 + chunk.V @ g for chunk in working.chunks]
    return min(float(t.min()) for t in taus), max(float(t.max()) for t in taus)


def reach(move: Array, working: Working) -> float:
    """Largest change of a log sigma or log df that a move in x makes."""
    g, rest = move[working.p : working.p + working.q], move[working.p + working.q :]
    df = float(np.abs(rest).max(initial=0.0))
    if working.constant:
        return max(df, abs(float(g.sum())))
    return max(df, *(float(np.abs(chunk.V @ g).max()) for chunk in working.chunks))
