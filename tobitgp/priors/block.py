"""The one protocol by which a prior enters: blocks of features.

``f = sum_t A_t w_t + e`` with whitened weights ``w ~ N(0, I)`` and row residuals ``e ~ N(0, d)``, ``d = sum_t d_t``:
(FEA1) of the theory pages.
A block knows how to make its columns ``A_t`` and residuals ``d_t``, and how a gradient with respect to them becomes one
with respect to its own parameters. It never sees a likelihood. A block with groups has weights of its own for every
group, and a row's features go with those of its group.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from tobitgp.typing import Array, IntArray


class Inputs(NamedTuple):
    """What a block needs of some rows."""

    X: Array  # (n, d_t)
    code: IntArray | None = None  # (n,), group of each row, negative where it was not seen in training

    def rows(self, at: slice | IntArray) -> Inputs:
        """Some of the rows."""
        return Inputs(self.X[at], None if self.code is None else self.code[at])


class Grouping(NamedTuple):
    """What divides the rows into groups: a name, shared by blocks with the same groups, and the number of groups."""

    name: str
    size: int


class Features(NamedTuple):
    """What a block makes of a chunk of rows."""

    A: Array  # (n, M_t)
    d: Array  # (n,), residual variances
    cache: Any = None  # what the block wants back in ``backward``


class BlockAt(Protocol):
    """A block at fixed parameters."""

    @property
    def size(self) -> int:
        """Number of features of a row, M_t."""

    @property
    def grouping(self) -> Grouping | None:
        """Groups with weights of their own."""

    def features(self, X: Array, *, slopes: bool = False) -> Features:
        """Features of rows with inputs ``X`` (n, d_t); with ``slopes`` those that ``backward`` can use."""

    def mean(self, X: Array, w: Array) -> Array:
        """``A w`` (n,) in rows with inputs ``X``, without their features."""

    def backward(self, X: Array, features: Features, G_A: Array, g_d: Array) -> tuple[Array, ...]:
        """Sums over rows for ``finish``, from dF/dA (n, M_t) at fixed ``d`` and dF/dd (n,) at fixed ``A``."""

    def finish(self, sums: Sequence[Array]) -> Array:
        """Gradient (k_t,) in the block's unconstrained parameters, from the sums over all rows."""


class Parametrised(Protocol):
    """Something with unconstrained parameters."""

    @property
    def n_parameters(self) -> int:
        """Number of unconstrained parameters."""


class Block(Parametrised, Protocol):
    """A block before its parameters are known."""

    @property
    def inputs(self) -> Inputs:
        """Of the training rows."""

    def at(self, theta: Array) -> BlockAt:
        """Fix the parameters."""


def split_theta(blocks: Sequence[Parametrised], theta: Array) -> list[Array]:
    """Cut ``theta`` into each block's own parameters; those of the noise are left over."""
    ends = itertools.accumulate((b.n_parameters for b in blocks), initial=0)
    return [theta[i:j] for i, j in itertools.pairwise(ends)]
