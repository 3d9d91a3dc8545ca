"""Bayesian linear models in which some weights belong to one group of rows each.

A row's features are columns common to all rows and, if there are groups, columns that belong to the weights of the
row's own group. ``B = I + A' diag(lambda2) A`` is then an arrow: a dense corner, and for every group a small block with
a border. A Schur complement eliminates the groups, (FEA4) and (FEA5) of the theory pages, so a thousand of them cost
little more than ten. Groups of other groupings have their weights in the corner, where a row has few entries.
``w`` is flat: the ``p`` weights of the corner, dense columns first, then ``m`` for each of ``G`` groups.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from tobitgp.errors import NumericalError
from tobitgp.numerics.bordered import Factored
from tobitgp.numerics.copies import made_anew
from tobitgp.numerics.linear_algebra import (
    cholesky,
    gram,
    inverse_factor,
    log_det,
    solve_lower,
    solve_upper,
    triangular_product,
)
from tobitgp.typing import Array, BoolArray, IntArray

# The corner (p, p), of which the lower triangle is held, and where there are groups their blocks with borders
# (G, m, m + p); with spread columns blocks (G, m, m) and sparse borders (G m, p).
Arrow = tuple[Any, ...]


class Slope(NamedTuple):
    """What is held like A."""

    common: Array  # (n, p), of dense columns
    own: Array | None = None  # (n, m), where there are groups
    spread: Array | None = None  # (n, r), entries of spread columns


_LOST = 16.0 * np.finfo(float).eps  # of a diagonal; what rounding makes of a sum grows as the root of its terms


@dataclass(frozen=True, slots=True)
class OwnColumns:
    """Columns that belong to the weights of a row's group."""

    A: Array  # (n, m)
    code: IntArray  # (n,), group of each row, from 0
    size: int  # number of groups, G

    def expanded(self) -> Any:
        """All ``G m`` columns of these rows as a sparse matrix (n, G m)."""
        return by_group(self.A, self.code, self.size)

    def weights(self, W: Array) -> Array:
        """Each row's own weights (n, m) from those of all groups, flat (G m,)."""
        return W.reshape(self.size, -1).take(self.code, axis=0)


def by_group(X: Array, code: IntArray, size: int) -> Any:
    """Sparse matrix (n, G k) that holds row n of ``X`` (n, k) in the columns of the row's group."""
    from scipy.sparse import csr_matrix

    n, k = X.shape
    columns = (code[:, None] * k + np.arange(k)).ravel()
    return csr_matrix((np.ascontiguousarray(X).ravel(), columns, k * np.arange(n + 1)), (n, size * k))


@dataclass(frozen=True, slots=True)
class SpreadColumns:
    """Columns of the corner of which a row has few entries, those of its groups in groupings not eliminated."""

    A: Array  # (n, r), entries
    at: IntArray  # (n, r), their columns
    size: int  # number of columns, K

    def expanded(self) -> Any:
        """All columns as a sparse matrix (n, K)."""
        from scipy.sparse import csr_matrix

        n, r = self.A.shape
        return csr_matrix((self.A.ravel(), self.at.ravel(), r * np.arange(n + 1)), (n, self.size))


