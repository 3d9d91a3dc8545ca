"""What a fit over latent coordinates was made from and found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pandas as pd

from tobitgp.data.table import column_names
from tobitgp.errors import DataError
from tobitgp.formula.latent import LatentFormula
from tobitgp.formula.parse import parse_formula
from tobitgp.latent.collapsed_bound import ResponseEnds
from tobitgp.latent.latent_rows import LatentProcesses
from tobitgp.latent.psi_statistics import NormalInputs
from tobitgp.results.multivariate.stacked_rows import ends_of, read_responses
from tobitgp.typing import Array, BoolArray, Frame


@dataclass(frozen=True)
class LatentTraining:
    """The rows of a fit, their responses on the user's scale, and their coordinates."""

    index: pd.Index
    ends: ResponseEnds  # (n, D) each
    kept: BoolArray  # (n,), rows of which something is known
    inputs: NormalInputs  # q(X) of the rows kept


@dataclass(frozen=True)
class LatentParts:
    """A fit over latent coordinates; its processes are of responses less ``centre``, divided by ``scale``."""

    spec: LatentFormula
    counts: Mapping[str, int]  # of values, and of rows dropped
    centre: Array  # (D,)
    scale: Array  # (D,)
    processes: LatentProcesses
    elbo: float  # of the density on the user's scale
    converged: bool
    elbos: Array  # (starts,), best first, on the user's scale
    iterations: Array  # (starts,)
    ended: Array  # (starts,), 1 where a start converged
    information: Array  # (Q,), divergence of q from the prior, mean of the rows
    training: LatentTraining | None = None

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

    @property
    def labels(self) -> tuple[str, ...]:
        """Responses as written, (D,)."""
        return self.spec.wide.labels

    @property
    def dimensions(self) -> int:
        """Q."""
        return self.spec.dimensions

    @property
    def inducing(self) -> int:
        """M."""
        return len(self.processes.inducing.z)

    @property
    def starts(self) -> int:
        """Number of starts."""
        return len(self.elbos)

    def without_rows(self) -> LatentParts:
        """Parts that answer the same about new rows."""
        return replace(self, training=None)

    def standardised(self, ends: ResponseEnds) -> ResponseEnds:
        """Ends in the units of the processes."""
        return ResponseEnds(*((end - self.centre) / self.scale for end in ends))

    def read(self, new: Frame) -> tuple[pd.Index, ResponseEnds]:
        """What new rows show of the responses, on their scale; columns may be missing."""
        data = pd.DataFrame(new)
        if not any(self._has(j, data) for j in range(len(self.labels))):
            raise DataError(f"new: none of the responses {', '.join(self.labels)} is in it. Give at least one of them.")
        return data.index, ResponseEnds(*ends_of(read_responses(self.spec.wide, data, new=True), len(data)))

    def _has(self, j: int, data: pd.DataFrame) -> bool:
        variables = parse_formula(self.spec.wide.formulas[j], None, None).variables
        own = {v.name for v in variables if v.role in ("response", "bound", "event")}
        return own <= set(column_names(data))


def latent_counts(ends: ResponseEnds) -> dict[str, int]:
    """How many values are exact and censored, and how many rows have none."""
    lower, upper = (end[ends.known] for end in ends)
    exact = lower == upper
    left, right = np.isneginf(lower) & ~exact, np.isposinf(upper) & ~exact
    counts = {"exact": exact, "left": left, "right": right, "interval": ~(exact | left | right)}
    return {**{name: int(each.sum()) for name, each in counts.items()}, "dropped": int((~ends.known.any(axis=1)).sum())}
