"""The Gaussian posterior over features, and where each block's features stand among all.

One grouping, the one with most weights, is held as an arrow (``numerics/arrow.py``); blocks of any other stand among
the common columns, every group's features beside the last's.

``B = I + A' diag(lambda2) A``, ``r = A' lambda1``, ``w = B^-1 r``, ``S = B^-1``, ``m = A w``, ``v_p = diag(A S A')``;
the log evidence is ``-|w|^2 / 2 - log|B| / 2 + sum D_n``: (SIT2), (SIT3) and (SIT6) of the theory pages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from tobitgp.engines import Partitions
from tobitgp.inference.partitioned import Sites
from tobitgp.numerics.arrow import Factor, Loadings, OwnColumns, Slope
from tobitgp.priors.block import BlockAt, Features, Inputs
from tobitgp.typing import Array, IntArray


class Place(NamedTuple):
    """One block's place: among common columns, as they are or spread over groups, or among those of a row's group."""

    kind: Literal["common", "spread", "own"]
    columns: slice


@dataclass(frozen=True, slots=True)
class Layout:
    """Places of all blocks."""

    places: tuple[Place, ...]
    p: int  # common features
    m: int  # features of each group
    size: int  # groups

    @property
    def row_features(self) -> int:
        """Features of one row, p + m."""
        return self.p + self.m


def lay_out(blocks: Sequence[BlockAt]) -> Layout:
    """Place blocks, in their order."""
    weights: dict[tuple[str, int], int] = {}
    for block in blocks:
        if block.grouping is not None:
            weights[block.grouping] = weights.get(block.grouping, 0) + block.size * block.grouping.size
    chosen = max(weights, key=lambda grouping: weights[grouping], default=None)
    places, p, m = [], 0, 0
    for block in blocks:
        if block.grouping is None or block.grouping != chosen:
            width = block.size * (1 if block.grouping is None else block.grouping.size)
            places.append(Place("common" if block.grouping is None else "spread", slice(p, p + width)))
            p += width
        else:
            places.append(Place("own", slice(m, m + block.size)))
            m += block.size
    return Layout(tuple(places), p, m, 0 if chosen is None else chosen[1])


def join_features(
    layout: Layout, blocks: Sequence[BlockAt], inputs: Sequence[Inputs], *, slopes: bool = False
) -> tuple[tuple[Features, ...], Loadings, Array]:
    """Features of all blocks in rows with the given inputs.

    A group that was not seen in training has its prior: its features are zero, and their variance joins ``d``.

    Gives d (n,).
    """
    parts = tuple(block.features(at.X, slopes=slopes) for block, at in zip(blocks, inputs, strict=True))
    common: list[Array] = []
    own: list[Array] = []
    d, code = np.zeros(len(inputs[0].X)), None
    for part, place, at in zip(parts, layout.places, inputs, strict=True):
        A = part.A
        if part.d is not None:
            d += part.d
        if at.code is not None and len(at.code) and at.code.min() < 0:
            unseen = at.code < 0
            d[unseen] += np.einsum("nm,nm->n", A[unseen], A[unseen])
            A = np.where(unseen[:, None], 0.0, A)
        if place.kind == "own":
            own.append(A)
            code = at.code
        else:
            common.append(A if place.kind == "common" else _spread(A, at.code, place))
    A_common = common[0] if len(common) == 1 else np.concatenate([np.empty((len(d), 0)), *common], axis=1)
    if code is None:
        return parts, Loadings(A_common), d
    A_own = own[0] if len(own) == 1 else np.concatenate(own, axis=1)
    return parts, Loadings(A_common, OwnColumns(A_own, np.maximum(code, 0), layout.size)), d


def keep_blocks(
    layout: Layout, parts: Sequence[Features], inputs: Sequence[Inputs], A: Loadings, blocks: frozenset[int]
) -> tuple[Loadings, Array]:
    """Loadings and residual variance (n,) of some blocks alone, the columns of all others zero."""
    common, own = np.zeros_like(A.common), None if A.own is None else np.zeros_like(A.own.A)
    d = np.zeros(len(A))
    for t in blocks:
        place, part, code = layout.places[t], parts[t], inputs[t].code
        if place.kind == "own":
            assert own is not None
            assert A.own is not None
            own[:, place.columns] = A.own.A[:, place.columns]
        else:
            common[:, place.columns] = A.common[:, place.columns]
        if part.d is not None:
            d += part.d
        if code is not None:
            d += np.where(code < 0, np.einsum("nm,nm->n", part.A, part.A), 0.0)
    return Loadings(common, None if own is None or A.own is None else replace(A.own, A=own)), d


def add_columns(layout: Layout, t: int, A: Loadings, rows: Array, code: IntArray | None) -> None:
    """Add to one block's columns (n, M_t) of loadings, in place."""
    place = layout.places[t]
    if place.kind == "own":
        assert A.own is not None
        A.own.A[:, place.columns] += rows
    else:
        A.common[:, place.columns] += rows if place.kind == "common" else _spread(rows, code, place)


