"""Inducing inputs that ascend a lower bound on the evidence, hyper-parameters along with them.

What inducing inputs leave out lowers the bounds of variational inference, and those alone: the evidence of EP or
Laplace may rise above that of the prior in full. So it is a bound that moves them, whatever the method.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tobitgp.inference.ascent import Objective
from tobitgp.inference.fitted import Settings, Task
from tobitgp.inference.method import Method
from tobitgp.inference.parameters import Parameters
from tobitgp.inference.partitioned import cut
from tobitgp.inference.posterior import Posterior
from tobitgp.inference.site_updates import ended
from tobitgp.inference.vi import VI
from tobitgp.priors.block import Block, split_theta
from tobitgp.priors.kernel_block import KernelBlock, MovingBlock
from tobitgp.priors.prior import Prior
from tobitgp.typing import Array, BoolArray

# More rows say little more of where inducing inputs belong.
ROWS = 5000
# Nats; a step that gains less ends the ascent.
GAIN = 1e-4


@dataclass(frozen=True, slots=True)
class Moved:
    """Where an ascent ended."""

    prior: Prior  # with the inducing inputs found for locations
    theta: Array  # (k,), hyper-parameters found with them
    value: float  # bound plus log prior of all rows there
    evaluations: int
    sweeps: int


def move_inducing(
    task: Task,
    starts: Sequence[tuple[Sequence[Block], Posterior]],
    method: Method,
    settings: Settings,
    on_step: Callable[[Objective, float], None] | None = None,
) -> Moved | None:
    """Move the inducing inputs of the terms that ask for it to where a bound on the evidence is highest.

    L-BFGS-B in the free hyper-parameters and the inducing inputs together, since each pulls the other along, on up to
    5000 of the rows; the bound of all rows decides.

    M. K. Titsias, "Variational learning of inducing variables in sparse Gaussian processes", AISTATS 2009; M. Basson,
    T. M. Louw and T. R. Smith, "Variational Tobit Gaussian process regression", Statistics and Computing 33 (2023),
    Eq. 46.
    """
    bound = method if isinstance(method, VI) else VI()
    best, least, evaluations, sweeps = None, np.nan, 0, 0
    prior, data, few = task.prior, task.data, task.data
    assert data is not None
    assert few is not None
    everything = data.n <= ROWS
    if not everything:
        problem, rows = task.problem, np.arange(task.problem.n)
        if problem.n > ROWS:
            problem, rows = problem.subset(ROWS, settings.rng)
        few = cut(problem, prior.subset(rows).inputs)
    for blocks, at in starts:
        start, both, is_location = _join(prior, blocks, at.theta, task.parameters)
        rest = (_moving(prior, blocks), bound, task.likelihood, both, start, on_step)
        of_all = part = Objective(data.starting(at.rows.map(ended)), *rest)
        if not everything:
            part = Objective(few, *rest)
        end = _climb(part, start[both.free], settings.max_iter)
        # Hyper-parameters of all rows may suit the inducing inputs of some better than theirs.
        ends = [end] if everything else [end, np.where(is_location, end, start)]
        if np.isnan(least):
            least = of_all.value(start[both.free])
        for x in ends:
            value = of_all.value(x[both.free])
            if value > (least if best is None else best[0]):
                best = value, _located(prior, of_all.blocks, x), x[~is_location]
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
) -> tuple[Array, Parameters, BoolArray]:
    """Hyper-parameters with the inducing inputs between them, all these as parameters, and which are locations."""
    moving, parts = _moving(prior, blocks), split_theta(blocks, theta)
    joined = [b.start(own) if isinstance(b, MovingBlock) else own for b, own in zip(moving, parts, strict=True)]
    is_location = [np.arange(len(x)) >= len(own) for x, own in zip(joined, parts, strict=True)]
    noise = theta[sum(map(len, parts)) :]
    where = np.concatenate([*is_location, np.zeros(len(noise), dtype=bool)])
    return np.concatenate([*joined, noise]), parameters.with_locations(where), where


def _moving(prior: Prior, blocks: Sequence[Block]) -> list[Block]:
    """The blocks, those that move with their inducing inputs among their parameters."""
    first = 0 if prior.linear is None else 1
    out = list(blocks[:first])
    for gp, block in zip(prior.gps, blocks[first:], strict=True):
        assert isinstance(block, KernelBlock)
        out.append(MovingBlock(block) if gp.moves else block)
    return out


def _climb(bound: Objective, start: Array, max_iter: int) -> Array:
    """L-BFGS-B from ``start`` (k_free,), to all parameters (k,)."""
    from scipy.optimize import minimize

    def negative(free: Array) -> tuple[float, Array]:
        value, gradient = bound.value_and_gradient(free)
        return -value, -gradient

    best = minimize(
        negative,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=list(zip(bound.parameters.least, bound.parameters.most, strict=True)),
        options={"gtol": 1e-3, "ftol": GAIN / max(1.0, abs(bound.value(start))), "maxiter": max_iter, "maxls": 25},
    )
    return bound.theta(best.x)
