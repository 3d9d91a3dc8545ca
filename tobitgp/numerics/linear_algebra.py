"""Linear algebra in the forms that posteriors need, and acceleration of fixed-point iterations.

BLAS on blocks of rows, in place and outside the interpreter's lock, so that threads run in it side by side.

scipy's own wrappers copy and hold the lock; the pointers it publishes for Cython (``scipy.linalg.cython_blas``) do
neither. A C-ordered ``(n, M)`` array is to BLAS its transpose in Fortran order.

Triangular linear algebra straight on LAPACK and BLAS.

scipy's friendly wrappers cost more than the arithmetic at the sizes met here (tens of features), so the routines are
called directly. Matrices go in and come out in Fortran order where they are square, rows in C order.

With ``dX`` and ``dG`` the last differences of points and steps, ``gamma = argmin |g - dG gamma|`` and the next point is
``x + rho g - (dX + rho dG) gamma``. Of partitioned points only ``dG dG'`` and ``dG g`` are summed; all else each
partition does for itself.

References
----------
Walker and Ni (2011), Anderson acceleration for fixed-point iterations, *SIAM Journal on Numerical Analysis* 49,
1715-1735, section 2.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import blas, cython_blas, lapack

from tobitgp.errors import NumericalError
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


_potrf, _pstrf, _trtri = lapack.dpotrf, lapack.dpstrf, lapack.dtrtri
_trsm = blas.dtrsm


@contextmanager
def breakdown_in_words() -> Iterator[None]:
    """What numpy says of matrices that it cannot take apart, as an error of ours."""
    try:
        yield
    except np.linalg.LinAlgError as error:
        raise NumericalError(f"The computation broke down: {error}. Look at the scale of the data.") from None


def cholesky(B: Array) -> Array:
    """Lower Cholesky factor of a symmetric positive-definite matrix.

    Shapes: B (M, M); gives (M, M).
    """
    if not len(B):
        return B
    L, info = _potrf(B, lower=1, clean=1)
    if info != 0 or not np.isfinite(L[-1, -1]):
        raise NumericalError(f"A matrix of {B.shape[0]} features is not positive definite.")
    return L


def pivoted_cholesky(K: Array, tolerance: float) -> tuple[Array, np.ndarray]:
    """Cholesky factor of the numerically independent part of a covariance matrix.

    Shapes: K (N, N); gives L (M, M), kept (M,).
    """
    C, pivots, rank, info = _pstrf(K, lower=1, tol=tolerance)
    if info < 0 or not np.isfinite(C[0, 0]):
        raise NumericalError("A covariance matrix is not finite.")
    rank = max(int(rank), 1)
    return np.asfortranarray(np.tril(C[:rank, :rank])), pivots[:rank] - 1


def solve_lower(L: Array, A_T: Array) -> Array:
    """``L^-1 A'`` for lower-triangular ``L`` (M, M) and ``A'`` (M, n) in Fortran order; a new array."""
    return _trsm(1.0, L, A_T, lower=1) if len(L) else A_T


def solve_upper(L: Array, A_T: Array) -> Array:
    """``L^-T A'`` for lower-triangular ``L`` (M, M) and ``A'`` (M, n) in Fortran order; a new array."""
    return _trsm(1.0, L, A_T, lower=1, trans_a=1) if len(L) else A_T


def inverse_factor(L: Array) -> Array:
    """``L^-1`` for lower-triangular ``L`` (M, M) with zeros above; lower triangular, Fortran order."""
    if not len(L):
        return L
    inverse, _ = _trtri(L, lower=1)
    return np.asarray(inverse, dtype=np.float64)


def gram(A: Array, scale: Array) -> Array:
    """``A' diag(scale) A`` for rows ``A`` (n, M) and ``scale`` (n,), of which the lower triangle is to be read."""
    if A.size <= SMALL:
        return np.asarray((A.T * scale) @ A, dtype=np.float64)
    out = gram_of_rows(np.multiply(A, np.sqrt(np.abs(scale))[:, None], order="C"))
    negative = np.flatnonzero(scale < 0.0)
    if len(negative):
        # |s| = s + 2 max(-s, 0)
        out -= 2.0 * gram_of_rows(np.multiply(A[negative], np.sqrt(-scale[negative])[:, None], order="C"))
    return out


def log_det(L: Array) -> float:
    """``log |L L'|`` from the lower factor."""
    return 2.0 * float(np.log(L.diagonal()).sum())


MEMORY = 8
_RIDGE = 1e-10

# Points and the steps from them, (n,) each, the present ones last.
History = tuple[tuple[Array, Array], ...]


def remember(history: History, point: Array, step: Array) -> History:
    """The history with one more point, the oldest forgotten."""
    return (*history, (point, step))[-MEMORY - 1 :]


def normal_equations(history: History) -> tuple[Array, Array]:
    """``dG dG'`` (k, k) and ``dG g`` (k,) of some coordinates; ``k = len(history) - 1``."""
    dG = np.diff([step for _, step in history], axis=0)
    return dG @ dG.T, dG @ history[-1][1]


def weights(gram: Array, right: Array) -> Array:
    """``gamma`` (k,) from the equations summed over all coordinates."""
    if not (np.isfinite(gram).all() and np.isfinite(right).all()):
        raise NumericalError("The sites of the rows are not finite.")
    gram = gram.copy()
    gram[np.diag_indices_from(gram)] *= 1.0 + _RIDGE
    return np.asarray(np.linalg.lstsq(gram, right, rcond=1e-14)[0], dtype=np.float64)


def mixed(history: History, gamma: Sequence[float] | Array, rho: float) -> Array:
    """Next point (n,); the plain step of length ``rho`` where there is but one."""
    point, step = history[-1]
    if len(history) == 1:
        return point + rho * step
    dX, dG = (np.diff([pair[i] for pair in history], axis=0) for i in (0, 1))
    return point + rho * step - gamma @ (dX + rho * dG)


def extrapolated(history: History, scale: Array, rcond: float) -> Array:
    """Next point (n,) of points that lie in one place, with steps measured in units of ``1 / scale`` (n,).

    Differences that the others span but for a fraction ``rcond`` are left out.
    """
    step = history[-1][1] * scale
    dG = np.diff([one for _, one in history], axis=0) * scale
    size = np.sqrt((dG * dG).sum(axis=1))
    size[size == 0.0] = 1.0
    gamma = np.linalg.lstsq((dG / size[:, None]).T, step, rcond=rcond)[0] / size
    return mixed(history, gamma, 1.0)
