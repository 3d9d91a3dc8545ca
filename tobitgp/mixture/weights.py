r"""Weights of the components: a Dirichlet prior, or the sticks of a truncated Dirichlet process.

A posterior of weights is a flat array w. Dirichlet: its K parameters. Process: of the K - 1 sticks
:math:`v_j \sim \mathrm{Beta}(g_{1j}, g_{2j})`, first all g1, then all g2, and at the end the rate of the gamma
posterior of the concentration. The last stick is 1. (MIX6), (DP2) to (DP6) of the theory pages.

References
----------
Blei and Jordan (2006), Variational inference for Dirichlet process mixtures, *Bayesian Analysis* 1, 121-143, section 3
and appendix A.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, digamma, gammaln, polygamma

from tobitgp.errors import SpecError
from tobitgp.mixture.family import gamma_divergence
from tobitgp.typing import Array, BoolArray, IntArray


@dataclass(frozen=True, slots=True)
class Dirichlet:
    """Symmetric Dirichlet prior."""

    concentration: float = 1.0  # 1 is uniform and empties no component

    def __post_init__(self) -> None:
        _check_positive("Dirichlet", "concentration", self.concentration)

    def expected_number(self, k: int) -> float:
        """How many components hold the rows a priori."""
        return float(k)

    def start(self, k: int) -> Array:
        """The posterior without rows."""
        return np.full(k, float(self.concentration))

    def posterior(self, w: Array, count: Array) -> Array:
        """New posterior from expected counts (K,)."""
        return self.concentration + count

    def expected_log(self, w: Array) -> Array:
        """Expectations of the log weights, (K,)."""
        return np.asarray(digamma(w) - digamma(w.sum()))

    def divergence(self, w: Array) -> float:
        """Kullback-Leibler divergence from posterior to prior."""
        k, c, total = len(w), self.concentration, w.sum()
        value = gammaln(total) - gammaln(w).sum() - gammaln(k * c) + k * gammaln(c)
        return float(value + (w - c) @ (digamma(w) - digamma(total)))

    def mean(self, w: Array) -> tuple[Array, Array]:
        """Expected weights (K,) and their derivatives in w, (K, M)."""
        mean = w / w.sum()
        return mean, (np.eye(len(w)) - mean[:, None]) / w.sum()

    def gradient(self, w: Array, count: Array) -> Array:
        """Derivative of the bound in w, (M,)."""
        return np.asarray(self.information(w) @ (self.posterior(w, count) - w))

    def information(self, w: Array) -> Array:
        """Fisher's information of the posterior, (M, M)."""
        return np.asarray(np.diag(polygamma(1, w)) - polygamma(1, w.sum()))

    def free(self, w: Array) -> BoolArray:
        """Which coordinates of a posterior are estimated, (M,)."""
        return np.full(len(w), len(w) > 1)

    def permute(self, w: Array, order: IntArray) -> Array | None:
        """The posterior with components in another order; None where the order is part of the model."""
        return w[order]


