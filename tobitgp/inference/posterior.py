"""The Gaussian posterior over features.

``B = I + A' diag(lambda2) A``, ``r = A' lambda1``, ``w = B^-1 r``, ``S = B^-1``, ``m = A w``, ``v_p = diag(A S A')``;
the log evidence is ``-|w|^2 / 2 - log|B| / 2 + sum D_n``: (SIT2), (SIT3) and (SIT6) of the theory pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tobitgp.engines import Pieces
from tobitgp.inference.layout import Layout, add_columns, join_features, keep_blocks
from tobitgp.inference.partitioned import Sites
from tobitgp.numerics.arrow import Factor, Loadings
from tobitgp.priors.block import BlockAt, Inputs
from tobitgp.typing import Array

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
    states: Pieces | None = None  # the rows and their sites, while the fit lasts
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
    def rows(self) -> Pieces:
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
