"""The fixed-point iteration that finds a method's posterior at given parameters, and its evidence (SIT6)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import InitVar, dataclass, field, replace
from functools import partial
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from tobitgp.data.arrays import join
from tobitgp.engines import Partitions, add_up
from tobitgp.errors import NumericalError
from tobitgp.inference import site_updates
from tobitgp.inference.compiled import CompiledPlan
from tobitgp.inference.compiled_chain_evidence import ChainPlan
from tobitgp.inference.compiled_rows import find_noise
from tobitgp.inference.evidence import evidence_gradient
from tobitgp.inference.feature_layout import lay_out
from tobitgp.inference.feature_posterior import FeaturePosterior, FeatureWeights, Settled
from tobitgp.inference.method import Method
from tobitgp.inference.partitioned import PartitionedRows, with_floor
from tobitgp.inference.structured import StructuredPosterior
from tobitgp.likelihoods.censoring_noise import Spread
from tobitgp.likelihoods.row_terms import Likelihood
from tobitgp.numerics.arrow import Arrow, identity, multiply
from tobitgp.numerics.crossed import factorise
from tobitgp.numerics.linear_algebra import weights
from tobitgp.priors.structure import Block, StructuredTerm, split_theta
from tobitgp.typing import Array

# Step lengths: a residual that shrinks slowly while its direction turns round is one stepped over, not one approached.
SHORTEN, SHORTEST, LENGTHEN, TURNED = 0.6, 0.05, 1.15, 0.7
CUT = 0.8  # of a length that led astray, for all later steps
ASTRAY = 10.0  # times the residual before, after an accelerated step of expectation propagation that is taken back
REGULAR = 0.1  # residual of expectation propagation below which its past tells of the next steps
# Iterations with neither half the residual nor a higher value: of ascents, and of EP, which may gain a percent each.
PATIENCE, LONG_PATIENCE = 50, 100
# Where rounding keeps an ascent from its tolerance: the residual that is small enough then, and the patience.
NEAR, SHORT_PATIENCE = 1e-4, 10
# Of features of all rows, and of those whose sites are sought, which are met again and again.
CACHE_BYTES, SOUGHT_BYTES = 2**26, 2**31


def find_posterior(
    data: PartitionedRows, blocks: Sequence[Block], theta: Array, method: Method, likelihood: Likelihood
) -> FeaturePosterior:
    """Find the method's fixed point at given parameters, theta (k,)."""
    return settle(FeatureModel(data, blocks, likelihood), data, theta, method).posterior


@dataclass(frozen=True, slots=True)
class FeatureModel:
    """What stays while parameters move: rows wherever their sites are, blocks and likelihood."""

    data: InitVar[PartitionedRows]
    blocks: Sequence[Block]
    likelihood: Likelihood
    kept: Kept | None = None  # features that stay
    plan: CompiledPlan | ChainPlan | None = field(init=False)  # for the compiled core, where it knows rows and blocks

    def __post_init__(self, data: PartitionedRows) -> None:
        object.__setattr__(self, "likelihood", self.likelihood.over(data.kinds))
        known = self.kept is None and not data.n_scales  # to the core
        plan = ChainPlan.of(data, self.blocks) or CompiledPlan.of(data, self.blocks) if known else None
        object.__setattr__(self, "plan", plan)


class Kept(Protocol):
    """Features that stay while parameters move."""

    from_flat: ClassVar[bool]  # whether it begins from flat sites where those of the rows do not converge

    def settle(
        self, data: PartitionedRows, theta: Array, method: Method, likelihood: Likelihood, slopes: bool, windows: bool
    ) -> Settled:
        """The method's fixed point at given parameters, theta (k,), from the sites of the data."""


