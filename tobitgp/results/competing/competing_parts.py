"""What a fit of competing risks was made from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.arrays import CensoredResponse
from tobitgp.formula.competing_risks import Cause
from tobitgp.results.results import Results
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
        """What is known of the times of events of any cause."""
        none = np.full(len(self.time), np.inf)
        return CensoredResponse(
            self.time, np.where(self.code > 0, self.time, np.inf), -none, none, self.entry, none, self.weight
        )

    @classmethod
    def of(cls, fits: list[Any]) -> SeenCauses:
        """From the rows that the models of all causes have, ``kept`` among those of the data, and ``response``."""
        n, kept = len(fits[0].kept), np.logical_and.reduce([fit.kept for fit in fits])
        code = np.zeros(n, dtype=np.intp)
        for k, fit in enumerate(fits, 1):
            code[np.flatnonzero(fit.kept)[fit.response.lower == fit.response.upper]] = k
        response, among = fits[0].response, kept[fits[0].kept]
        return cls(response.lower[among], response.entry[among], response.weight[among], code[kept], kept)


@dataclass(frozen=True, slots=True)
class CompetingParts:
    """Fits of the causes, each of which takes the others for censoring."""

    formulas: tuple[str, ...]  # as written, one for all causes or one for each
    column: str  # of the causes
    censored: Cause | None  # its value where no event was seen, None where one was seen in every row
    fits: Mapping[Cause, Results]
    counts: pd.Series[int]  # of rows with each cause, censored and dropped
    seen: SeenCauses | None = None

    def inconsistencies(self) -> Iterator[str]:
        """What does not belong together in a fit that was read from a file."""
        kept = len(self.counts) == len(self.fits) + 2 and list(self.counts.index[:-2]) == list(self.fits)
        if not kept or len(self.fits) < 2 or not self.formulas or not (self.counts >= 0).all():
            yield "the parts of its causes do not belong together"

    def without_rows(self) -> CompetingParts:
        """Parts without the rows of all causes; the fit of each is written without its own."""
        return replace(self, seen=None)
