"""The Gaussian posterior over features.

``B = I + A' diag(lambda2) A``, ``r = A' lambda1``, ``w = B^-1 r``, ``S = B^-1``, ``m = A w``, ``v_p = diag(A S A')``;
the log evidence is ``-|w|^2 / 2 - log|B| / 2 + sum D_n``: (SIT2), (SIT3) and (SIT6) of the theory pages.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from tobitgp.compiled import library
from tobitgp.engines import Partitions
from tobitgp.inference.feature_layout import (
    Layout,
    block_features,
    join_features,
    place_columns,
    sum_residuals,
    weight_places,
)
from tobitgp.inference.partitioned import PartitionedRows, Sites
from tobitgp.inference.structured import Field, StructuredRows
from tobitgp.numerics.arrow import Factor, Loadings, inner_products
from tobitgp.numerics.bordered import CovarianceMatrix
from tobitgp.priors.kernel_block import KernelFeatures, MovingFeatures
from tobitgp.priors.prior import DenseFeatures
from tobitgp.priors.structure import BlockAt, Features, Inputs
from tobitgp.typing import Array, IntArray

NO_SITES = Sites(np.zeros(0), np.zeros(0))
NO_LEVEL = np.zeros((0, 0)), np.zeros((0, 0))


class FeatureWeights(NamedTuple):
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
class FeaturePosterior:
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
    pairs: Any = None  # while the fit lasts, what rows say where not one site of f does: of f and log sigma, or exactly
    follows: bool = False  # whether features and weights are those that `rebuilt` makes from the sites

    @property
    def sigma(self) -> float:
        """Noise standard deviation on the standardised scale."""
        return float(np.exp(self.theta[-1]))

    @property
    def q(self) -> FeatureWeights:
        """The posterior of the weights."""
        return FeatureWeights(self.w, self.factor, self.structured)

    @property
    def rows(self) -> Partitions:
        """The rows at hand while the fit lasts."""
        assert self.states is not None
        return self.states

    def features(self, inputs: Sequence[Inputs], skip: frozenset[int] = frozenset()) -> tuple[Loadings, Array]:
        """``A`` and the residual ``d`` (n,) of any rows; blocks in ``skip`` are set to their level."""
        parts, A, d = join_features(self.layout, self.blocks, inputs)
        if not skip and not self.noise:
            return A, d
        levels = [Features(self._level(t, at), np.zeros(len(d))) for t, at in enumerate(inputs)]
        parts = tuple(levels[t] if t in skip or t in self.noise else part for t, part in enumerate(parts))
        return place_columns(self.layout, inputs, [part.A for part in parts]), sum_residuals(parts)

    def noise_features(self, inputs: Sequence[Inputs]) -> tuple[Loadings, Array]:
        """The same for log sigma without its known part."""
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
        """Mean of f in any rows, variance of the part that the sites inform, and residual variance d; (n,) each."""
        if not (skip or self.noise) and self.field is None:
            found = _compiled_marginals(self.layout, self.blocks, self.w, self.factor, inputs)
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

    def coefficients(self, at: IntArray) -> tuple[Array, CovarianceMatrix]:
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
    complete: Callable[[], FeaturePosterior] | None  # None before `settle` knows how

    @cached_property
    def posterior(self) -> FeaturePosterior:
        """All of it, with its rows."""
        assert self.complete is not None
        return self.complete()


def _compiled_marginals(
    layout: Layout, at: Sequence[BlockAt], w: Array, factor: Factor, inputs: Sequence[Inputs]
) -> tuple[Array, Array, Array] | None:
    """`Posterior.marginals` by the compiled core; None where it is not there or does not know a block."""
    if (
        library.load() is None
        or not all(map(_is_compiled, at))
        or any(place.kind in ("spread", "sparse") for place in layout.places)
    ):
        return None
    n, held = len(inputs[0].X), [w, factor.inverse]
    mean, v_p, d = np.empty((3, n))
    rows, blocks = library.Rows(n=n, groups=layout.size), (library.Block * len(at))()
    for block, known, place, own in zip(blocks, at, layout.places, inputs, strict=True):
        block.own, block.first, block.size = place.kind == "own", place.columns.start, known.size
        held.append(np.ascontiguousarray(own.X))
        block.kind, block.kept, block.X = library.COLUMNS, known.size, library.address(held[-1])
        if block.own and own.code is not None:
            held.append(np.ascontiguousarray(own.code, dtype=np.int32))
            rows.code = library.address(held[-1])
        if isinstance(known, KernelFeatures):
            factors = known.covariance.factors
            block.kind, block.inputs = known.covariance.compiled, own.X.shape[1]
            block.each, block.variance = factors[0].ard if factors else False, known.variance
            theta = np.concatenate([[0.0], np.log(known.parameters)])
            held += [np.asfortranarray(known.T), np.ascontiguousarray(known.Z), theta]
            block.T, block.Z_kept, block.theta = map(library.address, held[-3:])
    e = library.Evaluation(p=layout.p, m=layout.m, n_blocks=len(at))
    e.blocks, e.rows, e.w, e.d = (
        ctypes.addressof(blocks),
        ctypes.addressof(rows),
        library.address(w),
        library.address(d),
    )
    if factor.T is not None and factor.U is not None:
        held += [np.ascontiguousarray(factor.T), np.ascontiguousarray(factor.U)]
        e.T, e.U = map(library.address, held[-2:])
    pointers = (ctypes.c_void_p(library.address(array)) for array in (factor.inverse, mean, v_p))
    if not library.load().find_marginals(ctypes.byref(e), *pointers):
        raise MemoryError
    return mean, v_p, d


def _is_compiled(at: BlockAt) -> bool:
    if isinstance(at, KernelFeatures):
        return at.covariance.compiled is not None and not isinstance(at, MovingFeatures)
    return isinstance(at, DenseFeatures)