def block_slopes(layout: Layout, inputs: Sequence[Inputs], sizes: Sequence[int], G: Slope) -> Iterator[Array]:
    """Each block's columns (n, M_t) of a derivative with respect to the loadings."""
    for place, at, size in zip(layout.places, inputs, sizes, strict=True):
        if place.kind == "own":
            assert G[1] is not None
            yield G[1][:, place.columns]
        elif place.kind == "common":
            yield G[0][:, place.columns]
        else:
            yield np.take_along_axis(G[0][:, place.columns], _positions(at.code, size), axis=1)


def _spread(A: Array, code: IntArray | None, place: Place) -> Array:
    """Features in the columns of each row's group, zero in those of others."""
    out = np.zeros((len(A), place.columns.stop - place.columns.start))
    np.put_along_axis(out, _positions(code, A.shape[1]), A, axis=1)
    return out


def _positions(code: IntArray | None, size: int) -> IntArray:
    assert code is not None
    return np.maximum(code, 0)[:, None] * size + np.arange(size)


NO_SITES = Sites(np.zeros(0), np.zeros(0))
NO_LEVEL = np.zeros((0, 0)), np.zeros((0, 0))


class Gaussian(NamedTuple):
    """``q(w) = N(w, B^-1)``: mean (M,) and the factor of B."""

    w: Array
    factor: Factor


@dataclass(frozen=True, slots=True)
class Posterior:
    """A Gaussian posterior at a fixed point.

    (FEA10) of the theory pages.
    """

    theta: Array  # (k,), unconstrained parameters: each block's, then those of the noise, log sigma last
    blocks: tuple[BlockAt, ...]  # the blocks at ``theta``
    layout: Layout  # of the blocks' features among all
    w: Array  # (M,)
    factor: Factor  # of B
    evidence: float  # log evidence of the standardised rows
    sweeps: int
    residual: float  # root mean square of the last standardised site changes
    converged: bool
    states: Partitions | None = None  # the rows and their sites, while the fit lasts
    sites: Sites = NO_SITES  # of all rows in the problem's order
    levels: tuple[tuple[Array, Array], ...] = ()  # of each block: mean features (L, m), weights (L, p)

    @property
    def sigma(self) -> float:
        """Noise standard deviation on the standardised scale."""
        return float(np.exp(self.theta[-1]))

    @property
    def q(self) -> Gaussian:
        """The posterior of the weights."""
        return Gaussian(self.w, self.factor)

    @property
    def rows(self) -> Partitions:
        """The rows at hand while the fit lasts."""
        assert self.states is not None
        return self.states

    def features(self, inputs: Sequence[Inputs], skip: frozenset[int] = frozenset()) -> tuple[Loadings, Array]:
        """``A`` and the residual ``d`` (n,) of any rows; blocks to pass over stand at their level."""
        parts, A, d = join_features(self.layout, self.blocks, inputs)
        if not skip:
            return A, d
        A, d = keep_blocks(self.layout, parts, inputs, A, frozenset(range(len(parts))) - skip)
        return self._shift(A, inputs, skip, 1.0), d

    def term_features(self, inputs: Sequence[Inputs], block: int) -> tuple[Loadings, Array]:
        """``A`` and the residual ``d`` (n,) of one block's part of f, measured from its level (FEA10)."""
        parts, A, _ = join_features(self.layout, self.blocks, inputs)
        A, d = keep_blocks(self.layout, parts, inputs, A, frozenset({block}))
        return self._shift(A, inputs, frozenset({block}), -1.0), d

    def _shift(self, A: Loadings, inputs: Sequence[Inputs], blocks: frozenset[int], sign: float) -> Loadings:
        """Add the levels of blocks in the rows' groups to the loadings, in place; a group not seen has none."""
        for t in blocks:
            mean, code = self.levels[t][0], inputs[t].code
            if len(mean):
                rows = np.zeros(len(A), dtype=np.intp) if code is None else code
                add_columns(self.layout, t, A, np.where(rows[:, None] < 0, 0.0, sign * mean[rows]), code)
        return A

    def coefficients(self, p: int) -> tuple[Array, Array]:
        """Mean (p,) and covariance (p, p) of the linear weights, the levels of processes among them."""
        if not any(len(mean) for mean, _ in self.levels):
            return self.w[:p], self.factor.corner_covariance(p)
        R = self.coefficient_rows(p)
        half = self.factor.whiten(R)
        return R.T @ self.w, half.T @ half

    def coefficient_rows(self, p: int) -> Array:
        """How these depend on all weights, (M, p)."""
        R = np.eye(len(self.w), p)
        own = R[self.layout.p :].reshape(self.layout.size, self.layout.m, p) if self.layout.size else R
        for place, (mean, share) in zip(self.layout.places, self.levels, strict=True):
            if len(mean):
                by_level = np.einsum("lm,lp->lmp", mean, share)
                if place.kind == "own":
                    own[:, place.columns] += by_level
                else:
                    R[place.columns] += by_level.reshape(-1, p)
        return R
