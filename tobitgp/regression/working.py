"""The standardised problem that is maximised; known coefficients become offsets.

With H = Q R, columns of Q orthonormal, and b0 the least-squares fit of the rows' mid-points and limits, the working
response is (y - offset - Q b0) / scale, its location Q b. Nothing that follows depends on the units of the response
or the columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from tobitgp.data.absorbed import Absorbed, Columns, choose_columns
from tobitgp.data.arrays import take
from tobitgp.data.columns import check_size
from tobitgp.data.outcome import Outcome
from tobitgp.engines import LocalPartitions, row_chunks
from tobitgp.errors import DataError, NumericalError
from tobitgp.likelihoods.row_terms import KINDS, SeenKind, kind_of
from tobitgp.numerics.linear_algebra import cholesky, triangle
from tobitgp.numerics.normal_functions import known_range, middles
from tobitgp.typing import Array, BoolArray, IntArray


@dataclass(frozen=True, slots=True)
class Designs:
    """Designs split into what is estimated and what is known."""

    H: Columns  # (n, p), columns of the location whose coefficients are estimated
    W: Array  # (n, q), those of log sigma
    offset: Array  # (n,), the rest of the location, known coefficients included
    tau_offset: Array  # (n,), the rest of log sigma
    coefficients: Array  # of all columns of the location; NaN where they are estimated
    gamma: Array  # of all columns of log sigma
    free_H: BoolArray  # where they are estimated
    free_W: BoolArray

    def without_rows(self) -> Designs:
        """Which coefficients are estimated, and the values of the others."""
        return replace(self, H=self.H[:0], W=self.W[:0], offset=self.offset[:0], tau_offset=self.tau_offset[:0])


def split(
    H: Columns, W: Array, offset: Array, tau_offset: Array, coefficients: Array | None, gamma: Array | None
) -> Designs:
    """Move known coefficients, those that are not NaN, into the offsets."""
    beta = np.full(H.shape[1], np.nan) if coefficients is None else np.array(coefficients, dtype=np.float64)
    known = np.full(W.shape[1], np.nan) if gamma is None else np.array(gamma, dtype=np.float64)
    free_H, free_W = np.isnan(beta), np.isnan(known)
    if not free_H.all():
        offset = offset + choose_columns(H, ~free_H) @ beta[~free_H]
        H = choose_columns(H, free_H)
    if not free_W.all():
        tau_offset = tau_offset + W[:, ~free_W] @ known[~free_W]
        W = W[:, free_W]
    return Designs(H, W, offset, tau_offset, beta, known, free_H, free_W)


_CHUNK = 8192
_ILL = 1e-6


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some rows of one kind seen through one kind of window, on the working scale."""

    kind: SeenKind  # what is known about the row
    window: SeenKind  # what is known about its window; "open" without truncation
    seen: Outcome
    Q: Columns  # (m, p)
    V: Array  # (m, q)
    tau0: Array  # (m,), known part of log sigma


@dataclass(frozen=True, slots=True)
class Rotation:
    """What makes columns orthonormal, an absorbed factor first: ``Q = H R^-1``."""

    inverse: Array  # (c, c), of the other columns after regression on the factor's
    size: Array  # (G,), lengths of the factor's columns
    border: Array  # (G, c), products of these at length 1 with the other columns
    start: int  # position of the factor's first column

    def __len__(self) -> int:
        return len(self.inverse) + len(self.size)

    def __matmul__(self, b: Array) -> Array:
        """``R^-1 b``, (p, ...): coefficients of the columns as they are."""
        own = slice(self.start, self.start + len(self.size))
        common = self.inverse @ (np.delete(b, own, axis=0) if len(self.size) else b)
        if not len(self.size):
            return common
        rest = ((b[own] - self.border @ common).T / self.size).T
        return np.concatenate([common[: self.start], rest, common[self.start :]])

    def rotate(self, H: Columns) -> Columns:
        """``H R^-1``, its other columns each in one piece."""
        if isinstance(H, Absorbed):
            return replace(H, common=(self.inverse.T @ self.unexplained(H).T).T, value=H.value / self.size[H.code])
        return (self.inverse.T @ H.T).T

    def unexplained(self, H: Any) -> Array:
        """Residuals of the other columns (n, c) after regression on the factor's."""
        return H.common - (H.value / self.size[H.code])[:, None] * self.border[H.code]