@dataclass(frozen=True, slots=True)
class DirichletProcess:
    """Truncated Dirichlet process whose concentration is learned, from a gamma prior of it, or known."""

    shape: float = 1.0  # of the gamma prior of the concentration
    rate: float = 1.0  # of the gamma prior of the concentration
    concentration: float | None = None  # its value where it is known

    def __post_init__(self) -> None:
        _check_positive("DirichletProcess", "shape", self.shape)
        _check_positive("DirichletProcess", "rate", self.rate)
        if self.concentration is not None:
            _check_positive("DirichletProcess", "concentration", self.concentration)

    def expected_number(self, k: int) -> float:
        """1 / E[sum of squared weights] = 1 + concentration, however many sticks there are."""
        return min(float(k), 1.0 + (self.concentration or self.shape / self.rate))

    def start(self, k: int) -> Array:
        rate = (self.shape + k - 1.0) / (self.concentration or self.shape / self.rate)
        return np.concatenate([np.ones(k - 1), np.full(k - 1, self._known(rate, k)[0]), [rate]])

    def posterior(self, w: Array, count: Array) -> Array:
        """The concentration after the sticks."""
        w = self._at_concentration(w, count)
        w[-1] = self._best_rate(w)
        return w

    def expected_log(self, w: Array) -> Array:
        log_v, log_rest = _stick_logs(w)
        before = np.concatenate([[0.0], np.cumsum(log_rest)])
        return before + np.append(log_v, 0.0)

    def divergence(self, w: Array) -> float:
        g1, g2 = _sticks(w)
        log_v, log_rest = _stick_logs(w)
        c, log_c = self._known(w[-1], len(g1) + 1)
        value = ((g1 - 1.0) * log_v + (g2 - c) * log_rest - betaln(g1, g2) - log_c).sum()
        if self.concentration is None:
            shape = np.asarray(self.shape + len(g1))
            value += gamma_divergence(shape, np.asarray(w[-1]), self.shape, self.rate)
        return float(value)

    def mean(self, w: Array) -> tuple[Array, Array]:
        g1, g2 = _sticks(w)
        m = len(g1)
        v, rest = np.append(g1 / (g1 + g2), 1.0), g2 / (g1 + g2)
        before = np.concatenate([[1.0], np.cumprod(rest)])
        mean = v * before
        slopes = np.zeros((m + 1, len(w)))
        for j in range(m):
            of_v = np.zeros(m + 1)
            of_v[j], of_v[j + 1 :] = before[j], -mean[j + 1 :] / rest[j]
            slopes[:, j] = of_v * rest[j] / (g1[j] + g2[j])
            slopes[:, m + j] = -of_v * v[j] / (g1[j] + g2[j])
        return mean, slopes

    def gradient(self, w: Array, count: Array) -> Array:
        target = self._at_concentration(w, count)
        target[-1] = self._best_rate(w)
        return np.asarray(self.information(w) @ (target - w))

    def information(self, w: Array) -> Array:
        g1, g2 = _sticks(w)
        m = len(g1)
        both = polygamma(1, g1 + g2)
        out = np.diag(np.concatenate([polygamma(1, g1) - both, polygamma(1, g2) - both, [0.0]]))
        out[np.arange(m), np.arange(m) + m] = out[np.arange(m) + m, np.arange(m)] = -both
        out[-1, -1] = (self.shape + m) / w[-1] ** 2
        return np.asarray(out)

    def free(self, w: Array) -> BoolArray:
        free = np.full(len(w), len(w) > 1)
        free[-1] &= self.concentration is None
        return free

    def permute(self, w: Array, order: IntArray) -> Array | None:
        return None

    def _known(self, rate: float, k: int) -> tuple[float, float]:
        """Expectations of the concentration and of its logarithm."""
        if self.concentration is not None:
            return self.concentration, float(np.log(self.concentration))
        shape = self.shape + k - 1.0
        return shape / rate, float(digamma(shape) - np.log(rate))

    def _at_concentration(self, w: Array, count: Array) -> Array:
        beyond = np.cumsum(count[::-1])[::-1]
        return np.concatenate([1.0 + count[:-1], self._known(w[-1], len(count))[0] + beyond[1:], w[-1:]])

    def _best_rate(self, w: Array) -> float:
        return float(w[-1] if self.concentration is not None else self.rate - _stick_logs(w)[1].sum())


Weights = Dirichlet | DirichletProcess


def _sticks(w: Array) -> tuple[Array, Array]:
    m = len(w) // 2
    return w[:m], w[m : 2 * m]


def _stick_logs(w: Array) -> tuple[Array, Array]:
    """Expectations of log v and log(1 - v), (K - 1,)."""
    g1, g2 = _sticks(w)
    both = digamma(g1 + g2)
    return digamma(g1) - both, digamma(g2) - both


def _check_positive(name: str, field: str, value: float) -> None:
    if isinstance(value, bool) or not np.isfinite(value) or not value > 0:
        raise SpecError(f"{name}({field}={value!r}): a positive number is needed.")
