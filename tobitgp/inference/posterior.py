"""The Gaussian posterior over features.

``B = I + A' diag(lambda2) A``, ``r = A' lambda1``, ``w = B^-1 r``, ``S = B^-1``, ``m = A w``, ``v_p = diag(A S A')``;
the log evidence is ``-|w|^2 / 2 - log|B| / 2 + sum D_n``: (SIT2), (SIT3) and (SIT6) of the theory pages.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from tobitgp.engines import Pieces
from tobitgp.inference.layout import Layout, join_features, keep_blocks
from tobitgp.inference.parts import Sites
from tobitgp.numerics.arrow import Factor, Loadings
from tobitgp.prior.block import BlockAt, Inputs, Parametrised
from tobitgp.typing import Array

NO_SITES = Sites(np.zeros(0), np.zeros(0))


class Gaussian(NamedTuple):
    """``q(w) = N(w, B^-1)``: mean (M,) and the factor of B."""

    w: Array
    factor: Factor


@dataclass(frozen=True, slots=True)
class Posterior:
    """A settled Gaussian posterior.

    Attributes
    ----------
    theta : (k,) array
        Unconstrained parameters: each block's, then those of the noise, log sigma last.
    blocks : tuple of BlockAt
        The blocks at ``theta``.
    layout : Layout
        Of the blocks' features among all.
    w : (M,) array
    factor : Factor
        Of B.
    evidence : float
        Log evidence of the standardised rows.
    sweeps : int
    residual : float
        Root mean square of the last standardised site changes.
    converged : bool
    states : Pieces of State or None
        The rows and their sites, while the fit lasts.
    sites : Sites
        Of all rows in the problem's order; none before the fit has ended, or where the rows lie elsewhere.
    centre : (p,) array
        Common features of processes averaged over the training rows, where an intercept takes up their level, and zero
        for all others; empty before the fit has ended.
    """

    theta: Array
    blocks: tuple[BlockAt, ...]
    layout: Layout
    w: Array
    factor: Factor
    evidence: float
    sweeps: int
    residual: float
    converged: bool
    states: Pieces | None = None
    sites: Sites = NO_SITES
    centre: Array = field(default_factory=lambda: np.zeros(0))

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
        """``A`` and the residual ``d`` (n,) of any rows; blocks to pass over stand at their centre."""
        parts, A, d = join_features(self.layout, self.blocks, inputs)
        if not skip:
            return A, d
        A, d = keep_blocks(self.layout, parts, inputs, A, frozenset(range(len(parts))) - skip)
        return self._shift(A, skip, 1.0), d

    def term_features(self, inputs: Sequence[Inputs], block: int) -> tuple[Loadings, Array]:
        """``A`` and the residual ``d`` (n,) of one block's part of f, measured from its centre (FEA10)."""
        parts, A, _ = join_features(self.layout, self.blocks, inputs)
        A, d = keep_blocks(self.layout, parts, inputs, A, frozenset({block}))
        return self._shift(A, frozenset({block}), -1.0), d

    def _shift(self, A: Loadings, blocks: frozenset[int], sign: float) -> Loadings:
        for t in blocks:
            place = self.layout.places[t]
            if place.kind == "common":
                A.common[:, place.columns] += sign * self.centre[place.columns]
        return A


def split_theta(blocks: Sequence[Parametrised], theta: Array) -> list[Array]:
    """Cut ``theta`` into each block's own parameters; those of the noise are left over."""
    ends = np.cumsum([0, *(b.n_parameters for b in blocks)])
    return [theta[i:j] for i, j in itertools.pairwise(ends)]
