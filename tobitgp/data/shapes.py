"""The arrays that leave the data room."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tobitgp.typing import Array, BoolArray, IntArray


@dataclass(frozen=True, slots=True)
class CensoredResponse:
    """What is known of each row's y, in the user's units."""

    lower: Array  # (n,), y lies in (lower, upper]
    upper: Array  # (n,), y lies in (lower, upper]
    limit_lower: Array  # (n,), limits of the instrument, ``-inf`` and ``inf`` where there are none
    limit_upper: Array  # (n,), limits of the instrument, ``-inf`` and ``inf`` where there are none
    entry: Array  # (n,), window outside which the row could not have been seen; ``-inf`` and ``inf`` without truncation
    exit: Array  # (n,), window outside which the row could not have been seen; ``-inf`` and ``inf`` without truncation
    weight: Array  # (n,), frequency weights, > 0

    def rows(self, at: BoolArray | IntArray) -> CensoredResponse:
        """Some of the rows."""
        ends = (self.lower, self.upper, self.limit_lower, self.limit_upper, self.entry, self.exit, self.weight)
        return CensoredResponse(*(end[at] for end in ends))


class Groups(NamedTuple):
    """Group of each row."""

    code: IntArray  # (n,), position among the levels of the training data
    size: int  # number of levels in the training data


@dataclass(frozen=True, slots=True)
class ScaleDesign:
    """Covariates of log sigma in n rows, ``log(sigma) = W gamma + offset``."""

    W: Array  # (n, q)
    columns: tuple[str, ...]  # names of the parameters, ``log(sigma)[z]``
    offset: Array  # (n,)

    def rows(self, at: slice | BoolArray | IntArray) -> ScaleDesign:
        """Some of the rows."""
        return ScaleDesign(self.W[at], self.columns, self.offset[at])


@dataclass(frozen=True, slots=True)
class Design:
    """Covariates of n rows, in the user's units."""

    H: Array  # (n, p), linear design, the intercept among its columns where there is one
    columns: tuple[str, ...]  # formulaic's column names
    X: tuple[Array, ...]  # (n, d_t), inputs of each process; no columns for ``re()``
    offset: Array  # (n,)
    groups: tuple[Groups | None, ...]  # of each process that has ``by=`` or is ``re()``
    scale: ScaleDesign | None = None  # of the noise scale, where it has a formula
    spread: Array | None = None  # (n,), standard deviation of the noise in units of that scale

    def noise(self, sigma: float) -> float | Array:
        """Standard deviation of the noise of every row, or of all."""
        return sigma if self.spread is None else sigma * self.spread

    @property
    def log_noise(self) -> Array:
        """Known part (n,) of log sigma."""
        known = np.zeros(len(self.H)) if self.scale is None else self.scale.offset
        return known if self.spread is None else known + np.log(self.spread)

    def rows(self, at: slice | BoolArray | IntArray) -> Design:
        """Some of the rows."""
        groups = tuple(None if g is None else g._replace(code=g.code[at]) for g in self.groups)
        scale = None if self.scale is None else self.scale.rows(at)
        spread = None if self.spread is None else self.spread[at]
        return Design(self.H[at], self.columns, tuple(X[at] for X in self.X), self.offset[at], groups, scale, spread)
