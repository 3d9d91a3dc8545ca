"""Arguments of lifelines' methods, checked before lifelines reads them, and the table that tg.fit reads.

Durations such as ``pandas.Timedelta`` are days, as in the data of tg.fit.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from functools import wraps
from typing import Any

import numpy as np
import pandas as pd
from lifelines.fitters import UnivariateFitter

from tobitgp.data.table import without_unit
from tobitgp.errors import DataError, SpecError
from tobitgp.method_spelling import read_method
from tobitgp.method_value import spelled
from tobitgp.mixture.methods import MixtureAscent
from tobitgp.results.predict import check_alpha, check_flag
from tobitgp.typing import Array, BoolArray

_TIMES = ("durations", "lower_bound", "upper_bound")
# Which values of a column are wrong, and what to do about them.
_RULES: tuple[tuple[str, Callable[[Array], BoolArray], str], ...] = (
    ("weights", lambda x: x < 0.0, "weights are not negative. Correct or drop them"),
    ("durations", lambda x: x <= 0.0, "times must be positive. Correct or drop them"),
    ("upper_bound", lambda x: x <= 0.0, "times must be positive. Correct or drop them"),
    ("lower_bound", lambda x: x < 0.0, "times must not be negative. Give 0 where there is no lower bound"),
    ("entry", lambda x: x < 0.0, "times must not be negative. Give 0 to subjects observed from the start"),
    ("event_observed", lambda x: (x != 0.0) & (x != 1.0), "use 1 for an event and 0 for none. Recode them"),
)


def checked_fit(method: Callable[..., Any]) -> Callable[..., Any]:
    """A fit method of lifelines whose arguments are checked first, and whose durations are days."""
    signature = inspect.signature(method)

    @wraps(method)
    def checked(*args: Any, **options: Any) -> Any:
        given = signature.bind(*args, **options)
        given.arguments.update(read_arguments(given.arguments))
        return method(*given.args, **given.kwargs)

    checked.__doc__ = f"See ``lifelines.WeibullFitter.{method.__name__}``, which has the same arguments."
    return checked


def checked_curve(method: Callable[..., Any]) -> Callable[..., Any]:
    """A curve of lifelines at times, which are checked first, and whose durations are days."""

    @wraps(method)
    def checked(self: Any, times: Any, label: str | None = None) -> Any:
        return method(self, read_numbers("times", times), label)

    checked.__doc__ = f"See ``lifelines.WeibullFitter.{method.__name__}``, which has the same arguments."
    return checked


def checked_comparison(method: Callable[..., Any]) -> Callable[..., Any]:
    """A comparison of cumulative hazards of lifelines with another fitter, which is checked first."""

    @wraps(method)
    def checked(self: Any, other: Any) -> Any:
        if not isinstance(other, UnivariateFitter):
            raise SpecError(f"other={other!r}: must be a fitter of this package or of lifelines.")
        return method(self, other)

    checked.__doc__ = f"See ``lifelines.WeibullFitter.{method.__name__}``, which has the same arguments."
    return checked


def read_arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of a fit method, durations in days; an error if they are not numbers, or not one for each subject."""
    columns = {name: _numbers(name, given[name]) for name in _TIMES if name in given}
    n = len(next(iter(columns.values())))
    for name in ("event_observed", "entry", "weights"):
        if given.get(name) is not None:
            columns[name] = _numbers(name, given[name])
    for name, values in columns.items():
        if len(values) != n:
            raise DataError(f"{name}=: {len(values)} values for {n} subjects. Give one for each.")
    for name, wrong, words in _RULES:
        if name in columns:
            _refuse(name, columns[name], wrong(columns[name]), words)
    if "lower_bound" in columns:
        low, high = columns["lower_bound"], columns["upper_bound"]
        _refuse("lower_bound", low, low > high, "lower bounds must not exceed upper_bound. Exchange or correct them")
        seen, words = columns.get("event_observed"), "it must be 1 exactly where both bounds are equal. Leave it out"
        if seen is not None:
            _refuse("event_observed", seen, seen != (low == high), words)
    if given.get("timeline") is not None:
        columns["timeline"] = _numbers("timeline", given["timeline"])
    if given.get("alpha") is not None:
        check_alpha(given["alpha"])
    names = given.get("ci_labels")
    if names is not None and (isinstance(names, str) or not isinstance(names, Collection) or len(names) != 2):
        raise SpecError(f"ci_labels={names!r}: ci_labels must be two names, for the lower and the upper limit.")
    check_flag("show_progress", given.get("show_progress", False))
    times = {name: columns[name] for name in (*_TIMES, "entry", "timeline") if name in columns}
    return {**given, **times}


def read_numbers(name: str, values: Any) -> Any:
    """A number or a list of them as given, durations in days."""
    values = without_unit(values)
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.zeros((0, 0))
    if values is None or numbers.ndim > 1:
        raise SpecError(f"{name}={values!r}: must be a number or a list of numbers.")
    return values


def check_method(method: Any, *, mixture: bool) -> None:
    """Raise an error for a method that does not fit mixtures, or that fits them only."""
    chosen = read_method(method)
    if chosen != "auto" and isinstance(chosen, MixtureAscent) is not mixture:
        words = "does not fit mixtures. Use 'vbcm', 'svbcm' or 'em'" if mixture else "fits mixtures only. Leave it out"
        raise SpecError(f"method={spelled(method)}: {words}.")


def _numbers(name: str, values: Any) -> Array:
    """A list of numbers, of which only an upper bound may be infinite."""
    values = without_unit(values)
    if getattr(getattr(values, "dtype", None), "kind", "f") == "M":
        raise DataError(
            f"{name}=: dates are not durations. Subtract the start, or use lifelines.utils.datetimes_to_durations()."
        )
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.zeros(())
    if numbers.ndim != 1 or not len(numbers):
        raise DataError(f"{name}= must be a list of at least one number.")
    wrong = np.isnan(numbers) if name == "upper_bound" else ~np.isfinite(numbers)
    _refuse(name, numbers, wrong, "values must be numbers. Correct or drop these subjects")
    return numbers


def _refuse(name: str, values: Array, wrong: BoolArray, words: str) -> None:
    """Name the first values that are wrong."""
    where = np.flatnonzero(wrong)
    if len(where):
        some = ", ".join(f"{values[i]:g}" for i in where[:5])
        more = f" and {len(where) - 5} more" if len(where) > 5 else ""
        places = ", ".join(map(str, where[:5]))
        found = f"values {some} at positions" if len(where) > 1 else f"value {some} at position"
        raise DataError(f"{name}=: the {found} {places}{more}: {words}.")


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
