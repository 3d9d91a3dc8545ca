"""Kernels: correlation functions of pairs of inputs, and their derivatives.

A kernel is three functions. ``value(X, Z, shape)`` gives the (n, M) correlations of inputs already divided by their
length-scales, where the kernel has them; ``contract(X, Z, shape, K, G)`` gives ``sum_nm G_nm dK_nm / dtheta`` for the
logarithm of every length-scale and then of every shape parameter, and ``contract_inputs(X, Z, shape, K, G)`` gives
``sum_n G_nm dK_nm / dz_m``, neither forming an array of size n x M x d. X and Z may also be stacks of such sets where a
kernel is not stationary.

The covariance of a process is a product of kernels over parts of its inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial, reduce
from itertools import accumulate, pairwise

import numpy as np

from tobitgp.formula.functions import KERNEL_NAMES
from tobitgp.typing import Array

Contraction = Callable[[Array, Array, Array, Array, Array], Array]


def _ones(X: Array) -> Array:
    return np.ones(len(X))


@dataclass(frozen=True, slots=True)
class Kernel:
    """A correlation function and its derivatives."""

    value: Callable[[Array, Array, Array], Array]  # ``(X (n, d), Z (M, d), shape (k,)) -> K (n, M)``
    contract: Contraction  # ``(X, Z, shape, K, G) -> slopes (d + k,)``
    contract_inputs: Contraction  # ``(X, Z, shape, K, G) -> slopes (M, d)``
    scaled: bool = True  # whether inputs are divided by length-scales
    shape: tuple[str, ...] = ()  # roles of its further parameters, all positive
    diagonal: Callable[[Array], Array] = _ones  # ``X -> k(x_n, x_n)``, (n,); free of parameters
    stationary: bool = True  # whether only differences of inputs matter, so that inputs may be centred
    markov: int | None = None  # p of a Matern kernel of smoothness p + 1/2, Markov in one input
    compiled: int | None = None  # its number in the compiled core, which has it if there is one


def squared_distance(X: Array, Z: Array) -> Array:
    """Squared Euclidean distances, (n, M), by differences so that near points keep their digits."""
    r2 = np.subtract.outer(X[:, 0], Z[:, 0])
    r2 *= r2
    for j in range(1, X.shape[1]):
        step = np.subtract.outer(X[:, j], Z[:, j])
        step *= step
        r2 += step
    return r2


def radial(
    profile: Callable[[Array], Array],
    slope: Callable[[Array, Array], Array],
    markov: int | None = None,
    compiled: int | None = None,
) -> Kernel:
    """Build a kernel of ``r^2 = |x - z|^2`` from its profile ``g(r^2)`` and ``slope(r^2, g) = -2 dg / dr^2``."""
    weights = partial(_radial_weights, slope)
    return Kernel(partial(_radial_value, profile), *_by_distances(weights), markov=markov, compiled=compiled)


def _radial_value(profile: Callable[[Array], Array], X: Array, Z: Array, shape: Array) -> Array:
    return profile(squared_distance(X, Z))


def _radial_weights(
    slope: Callable[[Array, Array], Array], X: Array, Z: Array, shape: Array, K: Array, G: Array
) -> Array:
    W = slope(squared_distance(X, Z), K)
    W *= G
    return W


def _by_distances(weights: Contraction) -> tuple[Contraction, Contraction]:
    """Both contractions of a kernel with slopes ``W (x - z)`` in z and ``W (x - z)^2`` in log lengthscale."""
    return partial(_squared_steps, weights), partial(_summed_steps, weights)


def _squared_steps(weights: Contraction, X: Array, Z: Array, shape: Array, K: Array, G: Array) -> Array:
    W = weights(X, Z, shape, K, G)
    return W.sum(axis=1) @ (X * X) + W.sum(axis=0) @ (Z * Z) - 2.0 * np.einsum("nd,nd->d", X, W @ Z)


def _summed_steps(weights: Contraction, X: Array, Z: Array, shape: Array, K: Array, G: Array) -> Array:
    W = weights(X, Z, shape, K, G)
    return W.T @ X - W.sum(axis=0)[:, None] * Z


def _rbf_value(X: Array, Z: Array, shape: Array) -> Array:
    """``exp(x'z - |x|^2 / 2 - |z|^2 / 2)``: one matrix product gives all exponents."""
    d = X.shape[1]
    left, right = np.ones((len(X), d + 2)), np.ones((len(Z), d + 2))
    left[:, :d], right[:, :d] = X, Z
    left[:, d], right[:, d + 1] = -0.5 * np.einsum("nd,nd->n", X, X), -0.5 * np.einsum("md,md->m", Z, Z)
    K = left @ right.T
    np.minimum(K, 0.0, out=K)
    return np.exp(K, out=K)


def _rbf_weights(X: Array, Z: Array, shape: Array, K: Array, G: Array) -> Array:
    return K * G


def _matern12(r2: Array) -> Array:
    return np.exp(-np.sqrt(r2))


def _matern12_slope(r2: Array, k: Array) -> Array:
    # At r = 0 the slope is infinite but meets a distance of zero; there the kernel has a peak and no direction.
    r = np.sqrt(r2)
    return np.divide(k, r, out=np.zeros_like(r), where=r > 0)


def _matern32(r2: Array) -> Array:
    s = np.sqrt(3.0 * r2)
    return (1.0 + s) * np.exp(-s)


def _matern32_slope(r2: Array, k: Array) -> Array:
    return 3.0 * np.exp(-np.sqrt(3.0 * r2))


def _matern52(r2: Array) -> Array:
    s = np.sqrt(5.0 * r2)
    return (1.0 + s + s * s / 3.0) * np.exp(-s)


def _matern52_slope(r2: Array, k: Array) -> Array:
    s = np.sqrt(5.0 * r2)
    return (5.0 / 3.0) * (1.0 + s) * np.exp(-s)


def _rq_value(X: Array, Z: Array, shape: Array) -> Array:
    """``(1 + r^2 / (2 alpha))^-alpha``: a mixture of rbf kernels over length-scales."""
    (alpha,) = shape
    return np.exp(-alpha * np.log1p(squared_distance(X, Z) / (2.0 * alpha)))


def _rq_weights(X: Array, Z: Array, shape: Array, K: Array, G: Array) -> Array:
    (alpha,) = shape
    return G * K / (1.0 + squared_distance(X, Z) / (2.0 * alpha))


def _rq_contract(X: Array, Z: Array, shape: Array, K: Array, G: Array) -> Array:
    (alpha,) = shape
    u = squared_distance(X, Z) / (2.0 * alpha)
    W = G * K
    by_alpha = alpha * float(np.einsum("nm,nm->", W, u / (1.0 + u) - np.log1p(u)))
    return np.append(_squared_steps(_rq_weights, X, Z, shape, K, G), by_alpha)


def _periodic_value(X: Array, Z: Array, shape: Array) -> Array:
    """``exp(-2 sin^2(pi (x - z) / period) / lengthscale^2)``: the rbf kernel between points of a circle."""
    lengthscale, period = shape
    s = np.sin(np.pi / period * np.subtract.outer(X[:, 0], Z[:, 0]))
    return np.exp(-2.0 / lengthscale**2 * s * s)


def _periodic_contract(X: Array, Z: Array, shape: Array, K: Array, G: Array) -> Array:
    lengthscale, period = shape
    angle = np.pi / period * np.subtract.outer(X[:, 0], Z[:, 0])
    W = G * K
    by_lengthscale = 4.0 / lengthscale**2 * np.einsum("nm,nm->", W, np.sin(angle) ** 2)
    by_period = 2.0 / lengthscale**2 * np.einsum("nm,nm->", W, angle * np.sin(2.0 * angle))
    return np.array([by_lengthscale, by_period])


def _periodic_contract_inputs(X: Array, Z: Array, shape: Array, K: Array, G: Array) -> Array:
    lengthscale, period = shape
    W = np.sin(2.0 * np.pi / period * np.subtract.outer(X[:, 0], Z[:, 0]))
    W *= K
    W *= G
    return (2.0 * np.pi / (period * lengthscale**2)) * W.sum(axis=0)[:, None]


def _linear_value(X: Array, Z: Array, shape: Array) -> Array:
    """``x'z``: the covariance of a slope through the origin, which is that of the standardised inputs."""
    return X @ Z.swapaxes(-1, -2)


def _linear_diagonal(X: Array) -> Array:
    return np.einsum("nd,nd->n", X, X)


def _linear_contract_inputs(X: Array, Z: Array, shape: Array, K: Array, G: Array) -> Array:
    return G.T @ X


def _no_parameters(X: Array, Z: Array, shape: Array, K: Array, G: Array) -> Array:
    return np.empty(0)


KERNELS: dict[str, Kernel] = {
    "rbf": Kernel(_rbf_value, *_by_distances(_rbf_weights), compiled=0),
    "matern12": radial(_matern12, _matern12_slope, 0, 1),
    "matern32": radial(_matern32, _matern32_slope, 1, 2),
    "matern52": radial(_matern52, _matern52_slope, 2, 3),
    "rq": Kernel(_rq_value, _rq_contract, partial(_summed_steps, _rq_weights), shape=("alpha",)),
    "periodic": Kernel(
        _periodic_value, _periodic_contract, _periodic_contract_inputs, scaled=False, shape=("arc", "period")
    ),
    "linear": Kernel(
        _linear_value,
        _no_parameters,
        _linear_contract_inputs,
        scaled=False,
        diagonal=_linear_diagonal,
        stationary=False,
    ),
}
KERNEL_NAMES.extend(KERNELS)  # what formulas may name


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

    def _scaled(self, X: Array, Z: Array, parameters: Array) -> tuple[Array, Array, Array]:
        """Its own inputs (n, d) and (M, d), divided by their length-scales, and the shape parameters."""
        scales, shape = parameters[: self.n_scales], parameters[self.n_scales :]
        own = X[..., self.columns], Z[..., self.columns]
        return (own[0] / scales, own[1] / scales, shape) if self.n_scales else (*own, shape)

    def value(self, X: Array, Z: Array, parameters: Array) -> Array:
        """Correlations (n, M)."""
        return self.kernel.value(*self._scaled(X, Z, parameters))

    def value_pairs(self, X: Array, Z: Array, parameters: Array) -> Array:
        """Correlations (P,) of inputs X (P, d) with one z each, (P, d)."""
        return self.value(*self._paired(X, Z), parameters).reshape(len(X))

    def contract_pairs(self, X: Array, Z: Array, parameters: Array, K: Array, G: Array) -> Array:
        """``sum_p G_p dK_p / dlog parameter``, (k,)."""
        return self.contract(*self._paired(X, Z), parameters, K[:, None], G[:, None])

    def _paired(self, X: Array, Z: Array) -> tuple[Array, Array]:
        """Differences and the origin where they are all that matters, else P pairs of sets of one input each."""
        return (X - Z, np.zeros((1, X.shape[1]))) if self.kernel.stationary else (X[:, None], Z[:, None])

    def contract(self, X: Array, Z: Array, parameters: Array, K: Array, G: Array) -> Array:
        """``sum_nm G_nm dK_nm / dlog parameter``, (k,)."""
        slopes = self.kernel.contract(*self._scaled(X, Z, parameters), K, G)
        if not self.kernel.scaled or self.ard:
            return slopes
        d = self.columns.stop - self.columns.start
        return np.concatenate([[slopes[:d].sum()], slopes[d:]])

    def contract_inputs(self, X: Array, Z: Array, parameters: Array, K: Array, G: Array) -> Array:
        """``sum_n G_nm dK_nm / dz_m`` for its own inputs of every z, (M, d)."""
        slopes = self.kernel.contract_inputs(*self._scaled(X, Z, parameters), K, G)
        return slopes / parameters[: self.n_scales] if self.n_scales else slopes


@dataclass(frozen=True, slots=True)
class Covariance:
    """Product of factors, at most ``k(x, x) = 1`` each where they are stationary; without factors it is one."""

    factors: tuple[KernelFactor, ...]

    @property
    def n_parameters(self) -> int:
        """Parameters of all factors."""
        return sum(factor.n_parameters for factor in self.factors)

    @property
    def compiled(self) -> int | None:
        """Its number in the compiled core, where that has it: one kernel of the core's, or a constant."""
        if not self.factors:
            return 0
        return self.factors[0].kernel.compiled if len(self.factors) == 1 else None

    @property
    def places(self) -> list[tuple[KernelFactor, slice]]:
        """Each factor, and where its parameters are among those of all."""
        ends = accumulate((f.n_parameters for f in self.factors), initial=0)
        return [(f, slice(*pair)) for f, pair in zip(self.factors, pairwise(ends), strict=True)]

    def value(self, X: Array, Z: Array, parameters: Array) -> Array:
        """Correlations (n, M) between inputs X (n, d) and Z (M, d)."""
        return _product(self._values(X, Z, parameters), (len(X), len(Z)))

    def diagonal(self, X: Array) -> Array:
        """``k(x_n, x_n)``, (n,)."""
        return _product([f.kernel.diagonal(X[:, f.columns]) for f in self.factors], (len(X),))

    def scales(self, parameters: Array) -> Array:
        """Length-scales (d,) by which inputs are divided, one where they are not."""
        out = np.ones(max((factor.columns.stop for factor in self.factors), default=0))
        for factor, at in self.places:
            if factor.n_scales:
                out[factor.columns] = parameters[at][: factor.n_scales]
        return out

    def contract(self, X: Array, Z: Array, parameters: Array, K: Array, G: Array) -> Array:
        """``sum_nm G_nm dK_nm / dlog parameter`` for every parameter, (k,), where ``K`` is ``value(X, Z)``."""
        values = [K] if len(self.factors) == 1 else self._values(X, Z, parameters)
        slopes = [f.contract(X, Z, *share) for f, *share in self._shares(values, parameters, G)]
        return np.concatenate([np.empty(0), *slopes])

    def value_pairs(self, X: Array, Z: Array, parameters: Array) -> Array:
        """Correlations (P,) of inputs X (P, d) with one z each, (P, d)."""
        return _product([f.value_pairs(X, Z, parameters[at]) for f, at in self.places], (len(X),))

    def contract_pairs(self, X: Array, Z: Array, parameters: Array, K: Array, G: Array) -> Array:
        """``sum_p G_p dK_p / dlog parameter`` for every parameter, (k,), where ``K`` is ``value_pairs(X, Z)``."""
        values = [K] if len(self.factors) == 1 else [f.value_pairs(X, Z, parameters[at]) for f, at in self.places]
        slopes = [f.contract_pairs(X, Z, *share) for f, *share in self._shares(values, parameters, G)]
        return np.concatenate([np.empty(0), *slopes])

    def contract_inputs(self, X: Array, Z: Array, parameters: Array, K: Array, G: Array) -> Array:
        """``sum_n G_nm dK_nm / dz_m`` for every input of every z, (M, d), where ``K`` is ``value(X, Z)``."""
        slopes = np.zeros(Z.shape)
        values = [K] if len(self.factors) == 1 else self._values(X, Z, parameters)
        for factor, *share in self._shares(values, parameters, G):
            slopes[:, factor.columns] = factor.contract_inputs(X, Z, *share)
        return slopes

    def _shares(
        self, values: list[Array], parameters: Array, G: Array
    ) -> Iterator[tuple[KernelFactor, Array, Array, Array]]:
        """Each factor, its parameters and values, and its weights in the product rule."""
        for t, (factor, at) in enumerate(self.places):
            yield factor, parameters[at], values[t], reduce(np.multiply, values[:t] + values[t + 1 :], G)

    def _values(self, X: Array, Z: Array, parameters: Array) -> list[Array]:
        return [factor.value(X, Z, parameters[at]) for factor, at in self.places]


def _product(values: list[Array], shape: tuple[int, ...]) -> Array:
    return reduce(np.multiply, values) if values else np.ones(shape)
