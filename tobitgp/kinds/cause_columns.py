"""Whether the events of a call are a column of competing causes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.errors import FormulaError, SpecError
from tobitgp.formula.competing_risks import Cause, CauseFormula, read_causes
from tobitgp.kinds.call import Call

CENSORED = "censored"


def written_causes(call: Call) -> tuple[Mapping[Cause | None, CauseFormula], pd.DataFrame] | None:
    """Formulas whose event is a column of causes, one for all (None) or one for each, and the data; None of others."""
    formula, data = call.formula, call.data
    by_cause = isinstance(formula, Mapping)
    written = {cause: read_causes(text) for cause, text in (formula if by_cause else {None: formula}).items()}
    shared = {one and (one.times, one.column, one.censored, one.all_seen) for one in written.values()}
    if by_cause and (len(shared) != 1 or None in shared):
        raise FormulaError(
            "formula= by cause must have one formula for each cause, all with the same Surv(time, cause) on the "
            "left-hand side of '~'."
        )
    first = next(iter(written.values()))
    if first is None:
        return None
    if not isinstance(data, pd.DataFrame | Mapping) or first.column not in data:
        if by_cause or first.censored is not None or first.all_seen:
            raise SpecError(f"Competing risks are fitted in memory. Give a DataFrame with a column {first.column!r}.")
        return None
    try:
        frame = pd.DataFrame(data)
        several = holds_causes(frame[first.column]) or first.censored is not None or first.all_seen
    except (TypeError, ValueError, AttributeError):  # no table of columns, which read_rows says in words
        return None
    return (written, frame) if several or by_cause else None  # type: ignore[return-value]


def holds_causes(column: pd.Series[Any]) -> bool:
    """Whether a column of events holds several causes, or one in words next to 'censored'."""
    present = column.dropna().infer_objects()
    if pd.api.types.is_bool_dtype(present) or present.nunique() < 2:
        return False
    if pd.api.types.is_numeric_dtype(present):
        return present.nunique() > 2 and are_codes(present)
    if isinstance(present.dtype, pd.CategoricalDtype) and not (present == present.cat.categories[0]).any():
        return True  # the first category means censored, and no one was
    return present.nunique() > 2 or CENSORED in present.to_numpy(dtype=object)


def are_codes(values: pd.Series[Any]) -> bool:
    """Whether numbers are whole and not negative."""
    numbers = values.to_numpy(dtype=np.float64)
    return bool(((numbers >= 0.0) & (numbers % 1.0 == 0.0)).all())