@dataclass(frozen=True, slots=True)
class Loadings:
    """The features ``A`` of some rows."""

    common: Array  # (n, p), but for spread columns
    own: OwnColumns | None = None
    spread: SpreadColumns | None = None

    def __len__(self) -> int:
        return len(self.common)

    @property
    def p(self) -> int:
        """Features in the corner."""
        return self.common.shape[1] + (0 if self.spread is None else self.spread.size)

    @property
    def corner(self) -> Array:
        """Columns (n, p) of the corner, all of them dense."""
        return self.common if self.spread is None else np.hstack([self.common, self.spread.expanded().toarray()])

    def times(self, w: Array) -> Array:
        """``A w``, (n,), or (n, k) for ``w`` (M, k)."""
        first, p = self.common.shape[1], self.p
        out = self.common @ w[:first]
        if self.spread is not None:
            out += self.spread.expanded() @ w[first:p]
        return out if self.own is None else out + self.own.expanded() @ w[p:]

    def columns(self, at: IntArray) -> Any:
        """Some of all columns, (n, k); a sparse matrix where groups' are among them."""
        if at.max(initial=0) < self.common.shape[1]:
            return self.common[:, at]
        from scipy.sparse import csc_matrix, hstack

        groups = [part.expanded() for part in (self.spread, self.own) if part is not None]
        return hstack([csc_matrix(self.common), *groups], "csc")[:, at].tocsr()

    def adjoint(self, v: Array) -> Array:
        """``A' v``, (M,), for ``v`` (n,)."""
        groups = [part.expanded().T @ v for part in (self.spread, self.own) if part is not None]
        return np.concatenate([self.common.T @ v, *groups]) if groups else self.common.T @ v

    def gram(self, scale: Array) -> Arrow:
        """``A' diag(scale) A`` for ``scale`` (n,)."""
        corner = gram(self.common, scale)
        if self.spread is not None:
            return self._sparse_gram(corner, scale)
        if self.own is None:
            return (corner,)
        own = self.own.A
        weighted = np.concatenate([own, self.common], axis=1)
        weighted *= scale[:, None]
        return corner, (self.own.expanded().T @ weighted).reshape(self.own.size, own.shape[1], -1)

    def _sparse_gram(self, dense: Array, scale: Array) -> Arrow:
        """With spread columns; ``dense`` is the part of the corner of the others."""
        from scipy.sparse import csr_matrix, hstack

        assert self.own is not None
        assert self.spread is not None
        spread, own, first = self.spread.expanded(), self.own.expanded(), len(dense)
        weighted = scale_rows(spread, scale)
        corner = np.zeros((self.p, self.p), order="F")
        corner[:first, :first] = dense
        corner[first:, :first] = weighted.T @ self.common
        corner[first:, first:] = (weighted.T @ spread).toarray()
        beside = (own.T @ (self.own.A * scale[:, None])).reshape(self.own.size, self.own.A.shape[1], -1)
        by_common = csr_matrix(own.T @ (self.common * scale[:, None]))
        return corner, beside, hstack([by_common, own.T @ weighted], "csr")

    def add_slope(self, G: Slope, weight: Array, w: Array) -> None:
        """Add ``weight w'`` to a derivative with respect to ``A``, in place."""
        common, own, spread = G
        first, p = common.shape[1], self.p
        common += np.multiply.outer(weight, w[:first])
        if self.own is not None and own is not None:
            own += weight[:, None] * self.own.weights(w[p:])
        if self.spread is not None and spread is not None:
            spread += weight[:, None] * w[first:p][self.spread.at]


def scale_rows(X: Any, scale: Array) -> Any:
    """A sparse matrix (n, k) with its rows multiplied by ``scale`` (n,)."""
    out = X.copy()
    out.data *= np.repeat(scale, np.diff(X.indptr))
    return out


def identity(p: int, m: int = 0, size: int = 0, *, sparse: bool = False) -> Arrow:
    """Identity of ``p`` common features and ``m`` for each of ``size`` groups."""
    corner = np.eye(p, order="F")
    if sparse:
        from scipy.sparse import csr_matrix

        return corner, np.repeat(np.eye(m)[None], size, axis=0), csr_matrix((size * m, p))
    return (corner, np.repeat(np.eye(m, m + p)[None], size, axis=0)) if size else (corner,)


def multiply(B: Arrow, w: Array) -> Array:
    """``B w``, (M,)."""
    p = len(B[0])
    corner = np.tril(B[0]) @ w[:p] + np.tril(B[0], -1).T @ w[:p]
    if len(B) == 1:
        return corner
    m = B[1].shape[1]
    W = w[p:].reshape(-1, m)
    if len(B) == 3:
        return np.concatenate([corner + B[2].T @ w[p:], np.einsum("gij,gj->gi", B[1], W).ravel() + B[2] @ w[:p]])
    border = B[1][:, :, m:]
    own = np.einsum("gij,gj->gi", B[1][:, :, :m], W) + border @ w[:p]
    return np.concatenate([corner + np.einsum("gij,gi->j", border, W), own.ravel()])


