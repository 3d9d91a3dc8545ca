"""Gamma posteriors of a rate, shared by several families; (K,) arrays of shape a and rate b."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy.special import digamma, gammaincinv, gammaln, polygamma

from tobitgp.mixture.family import Sums
from tobitgp.typing import Array


def gamma_divergence(a: Array, b: Array, a0: float, b0: float) -> Array:
    """KL[Gamma(a, b) || Gamma(a0, b0)], shapes and rates; (MIX12) of the theory pages."""
    of_shape = (a - a0) * digamma(a) - gammaln(a) + gammaln(a0)
    return np.asarray(of_shape + a0 * np.log(b / b0) + a * (b0 - b) / b)


def gamma_information(a: Array, b: Array) -> Array:
    """Fisher's information of shape and rate, (2, 2, K)."""
    return np.stack([np.stack([polygamma(1, a), -1.0 / b]), np.stack([-1.0 / b, a / (b * b)])])


class GammaRate:
    """What families share whose one parameter is a rate with a gamma posterior (a, b); see `Family`."""

    __slots__ = ()
    hyperparameters: ClassVar[tuple[str, ...]] = ("a", "b")
    positive: ClassVar[tuple[bool, ...]] = (True, True)

    def reference(self, k: int) -> Array:
        """See `Family`."""
        return np.zeros((1, k))

    def divergence(self, q: Array, prior: Array) -> Array:
        """See `Family`."""
        return gamma_divergence(q[0], q[1], prior[0], prior[1])

    def between(self, old: Array, new: Array, step: float) -> Array | None:
        """See `Family`; shape and rate are natural parameters but for constants."""
        q: Array = (1.0 - step) * old + step * new
        return q if (q > 0.0).all() else None

    def information(self, q: Array) -> Array:
        """See `Family`."""
        return gamma_information(q[0], q[1])

    def gradient(self, q: Array, prior: Array, sums: Sums) -> Array:
        """See `Family`."""
        way = self.posterior(prior, q, sums) - q
        return np.asarray(np.einsum("pqk,qk->pk", self.information(q), way))

    def interval(self, values: Array, error: Array, level: float) -> tuple[Array, Array]:
        """See `Family`; of the gamma posterior with this mean and standard deviation."""
        a = (values / error) ** 2
        return values * gammaincinv(a, 0.5 - 0.5 * level) / a, values * gammaincinv(a, 0.5 + 0.5 * level) / a

    def posterior(self, prior: Array, theta: Array, sums: Sums) -> Array:
        """See `Family`."""
        raise NotImplementedError
