"""Estimates of linear coefficients and hyper-parameters, their covariances, tails and intervals, on arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from tobitgp.inference.fitted import FittedGP
from tobitgp.inference.model import GPModel
from tobitgp.numerics.normal import normal_quantile, total_sd
from tobitgp.regression.maximum import hide
from tobitgp.typing import Array, BoolArray

_MOST_SKEW = 1.0  # beyond it the expansion of a quantile turns back within three standard deviations


@dataclass(frozen=True, slots=True)
class Linear:
    """Posterior of the p linear coefficients: a mixture of J normals."""

    weight: Array  # (J,)
    mean: Array  # (J, p), in the user's units
    covariance: Array  # (J, p, p)
    fixed: BoolArray  # (p,)
    unidentified: Array | None = None  # (p, p), what the covariance does not cover

    @property
    def within(self) -> Array:
        """Covariances (J, p, p), NaN where they are not identified."""
        return self.covariance if self.unidentified is None else hide(self.covariance, self.unidentified)

    @property
    def sd(self) -> Array:
        """Standard deviations within the components, (J, p)."""
        return np.sqrt(np.einsum("jii->ji", self.within))

    def combine(self, R: Array, null: Array) -> Linear:
        """Posterior of the combinations ``R beta - null`` of the rows of R (k, p)."""
        covariance = np.einsum("ki,jil,ml->jkm", R, self.covariance, R)
        lost = None if self.unidentified is None else R @ self.unidentified @ R.T
        fixed = ~((R != 0.0) & ~self.fixed).any(axis=1)
        return Linear(self.weight, self.mean @ R.T - null, covariance, fixed, lost)

    def coefficients(self) -> Array:
        """Posterior means, (p,)."""
        return np.asarray(self.weight @ self.mean)

    def total_covariance(self) -> Array:
        """Posterior covariance (p, p): within the components plus between them."""
        between = self.mean - self.coefficients()
        within = np.einsum("j,jkl->kl", self.weight, self.within)
        return np.asarray(within + np.einsum("j,jk,jl->kl", self.weight, between, between))

    def errors(self) -> Array:
        """Posterior standard deviations, (p,); zero where fixed."""
        return np.where(self.fixed, 0.0, total_sd(self.weight, self.mean, self.sd**2))

    def p_values(self) -> Array:
        """Twice the posterior probability of the sign that is less likely, (p,); NaN where fixed."""
        z = np.divide(self.mean, self.sd, out=np.zeros_like(self.mean), where=self.sd != 0)
        tails = np.minimum(self.weight @ ndtr(-z), self.weight @ ndtr(z))
        return np.where(self.fixed, np.nan, np.minimum(2.0 * tails, 1.0))

    def interval(self, alpha: float) -> Array:
        """Ends (p, 2) that leave posterior probability ``alpha / 2`` on either side."""
        ends = [normal_quantile(p, self.weight, self.mean, self.sd) for p in (0.5 * alpha, 1.0 - 0.5 * alpha)]
        return np.where(self.fixed[:, None], self.coefficients()[:, None], np.column_stack(ends))


def linear_posterior(fitted: FittedGP, model: GPModel) -> Linear:
    """Coefficients at every design point, with the levels that they hold (FEA10)."""
    J, p = len(fitted.points), fitted.n_linear
    mean, covariance = np.empty((J, p)), np.empty((J, p, p))
    if model.linear is None:
        return Linear(fitted.weights, mean, covariance, np.zeros(0, dtype=bool))
    for j, point in enumerate(fitted.points):
        w, S = point.coefficients(p)
        mean[j], covariance[j] = model.linear.coefficients(w, model.problem.units.centre), model.linear.covariance(S)
    return Linear(fitted.weights, mean, covariance, model.linear.sd == 0.0)


@dataclass(frozen=True, slots=True)
class Hyper:
    """The k hyper-parameters: their maximum, and the moments of their logarithms."""

    value: Array  # (k,), at the maximum; natural scale, the user's units
    log_mean: Array  # (k,), posterior mean of the logarithm
    log_covariance: Array  # (k, k), zero where fixed, and at a bound
    log_skew: Array  # (k,), between -1 and 1, zero where they are not integrated over
    fixed: BoolArray  # (k,)

    @property
    def log_sd(self) -> Array:
        """Standard errors of the logarithms, (k,): zero where fixed, NaN at a bound, where there is no curvature."""
        return np.sqrt(np.diag(nan_at_bounds(self.log_covariance, self.fixed)))

    @property
    def cross(self) -> float:
        """Covariance with the linear coefficients: none is formed."""
        return 0.0

    def z_values(self) -> Array:
        """NaN: zero is no value to test."""
        return np.full(len(self.value), np.nan)

    def p_values(self) -> Array:
        """NaN, as ``z_values``."""
        return np.full(len(self.value), np.nan)

    def covariance(self) -> Array:
        """Covariance (k, k) of the values by the delta method."""
        return np.asarray(np.outer(self.value, self.value) * nan_at_bounds(self.log_covariance, self.fixed))

    def errors(self) -> Array:
        """``value x log_sd``, (k,)."""
        return np.asarray(self.value * self.log_sd)

    def interval(self, alpha: float) -> Array:
        """Quantiles by Cornish and Fisher's expansion of the logarithm's, (HYP12), (k, 2)."""
        z = float(-ndtri(0.5 * alpha)) * np.array([-1.0, 1.0])
        steps = z + np.outer(self.log_skew, z**2 - 1.0) / 6.0
        return np.exp(self.log_mean[:, None] + self.log_sd[:, None] * steps)


@dataclass(frozen=True, slots=True)
class ScaleEstimates:
    """The m parameters of the noise of a regression, normal in ``theta``."""

    theta: Array  # (m,), log sigma or the coefficients of its formula, and log df
    theta_covariance: Array  # (m, m), zero where fixed, and at a bound
    theta_cross: Array  # (m, p), covariances with the linear coefficients
    positive: BoolArray  # (m,), reported as ``exp(theta)``; the others, coefficients of log sigma, as they are
    fixed: BoolArray  # (m,)

    @property
    def value(self) -> Array:
        """On the scale of the report, (m,)."""
        return np.where(self.positive, np.exp(np.where(self.positive, self.theta, 0.0)), self.theta)

    @property
    def slope(self) -> Array:
        """Derivative of ``value`` in theta, (m,)."""
        return np.where(self.positive, self.value, 1.0)

    @property
    def theta_sd(self) -> Array:
        """Standard errors of theta, (m,); zero where fixed, NaN at a bound."""
        return np.sqrt(np.diag(nan_at_bounds(self.theta_covariance, self.fixed)))

    @property
    def cross(self) -> Array:
        """Covariance with the linear coefficients, (m, p), by the delta method."""
        return self.slope[:, None] * self.theta_cross

    def errors(self) -> Array:
        """Standard errors of ``value``, (m,), by the delta method."""
        return np.asarray(self.slope * self.theta_sd)

    def z_values(self) -> Array:
        """Coefficients of log sigma over their errors, (m,); NaN for positive parameters, of which zero is no value."""
        tested = ~self.positive & (self.theta_sd > 0.0)
        return np.divide(self.theta, self.theta_sd, out=np.full_like(self.theta, np.nan), where=tested)

    def p_values(self) -> Array:
        """Two-sided, (m,)."""
        return 2.0 * ndtr(-np.abs(self.z_values()))

    def covariance(self) -> Array:
        """Covariance (m, m) of ``value``."""
        return np.asarray(np.outer(self.slope, self.slope) * nan_at_bounds(self.theta_covariance, self.fixed))

    def interval(self, alpha: float) -> Array:
        """Normal in theta, (m, 2)."""
        reach = float(-ndtri(0.5 * alpha)) * self.theta_sd
        ends = np.column_stack([self.theta - reach, self.theta + reach])
        with np.errstate(over="ignore"):
            return np.where(self.positive[:, None], np.exp(np.where(self.positive[:, None], ends, 0.0)), ends)


def nan_at_bounds(V: Array, fixed: BoolArray) -> Array:
    """A covariance (k, k) with NaN for the variance of a parameter that is held at a bound, where it is zero."""
    return V + np.diag(np.where(~fixed & (np.diag(V) == 0.0), np.nan, 0.0))


def hyper_estimates(fitted: FittedGP) -> Hyper:
    """Values at the maximum, with moments by design points on two spheres, otherwise by the curvature."""
    parameters, free, weight = fitted.parameters, fitted.parameters.free, fitted.weights
    value = parameters.values(fitted.points[0].theta)
    with np.errstate(divide="ignore"):
        mean, V, skew = np.log(value), fitted.log_covariance.copy(), np.zeros(len(value))
    if fitted.has_moments:
        step = np.array([point.theta[free] - fitted.points[0].theta[free] for point in fitted.points])
        away = step - weight @ step
        V[np.ix_(free, free)] = np.einsum("j,jk,jl->kl", weight, away, away)
        sd = np.sqrt(np.diag(V)[free])
        mean[free] += weight @ step
        third = np.divide(weight @ away**3, sd**3, out=np.zeros_like(sd), where=sd > 0.0)
        skew[free] = np.clip(third, -_MOST_SKEW, _MOST_SKEW)
    return Hyper(value, mean, V, skew, ~free)
