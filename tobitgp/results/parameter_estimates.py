"""Estimates of linear coefficients and hyper-parameters, their covariances, tails and intervals, on arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.linalg import block_diag
from scipy.special import ndtr, ndtri

from tobitgp.numerics.bordered import CovarianceMatrix, dense, of_sums, variances
from tobitgp.numerics.normal_functions import normal_quantile, total_sd
from tobitgp.regression.maximum import hide, known
from tobitgp.typing import Array, BoolArray

if TYPE_CHECKING:
    from tobitgp.inference.assembly import GPModel
    from tobitgp.inference.fitted import FittedGP

CovKind = Literal["linear_response", "vb"]
_MOST_SKEW = 1.0  # beyond it the expansion of a quantile turns back within three standard deviations


@dataclass(frozen=True, slots=True)
class Linear:
    """Posterior of the p linear coefficients: a mixture of J normals."""

    weight: Array  # (J,)
    mean: Array  # (J, p), in the user's units
    covariance: Sequence[CovarianceMatrix] | Array  # (J, p, p), or J without their entries
    fixed: BoolArray  # (p,)
    unidentified: CovarianceMatrix | None = None  # (p, p), what the covariance does not cover

    @property
    def within(self) -> Array:
        """Covariances (J, p, p), NaN where they are not identified."""
        V = np.stack([dense(each) for each in self.covariance])
        return V if self.unidentified is None else hide(V, dense(self.unidentified))

    @property
    def sd(self) -> Array:
        """Standard deviations within the components, (J, p)."""
        variance = np.maximum(np.stack([variances(V) for V in self.covariance]), 0.0)  # rounding goes below
        return np.sqrt(variance if self.unidentified is None else known(variance, variances(self.unidentified)))

    def combine(self, R: Array, null: Array) -> Linear:
        """Posterior of the combinations ``R beta - null`` of the rows of R (k, p)."""
        covariance = [of_sums(R, V) for V in self.covariance]
        lost = None if self.unidentified is None else of_sums(R, self.unidentified)
        fixed = ~((R != 0.0) & ~self.fixed).any(axis=1)
        return Linear(self.weight, self.mean @ R.T - null, covariance, fixed, lost)

    def coefficients(self) -> Array:
        """Posterior means, (p,)."""
        return np.asarray(self.weight @ self.mean)

    def total_covariance(self) -> Array:
        """Posterior covariance (p, p): within the components plus between them."""
        between = self.mean - self.coefficients()
        within = sum(weight * dense(V) for weight, V in zip(self.weight, self.covariance, strict=True))
        V = within if self.unidentified is None else hide(within, dense(self.unidentified))
        return np.asarray(V + np.einsum("j,jk,jl->kl", self.weight, between, between))

    def errors(self) -> Array:
        """Posterior standard deviations, (p,); zero where fixed."""
        return np.where(self.fixed, 0.0, total_sd(self.weight, self.mean, self.sd**2))

    def z_values(self) -> Array:
        """Coefficients over their errors, (p,); NaN where fixed."""
        error = self.errors()
        return np.divide(self.coefficients(), error, out=np.full_like(error, np.nan), where=error > 0)

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
    from tobitgp.inference.feature_layout import linear_places

    J, p = len(fitted.points), fitted.n_linear
    if model.linear is None:
        return Linear(fitted.weights, np.empty((J, p)), np.empty((J, p, p)), np.zeros(0, dtype=bool))
    mean, covariance = np.empty((J, p)), []
    for j, point in enumerate(fitted.points):
        w, S = point.coefficients(linear_places(point.layout, p, model.linear.factor))
        mean[j] = model.linear.coefficients(w, model.problem.units.centre)
        covariance.append(model.linear.covariance(S))
    return model.reported(Linear(fitted.weights, mean, covariance, model.linear.sd == 0.0))


def slope_posterior(fitted: FittedGP, model: GPModel) -> Linear:
    """Slopes of the lines of processes at every design point."""
    unit, first = np.array([*model.slopes.values()]), len(model.terms) + (model.linear is not None)
    blocks = range(first, first + len(unit))
    mean, covariance = np.empty((len(fitted.points), len(unit))), []
    for j, point in enumerate(fitted.points):
        at = [point.layout.places[block].columns.start for block in blocks]
        E = np.zeros((len(point.w), len(at)))
        E[at, np.arange(len(at))] = unit
        half = point.factor.whiten(E)
        mean[j] = unit * point.w[at]
        covariance.append(half.T @ half)
    return Linear(fitted.weights, mean, covariance, np.zeros(len(unit), dtype=bool))


@dataclass(frozen=True, slots=True)
class Transformed:
    """The m hyper-parameters of a process or parameters of the noise of a regression, close to normal in ``theta``."""

    value: Array  # (m,), on the scale of the report
    theta: Array  # (m,), logarithms, or coefficients of a formula of log sigma
    theta_covariance: Array  # (m, m), zero where fixed, and at a bound
    theta_cross: Array  # (m, p), covariances with the linear coefficients
    positive: BoolArray  # (m,), reported as ``exp(theta)``; of the others coefficients of log sigma as they are
    fixed: BoolArray  # (m,)
    theta_mean: Array  # (m,), mean of theta; its estimate where it is not integrated over
    theta_skew: Array  # (m,), between -1 and 1, zero where it is not integrated over
    correlation: BoolArray | None = None  # (m,), reported as ``tanh(theta)``

    def some(self, kept: BoolArray) -> Transformed:
        """Some of the parameters."""
        own = {f.name: getattr(self, f.name) for f in fields(self)}
        own = {name: None if values is None else values[kept] for name, values in own.items()}
        return Transformed(**own | {"theta_covariance": self.theta_covariance[np.ix_(kept, kept)]})

    @property
    def slope(self) -> Array:
        """Derivative of ``value`` in theta, (m,)."""
        slope = np.where(self.positive, self.value, 1.0)
        return slope if self.correlation is None else np.where(self.correlation, 1.0 - self.value**2, slope)

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

    @property
    def tested(self) -> BoolArray:
        """Parameters of which zero is a value, (m,): coefficients of log sigma, for example."""
        return ~self.positive if self.correlation is None else ~(self.positive | self.correlation)

    def z_values(self) -> Array:
        """Z values of log sigma's coefficients, (m,); NaN for positive parameters, which cannot be zero."""
        known = self.tested & (self.theta_sd > 0.0)
        return np.divide(self.theta, self.theta_sd, out=np.full_like(self.theta, np.nan), where=known)

    def p_values(self) -> Array:
        """Two-sided, (m,)."""
        return 2.0 * ndtr(-np.abs(self.z_values()))

    def covariance(self) -> Array:
        """Covariance (m, m) of ``value``."""
        return np.asarray(np.outer(self.slope, self.slope) * nan_at_bounds(self.theta_covariance, self.fixed))

    def interval(self, alpha: float) -> Array:
        """Quantiles by Cornish and Fisher's expansion of those of theta, (HYP12), (m, 2); normal without skewness."""
        z = float(-ndtri(0.5 * alpha)) * np.array([-1.0, 1.0])
        steps = z + np.outer(self.theta_skew, z**2 - 1.0) / 6.0
        ends = self.theta_mean[:, None] + self.theta_sd[:, None] * steps
        with np.errstate(over="ignore"):
            ends = np.where(self.positive[:, None], np.exp(np.where(self.positive[:, None], ends, 0.0)), ends)
        return ends if self.correlation is None else np.where(self.correlation[:, None], np.tanh(ends), ends)


