"""The parts of a fit of competing risks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from tobitgp.data.arrays import CensoredResponse
from tobitgp.data.design import DesignState
from tobitgp.data.prepare import TrainingData
from tobitgp.data.training_summary import Facts
from tobitgp.formula.competing_risks import Cause
from tobitgp.formula.spec import ModelSpec
from tobitgp.results.fit import Fit
from tobitgp.results.views import Source
from tobitgp.typing import Array, BoolArray, IntArray


@dataclass(frozen=True, slots=True)
class SeenCauses:
    """Rows that every cause's fit has used, or knows."""

    time: Array  # (n,), ends of follow-up
    entry: Array  # (n,), -inf where a row was at risk from the start
    weight: Array  # (n,)
    code: IntArray  # (n,), the cause of the event, from 1 on; 0 of a censored row
    kept: BoolArray  # (n_data,), rows of the data that these are

    @property
    def response(self) -> CensoredResponse:
        """Times of events of any cause, with their censoring."""
        none = np.full(len(self.time), np.inf)
        return CensoredResponse(
            self.time, np.where(self.code > 0, self.time, np.inf), -none, none, self.entry, none, self.weight
        )

    @classmethod
    def of(cls, fits: Sequence[Any]) -> SeenCauses:
        """From the rows that the models of all causes have, ``kept`` among those of the data, and ``response``."""
        n, kept = len(fits[0].kept), np.logical_and.reduce([fit.kept for fit in fits])
        code = np.zeros(n, dtype=np.intp)
        for k, fit in enumerate(fits, 1):
            code[np.flatnonzero(fit.kept)[fit.response.lower == fit.response.upper]] = k
        response, among = fits[0].response, kept[fits[0].kept]
        return cls(response.lower[among], response.entry[among], response.weight[among], code[kept], kept)


class RowsOfCause(NamedTuple):
    """Rows of which the model of a cause knows something."""

    kept: BoolArray  # (n_data,)
    response: CensoredResponse


@dataclass(frozen=True)
class CompetingParts(Source):
    """Fits of the causes, each of which takes the others for censoring; as a source, of the first event of any."""

    formulas: tuple[str, ...]  # as written, one for all causes or one for each
    column: str  # of the causes
    censored: Cause | None  # its value where no event was seen, None where one was seen in every row
    fits: Mapping[Cause, Fit]
    counts: pd.Series[int]  # of rows with each cause, censored and dropped
    seen: SeenCauses | None = None

    derived: ClassVar = True

    @property
    def of_subjects(self) -> bool:
        """Whether rows are parts of the time of subjects."""
        return any(fit._of_subjects for fit in self.fits.values())

    @property
    def subject_weight(self) -> float:
        """Total frequency weight of the subjects; 0 if rows are independent."""
        return float(getattr(next(iter(self.fits.values())).parts, "subject_weight", 0.0))

    @property
    def read_in_words(self) -> str:
        """Text that describes the data read."""
        censored = self.censored
        words = "none censored" if censored is None else f"censored where it is {censored!r}"
        return f"{len(self.fits)} causes of {self.column!r}, {words}"

    def inconsistencies(self) -> Iterator[str]:
        """Inconsistent parts of a fit that was read from a file."""
        kept = len(self.counts) == len(self.fits) + 2 and list(self.counts.index[:-2]) == list(self.fits)
        if not kept or len(self.fits) < 2 or not self.formulas or not (self.counts >= 0).all():
            yield "the parts of its causes do not belong together"

    @property
    def _first(self) -> Any:
        return next(iter(self.fits.values())).parts

    @cached_property
    def spec(self) -> ModelSpec:  # type: ignore[override]
        """Specification of the first cause, under the formula as written."""
        return replace(self._first.spec, formula="\n".join(self.formulas))

    @property
    def state(self) -> DesignState:  # type: ignore[override]
        """State of the first cause."""
        state: DesignState = self._first.state
        return state

    @cached_property
    def family(self) -> CauseFamilies:
        """Families of the causes."""
        return CauseFamilies(", ".join(dict.fromkeys(fit._family_in_words for fit in self.fits.values())))

    @property
    def names(self) -> list[str]:
        """Parameters of all causes, as ``sigma[death]``."""
        return [f"{name}[{cause}]" for cause, fit in self.fits.items() for name in fit._names]

    @cached_property
    def facts(self) -> Facts:  # type: ignore[override]
        """Facts about the rows that all causes use."""
        every = [fit.parts.facts for fit in self.fits.values()]
        dropped, censored = int(self.counts["dropped"]), int(self.counts["censored"])
        n = int(self.counts.sum()) - dropped
        counts = {"exact": n - censored, "left": 0, "right": censored, "interval": 0, "dropped": dropped}
        columns: dict[str, Any] = {}
        for one in every:
            columns = one.columns | columns
        names = tuple(dict.fromkeys(name for one in every for name in one.names))
        return replace(every[0], n=n, counts=counts, any_censored=censored > 0, names=names, columns=columns)

    @cached_property
    def training(self) -> TrainingData | None:  # type: ignore[override]
        """Rows that all causes use, with what is known about the first event."""
        of = self._first.training
        if self.seen is None or of is None:
            return None
        among, counts = self.seen.kept[of.kept], self.facts.counts
        design = of.design.rows(among)
        return replace(of, response=self.seen.response, design=design, kept=self.seen.kept, counts=counts)

    @cached_property
    def covariates(self) -> pd.DataFrame | None:  # type: ignore[override]
        """Columns of all causes, of the rows that all use."""
        frames = [(fit.parts.covariates, fit.parts.training) for fit in self.fits.values()]
        if self.seen is None or any(frame is None or rows is None for frame, rows in frames):
            return None
        kept = [frame.loc[self.seen.kept[rows.kept]] for frame, rows in frames]
        joined = pd.concat(kept, axis=1)
        return joined.loc[:, ~joined.columns.duplicated()]

    def among(self, cause: Cause) -> BoolArray:
        """Which of the rows that a cause uses are used by all, (n_k,)."""
        assert self.seen is not None
        kept: BoolArray = self.seen.kept[self.fits[cause].parts.rows.kept]
        return kept

    def without_rows(self) -> CompetingParts:
        """Parts without the rows of all causes; the fit of each is written without its own."""
        return replace(self, seen=None)


@dataclass(frozen=True, slots=True)
class CauseFamilies:
    """Properties of the families of several causes that tables and figures use."""

    name: str
    log_time = True
    estimate_shape = False
    support = "positive"
