"""The posterior with a structured part: ``f = A w + e``, the structure integrated out first, (STR2) and (STR3).

With ``V0 = (K_e^-1 + Lambda)^-1`` and ``A~ = A - V0 Lambda A`` the weights have ``B = I + A' Lambda A~`` and
``r = A' (lambda1 - Lambda V0 lambda1)``, and f has mean ``V0 lambda1 + A~ w`` and variance
``diag(V0) + diag(A~ B^-1 A~')``; the log evidence is (STR5) of the theory pages. A~ depends on all rows, which are
therefore in one memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tobitgp.inference.partitioned import Sites
from tobitgp.numerics.arrow import Factor, by_group, factorise
from tobitgp.numerics.copies import made_anew
from tobitgp.numerics.linear_algebra import solve_lower
from tobitgp.priors.structure import (
    BlockAt,
    Conditioned,
    Inputs,
    Knots,
    Smoothed,
    Structure,
    StructureAt,
    StructuredTermAt,
    distinct,
)
from tobitgp.priors.vecchia import Vecchia
from tobitgp.typing import Array, IntArray


@dataclass(frozen=True)
class Field:
    """A structured part and what the rows' sites say at its knots: all that answers about other places need."""

    structure: Structure
    blocks: IntArray  # which of the blocks stand in it
    theta: tuple[Array, ...]  # of each
    lambda2: Array  # (N,)
    U: Array  # (N, 1 + M), natural means lambda1 and ``Lambda A``
    gram: Array  # (M, M), ``A' Lambda A``
    r: Array  # (M,), ``A' lambda1``
    level: Array | None = None  # (N,), weights of the knots in the level of their group, where it has one
    __reduce__ = made_anew

    @property
    def block(self) -> int:
        """That whose inputs are those of the knots."""
        return int(self.blocks[self.structure.lead])

    @property
    def at(self) -> StructureAt:
        """The structure at its parameters."""
        return self.structure.at(self.theta)

    @cached_property
    def smoothed(self) -> Smoothed:
        """What is left of the conditioned structure for other places, levels in the last column."""
        U = self.U if self.level is None else np.column_stack([self.U, self.level])
        return self.at.condition(self.lambda2).smooth(U)

    @cached_property
    def levels(self) -> tuple[Array, Array]:
        """``V0 lambda1`` and ``V0 Lambda A`` summed to the level of each group, (G, 1 + M), and its variance (G,)."""
        assert self.level is not None
        V0 = self.at.condition(self.lambda2).solve(np.column_stack([self.level, self.U]))
        found = self.sum_levels(V0)
        return found[:, 1:], found[:, 0]

    def sum_levels(self, e: Array) -> Array:
        """Levels (G, k) of values (N or more, k) at the knots."""
        assert self.level is not None
        N, code = len(self.structure.inputs.X), self.structure.inputs.code
        group = np.zeros(N, dtype=np.intp) if code is None else np.maximum(code, 0)
        return np.asarray(by_group(self.level[:, None], group, int(group.max()) + 1).T @ e[:N])

    def level_weights(self, inputs: Inputs) -> Array:
        """Weights (N, n) of the knots in the level of each row's group; none in that of a group not seen."""
        code, n = self.structure.inputs.code, len(inputs.X)
        level = np.zeros(len(self.lambda2)) if self.level is None else self.level
        if code is None or inputs.code is None:
            return np.repeat(level[:, None], n, axis=1)
        same = np.equal.outer(code, inputs.code)
        return np.where(same, level[:, None], 0.0)

    def level_of(self, e: Array, inputs: Inputs) -> Array:
        """Levels (n, S) in the rows' groups of values (N or more, S) at the knots."""
        if self.level is None:
            return np.zeros((len(inputs.X), e.shape[1]))
        group = np.zeros(len(inputs.X), dtype=np.intp) if inputs.code is None else inputs.code
        return np.where(group[:, None] < 0, 0.0, self.sum_levels(e)[np.maximum(group, 0)])

    def part(self, inputs: Sequence[Inputs], skip: frozenset[int], *, from_level: bool) -> tuple[Array, Array]:
        """``V0 lambda1`` and ``V0 Lambda A`` at other places, (n, 1 + M), and the variance of e given w, (n,).

        Only the terms of blocks that are not in ``skip`` contribute.
        """
        shown = [i for i, block in enumerate(self.blocks.tolist()) if block not in skip]
        at = inputs[self.block]
        n, K = len(at.X), self.U.shape[1]
        values, variance = np.zeros((n, K)), np.zeros(n)
        if shown:
            found, variance = self.smoothed.at(at, None if len(shown) == len(self.blocks) else shown)
            values = found[:, :K]
        if self.level is None or (shown and not from_level):
            return values, variance
        group = np.zeros(n, dtype=np.intp) if at.code is None else at.code
        seen = group >= 0
        level, of_level = (part[np.where(seen, group, 0)] for part in self.levels)
        if not shown:
            return np.where(seen[:, None], level, 0.0), np.where(seen, of_level, 0.0)
        moved = variance - 2.0 * found[:, K] + of_level
        return np.where(seen[:, None], values - level, values), np.where(seen, np.maximum(moved, 0.0), variance)

    def extended(self, inputs: Inputs) -> tuple[Field, IntArray]:
        """The field with a new knot, without a site, at each given place that has none; and the knot of each place."""
        own, N = self.structure.inputs, len(self.lambda2)
        code = None if own.code is None or inputs.code is None else np.concatenate([own.code, inputs.code])
        _, of_row = distinct(Inputs(np.concatenate([own.X, inputs.X]), code))
        knot = np.full(of_row.max() + 1, -1)
        knot[of_row[:N]] = np.arange(N)
        lacking, first = np.unique(of_row[N:], return_index=True)
        is_new = knot[lacking] < 0
        knot[lacking[is_new]] = N + np.arange(int(is_new.sum()))
        if not is_new.any():
            return self, knot[of_row[N:]]
        structure = self.structure.extended(inputs.rows(first[is_new]))
        more = np.zeros((int(is_new.sum()), 1 + self.U.shape[1]))
        lambda2, U = np.append(self.lambda2, more[:, 0]), np.concatenate([self.U, more[:, 1:]])
        level = None if self.level is None else np.append(self.level, more[:, 0])
        return replace(self, structure=structure, lambda2=lambda2, U=U, level=level), knot[of_row[N:]]


