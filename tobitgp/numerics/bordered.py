"""Symmetric matrices a block of which is diagonal, as that of an absorbed factor is in an information matrix.

With ``M = [[C, B], [B', D]]`` the block is eliminated first: ``S = C - B D^-1 B'``, of which all else is dense. Entries
of D without information are kept with C, so that S determines definiteness and small eigenvalues.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, TypeAlias

import numpy as np

from tobitgp.typing import Array, IntArray

_TOLD = 1e-2  # least entry of D that is eliminated, in units in which all entries of M are about 1


@dataclass(frozen=True, slots=True)
class Bordered:
    """Symmetric matrix (k, k) of which G rows and columns, from ``start`` on, have a diagonal block."""

    corner: Array  # (r, r), of all others; the whole matrix where G is 0
    border: Array  # (r, G)
    block: Array  # (G,), the diagonal
    start: int

    def __len__(self) -> int:
        return len(self.corner) + len(self.block)

    @property
    def places(self) -> tuple[IntArray, IntArray]:
        """Positions of the corner (r,) and of the block (G,)."""
        r, G = self.border.shape
        rest = np.arange(r)
        return np.where(rest < self.start, rest, rest + G), np.arange(self.start, self.start + G)

    @property
    def diagonal(self) -> Array:
        """Diagonal of the whole, (k,)."""
        return self.join(np.diag(self.corner), self.block)

    @property
    def finite(self) -> bool:
        """Whether all entries are."""
        return all(bool(np.isfinite(part).all()) for part in (self.corner, self.border, self.block))

    def join(self, corner: Array, block: Array) -> Array:
        """Values of the corner (r, ...) and of the block (G, ...) in the order of the whole."""
        return np.concatenate([corner[: self.start], block, corner[self.start :]])

    def each(self, change: Callable[[Array], Array]) -> Bordered:
        """Another such matrix."""
        return Bordered(change(self.corner), change(self.border), change(self.block), self.start)

    def scaled(self, unit: Array, by: Callable[[Array, Array], Array] = np.multiply) -> Bordered:
        """Rows and columns times, or divided by, units (k,)."""
        u, v = (unit[at] for at in self.places)
        corner, border = by(by(self.corner, u), u[:, None]), by(by(self.border, v), u[:, None])
        return Bordered(corner, border, by(by(self.block, v), v), self.start)

    def leading(self, k: int) -> Bordered:
        """The first k rows and columns, the block among them."""
        r = k - len(self.block)
        return Bordered(self.corner[:r, :r], self.border[:r], self.block, self.start)

    def reduced(self) -> Reduced:
        """The matrix with the block eliminated as far as it holds information."""
        rest, own = self.places
        if not len(own):
            return Reduced(self.corner, rest, self.border, own, self.block)
        told = self.block > _TOLD
        pivot, few = self.block[told], np.flatnonzero(~told)
        S = np.block([[self.corner, self.border[:, few]], [self.border[:, few].T, np.diag(self.block[few])]])
        B = np.concatenate([self.border[:, told], np.zeros((len(few), len(pivot)))])
        W = B / pivot
        return Reduced(S - W @ B.T, np.concatenate([rest, own[few]]), W, own[told], pivot)

    def dense(self) -> Array:
        """The whole, (k, k)."""
        out = np.zeros((len(self), len(self)))
        rest, own = self.places
        out[np.ix_(rest, rest)] = self.corner
        out[np.ix_(rest, own)], out[np.ix_(own, rest)] = self.border, self.border.T
        out[own, own] = self.block
        return out


class Reduced(NamedTuple):
    """A symmetric matrix with some rows and columns eliminated: ``M^-1 = X S^-1 X' + P^-1``, X by :meth:`expand`."""

    S: Array  # (s, s), Schur complement of the others
    kept: IntArray  # (s,), their positions
    W: Array  # (s, t), border over pivots
    gone: IntArray  # (t,), positions of those eliminated
    pivot: Array  # (t,)

    def expand(self, z: Array) -> Array:
        """``X z``, (k, ...): values (s, ...), and what those eliminated are given these."""
        out = np.empty((len(self.kept) + len(self.gone), *z.shape[1:]))
        out[self.kept], out[self.gone] = z, -(self.W.T @ z)
        return out

    def contract(self, g: Array) -> Array:
        """``X' g``, (s,)."""
        return np.asarray(g[self.kept] - self.W @ g[self.gone])

    def rest(self, g: Array) -> Array:
        """``P^-1 g``, (k,): zero but for those eliminated."""
        out = np.zeros(len(g))
        out[self.gone] = g[self.gone] / self.pivot
        return out

    def spectrum(self) -> tuple[Array, Array]:
        """Small eigenvalues, ascending, with vectors (k, s): exact where nothing is eliminated or they vanish."""
        root = np.eye(len(self.S))
        if len(self.gone):
            root = np.linalg.inv(np.linalg.cholesky(root + self.W @ self.W.T))
        values, vectors = np.linalg.eigh(root @ self.S @ root.T)
        return values, self.expand(root.T @ vectors)


@dataclass(frozen=True, slots=True)
class Factored:
    """``root root' + diag(own)``, (k, k)."""

    root: Array  # (k, r)
    own: Array  # (k,)

    shapes: ClassVar = {"own *": "root"}

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the matrix."""
        return len(self.own), len(self.own)

    def __len__(self) -> int:
        return len(self.own)

    def part(self, at: slice) -> Factored:
        """Part of some consecutive parameters."""
        return Factored(self.root[at], self.own[at])


CovarianceMatrix: TypeAlias = Array | Factored


def dense(V: CovarianceMatrix) -> Array:
    """All entries, (k, k)."""
    if not isinstance(V, Factored):
        return V
    out = V.root @ V.root.T
    out[np.diag_indices(len(V))] += V.own
    return out


def variances(V: CovarianceMatrix) -> Array:
    """The diagonal, (k,)."""
    return np.einsum("ij,ij->i", V.root, V.root) + V.own if isinstance(V, Factored) else np.diag(V)


def rows(V: CovarianceMatrix, at: slice) -> Array:
    """Some of the rows, (m, k)."""
    if not isinstance(V, Factored):
        return V[at]
    out = V.root[at] @ V.root.T
    out[np.arange(len(out)), np.arange(len(V))[at]] += V.own[at]
    return out


def leading(V: CovarianceMatrix, p: int) -> CovarianceMatrix:
    """That of the first p parameters."""
    return V.part(slice(0, p)) if isinstance(V, Factored) else V[:p, :p]


def among(V: CovarianceMatrix, at: IntArray) -> CovarianceMatrix:
    """That of some of the parameters."""
    return Factored(V.root[at], V.own[at]) if isinstance(V, Factored) else V[np.ix_(at, at)]


def of_sums(A: Array, V: CovarianceMatrix) -> Array:
    """``A V A'``, (m, m), of weighted sums (m, k) of the parameters; infinite beyond the largest number."""
    with np.errstate(over="ignore", invalid="ignore"):
        if not isinstance(V, Factored):
            return A @ V @ A.T
        half = A @ V.root
        return half @ half.T + (A * V.own) @ A.T
