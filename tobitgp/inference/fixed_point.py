"""The fixed-point iteration that finds a method's posterior at given parameters, and its evidence (SIT6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tobitgp.engines import Partitions, add_up
from tobitgp.errors import NumericalError
from tobitgp.inference import site_updates
from tobitgp.inference.method import Method
from tobitgp.inference.partitioned import PartitionedRows, with_floor
from tobitgp.inference.posterior import Gaussian, Posterior, lay_out
from tobitgp.likelihoods.base import Likelihood
from tobitgp.likelihoods.censoring_noise import Spread
from tobitgp.numerics.arrow import Arrow, factorise, identity, multiply
from tobitgp.numerics.linear_algebra import weights
from tobitgp.priors.block import Block, split_theta
from tobitgp.typing import Array

# Step lengths: a residual that shrinks slowly while its direction turns round is one stepped over, not one approached.
SHORTEN, SHORTEST, LENGTHEN, TURNED = 0.6, 0.05, 1.15, 0.7
CUT = 0.8  # of a length that led astray, for all later steps
# Iterations with neither half the residual nor a higher value: of ascents, and of EP, which may gain a percent each.
PATIENCE, LONG_PATIENCE = 50, 100
# Where rounding keeps an ascent from its tolerance: the residual that is small enough then, and the patience.
NEAR, SHORT_PATIENCE = 1e-5, 10
CACHE_BYTES = 2**26


def find_posterior(
    data: PartitionedRows,
    blocks: Sequence[Block],
    theta: Array,
    method: Method,
    likelihood: Likelihood,
    *,
    windows: bool = True,
) -> Posterior:
    """Find the method's fixed point at given parameters, theta (k,)."""
    likelihood = likelihood.over(data.kinds if windows else tuple(replace(r, window=None) for r in data.kinds))
    warm_up = method.warm_up(likelihood, data.warm)
    if warm_up is not None:
        # Far from the data a window and the tail beyond it cancel: another mode, which the rows alone do not have.
        all_seen = windows and (likelihood.log_concave or data.warm)
        found = find_posterior(data, blocks, theta, warm_up, likelihood, windows=all_seen)
        data = data.starting(found.rows.map(site_updates.ended))
    *first, last = method.attempts(likelihood)
    for attempt in first:
        try:
            posterior = _fixed_point(data, blocks, theta, attempt, likelihood, windows)
        except NumericalError:
            continue
        if posterior.converged:
            return posterior
    if first and data.warm:
        data = data.starting(data.partitions.map(with_floor))
    return _fixed_point(data, blocks, theta, last, likelihood, windows)


def seed(data: PartitionedRows, posterior: Posterior, method: Method, likelihood: Likelihood) -> PartitionedRows:
    """The rows with sites predicted by the posterior of some of them, from which few iterations are left."""
    likelihood = Spread(method.view(likelihood.over(data.kinds).at(posterior.theta)))
    setting = site_updates.Setting(posterior.blocks, posterior.layout, method, likelihood, posterior.sigma)
    return data.starting(data.partitions.map(site_updates.seeded, setting, posterior.q))


def _fixed_point(
    data: PartitionedRows, blocks: Sequence[Block], theta: Array, method: Method, likelihood: Likelihood, windows: bool
) -> Posterior:
    """Iterate one method from given or flat sites."""
    likelihood = Spread(method.view(likelihood.at(theta)))
    at = tuple(b.at(t) for b, t in zip(blocks, split_theta(blocks, theta), strict=True))
    layout = lay_out(at)
    setting = site_updates.Setting(at, layout, method, likelihood, float(np.exp(theta[-1])))
    keep = CACHE_BYTES // max(1, data.n * layout.row_features * 8)
    states = data.partitions.map(site_updates.begin, setting, keep, windows)
    nothing = identity(layout.p, layout.m, layout.size), np.zeros(layout.p + layout.m * layout.size), 0.0, 0.0
    base = _Base(*add_up([nothing, *states.collect(site_updates.sums_of)]))
    end = _iterate(states, base, method, likelihood)
    w, factor = end.q
    # The sums lose digits where the noise is small; another pass over many rows costs more than these are worth.
    D = end.D + (sum(end.states.collect(site_updates.known_evidence, w)) if keep else base.D - base.misfit(w))
    evidence = D - 0.5 * float(w @ w) - 0.5 * factor.log_det()
    return Posterior(theta, at, layout, w, factor, evidence, end.iterations, end.residual, end.converged, end.states)


@dataclass(frozen=True, slots=True)
class _Base:
    """What rows whose sites are known tell: parts of B (identity included) and r, ``y' Lambda y``, D without misfit."""

    B: Arrow
    r: Array
    yy: float
    D: float

    def misfit(self, w: Array) -> float:
        """``sum lambda2 (y - a'w)^2 / 2`` over these rows, without visiting them."""
        return 0.5 * (self.yy - 2.0 * float(self.r @ w) + float(w @ (multiply(self.B, w) - w)))

    def posterior(self, sums: Sequence[Any]) -> Gaussian:
        """``q(w)`` with the sums for B and r over all other rows."""
        B, r = add_up([(self.B, self.r), sums])
        factor = factorise(B)
        return Gaussian(factor.solve(r), factor)


