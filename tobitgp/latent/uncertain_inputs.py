"""Rows of a process at inputs that were measured with known errors: (LAT17)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tobitgp.latent.collapsed_bound import ResponseEnds
from tobitgp.latent.latent_rows import LatentProcesses
from tobitgp.latent.psi_statistics import InputPrior, NormalInputs, PsiStatistics
from tobitgp.latent.weighted_points import WeightedPoints, kernel_at, weighted_points
from tobitgp.numerics.quadrature import gauss_hermite
from tobitgp.typing import Array

ORDER = 31  # of the rule over an input
_LEAST_VAR = 1e-6


@dataclass(frozen=True)
class InputRows:
    """Rows at inputs that are normal, or known: (LAT17)."""

    processes: LatentProcesses  # one
    prior: InputPrior  # (n, 1)

    @property
    def moments(self) -> tuple[Array, Array]:
        """Mean and variance (n,) of the response without noise."""
        mean, var = self.processes.moments(self._psi(self.prior.mean, np.square(self.prior.sd)))
        return mean[:, 0], var[:, 0]

    @property
    def covariance(self) -> Array:
        """Covariance (n, n) of the response without noise: (LAT14)."""
        processes, q = self.processes, self.processes.posterior
        A = self._psi(self.prior.mean, np.square(self.prior.sd)).psi1 @ np.linalg.inv(q.factor).T
        V = np.square(processes.scales.sd[0]) * (A @ q.B_inverse[0] @ A.T)
        np.fill_diagonal(V, self.moments[1])
        return np.asarray(V)

    def given_inputs(self) -> tuple[Array, Array, Array]:
        """Weights (J,) of inputs, and means and variances (J, n) of the response without noise at these."""
        weight, x = self.nodes()
        mean, var = self.processes.moments(self._psi(x.reshape(-1, 1), np.zeros((x.size, 1))))
        return weight, mean.reshape(x.shape), var.reshape(x.shape)

    def nodes(self) -> tuple[Array, Array]:
        """Weights (J,) and inputs (J, n) of a quadrature rule, of one node where all inputs are known."""
        nodes, weight = gauss_hermite(ORDER if self.prior.sd.any() else 1)
        return weight, self.prior.mean[:, 0] + self.prior.sd[:, 0] * nodes[:, None]

    def features(self, x: Array) -> tuple[Array, Array]:
        """Features (..., M) of inputs (...), and the variance that these leave of f, of variance 1."""
        A = kernel_at(x[..., None], self.processes.inducing) @ np.linalg.inv(self.processes.posterior.factor).T
        return A, np.maximum(1.0 - np.square(A).sum(axis=-1), 0.0)

    def located(self, ends: ResponseEnds) -> WeightedPoints:
        """Inputs given the observed responses as well, (LAT15), by points about the moments of a first estimate."""
        near = NormalInputs(np.zeros_like(self.prior.mean), np.ones_like(self.prior.mean))
        known = self.processes.inducing, self.processes.scales, self.processes.posterior, self.prior
        first = weighted_points(near, ends, *known)
        unit = np.where(self.prior.sd > 0.0, self.prior.sd, 1.0)
        e = (first.x - self.prior.mean[:, None]) / unit[:, None]
        mean = np.einsum("ns,nsq->nq", first.weights, e)
        var = np.einsum("ns,nsq->nq", first.weights, np.square(e - mean[:, None]))
        return weighted_points(NormalInputs(mean, np.maximum(var, _LEAST_VAR)), ends, *known)

    def _psi(self, mean: Array, var: Array) -> PsiStatistics:
        return PsiStatistics(NormalInputs(mean, var), self.processes.inducing)
