"""Residuals and influence of the training rows of a regression."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.outcome import outcome
from tobitgp.errors import SpecError
from tobitgp.numerics.draws import random_points
from tobitgp.regression import maximise, residuals
from tobitgp.regression.deviance import deviance
from tobitgp.regression.influence import dfbeta, dfbetas
from tobitgp.results.regression.parts import TobitParts, known_scale, model_arguments
from tobitgp.results.regression.predict import law_of_rows
from tobitgp.results.rows import ask
from tobitgp.typing import Array

KINDS = ("response", "quantile", "pearson", "deviance", "cox_snell", "martingale")


def tobit_residuals(parts: TobitParts, kind: str, rng: int | np.random.Generator | None) -> pd.Series[float]:
    """Residuals with the index of the training data; see ``TobitResults.residuals``."""
    if kind not in KINDS:
        raise SpecError(f"kind={kind!r} is not offered; choose one of {', '.join(map(repr, KINDS))}.")
    asked = ask(parts)
    rows, _ = law_of_rows(parts, asked.design)
    seen = outcome(parts.rows.response, log_time=parts.family.log_time)
    ends: tuple[Array, Array] = (seen.lower, seen.upper)
    if kind == "response":
        values = residuals.response(rows, *ends)
    elif kind == "pearson":
        values = residuals.pearson(rows, *ends)
    elif kind == "deviance":
        values = deviance(rows, seen)
    elif kind == "quantile":
        uniform = random_points(rng, len(asked.usable))[asked.usable]
        values = residuals.quantile(rows, *ends, uniform, entry=seen.entry, exit=seen.exit)
    else:
        hazard = residuals.cox_snell if kind == "cox_snell" else residuals.martingale
        values = hazard(rows, *ends, entry=seen.entry, exit=seen.exit)
    return pd.Series(asked.spread(values), index=asked.index, name=kind)


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