@dataclass(frozen=True, slots=True)
class Factor:
    """A factorised arrow: ``B = L L'``, the groups eliminated before the corner."""

    L: Array  # (p, p), lower Cholesky factor of the Schur complement, or of ``B`` itself where there are no groups
    T: Array | None = None  # (G, m, m), inverses of the groups' Cholesky factors
    U: Array | None = None  # (G, m, p), ``T`` times the groups' borders
    inverse: Array = field(init=False, repr=False, compare=False)  # (p, p), ``L^-1``
    __reduce__ = made_anew

    def __post_init__(self) -> None:
        object.__setattr__(self, "inverse", inverse_factor(self.L))

    @property
    def size(self) -> int:
        """Number of features, M."""
        return len(self.L) + (0 if self.T is None else self.T.shape[0] * self.T.shape[1])

    def lost_to_rounding(self, rows: float = 0.0) -> bool:
        """Whether a pivot is no more than the rounding error of its diagonal: 1 relative to 1e16 might be 100."""
        diagonal = np.square(self.L).sum(axis=1)
        return self._lost(diagonal if self.U is None else diagonal + np.square(self.U).sum(axis=(0, 1)), rows)

    def _lost(self, diagonal: Array, rows: float) -> bool:
        """The same from the diagonal of the corner, (p,)."""
        lost = _LOST * np.sqrt(self.size + rows)
        if self.T is not None:
            own = np.square(np.linalg.inv(self.T))
            if (np.einsum("gii->gi", own) <= lost * own.sum(axis=2)).any():
                return True
        return bool((np.square(self.L.diagonal()) <= lost * diagonal).any())

    def whiten(self, r: Array) -> Array:
        """``L^-1 r`` for ``r`` (M,) or (M, k)."""
        p = len(self.L)
        if self.T is None or self.U is None:
            return solve_lower(self.L, _columns(r)).reshape(r.shape)
        own = np.einsum("gij,gj...->gi...", self.T, self._grouped(r[p:]))
        corner = solve_lower(self.L, _columns(r[:p] - np.einsum("gij,gi...->j...", self.U, own)))
        return np.concatenate([corner.reshape(r[:p].shape), own.reshape(r[p:].shape)])

    def colour(self, z: Array) -> Array:
        """``L^-T z`` for ``z`` (M,) or (M, k): draws of ``N(0, B^-1)`` from standard normal ones."""
        p = len(self.L)
        corner = solve_upper(self.L, _columns(z[:p])).reshape(z[:p].shape)
        if self.T is None or self.U is None:
            return corner
        own = self._grouped(z[p:]) - np.einsum("gij,j...->gi...", self.U, corner)
        return np.concatenate([corner, np.einsum("gij,gi...->gj...", self.T, own).reshape(z[p:].shape)])

    def solve(self, r: Array) -> Array:
        """``B^-1 r``, (M,)."""
        return self.colour(self.whiten(r))

    def _grouped(self, r: Array) -> Array:
        assert self.T is not None
        return r.reshape(*self.T.shape[:2], *r.shape[1:])

    def whiten_rows(self, A: Loadings) -> Slope:
        """``A L^-T`` of rows: its corner (n, p), and the part of each row's own group, (n, m)."""
        corner = A.corner
        if self.T is None or self.U is None or A.own is None:
            return Slope(triangular_product(corner.copy(), self.inverse, transposed=True))
        m = self.T.shape[1]
        both = np.concatenate([self.T.transpose(0, 2, 1), self.T.transpose(0, 2, 1) @ self.U], axis=2)
        rows = A.own.expanded() @ both.reshape(-1, m + len(self.L))
        return Slope(triangular_product(corner - rows[:, m:], self.inverse, transposed=True), rows[:, :m])

    def variance(self, A: Loadings) -> Array:
        """``diag(A B^-1 A')``, (n,)."""
        return self.begin(A)[0]

    def begin(self, A: Loadings) -> tuple[Array, Slope]:
        """``diag(A B^-1 A')``, (n,), and what :meth:`smooth` goes on from: whitened rows, or ``A B^-1`` itself."""
        whitened = self.whiten_rows(A)
        return squared_lengths(whitened), whitened

    def covariance(self, A: Loadings) -> Array:
        """``A B^-1 A'``, (n, n)."""
        corner, own, _ = self.whiten_rows(A)
        V = corner @ corner.T
        if own is None or A.own is None:
            return V
        return V + (own @ own.T) * np.equal.outer(A.own.code, A.own.code)

    def smooth(self, A: Loadings, whitened: Slope | None = None) -> Slope:
        """``A B^-1``, in the columns that ``A`` has in each row; ``whitened`` rows are overwritten."""
        corner, own, _ = self.whiten_rows(A) if whitened is None else whitened
        common = triangular_product(corner, self.inverse, transposed=False)
        if own is None or A.own is None or self.T is None or self.U is None:
            return Slope(common)
        G, m, p = self.U.shape
        back = by_group(common, A.own.code, G) @ (self.U.transpose(0, 2, 1) @ self.T).reshape(G * p, m)
        return Slope(common, by_group(own, A.own.code, G) @ self.T.reshape(G * m, m) - back)

    def covariance_of_sums(self, R: Any, own: BoolArray) -> Factored:
        """``R' B^-1 R`` of a sparse R (M, k), of whose columns ``own`` (k,) some have noise that no other has."""
        assert self.U is not None
        G, m, p = self.U.shape
        return self._covariance_of_sums(R, own, self.U.reshape(G * m, p))

    def _covariance_of_sums(self, R: Any, own: BoolArray, border: Any) -> Factored:
        """The same with ``T`` times the borders, (G m, p)."""
        from scipy.sparse import bsr_matrix

        assert self.T is not None
        (G, m, _), p, R = self.T.shape, len(self.L), R.tocsr()
        noise = (bsr_matrix((self.T, np.arange(G), np.arange(G + 1)), (G * m, G * m)) @ R[p:]).tocsr()
        noise.eliminate_zeros()
        reach = np.diff(noise.indptr)
        alone = reach == 1
        alone[alone] = own[noise[alone].indices]
        through = noise.T @ border
        of_common = R[:p].T.toarray() - (through if isinstance(through, np.ndarray) else through.toarray())
        root = np.concatenate([of_common @ self.inverse.T, noise[(reach > 0) & ~alone].T.toarray()], axis=1)
        return Factored(root, np.asarray(noise[alone].power(2).sum(axis=0)).ravel())

    @property
    def root(self) -> Array:
        """By which rows of common columns are whitened, (p, p), lower triangular."""
        return self.inverse

    def quadratic(self, w: Array) -> float:
        """``w'w``, of weights with these sums."""
        return float(w @ w)

    def log_det(self) -> float:
        """``log |B|``."""
        groups = 0.0 if self.T is None else float(np.log(np.einsum("gii->gi", self.T)).sum())
        return log_det(self.L) - 2.0 * groups

    def corner_covariance(self, k: int) -> Array:
        """Leading (k, k) block of ``B^-1``, of common features."""
        T = solve_lower(self.L, np.eye(len(self.L), k, order="F"))
        return T.T @ T


