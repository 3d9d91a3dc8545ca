"""Arguments of lifelines' fit methods, checked before lifelines reads them, and the table that tg.fit reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.errors import DataError, SpecError
from tobitgp.results.predict import check_alpha
from tobitgp.typing import Array

_TIMES = ("durations", "lower_bound", "upper_bound")


def check_arguments(given: Mapping[str, Any]) -> None:
    """Raise an error for arguments of a fit method that are not numbers, or not one for each subject."""
    columns = {name: _numbers(name, given[name]) for name in _TIMES if name in given}
    n = len(next(iter(columns.values())))
    for name in ("event_observed", "entry", "weights"):
        if given.get(name) is not None:
            columns[name] = _numbers(name, given[name])
    for name, values in columns.items():
        if len(values) != n:
            raise DataError(f"{name}=: {len(values)} values for {n} subjects. Give one for each.")
    for name in ("durations", "upper_bound"):
        _refuse(name, columns, lambda x: x <= 0.0, "times must be positive. Correct or drop them")
    _refuse(
        "lower_bound", columns, lambda x: x < 0.0, "times must not be negative. Give 0 where there is no lower bound"
    )
    _refuse(
        "entry", columns, lambda x: x < 0.0, "times must not be negative. Give 0 to subjects observed from the start"
    )
    _refuse(
        "event_observed", columns, lambda x: (x != 0.0) & (x != 1.0), "use 1 for an event and 0 for none. Recode them"
    )
    if "lower_bound" in columns:
        late = columns["lower_bound"] > columns["upper_bound"]
        _refuse(
            "lower_bound", columns, lambda x: late, "lower bounds must not exceed upper_bound. Exchange or correct them"
        )
        exact = columns["lower_bound"] == columns["upper_bound"]
        _refuse(
            "event_observed",
            columns,
            lambda x: x != exact,
            "it must be 1 exactly where both bounds are equal. Leave it out",
        )
    if given.get("timeline") is not None:
        _numbers("timeline", given["timeline"])
    if given.get("alpha") is not None:
        check_alpha(given["alpha"])
    if given.get("ci_labels") is not None and len(given["ci_labels"]) != 2:
        raise SpecError(
            f"ci_labels={given['ci_labels']!r}: ci_labels must be two names, for the lower and the upper limit."
        )


def _numbers(name: str, values: Any) -> Array:
    """A list of numbers, of which only an upper bound may be infinite."""
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.zeros(())
    if numbers.ndim != 1 or not len(numbers):
        raise DataError(f"{name}= must be a list of at least one number.")
    wrong = np.isnan(numbers) if name == "upper_bound" else ~np.isfinite(numbers)
    _refuse(name, {name: numbers}, lambda x: wrong, "values must be numbers. Correct or drop these subjects")
    return numbers


def _refuse(name: str, columns: Mapping[str, Array], wrong: Any, words: str) -> None:
    """Name the first values that are wrong."""
    where = np.flatnonzero(wrong(columns[name])) if name in columns else np.zeros(0, dtype=np.intp)
    if len(where):
        some = ", ".join(f"{columns[name][i]:g}" for i in where[:5])
        more = f" and {len(where) - 5} more" if len(where) > 5 else ""
        raise DataError(f"{name}=: positions {', '.join(map(str, where[:5]))}{more} hold {some}; {words}.")


def table_of(fitter: Any, kind: str) -> tuple[str, pd.DataFrame]:
    """The left-hand side and the window of a formula, with ``{}`` for its right-hand side, and its table."""
    late = bool((fitter.entry > 0.0).any())
    columns = {"entry": fitter.entry, "weight": fitter.weights}
    if kind == "right":
        columns |= {"duration": fitter.durations, "event": fitter.event_observed}
        return f"Surv({'entry, ' * late}duration, event) ~ {{}}", pd.DataFrame(columns)
    if kind == "left":
        seen = fitter.event_observed > 0
        columns |= {"lower": np.where(seen, fitter.durations, 0.0), "upper": fitter.durations}
    else:
        columns |= {"lower": fitter.lower_bound, "upper": fitter.upper_bound}
    window = " | truncate(entry, inf)" if late else ""
    return f"Surv(lower, upper, type='interval2') ~ {{}}{window}", pd.DataFrame(columns)
