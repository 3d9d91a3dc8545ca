"""Sparse symmetric positive-definite matrices of points in space: Cholesky factor, solutions, selected inverse.

The multifrontal method: rows are ordered by nested dissection [1]_, and the factor is a tree of small dense matrices.
The front of a group of rows, its pivots, has these and a border: the later rows with nonzeros in their columns. All
arithmetic is LAPACK's on one front at a time, (VEC3) and (VEC4) of the theory pages. Entries of the inverse that are in
the pattern of the matrix cost no more than the factor does [2]_.

References
----------
.. [1] George (1973), Nested dissection of a regular finite element mesh, *SIAM Journal on Numerical Analysis* 10,
   345-363.
.. [2] Erisman and Tinney (1975), On computing certain elements of the inverse of a sparse matrix, *Communications of
   the ACM* 18, 177-179.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import blas, lapack

from tobitgp.errors import NumericalError
from tobitgp.typing import Array, BoolArray, IntArray

FEW = 50  # rows that are not divided further


@dataclass(frozen=True, slots=True)
class Front:
    """Pivots ``start`` to ``stop`` in the order of elimination, and their border."""

    start: int
    stop: int
    border: IntArray  # (u,), later rows, increasing
    children: list[int]  # fronts whose border leads here
    into: list[IntArray]  # where each child's border is among pivots and border
    entries: slice  # of the pattern, in the order of fronts
    at: IntArray  # where these are in the lower triangle, read column by column


@dataclass(frozen=True, slots=True)
class Fronts:
    """The pattern of the factor of a sparse symmetric matrix; children come before parents."""

    order: IntArray  # (n,), rows as they are eliminated
    by_front: IntArray  # (P,), the pattern's entries in the order of fronts
    fronts: list[Front]

    def factorise(self, values: Array) -> FrontalFactor:
        """Factorise the matrix with ``values`` (P,) in the pattern, (VEC3)."""
        values = values[self.by_front]
        factors: list[tuple[Array, Array]] = []
        updates: dict[int, Array] = {}
        log_det = 0.0
        for f, front in enumerate(self.fronts):
            p = front.stop - front.start
            upper = np.zeros((p + len(front.border),) * 2)  # transposed, so that BLAS finds Fortran order
            upper.ravel()[front.at] = values[front.entries]
            for child, into in zip(front.children, front.into, strict=True):
                np.add.at(upper.ravel(), np.add.outer(into * len(upper), into).ravel(), updates.pop(child).ravel())
            F = upper.T
            L, info = lapack.dpotrf(F[:p, :p], lower=1, clean=1)
            if info != 0 or not np.isfinite(L[-1, -1]):
                raise NumericalError("A sparse matrix is not positive definite.")
            log_det += 2.0 * float(np.log(L.diagonal()).sum())
            below = F[p:, :p]
            if len(below):
                below = blas.dtrsm(1.0, L, below, side=1, lower=1, trans_a=1)
                updates[f] = blas.dsyrk(-1.0, below, 1.0, F[p:, p:], lower=1).T
            factors.append((L, below))
        return FrontalFactor(self, factors, log_det)


@dataclass(frozen=True)
class FrontalFactor:
    """A factorised sparse matrix ``Q = L L'``."""

    structure: Fronts
    factors: list[tuple[Array, Array]]  # of each front, the factor of its pivots (p, p) and what is below it (u, p)
    log_det: float  # ``log |Q|``

    def solve(self, B: Array) -> Array:
        """``Q^-1 B`` for ``B`` (n, k)."""
        # A C-ordered block of rows is to BLAS its transpose in Fortran order, and is solved in place.
        X = np.ascontiguousarray(B[self.structure.order])
        steps = list(zip(self.structure.fronts, self.factors, strict=True))
        for front, (L, below) in steps:
            own = X[front.start : front.stop]
            own[:] = blas.dtrsm(1.0, L, own.T, side=1, lower=1, trans_a=1).T
            X[front.border] -= below @ own
        for front, (L, below) in reversed(steps):
            own = X[front.start : front.stop]
            own -= below.T @ X[front.border]
            own[:] = blas.dtrsm(1.0, L, own.T, side=1, lower=1).T
        out = np.empty_like(X)
        out[self.structure.order] = X
        return out

    def quadratic_forms(self, rows: IntArray, values: Array) -> Array:
        """``b' Q^-1 b`` for n vectors ``b`` with ``values`` (n, k) in some ``rows`` (n, k) and zeros elsewhere, (n,).

        A vector is led through those fronts only that lie above its rows.
        """
        n, k = rows.shape
        place = np.empty(len(self.structure.order), dtype=np.intp)
        place[self.structure.order] = np.arange(len(place))
        at = place[rows].ravel()
        by_place = np.argsort(at, kind="stable")
        at, column, value = at[by_place], by_place // k, values.ravel()[by_place]
        out = np.zeros(n)
        left: dict[
            int, tuple[IntArray, Array]
        ] = {}  # of each front, the vectors led to its border, and their part there
        for f, (front, (L, below)) in enumerate(zip(self.structure.fronts, self.factors, strict=True)):
            own = slice(*np.searchsorted(at, [front.start, front.stop]))
            from_children = [
                (*left.pop(child), into)
                for child, into in zip(front.children, front.into, strict=True)
                if child in left
            ]
            here = np.unique(np.concatenate([column[own], *(led for led, _, _ in from_children)]))
            if not len(here):
                continue
            B = np.zeros((len(here), len(L) + len(below)))
            np.add.at(B, (np.searchsorted(here, column[own]), at[own] - front.start), value[own])
            for led, part, into in from_children:
                B[np.ix_(np.searchsorted(here, led), into)] += part
            Y = blas.dtrsm(1.0, L, B[:, : len(L)], side=1, lower=1, trans_a=1)
            out[here] += np.einsum("nk,nk->n", Y, Y)
            if len(below):
                left[f] = here, B[:, len(L) :] - Y @ below.T
        return out

    @cached_property
    def inverse(self) -> Array:
        """Entries of ``Q^-1`` in the pattern, (P,), (VEC4)."""
        ordered = np.empty(len(self.structure.by_front))
        above: dict[int, Array] = {}  # each front's part of the inverse on its border
        for f, (front, (L, below)) in reversed(list(enumerate(zip(self.structure.fronts, self.factors, strict=True)))):
            p, u = len(L), len(below)
            upper = np.empty((p + u, p + u))
            S = upper.T
            own, _ = lapack.dpotri(L, lower=1)
            if u:
                corner = above.pop(f)
                Y = blas.dtrsm(1.0, L, below, side=1, lower=1)
                cross = blas.dsymm(-1.0, corner.T, Y, lower=1)
                own -= Y.T @ cross
                S[p:, :p], S[p:, p:] = cross, corner.T
            S[:p, :p] = own
            ordered[front.entries] = upper.ravel()[front.at]
            for child, into in zip(front.children, front.into, strict=True):
                above[child] = upper[into].take(into, axis=1)
        out = np.empty_like(ordered)
        out[self.structure.by_front] = ordered
        return out


