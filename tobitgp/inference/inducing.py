"""Inducing inputs that ascend a lower bound on the evidence, hyper-parameters along with them.

What inducing inputs leave out lowers the bounds of variational inference, and those alone: the evidence of EP or
Laplace may rise above that of the prior in full. So it is a bound that moves them, whatever the method.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tobitgp.data.problem import Problem
from tobitgp.errors import NumericalError
from tobitgp.inference.evidence import evidence_gradient
from tobitgp.inference.fixed_point import settle
from tobitgp.inference.method import Method
from tobitgp.inference.parameters import LOG_BOUND, Parameters
from tobitgp.inference.partitioned import Whole, cut
from tobitgp.inference.posterior import Posterior, split_theta
from tobitgp.inference.prior import Prior
from tobitgp.inference.site_updates import ended
from tobitgp.inference.vi import VI
from tobitgp.likelihoods.base import Likelihood
from tobitgp.priors.block import Block
from tobitgp.priors.kernel_block import KernelBlock, MovingBlock
from tobitgp.typing import Array, BoolArray

# More rows say little more of where inducing inputs belong.
ROWS = 5000
# Nats; a step that gains less ends the ascent.
GAIN = 1e-4
_INFEASIBLE = 1e12


@dataclass(frozen=True, slots=True)
class Moved:
    """Where an ascent ended."""

    prior: Prior  # with the inducing inputs found for locations
    theta: Array  # (k,), hyper-parameters found with them
    value: float  # bound plus log prior of all rows there
    evaluations: int
    sweeps: int


def move_inducing(
    whole: Whole,
    problem: Problem,
    prior: Prior,
    starts: Sequence[tuple[Sequence[Block], Posterior]],
    method: Method,
    likelihood: Likelihood,
    parameters: Parameters,
    *,
    max_iter: int,
    rng: int | np.random.Generator | None = None,
    on_step: Callable[[int, float], None] | None = None,
) -> Moved | None:
    """Move the inducing inputs of the terms that ask for it to where a bound on the evidence is highest.

    L-BFGS-B in the free hyper-parameters and the inducing inputs together, since each pulls the other along, on up to
    5000 of the rows; the bound of all rows decides.

    M. K. Titsias, "Variational learning of inducing variables in sparse Gaussian processes", AISTATS 2009. .. [2] M.
    Basson, T. M. Louw and T. R. Smith, "Variational Tobit Gaussian process regression", Statistics and Computing 33
    (2023), Eq. 46.
    """
    bound = method if isinstance(method, VI) else VI()
    best, least, evaluations, sweeps = None, np.nan, 0, 0
    few, everything = whole, whole.n <= ROWS
    if not everything:
        problem, rows = problem.subset(ROWS, rng) if problem.n > ROWS else (problem, np.arange(problem.n))
        few = cut(problem, prior.subset(rows).inputs)
    for blocks, at in starts:
        start, free, is_place = _join(prior, blocks, at.theta, parameters)
        rest = (_moving(prior, blocks), bound, likelihood, parameters, free, is_place, on_step)
        of_all = part = _Bound(whole.starting(at.rows.map(ended)), *rest)
        if not everything:
            part = _Bound(few, *rest)
        end = _climb(part, start, max_iter)
        # Hyper-parameters of all rows may suit the inducing inputs of some better than theirs.
        ends = [end] if everything else [end, np.where(is_place, end, start)]
        if np.isnan(least):
            least = of_all.value(start)
        for x in ends:
            value = of_all.value(x)
            if value > (least if best is None else best[0]):
                best = value, _located(prior, of_all.blocks, x), x[~is_place]
        evaluations += part.evaluations + (0 if part is of_all else of_all.evaluations)
        sweeps += part.sweeps + (0 if part is of_all else of_all.sweeps)
    return None if best is None else Moved(*best[1:], best[0], evaluations, sweeps)


def _located(prior: Prior, blocks: Sequence[Block], x: Array) -> Prior:
    """The prior with the inducing inputs that ``x`` holds for locations."""
    parts = zip(blocks, split_theta(blocks, x), strict=True)
    places = iter([block.moved(own).Z for block, own in parts if isinstance(block, MovingBlock)])
    return replace(prior, gps=tuple(replace(gp, inducing=next(places)) if gp.moves else gp for gp in prior.gps))


def _join(
    prior: Prior, blocks: Sequence[Block], theta: Array, parameters: Parameters
) -> tuple[Array, BoolArray, BoolArray]:
    """Hyper-parameters with the inducing inputs between them; which of all are free, and which are inducing inputs."""
    moving, parts = _moving(prior, blocks), split_theta(blocks, theta)
    joined, place, at = [], [], 0
    for block, own in zip(moving, parts, strict=True):
        joined.append(block.start(own) if isinstance(block, MovingBlock) else own)
        place.append(np.arange(len(joined[-1])) >= len(own))
        at += len(own)
    is_place = np.concatenate([*place, np.zeros(len(theta) - at, dtype=bool)])
    free = np.ones(len(is_place), dtype=bool)
    free[~is_place] = parameters.free
    return np.concatenate([*joined, theta[at:]]), free, is_place


def _moving(prior: Prior, blocks: Sequence[Block]) -> list[Block]:
    """The blocks, those that move with their inducing inputs among their parameters."""
    first = 0 if prior.linear is None else 1
    out = list(blocks[:first])
    for gp, block in zip(prior.gps, blocks[first:], strict=True):
        assert isinstance(block, KernelBlock)
        out.append(MovingBlock(block) if gp.moves else block)
    return out


@dataclass(slots=True)
class _Bound:
    """Bound plus log prior as a function of hyper-parameters and inducing inputs; starts from the last sites."""

    whole: Whole
    blocks: list[Block]
    method: Method
    likelihood: Likelihood
    parameters: Parameters
    free: BoolArray
    is_place: BoolArray
    on_step: Callable[[int, float], None] | None
    last: Posterior | None = None
    evaluations: int = 0
    sweeps: int = 0

    def value(self, x: Array) -> float:
        """At hyper-parameters and inducing inputs together; ``-inf`` where the computation breaks down."""
        arguments = (self.blocks, x, self.method, self.likelihood)
        try:
            posterior = settle(self.whole, *arguments)
            if not posterior.converged:
                posterior = settle(self.whole.cold(), *arguments)
        except NumericalError:
            return -np.inf
        self.evaluations += 1
        self.sweeps += posterior.sweeps
        self.last, self.whole = posterior, self.whole.starting(posterior.rows.map(ended))
        value = posterior.evidence + self.parameters.log_prior(x[~self.is_place])[0]
        if self.on_step is not None:
            self.on_step(self.evaluations, value)
        return value

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        """Value, and its gradient in what is free."""
        value = self.value(x)
        if not np.isfinite(value) or self.last is None:
            return -_INFEASIBLE, np.zeros(int(self.free.sum()))
        gradient = evidence_gradient(self.last, self.method)
        gradient[~self.is_place] += self.parameters.log_prior(x[~self.is_place])[1]
        return value, gradient[self.free]


def _climb(bound: _Bound, start: Array, max_iter: int) -> Array:
    """L-BFGS-B from ``start``, what is free moved."""
    from scipy.optimize import minimize

    free = bound.free

    def negative(z: Array) -> tuple[float, Array]:
        value, gradient = bound.value_and_gradient(_put(start, free, z))
        return -value, -gradient

    least = np.full(len(start), -np.inf)
    least[free & ~bound.is_place] = bound.parameters.least
    most = np.where(bound.is_place, np.inf, LOG_BOUND)
    best = minimize(
        negative,
        start[free],
        jac=True,
        method="L-BFGS-B",
        bounds=list(zip(least[free], most[free], strict=True)),
        options={"gtol": 1e-3, "ftol": GAIN / max(1.0, abs(bound.value(start))), "maxiter": max_iter, "maxls": 25},
    )
    return _put(start, free, best.x)


def _put(x: Array, free: BoolArray, values: Array) -> Array:
    out = x.copy()
    out[free] = values
    return out
