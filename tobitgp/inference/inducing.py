"""Inducing inputs that ascend a lower bound on the evidence, hyper-parameters along with them.

What inducing inputs leave out lowers the bounds of variational inference, and those alone: the evidence of EP or
Laplace may rise above that of the prior in full. So it is a bound that moves them, whatever the method.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from tobitgp.inference.evidence_ascent import Objective, climb
from tobitgp.inference.feature_posterior import FeaturePosterior
from tobitgp.inference.fitted import Task
from tobitgp.inference.hyperparameters import Parameters
from tobitgp.inference.method import Method
from tobitgp.inference.partitioned import cut
from tobitgp.inference.search_settings import Settings
from tobitgp.inference.site_updates import ended
from tobitgp.inference.vi import VIUpdates
from tobitgp.priors.kernel_block import GPPrior, KernelBlock
from tobitgp.priors.prior import Prior
from tobitgp.priors.structure import Block, split_theta
from tobitgp.typing import Array, BoolArray

ROWS = 5000  # more say little more of where inducing inputs belong
GAIN = 1e-4  # nats; a step that gains less ends the ascent


class Moved(NamedTuple):
    """Where an ascent ended."""

    value: float  # bound plus log prior of all rows there
    prior: Prior  # with the inducing inputs found for locations
    theta: Array  # (k,), hyper-parameters found with them
    evaluations: int
    iterations: int


def move_inducing(
    task: Task,
    starts: Sequence[tuple[Sequence[Block], FeaturePosterior]],
    method: Method,
    settings: Settings,
    on_step: Callable[[Objective, float], None] | None = None,
) -> Moved | None:
    """Climb with inducing inputs and hyper-parameters on some of the rows; the bound of all rows decides.

    Titsias, AISTATS 2009; Basson, Louw and Smith, Statistics and Computing 33 (2023), Eq. 46.
    """
    assert task.data is not None
    prior, bound, data, few = task.prior, method if isinstance(method, VIUpdates) else VIUpdates(), task.data, task.data
    if data.n > ROWS:
        problem, rows = task.problem.subset(ROWS, settings.rng)
        few = cut(problem, prior.subset(rows).inputs)
    ends: list[tuple[float, Prior, Array]] = []
    used: list[Objective] = []
    for given, at in starts:
        blocks = _moving(prior, given)
        start, parameters, is_location = _join(blocks, at.theta, task.parameters)
        rest = blocks, bound, task.likelihood, parameters, start, on_step
        of_all = part = Objective(data.starting(at.rows.map(ended)), *rest)
        if few is not data:
            part = Objective(few, *rest)
        first = start[parameters.free]
        relative = GAIN / max(1.0, abs(part.value(first)))
        end = part.theta(climb(part, first, tol=1e-3, max_iter=settings.max_iter, relative=relative))
        # Hyper-parameters of all rows may suit the inducing inputs of some better than theirs.
        places = [end] if few is data else [end, np.where(is_location, end, start)]
        for x in places if ends else [start, *places]:
            ends.append((of_all.value(x[parameters.free]), _located(prior, blocks, x), x[~is_location]))
        used += [part] if part is of_all else [part, of_all]
    best = max(ends, key=itemgetter(0))
    if best is ends[0]:
        return None
    return Moved(*best, sum(o.evaluations for o in used), sum(o.iterations for o in used))


def _moving(prior: Prior, blocks: Sequence[Block]) -> list[Block]:
    """The blocks, those that move with their inducing inputs among their parameters."""
    return [
        replace(block, moves=True)
        if isinstance(term, GPPrior) and term.moves and isinstance(block, KernelBlock)
        else block
        for block, term in zip(blocks, prior.with_linear(prior.gps), strict=True)
    ]


def _join(blocks: Sequence[Block], theta: Array, parameters: Parameters) -> tuple[Array, Parameters, BoolArray]:
    """Hyper-parameters with the inducing inputs between them, all these as parameters, and which are locations."""
    places = [block.Z.ravel() if isinstance(block, KernelBlock) and block.moves else np.zeros(0) for block in blocks]
    ends = np.cumsum([block.n_parameters - len(Z) for block, Z in zip(blocks, places, strict=True)])
    parts = [part for pair in zip(np.split(theta, ends), [*places, np.zeros(0)], strict=True) for part in pair]
    is_location = np.repeat(np.arange(len(parts)) % 2 == 1, [len(part) for part in parts])
    return np.concatenate(parts), parameters.with_locations(is_location), is_location


def _located(prior: Prior, blocks: Sequence[Block], x: Array) -> Prior:
    """The prior with the inducing inputs that ``x`` holds for locations."""
    parts = zip(blocks, split_theta(blocks, x), strict=True)
    places = iter([block.inducing_at(own) for block, own in parts if isinstance(block, KernelBlock) and block.moves])
    return replace(prior, gps=tuple(replace(gp, inducing=next(places)) if gp.moves else gp for gp in prior.gps))