@dataclass(frozen=True, slots=True)
class _End:
    states: Partitions
    q: Gaussian
    D: float
    iterations: int
    residual: float
    converged: bool


def _iterate(states: Partitions, base: _Base, method: Method, likelihood: Likelihood) -> _End:
    """Damped fixed-point iteration on the sites that are sought.

    One visit to the rows moves their sites and sums what the next posterior needs, so an iteration is one pass. Bounds,
    which are stiff where the prior is wide against the noise, are accelerated at the cost of a second pass. Sites of
    negative precision may leave no posterior; since those that leave one form a convex set, a shorter step does.
    """
    sums = add_up(states.collect(site_updates.site_sums))
    try:
        q = base.posterior(sums)
    except NumericalError:
        states = states.map(site_updates.flatten)
        q = base.posterior(add_up(states.collect(site_updates.site_sums)))
    if not sums:
        return _End(states, q, 0.0, 0, 0.0, True)
    floor = 0.0 if likelihood.log_concave else -np.inf
    accelerated = method.traits.ascends == "bound"
    rho, longest, merit, residual, mixed = method.damping, 1.0, -np.inf, np.inf, False
    progress = _Progress()
    for iteration in range(1, method.max_iterations + 1):
        moved = states.map(site_updates.visit, q, rho)
        n, squares, D, dots, *sums = add_up(moved.collect(site_updates.sums_of))
        gap = float(np.sqrt(squares / n))
        if gap < method.tol or iteration == method.max_iterations:
            return _End(states, q, float(D), iteration, gap, gap < method.tol)
        turned, value = False, _merit(method, base, q, float(D)) if method.traits.ascends else -np.inf
        progress = progress.after(gap, value)
        near = method.traits.ascends is not None and gap < NEAR
        if progress.idle >= (SHORT_PATIENCE if near else PATIENCE if method.traits.ascends else LONG_PATIENCE):
            return _End(states, q, float(D), iteration, gap, near)
        if method.traits.ascends:
            if value < merit - _slack(merit):
                rho = rho if mixed else SHORTEN * rho
                states, mixed = states.map(site_updates.retake, rho), False
                q = base.posterior(add_up(states.collect(site_updates.site_sums)))
                continue
            merit = value
        else:
            turned = gap > TURNED * residual and _cosines(dots) < 0.0
            longest = max(CUT * rho, SHORTEST) if gap > residual else longest
            rho = max(SHORTEN * rho, SHORTEST) if gap > residual or turned else rho
        rho = min(longest, rho * LENGTHEN) if gap < residual and not turned else rho
        residual, states = gap, moved
        if accelerated:
            states, mixed = _accelerate(states, rho, floor)
            sums = add_up(states.collect(site_updates.sums_of))
        try:
            q = base.posterior(sums)
        except NumericalError:
            if likelihood.log_concave:
                raise
            states, q, rho = _shorten(base, states, rho)
            mixed = False
    raise AssertionError("unreachable")


@dataclass(frozen=True, slots=True)
class _Progress:
    """Half of the residual and the merit last counted as a gain, and how many iterations in a row gained neither."""

    residual: float = np.inf
    merit: float = -np.inf
    idle: int = 0

    def after(self, residual: float, merit: float) -> _Progress:
        nearer, higher = residual < self.residual, merit > self.merit + _slack(self.merit)
        best = 0.5 * residual if nearer else self.residual, max(merit, self.merit)
        return _Progress(*best, 0 if nearer or higher else self.idle + 1)


def _slack(merit: float) -> float:
    """What rounding may take from a merit."""
    return 1e-10 * max(1.0, abs(merit)) if np.isfinite(merit) else 0.0


def _accelerate(states: Partitions, rho: float, floor: float) -> tuple[Partitions, bool]:
    """Take the accelerated step; False where that is the plain one for want of a past."""
    states = states.map(site_updates.record)
    equations = add_up(states.collect(site_updates.sums_of))
    gamma = weights(*equations) if equations else np.zeros(0)
    return states.map(site_updates.mix, gamma, rho, floor), bool(equations)


def _shorten(base: _Base, states: Partitions, rho: float) -> tuple[Partitions, Gaussian, float]:
    """Posterior after the longest step tried that leaves one, and its length; the sites follow."""
    while rho > SHORTEST**6:
        rho *= SHORTEN
        shorter = states.map(site_updates.retake, rho)
        try:
            return shorter, base.posterior(add_up(shorter.collect(site_updates.site_sums))), rho
        except NumericalError:
            pass
    raise NumericalError("The sites of the rows leave no posterior.")


def _cosines(dots: Array) -> float:
    """Sum over both natural parameters of the cosines between two steps."""
    size = np.sqrt(dots[:, 1] * dots[:, 2])
    return float(np.sum(np.divide(dots[:, 0], size, out=np.zeros_like(size), where=size > 0.0)))


def _merit(method: Method, base: _Base, q: Gaussian, D: float) -> float:
    """What an ascending method must not lose, from the sought sites' ``D`` and the sums over the others."""
    joint = D - base.misfit(q.w) - 0.5 * float(q.w @ q.w)
    return joint - 0.5 * q.factor.log_det() if method.traits.ascends == "bound" else joint