CHECKED = 2000  # knots around the middle one


def gain_of_neighbours(field: Field, w: Array) -> float:
    """Nats that Vecchia's prior would gain or lose at the same sites with twice the neighbours; NaN for other priors.

    Its evidence is not a bound, so that the gain may have either sign.
    """
    structure = field.structure
    if not isinstance(structure, Vecchia):
        return np.nan
    X = structure.inputs.X / structure.scales
    near = np.argsort(np.square(X - np.median(X, axis=0)).sum(axis=1), kind="stable")[:CHECKED]
    u, lambda2 = (field.U[:, 0] - field.U[:, 1:] @ w)[near, None], field.lambda2[near]
    few = replace(structure, inputs=structure.inputs.rows(near))
    more = replace(few, neighbours=2 * structure.neighbours)
    now, then = (evidence_of_sites(made.at(field.theta), u, lambda2) for made in (few, more))
    return then - now


def gain_of_parameters(field: Field, w: Array, theta: Sequence[Array]) -> float:
    """Nats that other parameters of its terms would gain at the same sites and weights."""
    u = (field.U[:, 0] - field.U[:, 1:] @ w)[:, None]
    now, then = (evidence_of_sites(field.structure.at(own), u, field.lambda2) for own in (field.theta, theta))
    return then - now


def evidence_of_sites(at: StructureAt, u: Array, lambda2: Array) -> float:
    """Log evidence of e alone, up to a constant, of natural means (N, 1) and precisions (N,) at the knots."""
    conditioned = at.condition(lambda2)
    return 0.5 * float((u.T @ conditioned.solve(u)).item()) - 0.5 * conditioned.log_det


class StructuredRows(NamedTuple):
    """What the structured part makes of the rows, in the order of the partitions."""

    knots: Knots
    field: Field
    conditioned: Conditioned
    mean: Array  # (n,), ``V0 lambda1``
    variance: Array  # (n,), ``diag V0``
    A: Array  # (n, M), ``A~``
    quadratic: float  # ``alpha' m``


@dataclass(frozen=True, slots=True)
class StructuredPosterior:
    """How a posterior follows from the sites of all rows."""

    knots: Knots
    at: StructureAt
    blocks: IntArray
    theta: tuple[Array, ...]
    A: Array  # (n, M), features of all rows

    @classmethod
    def of(cls, knots: Knots, blocks: Sequence[BlockAt], A: Array) -> StructuredPosterior:
        """The posterior with blocks at their parameters; some of the blocks are part of the structure."""
        which = [t for t, block in enumerate(blocks) if isinstance(block, StructuredTermAt)]
        theta = tuple(block.theta for block in blocks if isinstance(block, StructuredTermAt))
        return cls(knots, knots.structure.at(theta), np.array(which), theta, A)

    def given(self, sites: Sites) -> tuple[Array, Factor, StructuredRows]:
        """Weights, the factor of B, and what the structured part makes of the rows."""
        lambda1, lambda2 = sites.lambda1, sites.lambda2
        A, LA = self.A, lambda2[:, None] * self.A
        at_knots, U = self.knots.sums(lambda2), self.knots.sums(np.column_stack([lambda1, LA]))
        conditioned = self.at.condition(at_knots)
        of_row = self.knots.of_row
        smoothed = conditioned.solve(U).take(of_row, axis=0)
        mean, A_rest = smoothed[:, 0], A - smoothed[:, 1:]
        factor = factorise((np.eye(A.shape[1]) + LA.T @ A_rest,))
        w = factor.solve(A.T @ (lambda1 - lambda2 * mean))
        m = mean + A_rest @ w
        field = Field(self.knots.structure, self.blocks, self.theta, at_knots, U, LA.T @ A, A.T @ lambda1)
        quadratic = float((lambda1 - lambda2 * m) @ m)
        return (
            w,
            factor,
            StructuredRows(self.knots, field, conditioned, mean, conditioned.variance[of_row], A_rest, quadratic),
        )


def structure_gradient(rows: StructuredRows, w: Array, factor: Factor, implicit: Array | None) -> Array:
    """Gradient of the evidence in the parameters of the structure, (STR6).

    ``implicit`` (N, k) holds natural means whose columns enter as Laplace's ``u - Lambda A q``, summed at the knots.
    """
    U = rows.field.U
    alpha = U[:, 0] - U[:, 1:] @ w
    more = solve_lower(factor.L, np.asfortranarray(U[:, 1:].T)).T if len(w) else U[:, 1:]
    if implicit is None:
        columns, signs = np.column_stack([alpha, more]), np.ones(1 + len(w))
    else:
        columns = np.column_stack([alpha + implicit, implicit, more])
        signs = np.concatenate([[1.0, -1.0], np.ones(len(w))])
    return rows.conditioned.gradient(columns, signs)
