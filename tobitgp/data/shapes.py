"""The arrays that leave the data room."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tobitgp.typing import Array, BoolArray, IntArray


@dataclass(frozen=True, slots=True)
class CensoredResponse:
    """What is known of each row's y, in the user's units.

    Attributes
    ----------
    lower, upper : (n,) array
        y lies in (lower, upper]; equal ends mean an exact value, a lower ``-inf`` a left-censored row, an upper
        ``inf`` a right-censored one.
    limit_lower, limit_upper : (n,) array
        Limits of the instrument, ``-inf`` and ``inf`` where there are none; kept on exact rows too. NaN where the
        limits of a row are unknown (``Surv``, ``interval``, flags, limits in text).
    entry, exit : (n,) array
        Window outside which the row could not have been seen; ``-inf`` and ``inf`` without truncation.
    weight : (n,) array
        Frequency weights, > 0.
    """

    lower: Array
    upper: Array
    limit_lower: Array
    limit_upper: Array
    entry: Array
    exit: Array
    weight: Array

    def rows(self, at: BoolArray | IntArray) -> CensoredResponse:
        """Some of the rows."""
        ends = (self.lower, self.upper, self.limit_lower, self.limit_upper, self.entry, self.exit, self.weight)
        return CensoredResponse(*(end[at] for end in ends))


class Groups(NamedTuple):
    """Group of each row.

    Attributes
    ----------
    code : (n,) integer array
        Position among the levels of the training data; -1, -2, ... for the levels that were not among them.
    size : int
        Number of levels in the training data.
    """

    code: IntArray
    size: int


@dataclass(frozen=True, slots=True)
class ScaleDesign:
    """Covariates of log sigma in n rows, ``log(sigma) = W gamma + offset``.

    Attributes
    ----------
    W : (n, q) array
    columns : tuple of str, length q
        Names of the parameters, ``log(sigma)[z]``.
    offset : (n,) array
    """

    W: Array
    columns: tuple[str, ...]
    offset: Array

    def rows(self, at: BoolArray | IntArray) -> ScaleDesign:
        """Some of the rows."""
        return ScaleDesign(self.W[at], self.columns, self.offset[at])


@dataclass(frozen=True, slots=True)
class Design:
    """Covariates of n rows, in the user's units.

    Attributes
    ----------
    H : (n, p) array
        Linear design, the intercept among its columns where there is one.
    columns : tuple of str, length p
        formulaic's column names.
    X : tuple of (n, d_t) arrays
        Inputs of each process; no columns for ``re()``.
    offset : (n,) array
    groups : tuple of Groups or None
        Of each process that has ``by=`` or is ``re()``.
    scale : ScaleDesign or None
        Of the noise scale, where it has a formula.
    spread : (n,) array or None
        Standard deviation of the noise in units of that scale, where ``var_weights`` make rows differ.
    """

    H: Array
    columns: tuple[str, ...]
    X: tuple[Array, ...]
    offset: Array
    groups: tuple[Groups | None, ...]
    scale: ScaleDesign | None = None
    spread: Array | None = None

    def noise(self, sigma: float) -> float | Array:
        """Standard deviation of the noise of every row, or of all."""
        return sigma if self.spread is None else sigma * self.spread

    @property
    def log_noise(self) -> Array:
        """Known part (n,) of log sigma."""
        known = np.zeros(len(self.H)) if self.scale is None else self.scale.offset
        return known if self.spread is None else known + np.log(self.spread)

    def rows(self, at: BoolArray | IntArray) -> Design:
        """Some of the rows."""
        groups = tuple(None if g is None else g._replace(code=g.code[at]) for g in self.groups)
        scale = None if self.scale is None else self.scale.rows(at)
        spread = None if self.spread is None else self.spread[at]
        return Design(self.H[at], self.columns, tuple(X[at] for X in self.X), self.offset[at], groups, scale, spread)
