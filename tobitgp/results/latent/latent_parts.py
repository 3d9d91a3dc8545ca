"""What a fit over latent coordinates was made from and found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import pandas as pd

from tobitgp.data.design import DesignState
from tobitgp.data.prepare import TrainingData
from tobitgp.data.training_summary import Facts
from tobitgp.formula.mvbind import Wide
from tobitgp.formula.spec import ModelSpec
from tobitgp.formula.unknown_inputs import LatentFormula
from tobitgp.latent.collapsed_bound import ResponseEnds
from tobitgp.latent.latent_rows import LatentProcesses
from tobitgp.likelihoods import Family, resolve_family
from tobitgp.results.latent.coordinates import CoordinateState, RowCoordinates
from tobitgp.results.multivariate.multivariate_parts import (
    ResponseRows,
    ResponsesTogether,
    SeveralSpec,
    learn_alone,
    spec_fields,
)
from tobitgp.results.multivariate.response_view import Learned
from tobitgp.results.views import Source
from tobitgp.typing import Array

PARAMETERS = ("Intercept", "sd", "sigma")  # of each response


@dataclass(frozen=True)
class LatentResponse(Source):
    """One response over latent coordinates."""

    spec: ModelSpec
    state: CoordinateState
    facts: Facts
    family: Family
    training: TrainingData | None = None
    covariates: pd.DataFrame | None = None

    names: ClassVar = list(PARAMETERS)

    @property
    def sigma(self) -> float:
        """Standard deviation of the noise, in the unit of the response."""
        coordinates, j = self.state.coordinates, self.state.response
        return float(coordinates.scale[j] * coordinates.processes.scales.sigma[j])

    def without_rows(self) -> LatentResponse:
        """Parts that answer the same about new rows."""
        return replace(self, training=None, covariates=None)


@dataclass(frozen=True)
class LatentParts(ResponsesTogether):
    """A fit over latent coordinates; its processes are of responses less ``centre``, divided by ``scale``."""

    over: LatentFormula
    centre: Array  # (D,)
    scale: Array  # (D,)
    processes: LatentProcesses
    elbo: float  # of the density on the user's scale
    converged: bool
    elbos: Array  # (starts,), best first, on the user's scale
    iterations: Array  # (starts,)
    ended: Array  # (starts,), 1 where a start converged
    information: Array  # (Q,), divergence of q from the prior, mean of the rows
    dropped: int  # rows of which nothing is known
    learned: tuple[Learned, ...]  # (D,)
    facts_of_each: tuple[Facts, ...]  # (D,), what is remembered of the rows of each response
    read: ResponseRows | None = None  # the rows of the fit; none where it comes from a file

    shapes: ClassVar = {
        "labels": "centre! scale! processes.scales.level! processes.scales.sd! processes.scales.sigma!",
        "dimensions": "processes.inducing.lengthscale! information!",
        "* dimensions": "processes.inducing.z!",
        "labels inducing": "processes.posterior.w!",
        "labels inducing inducing": "processes.posterior.B_inverse!",
        "inducing inducing": "processes.posterior.factor!",
        "starts": "elbos! iterations! ended!",
    }

    def inconsistencies(self) -> Iterator[str]:
        """What does not belong together in a fit that was read from a file."""
        scales, inducing = self.processes.scales, self.processes.inducing
        positive = (self.scale, scales.sd, scales.sigma, inducing.lengthscale)
        if not all((values > 0.0).all() for values in positive) or not len(self.elbos):
            yield "its scales make no sense"
        if not len(self.labels) == len(self.learned) == len(self.facts_of_each) or self.dropped < 0:
            yield "the parts of its responses do not belong together"

    @property
    def wide(self) -> Wide:
        """The responses and their limits."""
        return self.over.wide

    @property
    def spec(self) -> SeveralSpec:  # type: ignore[override]
        """The formula, and that of each response."""
        return latent_spec(self.over, tuple(one.spec for one in self.responses))

    @property
    def family(self) -> Family:
        """The noise of every response."""
        return gaussian()

    @property
    def names(self) -> list[str]:
        """Parameters of the responses, and length-scales of the dimensions."""
        own = [f"{name}[{y}]" for name in PARAMETERS for y in self.labels]
        return [*own, *(f"lengthscale[{q}]" for q in range(1, self.dimensions + 1))]

    @property
    def parameters(self) -> Array:
        """Their values, in the units of the responses."""
        scales = self.processes.scales
        own = (self.centre + self.scale * scales.level, self.scale * scales.sd, self.scale * scales.sigma)
        return np.concatenate([*own, self.processes.inducing.lengthscale])

    @property
    def dimensions(self) -> int:
        """Q."""
        return self.over.dimensions

    @property
    def inducing(self) -> int:
        """M."""
        return len(self.processes.inducing.z)

    @property
    def starts(self) -> int:
        """Number of starts."""
        return len(self.elbos)

    @cached_property
    def coordinates(self) -> RowCoordinates:
        """How rows get their coordinates."""
        return RowCoordinates(self.over, self.processes, self.centre, self.scale)

    @cached_property
    def responses(self) -> tuple[LatentResponse, ...]:
        """Each response by itself, (D,)."""
        known = enumerate(zip(self.facts_of_each, self.learned, strict=True))
        return tuple(self._response(j, facts, learned) for j, (facts, learned) in known)

    def _response(self, j: int, facts: Facts, learned: Learned) -> LatentResponse:
        spec, own = learn_alone(self.wide.formulas[j], learned)
        kept = {field.name: getattr(own, field.name) for field in fields(DesignState)}
        state = CoordinateState(**kept, coordinates=self.coordinates, response=j)
        found = LatentResponse(spec, state, facts, self.family)
        if self.read is None:
            return found
        at = self.read.seen[j].rows
        design = state.design(ResponseEnds(*(end[at] for end in self.read.ends)))
        training = self.read.training(j, state, design)
        return replace(found, training=training, covariates=pd.DataFrame(index=training.index[training.kept]))

    def without_rows(self) -> LatentParts:
        """Parts that answer the same about new rows."""
        return replace(self, read=None)


def latent_spec(over: LatentFormula, each: tuple[ModelSpec, ...]) -> SeveralSpec:
    """The formula over latent coordinates, and that of each response by itself."""
    return SeveralSpec(**spec_fields(over.wide, each) | {"formula": over.formula}, over=over)


def gaussian() -> Family:
    """The family of the noise."""
    found = resolve_family("gaussian")
    assert isinstance(found, Family)
    return found
