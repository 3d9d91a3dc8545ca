"""Which hazard ratios a fit of proportional hazards has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tobitgp.errors import SpecError
from tobitgp.formula.hazard_formula import HazardFormula
from tobitgp.results.counterfactuals import column_levels
from tobitgp.results.hazard_ratios import MIDDLE, order_value

if TYPE_CHECKING:
    from tobitgp.results.hazards.hazard_results import HazardResults


def ratios_of_cells(results: HazardResults, alpha: float, terms: Any, at: Any, reference: Any) -> pd.DataFrame:
    """Ratios of columns and processes that do not change over time."""
    parts = results.parts
    known, changing = parts.state.input_names, parts.written.changing
    named = [*(at if at is not None else ()), *(reference or ())]
    for name in named:
        if name not in known:
            raise SpecError(f"{name!r} is no column of this model, which has {', '.join(map(repr, known)) or 'none'}.")
    for name in (*named, *([terms] if isinstance(terms, str) else terms or ())):
        if name in changing:
            raise SpecError(f"The coefficient of {name} changes over time: plot() shows it, and predict_hazard().")
    at, reference = without_strata(parts.written, terms, at, reference)
    usual: dict[str, Any] = {}
    for name in at if at is not None and parts.covariates is not None else ():
        if column_levels(parts, name) is None:
            usual[name] = order_value(results, name, MIDDLE)
    reference = usual | (reference or {})
    return results.cells.hazard_ratios(alpha, terms, at, reference or None)


def without_strata(written: HazardFormula, terms: Any, at: Any, reference: Any) -> tuple[Any, Any]:
    """``at`` and ``reference`` without the stratum, which must be the same: baselines of two differ in shape."""
    if written.stratum is None:
        return at, reference
    stratum, at = written.stratum.strip("`"), None if at is None else dict(at)
    named = {stratum, f"C({stratum})"} & set([terms] if isinstance(terms, str) else terms or ())
    reference = dict(reference or {})
    of_reference = reference.pop(stratum, None)
    of_rows = np.ravel([] if at is None else at.pop(stratum, []))
    if named or any(value != of_reference for value in of_rows):
        raise SpecError(
            f"The strata of {stratum!r} have baselines of their own, whose ratio changes over time: compare "
            "predict_hazard() of two rows. With the same stratum in at= and reference= other columns are compared."
        )
    return at, reference or None
