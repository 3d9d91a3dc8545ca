"""The Gaussian posterior over features, and where each block's features stand among all.

One grouping, the one with most weights, is held as an arrow (``numerics/arrow.py``); blocks of any other stand among
the common columns, every group's features beside the last's.

``B = I + A' diag(lambda2) A``, ``r = A' lambda1``, ``w = B^-1 r``, ``S = B^-1``, ``m = A w``, ``v_p = diag(A S A')``;
the log evidence is ``-|w|^2 / 2 - log|B| / 2 + sum D_n``: (SIT2), (SIT3) and (SIT6) of the theory pages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from tobitgp.engines import Partitions
from tobitgp.inference.compiled_rows import find_marginals
from tobitgp.inference.partitioned import PartitionedRows, Sites
from tobitgp.inference.structured import Field, StructuredRows
from tobitgp.numerics.arrow import Factor, Loadings, OwnColumns, Slope, SpreadColumns, inner_products
from tobitgp.numerics.bordered import Covariance
from tobitgp.priors.block import BlockAt, Features, Inputs
from tobitgp.priors.prior import LevelColumns
from tobitgp.priors.structure import StructuredTermAt
from tobitgp.typing import Array, IntArray


class Place(NamedTuple):
    """One block's place: among common columns, as they are or spread over groups, or among those of a row's group.

    Columns that are spread over many groups are held as the few entries that a row has in them, after all others.
    """

    kind: Literal["common", "spread", "sparse", "own"]
    columns: slice


@dataclass(frozen=True, slots=True)
class Layout:
    """Places of all blocks."""

    places: tuple[Place, ...]
    p: int  # common features
    m: int  # features of each group
    size: int  # groups
    entries: int = 0  # of a row in the columns that are held by their entries

    @property
    def row_features(self) -> int:
        """Numbers that are held of a row."""
        return self.dense + self.entries + self.m

    @property
    def dense(self) -> int:
        """Common features but for those that are held by their entries."""
        return min((place.columns.start for place in self.places if place.kind == "sparse"), default=self.p)

    @property
    def has_sparse(self) -> bool:
        """Whether some columns are held by their entries."""
        return self.entries > 0


MOST_SPREAD = 100  # columns of groups that are not eliminated, above which they are held by their entries


def lay_out(blocks: Sequence[BlockAt]) -> Layout:
    """Place blocks, in their order; beside a structured part, which ties groups together, all among common columns."""
    weights: dict[tuple[str, int], int] = {}
    structured = any(isinstance(block, StructuredTermAt) for block in blocks)
    for block in blocks:
        if block.grouping is not None and not structured:
            weights[block.grouping] = weights.get(block.grouping, 0) + block.size * block.grouping.size
    chosen = max(weights, key=lambda grouping: weights[grouping], default=None)
    sparse = sum(size for grouping, size in weights.items() if grouping != chosen) > MOST_SPREAD
    places, p, m = {}, 0, 0
    # Columns that are held by their entries come last.
    order = sorted(range(len(blocks)), key=lambda t: sparse and blocks[t].grouping not in (None, chosen))
    for t in order:
        block = blocks[t]
        if block.grouping is None or block.grouping != chosen:
            width = block.size * (1 if block.grouping is None else block.grouping.size)
            kind: Any = "common" if block.grouping is None else "sparse" if sparse else "spread"
            places[t] = Place(kind, slice(p, p + width))
            p += width
        else:
            places[t] = Place("own", slice(m, m + block.size))
            m += block.size
    entries = sum(block.size for t, block in enumerate(blocks) if places[t].kind == "sparse")
    in_order = tuple(places[t] for t in range(len(blocks)))
    return Layout(in_order, p, m, 0 if chosen is None else chosen[1], entries)


def join_features(
    layout: Layout, blocks: Sequence[BlockAt], inputs: Sequence[Inputs], *, slopes: bool = False
) -> tuple[tuple[Features, ...], Loadings, Array]:
    """Features of each block in rows with the given inputs, all of them as ``A``, and the sum of their ``d`` (n,)."""
    parts = tuple(block_features(block, at, slopes=slopes) for block, at in zip(blocks, inputs, strict=True))
    return parts, place_columns(layout, inputs, [part.A for part in parts]), sum_residuals(parts)


def sum_residuals(parts: Sequence[Features]) -> Array:
    """Residual variance (n,) of several blocks."""
    d = parts[0].d.copy()
    for part in parts[1:]:
        d += part.d
    return d


def block_features(block: BlockAt, at: Inputs, *, slopes: bool = False) -> Features:
    """Features of one block; a group not seen in training has its prior: zero features, their variance in ``d``."""
    part, code = block.features(at.X, slopes=slopes), at.code
    if code is None or code.min(initial=0) >= 0:
        return part
    left_out = np.where(code < 0, np.einsum("nm,nm->n", part.A, part.A), 0.0)
    return part._replace(A=np.where(code[:, None] < 0, 0.0, part.A), d=part.d + left_out)


def place_columns(layout: Layout, inputs: Sequence[Inputs], columns: Sequence[Array]) -> Loadings:
    """All blocks' columns, (n, M_t) each, where they belong in ``A``."""
    common, own, code = [np.empty((len(columns[0]), 0))], [], None
    first, entries = layout.dense, []
    for place, at, A in zip(layout.places, inputs, columns, strict=True):
        if place.kind == "own":
            own.append(A)
            code = at.code
        elif place.kind == "sparse":
            entries.append((A, place.columns.start - first + _positions(at.code, A.shape[1])))
        else:
            width = place.columns.stop - place.columns.start
            common.append(A if place.kind == "common" else spread_columns(A, at.code, width))
    A_common = common[1] if len(common) == 2 else np.concatenate(common, axis=1)
    spread = None
    if entries:
        values, at_columns = (np.concatenate(part, axis=1) for part in zip(*entries, strict=True))
        spread = SpreadColumns(values, at_columns, layout.p - first)
    if code is None:
        return Loadings(A_common, None, spread)
    A_own = own[0] if len(own) == 1 else np.concatenate(own, axis=1)
    return Loadings(A_common, OwnColumns(A_own, np.maximum(code, 0), layout.size), spread)


