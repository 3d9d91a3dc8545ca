"""What a fit over an input that was measured with errors was made from and found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pandas as pd

from tobitgp.data.arrays import CensoredResponse, Design
from tobitgp.data.design import DesignState
from tobitgp.data.prepare import TrainingData
from tobitgp.data.training_summary import Facts
from tobitgp.formula.spec import GPTerm, ModelSpec
from tobitgp.latent.collapsed_bound import ResponseEnds
from tobitgp.latent.latent_rows import LatentProcesses
from tobitgp.latent.psi_statistics import InputPrior
from tobitgp.latent.uncertain_inputs import InputRows
from tobitgp.likelihoods import Family
from tobitgp.results.views import Source
from tobitgp.typing import Array


@dataclass(frozen=True)
class UncertainParts(Source):
    """A fit over a measured input; its process is of the response and of the input, each less its centre, scaled."""

    spec: ModelSpec
    state: DesignState
    facts: Facts
    family: Family
    processes: LatentProcesses  # one
    centre: float  # of the response
    scale: float
    x_centre: float  # of the input
    x_scale: float
    elbo: float  # of the density on the user's scale
    converged: bool
    elbos: Array  # (starts,), best first, on the user's scale
    iterations: Array  # (starts,)
    ended: Array  # (starts,), 1 where a start converged
    training: TrainingData | None = None
    covariates: pd.DataFrame | None = None

    shapes: ClassVar = {
        "1": "processes.scales.level! processes.scales.sd! processes.scales.sigma! processes.inducing.lengthscale!",
        "inducing 1": "processes.inducing.z!",
        "1 inducing": "processes.posterior.w!",
        "1 inducing inducing": "processes.posterior.B_inverse!",
        "inducing inducing": "processes.posterior.factor!",
        "starts": "elbos! iterations! ended!",
    }

    def inconsistencies(self) -> Iterator[str]:
        """What does not belong together in a fit that was read from a file."""
        yield from super().inconsistencies()
        scales, inducing = self.processes.scales, self.processes.inducing
        positive = (self.scale, self.x_scale, scales.sd, scales.sigma, inducing.lengthscale)
        if not all(np.all(values > 0.0) for values in positive) or not len(self.elbos) or len(scales.sd) != 1:
            yield "its scales make no sense"
        if len(self.spec.gps) != 1 or self.term.se is None:
            yield "its formula has no measured input"

    @property
    def term(self) -> GPTerm:
        """The process."""
        return self.spec.gps[0]

    @property
    def names(self) -> list[str]:
        """Parameters."""
        return ["Intercept", f"sd({self.term.name})", f"lengthscale({self.term.name})", "sigma"]

    @property
    def parameters(self) -> Array:
        """Their values, in the user's units."""
        level, sd, sigma = (float(values[0]) for values in self.processes.scales)
        lengthscale = self.x_scale * float(self.processes.inducing.lengthscale[0])
        return np.array([self.centre + self.scale * level, self.scale * sd, lengthscale, self.scale * sigma])

    @property
    def level(self) -> float:
        """Intercept, in the unit of the response."""
        return float(self.parameters[0])

    @property
    def sigma(self) -> float:
        """Standard deviation of the noise, in the unit of the response."""
        return float(self.parameters[3])

    @property
    def inducing(self) -> int:
        """M."""
        return len(self.processes.inducing.z)

    @property
    def starts(self) -> int:
        """Number of starts."""
        return len(self.elbos)

    def prior(self, design: Design) -> InputPrior:
        """Inputs of rows as they were measured, in standard units."""
        return measured_inputs(design, self.x_centre, self.x_scale)

    def rows_at(self, design: Design) -> InputRows:
        """Rows of the process."""
        return InputRows(self.processes, self.prior(design))

    def standardised(self, response: CensoredResponse) -> ResponseEnds:
        """Observed values and limits of responses, (n, 1), in standard units."""
        return ResponseEnds(*((end[:, None] - self.centre) / self.scale for end in (response.lower, response.upper)))

    def without_rows(self) -> UncertainParts:
        """Parts that answer the same about new rows."""
        return replace(self, training=None, covariates=None)


def measured_inputs(design: Design, centre: float, scale: float) -> InputPrior:
    """Inputs of rows as they were measured, less a centre, divided by a scale."""
    x, se = design.X[0].T
    return InputPrior(((x - centre) / scale)[:, None], (se / scale)[:, None])
