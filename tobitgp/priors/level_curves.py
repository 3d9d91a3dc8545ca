"""Curves of the levels of a factor that are correlated: coregionalisation, (COR1) to (COR3) of the theory pages.

``f_j = sum_r L_jr u_r`` with independent processes u_r of the same kernel and unit variance, so that the curves of two
levels have the covariance ``(L L')_jl k(x, x')``. The level of a row is the last column of its inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tobitgp.priors.group_effects import correlation_root, root_slopes
from tobitgp.priors.kernel_block import GPPrior, KernelBlock, KernelFeatures
from tobitgp.priors.kernels import Covariance
from tobitgp.priors.structure import Features, Grouping, Inputs
from tobitgp.typing import Array, IntArray


def with_level(X: Array, code: IntArray) -> Inputs:
    """Inputs (n, d + 1) whose last column is the level of each row."""
    return Inputs(np.column_stack([X, code.astype(np.float64)]))


def _parted(X: Array) -> tuple[Array, IntArray]:
    code: IntArray = X[:, -1].astype(np.intp)
    return np.ascontiguousarray(X[:, :-1]), code


@dataclass(frozen=True, slots=True)
class LevelCurves(GPPrior):
    """The term before its inducing inputs are chosen; parameters are log sds, psi, and those of the kernel."""

    kernel: Covariance = field(kw_only=True)
    levels: int = field(kw_only=True)

    @property
    def n_covariance(self) -> int:
        """Log sds and psi."""
        return self.levels * (self.levels + 1) // 2

    @property
    def n_parameters(self) -> int:
        """Log sds, psi of every pair, and the logarithms of the kernel's parameters."""
        return self.n_covariance + self.kernel.n_parameters

    @property
    def kernels(self) -> tuple[Inputs, Covariance, int]:
        """Without the level of a row."""
        return Inputs(_parted(self.inputs.X)[0]), self.kernel, self.n_covariance

    def covariance_of_rows(self, theta: Array) -> Array:
        """As of any term."""
        X, code = _parted(self.inputs.X)
        L = _root(theta[: self.n_covariance], self.levels)[0]
        K = self.kernel.value(X, X, np.exp(theta[self.n_covariance :]))
        return np.asarray((L @ L.T)[np.ix_(code, code)] * K)

    def low_rank(self, theta: Array, precision: Array, *, nats: float, cap: int) -> tuple[LevelCurvesBlock, float]:
        """Block with inducing inputs as for one curve of the largest sd, and the nats they leave."""
        X, _ = _parted(self.inputs.X)
        given = self.inducing
        if isinstance(given, np.ndarray) and given.shape[1] > X.shape[1]:  # all distinct inputs with their levels
            given = np.unique(given[:, :-1], axis=0)
        largest = np.append(theta[: self.levels].max(), theta[self.n_covariance :])
        block, left = GPPrior(Inputs(X), self.kernel, given).low_rank(largest, precision, nats=nats, cap=cap)
        return self.induced(block.Z), left

    def induced(self, Z: Array) -> LevelCurvesBlock:
        """Block with inducing inputs Z (M, d)."""
        curve = KernelBlock(Inputs(_parted(self.inputs.X)[0]), self.kernel, Z)
        return LevelCurvesBlock(self.inputs, curve, self.levels, self.n_covariance)


def _root(theta: Array, levels: int) -> tuple[Array, Array]:
    """L (J, J) and the root C of the correlations."""
    C = correlation_root(theta[levels:], levels)
    return np.exp(theta[:levels])[:, None] * C, C


@dataclass(frozen=True, slots=True)
class LevelCurvesBlock:
    """Correlated curves with inducing inputs chosen."""

    inputs: Inputs  # of the training rows, the level last
    curve: KernelBlock  # one of unit variance
    levels: int
    n_covariance: int
    grouping: None = None

    @property
    def n_parameters(self) -> int:
        """As of the term."""
        return self.n_covariance + self.curve.covariance.n_parameters

    @property
    def size(self) -> int:
        """Columns of a row, at most."""
        return self.levels * len(self.curve.Z)

    def at(self, theta: Array) -> LevelCurvesAt:
        """Fix the parameters."""
        L, C = _root(theta[: self.n_covariance], self.levels)
        unit = self.curve.at(np.append(0.0, theta[self.n_covariance :]))
        return LevelCurvesAt(L, C, theta[self.levels : self.n_covariance], unit)


@dataclass(frozen=True, slots=True)
class LevelCurvesAt:
    """Correlated curves at fixed parameters."""

    L: Array  # (J, J), lower triangular
    C: Array  # (J, J), of the correlations
    psi: Array
    curve: KernelFeatures  # of unit variance
    grouping: Grouping | None = None

    @property
    def size(self) -> int:
        """Columns of a row: those of a curve for each u_r."""
        return len(self.L) * self.curve.size

    def features(self, X: Array, *, slopes: bool = False) -> Features:
        """``L_j (x) a(x)`` (n, J M), (COR2)."""
        X, code = _parted(X)
        one = self.curve.features(X, slopes=slopes)
        d = np.square(self.L).sum(axis=1)[code] * one.d
        return Features(
            np.einsum("nr,nm->nrm", self.L[code], one.A).reshape(len(X), self.L.shape[1] * one.A.shape[1]), d, one
        )

    def residuals(self, X: Array, A: Array, rows: slice) -> Array:
        """As of a process, ``A`` (n, M) being features of a curve of unit variance."""
        X, code = _parted(X)
        return (self.L @ self.L.T)[np.ix_(code, code[rows])] * self.curve.residuals(X, A, rows)

    def mean(self, X: Array, w: Array) -> Array:
        """``A w``."""
        X, code = _parted(X)
        curves = np.stack([self.curve.mean(X, own) for own in w.reshape(len(self.L), -1)], axis=1)
        return np.einsum("nr,nr->n", self.L[code], curves)

    def backward(self, X: Array, features: Features, G_A: Array, g_d: Array) -> tuple[Array, ...]:
        """Slopes in L (J, J), in log sds through d (J,), and those of a curve, (COR3)."""
        X, code = _parted(X)
        J, one = len(self.L), features.cache
        G = G_A.reshape(len(X), J, -1)
        of_L = np.zeros((J, J))
        np.add.at(of_L, code, np.einsum("nrm,nm->nr", G, one.A))
        by_d = np.asarray(np.bincount(code, 2.0 * g_d * features.d, J), dtype=np.float64)
        variance = np.square(self.L).sum(axis=1)[code]
        curve = self.curve.backward(X, one, np.einsum("nr,nrm->nm", self.L[code], G), g_d * variance)
        return of_L, by_d, *curve

    def finish(self, sums: Sequence[Array]) -> Array:
        """Gradient in log sds, psi, and the kernel's parameters."""
        of_L, by_d, *curve = sums
        by_root = root_slopes(of_L, self.L, self.C, self.psi)
        by_root[: len(self.L)] += by_d
        return np.concatenate([by_root, self.curve.finish(curve)[1:]])
