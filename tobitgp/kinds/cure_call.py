"""Calls of mixture cure models: ``cure=``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from tobitgp.errors import SpecError
from tobitgp.kinds.call import Call, Rows, read_rows
from tobitgp.kinds.cure import fit_cure
from tobitgp.kinds.kind import NO_POSTERIOR, Kind, fit_maximum
from tobitgp.options import FitOptions, refuse_with_mle
from tobitgp.results.likelihood.cure_results import CureResults

if TYPE_CHECKING:
    from tobitgp.kinds.process import Evidence


class Cure(Kind):
    """Times of events that some rows never have."""

    has_posterior = False

    def read(self, call: Call) -> Rows:
        return read_rows(call).gathered()

    def maximum(self, rows: Rows, asked: FitOptions) -> Any:
        refuse_with_mle(asked)
        return fit_maximum(rows, asked, CureResults, partial(fit_cure, rows.in_memory), fixed=asked.fixed)

    def posterior(self, rows: Rows, asked: FitOptions) -> Any:
        raise SpecError(f"cure= requires maximum likelihood, {NO_POSTERIOR}")

    def evidence(self, rows: Any, params: Mapping[str, float], *, method: Any, **options: Any) -> Evidence:
        raise SpecError("cure= requires maximum likelihood, which has no evidence.")
