"""Copies of what holds derived arrays, caches and handles of the compiled core: these are made anew, never stored.

Lower triangular matrices are packed: their zeros are not stored.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Literal, NamedTuple

import numpy as np

from tobitgp.typing import Array

MemoryOrder = Literal["C", "F"]


class Lower(NamedTuple):
    """A packed lower triangular matrix (n, n)."""

    rows: Array  # (n (n + 1) / 2,), the rows of the triangle one after the other
    n: int
    order: MemoryOrder  # of the matrix in memory

    def unpacked(self) -> Array:
        """The matrix as it was."""
        out = np.zeros((self.n, self.n), order=self.order)
        out[np.tri(self.n, dtype=bool)] = self.rows
        return out


def packed(value: np.ndarray[Any, Any]) -> Lower | None:
    """A lower triangular matrix without its zeros; None unless every bit above the diagonal is zero."""
    if value.ndim != 2 or value.dtype != np.float64 or not 2 <= value.shape[0] == value.shape[1]:
        return None
    below = np.tri(len(value), dtype=bool)
    if value[~below].view(np.int64).any():
        return None
    return Lower(value[below], len(value), "F" if value.strides[0] < value.strides[1] else "C")


def made_anew(self: Any) -> tuple[Any, tuple[Any, ...]]:
    """`object.__reduce__` of a dataclass that follows from the fields that its constructor takes."""
    return _make, (type(self), {of.name: _pack(getattr(self, of.name)) for of in fields(self) if of.init})


def _pack(value: Any) -> Any:
    lower = packed(value) if isinstance(value, np.ndarray) else None
    return value if lower is None else lower


def _make(kind: type, given: dict[str, Any]) -> Any:
    return kind(**{name: part.unpacked() if isinstance(part, Lower) else part for name, part in given.items()})
