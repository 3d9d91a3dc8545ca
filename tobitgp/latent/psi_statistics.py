r"""Expectations of the squared-exponential kernel over normal inputs, and their derivatives: (LAT3) and (LAT4).

Row i has inputs N(mu_iq, s_iq) in Q independent dimensions, the kernel a variance of 1 and a length-scale in each
dimension. Matrices over pairs of inducing inputs are symmetric; a row of ``psi2`` holds their upper triangle.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tobitgp.typing import Array, IntArray


class NormalInputs(NamedTuple):
    """Inputs of rows: means and variances, (n, Q) each."""

    mean: Array
    var: Array


class InputPrior(NamedTuple):
    """Normal prior of the inputs of rows, (n, Q) each, or the same for all."""

    mean: Array
    sd: Array  # 0 of inputs that are known

    def placed(self, inputs: NormalInputs) -> NormalInputs:
        """Inputs in units of the kernel, of those in units of the prior."""
        return NormalInputs(self.mean + self.sd * inputs.mean, np.square(self.sd) * inputs.var)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.mean)

    def drawn(self, rng: np.random.Generator) -> Array:
        """A point of each row, (n, Q)."""
        return np.asarray(self.mean + self.sd * rng.standard_normal(self.mean.shape))


STANDARD = InputPrior(np.zeros((1, 1)), np.ones((1, 1)))


@dataclass(frozen=True)
class InducingInputs:
    """Inducing inputs and the length-scales of the kernel."""

    z: Array  # (M, Q)
    lengthscale: Array  # (Q,)

    @cached_property
    def pairs(self) -> tuple[IntArray, IntArray]:
        """Places of the P = M (M + 1) / 2 pairs in the upper triangle, (P,) each."""
        return np.triu_indices(len(self.z))

    @cached_property
    def middle(self) -> Array:
        """Middles of the pairs, (P, Q)."""
        a, b = self.pairs
        return np.asarray(0.5 * (self.z[a] + self.z[b]))

    @cached_property
    def gap(self) -> Array:
        """Differences of the pairs, (P, Q)."""
        a, b = self.pairs
        return np.asarray(self.z[a] - self.z[b])

    @cached_property
    def multiplicity(self) -> Array:
        """How often a pair occurs in the whole matrix, (P,)."""
        a, b = self.pairs
        return np.where(a == b, 1.0, 2.0)

    @cached_property
    def K(self) -> Array:
        """Kernel matrix (M, M)."""
        return self.matrix(np.exp(-0.5 * np.square(self.gap / self.lengthscale).sum(axis=1)))

    def matrix(self, upper: Array) -> Array:
        """Symmetric matrices (..., M, M) of their upper triangles (..., P)."""
        a, b = self.pairs
        out = np.empty((*upper.shape[:-1], len(self.z), len(self.z)))
        out[..., a, b] = out[..., b, a] = upper
        return out

    def upper(self, matrix: Array) -> Array:
        """Upper triangles (..., P) of symmetric matrices (..., M, M)."""
        a, b = self.pairs
        return np.asarray(matrix[..., a, b])

    def at_ends(self, first: Array, second: Array) -> Array:
        """Sums (M, Q) of numbers (P, Q) at the first and at the second inducing input of each pair."""
        a, b = self.pairs
        out = np.zeros_like(self.z)
        np.add.at(out, a, first)
        np.add.at(out, b, second)
        return out


class StatisticSlopes(NamedTuple):
    """Derivatives in what the statistics depend on."""

    mean: Array  # (n, Q)
    var: Array  # (n, Q)
    z: Array  # (M, Q)
    log_lengthscale: Array  # (Q,)

    def __add__(self, other: tuple[Array, ...]) -> StatisticSlopes:  # type: ignore[override]
        """Sum of two."""
        return StatisticSlopes(*(one + two for one, two in zip(self, other, strict=True)))


@dataclass(frozen=True)
class PsiStatistics:
    """E k(x, z) of every row, and E k(x, z) k(x, z')."""

    inputs: NormalInputs
    inducing: InducingInputs

    @cached_property
    def psi1(self) -> Array:
        """First moments, (n, M): (LAT3)."""
        return _bells(self.inputs, self.inducing.z, np.square(self.inducing.lengthscale), 1.0)

    @cached_property
    def psi2(self) -> Array:
        """Second moments, (n, P): (LAT4)."""
        squared = np.square(self.inducing.lengthscale)
        factor = np.exp(-0.25 * (np.square(self.inducing.gap) / squared).sum(axis=1))
        values = _bells(self.inputs, self.inducing.middle, squared, 2.0)
        values *= factor
        return values

    def slopes(self, of_psi1: Array, of_psi2: Array) -> StatisticSlopes:
        """Derivatives of a function from those in the statistics, (n, M) and (n, P); pairs count once."""
        inducing, squared = self.inducing, np.square(self.inducing.lengthscale)
        W1, W2 = of_psi1 * self.psi1, of_psi2 * self.psi2
        first = _bell_slopes(self.inputs, inducing.z, squared, 1.0, W1)
        second = _bell_slopes(self.inputs, inducing.middle, squared, 2.0, W2)
        w = W2.sum(axis=0)[:, None]
        apart = 0.5 * w * inducing.gap / squared
        scale = second.log_lengthscale + 0.5 * (w * np.square(inducing.gap)).sum(axis=0) / squared
        z = inducing.at_ends(0.5 * second.z - apart, 0.5 * second.z + apart)
        return first + StatisticSlopes(second.mean, second.var, z, scale)


def kernel_slopes(inducing: InducingInputs, of_K: Array) -> tuple[Array, Array]:
    """Derivatives in z (M, Q) and the log length-scales (Q,) from those in K (M, M), which are symmetric."""
    W = (inducing.upper(of_K * inducing.K) * inducing.multiplicity)[:, None]
    pull = W * inducing.gap / np.square(inducing.lengthscale)
    return inducing.at_ends(-pull, pull), np.asarray((pull * inducing.gap).sum(axis=0))


def _bells(inputs: NormalInputs, centre: Array, squared: Array, k: float) -> Array:
    """Products over dimensions of (1 + k s / l^2)^(-1/2) exp(-k (mu - c)^2 / 2 (l^2 + k s)), (n, m)."""
    mu, s = inputs
    c = k / (squared + k * s)
    out = (c * mu) @ centre.T
    out -= 0.5 * (c @ np.square(centre).T)
    out -= 0.5 * ((c * np.square(mu)).sum(axis=1) + np.log1p(k * s / squared).sum(axis=1))[:, None]
    return np.asarray(np.exp(out, out=out))


def _bell_slopes(inputs: NormalInputs, centre: Array, squared: Array, k: float, W: Array) -> StatisticSlopes:
    """Derivatives of a function from those in the logarithms of `_bells`, (n, m); z are the centres."""
    mu, s = inputs
    precision = 1.0 / (squared + k * s)
    total, at, at_square = W.sum(axis=1)[:, None], W @ centre, W @ np.square(centre)
    away = mu * total - at
    spread = mu * mu * total - 2.0 * mu * at + at_square
    bend = k * np.square(precision) * spread
    of_var = 0.5 * k * (bend - total * precision)
    of_log = squared * (bend - total * (precision - 1.0 / squared))
    of_centre = k * (W.T @ (precision * mu) - centre * (W.T @ precision))
    return StatisticSlopes(-k * precision * away, of_var, of_centre, of_log.sum(axis=0))
