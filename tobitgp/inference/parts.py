"""The rows of a fit in parts, which threads or machines work on side by side.

A part is a value: what a pass finds out of it is a new part beside the old one, so that a part that is lost with its
machine can be made again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tobitgp.data.problem import Rows
from tobitgp.engines import Pieces
from tobitgp.prior.block import Inputs
from tobitgp.typing import Array


@dataclass(frozen=True, slots=True)
class Sites:
    """Natural parameters of the rows' sites, (n,) each."""

    lambda1: Array
    lambda2: Array

    def copy(self) -> Sites:
        """Independent copy."""
        return Sites(self.lambda1.copy(), self.lambda2.copy())

    def plus(self, step: Sites, rho: float) -> Sites:
        """These and ``rho`` times a step."""
        return Sites(self.lambda1 + rho * step.lambda1, self.lambda2 + rho * step.lambda2)


@dataclass(frozen=True, slots=True)
class Part:
    """Some of the rows.

    Attributes
    ----------
    rows : tuple of Rows
        Of one kind each, in the order of kinds; a kind may have none.
    inputs : tuple of Inputs
        Of each block, all kinds after one another.
    sites : Sites or None
        Where to start from; None where nothing is known.
    """

    rows: tuple[Rows, ...]
    inputs: tuple[Inputs, ...]
    sites: Sites | None = None

    def __len__(self) -> int:
        return sum(map(len, self.rows))


@dataclass(frozen=True, slots=True)
class Whole:
    """All rows of a fit.

    Attributes
    ----------
    parts : Pieces of Part
    kinds : tuple of Rows
        A row of every kind that occurs, one that is truncated from above where there are such rows.
    n : int
    weight : float
        Sum of frequency weights.
    warm : bool
        Whether the parts have sites to start from.
    """

    parts: Pieces
    kinds: tuple[Rows, ...]
    n: int
    weight: float
    warm: bool = False


def examples(rows: Sequence[Rows]) -> tuple[Rows, ...]:
    """A row of every kind, one that is truncated from above where there are such rows."""
    found = []
    for kind in rows:
        if len(kind):
            at = 0 if kind.window is None else int(np.argmax(np.isfinite(kind.window.exit)))
            found.append(kind[slice(at, at + 1)])
    return tuple(found)
