"""Response and censoring of each row, from whatever way they were written."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Literal

import numpy as np

from tobitgp.data.detects import holds_limits, read_detects
from tobitgp.data.ends import check_ends, open_far, open_rows, read_end, read_ends
from tobitgp.data.evaluate import bare_column, call_by_name, evaluate, finite
from tobitgp.data.flags import read_flag
from tobitgp.data.shapes import CensoredResponse
from tobitgp.data.slips import flag_for_limit
from tobitgp.data.table import RowNames, Table
from tobitgp.data.window import read_window
from tobitgp.errors import DataError, FormulaError, SpecError, user_level
from tobitgp.formula.spec import Expression, Flag, ModelSpec
from tobitgp.typing import Array, BoolArray, IntArray

Censored = Literal["model", "drop", "ignore"]
UNKNOWN_LIMITS = (
    "The limits are unknown: Surv(), interval(), the flags of censor() and limits in text say which rows were "
    "censored, not where the others would have been; write censor(lower, upper) with the limits of each row"
)


def recognise_text(spec: ModelSpec, table: Table) -> ModelSpec:
    """Find out whether the response is a column of text, in which ``<0.5`` may stand."""
    _refuse_text_limits(spec, table)
    column = bare_column(spec.response.value, table)
    if spec.response.kind != "value" or spec.censoring is not None or column is None or column.levels is None:
        return spec
    return replace(spec, response=replace(spec.response, kind="text"))


def recognise_duration(spec: ModelSpec, table: Table) -> ModelSpec:
    """Find out whether the response holds a duration: a column of them, or a difference of two columns of dates."""
    found = {
        v.start: f"{v.name} - {v.beside}" if table.columns[v.name].dates else v.name
        for v in spec.variables
        if v.role in ("response", "bound")
        and (table.columns[v.name].duration or (v.beside and table.columns[v.name].dates))
    }
    return replace(spec, response=replace(spec.response, duration=found[min(found)])) if found else spec


def build_response(spec: ModelSpec, table: Table, weight: Array) -> CensoredResponse:
    """Say what is known of y in every row; see :func:`read_response`."""
    response, _, beyond = read_response(spec, table, weight)
    warn_beyond(table.name_rows(beyond))
    return response


def read_response(
    spec: ModelSpec, table: Table, weight: Array, *, censored: Censored = "model"
) -> tuple[CensoredResponse, IntArray, BoolArray]:
    """Say what is known of y in every row; ends beyond 1e140 in size, which stand for none, are infinite.

    Shapes: weight (n,); gives kind, beyond (n,).
    """
    limit_lower, limit_upper = np.full(table.n, np.nan), np.full(table.n, np.nan)
    beyond = np.zeros(table.n, dtype=bool)
    if spec.response.kind == "interval":
        lower, upper = read_ends(spec, table)
    elif spec.flag is not None:
        lower, upper = _coded_ends(spec, spec.flag, table)
    elif spec.response.kind == "text":
        column = bare_column(spec.response.value, table)
        assert column is not None
        lower, upper = _one_sided(*read_detects(column, table))
    else:
        y = _read_value(spec, table)
        limit_lower, limit_upper = read_limits(spec, table)
        beyond = (y < limit_lower) | (y > limit_upper)
        side = (y >= limit_upper).astype(np.intp) - (y <= limit_lower).astype(np.intp)
        lower, upper = _one_sided(np.where(side < 0, limit_lower, np.where(side > 0, limit_upper, y)), side)
    lower, upper = open_far(lower, upper)
    limit_lower, limit_upper = open_far(limit_lower, limit_upper)
    entry, exit = open_far(*read_window(spec, table))
    kind = _kinds(lower, upper)
    if censored == "ignore":
        middle = np.where(kind == 2, 0.5 * lower + 0.5 * upper, np.where(kind < 0, upper, lower))
        lower, upper = middle, middle.copy()
    return CensoredResponse(lower, upper, limit_lower, limit_upper, entry, exit, weight), kind, beyond


def warn_beyond(rows: RowNames) -> None:
    """One warning for values beyond their limits, where there are any."""
    if rows.count:
        have, they = ("value lies", "it is") if rows.count == 1 else ("values lie", "they are")
        message = f"{rows.count} {have} beyond the limits ({rows}); {they} taken as censored at the limit"
        warnings.warn(message, UserWarning, stacklevel=user_level())


def unknown_rows(spec: ModelSpec, table: Table) -> BoolArray:
    """Rows that say nothing of the response: it is missing, or both of its ends are open.

    Gives (n,).
    """
    return open_rows(spec, table) if spec.response.kind == "interval" else table.missing(spec.names("response"))


def read_limits(spec: ModelSpec, table: Table) -> tuple[Array, Array]:
    """Limits of the instrument in every row.

    Gives lower, upper (n,).
    """
    if spec.response.kind != "value" or spec.flag is not None:
        raise SpecError(UNKNOWN_LIMITS)
    given = (spec.censoring.lower, spec.censoring.upper) if spec.censoring else (None, None)
    lower, upper = (
        _read_limit(limit, side, absent, table)
        for limit, side, absent in zip(given, ("lower", "upper"), (-np.inf, np.inf), strict=True)
    )
    if given[0] is not None and given[1] is not None:
        _check_order(lower, upper, table)
    return lower, upper


def _kinds(lower: Array, upper: Array) -> IntArray:
    kinds = np.where(np.isneginf(lower), -1, np.where(np.isposinf(upper), 1, 2))
    return np.where(lower == upper, 0, kinds).astype(np.intp)


def _one_sided(y: Array, side: IntArray) -> tuple[Array, Array]:
    return np.where(side < 0, -np.inf, y), np.where(side > 0, np.inf, y)


def _coded_ends(spec: ModelSpec, flag: Flag, table: Table) -> tuple[Array, Array]:
    """Ends of rows that carry a code."""
    y, kind = _read_value(spec, table), read_flag(flag, spec, table)
    lower, upper = _one_sided(y, np.where(kind == 2, 0, kind).astype(np.intp))
    between = kind == 2
    if not between.any():
        return lower, upper
    if spec.upper_end is None:
        remedy = f"give their upper end, as in {flag.how}{flag.text}, upper=y2)"
        raise DataError(f"{flag.text} says interval in {table.rows(between)}; {remedy}")
    part = table.take(between)
    missing = np.isnan(evaluate(spec.upper_end, part))
    if missing.any():
        raise DataError(f"The upper end {spec.upper_end.text} is missing in {part.rows(missing)}, coded as interval")
    upper[between] = read_end(spec.upper_end, "upper", np.inf, part)
    check_ends(lower[between], upper[between], part)
    return lower, upper


def _refuse_text_limits(spec: ModelSpec, table: Table) -> None:
    """Refuse ``<0.5`` in a column beside another way to say what is censored."""
    for name in spec.names("response", "bound"):
        column = table.columns[name]
        if column.levels is None:
            continue
        limits = holds_limits(column)
        what = f"Column {name!r} holds text with limits such as '<0.5', which say by themselves what is censored"
        if limits and spec.response.kind != "value":
            call = spec.response.label
            raise FormulaError(f"{what}; write {name} ~ ... without {call}", spec.formula, _start(spec))
        if limits and spec.censoring is not None:
            raise FormulaError(f"{what}; leave out '| censor(...)'", spec.formula, spec.censoring.start)
        if limits and bare_column(spec.response.value, table) is None:
            remedy = f"write {name} ~ ..., with family='lognormal' where its logarithm is meant"
            raise DataError(f"{what}; they are read only where the column stands alone: {remedy}")


def _start(spec: ModelSpec) -> int:
    return len(spec.formula) - len(spec.formula.lstrip())


def _read_value(spec: ModelSpec, table: Table) -> Array:
    """Evaluate the response: finite, and not negative where it is a right-censored time."""
    text = spec.response.value.text
    column = bare_column(spec.response.value, table)
    if column is not None and column.boolean:
        raise DataError(f"The response {column.name!r} holds True and False; a number is needed")
    y = finite(evaluate(spec.response.value, table), table, f"The response {text}")
    time = spec.response.flag is not None and spec.response.flag.codes == "event"
    if time and (y < 0).any():
        raise DataError(f"{call_by_name('time', spec.response.value, table)} is negative in {table.rows(y < 0)}")
    return y


def _read_limit(limit: Expression | None, side: str, absent: float, table: Table) -> Array:
    if limit is None:
        return np.full(table.n, absent)
    column = bare_column(limit, table)
    if column is not None and column.boolean:
        raise DataError(flag_for_limit(f"The {side} limit {limit.text} holds True and False", limit.text, side))
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
