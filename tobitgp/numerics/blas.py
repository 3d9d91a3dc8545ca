"""BLAS on blocks of rows, in place and outside the interpreter's lock, so that threads run in it side by side.

scipy's own wrappers copy and hold the lock; the pointers it publishes for Cython (``scipy.linalg.cython_blas``) do
neither. A C-ordered ``(n, M)`` array is to BLAS its transpose in Fortran order.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import cython_blas

from tobitgp.typing import Array

SMALL = 8192  # entries of a block of rows below which numpy's product is done before ours has started

_DOUBLE = np.dtype(np.float64)
_POINTER = ctypes.c_void_p
_INTS, _INT = ctypes.c_int * 2, ctypes.sizeof(ctypes.c_int)
_NUMBERS = (ctypes.c_double * 2)(1.0, 0.0)
_ONE = ctypes.addressof(_NUMBERS)
_ZERO = _ONE + ctypes.sizeof(ctypes.c_double)


@cache
def _routine(name: str, n_arguments: int) -> Any:
    """A Fortran routine by its name; all arguments are pointers."""
    capsule = cython_blas.__pyx_capi__[name]  # type: ignore[literal-required]
    api = ctypes.pythonapi
    name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", api))
    pointer_of = ctypes.PYFUNCTYPE(_POINTER, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", api))
    return ctypes.CFUNCTYPE(None, *[_POINTER] * n_arguments)(pointer_of(capsule, name_of(capsule)))


def triangular_product(A: Array, T: Array, *, transposed: bool) -> Array:
    """Multiply rows by a lower-triangular matrix in place: ``A T'``, or ``A T`` where not ``transposed``.

    Shapes: A (n, M), T (M, M); gives (n, M).
    """
    _check(A, A.flags.c_contiguous)
    _check(T, T.flags.f_contiguous)
    n, M = A.shape
    if T.shape != (M, M):
        raise TypeError(f"A matrix {M} x {M} is needed, not one of shape {T.shape}.")
    if A.size <= SMALL:
        A[...] = A @ (T.T if transposed else T)
    else:
        sizes = _INTS(M, n)
        rows = ctypes.addressof(sizes)
        columns, direction = rows + _INT, b"N" if transposed else b"T"
        _routine("dtrmm", 11)(
            b"L", b"L", direction, b"N", rows, columns, _ONE, T.ctypes.data, rows, A.ctypes.data, rows
        )
    return A


def gram_of_rows(A: Array) -> Array:
    """``A'A`` of rows, the lower triangle of an (M, M) array in Fortran order; zero above.

    Shapes: A (n, M).
    """
    _check(A, A.flags.c_contiguous)
    n, M = A.shape
    out = np.zeros((M, M), order="F")
    if A.size:
        sizes = _INTS(M, n)
        rows = ctypes.addressof(sizes)
        columns, to = rows + _INT, out.ctypes.data
        _routine("dsyrk", 10)(b"L", b"N", rows, columns, _ONE, A.ctypes.data, rows, _ZERO, to, rows)
    return out


def _check(X: Array, ordered: bool) -> None:
    if X.ndim != 2 or X.dtype != _DOUBLE or not ordered:
        raise TypeError(f"A matrix of doubles in the right order is needed, not {X.dtype} of shape {X.shape}.")
