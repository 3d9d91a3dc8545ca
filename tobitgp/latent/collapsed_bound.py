r"""The collapsed bound of several responses over normal inputs, with parabolas below censored rows: (LAT5) to (LAT9).

Titsias and Lawrence (2010) integrate the process out given the expectations of its kernel. Basson, Louw and Smith
(2023), Eq. 46, do so with parabolas below the log-likelihoods of censored rows, which leave the bound Gaussian. Both
together are one bound here. Where the parabolas touch is found by Newton's method for all responses at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from tobitgp.latent.psi_statistics import InducingInputs, PsiStatistics, StatisticSlopes, kernel_slopes
from tobitgp.numerics.truncated_moments import moments
from tobitgp.typing import Array, BoolArray

JITTER = 1e-6
_STEPS, _HALVINGS, _TOLERANCE = 60, 40, 1e-10
_HALF_LOG_2PI = 0.5 * float(np.log(2.0 * np.pi))


class ResponseEnds(NamedTuple):
    """Bounds on D responses in n rows: equal where a value was observed, NaN where nothing is known."""

    lower: Array  # (n, D)
    upper: Array  # (n, D)

    @property
    def seen(self) -> BoolArray:
        """Which are known exactly, (n, D)."""
        return np.asarray(self.lower == self.upper)

    @property
    def known(self) -> BoolArray:
        """Of which something is known, (n, D)."""
        return np.asarray(~np.isnan(self.lower))


class ResponseScales(NamedTuple):
    """Parameters of the responses: y = level + sd f(x) + noise, f of variance 1."""

    level: Array  # (D,)
    sd: Array  # (D,)
    sigma: Array  # (D,), of the noise


class RowTerms(NamedTuple):
    """Log-likelihood of every known value given f, and its derivatives in units of the noise; 0 where none is known."""

    value: Array  # (n, D)
    mean: Array  # (n, D), E[(y - f) / sigma] given what was seen
    complement: Array  # (n, D), 1 less its variance


def row_terms(responses: ResponseEnds, scales: ResponseScales, f: Array) -> RowTerms:
    """Terms of rows at values of f, (n, D)."""
    lower, upper = ((end - scales.level - scales.sd * f) / scales.sigma for end in responses)
    seen, censored = responses.seen, responses.known & ~responses.seen
    value = np.where(seen, -0.5 * np.square(lower) - _HALF_LOG_2PI - np.log(scales.sigma), 0.0)
    mean, complement = np.where(seen, lower, 0.0), np.where(seen, 1.0, 0.0)
    if censored.any():
        low, high = np.maximum(lower[censored], -1e100), np.minimum(upper[censored], 1e100)
        value[censored], mean[censored], complement[censored] = moments(
            low, high, 0.5 * (low + high), 0.5 * (high - low), rows=3
        )
    return RowTerms(value, mean, complement)


class KernelMoments(Protocol):
    """Expectations of the kernel over the inputs of rows."""

    @property
    def psi1(self) -> Array:
        """First moments, (n, M)."""

    @property
    def psi2(self) -> Array:
        """Second moments, (n, P)."""

    @property
    def inducing(self) -> InducingInputs:
        """Where the second argument lies."""


@dataclass(frozen=True)
class ProcessPosterior:
    """Posterior of the processes at the inducing inputs, in whitened coordinates: N(w_d, B_d^-1)."""

    w: Array  # (D, M)
    B_inverse: Array  # (D, M, M)
    factor: Array  # (M, M), L of K = L L'

    @cached_property
    def unwhitened(self) -> Array:
        """K^-1 E u, (D, M): what multiplies k(x, z) in the mean of f."""
        return np.asarray(np.linalg.solve(self.factor.T, self.w.T).T)

    @cached_property
    def second(self) -> Array:
        """K^-1 (E u u' - K) K^-1, (D, M, M): what k(x, z) k(x, z)' is multiplied by in E f^2 - 1."""
        inner = self.B_inverse + self.w[:, :, None] * self.w[:, None, :] - np.eye(len(self.factor))
        half = np.linalg.inv(self.factor)
        return symmetric(half.T @ inner @ half)

    def moments(self, psi: KernelMoments) -> tuple[Array, Array]:
        """Means and variances of f in rows, (n, D) each: (LAT8)."""
        mean = psi.psi1 @ self.unwhitened.T
        upper = psi.inducing.upper(self.second) * psi.inducing.multiplicity
        return mean, np.maximum(1.0 + psi.psi2 @ upper.T - mean * mean, 0.0)


@dataclass(frozen=True)
class CollapsedBound:
    """Value of the bound without the divergence of q(X), and its derivatives."""

    value: float
    psi: StatisticSlopes
    scales: ResponseScales  # derivatives in the level, log sd and log sigma
    weights: ProcessPosterior


def symmetric(matrices: Any) -> Array:
    """Symmetric part of matrices (..., M, M): K^-1 multiplies what rounding leaves of the other."""
    return np.asarray(0.5 * (matrices + np.swapaxes(matrices, -1, -2)), dtype=np.float64)


def factor_of(inducing: InducingInputs) -> Array:
    """L of K + jitter = L L', (M, M)."""
    return np.asarray(np.linalg.cholesky(inducing.K + JITTER * np.eye(len(inducing.z))))


def posterior_weights(
    psi: PsiStatistics, responses: ResponseEnds, scales: ResponseScales, start: Array | None = None
) -> ProcessPosterior:
    """The best posterior of the processes: (LAT6) and (LAT7)."""
    L = factor_of(psi.inducing)
    half = np.asarray(np.linalg.inv(L), dtype=np.float64)
    A, B = psi.psi1 @ half.T, _precisions(psi, responses, scales, half)
    w = _newton(A, B, responses, scales, np.zeros((B.shape[0], len(L))) if start is None else start)
    return ProcessPosterior(w, symmetric(np.linalg.inv(B)), L)


def _precisions(psi: PsiStatistics, responses: ResponseEnds, scales: ResponseScales, half: Array) -> Array:
    """B of every response, (D, M, M), with L^-1: (LAT6)."""
    Phi = half @ psi.inducing.matrix(responses.known.T.astype(float) @ psi.psi2) @ half.T
    return np.asarray(np.eye(len(half)) + np.square(scales.sd / scales.sigma)[:, None, None] * symmetric(Phi))


def _newton(A: Array, B: Array, responses: ResponseEnds, scales: ResponseScales, w: Array) -> Array:
    """Maxima w (D, M) of log-likelihoods at the means A w, less what the spread of the inputs and the prior take."""
    known, slope = responses.known.astype(float), scales.sd / scales.sigma
    tau, AA = slope * slope, (A[:, :, None] * A[:, None, :]).reshape(len(A), -1)

    def at(w: Array) -> tuple[Array, Array, RowTerms]:
        f = A @ w.T
        terms = row_terms(responses, scales, f)
        kept = np.einsum("dm,dmk,dk->d", w, B, w) - (tau * known * f * f).sum(axis=0)
        return terms.value.sum(axis=0) - 0.5 * kept, f, terms

    value, f, terms = at(w)
    for _ in range(_STEPS):
        pull = known * (slope * terms.mean + tau * f)
        gradient = (A.T @ pull).T - np.einsum("dmk,dk->dm", B, w)
        lost = (AA.T @ (tau * known * (1.0 - terms.complement))).T.reshape(B.shape)
        step = np.linalg.solve(B - lost, gradient[:, :, None])[:, :, 0]
        gain = (step * gradient).sum(axis=1)
        if gain.max() < _TOLERANCE:
            return np.asarray(w + step)
        length = np.ones(len(w))
        for _ in range(_HALVINGS):
            tried, f, terms = at(w + length[:, None] * step)
            short = tried < value - 1e-12 * np.abs(value)
            if not short.any():
                break
            length = np.where(short, 0.5 * length, length)
        w, value = w + length[:, None] * step, tried
    return w


def collapsed_bound(
    psi: PsiStatistics, responses: ResponseEnds, scales: ResponseScales, start: Array | None = None
) -> CollapsedBound:
    """The bound (LAT5) at the best posterior of the processes, and its derivatives (LAT9)."""
    inducing, known = psi.inducing, responses.known.astype(float)
    q = posterior_weights(psi, responses, scales, start)
    slope = scales.sd / scales.sigma
    tau = slope * slope
    f, var = q.moments(psi)
    terms, spread = row_terms(responses, scales, f), (known * var).sum(axis=0)
    log_det = -np.linalg.slogdet(q.B_inverse)[1]
    divergence = 0.5 * (np.trace(q.B_inverse, axis1=1, axis2=2) + np.square(q.w).sum(axis=1) - q.w.shape[1] + log_det)
    value = float(terms.value.sum() - 0.5 * (tau * spread).sum() - divergence.sum())
    pull = known * (slope * terms.mean + tau * f)
    of_second = -0.5 * tau[:, None] * inducing.upper(q.second) * inducing.multiplicity
    slopes = psi.slopes(pull @ q.unwhitened, known @ of_second)
    of_z, of_scale = kernel_slopes(inducing, _kernel_slope(psi, responses, scales, q))
    n, Q = psi.inputs.mean.shape
    slopes = slopes + StatisticSlopes(np.zeros((n, Q)), np.zeros((n, Q)), of_z, of_scale)
    own = ResponseScales(
        terms.mean.sum(axis=0) / scales.sigma,
        (slope * terms.mean * f).sum(axis=0) - tau * spread,
        (np.square(terms.mean) - terms.complement).sum(axis=0) + tau * spread,
    )
    return CollapsedBound(value, slopes, own, q)


def _kernel_slope(psi: PsiStatistics, responses: ResponseEnds, scales: ResponseScales, q: ProcessPosterior) -> Array:
    """Derivative in K, (M, M), at the best posterior: powers of K^-1, which would cancel, do not appear in it."""
    half = np.asarray(np.linalg.inv(q.factor), dtype=np.float64)
    B, squares = _precisions(psi, responses, scales, half), q.w[:, :, None] * q.w[:, None, :]
    inner = (2.0 * np.eye(len(half)) - B - q.B_inverse - squares).sum(axis=0)
    return np.asarray(0.5 * half.T @ inner @ half)
