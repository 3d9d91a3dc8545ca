"""Linear columns with an absorbed factor: a term of many columns, of which each row has an entry in one at most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csr_matrix, hstack

from tobitgp.typing import Array, BoolArray, IntArray


@dataclass(frozen=True, slots=True)
class Absorbed:
    """Columns (n, p) of which ``size``, from ``start`` on, are those of one factor, kept as a code and a value."""

    common: Array  # (n, c), the other columns
    value: Array  # (n,), each row's entry in its own column of the factor; 0 where it has none
    code: IntArray  # (n,), which of the factor's columns that is
    start: int
    size: int
    __array_ufunc__ = None  # ``array @ columns`` is left to ``__rmatmul__``

    @classmethod
    def of(cls, sparse: Any, own: slice) -> Absorbed:
        """Columns of a sparse matrix (n, p) whose rows have an entry in one at most of the columns ``own``."""
        rows = sparse[:, own].tocoo()
        value, code = np.zeros(sparse.shape[0]), np.zeros(sparse.shape[0], dtype=np.intp)
        value[rows.row], code[rows.row] = rows.data, rows.col
        common = sparse[:, np.delete(np.arange(sparse.shape[1]), own)].toarray(order="C")
        return cls(np.asarray(common, dtype=np.float64), value, code, own.start, own.stop - own.start)

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the columns."""
        return len(self.value), self.common.shape[1] + self.size

    def __len__(self) -> int:
        return len(self.value)

    def __getitem__(self, rows: slice | BoolArray | IntArray) -> Absorbed:
        return replace(self, common=self.common[rows], value=self.value[rows], code=self.code[rows])

    def __abs__(self) -> Absorbed:
        return replace(self, common=np.abs(self.common), value=np.abs(self.value))

    def split(self, beta: Any) -> tuple[Any, Any]:
        """Values (p, ...) split into those of the other columns (c, ...) and those of the factor's (size, ...)."""
        own = slice(self.start, self.start + self.size)
        return np.delete(beta, own, axis=0), beta[own]

    def join(self, common: Any, own: Any) -> Any:
        """The way back from :meth:`split`."""
        return np.concatenate([common[: self.start], own, common[self.start :]])

    def __matmul__(self, beta: Array) -> Array:
        common, own = self.split(beta)
        return self.common @ common + (self.value * own[self.code].T).T

    def __rmatmul__(self, weight: Array) -> Array:
        """Sums over the rows, (p,) or (k, p), of weights (n,) or (k, n)."""
        return self.join((weight @ self.common).T, self.sums(weight.T)).T

    def sums(self, values: Array) -> Array:
        """Sums (size,) or (size, k) of values (n,) or (n, k) times the rows' entries in the factor's columns."""
        if values.ndim == 1:
            return np.asarray(np.bincount(self.code, self.value * values, self.size), dtype=np.float64)
        out = np.empty((self.size, values.shape[1]))
        for j, column in enumerate(values.T):
            out[:, j] = self.sums(column)
        return out

    @property
    def largest(self) -> Array:
        """Largest size of an entry in each of the factor's columns, (size,)."""
        out = np.zeros(self.size)
        np.maximum.at(out, self.code, np.abs(self.value))
        return out

    def choose(self, kept: BoolArray) -> Columns:
        """Some of the columns, kept (p,)."""
        common, own = self.split(kept)
        if not own.any():
            return self.common[:, common]
        place = np.maximum(np.cumsum(own) - 1, 0)
        start, value = int(kept[: self.start].sum()), np.where(own[self.code], self.value, 0.0)
        return Absorbed(self.common[:, common], value, place[self.code], start, int(own.sum()))

    def only(self, columns: Sequence[int] | IntArray) -> Absorbed:
        """The same columns, 0 but for some."""
        kept = np.zeros(self.shape[1], dtype=np.bool_)
        kept[list(columns)] = True
        common, own = self.split(kept)
        return replace(self, common=self.common * common, value=np.where(own[self.code], self.value, 0.0))

    def less_levels(self, y: Array) -> Array:
        """Residuals of columns (n, k) after regression on the factor's columns."""
        squares = self.sums(self.value)
        slopes = self.sums(y) / np.where(squares > 0.0, squares, 1.0)[:, None]
        return y - self.value[:, None] * slopes[self.code]

    def sparse(self) -> Any:
        """The columns as a sparse matrix (n, p)."""
        own = csr_matrix((self.value, self.code, np.arange(len(self) + 1)), (len(self), self.size))
        return hstack([csr_matrix(self.common[:, : self.start]), own, csr_matrix(self.common[:, self.start :])], "csr")

    def dense(self) -> Array:
        """The columns as an array (n, p)."""
        own = np.zeros((len(self), self.size))
        own[np.arange(len(self)), self.code] = self.value
        return np.concatenate([self.common[:, : self.start], own, self.common[:, self.start :]], axis=1)


Columns: TypeAlias = Array | Absorbed


def as_dense(H: Columns) -> Array:
    """Columns as an array (n, p)."""
    return H.dense() if isinstance(H, Absorbed) else H


def squares(H: Columns, weight: Array) -> Array:
    """Sums (n,) of each row's squared entries with weights (p,)."""
    if not isinstance(H, Absorbed):
        return np.square(H) @ weight
    return replace(H, common=np.square(H.common), value=np.square(H.value)) @ weight


def choose_columns(H: Columns, kept: BoolArray) -> Columns:
    """Some of the columns, kept (p,)."""
    return H.choose(kept) if isinstance(H, Absorbed) else H[:, kept]


def only_columns(H: Columns, columns: Sequence[int] | IntArray) -> Columns:
    """The same columns, 0 but for some."""
    if isinstance(H, Absorbed):
        return H.only(columns)
    out = np.zeros_like(H)
    out[:, list(columns)] = H[:, list(columns)]
    return out


def centred_sum(H: Columns, centre: Array, beta: Array) -> Array:
    """Sum (n,) of columns less a centre (p,), with weights (p,)."""
    return H @ beta - centre @ beta if isinstance(H, Absorbed) else (H - centre) @ beta


def telling(H: Columns) -> list[Array]:
    """Columns, (n, any) each, in which rows are equal where they are in all."""
    return [H.common, H.value[:, None], (H.code * (H.value != 0.0))[:, None]] if isinstance(H, Absorbed) else [H]


def centred(H: Columns, centre: Array) -> Columns:
    """Columns less a centre (p,), which is 0 in a fit with an absorbed factor."""
    return H if isinstance(H, Absorbed) and not centre.any() else as_dense(H) - centre
