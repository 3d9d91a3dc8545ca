"""Natural-gradient steps of the posterior of the weights by batches of rows, (SVI1) to (SVI5) of the theory pages.

What rows say of the weights is a sum over them, ``G`` and ``r`` of (FEA12), so a step moves an estimate of the sum
towards that of a batch. Hyper-parameters follow by the slopes of the bound there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from tobitgp.data.arrays import KindRows
from tobitgp.errors import NumericalError
from tobitgp.inference import site_updates
from tobitgp.inference.evidence_ascent import INFEASIBLE
from tobitgp.inference.feature_posterior import FeatureWeights
from tobitgp.inference.frozen import Frozen, FrozenAt, KnownMoments, MovedFactor, begin, keep, noise_slopes
from tobitgp.inference.hyperparameters import Parameters
from tobitgp.inference.method import Method
from tobitgp.inference.partitioned import RowPartition, part_at_scale
from tobitgp.inference.site_updates import Setting
from tobitgp.likelihoods.censoring_noise import Spread
from tobitgp.likelihoods.row_terms import Expected, Likelihood, Wrapped
from tobitgp.numerics.arrow import Arrow, inverse_arrow
from tobitgp.typing import Array


class RowSums(NamedTuple):
    """What rows say of the weights: those whose sites are known, if sigma were 1, and the others by their sites."""

    known: KnownMoments
    G: Arrow
    r: Array

    def times(self, factor: float) -> RowSums:
        """Those of so many times the rows."""
        return _mapped(lambda a: factor * a, self)

    def towards(self, other: RowSums, rho: float) -> RowSums:
        """A step to others."""
        return _mapped(lambda a, b: (1.0 - rho) * a + rho * b, self, other)


def _mapped(function: Any, *values: Any) -> Any:
    first = values[0]
    if not isinstance(first, tuple):
        return function(*values)
    items = [_mapped(function, *each) for each in zip(*values, strict=True)]
    return type(first)(*items) if hasattr(first, "_fields") else tuple(items)


@dataclass(frozen=True, slots=True)
class Moving(Wrapped):
    """A likelihood of rows whose noise has columns: no site is known, since it moves with their coefficients."""

    @property
    def homogeneous(self) -> bool:  # type: ignore[override]
        """As of the noise."""
        return bool(self.noise.homogeneous)

    def is_conjugate(self, rows: KindRows) -> bool:
        """No rows are."""
        return False

    def expected(self, rows: KindRows, mean: Array, var: Array, sigma: float, *, slopes: bool = True) -> Expected:
        """As of the noise."""
        return self.noise.expected(rows, mean, var, sigma, slopes=slopes)


@dataclass(frozen=True, slots=True)
class BatchModel:
    """Features that stay, and how rows are met."""

    frozen: Frozen
    method: Method
    likelihood: Likelihood
    n_scales: int  # columns of log sigma

    @property
    def n_kernel(self) -> int:
        """Parameters of kernels, the first ones."""
        return sum(block.n_parameters for block in self.frozen.blocks)

    def setting(self, theta: Array) -> Setting:
        """At given parameters."""
        view = self.method.view(self.likelihood.at(theta))
        view = Spread(Moving(view) if self.n_scales else view)
        return Setting(self.frozen.at, self.frozen.layout, self.method, view, float(np.exp(theta[-1])))

    def sums(self, part: RowPartition, theta: Array) -> RowSums:
        """What rows say by the sites that they have."""
        return self._sums(*self._begun(part, theta))

    def visit(self, part: RowPartition, at: StepState, factor: float) -> Visited:
        """What a batch, each row of which stands for ``factor`` rows, says at a posterior."""
        part, state = self._begun(part, at.theta)
        expected, slopes = 0.0, np.zeros(len(at.theta) - self.n_kernel)
        if state.chunks:
            state = site_updates.visit(state, at.q)
            expected, slopes = float(state.sums[2]), noise_slopes(state, at.q, None)[0]
            state = site_updates.take_step(state, 1.0)
        sums = self._sums(part, state).times(factor)
        return Visited(sums, factor * slopes, factor * expected + at.expected(sums.known) - at.divergence)

    def _begun(self, part: RowPartition, theta: Array) -> tuple[RowPartition, site_updates.SitesState]:
        setting = self.setting(theta)
        if self.n_scales:
            part = part_at_scale(part, theta[self.n_kernel : self.n_kernel + self.n_scales])
        part = keep(part, setting, np.inf)
        return part, begin(part, setting, True)

    def _sums(self, part: RowPartition, state: site_updates.SitesState) -> RowSums:
        assert part.kept is not None
        nothing = self.frozen.known
        known = KnownMoments(*part.kept.sums) if part.kept.sums else nothing
        G, r = (site_updates.site_sums(state) if state.chunks else None) or (nothing.G, nothing.r)
        return RowSums(known, G, r)


class Visited(NamedTuple):
    """What a batch says of all rows."""

    sums: RowSums  # goal of the natural-gradient step, (SVI2)
    slopes: Array  # of the bound in the parameters of noise, by rows whose sites are sought
    bound: float  # (SVI3)


class StepState(NamedTuple):
    """A posterior on the way: what rows are taken to say, hyper-parameters, and what follows from both."""

    sums: RowSums
    theta: Array
    there: FrozenAt
    q: FeatureWeights

    @classmethod
    def of(cls, model: BatchModel, sums: RowSums, theta: Array) -> StepState:
        """From the sums and hyper-parameters, (FEA12)."""
        there = FrozenAt.of(replace(model.frozen, known=sums.known), theta)
        return cls(sums, theta, there, there.given(sums.G, sums.r))

    @property
    def _w(self) -> Array:
        """Whitened weights."""
        assert isinstance(self.q.factor, MovedFactor)
        return self.q.factor.w

    def expected(self, known: KnownMoments) -> float:
        """Expected log likelihood of rows whose sites are known."""
        return self.there.expected(known, self.q)

    @property
    def divergence(self) -> float:
        """``KL(q || prior)`` of the weights: ``(tr S + |w|^2 - M + log |B|) / 2``."""
        S = inverse_arrow(self.q.factor)
        trace = float(np.trace(S[0])) + sum(float(np.trace(own[:, :, : own.shape[1]], 0, 1, 2).sum()) for own in S[1:])
        return 0.5 * (trace + self.q.quadratic - len(self.q.w) + self.q.log_det)

    @property
    def evidence(self) -> float:
        """Log evidence of the sums about the kernel parameters, up to a constant: ``w' B w / 2 - log |B| / 2``."""
        r = self.sums.r + self.sums.known.r / self.there.sigma**2
        return 0.5 * float(self._w @ self.there.root.adjoint(r)) - 0.5 * self.q.log_det

    def gradient(self, slopes: Array) -> Array:
        """Of the bound in the hyper-parameters, (k,), (SVI5)."""
        return self.there.gradient(self.theta, self.q, None, [slopes])


def follow_kernels(model: BatchModel, state: StepState, parameters: Parameters) -> StepState:
    """The state with the parameters of kernels at their maximum given the sums, which takes no rows."""
    from scipy.optimize import minimize

    moved = np.where(np.arange(len(state.theta)) < model.n_kernel, parameters.free, False)
    if not moved.any():
        return state
    own, nothing = moved[parameters.free], np.zeros(len(moved) - model.n_kernel)

    def at(point: Array) -> StepState:
        theta = state.theta.copy()
        theta[moved] = point
        return StepState.of(model, state.sums, theta)

    def negative(point: Array) -> tuple[float, Array]:
        try:
            there = at(point)
        except NumericalError:
            return INFEASIBLE, np.zeros_like(point)
        log_prior, slopes = parameters.log_prior(there.theta)
        return -there.evidence - log_prior, -(there.gradient(nothing) + slopes)[moved]

    bounds = list(zip(parameters.least[own], parameters.most[own], strict=True))
    options: Any = {"gtol": 1e-4, "ftol": 1e-12, "maxiter": 100}
    found = minimize(negative, state.theta[moved], jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return at(found.x)
