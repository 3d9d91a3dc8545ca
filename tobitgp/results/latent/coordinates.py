"""How rows get their coordinates from responses, and how one response depends on them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from tobitgp.data.arrays import Design
from tobitgp.data.design import DesignState
from tobitgp.data.table import column_names
from tobitgp.errors import DataError
from tobitgp.formula.parse import parse_formula
from tobitgp.formula.unknown_inputs import LatentFormula
from tobitgp.latent.collapsed_bound import ResponseEnds
from tobitgp.latent.latent_rows import LatentProcesses
from tobitgp.latent.weighted_points import WeightedPoints
from tobitgp.results.multivariate.stacked_rows import ends_of, read_responses
from tobitgp.typing import Array, BoolArray, Frame

NOTHING = ResponseEnds(np.zeros((0, 1)), np.zeros((0, 1)))


@dataclass(frozen=True)
class RowCoordinates:
    """The processes over coordinates, of responses less ``centre``, divided by ``scale``."""

    formula: LatentFormula
    processes: LatentProcesses
    centre: Array  # (D,)
    scale: Array  # (D,)
    found: dict[bytes, WeightedPoints] = field(
        default_factory=dict, compare=False, repr=False
    )  # last, by what was known

    def read(self, new: Frame) -> ResponseEnds:
        """What rows show of the responses, (n, D), on their scale; columns may be missing."""
        data, wide = pd.DataFrame(new), self.formula.wide
        if not any(self._has(j, data) for j in range(len(wide.labels))):
            listed = ", ".join(wide.labels)
            raise DataError(f"new= contains none of the responses {listed}. Give at least one of them.")
        return ResponseEnds(*ends_of(read_responses(wide, data, new=True), len(data)))

    def standardised(self, ends: ResponseEnds) -> ResponseEnds:
        """Ends in units of the processes."""
        return ResponseEnds(*((end - self.centre) / self.scale for end in ends))

    def _has(self, j: int, data: pd.DataFrame) -> bool:
        variables = parse_formula(self.formula.wide.formulas[j], None, None).variables
        own = {v.name for v in variables if v.role in ("response", "bound", "event")}
        return own <= set(column_names(data))

    def points(self, known: ResponseEnds) -> WeightedPoints:
        """Coordinates of rows, kept for the next questions about these rows."""
        key = b"".join(end.tobytes() for end in known)
        if key not in self.found:
            while len(self.found) > 2 * len(self.scale):
                self.found.pop(next(iter(self.found)))
            self.found[key] = self.processes.located(self.standardised(known))
        return self.found[key]

    def moments(self, design: Design) -> tuple[Array, Array]:
        """Mean and standard deviation of a response without noise in rows, (n,), on its scale."""
        assert isinstance(design, CoordinateDesign)
        j = design.response
        mean, var = self.processes.moments(self.points(design.known))
        return self.centre[j] + self.scale[j] * mean[:, j], self.scale[j] * np.sqrt(var[:, j])


@dataclass(frozen=True, slots=True)
class CoordinateDesign(Design):
    """Rows of one response, whose coordinates follow from the observed values of all responses."""

    ends: ResponseEnds = NOTHING  # (n, D)
    response: int = 0
    judged: bool = False  # whether the value of this response itself is left out

    @property
    def known(self) -> ResponseEnds:
        """What the coordinates follow from, (n, D)."""
        if not self.judged:
            return self.ends
        lower, upper = (end.copy() for end in self.ends)
        lower[:, self.response] = upper[:, self.response] = np.nan
        return ResponseEnds(lower, upper)

    def by_the_others(self) -> CoordinateDesign:
        """The same rows, judged by their other responses."""
        return replace(self, judged=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinateState(DesignState):
    """How rows of one response are made from new data."""

    coordinates: RowCoordinates
    response: int

    def replay(self, new_data: Frame) -> tuple[Design, BoolArray]:
        """Rows of which something is known, and which these are, (n_new,)."""
        ends = self.coordinates.read(new_data)
        usable = np.asarray(ends.known.any(axis=1))
        return self.design(ResponseEnds(*(end[usable] for end in ends))), usable

    def design(self, ends: ResponseEnds) -> CoordinateDesign:
        """Rows with ends (n, D) of the responses."""
        n = len(ends.lower)
        return CoordinateDesign(
            H=np.ones((n, 1)),
            columns=self.linear.columns,
            X=(),
            offset=np.zeros(n),
            groups=(),
            ends=ends,
            response=self.response,
        )
