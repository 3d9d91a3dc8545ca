"""The two protocols of a prior: blocks of features, and an additional structured part.

``f = sum_t A_t w_t + e`` with whitened weights ``w ~ N(0, I)`` and row residuals ``e ~ N(0, d)``, ``d = sum_t d_t``:
(FEA1) of the theory pages.
A block knows how to make its columns ``A_t`` and residuals ``d_t``, and how a gradient with respect to them becomes one
with respect to its own parameters. It never sees a likelihood. A block with groups has separate weights for every
group, and a row's features belong to those of its group.

A structured part adds ``f = A w + e`` with ``e ~ N(0, K_e)``, whose covariance is never formed.
With ``Lambda`` the precisions of the sites, ``V0 = (K_e^-1 + Lambda)^-1`` and its log-determinant are all that the
posterior needs of it in addition to the features; both are combined exactly by a Schur complement, (STR1) to (STR8) of
the theory pages. A structure is defined on knots: the distinct inputs of the rows, whose sites are summed there.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

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
        """Groups with separate weights."""

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
        """Inputs of the training rows."""

    def at(self, theta: Array) -> BlockAt:
        """Fix the parameters."""


def split_theta(blocks: Sequence[Parametrised], theta: Array) -> list[Array]:
    """Cut ``theta`` into each block's own parameters; those of the noise are left over."""
    ends = itertools.accumulate((b.n_parameters for b in blocks), initial=0)
    return [theta[i:j] for i, j in itertools.pairwise(ends)]


class Structure(Protocol):
    """A process on N knots before its parameters are known: the order of the knots, and what depends on it."""

    @property
    def label(self) -> str:
        """Its name in tables."""

    @property
    def slow(self) -> bool:
        """Whether conditioning on sites takes far longer than a visit to the rows."""

    @property
    def inputs(self) -> Inputs:
        """Inputs of the knots, (N, d): distinct in inputs and group together."""

    @property
    def lead(self) -> int:
        """Which of its terms has the inputs of the knots."""

    def at(self, theta: Sequence[Array]) -> StructureAt:
        """Fix the parameters of each term, (k_t,): log sd, then the logarithms of its covariance's parameters."""

    def extended(self, inputs: Inputs) -> Structure:
        """The same process on further knots too, which follow its own."""


class StructureAt(Protocol):
    """A structure at fixed parameters."""

    def condition(self, lambda2: Array) -> Conditioned:
        """Condition on sites with precisions ``lambda2`` (N,), summed at the knots; some may be negative.

        Raises
        ------
        NumericalError
            If they leave no posterior.
        """

    def draw(self, draws: int, rng: np.random.Generator) -> Array:
        """Draws of the prior, (N, draws)."""


class Conditioned(Protocol):
    """A structure given the precisions of sites; ``U`` (N, k) stands for natural means lambda1, summed at the knots."""

    @property
    def variance(self) -> Array:
        """``diag(V0)``, (N,)."""

    @property
    def log_det(self) -> float:
        """``log |I + K_e Lambda|``."""

    def solve(self, U: Array) -> Array:
        """``V0 U``, (N, k)."""

    def gradient(self, U: Array, signs: Array) -> Array:
        """``1/2 sum_j signs_j x_j' dK_e x_j - 1/2 tr(R0 dK_e)`` with ``x_j = (I + Lambda K_e)^-1 u_j``, (STR6).

        By the parameters of all terms, one after the other; signs (k,), ``R0 = Lambda - Lambda V0 Lambda``.
        """

    def smooth(self, U: Array) -> Smoothed:
        """``V0 U`` at other places."""


class Smoothed(Protocol):
    """``V0 U`` and the variance beyond the knots."""

    def at(self, inputs: Inputs, terms: Sequence[int] | None = None) -> tuple[Array, Array]:
        """At n places, on knots too, values (n, k) and variance (n,) of the sum of some terms, or of all.

        Places of a group not seen (code below 0) have the prior.
        """


@dataclass(frozen=True, slots=True)
class Knots:
    """A structure, and at which of its N knots each of n rows stands."""

    structure: Structure
    of_row: IntArray  # (n,)

    def sums(self, values: Array) -> Array:
        """Sums at the knots, (N,) or (N, k), of values of the rows, (n,) or (n, k)."""
        N = len(self.structure.inputs.X)
        if values.ndim == 1:
            return np.asarray(np.bincount(self.of_row, weights=values, minlength=N), dtype=np.float64)
        return np.stack([self.sums(column) for column in values.T], axis=1) if values.size else np.zeros((N, 0))


def distinct(inputs: Inputs) -> tuple[Inputs, IntArray]:
    """Distinct inputs in groups, in order, and which of them each row has, (n,)."""
    columns = [*inputs.X.T[::-1], *(() if inputs.code is None else (inputs.code,))]
    order = np.lexsort(columns)
    sorted_ = inputs.rows(order)
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (np.diff(sorted_.X, axis=0) != 0.0).any(axis=1)
    if sorted_.code is not None:
        new[1:] |= np.diff(sorted_.code) != 0
    of_row = np.empty(len(order), dtype=np.intp)
    of_row[order] = np.cumsum(new) - 1
    return sorted_.rows(np.flatnonzero(new)), of_row


@dataclass(frozen=True, slots=True)
class StructuredTerm:
    """A process in a structure: a block without features."""

    inputs: Inputs  # of the training rows
    n_parameters: int
    knots: Knots  # shared by all its terms
    grouping: Grouping | None = None

    def at(self, theta: Array) -> StructuredTermAt:
        """Its parameters, which the structure needs of all its terms together."""
        return StructuredTermAt(theta, self.grouping)


@dataclass(frozen=True, slots=True)
class StructuredTermAt:
    """A process in a structure, at fixed parameters."""

    theta: Array  # (k,)
    grouping: Grouping | None = None
    size: ClassVar = 0

    def features(self, X: Array, *, slopes: bool = False) -> Features:
        """None, and nothing left of the variance."""
        return Features(np.empty((len(X), 0)), np.zeros(len(X)))

    def mean(self, X: Array, w: Array) -> Array:
        """None."""
        return np.zeros(len(X))

    def backward(self, X: Array, features: Features, G_A: Array, g_d: Array) -> tuple[Array, ...]:
        """No sums are needed."""
        return ()

    def finish(self, sums: Sequence[Array]) -> Array:
        """The structure gives the gradient of all its terms together."""
        return np.zeros_like(self.theta)
