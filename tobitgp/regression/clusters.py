r"""Clusters of rows in one or several directions, and the middle of the sandwich that adds up scores within them.

With two directions errors may be correlated in rows that share either; the middle is that of the first, plus that of
the second, less that of rows that share both, (ECO2) of the theory pages, and so on with more.

References
----------
Cameron, Gelbach and Miller (2011), Robust inference with multiway clustering, *Journal of Business & Economic
Statistics* 29, 238-249.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from scipy.sparse import csc_matrix, csr_matrix, issparse

from tobitgp.data.absorbed import Absorbed, Columns
from tobitgp.errors import BoundaryWarning, DataError, SpecError, user_level
from tobitgp.typing import Array, BoolArray, IntArray

_NEGATIVE = 1e-9  # of the largest eigenvalue, beyond which one is no rounding error


@dataclass(frozen=True, slots=True)
class Clusters:
    """Clusters of n rows in g directions."""

    code: IntArray  # (n, g)
    corrected: bool = False  # by factors for few clusters
    levels: BoolArray | None = None  # (p,), linear columns of which rows of one cluster alone tell

    @classmethod
    def of(cls, groups: Clusters | IntArray | None) -> Clusters:
        """Clusters, or a group for each row (n,)."""
        if groups is None:
            raise SpecError('cov_type="cluster": groups must be given.')
        return groups if isinstance(groups, Clusters) else cls(np.asarray(groups)[:, None])

    def among(self, at: BoolArray) -> Clusters:
        """The same of some rows (n,)."""
        return replace(self, code=self.code[at])

    def beside(self, H: Columns) -> Clusters:
        """The same, with what it needs to know of linear columns (n, p); of subjects with several rows nothing."""
        return self if len(self.code) != H.shape[0] else replace(self, levels=_of_one_cluster(self.code, H))

    def levels_among(self, k: int) -> BoolArray:
        """Levels among all k parameters, linear ones first."""
        own: Any = () if self.levels is None else self.levels
        return np.pad(np.array(own, dtype=np.bool_), (0, k - len(own)))

    @property
    def numbers(self) -> list[int]:
        """Number of clusters in each direction."""
        return [len(np.unique(code)) for code in self.code.T]

    def check_number(self, free: BoolArray) -> None:
        """Raise an error for one cluster, and warn if there are no more clusters than parameters (k,) they share."""
        if min(self.numbers) < 2:
            raise DataError("Clustered standard errors require at least two clusters.")
        told, most = int((free & ~self.levels_among(len(free))).sum()), max(self.numbers)
        if most <= told:
            warnings.warn(
                f"There are only {most} clusters for {told} parameters, so clustered standard errors are too small, "
                "often by far. Estimate fewer parameters, or use other clusters.",
                BoundaryWarning,
                stacklevel=user_level(),
            )

    def ways(self) -> Iterator[tuple[float, IntArray]]:
        """Signs, and clusters (n,) of rows that share some of the directions."""
        for size in range(1, self.code.shape[1] + 1):
            for some in combinations(range(self.code.shape[1]), size):
                code = np.unique(self.code[:, some], axis=0, return_inverse=True)[1].reshape(-1)
                yield (-1.0) ** (size + 1), code.astype(np.intp)

    def crossed(self, scores: Any, weight: Array, A: Array, n: float, k: int) -> Array:
        """Middle (m, m) of the sandwich, of scores times A (k, m), where n observations gave k estimates."""
        total = np.zeros((A.shape[1], A.shape[1]))
        for sign, code in self.ways():
            G = int(code.max()) + 1
            factor = G / (G - 1.0) * ((n - 1.0) / (n - k) if n > k else np.nan) if self.corrected else 1.0
            total += sign * factor * _crossed(scores, weight, code, A)
        return total

    def finest(self, scores: Any, weight: Array, A: Array) -> tuple[int, Array]:
        """Number of the clusters of rows that share all directions, and the middle of these alone."""
        _, code = list(self.ways())[-1]
        return int(code.max()) + 1, _crossed(scores, weight, code, A)


def middle(clusters: Clusters, scores: Any, weight: Array, n: float, root: Array, levels: BoolArray) -> Array:
    """Middle (m, m) of the sandwich in the coordinates of a root of the covariance, no eigenvalue below 0.

    ``levels`` (k,) are put last: what has to change for that is theirs.
    """
    total = clusters.crossed(scores, weight, root, n, len(root))
    Q, m = np.linalg.qr(root[~levels].T, mode="complete")[0], int((~levels).sum())
    total = Q.T @ total @ Q
    A, negative = _not_negative(total[:m, :m])
    if negative:
        warnings.warn(
            "The multiway-clustered covariance had a negative eigenvalue, which was set to 0. There are too few "
            "clusters for so many parameters, or hardly any correlation within them.",
            BoundaryWarning,
            stacklevel=user_level(),
        )
    slopes = np.linalg.pinv(A, hermitian=True) @ total[:m, m:]
    beside = A @ slopes
    last = slopes.T @ beside
    total = np.block([[A, beside], [beside.T, last + _not_negative(total[m:, m:] - last)[0]]])
    return np.asarray(Q @ total @ Q.T)


def _not_negative(A: Array) -> tuple[Array, bool]:
    """A symmetric matrix with its negative eigenvalues at 0, and whether some were more than rounding errors."""
    values, vectors = np.linalg.eigh(A)
    negative = values.min(initial=0.0) < -_NEGATIVE * values.max(initial=0.0)
    return (vectors * np.maximum(values, 0.0)) @ vectors.T, bool(negative)


def _of_one_cluster(codes: IntArray, H: Columns) -> BoolArray:
    """Columns (p,) that are zero except in one cluster of a direction, and those of their base level.

    The intercept equals a level in each cluster except that of the base; so does a slope with those of levels.
    """
    S = csc_matrix(H.sparse() if isinstance(H, Absorbed) else H)
    S.eliminate_zeros()
    out = np.diff(S.indptr) == 0
    filled = np.flatnonzero(~out)
    for code in codes.T:
        low, high = (end.reduceat(code[S.indices], S.indptr[filled]) for end in (np.minimum, np.maximum))
        within = filled[low == high]
        levels = S[:, within].tocoo()
        out[within] = True
        covered = np.bincount(levels.row, minlength=S.shape[0]) > 0
        for j in np.flatnonzero(~out) if len(within) else ():
            same = S[:, [j]].toarray()[levels.row, 0] == levels.data
            out[j] = bool((np.bincount(levels.row[same], minlength=S.shape[0]) > 0)[covered].all())
    return np.asarray(out)


def _crossed(scores: Any, weight: Array, code: IntArray, A: Array) -> Array:
    """Cross-products (m, m) of sums within clusters of weighted scores times A (k, m)."""
    G = int(code.max()) + 1
    if issparse(scores):
        of_cluster: Any = csr_matrix((weight, (code, np.arange(len(code)))), (G, len(code)))
        sums = of_cluster @ scores
        return np.asarray(A.T @ ((sums.T @ sums) @ A))
    D = (scores @ A) * weight[:, None]
    total = np.column_stack([np.bincount(code, weights=column, minlength=G) for column in D.T])
    return np.asarray(total.T @ total, dtype=np.float64)
