"""The one protocol by which a prior enters: blocks of features.

``f = sum_t A_t w_t + e`` with whitened weights ``w ~ N(0, I)`` and row residuals ``e ~ N(0, d)``, ``d = sum_t d_t``.
A block knows how to make its columns ``A_t`` and residuals ``d_t``, and how a gradient with respect to them becomes one
with respect to its own parameters. It never sees a likelihood.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from tobitgp.typing import Array


class Features(NamedTuple):
    """What a block makes of a chunk of rows.

    Attributes
    ----------
    A : (n, M_t) array
    d : (n,) array or None
        Residual variances; None for a block that has none.
    cache : object
        What the block wants back in ``backward``.
    """

    A: Array
    d: Array | None
    cache: Any = None


class BlockAt(Protocol):
    """A block at fixed parameters."""

    @property
    def size(self) -> int:
        """Number of features, M_t."""
        ...

    @property
    def n_sums(self) -> int:
        """How many sums ``backward`` gives."""
        ...

    def features(self, X: Array) -> Features:
        """Features of rows with inputs ``X`` (n, d_t)."""
        ...

    def backward(self, X: Array, features: Features, G_A: Array, g_d: Array) -> tuple[Array, ...]:
        """Sums over these rows from which ``finish`` makes the gradient.

        ``G_A`` (n, M_t) is dF/dA at fixed ``d``, ``g_d`` (n,) is dF/dd at fixed ``A``.
        """
        ...

    def finish(self, sums: tuple[Array, ...]) -> Array:
        """Gradient (k_t,) in the block's unconstrained parameters, from the sums over all rows."""
        ...


class Parametrised(Protocol):
    """Something with unconstrained parameters."""

    @property
    def n_parameters(self) -> int:
        """Number of unconstrained parameters."""
        ...


class Block(Parametrised, Protocol):
    """A block before its parameters are known."""

    @property
    def X(self) -> Array:
        """Inputs (n, d_t) of the training rows."""
        ...

    def at(self, theta: Array) -> BlockAt:
        """Fix the parameters."""
        ...
