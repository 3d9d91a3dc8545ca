"""Triangular linear algebra straight on LAPACK and BLAS.

scipy's friendly wrappers cost more than the arithmetic at the sizes met here (tens of features), so the routines are
called directly. Matrices go in and come out in Fortran order where they are square, rows in C order.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from scipy.linalg import blas, lapack

from tobitgp.errors import NumericalError
from tobitgp.numerics.blas import SMALL, gram_of_rows
from tobitgp.typing import Array

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
