"""What a fit with several linear predictors was made from: distributions of times in rows, and their estimates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from tobitgp.data.arrays import Design
from tobitgp.posterior.estimates import Estimates
from tobitgp.results.regression.parts import RegressionParts
from tobitgp.results.survival import Times
from tobitgp.typing import Array, BoolArray


@dataclass(frozen=True, slots=True)
class DistributionalParts(RegressionParts):
    """A fit whose rows have r parameters; those of the estimates stand in the order of their designs."""

    last: float = np.inf  # the longest follow-up

    def designs(self, design: Design) -> list[Array]:
        """Columns (n, k_j) of each parameter of rows."""
        raise NotImplementedError

    def predictors(self, design: Design) -> tuple[Array, ...]:
        """The parameters of rows, (n,) each."""
        raise NotImplementedError

    def units(self, x: tuple[Array, ...]) -> tuple[Array, ...]:
        """Sizes of steps of the parameters."""
        raise NotImplementedError

    def at(self, x: tuple[Array, ...]) -> Any:
        """Distributions of times at values of the parameters."""
        raise NotImplementedError

    @property
    def draw_by_draw(self) -> bool:
        """Whether `at` takes the parameters of one draw at a time."""
        return False

    def possible(self, change: Array) -> BoolArray:
        """Which draws (S,) are of distributions, where the parameters move by ``change`` (k, S)."""
        return np.ones(change.shape[1], dtype=np.bool_)

    def without_rows(self) -> Self:
        """Parts that answer the same about new rows."""
        maximum = replace(self.maximum, scores=None)
        return replace(self, facts=replace(self.facts), maximum=maximum, training=None, covariates=None)


@dataclass(frozen=True, slots=True)
class TimesWithin(Times):
    """Times of rows of which some may never have the event."""

    last: float

    def order(self) -> Array:
        """Mean times up to the longest follow-up: many medians may be infinite."""
        return self.clipped(self.last, None)["mean"]


def estimates_of_rows(
    parts: DistributionalParts, design: Design, *, bands: bool, at: Callable[[tuple[Array, ...]], Any] | None = None
) -> Estimates:
    """Those of the rows of a design and, for ``bands``, their covariance: (CUR4) of the theory pages."""
    x = parts.predictors(design)
    V = N = np.empty((len(x[0]), 0, 0))
    if bands:
        designs = parts.designs(design)
        V, N = (_row_covariance(designs, np.asarray(M)) for M in (parts.covariance, parts.unidentified))
    return Estimates(at or parts.at, x, parts.units(x), V, N)


def _row_covariance(designs: list[Array], V: Array) -> Array:
    """Covariance (n, r, r) of the parameters of rows from that of the estimates (k, k)."""
    ends = np.cumsum([design.shape[1] for design in designs])[:-1]
    out = np.empty((len(designs[0]), len(designs), len(designs)))
    for a, (left, strip) in enumerate(zip(designs, np.split(V, ends), strict=True)):
        for b, (right, block) in enumerate(zip(designs, np.split(strip, ends, axis=1), strict=True)):
            out[:, a, b] = np.einsum("ij,ij->i", left @ block, right)
    return out