def with_tested(linear: Linear, rest: Transformed) -> Linear:
    """Linear coefficients of a posterior, then other parameters of which zero is a value, without covariances."""
    own, m = rest.some(rest.tested), int(rest.tested.sum())
    if not m:
        return linear
    mean = np.hstack([linear.mean, np.tile(own.theta, (len(linear.mean), 1))])
    covariance = [block_diag(dense(V), own.theta_covariance) for V in linear.covariance]
    return Linear(linear.weight, mean, covariance, np.append(linear.fixed, own.fixed))


def nan_at_bounds(V: Array, fixed: BoolArray) -> Array:
    """A covariance (k, k) with NaN for the variance of a parameter that is held at a bound, where it is zero."""
    return V + np.diag(np.where(~fixed & (np.diag(V) == 0.0), np.nan, 0.0))


def hyper_estimates(fitted: FittedGP) -> Transformed:
    """Values at the maximum, with moments by design points on two spheres, otherwise by the curvature."""
    parameters, free, weight = fitted.parameters, fitted.parameters.free, fitted.weights
    value, (theta, J) = parameters.values(fitted.points[0].theta), parameters.report(fitted.points[0].theta)
    mean, V, skew = theta.copy(), J @ fitted.log_covariance @ J.T, np.zeros(len(theta))
    if fitted.has_moments:
        step = np.array([parameters.report(point.theta)[0][free] - theta[free] for point in fitted.points])
        away = step - weight @ step
        V[np.ix_(free, free)] = np.einsum("j,jk,jl->kl", weight, away, away)
        sd = np.sqrt(np.diag(V)[free])
        mean[free] += weight @ step
        third = np.divide(weight @ away**3, sd**3, out=np.zeros_like(sd), where=sd > 0.0)
        skew[free] = np.clip(third, -_MOST_SKEW, _MOST_SKEW)
    cross = np.zeros((len(theta), fitted.n_linear))
    return Transformed(value, theta, V, cross, parameters.positive, ~free, mean, skew, parameters.correlations)