def settle(
    model: FeatureModel,
    data: PartitionedRows,
    theta: Array,
    method: Method,
    *,
    slopes: bool = False,
    windows: bool = True,
) -> Settled:
    """The method's fixed point at given parameters, theta (k,), from the sites of the data; its gradient if asked."""
    likelihood, data = model.likelihood, at_scale(data, model.blocks, theta)
    if not windows:
        likelihood = likelihood.over(tuple(replace(r, window=None) for r in data.kinds))
    warm_up = method.warm_up(likelihood, data.warm)
    if warm_up is not None:
        # Far from the data a window and the tail beyond it cancel: another mode, which the rows alone do not have.
        all_seen = windows and (likelihood.log_concave or data.warm)
        data = settle(model, data, theta, warm_up, windows=all_seen).data
    *first, last = method.attempts(likelihood)
    for attempt in first:
        try:
            found = _settle(model, data, theta, attempt, likelihood, slopes, windows)
        except NumericalError:
            continue
        if found.converged:
            return found
    if first and data.warm:
        data = data.starting(data.partitions.map(with_floor))
    return _settle(model, data, theta, last, likelihood, slopes, windows)


def at_scale(data: PartitionedRows, blocks: Sequence[Block], theta: Array) -> PartitionedRows:
    """The rows with the noise that they have at given parameters, theta (k,)."""
    first, q = sum(block.n_parameters for block in blocks), data.n_scales
    return data.at_scale(theta[first : first + q]) if q else data


def _settle(
    model: FeatureModel,
    data: PartitionedRows,
    theta: Array,
    method: Method,
    likelihood: Likelihood,
    slopes: bool,
    windows: bool,
) -> Settled:
    """With features that stay, or by the compiled core, where it knows how."""
    if model.kept is not None:
        return model.kept.settle(data, theta, method, likelihood, slopes, windows)
    if model.plan is not None:
        view = method.view(likelihood.at(theta))
        noise = find_noise(method, view, windows and model.plan.windowed)
        if noise is not None and not (noise.distribution and model.plan.stored):
            found = model.plan.settle(data, theta, method, view, noise, slopes=slopes)
            return found if found.complete else replace(found, complete=partial(_completed, model, found, method))
    p = _fixed_point(data, model.blocks, theta, method, likelihood, windows)
    gradient = evidence_gradient(p, method) if slopes else None
    there = data.starting(p.rows.map(site_updates.ended))
    ended = p.evidence, p.iterations, p.residual, p.converged
    return Settled(theta, *ended, p.layout.row_features, gradient, there, lambda: p)


def seed(data: PartitionedRows, posterior: FeaturePosterior, method: Method, likelihood: Likelihood) -> PartitionedRows:
    """The rows with sites predicted by the posterior of some of them, from which few iterations are left."""
    likelihood = Spread(method.view(likelihood.over(data.kinds).at(posterior.theta)))
    setting = site_updates.Setting(posterior.blocks, posterior.layout, method, likelihood, posterior.sigma)
    return data.starting(data.partitions.map(site_updates.seeded, setting, posterior.q))


class _Beginning(NamedTuple):
    """What an iteration starts from."""

    setting: site_updates.Setting
    states: Partitions
    known: SettledRows
    room: site_updates.Room


