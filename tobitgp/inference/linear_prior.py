"""The prior of the linear coefficients of a model, from what users gave and what all rows tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tobitgp.data.margins import LinearBlock, plain_blocks
from tobitgp.data.moments import Joint, round_to
from tobitgp.data.standardisation import Measured
from tobitgp.errors import NumericalError
from tobitgp.inference.given_parameters import GivenParameters, linear_means
from tobitgp.priors.coefficients import FLAT, SCALE, WEAK, Layers, default_sd, find_layers, prior_root
from tobitgp.priors.prior import LevelColumns, LinearPrior
from tobitgp.typing import Array, BoolArray, IntArray


@dataclass(frozen=True, slots=True)
class LinearPlan:
    """The linear columns before their rows."""

    mean: Array  # (p,), as of `linear_means`
    sd: Array  # (p,), NaN where the default applies
    flat: bool  # whether no coefficient has a prior
    intercept: int | None
    layers: Layers  # of the columns beside an absorbed factor's
    factor: LevelColumns | None
    constant: Array | None  # (p,), sum of columns that is 1 in every row, where there is no intercept
    cells: bool  # as of `LinearPrior`
    made: Array  # (p,), prior sds in units of the response, NaN where columns were not made beforehand

    @property
    def joint(self) -> bool:
        """Whether products of columns are needed."""
        return not self.layers.plain or self.constant is not None

    @property
    def centred(self) -> bool:
        """Whether the coefficients take up the mean of the response."""
        return self.intercept is not None or self.constant is not None

    @property
    def levelled(self) -> bool:
        """Whether they take up a constant, of all rows or of each stacked response."""
        return self.centred or bool((self.made == WEAK).any())

    @property
    def common(self) -> IntArray:
        """Places of the columns outside an absorbed factor."""
        return beside(len(self.mean), self.factor)

    def centre(self, mean: Array) -> Array:
        """What the intercept takes up of each column, (p,): its mean, but nothing of itself and an absorbed factor."""
        in_factor = self.constant is not None and self.factor is not None and self.constant[self.factor.start] > 0.0
        if self.intercept is None and not in_factor:
            return np.zeros(len(mean))
        centre = mean.copy()
        centre[[] if self.intercept is None else [self.intercept]] = 0.0
        if self.factor is not None:
            centre[self.factor.start : self.factor.start + self.factor.size] = 0.0
        return centre


def plan_linear(
    columns: Sequence[str],
    blocks: Sequence[LinearBlock],
    given: GivenParameters,
    factor: LevelColumns | None,
    *,
    intercept: bool,
) -> LinearPlan:
    """What decides how columns are measured."""
    mean, sd = linear_means(columns, given)
    flat = given.priors is not None and not given.priors
    own = np.array([given.drops(name) for name in columns], dtype=bool) & ~flat
    p, free = len(mean), 0 if intercept and np.isnan(sd[0]) else None
    blocks = blocks or plain_blocks(columns, intercept=intercept)
    common = beside(p, factor)
    place = {int(j): i for i, j in enumerate(common)}
    chosen = [replace(block, first=place[block.first]) for block in blocks if block.first in place]
    layers = find_layers(chosen, len(common), (~np.isnan(sd) | own)[common])
    constant = None
    if free is None:
        if layers.constant is not None:
            constant = np.zeros(p)
            constant[common] = layers.constant
        elif factor is not None and any(_is_whole(b) for b in blocks if b.first == factor.start):
            constant = np.isin(np.arange(p), common, invert=True).astype(np.float64)
            layers = replace(layers, constant=np.zeros(len(common)))  # which takes up means, and is not among these
    made = np.full(p, np.nan)
    for block in blocks:
        made[block.places] = {"": np.nan, "level": WEAK, "made": 1.0}[block.own]
    of_factor = next((b for b in blocks if factor is not None and b.first == factor.start), None)
    cells = free is not None and of_factor is not None and _is_reduced(of_factor)
    cells = (
        cells and factor is not None and bool((np.isnan(sd) & ~own)[factor.start : factor.start + factor.size].all())
    )
    return LinearPlan(mean, sd, flat, free, layers, factor, constant, cells, made)


def beside(p: int, factor: LevelColumns | None) -> IntArray:
    """Places of the columns outside an absorbed factor, (c,)."""
    every = np.arange(p)
    return every if factor is None else np.delete(every, slice(factor.start, factor.start + factor.size))


def _is_whole(block: LinearBlock) -> bool:
    """Whether a block has an indicator of each combination of levels."""
    return not block.numbers and all(coding.shape[0] == coding.shape[1] for _, coding in block.factors)


def _is_reduced(block: LinearBlock) -> bool:
    """Whether a block has an indicator of each level of one factor but the first."""
    return not block.numbers and len(block.factors) == 1 and block.size == len(block.factors[0][1]) - 1


def find_prior(
    plan: LinearPlan, measured: Measured, given: GivenParameters, columns: Sequence[str], scale: float, level: float
) -> LinearPrior:
    """The prior once the rows are measured, where the response has the sd ``scale``; ``level`` for a constant."""
    p, H = len(plan.mean), measured.H
    own = np.zeros(p, dtype=bool) if plan.flat else np.array([given.drops(name) for name in columns], dtype=bool)
    factor = np.where(own | plan.flat, FLAT, SCALE)
    if plan.factor is not None or plan.intercept is not None:
        weak = np.ones(p, dtype=bool)
        weak[plan.common] = False
        weak[[] if plan.intercept is None else [plan.intercept]] = True
        factor = np.maximum(factor, np.where(weak, WEAK, 0.0))
    size = default_sd(H.mean, H.spread, scale, factor)
    size = np.where(np.isnan(plan.made) | (factor == FLAT), size, plan.made * scale)
    sd = np.where(np.isnan(plan.sd), size, plan.sd)
    if plan.intercept is not None:
        sd[plan.intercept] = factor[plan.intercept] * level
    if plan.factor is not None:
        levels = slice(plan.factor.start, plan.factor.start + plan.factor.size)
        free = np.isnan(plan.sd[levels]) & ~own[levels]
        common = factor[levels] * scale * np.sqrt(plan.factor.size + plan.cells)
        sd[levels] = np.where(free, common, sd[levels])
        if plan.cells:
            sd[plan.intercept] = common[0]
    prior = LinearPrior(
        plan.mean, sd, plan.centre(H.mean), plan.intercept, plan.factor, None, plan.constant, plan.cells
    )
    if not plan.joint or measured.joint is None or not len(plan.common):
        return prior
    held = np.where(np.isnan(plan.sd) & ~own, np.nan, sd)[plan.common]
    constant = max(WEAK, FLAT * plan.flat) * level if plan.intercept is None else sd[plan.intercept]
    return _with_root(prior, plan, measured.joint, held, scale * (FLAT / SCALE if plan.flat else 1.0), constant)


def scale_root(layers: Layers, measured: Measured, held: BoolArray) -> Array | None:
    """Matrix (q, q) from standardised coefficients of log sigma to these; None where each has its column's unit.

    Shapes: held (q,), True where a coefficient has a separate prior, no prior, or a known value.
    """
    if layers.plain or measured.joint_W is None or measured.W is None:
        return None
    sd = np.where(held, 1.0 / np.where(measured.W.spread > 0.0, measured.W.spread, 1.0), np.nan)
    root = prior_root(layers, measured.joint_W.factor, np.append(1.0, sd), 1.0 / SCALE, 1.0)[1:, 1:]
    return round_to(root, np.abs(np.diag(root))[:, None])


def _with_root(
    prior: LinearPrior, plan: LinearPlan, joint: Joint, held: Array, scale: float, level: float
) -> LinearPrior:
    """The prior with that of functions which several columns make up."""
    at = plan.common
    root = prior_root(plan.layers, joint.factor, held, scale, level)
    root = round_to(root, np.abs(np.diag(root))[:, None])
    sd = prior.sd.copy()
    sd[at] = np.sqrt((root * root).sum(axis=1))
    if not (sd[at] > 0.0)[np.isnan(held)].all():
        raise NumericalError("The prior of linear coefficients broke down: columns determine each other to rounding.")
    diagonal = not np.triu(root, 1).any()
    return replace(prior, sd=sd, root=None if diagonal else root)