def fronts_of(points: Array, rows: IntArray, columns: IntArray) -> Fronts:
    """Fronts of a matrix with entries ``(rows, columns)`` (P,), each pair once and every diagonal one among them.

    Its rows are the n ``points`` (n, d), and entries that are not zero are of points near each other.
    """
    found = _dissected(points, np.stack([rows, columns])[:, rows != columns])
    order = np.concatenate([pivots for pivots, _ in found])
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    ends = np.cumsum([len(pivots) for pivots, _ in found])
    first, later = np.minimum(place[rows], place[columns]), np.maximum(place[rows], place[columns])
    owner = np.searchsorted(ends, first, side="right")
    by_front = np.argsort(owner, kind="stable")
    bounds = np.searchsorted(owner[by_front], np.arange(len(found) + 1))
    first, later = first[by_front], later[by_front]
    fronts: list[Front] = []
    for f, (pivots, children) in enumerate(found):
        children = [child for child in children if len(fronts[child].border)]
        stop, entries = int(ends[f]), slice(int(bounds[f]), int(bounds[f + 1]))
        reached = np.concatenate([later[entries], *(fronts[child].border for child in children)])
        members = np.concatenate([np.arange(stop - len(pivots), stop), np.unique(reached[reached >= stop])])
        at = np.searchsorted(members, first[entries]) * len(members) + np.searchsorted(members, later[entries])
        into = [np.searchsorted(members, fronts[child].border) for child in children]
        fronts.append(Front(stop - len(pivots), stop, members[len(pivots) :], children, into, entries, at))
    return Fronts(order, by_front, fronts)


def _dissected(points: Array, edges: IntArray) -> list[tuple[IntArray, list[int]]]:
    """Pivots of every front and its children, children first; ``edges`` (2, E) of the graph."""
    found: list[tuple[IntArray, list[int]]] = []
    part = np.zeros(len(points), dtype=np.int8)

    def divide(rows: IntArray, edges: IntArray) -> list[int]:
        children: list[int] = []
        pivots = rows
        if len(rows) > FEW:
            part[rows], pivots = _separator(points, rows, edges)
            part[pivots] = 2
            sides, (here, there) = part[rows], part[edges]
            for side in (0, 1):
                children += divide(rows[sides == side], edges[:, (here == side) & (there == side)])
        if not len(pivots):
            return children
        found.append((pivots, children))
        return [len(found) - 1]

    divide(np.arange(len(points)), edges)
    return found


def _separator(points: Array, rows: IntArray, edges: IntArray) -> tuple[BoolArray, IntArray]:
    """Which rows are below the median of a coordinate, and the rows without which they touch no other."""
    tried = []
    for x in points.T:
        own = x[rows]
        median = np.partition(own, len(own) // 2)[len(own) // 2]
        if median == own.min():
            median = np.nextafter(median, np.inf)
        below, (here, there) = own < median, x[edges] < median
        smaller = min(np.count_nonzero(below), np.count_nonzero(~below))
        if smaller:
            cut = edges[:, here != there]
            cover = _vertex_cover(np.where(here[here != there], cut, cut[::-1]))
            tried.append((len(cover) / smaller, below, cover))
    return min(tried, key=lambda one: one[0])[1:]


def _vertex_cover(edges: IntArray) -> IntArray:
    """Smallest set of rows that meets every edge (2, E) between two sides, by König's theorem."""
    if not edges.size:
        return edges[0]
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import breadth_first_order, maximum_bipartite_matching

    (left, tail), (right, head) = (np.unique(side, return_inverse=True) for side in edges)
    n, m = len(left), len(right)
    graph = csr_matrix((np.ones(len(tail), dtype=np.int8), (tail, head)), (n, m))
    match = maximum_bipartite_matching(graph, perm_type="column")
    free, matched = np.flatnonzero(match < 0), np.flatnonzero(match >= 0)
    # Reached from free rows on the left, over any edge to the right and over matched ones back.
    tails = np.concatenate([tail, n + match[matched], np.full(len(free), n + m)])
    heads = np.concatenate([n + head, matched, free])
    walks = csr_matrix((np.ones(len(tails), dtype=np.int8), (tails, heads)), (n + m + 1,) * 2)
    reached = np.zeros(n + m + 1, dtype=bool)
    reached[breadth_first_order(walks, n + m, return_predecessors=False)] = True
    return np.concatenate([left[~reached[:n]], right[reached[n : n + m]]])
