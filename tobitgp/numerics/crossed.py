"""Factors of arrows whose corner holds groups too, those of groupings that cross the one that is eliminated.

The borders of the eliminated groups are sparse, and rows have few entries, so that variances are read from single
entries of the inverse: (RAN5), (RAN6) and (RAN7) of the theory pages.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import lapack

from tobitgp.errors import NumericalError
from tobitgp.numerics.arrow import Arrow, Factor, Loadings, Slope
from tobitgp.numerics.arrow import factorise as factorise_dense
from tobitgp.numerics.bordered import Factored
from tobitgp.numerics.linear_algebra import cholesky, solve_lower, solve_upper
from tobitgp.typing import Array, BoolArray, IntArray

AT_ONCE = 2**22  # products that are held at a time


@dataclass(frozen=True, kw_only=True)
class CrossedFactor(Factor):
    """A factorised arrow with sparse borders: ``T`` times these in compressed rows."""

    data: Array
    indices: IntArray
    indptr: IntArray
    U: None = field(init=False, default=None)

    @cached_property
    def border(self) -> Any:
        """``T`` times the borders, a sparse matrix (G m, p)."""
        from scipy.sparse import csr_matrix

        return csr_matrix((self.data, self.indices, self.indptr), (len(self.indptr) - 1, len(self.L)))

    @cached_property
    def solved(self) -> Any:
        """Blocks of the groups solved for their borders, W, a sparse matrix (G m, p)."""
        return (_block_diagonal(self.groups.transpose(0, 2, 1)) @ self.border).tocsr()

    @cached_property
    def inverse_corner(self) -> Array:
        """The corner of ``B^-1``, (p, p)."""
        lower = lapack.dlauum(self.inverse, lower=1)[0]
        both = lower + lower.T
        both[np.diag_indices(len(both))] *= 0.5
        return np.asarray(both)

    @cached_property
    def inverse_groups(self) -> Array:
        """The groups' blocks of ``B^-1``, (G, m, m)."""
        T, key, W = self.groups, *self._pattern
        own = T.transpose(0, 2, 1) @ T
        through = self._through(key)
        m, group = T.shape[1], key // len(self.L)
        for i in range(m):
            for j in range(m):
                own[:, i, j] += np.bincount(group, W[:, i] * through[:, j], len(T))
        return own

    @cached_property
    def _pattern(self) -> tuple[IntArray, Array]:
        """Where ``W`` has entries in rows of a group, ``group p + column`` ascending, (k,), and these, (k, m)."""
        W, p, m = self.solved, len(self.L), self.groups.shape[1]
        row = np.repeat(np.arange(W.shape[0]), np.diff(W.indptr))
        key, at = np.unique(row // m * p + W.indices, return_inverse=True)
        value = np.zeros((len(key), m))
        value[at, row % m] = W.data
        return key, value

    def _through(self, asked: IntArray) -> Array:
        """Entries ``group p + column``, (q,), of ``W`` times the corner of ``B^-1``, (q, m)."""
        key, W = self._pattern
        p, S = len(self.L), self.inverse_corner
        start = np.searchsorted(key, np.arange(len(self.groups) + 1) * p)
        group, column = asked // p, asked % p
        count = np.diff(start)[group]
        ends, out = np.cumsum(count), np.zeros((len(asked), W.shape[1]))
        first = 0
        while first < len(asked):
            done = ends[first] - count[first]
            last = max(first + 1, int(np.searchsorted(ends, done + AT_ONCE)))
            part = slice(first, last)
            query = np.repeat(np.arange(last - first), count[part])
            at = start[group[part]][query] + np.arange(len(query)) - (ends[part] - count[part] - done)[query]
            values = S[key[at] % p, column[part][query]]
            for i in range(W.shape[1]):
                out[part, i] = np.bincount(query, values * W[at, i], last - first)
            first = last
        return out

    @property
    def groups(self) -> Array:
        """``T``, (G, m, m)."""
        assert self.T is not None
        return self.T

    def lost_to_rounding(self, rows: float = 0.0) -> bool:
        """As of any factor."""
        squares = np.asarray(self.border.power(2).sum(axis=0)).ravel()
        return self._lost(np.square(self.L).sum(axis=1) + squares, rows)

    def whiten(self, r: Array) -> Array:
        """``L^-1 r`` for ``r`` (M,) or (M, k)."""
        p = len(self.L)
        own = np.einsum("gij,gj...->gi...", self.groups, self._grouped(r[p:])).reshape(r[p:].shape)
        corner = r[:p] - self.border.T @ own
        return np.concatenate([solve_lower(self.L, _matrix(corner)).reshape(corner.shape), own])

    def colour(self, z: Array) -> Array:
        """``L^-T z`` for ``z`` (M,) or (M, k)."""
        p = len(self.L)
        corner = solve_upper(self.L, _matrix(z[:p])).reshape(z[:p].shape)
        own = self._grouped(z[p:] - self.border @ corner)
        return np.concatenate([corner, np.einsum("gij,gi...->gj...", self.groups, own).reshape(z[p:].shape)])

    def whiten_rows(self, A: Loadings) -> Slope:
        """``A L^-T`` of rows, the corner in full."""
        assert A.own is not None
        m, expanded = A.own.A.shape[1], A.own.expanded()
        own = expanded @ self.groups.transpose(0, 2, 1).reshape(-1, m)
        corner = A.corner - (expanded @ self.solved).toarray()
        return Slope(corner @ self.inverse.T, own)

    def begin(self, A: Loadings) -> tuple[Array, Slope]:
        """``diag(A B^-1 A')``, (n,), and ``A B^-1``."""
        assert A.own is not None
        assert A.spread is not None
        smooth = self.smooth(A)
        here = A.common, A.own.A, A.spread.A
        pairs = ((a, s) for a, s in zip(here, smooth, strict=True) if s is not None)
        return np.sum([np.einsum("nk,nk->n", a, s) for a, s in pairs], axis=0), smooth

    def smooth(self, A: Loadings, whitened: Slope | None = None) -> Slope:
        """``A B^-1`` where A has entries."""
        if whitened is not None:
            return whitened
        assert A.own is not None
        assert A.spread is not None
        S, first, own, code = self.inverse_corner, A.common.shape[1], A.own.A, A.own.code
        R, at = A.spread.A, first + A.spread.at
        by_common, by_spread = self._inverse_borders(A, at)
        common = A.common @ S[:first, :first] + np.einsum("nr,nrp->np", R, S[at, :first])
        common += np.einsum("ni,nip->np", own, by_common)
        spread = np.einsum("np,nrp->nr", A.common, S[at, :first]) + np.einsum("ni,nir->nr", own, by_spread)
        spread += np.einsum("nr,nrk->nk", R, S[at[:, :, None], at[:, None, :]])
        smooth = np.einsum("ni,nij->nj", own, self.inverse_groups[code]) + np.einsum("np,nip->ni", A.common, by_common)
        return Slope(common, smooth + np.einsum("nr,nir->ni", R, by_spread), spread)

    def _inverse_borders(self, A: Loadings, at: IntArray) -> tuple[Array, Array]:
        """Borders in ``B^-1`` of each row's group: in dense columns (n, m, first), in the row's others (n, m, r)."""
        assert A.own is not None
        m, first, code = self.groups.shape[1], A.common.shape[1], A.own.code
        common = np.asarray(self.solved @ self.inverse_corner[:, :first]).reshape(len(self.groups), m, first)
        asked, place = np.unique(code[:, None] * len(self.L) + at, return_inverse=True)
        spread = self._through(asked)[place.reshape(at.shape)]
        return -common[code], -spread.transpose(0, 2, 1)

    def covariance_of_sums(self, R: Any, own: BoolArray) -> Factored:
        """``R' B^-1 R`` of a sparse R (M, k), of whose columns ``own`` (k,) some have noise that no other has."""
        return self._covariance_of_sums(R, own, self.border)


def _block_diagonal(T: Array) -> Any:
    from scipy.sparse import bsr_matrix

    G, m, _ = T.shape
    return bsr_matrix((T, np.arange(G), np.arange(G + 1)), (G * m, G * m))


def _matrix(r: Array) -> Array:
    return np.asfortranarray(r if r.ndim == 2 else r[:, None])


def factorise(B: Arrow) -> Factor:
    """Factorise a positive-definite arrow, with sparse borders by (RAN5)."""
    if len(B) < 3:
        return factorise_dense(B)
    corner, own, border = B
    try:
        L_own = np.linalg.cholesky(own)
    except np.linalg.LinAlgError:
        G, m, _ = own.shape
        raise NumericalError(f"A matrix of {m} features in each of {G} groups is not positive definite.") from None
    T = np.tril(np.linalg.inv(L_own))
    U = (_block_diagonal(T) @ border).tocsr()
    return CrossedFactor(
        cholesky(corner - (U.T @ U).toarray()),
        T,
        data=U.data,
        indices=U.indices.astype(np.intp),
        indptr=U.indptr.astype(np.intp),
    )