def block_slopes(layout: Layout, inputs: Sequence[Inputs], blocks: Sequence[BlockAt], G: Slope) -> Iterator[Array]:
    """Each block's columns (n, M_t) of a derivative with respect to the loadings."""
    common, own, entries = G
    first = 0
    for place, at, block in zip(layout.places, inputs, blocks, strict=True):
        if place.kind == "own":
            assert own is not None
            yield own[:, place.columns]
        elif place.kind == "common":
            yield common[:, place.columns]
        elif place.kind == "spread":
            yield np.take_along_axis(common[:, place.columns], _positions(at.code, block.size), axis=1)
        else:
            assert entries is not None
            yield entries[:, first : first + block.size]
            first += block.size


def spread_columns(A: Array, code: IntArray | None, width: int) -> Array:
    """Features in the columns of each row's group, zero in those of others."""
    out = np.zeros((len(A), width))
    np.put_along_axis(out, _positions(code, A.shape[1]), A, axis=1)
    return out


def _positions(code: IntArray | None, size: int) -> IntArray:
    assert code is not None
    return np.maximum(code, 0)[:, None] * size + np.arange(size)


def weight_places(layout: Layout, place: Place, groups: IntArray, size: int) -> IntArray:
    """Where the weights of some groups in a block are among all, (k, size); of a common one there is one group."""
    first, step = (layout.p, layout.m) if place.kind == "own" else (0, size)
    return first + place.columns.start + step * groups[:, None] + np.arange(size)


def linear_places(layout: Layout, p: int, factor: LevelColumns | None) -> IntArray:
    """Where the weights of linear columns are among all, (p,)."""
    if factor is None:
        return np.arange(p)
    own = weight_places(layout, layout.places[-1], factor.groups, 1)[:, 0]
    return factor.join(np.arange(p - factor.size), own)


NO_SITES = Sites(np.zeros(0), np.zeros(0))
NO_LEVEL = np.zeros((0, 0)), np.zeros((0, 0))


class Gaussian(NamedTuple):
    """``q(w) = N(w, B^-1)``: mean (M,), the factor of B, and what a structured part makes of the rows."""

    w: Array
    factor: Factor
    structured: StructuredRows | None = None

    def given_structure(self, A: Loadings, places: slice) -> tuple[Loadings, Array | float, Array | float]:
        """How f of some rows depends on w once the structured part is integrated out, and its mean and variance."""
        if self.structured is None:
            return A, 0.0, 0.0
        return (
            Loadings(self.structured.A[places]),
            self.structured.mean[places],
            self.structured.variance[places],
        )

    @property
    def quadratic(self) -> float:
        """``alpha' m``, which is ``|w|^2`` without a structured part."""
        return self.factor.quadratic(self.w) if self.structured is None else self.structured.quadratic

    @property
    def log_det(self) -> float:
        """``log |I + K Lambda|``, (STR4)."""
        rest = 0.0 if self.structured is None else self.structured.conditioned.log_det
        return self.factor.log_det() + rest


