"""Kernels: correlation functions on inputs already divided by their length-scales.

A kernel is a pair of functions. ``value(X, Z)`` gives the (n, M) correlations; ``contract(X, Z, K, G)`` gives
``sum_nm G_nm dK_nm / dlog lengthscale_j`` for every input j, without forming an array of size n x M x d.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from tobitgp.typing import Array


@dataclass(frozen=True, slots=True)
class Kernel:
    """A correlation function, ``k(x, x) = 1``, and its derivative in the log length-scales.

    Attributes
    ----------
    value : callable
        ``(X (n, d), Z (M, d)) -> K (n, M)``.
    contract : callable
        ``(X, Z, K, G (n, M)) -> (d,)``, the contraction of ``G`` with ``dK / dlog lengthscale``.
    """

    value: Callable[[Array, Array], Array]
    contract: Callable[[Array, Array, Array, Array], Array]


def squared_distance(X: Array, Z: Array) -> Array:
    """Squared Euclidean distances, (n, M), by differences so that near points keep their digits."""
    r2 = np.subtract.outer(X[:, 0], Z[:, 0])
    r2 *= r2
    for j in range(1, X.shape[1]):
        step = np.subtract.outer(X[:, j], Z[:, j])
        step *= step
        r2 += step
    return r2


def stationary(profile: Callable[[Array], Array], slope: Callable[[Array, Array], Array]) -> Kernel:
    """Build a kernel of ``r^2`` from its profile ``g(r^2)`` and ``slope(r^2, g) = -2 dg / dr^2``.

    With ``r^2 = sum_j (x_j - z_j)^2`` on scaled inputs, ``dk / dlog lengthscale_j = slope (x_j - z_j)^2``.

    Examples
    --------
    >>> rbf = KERNELS["rbf"]
    >>> x = np.array([[0.0], [1.0]])
    >>> rbf.value(x, x).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    """
    return Kernel(partial(_value, profile), partial(_contract, slope))


def _value(profile: Callable[[Array], Array], X: Array, Z: Array) -> Array:
    return profile(squared_distance(X, Z))


def _contract(slope: Callable[[Array, Array], Array], X: Array, Z: Array, K: Array, G: Array) -> Array:
    W = slope(squared_distance(X, Z), K)
    W *= G
    return weighted_steps(X, Z, W)


def weighted_steps(X: Array, Z: Array, W: Array) -> Array:
    """``sum_nm W_nm (x_nj - z_mj)^2`` for every input j, (d,)."""
    return W.sum(axis=1) @ (X * X) + W.sum(axis=0) @ (Z * Z) - 2.0 * np.einsum("nd,nd->d", X, W @ Z)


def _rbf_value(X: Array, Z: Array) -> Array:
    """``exp(x'z - |x|^2 / 2 - |z|^2 / 2)``: one matrix product gives all exponents."""
    half_x, half_z = -0.5 * np.einsum("nd,nd->n", X, X), -0.5 * np.einsum("md,md->m", Z, Z)
    left = np.column_stack([X, half_x, np.ones(len(X))])
    right = np.column_stack([Z, np.ones(len(Z)), half_z])
    K = left @ right.T
    np.minimum(K, 0.0, out=K)
    return np.exp(K, out=K)


def _rbf_contract(X: Array, Z: Array, K: Array, G: Array) -> Array:
    return weighted_steps(X, Z, K * G)


def _matern12(r2: Array) -> Array:
    return np.exp(-np.sqrt(r2))


def _matern12_slope(r2: Array, k: Array) -> Array:
    # At r = 0 the slope is infinite but meets a squared distance of zero.
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


KERNELS: dict[str, Kernel] = {
    "rbf": Kernel(_rbf_value, _rbf_contract),
    "matern12": stationary(_matern12, _matern12_slope),
    "matern32": stationary(_matern32, _matern32_slope),
    "matern52": stationary(_matern52, _matern52_slope),
}
