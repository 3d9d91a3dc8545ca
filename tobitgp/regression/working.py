"""The standardised problem that is maximised; known coefficients become offsets.

With H = Q R, columns of Q orthonormal, and b0 the least-squares fit of the rows' mid-points and limits, the working
response is (y - offset - Q b0) / scale, its location Q b. Nothing that follows depends on the units of the response
or the columns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy.linalg import blas

from tobitgp.data.columns import check_size
from tobitgp.data.outcome import Outcome
from tobitgp.engines import Partitions, Store, row_chunks
from tobitgp.errors import DataError, NumericalError
from tobitgp.likelihoods.base import KINDS, Kind, kind_of
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
    n: int  # number of rows
    order: IntArray  # (n,), position of each working row among the rows given; of one partition only
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


@dataclass(frozen=True, slots=True)
class Sorted:
    """Rows of one partition, sorted by kind, with the offset taken away; their columns are made orthonormal."""

    key: IntArray  # (m,), kinds of row and window
    order: IntArray  # (m,), position of each row in the partition
    outcome: Outcome
    middle: Array  # (m,), the value, the finite end or the mid-point
    H: Array  # (m, p)
    W: Array  # (m, q)
    tau_offset: Array  # (m,)


def standardise(partitions: Partitions, *, free_df: bool, store: Store | None = None) -> Working:
    """Orthonormal columns, residuals of a first fit as response, rows of each partition sorted by kind.

    Each partition is the outcome and the designs of at least one row.
    """
    rows = partitions.map(_sort, store)
    n = sum(rows.collect(_size))
    norms, inverse_R = _orthonormal(rows, "H")
    constants = rows.collect(_scale_constants)
    _, columns, _ = constants[0]
    constant = constants[0][0] and all(item == constants[0] for item in constants)
    if constant:
        W_norms, inverse_V = np.ones(len(columns)), np.diag(1.0 / np.array(columns))
    else:
        W_norms, inverse_V = _orthonormal(rows, "W")
        inverse_V = inverse_V * np.sqrt(n)
    rows = rows.map(_rotate, (norms, inverse_R), None if constant else (W_norms, inverse_V), store)
    shift = np.sum(rows.collect(_projection), axis=0)
    scale = _spread(rows, shift, n)
    check_size("the response", scale)
    chunks = rows.collect(_cut, shift, scale, store)
    order = rows.collect(_order) if len(rows) == 1 else [np.empty(0, dtype=np.intp)]
    lost = -float(sum(rows.collect(_exact_weight))) * float(np.log(scale))
    return Working(
        tuple(chunk for few in chunks for chunk in few),
        n,
        order[0],
        inverse_R / norms[:, None],
        inverse_V / W_norms[:, None],
        shift,
        scale,
        lost,
        constant,
        free_df,
    )


def _sort(rows: tuple[Outcome, Designs], store: Store | None) -> Sorted:
    outcome, design = rows
    key = kind_of(outcome.lower, outcome.upper) * len(KINDS) + kind_of(outcome.entry, outcome.exit)
    order: IntArray | slice = np.argsort(key, kind="stable") if (np.diff(key) < 0).any() else slice(None)
    offset = design.offset[order]
    at = outcome if isinstance(order, slice) else outcome.rows(order)
    lower, upper = at.lower - offset, at.upper - offset
    middle = np.where(np.isinf(lower), upper, np.where(np.isinf(upper), lower, 0.5 * lower + 0.5 * upper))
    middle[~np.isfinite(middle)] = 0.0
    moved = replace(at, lower=lower, upper=upper, entry=at.entry - offset, exit=at.exit - offset)
    positions = np.arange(len(key)) if isinstance(order, slice) else order
    made = Sorted(key[order], positions, moved, middle, design.H[order], design.W[order], design.tau_offset[order])
    return made if store is None else store.keep("sorted", made)


def _size(rows: Sorted) -> int:
    return len(rows.key)


def _order(rows: Sorted) -> IntArray:
    return rows.order


def _exact_weight(rows: Sorted) -> float:
    return float(rows.outcome.weight[rows.key < len(KINDS)].sum())


def _projection(rows: Sorted) -> Array:
    return np.asarray(rows.H.T @ rows.middle)


def _scale_constants(rows: Sorted) -> tuple[bool, tuple[float, ...], float]:
    """Whether columns and offset of log sigma are one number for all rows, and their first."""
    same = rows.W.shape[1] <= 1 and _all_equal(rows.W) and _all_equal(rows.tau_offset)
    return same, tuple(rows.W[0].tolist()), float(rows.tau_offset[0])


def _all_equal(values: Array) -> bool:
    return bool((values == values.flat[0]).all()) if values.size else True


def _squares(rows: Sorted, which: str) -> Array:
    columns = getattr(rows, which)
    return np.asarray(np.einsum("ij,ij->j", columns, columns))


def _gram(rows: Sorted, which: str, norms: Array) -> Array:
    return np.asarray(blas.dsyrk(1.0, (np.ascontiguousarray(getattr(rows, which)) / norms).T, lower=1))


def _triangle(rows: Sorted, which: str, norms: Array) -> Array:
    return np.asarray(np.linalg.qr(np.ascontiguousarray(getattr(rows, which)) / norms, mode="r"))


def _orthonormal(rows: Partitions, which: str) -> tuple[Array, Array]:
    """Norms of columns, and the matrix that gives the columns over their norms nearly unit Gram matrix."""
    norms = np.sqrt(np.sum(rows.collect(_squares, which), axis=0))
    if not len(norms):
        return norms, np.zeros((0, 0))
    norms = np.where(norms > 0.0, norms, 1.0)
    try:
        R = cholesky(np.sum(rows.collect(_gram, which, norms), axis=0)).T
        well = float(np.diag(R).min()) > _ILL
    except NumericalError:
        well = False
    if not well:
        triangles = rows.collect(_triangle, which, norms)
        R = triangles[0] if len(triangles) == 1 else np.asarray(np.linalg.qr(np.vstack(triangles), mode="r"))
        if np.abs(np.diag(R)).min() <= 4.0 * np.finfo(float).eps * len(R):
            raise DataError("A column of the design is determined by the others.")
    return norms, np.asarray(np.linalg.inv(R), dtype=np.float64)


def _rotate(
    rows: Sorted, location: tuple[Array, Array], scale: tuple[Array, Array] | None, store: Store | None
) -> Sorted:
    """Orthonormal columns in place of those given; those of log sigma of mean square 1, or ones."""
    Q = np.ascontiguousarray(rows.H) / location[0] @ location[1]
    V = np.ones_like(rows.W) if scale is None else np.ascontiguousarray(rows.W) / scale[0] @ scale[1]
    made = replace(rows, H=Q, W=V)
    return made if store is None else store.keep("rotated", made)


def _largest(rows: Sorted, shift: Array) -> tuple[float, float]:
    return (
        float(np.abs(rows.middle - rows.H @ shift).max(initial=0.0)),
        float(np.abs(rows.middle).max(initial=0.0)),
    )


def _sum_of_squares(rows: Sorted, shift: Array, unit: float) -> float:
    return float((((rows.middle - rows.H @ shift) / unit) ** 2).sum())


def _spread(rows: Partitions, shift: Array, n: int) -> float:
    """Root mean square of the residuals, or a unit where the first fit is perfect."""
    largest, size = np.max(rows.collect(_largest, shift), axis=0)
    if largest <= 1e-13 * size or largest == 0.0:
        return float(size) or 1.0
    return float(largest) * float(np.sqrt(sum(rows.collect(_sum_of_squares, shift, float(largest))) / n))


def _cut(rows: Sorted, shift: Array, scale: float, store: Store | None) -> tuple[Chunk, ...]:
    """Chunks of one kind and window each."""
    known, fitted, key = rows.outcome, rows.H @ shift, rows.key
    arrays = (
        *((end - fitted) / scale for end in (known.lower, known.upper)),
        known.width / scale,
        *((end - fitted) / scale for end in (known.entry, known.exit)),
        known.span / scale,
        known.weight,
        rows.H,
        rows.W,
        rows.tau_offset - np.log(scale),
    )
    chunks = []
    edges = np.concatenate([[0], np.flatnonzero(np.diff(key)) + 1, [len(key)]])
    for start, stop in pairwise(edges):
        kind, window = divmod(int(key[start]), len(KINDS))
        for at in row_chunks(int(start), int(stop), _CHUNK):
            chunks.append(Chunk(KINDS[kind], KINDS[window], *(a[at] for a in arrays)))
    return tuple(chunks) if store is None else store.keep("chunks", tuple(chunks))


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