def squared_lengths(whitened: Slope) -> Array:
    """Squared lengths (n,) of whitened rows."""
    return inner_products(whitened, whitened)


def inner_products(a: Slope, b: Slope) -> Array:
    """Inner products (n,) of the same rows, whitened in two ways."""
    found = np.einsum("np,np->n", a.common, b.common)
    return found if a.own is None or b.own is None else found + np.einsum("nm,nm->n", a.own, b.own)


def factorise(B: Arrow) -> Factor:
    """Factorise a positive-definite arrow."""
    if len(B) == 1:
        return Factor(cholesky(B[0]))
    corner, border = B
    G, m, _ = border.shape
    try:
        L_own = np.linalg.cholesky(border[:, :, :m])
    except np.linalg.LinAlgError:
        raise NumericalError(f"A matrix of {m} features in each of {G} groups is not positive definite.") from None
    T = np.asarray(1.0 / L_own if m == 1 else np.tril(np.linalg.inv(L_own)), dtype=np.float64)
    U = T @ border[:, :, m:]
    flat = U.reshape(G * m, len(corner))
    return Factor(cholesky(corner - flat.T @ flat), T, U)


def inverse_arrow(factor: Factor) -> Arrow:
    """``B^-1`` where B has entries, the corner in full."""
    corner = factor.inverse.T @ factor.inverse
    if factor.T is None or factor.U is None:
        return (corner,)
    T_t, US = factor.T.transpose(0, 2, 1), factor.U @ corner
    own = T_t @ (np.eye(factor.T.shape[1]) + US @ factor.U.transpose(0, 2, 1)) @ factor.T
    return corner, np.concatenate([own, -T_t @ US], axis=2)


def _columns(r: Array) -> Array:
    """``r`` as a matrix in Fortran order."""
    return np.asfortranarray(r if r.ndim == 2 else r[:, None])
