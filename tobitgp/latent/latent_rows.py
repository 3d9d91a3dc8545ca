r"""Coordinates of rows from some of their responses, given the processes, and draws of the processes in them.

The posterior of the processes by the likelihoods of censored values themselves: (LAT13).

The search replaces these likelihoods by parabolas with the curvature of an observed value, which makes the posterior
too narrow below a limit. Given its parameters, the best normal posterior has the expected slopes and curvatures.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from tobitgp.latent.collapsed_bound import (
    KernelMoments,
    ProcessPosterior,
    ResponseEnds,
    ResponseScales,
    RowTerms,
    row_terms,
    symmetric,
)
from tobitgp.latent.latent_search import BOUNDS, divergence
from tobitgp.latent.psi_statistics import InducingInputs, NormalInputs, PsiStatistics
from tobitgp.latent.weighted_points import WeightedPoints, kernel_at, weighted_points
from tobitgp.numerics.quadrature import gauss_hermite
from tobitgp.typing import Array, IntArray

# Values (m,) and slopes (m, k) of some of the functions, at a point (m, k) of each.
RowFunctions = Callable[[Array, IntArray], tuple[Array, Array]]
_HALVINGS, _RISE, _ROUNDING, _LONGEST = 8, 1e-4, 1e-9, 2.0
_LEAST = 1e-11  # expected rise that is worth a step


def many_maxima(functions: RowFunctions, start: Array, *, tol: float = 1e-6, most: int = 100) -> Array:
    """Points (n, k) at which n functions are level, as far as rounding lets it be seen, by BFGS from starts (n, k)."""
    x, active = start.copy(), np.arange(len(start))
    value, slope = functions(x, active)
    inverse = np.tile(np.eye(x.shape[1]), (len(x), 1, 1))
    for _ in range(most):
        gain = np.einsum("ni,nij,nj->n", slope, inverse, slope)
        rising = (np.abs(slope).max(axis=1, initial=0.0) > tol) & (gain > _LEAST * (1.0 + np.abs(value)))
        active, value, slope, inverse = active[rising], value[rising], slope[rising], inverse[rising]
        if not len(active):
            break
        way = _bounded(np.einsum("nij,nj->ni", inverse, slope))
        moved, new_value, new_slope = _along(functions, active, x[active], way, value, slope)
        step, change = moved - x[active], slope - new_slope
        x[active], stuck = moved, ~step.any(axis=1)
        inverse = _updated(inverse, step, change)
        value, slope = new_value, np.where(stuck[:, None], 0.0, new_slope)
    return x


def _bounded(way: Array) -> Array:
    """Steps no longer than is plausible in units in which the prior has a curvature near 1."""
    length = np.sqrt(np.square(way).sum(axis=1, keepdims=True))
    return np.asarray(way * np.minimum(1.0, _LONGEST / np.maximum(length, 1e-300)))


def _along(
    functions: RowFunctions, active: IntArray, x: Array, way: Array, value: Array, slope: Array
) -> tuple[Array, Array, Array]:
    """The longest steps, halved from the whole ones, that raise the values; none where rounding hides the rise."""
    share, rise = np.ones(len(active)), (way * slope).sum(axis=1)
    out_x, out_value, out_slope = x.copy(), value.copy(), slope.copy()
    left = np.arange(len(active))
    for _ in range(_HALVINGS):
        tried = x[left] + share[left, None] * way[left]
        found, slopes = functions(tried, active[left])
        least = value[left] + _RISE * share[left] * rise[left] - _ROUNDING * (1.0 + np.abs(value[left]))
        good = found >= least
        at = left[good]
        out_x[at], out_value[at], out_slope[at] = tried[good], found[good], slopes[good]
        left = left[~good]
        if not len(left):
            break
        share[left] *= 0.5
    return out_x, out_value, out_slope


def _updated(inverse: Array, step: Array, change: Array) -> Array:
    """Inverse curvatures (n, k, k) after steps along which slopes fell by ``change``; kept where these rose."""
    curved = (step * change).sum(axis=1)
    bent = curved > 1e-14 * np.sqrt(np.square(step).sum(axis=1) * np.square(change).sum(axis=1))
    weight = np.where(bent, 1.0 / np.where(bent, curved, 1.0), 0.0)
    moved = np.einsum("nij,nj->ni", inverse, change)
    twice = 1.0 + weight * (change * moved).sum(axis=1)
    outer = step[:, :, None] * step[:, None, :]
    cross = moved[:, :, None] * step[:, None, :]
    cross = cross + np.swapaxes(cross, 1, 2)
    return np.asarray(inverse + weight[:, None, None] * (twice[:, None, None] * outer - cross))


_ORDER, _STEPS, _TOLERANCE = 20, 200, 1e-9
_HALF = 0.5  # of a step, where whole ones go back and forth


def expected_terms(responses: ResponseEnds, scales: ResponseScales, f: Array, var: Array) -> RowTerms:
    """Means of the terms of rows over normal f with such moments, (n, D)."""
    value, mean, complement = (term.copy() for term in row_terms(responses, scales, f))
    value -= np.where(responses.seen, 0.5 * np.square(scales.sd / scales.sigma) * var, 0.0)
    censored = responses.known & ~responses.seen
    if not censored.any():
        return RowTerms(value, mean, complement)
    rows, columns = np.nonzero(censored)
    nodes, weights = gauss_hermite(_ORDER)
    at = f[censored][:, None] + np.sqrt(var[censored])[:, None] * nodes
    ends = ResponseEnds(*(np.repeat(end[censored][:, None], _ORDER, axis=1) for end in responses))
    own = ResponseScales(*(each[columns][:, None] for each in scales))
    for whole, term in zip((value, mean, complement), row_terms(ends, own, at), strict=True):
        whole[rows, columns] = term @ weights
    return RowTerms(value, mean, complement)


def exact_posterior(
    psi: KernelMoments, responses: ResponseEnds, scales: ResponseScales, start: ProcessPosterior
) -> ProcessPosterior:
    """The best normal posterior of the processes, from a start."""
    q, last, share = start, np.inf, 1.0
    half = np.linalg.inv(q.factor)
    A = psi.psi1 @ half.T
    pull, curvature = _sites(psi, responses, scales, q)
    for _ in range(_STEPS):
        Phi = half @ psi.inducing.matrix(curvature.T @ psi.psi2) @ half.T
        B_inverse = symmetric(np.linalg.inv(np.eye(len(half)) + symmetric(Phi)))
        w = np.einsum("dmk,dk->dm", B_inverse, (A.T @ pull).T)
        gap, q = float(np.abs(w - q.w).max()), ProcessPosterior(w, B_inverse, q.factor)
        if gap < _TOLERANCE:
            break
        share, last = (share if gap < last else max(_HALF * share, 0.05)), gap
        new_pull, new_curvature = _sites(psi, responses, scales, q)
        pull, curvature = pull + share * (new_pull - pull), curvature + share * (new_curvature - curvature)
    return q


def _sites(
    psi: KernelMoments, responses: ResponseEnds, scales: ResponseScales, q: ProcessPosterior
) -> tuple[Array, Array]:
    """Natural parameters (n, D) of the normal functions of f that the likelihoods are in effect."""
    f, var = q.moments(psi)
    terms, slope = expected_terms(responses, scales, f, var), scales.sd / scales.sigma
    curvature = slope * slope * terms.complement
    return slope * terms.mean + curvature * f, curvature


class DrawnInputs(Protocol):
    """Inputs of rows that can be drawn."""

    @property
    def n(self) -> int:
        """Number of rows."""

    def drawn(self, rng: np.random.Generator) -> Array:
        """A point of each row, (n, Q)."""


_CANDIDATES, _CANDIDATE_VAR = 2, 0.1


@dataclass(frozen=True)
class LatentProcesses:
    """The posterior of the processes of all responses, which are in standard units."""

    inducing: InducingInputs
    scales: ResponseScales
    posterior: ProcessPosterior

    def refined(self, inputs: NormalInputs, responses: ResponseEnds) -> LatentProcesses:
        """The processes given rows with these coordinates, by the likelihoods of censored values: (LAT13)."""
        return self.refined_at(PsiStatistics(inputs, self.inducing), responses)

    def refined_at(self, psi: KernelMoments, responses: ResponseEnds) -> LatentProcesses:
        """The same, of rows with these moments of the kernel."""
        return replace(self, posterior=exact_posterior(psi, responses, self.scales, self.posterior))

    def located(self, responses: ResponseEnds) -> WeightedPoints:
        """Coordinates of rows from their responses, which may be missing: (LAT15)."""
        inputs = self.infer(responses)
        return weighted_points(inputs, responses, self.inducing, self.scales, self.posterior)

    def moments(self, points: KernelMoments) -> tuple[Array, Array]:
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

    def draw(self, points: DrawnInputs, size: int, rng: np.random.Generator) -> Array:
        """Draws of the responses without noise, (D, n, size): of coordinates and processes together."""
        posterior, (D, M), n = self.posterior, self.posterior.w.shape, points.n
        root = np.linalg.cholesky(posterior.B_inverse)
        w = posterior.w[:, :, None] + root @ rng.standard_normal((D, M, size))
        half, out = np.linalg.inv(posterior.factor), np.empty((D, n, size))
        for s in range(size):
            A = kernel_at(points.drawn(rng), self.inducing) @ half.T
            rest = np.sqrt(np.maximum(1.0 - np.square(A).sum(axis=1), 0.0))
            out[:, :, s] = w[:, :, s] @ A.T + rest * rng.standard_normal((D, n))
        scales = self.scales
        return np.asarray(scales.level[:, None, None] + scales.sd[:, None, None] * out)
