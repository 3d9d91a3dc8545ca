"""Normal distributions of weights of which some directions are known exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg import qr

from tobitgp.numerics.arrow import Factor
from tobitgp.typing import Array


@dataclass(frozen=True)
class SingularCovariance(Factor):
    """What a `Factor` is to ``B^-1``, to a covariance ``L' L`` that may be singular: ``L`` (M, M) is lower triangular.

    There is no ``B`` then, but only products with its inverse are required.
    """

    def __post_init__(self) -> None:
        object.__setattr__(self, "inverse", self.L)

    @classmethod
    def of(cls, root: Array) -> Self:
        """That of ``root' root``, (k, M) with k <= M."""
        (upper,) = qr(root[:, ::-1], mode="r", check_finite=False)
        L = np.zeros((root.shape[1], root.shape[1]), order="F")
        L[: len(upper)] = upper
        return cls(np.asfortranarray(L[::-1, ::-1]))

    def lost_to_rounding(self, rows: float = 0.0) -> bool:
        """Never: it was not made from a matrix of precisions."""
        return False

    def whiten(self, r: Array) -> Array:
        """``L r`` for ``r`` (M,) or (M, k)."""
        return self.L @ r

    def colour(self, z: Array) -> Array:
        """``L' z`` for ``z`` (M,) or (M, k): draws from standard normal ones."""
        return self.L.T @ z

    def corner_covariance(self, k: int) -> Array:
        """Leading (k, k) block of the covariance."""
        return self.L[:, :k].T @ self.L[:, :k]
