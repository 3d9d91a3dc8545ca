"""Tests between fitted regressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import chdtrc

from tobitgp.errors import SpecError
from tobitgp.results.comparable import check_same_rows, subject_of
from tobitgp.results.contrasts import WaldResults

if TYPE_CHECKING:
    from tobitgp.results.tobit import TobitResults


def likelihood_ratio(whole: TobitResults, part: TobitResults) -> WaldResults:
    """Twice the difference of the log likelihoods; see ``TobitResults.lr_test``."""
    if getattr(part, "evidence_kind", None) != "loglik":
        raise SpecError(f"lr_test() takes a fit of method='mle', not {type(part).__name__}.")
    check_same_rows({"this model": subject_of(whole), "the other": subject_of(part)})
    if whole.parts.family.name != part.parts.family.name:
        raise SpecError(
            f"The families are {whole.parts.family.name} and {part.parts.family.name}: models of different families "
            "are not nested. tg.compare(by='aic') ranks them."
        )
    outside = [name for name in part.params.index if name not in whole.params.index]
    df = int(whole.parts.maximum.free.sum() - part.parts.maximum.free.sum())
    if outside or df < 1:
        words = f"{', '.join(outside)} is not in this one" if outside else f"it has {-df} more free parameters"
        raise SpecError(f"The other model is not nested in this one: {words}. Call lr_test() of the larger one.")
    statistic = 2.0 * (whole.llf - part.llf)
    if not (np.isfinite(statistic) and whole.converged and part.converged):
        raise SpecError("One of the fits has not converged, and its likelihood is no maximum.")
    statistic = max(statistic, 0.0)
    return WaldResults(statistic, df, float(chdtrc(df, statistic)))
