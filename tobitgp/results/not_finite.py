"""The warning about numbers of a result that are not finite: which they are, why, and what to do."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.linear_columns import INTERCEPT
from tobitgp.data.table import MAX_ROWS_NAMED, RowNames
from tobitgp.errors import ApproximationWarning, user_level
from tobitgp.formula.linear_terms import mentions
from tobitgp.results.fit import Fit
from tobitgp.results.rows import Labelled
from tobitgp.results.words import ROBUST
from tobitgp.typing import Array

_LEAST_SD = 0.01  # of a column whose unit does not suit it


def warn_of_rows(values: Array, rows: Labelled, what: str, why: str = "") -> None:
    """Name the usable rows whose values (n,) are not finite numbers, and say why."""
    at = np.flatnonzero(~np.isfinite(values))
    if len(at):
        why = why or "the distribution has no such value there (e.g. no mean), or the value exceeds the largest number"
        named = RowNames(len(at), tuple(map(str, rows.labels[at[:MAX_ROWS_NAMED]])))
        _warn(f"{what} is not finite in {named}: {why}.")


def warn_of_bands(
    results: Fit, question: str, found: Iterable[dict[str, Array]], rows: Labelled, *, of_times: bool = True
) -> None:
    """Name the usable rows with an estimate whose standard error or interval is not finite, and say why.

    Each estimate (n, ...) comes first, before its standard errors and ends. Models of hazards have their own warning
    for times after the last exit, and cure models for infinite times.
    """
    if of_times and results._no_mean and not results._never:
        return
    wrong, unknown = np.zeros(len(rows.labels), dtype=np.bool_), False
    infinite = results._never or results._defective
    for estimate, *others in (each.values() for each in found):
        for values in others:
            lost = np.isnan(values) if infinite else ~np.isfinite(values)
            lost &= np.isfinite(estimate) | (np.isnan(values) & np.isinf(estimate) & (not infinite))
            wrong |= lost.any(axis=tuple(range(1, lost.ndim)))
            unknown |= bool(np.isnan(values[lost]).any())
    at = np.flatnonzero(wrong)
    if len(at):
        named = RowNames(len(at), tuple(map(str, rows.labels[at[:MAX_ROWS_NAMED]])))
        why = _BANDS if unknown else _BEYOND
        _warn(f"{question}: A standard error or an end of the interval is not finite in {named}. {why}")


def warn_of_intervals(results: Fit, question: str, ends: pd.DataFrame) -> None:
    """Name the parameters, or contrasts, with an end of their interval that is not finite, and say why."""
    wrong = ~np.isfinite(ends.to_numpy(dtype=np.float64)).all(axis=1)
    labels = [_label(label) for label in ends.index[wrong]]
    if not labels:
        return
    others = {_label(label) for label in results.params.index} - set(results._testable(None)[1])
    reasons = dict.fromkeys(_OTHERS if label in others else _reason(results, label) for label in labels)
    of = "The interval of {} has" if len(labels) == 1 else "The intervals of {} have"
    _warn(f"{question}: {of.format(_listed(labels))} no finite ends. {' '.join(reasons)}")


def warn_of_ratios(results: Fit, question: str, ratios: pd.DataFrame) -> None:
    """Name the coefficients whose ratios, or the ends of whose intervals, are 0 or infinite, and say why."""
    values = ratios.to_numpy(dtype=np.float64)
    labels = [_label(label) for label in ratios.index[(np.isinf(values) | (values == 0.0)).any(axis=1)]]
    if not labels:
        return
    reasons = dict.fromkeys(_reason(results, label) for label in labels)
    of = "The ratio of {}, or an end of its interval, is" if len(labels) == 1 else "Ratios of {}, or their ends, are"
    _warn(
        f"{question}: {of.format(_listed(labels))} 0 or infinite, outside the range of floating-point "
        f"numbers. {' '.join(reasons)}"
    )


def warn_of_averages(question: str, what: str, numbers: dict[str, Array], labels: Iterable[Any], why: str = "") -> None:
    """Name the averages, or contrasts of averages, of which a number is not finite, and say why."""
    wrong = ~np.isfinite(np.stack(list(numbers.values()))).all(axis=0).ravel()
    named = [_label(label) for label, each in zip(labels, wrong, strict=True) if each]
    if named:
        _warn(f"{question}: what={what!r} is not finite for {_listed(named)}. {why or _AVERAGES[what]}")


NEVER = (
    "the fraction that never has the event exceeds the probability of an event after the quantile. "
    "predict(what='cured') gives the fraction; use an earlier quantile"
)
_BANDS = (
    "The rows do not determine a parameter that it depends on (see conf_int()), or the fit has almost no "
    "probability there. Leave such columns out, join levels, or predict closer to the rows of the fit."
)
_BEYOND = (
    "It exceeds the largest number: the rows contain little information about large values there. Predict "
    "closer to the rows of the fit."
)
_OTHERS = "The rows do not determine the parameter, or it is at its bound. Fix it by fixed=, or use a model without it."
_ROBUST = (
    "A robust covariance has no standard error for a coefficient that is determined by hardly more than one row. Use "
    "cov_type='nonrobust', or join levels."
)
OF_SIGNS = "A ratio requires averages above 0, in every draw. Use scale='difference'."
_AT_TIMES = "An average is 0 there, or a parameter that it depends on has no standard error. Use other times=."
_AVERAGES = {
    "mean": "The mean of some rows is infinite or exceeds the largest number. Use what='median' or what='rmst'.",
    "median": "The averaged survival curve does not fall to one half in every draw, or is almost flat there. Use "
    "what='rmst' or what='survival', with times=.",
    **dict.fromkeys(("survival", "risk", "rmst"), _AT_TIMES),
}


def _reason(results: Fit, label: str) -> str:
    """Why the ratio of a coefficient is not a number, and what to do."""
    if label.startswith(INTERCEPT):
        return "The intercept is the value with all columns at 0, far from these rows. Centre them, e.g. center(x)."
    facts = results.parts.facts
    if not any(mentions(label, name) for name in facts.names):
        return _OTHERS
    spread = {name: each.sd for name, each in facts.columns.items() if each.sd > 0.0 and mentions(label, name)}
    name = min(spread, key=spread.__getitem__, default="")
    if name and spread[name] < _LEAST_SD:
        unit = 10.0 ** round(float(np.log10(spread[name])))
        return (
            f"One unit of {name!r} is {1.0 / spread[name]:.2g} of its standard deviations. Rescale the column, e.g. "
            f"data[{name!r}] / {unit:g}."
        )
    if getattr(results, "cov_type", "") in ROBUST:
        return _ROBUST
    return (
        "The rows hardly determine the coefficient, e.g. because other columns are almost the same or a level has no "
        "event. Leave it out, or join levels."
    )


def _label(label: Any) -> str:
    """A row of a table in words, of several causes as ``z[death]``."""
    return f"{label[-1]}[{label[0]}]" if isinstance(label, tuple) else str(label)


def _listed(labels: Sequence[str]) -> str:
    """The first of some names."""
    shown, more = list(labels[:MAX_ROWS_NAMED]), len(labels) - MAX_ROWS_NAMED
    return ", ".join(shown) + f" and {more} more" * (more > 0)


def _warn(message: str) -> None:
    warnings.warn(message, ApproximationWarning, stacklevel=user_level())
