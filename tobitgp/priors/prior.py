"""The prior of a model on its training rows: linear columns and processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tobitgp.data.absorbed import Absorbed, Columns, as_dense
from tobitgp.numerics.bordered import CovarianceMatrix, Factored
from tobitgp.priors.kernel_block import GPPrior, all_inputs
from tobitgp.priors.structure import Features, Grouping, Inputs
from tobitgp.typing import Array, IntArray


class LevelColumns(NamedTuple):
    """Linear columns of an absorbed factor: each row has an entry in one at most, that of its group."""

    start: int  # position of the first among the p linear columns
    size: int
    first: int  # group of the first
    grouping: Grouping
    term: int | None = None  # process that has the same groups

    @property
    def groups(self) -> IntArray:
        """Group of each column, (size,)."""
        return self.first + np.arange(self.size)

    def join(self, common: IntArray, own: IntArray) -> IntArray:
        """Values of the other columns and of these in the order of all, (p, ...)."""
        return np.concatenate([common[: self.start], own, common[self.start :]])


@dataclass(frozen=True, slots=True)
class DenseBlock:
    """Columns already multiplied by their prior standard deviations; no parameters."""

    X: Array  # (n, p), the features themselves; (n, 1) of an absorbed factor
    code: IntArray | None = None  # (n,), group of each row
    columns: LevelColumns | None = None  # of an absorbed factor
    n_parameters: ClassVar = 0

    @property
    def inputs(self) -> Inputs:
        """Inputs of the training rows."""
        return Inputs(self.X, self.code)

    @property
    def grouping(self) -> Grouping | None:
        """Groups with separate weights."""
        return None if self.columns is None else self.columns.grouping

    def at(self, theta: Array) -> DenseFeatures:
        """What the columns are without their rows: there is nothing to fix."""
        return DenseFeatures(self.X.shape[1], self.grouping)

    def subset(self, rows: IntArray) -> DenseBlock:
        """The columns on some of the rows."""
        return DenseBlock(*self.inputs.rows(rows), self.columns)


@dataclass(frozen=True, slots=True)
class DenseFeatures:
    """Columns that are features as they are; no residual."""

    size: int  # number of columns
    grouping: Grouping | None = None

    def features(self, X: Array, *, slopes: bool = False) -> Features:
        """The columns themselves."""
        return Features(X, np.zeros(len(X)))

    def mean(self, X: Array, w: Array) -> Array:
        """The columns times a vector."""
        return X @ w

    def backward(self, X: Array, features: Features, G_A: Array, g_d: Array) -> tuple[Array, ...]:
        """No sums are needed."""
        return ()

    def finish(self, sums: Sequence[Array]) -> Array:
        """No parameters, hence an empty gradient."""
        return np.zeros(0)


@dataclass(frozen=True, slots=True)
class LinearPrior:
    """``beta ~ N(mean, T T')`` (FEA3), columns centred where an intercept takes up their means.

    Those of an absorbed factor are not: the mean of every level in every row would be a dense column.
    """

    mean: Array  # (p,), in the user's units
    sd: Array  # (p,), in the user's units; 0 fixes a coefficient
    centre: Array  # (p,), taken from each column; zero without a free intercept, and for the intercept itself
    intercept: int | None  # position of a free intercept with the default prior, whose mean is the response's
    factor: LevelColumns | None = None  # columns of an absorbed factor, independent
    root: Array | None = None  # (c, c), T of the other columns; None where it is diagonal
    constant: Array | None = None  # (p,), sum of columns that is 1 in every row and takes up the response's mean
    cells: bool = False  # whether the absorbed factor's levels are exchangeable, the intercept's among them

    def features(self, H: Array, scale: float) -> Array:
        """Whitened columns (n, p) on the standardised response scale."""
        return (H - self.centre) * (self.sd / scale) if self.root is None else (H - self.centre) @ (self.root / scale)

    def inputs(self, H: Columns, codes: Sequence[IntArray | None], scale: float) -> list[Inputs]:
        """Whitened columns and, of an absorbed factor, its own in each row; codes are the groups of all processes."""
        if not isinstance(H, Absorbed) or self.factor is None:
            return [Inputs(self.features(as_dense(H), scale))]
        (centre, _), (sd, own) = H.split(self.centre), H.split(self.sd)
        code = H.code + self.factor.first if self.factor.term is None else codes[self.factor.term]
        level = (H.value * own[H.code] / scale)[:, None]
        common = H.common - centre
        if self.cells:
            common[:, self.intercept] -= H.value  # rows of the level that the intercept is
        common = common * (sd / scale) if self.root is None else common @ (self.root / scale)
        return [Inputs(common), Inputs(level, code)]

    def coefficients(self, w: Array, shift: float) -> Array:
        """Coefficients (p,) from whitened weights (p,); ``shift`` is the centre of the response."""
        beta = self._uncentre(self.mean + self._coloured(w))
        if self.intercept is not None:
            beta[self.intercept] += shift
        return beta if self.constant is None else beta + shift * self.constant

    def covariance(self, S: CovarianceMatrix) -> CovarianceMatrix:
        """Covariance (p, p) of the coefficients from that of the whitened weights."""
        if isinstance(S, Factored):
            own, common = S.own.copy(), self._common[S.own[self._common] > 0.0]
            own[common] = 0.0
            beside = np.eye(len(own))[:, common] * np.sqrt(S.own[common])
            return Factored(self._uncentre(self._coloured(np.hstack([S.root, beside]))), self.sd**2 * own)
        T = self._uncentre(self._coloured(np.eye(len(self.sd))))
        return T @ S @ T.T

    @property
    def _common(self) -> IntArray:
        """Positions of the columns other than an absorbed factor's."""
        every, own = np.arange(len(self.sd)), self.factor
        return every if own is None else np.delete(every, slice(own.start, own.start + own.size))

    def _coloured(self, w: Array) -> Array:
        """Coefficients of centred columns from whitened weights, (p, ...)."""
        out = (self.sd * w.T).T
        if self.root is not None:
            out[self._common] = self.root @ w[self._common]
        return out

    def _uncentre(self, beta: Array) -> Array:
        """Coefficients of the columns as given from those of the centred ones, (p, ...)."""
        shift = self.centre @ beta
        if self.cells and self.factor is not None:
            beta = beta.copy()
            beta[self.factor.start : self.factor.start + self.factor.size] -= beta[self.intercept]
        if self.constant is not None:
            return beta - np.multiply.outer(self.constant, shift)
        if self.intercept is not None:
            beta = beta.copy()
            beta[self.intercept] -= shift
        return beta


@dataclass(frozen=True, slots=True)
class Prior:
    """All terms of a model on the training rows."""

    linear: DenseBlock | None
    gps: tuple[GPPrior, ...]
    factor: DenseBlock | None = None  # an absorbed factor's columns; the last block
    n_noise: int = 0  # processes of log sigma, the last
    lines: tuple[DenseBlock, ...] = ()  # lines of processes, a column each; the blocks after the processes

    @property
    def noise(self) -> tuple[int, ...]:
        """Blocks of log sigma."""
        end = len(self.gps) + (self.linear is not None)
        return tuple(range(end - self.n_noise, end))

    @property
    def of_mean(self) -> Prior:
        """The terms of the mean."""
        return replace(self, gps=self.gps[: len(self.gps) - self.n_noise], n_noise=0)

    @property
    def n_linear(self) -> int:
        """Number of linear columns."""
        columns = 0 if self.linear is None else self.linear.X.shape[1]
        return columns + (0 if self.factor is None or self.factor.columns is None else self.factor.columns.size)

    @property
    def with_levels(self) -> frozenset[int]:
        """Blocks that hold a level, one of each group where there are groups, as their intercept would."""
        factors = enumerate((gp.covariance.factors for gp in self.of_mean.gps), start=0 if self.linear is None else 1)
        return frozenset(block for block, of in factors if of and all(factor.kernel.stationary for factor in of))

    @property
    def inputs(self) -> list[Inputs]:
        """Inputs of each block in order."""
        return [block.inputs for block in self.with_linear(self.gps)]

    def with_linear(self, processes: Sequence[Any]) -> list[Any]:
        """What stands for the processes and their lines between the linear columns and an absorbed factor's."""
        return [block for block in (self.linear, *processes, *self.lines, self.factor) if block is not None]

    @property
    def moves(self) -> bool:
        """Whether inducing inputs of any term are to be moved to where they tell most."""
        return any(gp.moves for gp in self.gps)

    def automatic(self) -> Prior:
        """The prior with as many inducing inputs as it takes where they are to be moved."""
        gps = (replace(gp, inducing="auto", moves=False) if gp.moves else gp for gp in self.gps)
        return replace(self, gps=tuple(gps))

    def induced_by(self, distinct: Sequence[Array | None]) -> Prior:
        """The prior with distinct inputs (M, d_t) given for processes that all rows induce, None: those at hand."""
        gps = []
        for gp, Z in zip(self.gps, distinct, strict=True):
            gps.append(replace(gp, inducing=all_inputs(gp.inputs.X) if Z is None else Z) if gp.inducing is None else gp)
        return replace(self, gps=tuple(gps))

    def subset(self, rows: IntArray) -> Prior:
        """Return the same terms on some of the rows."""
        linear, factor = (None if block is None else block.subset(rows) for block in (self.linear, self.factor))
        gps, lines = tuple(gp.subset(rows) for gp in self.gps), tuple(line.subset(rows) for line in self.lines)
        return replace(self, linear=linear, gps=gps, factor=factor, lines=lines)
