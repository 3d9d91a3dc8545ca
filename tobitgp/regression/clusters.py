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
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse

from tobitgp.errors import BoundaryWarning, DataError, SpecError, user_level
from tobitgp.typing import Array, IntArray

_NEGATIVE = 1e-9  # of the largest eigenvalue, beyond which one is no rounding error


@dataclass(frozen=True, slots=True)
class Clusters:
    """Clusters of n rows in g directions."""

    code: IntArray  # (n, g)
    corrected: bool = False  # by factors for few clusters

    @classmethod
    def of(cls, groups: Clusters | IntArray | None) -> Clusters:
        """Clusters, or a group for each row (n,)."""
        if groups is None:
            raise SpecError('cov_type "cluster" needs groups.')
        return groups if isinstance(groups, Clusters) else cls(np.asarray(groups)[:, None])

    @property
    def fewest(self) -> int:
        """Number of clusters in the direction that has fewest."""
        return min(len(np.unique(code)) for code in self.code.T)

    def ways(self) -> Iterator[tuple[float, IntArray]]:
        """Signs, and clusters (n,) of rows that share some of the directions."""
        for size in range(1, self.code.shape[1] + 1):
            for some in combinations(range(self.code.shape[1]), size):
                code = np.unique(self.code[:, some], axis=0, return_inverse=True)[1].reshape(-1)
                yield (-1.0) ** (size + 1), code.astype(np.intp)

    def sums(self, scores: Any, weight: Array, A: Array, free: int) -> Iterator[tuple[float, Array]]:
        """Signs, with factors for few clusters, and sums (G, m) within clusters of weighted scores times A (k, m).

        ``free`` parameters were estimated.
        """
        if self.fewest < 2:
            raise DataError("Clustered standard errors need at least two clusters.")
        n, k = float(weight.sum()), free
        for sign, code in self.ways():
            G = int(code.max()) + 1
            factor = G / (G - 1.0) * ((n - 1.0) / (n - k) if n > k else np.nan) if self.corrected else 1.0
            yield sign * factor, _sums(scores, weight, code, A)

    def finest(self, scores: Any, weight: Array, A: Array) -> Array:
        """Sums within the clusters of rows that share all directions."""
        return list(self.sums(scores, weight, A, len(A)))[-1][1]


def middle(clusters: Clusters, scores: Any, weight: Array, root: Array) -> Array:
    """Middle (m, m) of the sandwich in the coordinates of a root of the covariance, no eigenvalue below 0."""
    total = np.sum([factor * part.T @ part for factor, part in clusters.sums(scores, weight, root, len(root))], axis=0)
    if clusters.code.shape[1] == 1:
        return np.asarray(total)
    values, vectors = np.linalg.eigh(total)
    if values.min(initial=0.0) < -_NEGATIVE * values.max(initial=0.0):
        warnings.warn(
            "The covariance of clusters in several directions had a negative eigenvalue, which was set to 0: there are "
            "too few clusters for so many parameters, or hardly any correlation within them.",
            BoundaryWarning,
            stacklevel=user_level(),
        )
    return np.asarray(vectors * np.maximum(values, 0.0)) @ vectors.T


def _sums(scores: Any, weight: Array, code: IntArray, A: Array) -> Array:
    G = int(code.max()) + 1
    if issparse(scores):
        of_cluster: Any = csr_matrix((weight, (code, np.arange(len(code)))), (G, len(code)))
        return np.asarray((of_cluster @ scores) @ A)
    D = (scores @ A) * weight[:, None]
    return np.column_stack([np.bincount(code, weights=column, minlength=G) for column in D.T])
