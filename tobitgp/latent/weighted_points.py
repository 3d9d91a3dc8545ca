"""Coordinates of rows as weighted points: (LAT15).

A normal q(x) that maximises a bound is narrower than the posterior of a row's coordinates given its responses. Points
of wider normals and of the prior, weighted by the likelihoods of the responses, have the moments of that posterior.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from scipy.special import ndtri

from tobitgp.latent.collapsed_bound import ProcessPosterior, ResponseEnds, ResponseScales, row_terms
from tobitgp.latent.psi_statistics import STANDARD, InducingInputs, InputPrior, NormalInputs, PsiStatistics
from tobitgp.typing import Array

_POINTS, _WIDER = 64, (1.3, 3.5)  # of each proposal and their mirror images; widths of proposals in those of q(x)


@dataclass(frozen=True)
class WeightedPoints:
    """Coordinates of n rows at S points each, and expectations of the kernel over them."""

    x: Array  # (n, S, Q)
    weights: Array  # (n, S), sum to 1 in each row
    inducing: InducingInputs

    @cached_property
    def kernel(self) -> Array:
        """Kernel of the points and the inducing inputs, (n, S, M)."""
        return kernel_at(self.x, self.inducing)

    @cached_property
    def psi1(self) -> Array:
        """First moments of the kernel, (n, M)."""
        return np.einsum("ns,nsm->nm", self.weights, self.kernel)

    @cached_property
    def psi2(self) -> Array:
        """Second moments of the kernel, the upper triangle (n, P)."""
        weighted = self.weights[:, :, None] * self.kernel
        return self.inducing.upper(np.swapaxes(weighted, 1, 2) @ self.kernel)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.x)

    def drawn(self, rng: np.random.Generator) -> Array:
        """A point of each row, (n, Q)."""
        share = np.cumsum(self.weights, axis=1)
        chosen = (share < rng.random((len(share), 1)) * share[:, -1:]).sum(axis=1)
        return np.asarray(self.x[np.arange(len(chosen)), chosen])


def kernel_at(x: Array, inducing: InducingInputs) -> Array:
    """Kernel of points (..., Q) and the inducing inputs, (..., M)."""
    flat = x.reshape(-1, x.shape[-1])
    found = PsiStatistics(NormalInputs(flat, np.zeros_like(flat)), inducing).psi1
    return np.asarray(found.reshape(*x.shape[:-1], found.shape[1]))


def weighted_points(
    inputs: NormalInputs,
    responses: ResponseEnds,
    inducing: InducingInputs,
    scales: ResponseScales,
    posterior: ProcessPosterior,
    prior: InputPrior = STANDARD,
) -> WeightedPoints:
    """Points of rows, whose responses are known as far as they are, weighted by these; inputs in units of the prior."""
    e = normal_points(inputs.mean.shape[1])
    proposals = [(np.zeros((1, 1, 1)), np.ones((1, 1, 1)))]  # the prior
    proposals += [(inputs.mean[:, None], wider * np.sqrt(inputs.var)[:, None]) for wider in _WIDER]
    x = np.concatenate([np.broadcast_to(m + sd * e, (len(inputs.mean), *e.shape)) for m, sd in proposals], axis=1)
    each = [-0.5 * np.square((x - m) / sd).sum(axis=2) - np.log(sd).sum(axis=2) for m, sd in proposals]
    log_w = each[0] - np.logaddexp.reduce(each, axis=0)
    x = prior.mean[:, None] + prior.sd[:, None] * x
    points = WeightedPoints(x, np.ones(x.shape[:2]), inducing)
    A = points.kernel @ np.linalg.inv(posterior.factor).T
    rest = np.maximum(1.0 - np.square(A).sum(axis=2), 0.0)
    for d in range(len(posterior.w)):
        var = rest + np.einsum("nsm,nsm->ns", A @ posterior.B_inverse[d], A)
        total = np.sqrt(np.square(scales.sd[d]) * var + np.square(scales.sigma[d]))
        ends = ResponseEnds(*(np.broadcast_to(end[:, d, None], var.shape) for end in responses))
        own = ResponseScales(scales.level[d], scales.sd[d], total)
        log_w += row_terms(ends, own, A @ posterior.w[d]).value
    weights = np.exp(log_w - log_w.max(axis=1, keepdims=True))
    return WeightedPoints(x, weights / weights.sum(axis=1, keepdims=True), inducing)


@cache
def normal_points(dimensions: int) -> Array:
    """Quasi-random standard normal points, (S, Q)."""
    from scipy.stats.qmc import Sobol

    half = ndtri(Sobol(dimensions, seed=1).random(_POINTS))
    points = np.concatenate([half, -half])
    points.flags.writeable = False
    return np.asarray(points)
