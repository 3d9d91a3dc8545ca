"""The covariance of a process: kernels over parts of its inputs, multiplied."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np

from tobitgp.prior.kernels import Kernel
from tobitgp.typing import Array


@dataclass(frozen=True, slots=True)
class KernelFactor:
    """One kernel and the inputs it is of."""

    kernel: Kernel
    columns: slice  # among the process's inputs
    ard: bool = True  # A length-scale for each input, or one for all

    @property
    def n_scales(self) -> int:
        """Number of length-scales that divide inputs."""
        return (self.columns.stop - self.columns.start if self.ard else 1) if self.kernel.scaled else 0

    @property
    def n_parameters(self) -> int:
        """Length-scales and shape parameters."""
        return self.n_scales + len(self.kernel.shape)

    def inputs(self, X: Array, parameters: Array) -> Array:
        """Its own inputs (n, d), divided by their length-scales."""
        own = X[:, self.columns]
        return own / parameters[: self.n_scales] if self.n_scales else own

    def value(self, X: Array, Z: Array, parameters: Array) -> Array:
        """Correlations (n, M)."""
        return self.kernel.value(self.inputs(X, parameters), self.inputs(Z, parameters), parameters[self.n_scales :])

    def contract(self, X: Array, Z: Array, parameters: Array, K: Array, G: Array) -> Array:
        """``sum_nm G_nm dK_nm / dlog parameter``, (k,)."""
        at = self.inputs(X, parameters), self.inputs(Z, parameters), parameters[self.n_scales :]
        slopes = self.kernel.contract(*at, K, G)
        if not self.kernel.scaled or self.ard:
            return slopes
        d = self.columns.stop - self.columns.start
        return np.concatenate([[slopes[:d].sum()], slopes[d:]])

    def contract_inputs(self, X: Array, Z: Array, parameters: Array, K: Array, G: Array) -> Array:
        """``sum_n G_nm dK_nm / dz_m`` for its own inputs of every z, (M, d)."""
        at = self.inputs(X, parameters), self.inputs(Z, parameters), parameters[self.n_scales :]
        slopes = self.kernel.contract_inputs(*at, K, G)
        return slopes / parameters[: self.n_scales] if self.n_scales else slopes


@dataclass(frozen=True, slots=True)
class Covariance:
    """Product of factors, at most ``k(x, x) = 1`` each where they are stationary; without factors it is one."""

    factors: tuple[KernelFactor, ...]

    @property
    def n_parameters(self) -> int:
        """Parameters of all factors."""
        return sum(factor.n_parameters for factor in self.factors)

    def value(self, X: Array, Z: Array, parameters: Array) -> Array:
        """Correlations (n, M) between inputs X (n, d) and Z (M, d)."""
        return _product(self._values(X, Z, parameters), (len(X), len(Z)))

    def diagonal(self, X: Array) -> Array:
        """``k(x_n, x_n)``, (n,)."""
        return _product([f.kernel.diagonal(X[:, f.columns]) for f in self.factors], (len(X),))

    def contract(self, X: Array, Z: Array, parameters: Array, K: Array, G: Array) -> Array:
        """``sum_nm G_nm dK_nm / dlog parameter`` for every parameter, (k,), where ``K`` is ``value(X, Z)``."""
        if len(self.factors) == 1:
            return self.factors[0].contract(X, Z, parameters, K, G)
        values, slopes = self._values(X, Z, parameters), []
        for t, (factor, own) in enumerate(zip(self.factors, self._split(parameters), strict=True)):
            others = _product([v for s, v in enumerate(values) if s != t], K.shape)
            slopes.append(factor.contract(X, Z, own, values[t], G * others))
        return np.concatenate([np.empty(0), *slopes])

    def contract_inputs(self, X: Array, Z: Array, parameters: Array, K: Array, G: Array) -> Array:
        """``sum_n G_nm dK_nm / dz_m`` for every input of every z, (M, d), where ``K`` is ``value(X, Z)``."""
        slopes = np.zeros(Z.shape)
        values = [K] if len(self.factors) == 1 else self._values(X, Z, parameters)
        for t, (factor, own) in enumerate(zip(self.factors, self._split(parameters), strict=True)):
            rest = [v for s, v in enumerate(values) if s != t]
            weights = G * _product(rest, K.shape) if rest else G
            slopes[:, factor.columns] = factor.contract_inputs(X, Z, own, values[t], weights)
        return slopes

    def _values(self, X: Array, Z: Array, parameters: Array) -> list[Array]:
        return [f.value(X, Z, own) for f, own in zip(self.factors, self._split(parameters), strict=True)]

    def _split(self, parameters: Array) -> list[Array]:
        if len(self.factors) == 1:
            return [parameters]
        ends = np.cumsum([f.n_parameters for f in self.factors])
        return np.split(parameters, ends[:-1]) if self.factors else []


def _product(values: list[Array], shape: tuple[int, ...]) -> Array:
    return reduce(np.multiply, values) if values else np.ones(shape)