@dataclass(frozen=True, slots=True)
class Working:
    """The problem in coordinates x = (b, g[, shape])."""

    chunks: tuple[Chunk, ...]
    n: int  # number of rows
    order: IntArray  # (n,), position of each working row among the rows given; of one partition only
    inverse_R: Rotation  # (p, p), ``Q = H inverse_R``
    inverse_V: Array  # (q, q), ``V = W inverse_V``
    shift: Array  # (p,), b0, in the user's units of y
    scale: float
    log_scale_sum: float  # what the working log likelihood lacks: ``-log(scale)`` times the weight of the exact rows
    constant: bool  # log sigma is one number for all rows
    shape_range: tuple[float, float] | None = None  # of the coordinate of the shape where that is estimated

    @property
    def p(self) -> int:
        """Number of location coefficients."""
        return len(self.inverse_R)

    @property
    def q(self) -> int:
        """Number of scale coefficients."""
        return len(self.inverse_V)

    @property
    def free_shape(self) -> bool:
        """Whether the shape of the distribution is estimated."""
        return self.shape_range is not None


@dataclass(frozen=True, slots=True)
class Sorted:
    """Rows of one partition, sorted by kind, with the offset taken away; their columns are made orthonormal."""

    key: IntArray  # (m,), kinds of row and window
    order: IntArray  # (m,), position of each row in the partition
    outcome: Outcome
    H: Columns  # (m, p)
    W: Array  # (m, q)
    tau_offset: Array  # (m,)
    middle: Array | None = None  # (m,), the value, the telling end or the mid-point; 0 without any


Keep = Callable[[str, Any], Any]  # holds what is computed at a stage, in memory or elsewhere


def hold(stage: str, value: Any) -> Any:
    """Keep in memory."""
    return value


def standardise(partitions: LocalPartitions, *, shape_range: tuple[float, float] | None, keep: Keep = hold) -> Working:
    """Orthonormal columns, residuals of a first fit as response, rows of each partition sorted by kind.

    Each partition is the outcome and the designs of at least one row.
    """
    rows = partitions.map(lambda part: keep("sorted", _sort(*part)))
    n = sum(rows.collect(lambda part: len(part.key)))
    constants = rows.collect(_scale_constants)
    constant = constants[0] is not None and all(one == constants[0] for one in constants)
    to_Q = _rotation(rows)
    bottoms, tops = zip(*rows.collect(lambda part: known_range(part.outcome.lower, part.outcome.upper)), strict=True)
    known = min(bottoms), max(tops)
    to_V = (
        np.diag(1.0 / np.array(constants[0][0])) if constant else _orthonormal(rows, lambda part: part.W) * np.sqrt(n)
    )

    def rotate(part: Sorted) -> Sorted:
        """Orthonormal columns instead of the given ones; those of log sigma have mean square 1, or are 1."""
        V = np.ones_like(part.W) if constant else (to_V.T @ part.W.T).T
        middle = np.nan_to_num(middles(part.outcome.lower, part.outcome.upper, known))
        return keep("rotated", replace(part, H=to_Q.rotate(part.H), W=V, middle=middle))

    rows = rows.map(rotate)
    shift = np.sum(rows.collect(lambda part: part.middle @ part.H), axis=0)
    scale = _root_mean_square(rows, shift, n)
    check_size("the response", scale)
    chunks = rows.collect(lambda part: keep("chunks", _cut(part, shift, scale)))
    order = rows.items[0].order if len(rows) == 1 else np.empty(0, dtype=np.intp)
    exact = sum(rows.collect(lambda part: float(part.outcome.weight[part.key < len(KINDS)].sum())))
    lost = -exact * float(np.log(scale))
    together = tuple(chunk for few in chunks for chunk in few)
    return Working(together, n, order, to_Q, to_V, shift, scale, lost, constant, shape_range)


def _sort(outcome: Outcome, design: Designs) -> Sorted:
    key = kind_of(outcome.lower, outcome.upper) * len(KINDS) + kind_of(outcome.entry, outcome.exit)
    order = np.argsort(key, kind="stable")
    at, offset = outcome.rows(order), design.offset[order]
    for end in (at.lower, at.upper, at.entry, at.exit):
        end -= offset
    return Sorted(key[order], order, at, *take((design.H, design.W, design.tau_offset), order))