@dataclass(frozen=True, slots=True)
class Posterior:
    """A Gaussian posterior at a fixed point."""

    theta: Array  # (k,), unconstrained parameters: each block's, then those of the noise, log sigma last
    blocks: tuple[BlockAt, ...]  # the blocks at ``theta``
    layout: Layout  # of the blocks' features among all
    w: Array  # (M,)
    factor: Factor  # of B
    evidence: float  # log evidence of the standardised rows
    iterations: int
    residual: float  # root mean square of the last standardised site changes
    converged: bool
    structured: StructuredRows | None = None  # while the fit lasts, as the next
    states: Partitions | None = None  # the rows and their sites
    field: Field | None = None  # the structured part
    sites: Sites = NO_SITES  # of all rows in the problem's order
    levels: tuple[tuple[Array, Array], ...] = ()  # of each block: mean features (L, m), weights (L, p)
    noise: tuple[int, ...] = ()  # blocks of log sigma
    pairs: Any = None  # while the fit lasts, what rows tell of f and log sigma together
    follows: bool = False  # whether features and weights are those that `rebuilt` makes from the sites

    @property
    def sigma(self) -> float:
        """Noise standard deviation on the standardised scale."""
        return float(np.exp(self.theta[-1]))

    @property
    def q(self) -> Gaussian:
        """The posterior of the weights."""
        return Gaussian(self.w, self.factor, self.structured)

    @property
    def rows(self) -> Partitions:
        """The rows at hand while the fit lasts."""
        assert self.states is not None
        return self.states

    def features(self, inputs: Sequence[Inputs], skip: frozenset[int] = frozenset()) -> tuple[Loadings, Array]:
        """``A`` and the residual ``d`` (n,) of any rows; blocks to pass over stand at their level."""
        parts, A, d = join_features(self.layout, self.blocks, inputs)
        if not skip and not self.noise:
            return A, d
        levels = [Features(self._level(t, at), np.zeros(len(d))) for t, at in enumerate(inputs)]
        parts = tuple(levels[t] if t in skip or t in self.noise else part for t, part in enumerate(parts))
        return place_columns(self.layout, inputs, [part.A for part in parts]), sum_residuals(parts)

    def noise_features(self, inputs: Sequence[Inputs]) -> tuple[Loadings, Array]:
        """The same of what log sigma is beside its known part."""
        parts = [block_features(block, at) for block, at in zip(self.blocks, inputs, strict=True)]
        parts = [p if t in self.noise else Features(0.0 * p.A, 0.0 * p.d) for t, p in enumerate(parts)]
        return place_columns(self.layout, inputs, [part.A for part in parts]), sum_residuals(parts)

    def pair(self, inputs: Sequence[Inputs], skip: frozenset[int] = frozenset()) -> tuple[Array, Array, Array]:
        """Mean (n, 2) and covariance (n, 2, 2) of f and log sigma in any rows, and their residual variances (n, 2)."""
        both = self.features(inputs, skip), self.noise_features(inputs)
        V = np.empty((len(both[0][1]), 2, 2))
        (V[:, 0, 0], of_f), (V[:, 1, 1], of_noise) = (self.factor.begin(A) for A, _ in both)
        V[:, 0, 1] = V[:, 1, 0] = inner_products(of_f, of_noise)
        return np.column_stack([A.times(self.w) for A, _ in both]), V, np.column_stack([d for _, d in both])

    def marginals(self, inputs: Sequence[Inputs], skip: frozenset[int] = frozenset()) -> tuple[Array, Array, Array]:
        """Mean of f in any rows, variance in what the sites tell of, and residual variance d; (n,) each."""
        if not (skip or self.noise) and self.field is None:
            found = find_marginals(self.layout, self.blocks, self.w, self.factor, inputs)
            if found is not None:
                return found
        A, d = self.features(inputs, skip)
        return *self._moments(A, inputs, skip), d

    def means(self, inputs: Sequence[Inputs], skip: frozenset[int] = frozenset()) -> Array:
        """Mean of f in any rows, (n,): matrices times vectors where no block has groups or a structure."""
        if skip or self.noise or self.field is not None or any(place.kind != "common" for place in self.layout.places):
            return self.marginals(inputs, skip)[0]
        blocks = zip(self.blocks, inputs, self.layout.places, strict=True)
        return np.sum([block.mean(at.X, self.w[place.columns]) for block, at, place in blocks], axis=0)

    def term_marginals(self, inputs: Sequence[Inputs], blocks: Sequence[int]) -> tuple[Array, Array, Array]:
        """The same of some blocks' part of f, measured from their level (FEA10)."""
        parts = {t: block_features(self.blocks[t], inputs[t]) for t in blocks}
        columns = [np.zeros((len(inputs[0].X), b.size)) for b in self.blocks]
        for t, part in parts.items():
            columns[t] = part.A - self._level(t, inputs[t])
        A, others = place_columns(self.layout, inputs, columns), frozenset(range(len(self.blocks))).difference(blocks)
        return *self._moments(A, inputs, others, from_level=True), sum_residuals([*parts.values()])

    def _moments(
        self, A: Loadings, inputs: Sequence[Inputs], skip: frozenset[int], *, from_level: bool = False
    ) -> tuple[Array, Array]:
        """Mean and variance (n,) of ``A w`` and the structured part, but for what is passed over."""
        if self.field is None:
            return A.times(self.w), self.factor.variance(A)
        values, variance = self.field.part(inputs, skip, from_level=from_level)
        A = Loadings(A.common - values[:, 1:])
        return values[:, 0] + A.times(self.w), variance + self.factor.variance(A)

    def _level(self, block: int, at: Inputs) -> Array:
        """Features (n, M_t) of a block's level in the rows' groups; none where there is none, or the group is new."""
        mean = self.levels[block][0]
        if not len(mean):
            return np.zeros((len(at.X), self.blocks[block].size))
        code = np.zeros(len(at.X), dtype=np.intp) if at.code is None else at.code
        return np.where(code[:, None] < 0, 0.0, mean[code])

    def coefficients(self, at: IntArray) -> tuple[Array, Covariance]:
        """Mean (p,) and covariance (p, p) of the linear weights ``at`` (p,), the levels of processes among them."""
        p, own = len(at), at >= self.layout.p
        if own.any():
            R = self.coefficient_rows(at)
            return R.T @ self.w, self.factor.covariance_of_sums(R, own)
        if not any(len(mean) for mean, _ in self.levels) and np.array_equal(at, np.arange(p)):
            return self.w[:p], self.factor.corner_covariance(p)
        R, mean, covariance = self.coefficient_rows(at).toarray(), np.zeros(p), np.zeros((p, p))
        for share in self._structured_shares():
            assert self.field is not None
            values, variance = self.field.levels
            R = R - values[:, 1:].T @ share
            mean, covariance = values[:, 0] @ share, (share.T * variance) @ share
        half = self.factor.whiten(R)
        return mean + R.T @ self.w, covariance + half.T @ half

    def coefficient_draws(self, at: IntArray, w: Array, e: Array | None) -> Array:
        """Draws (p, S) of the same from those of the weights, (M, S), and of the structured part at its knots."""
        drawn = self.coefficient_rows(at).T @ w
        for share in self._structured_shares():
            assert self.field is not None
            assert e is not None
            drawn += share.T @ self.field.sum_levels(e)
        return drawn

    def _structured_shares(self) -> list[Array]:
        """Weights (L, p) in which linear columns hold the levels of the structured part, if they do."""
        if self.field is None or self.field.level is None:
            return []
        return [self.levels[self.field.block][1]]

    def coefficient_rows(self, at: IntArray) -> Any:
        """How these depend on all weights, a sparse matrix (M, p), but through the structured part."""
        shape = len(self.w), len(at)
        R = csr_matrix((np.ones(len(at)), (at, np.arange(len(at)))), shape)
        for place, (mean, share) in zip(self.layout.places, self.levels, strict=True):
            if len(mean):
                weights = weight_places(self.layout, place, np.arange(len(mean)), mean.shape[1])
                level = np.repeat(np.arange(len(mean)), mean.shape[1])
                by_level = csr_matrix((mean.ravel(), (weights.ravel(), level)), (len(self.w), len(mean)))
                R = R + by_level @ csr_matrix(share)
        return R


@dataclass(frozen=True)
class Settled:
    """A fixed point: what a search needs of it, and all of the posterior for who asks."""

    theta: Array  # (k,)
    evidence: float  # log evidence of the standardised rows
    iterations: int
    residual: float  # root mean square of the last standardised site changes
    converged: bool
    row_features: int  # as of the layout
    gradient: Array | None  # (k,), of the evidence in theta, where slopes were asked for
    data: PartitionedRows  # the rows with the sites there
    complete: Callable[[], Posterior]

    @cached_property
    def posterior(self) -> Posterior:
        """All of it, with its rows."""
        return self.complete()
