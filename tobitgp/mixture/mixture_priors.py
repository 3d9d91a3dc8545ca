r"""Priors of the components, hyper-parameters that are given or whose scale is learnt, and of their weights.

By default the rate b of the gamma prior of a precision or rate, and the number tau of rows that the prior of a mean is
worth, are unknown numbers :math:`\eta \sim \mathrm{Gamma}(g, h)`, the same for all components. The density of a
component is proportional to :math:`\eta^{c} e^{-\eta s_k}`, so that :math:`q(\eta)` is gamma too: (MIX18) to (MIX21) of
the theory pages.

A posterior of weights is a flat array w. Dirichlet: its K parameters. Process: of the K - 1 sticks
:math:`v_j \sim \mathrm{Beta}(g_{1j}, g_{2j})`, first all g1, then all g2, and at the end the rate of the gamma
posterior of the concentration. The last stick is 1. (MIX6), (DP2) to (DP6) of the theory pages.

References
----------
Blei and Jordan (2006), Variational inference for Dirichlet process mixtures, *Bayesian Analysis* 1, 121-143, section 3
and appendix A.

Richardson and Green (1997), On Bayesian analysis of mixtures with an unknown number of components, *Journal of the
Royal Statistical Society B* 59, 731-792, whose precisions have a common gamma prior of unknown rate.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from scipy.special import betaln, digamma, gammaln, polygamma

from tobitgp.errors import SpecError
from tobitgp.typing import Array, BoolArray, IntArray

SHAPE, RATE = 0.2, 0.2  # of the gamma priors of what is learnt, where the rows have a typical size of 1
START = 0.1  # what is learnt, before anything is


def gamma_divergence(a: Array, b: Array, a0: Array | float, b0: Array | float) -> Array:
    """KL[Gamma(a, b) || Gamma(a0, b0)], shapes and rates; (MIX12) of the theory pages."""
    of_shape = (a - a0) * digamma(a) - gammaln(a) + gammaln(a0)
    return np.asarray(of_shape + a0 * np.log(b / b0) + a * (b0 - b) / b)


def gamma_information(a: Array, b: Array) -> Array:
    """Fisher's information of shape and rate, (2, 2, K)."""
    return np.stack([np.stack([polygamma(1, a), -1.0 / b]), np.stack([-1.0 / b, a / b / b])])


def _none() -> Array:
    return np.zeros(0)


@dataclass(frozen=True, slots=True)
class ComponentPrior:
    """Hyper-parameters of every component, H of which are learnt, on the scale that is modelled."""

    values: Array  # (P,); where they are learnt, what an ascent begins with
    learnt: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # (H,), which of them
    power: Array = field(default_factory=_none)  # (H,), c above
    shape: Array = field(default_factory=_none)  # (H,), of their gamma priors
    rate: Array = field(default_factory=_none)  # (H,)

    shapes: ClassVar = {"*": "values", "learnt": "power shape rate"}

    @property
    def adapts(self) -> bool:
        """Whether anything is learnt."""
        return len(self.learnt) > 0

    def posterior_shape(self, k: int) -> Array:
        """Shapes (H,) of the posteriors of what k components learn."""
        return self.shape + k * self.power

    def start(self, k: int) -> Array:
        """Rates (H,) of posteriors whose expectations are ``values``."""
        return np.asarray(self.posterior_shape(k) / self.values[self.learnt])

    def posterior_rate(self, held: Array) -> Array:
        """Rates (H,) of the posteriors, from the expectations s (H, K) of `Family.scaled_by`."""
        return np.asarray(self.rate + held.sum(axis=1))

    def at(self, rates: Array, k: int) -> Array:
        """Hyper-parameters (P,), those learnt at their expectations."""
        values = self.values.copy()
        values[self.learnt] = self.posterior_shape(k) / rates
        return values

    def divergence(self, rates: Array, k: int) -> float:
        """KL of what is learnt, and what the divergences of k components at its expectation lack."""
        a = self.posterior_shape(k)
        lack = k * self.power * (np.log(a) - digamma(a))
        return float((gamma_divergence(a, rates, self.shape, self.rate) + lack).sum())

    def information(self, rates: Array, k: int) -> Array:
        """Fisher's information of the posteriors' rates, (H,)."""
        return np.asarray(self.posterior_shape(k) / rates / rates)


