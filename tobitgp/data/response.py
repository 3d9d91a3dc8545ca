"""Response and censoring of each row, from whatever way they were written."""

from __future__ import annotations

import warnings
from typing import Literal

import numpy as np

from tobitgp.data.evaluate import bare_column, evaluate, finite
from tobitgp.data.shapes import CensoredResponse
from tobitgp.data.table import Table
from tobitgp.errors import DataError, SpecError
from tobitgp.formula.spec import Expression, ModelSpec
from tobitgp.typing import Array, BoolArray, IntArray

Censored = Literal["model", "drop", "ignore"]


def build_response(
    spec: ModelSpec, table: Table, weight: Array, *, censored: Censored = "model"
) -> tuple[CensoredResponse, IntArray]:
    """Say what is known of y in every row.

    Parameters
    ----------
    spec : ModelSpec
    table : Table
        Rows without missing values in the response.
    weight : (n,) array
    censored : {"model", "drop", "ignore"}
        With ``"ignore"`` censored rows are exact at their limit; ``"drop"`` is the caller's affair.

    Returns
    -------
    response : CensoredResponse
    kind : (n,) array of int
        -1 on left-censored rows, 1 on right-censored, 0 on exact.

    Raises
    ------
    DataError
        For values, limits or event indicators that make no sense, naming the first rows.
    """
    y = _read_value(spec, table)
    event = spec.response.event or (spec.censoring.event if spec.censoring else None)
    if event is not None:
        exact = _read_event(event, spec, table)
        kind = np.where(exact, 0, 1).astype(np.intp)
        limit_lower, limit_upper = np.full(table.n, np.nan), np.full(table.n, np.nan)
    else:
        limit_lower, limit_upper = read_limits(spec, table)
        kind = _classify(y, limit_lower, limit_upper, table)
        y = np.where(kind < 0, limit_lower, np.where(kind > 0, limit_upper, y))
    lower, upper = y.copy(), y.copy()
    if censored != "ignore":
        lower[kind < 0], upper[kind > 0] = -np.inf, np.inf
    entry, leave = np.full(table.n, -np.inf), np.full(table.n, np.inf)
    return CensoredResponse(lower, upper, limit_lower, limit_upper, entry, leave, weight), kind


def read_limits(spec: ModelSpec, table: Table) -> tuple[Array, Array]:
    """Limits of the instrument in every row.

    Parameters
    ----------
    spec : ModelSpec
    table : Table
        With the columns of the limits.

    Returns
    -------
    lower, upper : (n,) array
        ``-inf`` and ``inf`` where there is no limit.

    Raises
    ------
    SpecError
        If the model only knows which rows were censored, not at which limits the others would have been.
    DataError
        If a limit is NaN, a lower one is ``inf``, an upper one ``-inf``, or the lower is not below the upper.
    """
    if spec.response.kind == "surv" or (spec.censoring is not None and spec.censoring.event is not None):
        raise SpecError(
            "The limits are unknown: Surv() and censor(event=) say which rows were censored, not where the others "
            "would have been; write censor(lower, upper) with the limits of each row"
        )
    given = (spec.censoring.lower, spec.censoring.upper) if spec.censoring else (None, None)
    lower, upper = (
        _read_limit(limit, side, absent, table)
        for limit, side, absent in zip(given, ("lower", "upper"), (-np.inf, np.inf), strict=True)
    )
    if given[0] is not None and given[1] is not None:
        _check_order(lower, upper, table)
    return lower, upper


def _read_value(spec: ModelSpec, table: Table) -> Array:
    """Evaluate the response: finite, and not negative where it is a time."""
    text = spec.response.value.text
    column = bare_column(spec.response.value, table)
    if column is not None and column.boolean:
        raise DataError(f"The response {column.name!r} holds True and False; a number is needed")
    y = finite(evaluate(spec.response.value, table), table, f"The response {text}")
    if spec.response.kind == "surv" and (y < 0).any():
        raise DataError(f"The time {text} is negative in {table.rows(y < 0)}")
    return y


def _read_event(event: Expression, spec: ModelSpec, table: Table) -> BoolArray:
    """Find the rows in which the value was seen."""
    for name in spec.names("event"):
        missing = table.columns[name].missing
        if missing.any():
            raise DataError(
                f"The event column {name!r} is missing in {table.rows(missing)}; it must be 0 or 1 everywhere"
            )
    column = bare_column(event, table)
    how = f"Surv({spec.response.value.text}, " if spec.response.kind == "surv" else "censor(event="
    if column is not None and column.levels is not None:
        listed = ", ".join(repr(level) for level in column.levels[:6])
        remedy = f"say which value is an event, as in {how}{event.text} == {column.levels[-1]!r})"
        raise DataError(f"The event column {column.name!r} must hold 0 and 1 or False and True, not {listed}; {remedy}")
    values = evaluate(event, table)
    wrong = (values != 0) & (values != 1)
    if wrong.any():
        listed = ", ".join(f"{value:g}" for value in np.unique(values)[:6])
        place = table.rows(wrong)
        remedy = f"say which value is an event, as in {how}{event.text} == {values.max():g})"
        raise DataError(f"The event {event.text} must be 0 or 1, but holds {listed} (see {place}); {remedy}")
    return np.equal(values, 1.0)


def _read_limit(limit: Expression | None, side: str, absent: float, table: Table) -> Array:
    if limit is None:
        return np.full(table.n, absent)
    values = evaluate(limit, table)
    wrong = np.isnan(values)
    if wrong.any():
        place = table.rows(wrong)
        raise DataError(f"The {side} limit {limit.text} is missing in {place}; write {absent} where there is no limit")
    wrong = values == -absent
    if wrong.any():
        raise DataError(
            f"The {side} limit {limit.text} is {-absent} in {table.rows(wrong)}; no {side} limit is {absent}"
        )
    return values


def _check_order(lower: Array, upper: Array, table: Table) -> None:
    for wrong, words in ((lower > upper, "above"), (lower == upper, "equal to")):
        if wrong.any():
            pairs = zip(lower[wrong][:3], upper[wrong][:3], strict=True)
            shown = "; ".join(f"{low:g} and {up:g}" for low, up in pairs)
            raise DataError(f"The lower limit is {words} the upper limit in {table.rows(wrong)} ({shown})")


def _classify(y: Array, lower: Array, upper: Array, table: Table) -> IntArray:
    """-1, 0 or 1 by comparison with the limits; one warning for values beyond them."""
    beyond = (y < lower) | (y > upper)
    if beyond.any():
        count = int(beyond.sum())
        have, they = ("value lies", "it is") if count == 1 else ("values lie", "they are")
        message = f"{count} {have} beyond the limits ({table.rows(beyond)}); {they} taken as censored at the limit"
        warnings.warn(message, UserWarning, stacklevel=5)
    return ((y >= upper).astype(np.intp)) - ((y <= lower).astype(np.intp))
