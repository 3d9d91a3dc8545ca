"""The Gaussian posterior over features, and the chunks of rows it is made from.

``B = I + A' diag(lambda2) A``, ``r = A' lambda1``, ``w = B^-1 r``, ``S = B^-1``, ``m = A w``, ``v_p = diag(A S A')``;
the log evidence is ``-|w|^2 / 2 - log|B| / 2 + sum D_n``. All of it is sums over chunks of rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tobitgp.data.problem import Problem, Rows
from tobitgp.engines import add_up, row_chunks
from tobitgp.inference.layout import Layout, join_features, keep_blocks
from tobitgp.inference.method import Marginals
from tobitgp.numerics.arrow import Factor, Loadings
from tobitgp.prior.block import Block, BlockAt, Features, Inputs, Parametrised
from tobitgp.typing import Array

CHUNK_ROWS = 2048
CACHE_BYTES = 2**26


@dataclass(frozen=True, slots=True)
class Sites:
    """Natural parameters of every row's site, (n,) each, in the problem's order."""

    lambda1: Array
    lambda2: Array

    def copy(self) -> Sites:
        """Independent copy."""
        return Sites(self.lambda1.copy(), self.lambda2.copy())

    def zeros(self) -> Sites:
        """Flat sites for as many rows."""
        return Sites(np.zeros_like(self.lambda1), np.zeros_like(self.lambda2))

    def along(self, other: Sites) -> float:
        """Inner product with another step, each natural parameter in units of its own size."""
        total = 0.0
        for a, b in ((self.lambda1, other.lambda1), (self.lambda2, other.lambda2)):
            size = float(np.linalg.norm(a) * np.linalg.norm(b))
            total += float(a @ b) / size if size > 0.0 else 0.0
        return total

    def take(self, other: Sites, step: Sites | None = None, rho: float = 0.0) -> None:
        """Overwrite in place with ``other + rho step``."""
        self.lambda1[:], self.lambda2[:] = other.lambda1, other.lambda2
        if step is not None:
            self.lambda1[:] += rho * step.lambda1
            self.lambda2[:] += rho * step.lambda2


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some rows of one kind and their features.

    Attributes
    ----------
    rows : Rows
    span : slice
        Their place in the problem's order.
    inputs : tuple of Inputs
    blocks : tuple of BlockAt
    layout : Layout
    kept : tuple
        ``(parts, A, d)`` where memory allows, else empty.
    """

    rows: Rows
    span: slice
    inputs: tuple[Inputs, ...]
    blocks: tuple[BlockAt, ...]
    layout: Layout
    kept: tuple[tuple[tuple[Features, ...], Loadings, Array], ...] = ()

    def features(self) -> tuple[tuple[Features, ...], Loadings, Array]:
        """Features block by block, all of them as ``A``, and the summed residual ``d`` (n,)."""
        return self.kept[0] if self.kept else join_features(self.layout, self.blocks, self.inputs)


@dataclass(frozen=True, slots=True)
class Posterior:
    """A settled Gaussian posterior ``q(w) = N(w, B^-1)``.

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
    sites : Sites
    evidence : float
        Log evidence of the standardised rows.
    chunks : tuple of Chunk
    sweeps : int
    residual : float
        Root mean square of the last standardised site changes.
    converged : bool
    centre : (p,) array
        Common features of processes averaged over the training rows, where an intercept takes up their level; zero
        for all others, and before the fit has ended.
    """

    theta: Array
    blocks: tuple[BlockAt, ...]
    layout: Layout
    w: Array
    factor: Factor
    sites: Sites
    evidence: float
    chunks: tuple[Chunk, ...]
    sweeps: int
    residual: float
    converged: bool
    centre: Array

    @property
    def sigma(self) -> float:
        """Noise standard deviation on the standardised scale."""
        return float(np.exp(self.theta[-1]))

    def marginals(self, chunk: Chunk) -> tuple[tuple[Features, ...], Loadings, Marginals]:
        """Feature parts, ``A`` and the marginals of a chunk's rows."""
        parts, A, d = chunk.features()
        span = chunk.span
        q = Marginals(A.times(self.w), self.factor.variance(A), d, self.sites.lambda1[span], self.sites.lambda2[span])
        return parts, A, q

    def features(self, inputs: Sequence[Inputs], skip: frozenset[int] = frozenset()) -> tuple[Loadings, Array]:
        """``A`` and the residual ``d`` (n,) of any rows; blocks to pass over stand at their centre."""
        parts, A, d = join_features(self.layout, self.blocks, inputs)
        if not skip:
            return A, d
        A, d = keep_blocks(self.layout, parts, inputs, A, frozenset(range(len(parts))) - skip)
        return self._shift(A, skip, 1.0), d

    def term_features(self, inputs: Sequence[Inputs], block: int) -> tuple[Loadings, Array]:
        """``A`` and the residual ``d`` (n,) of one block's part of f, measured from its centre."""
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


def make_chunks(
    problem: Problem, blocks: Sequence[Block], at: tuple[BlockAt, ...], layout: Layout
) -> tuple[Chunk, ...]:
    """Cut the rows by kind and size; keep their features where memory allows."""
    small = problem.n * layout.row_features * 8 <= CACHE_BYTES
    chunks, start = [], 0
    for rows in problem.rows:
        for span in row_chunks(start, start + len(rows), CHUNK_ROWS):
            inputs = tuple(b.inputs.rows(span) for b in blocks)
            kept = (join_features(layout, at, inputs),) if small else ()
            chunks.append(Chunk(rows[slice(span.start - start, span.stop - start)], span, inputs, at, layout, kept))
        start += len(rows)
    return tuple(chunks)


def average_features(posterior: Posterior, blocks: frozenset[int]) -> Array:
    """Common features (p,) averaged over the rows with their weights, in some blocks; zero in all others."""

    def visit(chunk: Chunk) -> tuple[Array, float]:
        A, weight = chunk.features()[1], chunk.rows.weight
        return A.common.T @ weight, float(weight.sum())

    total, weight = add_up(map(visit, posterior.chunks)) or [0.0, 1.0]
    centre = np.zeros(posterior.layout.p)
    for t in blocks:
        columns = posterior.layout.places[t].columns
        centre[columns] = total[columns] / weight
    return centre