def _scale_constants(rows: Sorted) -> tuple[list[float], float] | None:
    """Columns and offset of log sigma, where they are one number for all rows."""
    same = rows.W.shape[1] <= 1 and (rows.W[:1] == rows.W).all() and (rows.tau_offset == rows.tau_offset[0]).all()
    return (rows.W[0].tolist(), float(rows.tau_offset[0])) if same else None


def _rotation(rows: LocalPartitions) -> Rotation:
    """What makes the columns of the location orthonormal."""
    if not isinstance(rows.items[0].H, Absorbed):
        return Rotation(_orthonormal(rows, lambda part: part.H), np.zeros(0), np.zeros((0, 0)), 0)
    squares, border = (
        np.sum(rows.collect(sums), axis=0)
        for sums in (lambda part: part.H.sums(part.H.value), lambda part: part.H.sums(part.H.common))
    )
    if not squares.all():
        raise DataError("A column of the design is 0 in every row.")
    size, G = np.sqrt(squares), len(squares)
    factor = Rotation(np.empty((0, 0)), size, border.reshape(G, -1) / size[:, None], rows.items[0].H.start)
    return replace(factor, inverse=_orthonormal(rows, lambda part: factor.unexplained(part.H)))


def _orthonormal(rows: LocalPartitions, columns: Callable[[Sorted], Any]) -> Array:
    """Matrix that gives columns nearly unit Gram matrix."""

    def each(of: Callable[[Array], Array]) -> list[Array]:
        return rows.collect(lambda part: of(np.ascontiguousarray(columns(part))))

    gram = np.sum(each(lambda A: A.T @ A), axis=0)
    if not len(gram):
        return np.zeros((0, 0))
    norms = np.sqrt(np.diag(gram))
    norms = np.where(norms > 0.0, norms, 1.0)
    try:
        R = cholesky(gram / norms / norms[:, None]).T
        well = float(np.diag(R).min()) > _ILL
    except NumericalError:
        well = False
    if not well:
        R = triangle(np.vstack(each(lambda A: triangle(A / norms))))
        if np.abs(np.diag(R)).min() <= 4.0 * np.finfo(float).eps * len(R):
            raise DataError("A column of the design is determined by the others.")
    return np.asarray(np.linalg.inv(R) / norms[:, None], dtype=np.float64)


def _root_mean_square(rows: LocalPartitions, shift: Array, n: int) -> float:
    """Root mean square of the residuals, or a unit where the first fit is perfect."""
    sizes = rows.collect(lambda part: (np.abs(part.middle - part.H @ shift).max(), np.abs(part.middle).max()))
    largest, size = (float(x) for x in np.max(sizes, axis=0))
    if largest <= 1e-13 * size or largest == 0.0:
        return size or 1.0
    squares = rows.collect(lambda part: (((part.middle - part.H @ shift) / largest) ** 2).sum())
    return largest * float(np.sqrt(sum(squares) / n))


def _cut(rows: Sorted, shift: Array, scale: float) -> tuple[Chunk, ...]:
    """Chunks of one kind and window each."""
    known, fitted, key = rows.outcome, rows.H @ shift, rows.key
    ends = {name: (getattr(known, name) - fitted) / scale for name in ("lower", "upper", "entry", "exit")}
    seen = replace(known, **ends, width=known.width / scale, span=known.span / scale)
    columns = (seen, rows.H, rows.W, rows.tau_offset - np.log(scale))
    chunks = []
    edges = np.concatenate([[0], np.flatnonzero(np.diff(key)) + 1, [len(key)]])
    for start, stop in pairwise(edges):
        kind, window = divmod(int(key[start]), len(KINDS))
        for at in row_chunks(int(start), int(stop), _CHUNK):
            chunks.append(Chunk(KINDS[kind], KINDS[window], *take(columns, at)))
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
    """Largest change of a log sigma or the shape that a move in x makes."""
    g, rest = move[working.p : working.p + working.q], move[working.p + working.q :]
    shape = float(np.abs(rest).max(initial=0.0))
    if working.constant:
        return max(shape, abs(float(g.sum())))
    return max(shape, *(float(np.abs(chunk.V @ g).max()) for chunk in working.chunks))
