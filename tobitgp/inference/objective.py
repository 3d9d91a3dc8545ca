"""The log evidence plus log prior as a function of the hyper-parameters."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tobitgp.errors import NumericalError
from tobitgp.inference.evidence import evidence_gradient, precisions_of
from tobitgp.inference.fixed_point import find_posterior
from tobitgp.inference.method import Method
from tobitgp.inference.parameters import Parameters
from tobitgp.inference.partitioned import PartitionedRows
from tobitgp.inference.posterior import Posterior
from tobitgp.inference.site_updates import ended
from tobitgp.likelihoods.base import Likelihood
from tobitgp.priors.block import Block
from tobitgp.typing import Array

INFEASIBLE = 1e12
_HEAVY = 50_000
# Fixed points of expectation propagation that may fail to converge: so many, and one more in every ten evaluations.
_MAY_FAIL, _TEN = 3, 10


class EPFailure(Exception):
    """Expectation propagation did not converge, here not for the first time."""

    def __init__(self, theta: Array):
        super().__init__()
        self.theta = theta


def is_heavy(n: int, n_features: int) -> bool:
    """Whether one evaluation is long enough for threads to pay."""
    return n * n_features > _HEAVY


@dataclass(slots=True)
class Objective:
    """Log evidence plus log prior as a function of the free part of theta; starts from the sites last found."""

    data: PartitionedRows  # the rows, with the sites from which the next evaluation starts
    blocks: Sequence[Block]
    method: Method
    likelihood: Likelihood
    parameters: Parameters
    full: Array  # (k,), theta with the fixed entries in place
    on_step: Callable[[Objective, float], None] | None = None  # called with itself and every value found
    last: Posterior | None = None
    evaluations: int = 0
    sweeps: int = 0
    failures: int = 0  # evaluations of which the fixed point was given up

    @property
    def features(self) -> int:
        """Number of features of a row where it was last evaluated."""
        return 0 if self.last is None else self.last.layout.row_features

    @property
    def precisions(self) -> Array:
        """Site precisions (n,) last found, in the problem's order."""
        assert self.last is not None
        return precisions_of(self.last)

    def theta(self, free: Array) -> Array:
        """All of theta from its free part."""
        theta = self.full.copy()
        theta[self.parameters.free] = free
        return theta

    def posterior_from(self, free: Array, data: PartitionedRows) -> Posterior:
        """Posterior at ``free`` from the sites of the rows given; from flat ones where those do not converge."""
        arguments = (self.blocks, self.theta(free), self.method, self.likelihood)
        posterior = find_posterior(data, *arguments)
        if data.warm and not posterior.converged:
            with contextlib.suppress(NumericalError):
                return find_posterior(data.cold(), *arguments)
        return posterior

    def density(self, posterior: Posterior) -> float:
        """Log posterior density up to a constant, (HYP1)."""
        return posterior.evidence + self.parameters.log_prior(posterior.theta)[0]

    def gradient(self, posterior: Posterior) -> Array:
        """Gradient (k_free,) of the log posterior density."""
        gradient = evidence_gradient(posterior, self.method)
        return (gradient + self.parameters.log_prior(posterior.theta)[1])[self.parameters.free]

    def posterior(self, free: Array) -> Posterior:
        """Posterior at ``free`` from the last sites."""
        if self.last is not None and np.array_equal(self.last.theta, self.theta(free)):
            return self.last
        posterior = self.posterior_from(free, self.data)
        self.evaluations += 1
        self.sweeps += posterior.sweeps
        if posterior.converged:
            self.data = self.data.starting(posterior.rows.map(ended))
        elif self.method.name == "ep":
            self.failures += 1
            if self.failures > _MAY_FAIL + self.evaluations // _TEN:
                raise EPFailure(posterior.theta)
        self.last = posterior
        return posterior

    def value(self, free: Array) -> float:
        """Log posterior density; ``-inf`` where the computation breaks down."""
        try:
            value = self.density(self.posterior(free))
        except NumericalError:
            return -np.inf
        if self.on_step is not None:
            self.on_step(self, value)
        return value

    def value_and_gradient(self, free: Array) -> tuple[float, Array]:
        """Value and gradient (k_free,)."""
        value = self.value(free)
        if not np.isfinite(value) or self.last is None:
            return -INFEASIBLE, np.zeros_like(free)
        return value, self.gradient(self.last)
