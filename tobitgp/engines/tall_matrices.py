"""Matrices with a line for each row of the data, worked through in blocks of rows.

A result that is as tall is in a file where the matrix is in one, so that memory holds columns, but no copy of a matrix.
"""

from __future__ import annotations

import mmap
import tempfile
from typing import Any

import numpy as np

from tobitgp.engines.threads import row_chunks
from tobitgp.typing import Array, BoolArray, IntArray

ROWS = 2**16  # of a block


def blocks(n: int) -> list[slice]:
    """Consecutive blocks of n rows, one at least."""
    return row_chunks(0, n, ROWS) or [slice(0, 0)]


def is_mapped(array: Any) -> bool:
    """Whether an array is in a file."""
    base = array
    while isinstance(base, np.ndarray):
        base = base.base
    return isinstance(base, mmap.mmap)


def product(A: Array, B: Array) -> Array:
    """``A @ B`` of A (n, k) and B (k, m)."""
    out = _empty(A, len(A), B.shape[1])
    for at in blocks(len(A)):
        out[at] = A[at] @ B
    return out


def pick_columns(A: Array, columns: IntArray | BoolArray) -> Array:
    """Some columns of a matrix."""
    out = _empty(A, len(A), A[:0, columns].shape[1])
    for at in blocks(len(A)):
        out[at] = A[at, columns]
    return out


def pick_rows(A: Array, rows: BoolArray) -> Array:
    """Some rows of a matrix."""
    out, end = _empty(A, int(rows.sum()), A.shape[1]), 0
    for at in blocks(len(A)):
        some = A[at][rows[at]]
        out[end : end + len(some)] = some
        end += len(some)
    return out


def triangle_of(A: Array, columns: BoolArray) -> Array:
    """R of the QR decomposition of some columns, (k, k)."""
    R: Array = np.zeros((0, int(columns.sum())))
    for at in blocks(len(A)):
        R = grown(R, A[at][:, columns])
    return R


def grown(R: Array, block: Array) -> Array:
    """R of the QR decomposition of a matrix, from that of the rows above a last block."""
    return np.asarray(np.linalg.qr(np.vstack([R, block]), mode="r"), dtype=np.float64)


def least_squares(A: Array, y: Array, root: Array | None = None, rows: BoolArray | None = None) -> Array:
    """Coefficients (k,) of the shortest least-squares solution in all rows or some, with roots of weights (n,)."""
    R: Array = np.zeros((0, A.shape[1] + 1))
    several = len(A) > ROWS
    for at in blocks(len(A)):
        block = np.column_stack([A[at], y[at]])
        block = block if root is None else root[at, None] * block
        block = block if rows is None else block[rows[at]]
        R = grown(R, block) if several else block
    return np.asarray(np.linalg.lstsq(R[:, :-1], R[:, -1], rcond=None)[0], dtype=np.float64)


def _empty(like: Array, n: int, k: int) -> Array:
    """An uninitialised matrix (n, k), in a file if ``like`` is in one; the file is removed with the matrix."""
    if not is_mapped(like) or not n * k:
        return np.empty((n, k))
    with tempfile.TemporaryFile() as file:
        return np.asarray(np.memmap(file, dtype=np.float64, mode="w+", shape=(n, k)))
