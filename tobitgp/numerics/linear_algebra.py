"""Linear algebra in the forms that posteriors need, and acceleration of fixed-point iterations.

scipy's friendly wrappers cost more than the arithmetic at the sizes met here (tens of features), so LAPACK and BLAS are
called directly. They release the interpreter's lock, so that threads run in them side by side. Square matrices are in
Fortran order, rows in C order: a C-ordered ``(n, M)`` array is to BLAS its transpose in Fortran order.

Fixed points are accelerated by Anderson's method [1]_: with ``dX`` and ``dG`` the last differences of points and steps,
``gamma = argmin |g - dG gamma|`` and the next point is ``x + rho g - (dX + rho dG) gamma``. Of partitioned points only
``dG dG'`` and ``dG g`` are summed; all else each partition does for itself.

References
----------
.. [1] Walker and Ni (2011), Anderson acceleration for fixed-point iterations, *SIAM Journal on Numerical Analysis* 49,
   1715-1735, section 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from scipy.linalg import blas, lapack

from tobitgp.errors import NumericalError
from tobitgp.typing import Array

_FEW = 8192  # entries of a block of rows below which numpy's plain product is no slower


@contextmanager
def breakdown_in_words() -> Iterator[None]:
    """What numpy says of matrices that it cannot take apart, as an error of ours."""
    try:
        yield
    except np.linalg.LinAlgError as error:
        raise NumericalError(f"The computation broke down: {error}. Check the scale of the data.") from None


def triangular_product(A: Array, T: Array, *, transposed: bool) -> Array:
    """Rows times a lower-triangular matrix, ``A T'``, or ``A T`` where not ``transposed``; A may be overwritten."""
    if A.size <= _FEW:
        return A @ (T.T if transposed else T)
    return blas.dtrmm(1.0, T, A.T, lower=1, trans_a=not transposed, overwrite_b=1).T


def cholesky(B: Array) -> Array:
    """Lower Cholesky factor of a symmetric positive-definite matrix."""
    if not len(B):
        return B
    L, info = lapack.dpotrf(B, lower=1, clean=1)
    if info != 0 or not np.isfinite(L[-1, -1]):
        raise NumericalError(f"A matrix of {B.shape[0]} features is not positive definite.")
    return L


def triangle(A: Array) -> Array:
    """Upper factor of the QR decomposition of ``A`` (n, p); gives (min(n, p), p)."""
    if not A.size:
        return np.zeros((min(A.shape), A.shape[1]))
    return np.asarray(np.triu(lapack.dgeqrf(A)[0][: A.shape[1]]))


def pivoted_cholesky(K: Array, tolerance: float) -> tuple[Array, np.ndarray]:
    """Cholesky factor (M, M) of the numerically independent part of a covariance matrix, and which rows that is."""
    C, pivots, rank, info = lapack.dpstrf(K, lower=1, tol=tolerance)
    if info < 0 or not np.isfinite(C[0, 0]):
        raise NumericalError("A covariance matrix is not finite.")
    rank = max(int(rank), 1)
    return np.asfortranarray(np.tril(C[:rank, :rank])), pivots[:rank] - 1


def solve_lower(L: Array, A_T: Array) -> Array:
    """``L^-1 A'`` for lower-triangular ``L`` (M, M) and ``A'`` (M, n) in Fortran order; a new array."""
    return blas.dtrsm(1.0, L, A_T, lower=1) if len(L) else A_T


def solve_upper(L: Array, A_T: Array) -> Array:
    """``L^-T A'`` for lower-triangular ``L`` (M, M) and ``A'`` (M, n) in Fortran order; a new array."""
    return blas.dtrsm(1.0, L, A_T, lower=1, trans_a=1) if len(L) else A_T


def inverse_factor(L: Array) -> Array:
    """``L^-1`` for lower-triangular ``L`` (M, M) with zeros above; lower triangular, Fortran order."""
    if not len(L):
        return L
    inverse, _ = lapack.dtrtri(L, lower=1)
    return np.asarray(inverse, dtype=np.float64)


def gram(A: Array, scale: Array) -> Array:
    """``A' diag(scale) A`` for rows ``A`` (n, M) and ``scale`` (n,), of which the lower triangle is to be read."""
    if A.size <= _FEW:
        return np.asarray((A.T * scale) @ A, dtype=np.float64)
    out = _gram_of_rows(A, np.abs(scale))
    negative = np.flatnonzero(scale < 0.0)
    # |s| = s + 2 max(-s, 0)
    return out - 2.0 * _gram_of_rows(A[negative], -scale[negative]) if len(negative) else out


def _gram_of_rows(A: Array, scale: Array) -> Array:
    """As ``gram`` for positive scales; zero above the diagonal."""
    return blas.dsyrk(1.0, np.multiply(A, np.sqrt(scale)[:, None], order="C").T, lower=1)


def log_det(L: Array) -> float:
    """``log |L L'|`` from the lower factor."""
    return 2.0 * float(np.log(L.diagonal()).sum())


MEMORY = 8
_RIDGE = 1e-10


class History(NamedTuple):
    """A point (n,), the step from there, and the last differences of points and of steps, (k, n) each."""

    point: Array
    step: Array
    dX: Array
    dG: Array


def remember(history: History | None, point: Array, step: Array) -> History:
    """The history with one more point, the oldest forgotten."""
    if history is None:
        return History(point, step, np.empty((0, len(point))), np.empty((0, len(point))))
    steps = (point - history.point)[None], (step - history.step)[None]
    last = (
        np.concatenate([before[-MEMORY + 1 :], now])
        for before, now in zip((history.dX, history.dG), steps, strict=True)
    )
    return History(point, step, *last)


def normal_equations(history: History) -> tuple[Array, Array]:
    """``dG dG'`` (k, k) and ``dG g`` (k,) of some coordinates."""
    return history.dG @ history.dG.T, history.dG @ history.step


def weights(gram: Array, right: Array) -> Array:
    """``gamma`` (k,) from the equations summed over all coordinates."""
    if not (np.isfinite(gram).all() and np.isfinite(right).all()):
        raise NumericalError("The sites of the rows are not finite.")
    gram = gram.copy()
    gram[np.diag_indices_from(gram)] *= 1.0 + _RIDGE
    return np.asarray(np.linalg.lstsq(gram, right, rcond=1e-14)[0], dtype=np.float64)


def mixed(history: History, gamma: Sequence[float] | Array, rho: float) -> Array:
    """Next point (n,); the plain step of length ``rho`` where there is but one."""
    here = history.point + rho * history.step
    return here - gamma @ (history.dX + rho * history.dG) if len(history.dX) else here


def extrapolated(history: History, scale: Array, rcond: float) -> Array:
    """Next point (n,) of points that lie in one place, with steps measured in units of ``1 / scale`` (n,).

    Differences that the others span but for a fraction ``rcond`` are left out.
    """
    dG = history.dG * scale
    size = np.sqrt((dG * dG).sum(axis=1))
    size[size == 0.0] = 1.0
    gamma = np.linalg.lstsq((dG / size[:, None]).T, history.step * scale, rcond=rcond)[0] / size
    return mixed(history, gamma, 1.0)