def learning(values: Array, learnt: tuple[int, ...], power: tuple[float, ...], size: Array) -> ComponentPrior:
    """The default prior: what is learnt is gamma(0.2, 0.2 size), of a mean near 1 / size, (H,)."""
    at = np.array(learnt, dtype=np.int64)
    values = values.copy()
    values[at] = START / size
    return ComponentPrior(values, at, np.array(power), np.full(len(at), SHAPE), RATE * size)


@dataclass(frozen=True, slots=True)
class Dirichlet:
    """Symmetric Dirichlet prior."""

    concentration: float = 1.0  # 1 is uniform and empties no component

    def __post_init__(self) -> None:
        _check_positive("Dirichlet", "concentration", self.concentration)

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

    def target(self, w: Array, count: Array) -> Array:
        """Where the natural gradient of the bound leads from w, (M,)."""
        return self.posterior(w, count)

    def information(self, w: Array) -> Array:
        """Fisher's information of the posterior, (M, M)."""
        return np.asarray(np.diag(polygamma(1, w)) - polygamma(1, w.sum()))

    def known_rows(self, k: int) -> float:
        """As many rows as the prior is worth at least."""
        return k * self.concentration

    def free(self, w: Array) -> BoolArray:
        """Which coordinates of a posterior are estimated, (M,)."""
        return np.full(len(w), len(w) > 1)


@dataclass(frozen=True, slots=True)
class DirichletProcess:
    """Truncated Dirichlet process whose concentration is learned, from a gamma prior of it, or known."""

    shape: float = 1.0  # of the gamma prior of the concentration
    rate: float = 1.0  # of the gamma prior of the concentration
    concentration: float | None = None  # its value where it is known

    def __post_init__(self) -> None:
        for name in ("shape", "rate", "concentration"):
            if (value := getattr(self, name)) is not None:
                _check_positive("DirichletProcess", name, value)

    def start(self, k: int) -> Array:
        rate = (self.shape + k - 1.0) / (self.concentration or self.shape / self.rate)
        return np.concatenate([np.ones(k - 1), np.full(k - 1, self._known(rate, k)[0]), [rate]])

    def posterior(self, w: Array, count: Array) -> Array:
        """The concentration after the sticks."""
        w = self.target(w, count)
        w[-1] = self._best_rate(w)
        return w

    def target(self, w: Array, count: Array) -> Array:
        beyond = np.cumsum(count[::-1])[::-1]
        concentration = self._known(w[-1], len(count))[0]
        return np.concatenate([1.0 + count[:-1], concentration + beyond[1:], [self._best_rate(w)]])

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
        later = np.tri(m + 1, m, -1) * -mean[:, None] / rest
        of_v = (np.eye(m + 1, m) * before[:m] + later) / (g1 + g2)
        slopes = np.hstack([of_v * rest, -of_v * v[:m], np.zeros((m + 1, 1))])
        return mean, slopes

    def information(self, w: Array) -> Array:
        g1, g2 = _sticks(w)
        both = np.diag(polygamma(1, g1 + g2))
        out = np.diag(np.append(polygamma(1, w[:-1]), (self.shape + len(g1)) / w[-1] ** 2))
        out[:-1, :-1] -= np.block([[both, both], [both, both]])
        return np.asarray(out)

    def known_rows(self, k: int) -> float:
        return 1.0

    def free(self, w: Array) -> BoolArray:
        free = np.full(len(w), len(w) > 1)
        free[-1] &= self.concentration is None
        return free

    def _known(self, rate: float, k: int) -> tuple[float, float]:
        """Expectations of the concentration and of its logarithm."""
        if self.concentration is not None:
            return self.concentration, float(np.log(self.concentration))
        shape = self.shape + k - 1.0
        return shape / rate, float(digamma(shape) - np.log(rate))

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
        raise SpecError(f"{name}({field}={value!r}): must be a positive number.")
