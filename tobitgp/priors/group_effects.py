"""Random effects: coefficients of some columns that differ between groups, ``b_g ~ N(0, L L')``, (RAN1) to (RAN4).

``L = D C``, D of the standard deviations and C C' the correlations, C with rows of unit length in canonical partial
correlations ``z_ij = tanh psi_ij``: any psi gives correlations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tobitgp.numerics.linear_algebra import triangular_product
from tobitgp.priors.block import Features, Grouping, Inputs
from tobitgp.priors.kernel_block import GPPrior
from tobitgp.typing import Array


def correlation_root(psi: Array, q: int) -> Array:
    """Lower triangular C (q, q) of unit rows from psi (q (q - 1) / 2,), row after row."""
    z, C = np.tanh(psi), np.zeros((q, q))
    first = 0
    for i in range(q):
        left = 1.0
        for j in range(i):
            C[i, j] = z[first + j] * left
            left *= np.sqrt(1.0 - z[first + j] ** 2)
        C[i, i] = left
        first += i
    return C


def correlation_slopes(psi: Array, C: Array) -> Iterator[Array]:
    """Derivatives (q, q) of C in each psi; they touch one row."""
    z, first = np.tanh(psi), 0
    for i in range(len(C)):
        for j in range(i):
            slope, left = np.zeros_like(C), float(np.prod(np.sqrt(1.0 - z[first : first + j] ** 2)))
            slope[i, j] = (1.0 - z[first + j] ** 2) * left
            slope[i, j + 1 : i + 1] = -z[first + j] * C[i, j + 1 : i + 1]
            yield slope
        first += i


def root_slopes(G: Array, L: Array, C: Array, psi: Array) -> Array:
    """Slopes in log sds and psi, none of which may be there, from those in L (q, q), (RAN3)."""
    by_sd = np.einsum("ij,ij->i", G, L)
    if not len(psi):
        return by_sd
    sd = np.sqrt(np.square(L).sum(axis=1))
    by_psi = [float(np.sum(sd[:, None] * G * slope)) for slope in correlation_slopes(psi, C)]
    return np.concatenate([by_sd, by_psi])


@dataclass(frozen=True, slots=True)
class GroupEffects(GPPrior):
    """Coefficients of some columns that differ between groups, in the place of a process without a kernel."""

    approximation: str = "low_rank"
    correlated: bool = True

    @property
    def size(self) -> int:
        """Coefficients of a group, q."""
        return self.inputs.X.shape[1]

    @property
    def n_parameters(self) -> int:
        """Log sds, and psi of every pair where they are correlated."""
        return self.size + (self.size * (self.size - 1) // 2 if self.correlated else 0)

    def covariance_of_rows(self, theta: Array) -> Array:
        """As of any term."""
        A = EffectsAt.of(theta, self.size, self.grouping).features(self.inputs.X).A
        return A @ A.T

    @property
    def block(self) -> EffectsBlock:
        """The term as a block."""
        return EffectsBlock(self.inputs, self.grouping, self.n_parameters)

    def low_rank(self, theta: Array, precision: Array, *, nats: float, cap: int) -> tuple[EffectsBlock, float]:
        """The block, which leaves nothing."""
        return self.block, 0.0


@dataclass(frozen=True, slots=True)
class EffectsBlock:
    """The same as a block."""

    inputs: Inputs  # of the training rows, columns (n, q) standardised
    grouping: Grouping | None
    n_parameters: int

    @property
    def size(self) -> int:
        """Features of a row, q."""
        return self.inputs.X.shape[1]

    def at(self, theta: Array) -> EffectsAt:
        """Fix ``theta = (log sds, psi)``."""
        return EffectsAt.of(theta, self.size, self.grouping)


@dataclass(frozen=True, slots=True)
class EffectsAt:
    """Random effects at fixed parameters."""

    L: Array  # (q, q), lower triangular, of the covariance
    C: Array  # (q, q), of the correlations
    psi: Array
    grouping: Grouping | None

    @classmethod
    def of(cls, theta: Array, q: int, grouping: Grouping | None) -> EffectsAt:
        """At ``theta = (log sds, psi)``."""
        C = correlation_root(theta[q:], q) if len(theta) > q else np.eye(q)
        return cls(np.exp(theta[:q])[:, None] * C, C, theta[q:], grouping)

    @property
    def size(self) -> int:
        """Features of a row."""
        return len(self.L)

    def features(self, X: Array, *, slopes: bool = False) -> Features:
        """``X L``, (RAN1)."""
        return Features(triangular_product(X.copy(), self.L, transposed=False), np.zeros(len(X)))

    def mean(self, X: Array, w: Array) -> Array:
        """``X L w``."""
        return X @ (self.L @ w)

    def backward(self, X: Array, features: Features, G_A: Array, g_d: Array) -> tuple[Array, ...]:
        """``X' G``, what the evidence gains by L; of a group that was not seen there is none."""
        return (X.T @ G_A,)

    def finish(self, sums: Sequence[Array]) -> Array:
        """Gradient in log sds and psi, (RAN3)."""
        return root_slopes(sums[0], self.L, self.C, self.psi)
