"""Influence of the training rows of a regression on its estimates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.outcome import outcome
from tobitgp.errors import SpecError
from tobitgp.regression import maximise
from tobitgp.regression.influence import dfbeta, dfbetas
from tobitgp.results.regression.parts import TobitParts, known_scale, model_arguments
from tobitgp.results.rows import ask


def influence_table(parts: TobitParts, *, scaled: bool) -> pd.DataFrame:
    """Approximate changes of the estimates by each row; see ``TobitResults.influence``."""
    asked, maximum = ask(parts), parts.maximum
    design, p = asked.design, len(parts.columns)
    again = maximise(
        outcome(parts.rows.response, log_time=parts.family.log_time),
        design.H,
        fixed_coefficients=np.where(maximum.free[:p], np.nan, parts.coefficients),
        fixed_gamma=known_scale(parts),
        scores=True,
        **model_arguments(design, parts.family),
    )
    if again.scores is None or not again.converged:
        raise SpecError("The fit has not converged, so that the influence of rows on it has no meaning.")
    change: Any = dfbeta(again.scores, again.inverse_information, parts.rows.response.weight)
    if scaled:
        change = dfbetas(change, again.inverse_information)
    names = [f"log({name})" if name in ("sigma", "df") else name for name in parts.names]
    return pd.DataFrame(asked.spread(change), index=asked.index, columns=names)
