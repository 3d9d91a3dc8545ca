"""What a process after a power transformation was made from: fits at several powers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pandas as pd

from tobitgp.data.design import DesignState
from tobitgp.data.prepare import TrainingData
from tobitgp.data.training_summary import Facts
from tobitgp.formula.spec import ModelSpec
from tobitgp.likelihoods import Family
from tobitgp.likelihoods.families import BOXCOX
from tobitgp.results.views import Parts, Source
from tobitgp.typing import Array


@dataclass(frozen=True, slots=True)
class BoxCoxGPParts(Source):
    """Fits of the transformed response at each of some powers."""

    spec: ModelSpec
    state: DesignState
    facts: Facts
    fits: tuple[Parts, ...]  # of the transformed response, at every power
    powers: Array  # (K,)
    weights: Array  # (K,), sum to one
    jacobians: Array  # (K,), what each log evidence needs to be that of the response
    best: int  # place of the power with the highest evidence
    se: float  # standard deviation of the power, 0 where it was given
    integrated: float  # log evidence, powers and hyper-parameters integrated out; NaN where these were maximised
    training: TrainingData | None = None
    covariates: pd.DataFrame | None = None

    shapes: ClassVar = {"fits": "powers! weights! jacobians!"}

    def inconsistencies(self) -> Iterator[str]:
        """What does not belong together in a fit that was read from a file."""
        share = (self.weights >= 0.0).all() and math.isclose(self.weights.sum(), 1.0, rel_tol=1e-9)
        if not share or not 0 <= self.best < len(self.fits) or not math.isfinite(self.se):
            yield "the numbers of its powers make no sense"

    @property
    def family(self) -> Family:
        """That of power transformations."""
        return BOXCOX

    @property
    def names(self) -> list[str]:
        """Linear columns, then hyper-parameters."""
        return self.fits[self.best].names

    @property
    def gp(self) -> Any:
        """What was modelled at the power with the highest evidence."""
        return self.fits[self.best].gp

    @property
    def levels(self) -> Sequence[tuple[Array, Array]]:
        """Levels of the processes at the power with the highest evidence."""
        return self.fits[self.best].levels

    def without_rows(self) -> BoxCoxGPParts:
        """Parts that answer the same about new rows."""
        fits = tuple(fit.without_rows() for fit in self.fits)
        return replace(self, fits=fits, facts=replace(self.facts), training=None, covariates=None)
