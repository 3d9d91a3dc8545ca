"""Covariances of very many parameters, a factor's levels among them, without their entries: low rank and a diagonal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np

from tobitgp.typing import Array


@dataclass(frozen=True, slots=True)
class Factored:
    """``root root' + diag(own)``, (k, k)."""

    root: Array  # (k, r)
    own: Array  # (k,)

    shapes: ClassVar = {"own *": "root"}

    @property
    def shape(self) -> tuple[int, int]:
        """Of the matrix."""
        return len(self.own), len(self.own)

    def __len__(self) -> int:
        return len(self.own)

    def part(self, at: slice) -> Factored:
        """Of some consecutive parameters."""
        return Factored(self.root[at], self.own[at])


Covariance: TypeAlias = Array | Factored


def dense(V: Covariance) -> Array:
    """All entries, (k, k)."""
    if not isinstance(V, Factored):
        return V
    out = V.root @ V.root.T
    out[np.diag_indices(len(V))] += V.own
    return out


def variances(V: Covariance) -> Array:
    """The diagonal, (k,)."""
    return np.einsum("ij,ij->i", V.root, V.root) + V.own if isinstance(V, Factored) else np.diag(V)


def rows(V: Covariance, at: slice) -> Array:
    """Some of the rows, (m, k)."""
    if not isinstance(V, Factored):
        return V[at]
    out = V.root[at] @ V.root.T
    out[np.arange(len(out)), np.arange(len(V))[at]] += V.own[at]
    return out


def leading(V: Covariance, p: int) -> Covariance:
    """That of the first p parameters."""
    return V.part(slice(0, p)) if isinstance(V, Factored) else V[:p, :p]


def of_sums(A: Array, V: Covariance) -> Array:
    """``A V A'``, (m, m), of weighted sums (m, k) of the parameters."""
    if not isinstance(V, Factored):
        return A @ V @ A.T
    half = A @ V.root
    return half @ half.T + (A * V.own) @ A.T
