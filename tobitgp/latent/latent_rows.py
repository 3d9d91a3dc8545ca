"""Coordinates of rows from some of their responses, given the processes, and draws of the processes in them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tobitgp.latent.collapsed_bound import ProcessPosterior, ResponseEnds, ResponseScales
from tobitgp.latent.latent_posterior import exact_posterior, expected_terms
from tobitgp.latent.latent_search import BOUNDS, divergence
from tobitgp.latent.psi_statistics import InducingInputs, NormalInputs, PsiStatistics
from tobitgp.latent.weighted_points import WeightedPoints, kernel_at, weighted_points
from tobitgp.numerics.many_maxima import many_maxima
from tobitgp.typing import Array, IntArray

_CANDIDATES, _CANDIDATE_VAR = 2, 0.1


@dataclass(frozen=True)
class LatentProcesses:
    """What is known of the processes of all responses, whose responses are in standard units."""

    inducing: InducingInputs
    scales: ResponseScales
    posterior: ProcessPosterior

    def refined(self, inputs: NormalInputs, responses: ResponseEnds) -> LatentProcesses:
        """The processes given rows with these coordinates, by the likelihoods of censored values: (LAT13)."""
        psi = PsiStatistics(inputs, self.inducing)
        return replace(self, posterior=exact_posterior(psi, responses, self.scales, self.posterior))

    def located(self, responses: ResponseEnds) -> WeightedPoints:
        """Coordinates of rows from their responses, which may be missing: (LAT15)."""
        inputs = self.infer(responses)
        return weighted_points(inputs, responses, self.inducing, self.scales, self.posterior)

    def moments(self, points: WeightedPoints) -> tuple[Array, Array]:
        """Means and variances of the responses without noise, (n, D) each: (LAT8)."""
        mean, var = self.posterior.moments(points)
        return self.scales.level + self.scales.sd * mean, np.square(self.scales.sd) * var

    def objective(self, inputs: NormalInputs, responses: ResponseEnds) -> tuple[Array, Array, Array]:
        """The bound of every row (n,), and its derivatives in means and variances of its coordinates: (LAT11)."""
        psi = PsiStatistics(inputs, self.inducing)
        f, var = self.posterior.moments(psi)
        slope = self.scales.sd / self.scales.sigma
        terms = expected_terms(responses, self.scales, f, var)
        curvature = slope * slope * terms.complement
        value = terms.value.sum(axis=1) - divergence(inputs).sum(axis=1)
        pull = slope * terms.mean + curvature * f
        of_second = -0.5 * curvature @ (self.inducing.upper(self.posterior.second) * self.inducing.multiplicity)
        slopes = psi.slopes(pull @ self.posterior.unwhitened, of_second)
        return value, slopes.mean - inputs.mean, slopes.var - 0.5 * (1.0 - 1.0 / inputs.var)

    def infer(self, responses: ResponseEnds) -> NormalInputs:
        """Coordinates q(x) of rows, whose responses may be missing; searched from the best inducing inputs."""
        n, Q = len(responses.lower), self.inducing.z.shape[1]
        if not n:
            return NormalInputs(np.zeros((0, Q)), np.ones((0, Q)))
        at = np.vstack([np.zeros((1, Q)), self.inducing.z])
        var = np.full((n, Q), _CANDIDATE_VAR)
        worth = np.stack([self.objective(NormalInputs(np.tile(x, (n, 1)), var), responses)[0] for x in at], axis=1)
        best = np.argsort(-worth, axis=1, kind="stable")[:, :_CANDIDATES]
        found = [self._climb(NormalInputs(at[best[:, k]], var), responses) for k in range(best.shape[1])]
        value, inputs = found[0]
        for other, tried in found[1:]:
            better = (other > value)[:, None]
            value = np.maximum(value, other)
            inputs = NormalInputs(*(np.where(better, new, old) for new, old in zip(tried, inputs, strict=True)))
        return inputs

    def _climb(self, start: NormalInputs, responses: ResponseEnds) -> tuple[Array, NormalInputs]:
        """Maxima of all rows, and their values (n,)."""
        Q = start.mean.shape[1]

        def inputs_at(x: Array) -> NormalInputs:
            return NormalInputs(x[:, :Q], np.exp(np.clip(x[:, Q:], *BOUNDS["var"])))

        def bounds_of(x: Array, rows: IntArray) -> tuple[Array, Array]:
            inputs = inputs_at(x)
            value, of_mean, of_var = self.objective(inputs, ResponseEnds(*(end[rows] for end in responses)))
            return value, np.concatenate([of_mean, of_var * inputs.var], axis=1)

        inputs = inputs_at(many_maxima(bounds_of, np.concatenate([start.mean, np.log(start.var)], axis=1)))
        return self.objective(inputs, responses)[0], inputs

    def covariances(self, points: WeightedPoints) -> Array:
        """Covariances of the responses without noise in all rows, (D, n, D, n).

        Rows share the processes, and responses of a row its coordinates: (LAT14).
        """
        psi, posterior = points, self.posterior
        D, n = len(posterior.w), len(points.x)
        half, out, rows = np.linalg.inv(posterior.factor), np.zeros((D, n, D, n)), np.arange(n)
        mean, var = posterior.moments(psi)
        A, a = psi.psi1 @ half.T, posterior.unwhitened
        for d in range(D):
            out[d, :, d] = A @ posterior.B_inverse[d] @ A.T
            for e in range(D):
                outer = 0.5 * (np.outer(a[d], a[e]) + np.outer(a[e], a[d]))
                together = psi.psi2 @ (self.inducing.upper(outer) * self.inducing.multiplicity)
                out[d, rows, e, rows] = var[:, d] if d == e else together - mean[:, d] * mean[:, e]
        unit = self.scales.sd
        return np.asarray(out * unit[:, None, None, None] * unit[:, None])

    def draw(self, points: WeightedPoints, size: int, rng: np.random.Generator) -> Array:
        """Draws of the responses without noise, (D, n, size): of coordinates and processes together."""
        posterior, (D, M), n = self.posterior, self.posterior.w.shape, len(points.x)
        root = np.linalg.cholesky(posterior.B_inverse)
        w = posterior.w[:, :, None] + root @ rng.standard_normal((D, M, size))
        half, out = np.linalg.inv(posterior.factor), np.empty((D, n, size))
        for s in range(size):
            A = kernel_at(points.drawn(rng), self.inducing) @ half.T
            rest = np.sqrt(np.maximum(1.0 - np.square(A).sum(axis=1), 0.0))
            out[:, :, s] = w[:, :, s] @ A.T + rest * rng.standard_normal((D, n))
        scales = self.scales
        return np.asarray(scales.level[:, None, None] + scales.sd[:, None, None] * out)