def _begin(
    data: PartitionedRows, blocks: Sequence[Block], theta: Array, method: Method, likelihood: Likelihood, windows: bool
) -> _Beginning:
    """Set known sites, and all others to where they start."""
    likelihood = Spread(method.view(likelihood.at(theta)))
    at = tuple(b.at(t) for b, t in zip(blocks, split_theta(blocks, theta), strict=True))
    layout = lay_out(at)
    setting = site_updates.Setting(at, layout, method, likelihood, float(np.exp(theta[-1])))
    size = max(1, data.n * layout.row_features * 8)
    room = site_updates.NO_ROOM if data.lean else site_updates.Room(CACHE_BYTES // size, size <= SOUGHT_BYTES)
    states = data.partitions.map(site_updates.begin, setting, room, windows)
    knots = next((block.knots for block in blocks if isinstance(block, StructuredTerm)), None)
    known: SettledRows
    if knots is None:
        nothing = (
            identity(layout.p, layout.m, layout.size, sparse=layout.has_sparse),
            np.zeros(layout.p + layout.m * layout.size),
            0.0,
            0.0,
        )
        known = KnownSites(*add_up([nothing, *states.collect(site_updates.sums_of)]))
    else:
        A = np.concatenate(states.collect(site_updates.all_features))
        known = _BesideStructure(StructuredPosterior.of(knots, at, A))
    return _Beginning(setting, states, known, room)


def _completed(model: FeatureModel, found: Settled, method: Method) -> FeaturePosterior:
    """The posterior of the sites found."""
    setting, states, known, _ = _begin(found.data, model.blocks, found.theta, method, model.likelihood, True)
    q, ended = known.posterior(states), (found.evidence, found.iterations, found.residual, found.converged)
    field = None if q.structured is None else q.structured.field
    return FeaturePosterior(
        found.theta, setting.blocks, setting.layout, q.w, q.factor, *ended, q.structured, states, field
    )


def _fixed_point(
    data: PartitionedRows, blocks: Sequence[Block], theta: Array, method: Method, likelihood: Likelihood, windows: bool
) -> FeaturePosterior:
    """Iterate one method from given or flat sites."""
    setting, states, known, room = _begin(data, blocks, theta, method, likelihood, windows)
    at, layout = setting.blocks, setting.layout
    end = iterate(states, known, method, setting.likelihood)
    q = end.q
    # The sums lose digits where the noise is small; another pass over many rows costs more than these are worth.
    D = end.D + (
        sum(end.states.collect(site_updates.known_evidence, q)) if room.times else known.evidence(end.states, q)
    )
    evidence = D - 0.5 * q.quadratic - 0.5 * q.log_det
    field = None if q.structured is None else q.structured.field
    ended, states = (end.iterations, end.residual, end.converged), end.states.map(site_updates.at_rest)
    return FeaturePosterior(theta, at, layout, q.w, q.factor, evidence, *ended, q.structured, states, field)


class SettledRows(Protocol):
    """What stays known of the rows while sites are sought."""

    def evidence(self, states: Partitions, q: FeatureWeights) -> float:
        """D of the rows whose sites are known."""

    def posterior(self, states: Partitions) -> FeatureWeights:
        """The posterior with the sites at hand."""


@dataclass(frozen=True, slots=True)
class _BesideStructure:
    """Features of all rows, and the structure in which their sites meet."""

    rows: StructuredPosterior

    def evidence(self, states: Partitions, q: FeatureWeights) -> float:
        """By a visit to the rows."""
        return sum(states.collect(site_updates.known_evidence, q))

    def posterior(self, states: Partitions) -> FeatureWeights:
        """From all sites together."""
        return FeatureWeights(*self.rows.given(join(states.collect(site_updates.all_sites))))


@dataclass(frozen=True, slots=True)
class KnownSites:
    """What rows whose sites are known tell: parts of B (identity included) and r, ``y' Lambda y``, D without misfit."""

    B: Arrow
    r: Array
    yy: float
    D: float

    def evidence(self, states: Partitions, q: FeatureWeights) -> float:
        """Their D: it lacks ``sum lambda2 (y - a'w)^2 / 2``, which needs no visit to these rows."""
        w = q.w
        return self.D - 0.5 * (self.yy - 2.0 * float(self.r @ w) + float(w @ (multiply(self.B, w) - w)))

    def posterior(self, states: Partitions) -> FeatureWeights:
        """``q(w)`` with the sums for B and r over all other rows."""
        B, r = add_up([(self.B, self.r), add_up(states.collect(site_updates.site_sums))])
        factor = factorise(B)
        return FeatureWeights(factor.solve(r), factor)


@dataclass(frozen=True, slots=True)
class FixedPoint:
    """Where an iteration ended."""

    states: Partitions
    q: FeatureWeights
    D: float
    iterations: int
    residual: float
    converged: bool


def iterate(states: Partitions, known: SettledRows, method: Method, likelihood: Likelihood) -> FixedPoint:
    """Fixed-point iteration on the sites that are sought, damped and accelerated.

    What ascends must not fall from step to step. Expectation propagation has nothing that rises: it takes damped steps
    from a forgotten past until its residual is small, and whenever that is not the least seen. An accelerated step that
    leaves a far larger residual is taken back. Sites of negative precision may leave no posterior; since those that
    leave one form a convex set, a shorter step does.
    """
    try:
        q = known.posterior(states)
    except NumericalError:
        states = states.map(site_updates.flatten)
        q = known.posterior(states)
    floor, ascends = 0.0 if likelihood.log_concave else -np.inf, method.traits.ascends
    rho, longest, merit, residual, least, is_mixed = method.damping, 1.0, -np.inf, np.inf, np.inf, False
    progress, back = _Progress(), states
    for iteration in range(1, method.max_iterations + 1):
        states = states.map(site_updates.visit, q)
        found = add_up(states.collect(site_updates.sums_of))
        if not found:
            return FixedPoint(states, q, 0.0, 0, 0.0, True)
        n, squares, D, dots, *equations = found
        gap = float(np.sqrt(squares / n))
        if gap < method.tol or iteration == method.max_iterations:
            return FixedPoint(states, q, float(D), iteration, gap, gap < method.tol)
        value = _merit(ascends, known.evidence(states, q), q, float(D)) if ascends else -np.inf
        progress = progress.after(gap, value)
        near = ascends is not None and gap < NEAR
        if progress.idle >= (SHORT_PATIENCE if near else PATIENCE if ascends else LONG_PATIENCE):
            return FixedPoint(states, q, float(D), iteration, gap, near)
        led_astray = value < merit - slack(merit) if ascends else is_mixed and gap > ASTRAY * residual
        if led_astray:
            rho = rho if is_mixed else SHORTEN * rho
            states, is_mixed = back.map(site_updates.take_step, rho), False
            q = known.posterior(states)
            continue
        turned = ascends is None and gap > TURNED * residual and _cosines(dots) < 0.0
        if ascends is None:
            longest = max(CUT * rho, SHORTEST) if gap > residual else longest
            rho = max(SHORTEN * rho, SHORTEST) if gap > residual or turned else rho
        rho = min(longest, rho * LENGTHEN) if gap < residual and not turned else rho
        has_past = bool(equations) and equations[1].size > 0
        is_mixed = has_past and (ascends is not None or gap < min(least, REGULAR))
        merit, residual, least, back = value, gap, min(gap, least), states
        if is_mixed:
            gamma = weights(*equations)
            states = states.map(site_updates.mix, gamma, rho if ascends else 1.0, floor)
        else:
            states = states.map(site_updates.step_anew, rho)
        try:
            q = known.posterior(states)
        except NumericalError:
            if likelihood.log_concave:
                raise
            states, q, rho = _shorten(known, states, rho)
            is_mixed = False
    raise AssertionError("unreachable")


@dataclass(frozen=True, slots=True)
class _Progress:
    """Half of the residual and the merit last counted as a gain, and how many iterations in a row gained neither."""

    residual: float = np.inf
    merit: float = -np.inf
    idle: int = 0

    def after(self, residual: float, merit: float) -> _Progress:
        nearer, higher = residual < self.residual, merit > self.merit + slack(self.merit)
        best = 0.5 * residual if nearer else self.residual, max(merit, self.merit)
        return _Progress(*best, 0 if nearer or higher else self.idle + 1)


def slack(merit: float) -> float:
    """What rounding may take from a merit."""
    return 1e-10 * max(1.0, abs(merit)) if np.isfinite(merit) else 0.0


def _shorten(known: SettledRows, states: Partitions, rho: float) -> tuple[Partitions, FeatureWeights, float]:
    """Posterior after the longest step tried that leaves one, and its length; the sites follow."""
    while rho > SHORTEST**6:
        rho *= SHORTEN
        shorter = states.map(site_updates.take_step, rho)
        with suppress(NumericalError):
            return shorter, known.posterior(shorter), rho
    raise NumericalError("The sites of the rows leave no posterior.")


def _cosines(dots: Array) -> float:
    """Sum over both natural parameters of the cosines between two steps."""
    size = np.sqrt(dots[:, 1] * dots[:, 2])
    return float(np.sum(np.divide(dots[:, 0], size, out=np.zeros_like(size), where=size > 0.0)))


def _merit(ascends: str, known: float, q: FeatureWeights, D: float) -> float:
    """What an ascending method must not lose, with D of the rows whose sites are known and of the others."""
    joint = D + known - 0.5 * q.quadratic
    return joint - 0.5 * q.log_det if ascends == "bound" else joint
