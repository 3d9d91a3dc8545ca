"""Random effects: coefficients of some columns that differ between groups, ``b_g ~ N(0, L L')``, (RAN1) to (RAN4).

``L = D C``, D of the standard deviations and C C' the correlations, C with rows of unit length in canonical partial
correlations ``z_ij = tanh psi_ij``: any psi gives correlations.

Users see standard deviations and correlations of the coefficients. Internally, columns are centred if an intercept
absorbs their means, so that coefficients b_g = T b_c,g.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import betaln, log_expit

from tobitgp.numerics.linear_algebra import triangular_product
from tobitgp.priors.kernel_block import GPPrior
from tobitgp.priors.structure import Features, Grouping, Inputs
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
    """Coefficients of some columns that differ between groups; takes the role of a process, without a kernel."""

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


ETA = 2.0  # of the default prior of correlations
_MOST = 1.0 - 1e-15


class EffectParameters(NamedTuple):
    """Where those of one term are in theta, and what they are of."""

    first: int
    q: int  # coefficients of a group
    correlated: bool
    T: Array  # (q, q), from the coefficients of standardised columns to those of the columns as they are, but for units
    eta: float = ETA  # of the LKJ prior of the correlations; NaN where they have none
    cor: tuple[float, float] | None = None  # shapes of a beta prior of the only correlation, for the LKJ prior

    @property
    def words(self) -> str:
        """The prior of the correlations as summaries show it."""
        return f"LKJ({self.eta:g})" if self.cor is None else f"beta({self.cor[0]:g}, {self.cor[1]:g})"

    @property
    def sds(self) -> slice:
        """Places of log sds."""
        return slice(self.first, self.first + self.q)

    @property
    def cors(self) -> slice:
        """Places of psi."""
        pairs = self.q * (self.q - 1) // 2 if self.correlated else 0
        return slice(self.first + self.q, self.first + self.q + pairs)

    def report(self, theta: Array) -> tuple[Array, Array]:
        """Log sds and Fisher's z of the correlations of ``b_g``, (k,), and their derivatives in theta's, (k, k)."""
        sd, psi = np.exp(theta[self.sds]), theta[self.cors]
        C = correlation_root(psi, self.q) if self.correlated else np.eye(self.q)
        M = self.T @ (sd[:, None] * C)
        slopes = [self.T[:, [i]] * (sd[i] * C[i]) for i in range(self.q)]
        slopes += [self.T @ (sd[:, None] * slope) for slope in correlation_slopes(psi, C)] if self.correlated else []
        rows, columns = np.tril_indices(self.q, -1)
        if not self.correlated:
            rows = columns = rows[:0]
        V = M @ M.T
        size = np.sqrt(V.diagonal())
        # If columns are far from 0 relative to their spread, a correlation is 1 up to rounding.
        R = np.clip((V / size / size[:, None])[rows, columns], -_MOST, _MOST)
        J = []
        for slope in slopes:
            dV = slope @ M.T + M @ slope.T
            by_size = 0.5 * dV.diagonal() / V.diagonal()
            of_R = (dV / size / size[:, None])[rows, columns] - R * (by_size[rows] + by_size[columns])
            J.append(np.concatenate([by_size, of_R / (1.0 - R * R)]))
        return np.concatenate([np.log(size), np.arctanh(R)]), np.array(J).T

    def of_intercept(self, names: Sequence[str]) -> Iterator[tuple[int, str]]:
        """Places and names of the parameters that centring changes: all but the sds of slopes."""
        kept = [i for i in range(self.q) if np.count_nonzero(self.T[i]) == 1]
        return ((self.first + i, name) for i, name in enumerate(names) if i not in kept)

    @property
    def centred(self) -> bool:
        """Whether columns are centred inside."""
        return bool((np.eye(self.q) != self.T).any())

    def centre(self, theta: Array) -> Array:
        """Log sds and psi (k,) of the coefficients of centred columns from those of the columns as they are."""
        M = np.linalg.solve(self.T, np.exp(theta[: self.q, None]) * correlation_root(theta[self.q :], self.q))
        V = M @ M.T
        size = np.sqrt(V.diagonal())
        return np.concatenate([np.log(size), psi_of(V / size / size[:, None])])

    def log_prior(self, theta: Array) -> tuple[float, Array]:
        """LKJ density of the correlations in psi, and its gradient, (RAN4); or that of (1 + rho) / 2 being beta."""
        psi = theta[self.cors]
        if self.cor is not None:
            first, second = self.cor
            below, above = log_expit(2.0 * psi), log_expit(-2.0 * psi)
            density = float(np.sum(first * below + second * above + np.log(2.0) - betaln(first, second)))
            return density, 2.0 * (first * np.exp(above) - second * np.exp(below))
        column = np.concatenate([np.arange(1.0, i + 1.0) for i in range(self.q)])
        if not len(psi) or np.isnan(self.eta):
            return 0.0, np.zeros_like(psi)
        b = self.eta + 0.5 * (self.q - 1.0 - column)
        log_cosh = np.abs(psi) + np.log1p(np.exp(-2.0 * np.abs(psi))) - np.log(2.0)
        return float(np.sum(-2.0 * b * log_cosh - betaln(0.5, b))), -2.0 * b * np.tanh(psi)


def psi_of(R: Array) -> Array:
    """Psi (q (q - 1) / 2,) of correlations R (q, q), positive definite."""
    C, psi = np.linalg.cholesky(R), []
    for i in range(len(C)):
        left = 1.0
        for j in range(i):
            psi.append(np.arctanh(C[i, j] / left))
            left *= np.sqrt(1.0 - np.tanh(psi[-1]) ** 2)
    return np.array(psi)
