"""Response and censoring of each row, from whatever way they were written."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from tobitgp.data.arrays import CensoredResponse
from tobitgp.data.columns import bare_column, call_by_name, evaluate, finite, rounding, same
from tobitgp.data.spellings import (
    check_ends,
    code_names,
    open_far,
    open_rows,
    read_bound,
    read_end,
    read_flag,
    read_window,
)
from tobitgp.data.table import RowNames, Table, holds_numbers
from tobitgp.data.text_limits import is_absent, is_limit, is_unread, read_detects
from tobitgp.data.values import EPS
from tobitgp.errors import DataError, FormulaError, SpecError, user_level
from tobitgp.formula.spec import CensoringSpec, Expression, Flag, ModelSpec
from tobitgp.typing import Array, BoolArray, IntArray

_NONE_CENSORED = (
    "No row is censored: no value is at or beyond its limit, so censor(...) has no effect. Write the limit on the "
    "scale of the response; or censor(nondetect=flag), if a column marks non-detects and the response is their limit; "
    "or truncate(...), if rows beyond the limit are not in the data."
)


def warn_unmet_limits(counts: Mapping[str, int], limits: Sequence[Array | float]) -> None:
    """Warn where training rows have limits, and none is censored."""
    if not any(counts[kind] for kind in ("left", "right", "interval")) and any(np.isfinite(x).any() for x in limits):
        warnings.warn(_NONE_CENSORED, UserWarning, stacklevel=user_level())


def _flag_for_limit(what: str, text: str, side: str) -> str:
    """Message that a limit looks like a flag, and how to write a flag."""
    flag = f"censor(event={text}), 1 for observed values"
    if side == "lower":
        flag = f"censor(nondetect={text}), 1 for values below the limit"
    return f"{what}, like a flag; limits must be values of the response. Write a flag as {flag}."


def refuse_misread_limits(spec: ModelSpec, table: Table) -> None:
    """Raise an error for limits that look like a flag, or like limits of the untransformed response."""
    if spec.response.kind != "value" or spec.censoring is None or not (spec.flag is None or spec.limit):
        return
    response = spec.response.value
    y, names = evaluate(response, table), spec.names("response")
    transformed = len(names) == 1 and bare_column(response, table) is None
    for side, limit in (("lower", spec.censoring.lower), ("upper", spec.censoring.upper)):
        if limit is None:
            continue
        values = evaluate(limit, table)
        met_in = same(y, values, rounding(response, table) + rounding(limit, table))
        met = bool(met_in.any())
        beyond = (y < values if side == "lower" else y > values) & ~met_in
        flags = spec.flag is None and bare_column(limit, table) is not None
        if flags and set(np.unique(values)) == {0.0, 1.0} and (beyond.any() or not met):
            what = f"The {side} limit {limit.text} holds only 0 and 1"
            rest = f" If they are limits, write 0 + {limit.text}."
            raise DataError(_flag_for_limit(what, limit.text, side) + rest)
        at = table.columns[names[0]].values == values if transformed and not met else np.zeros(table.n, dtype=bool)
        if at.any():
            there = re.sub(rf"(?<!\w){re.escape(names[0])}(?!\w)", limit.text, response.text)
            raise DataError(
                f"{names[0]} equals its limit {limit.text} in {table.rows(at)}, but {response.text} never does. Give "
                f"the limits of {response.text} on its own scale, censor({there})."
            )


def refuse_unknown_limits(spec: ModelSpec, table: Table, unknown: BoolArray) -> None:
    """Raise an error for rows that are flagged as below a detection limit but hold no limit."""
    if spec.flag is None or spec.flag.codes == "event" or not unknown.any():
        return
    below = unknown.copy()
    below[unknown] = read_flag(spec.flag, spec, table.take(unknown)) == -1
    if below.any():
        where = f"{spec.response.value.text} is missing in {table.rows(below)}"
        raise DataError(
            f"{where}, which {spec.flag.how}{spec.flag.text}) marks as below a detection limit. Such rows are "
            "informative: put the limit there, or leave them out."
        )


Censored = Literal["model", "drop", "ignore"]
UNKNOWN_LIMITS = (
    "The limits are unknown: Surv(), interval(), flags of censor() and limits in text define which rows are censored, "
    "but not the limits of the other rows. Write censor(lower, upper) with the limits of each row"
)


def recognise_text(spec: ModelSpec, table: Table) -> ModelSpec:
    """Find out whether the response is a column of text, which may contain ``<0.5``."""
    _refuse_text_limits(spec, table)
    column = bare_column(spec.response.value, table)
    if spec.response.kind != "value" or spec.flag is not None or column is None or column.levels is None:
        return spec
    plain = not any(is_absent(level) or is_unread(level) for level in column.levels)
    if holds_numbers(column.levels) or (spec.censoring is not None and plain):
        return spec
    return replace(spec, response=replace(spec.response, kind="text"))


def recognise_duration(spec: ModelSpec, table: Table) -> ModelSpec:
    """Find out whether the response holds a duration: a column of them, or a difference of two columns of dates."""
    found = {
        v.start: v.name if table.columns[v.name].kind == "duration" else f"{v.name} - {v.beside}"
        for v in spec.variables
        if v.role in ("response", "bound")
        and (table.columns[v.name].kind == "duration" or (v.beside and table.columns[v.name].kind == "date"))
    }
    return replace(spec, response=replace(spec.response, duration=found[min(found)])) if found else spec


def build_response(spec: ModelSpec, table: Table, weight: Array) -> CensoredResponse:
    """The information about y in every row; see :func:`read_response`."""
    response, _, beyond = read_response(spec, table, weight)
    warn_beyond(table.name_rows(beyond))
    return response


def read_response(
    spec: ModelSpec, table: Table, weight: Array, *, censored: Censored = "model"
) -> tuple[CensoredResponse, IntArray, BoolArray]:
    """The information about y in every row; ends beyond 1e140 in size, which mean none, are infinite.

    Shapes: weight (n,); gives kind, beyond (n,).
    """
    limit_lower, limit_upper = np.full(table.n, np.nan), np.full(table.n, np.nan)
    beyond, closed = np.zeros(table.n, dtype=bool), None
    if spec.response.kind == "interval":
        assert spec.response.upper is not None
        lower = read_end(spec.response.value, "lower", -np.inf, table)
        upper = read_end(spec.response.upper, "upper", np.inf, table)
        lower = np.where(same(lower, upper, _roundings(spec, table, spec.response.upper)), upper, lower)
        check_ends(lower, upper, table)
    elif spec.flag is not None and spec.limit is not None:
        below = read_flag(spec.flag, spec, table) == -1
        y = np.where(below, _limits_below(spec.limit, below, table), _read_value(spec, table, ~below))
        lower, upper = np.where(below, -np.inf, y), y
    elif spec.flag is not None:
        lower, upper = _coded_ends(spec, spec.flag, table)
    elif spec.response.kind == "text":
        y, side, closed = _read_text(spec, table)
        lower, upper = _one_sided(y, side)
    else:
        y = _read_value(spec, table)
        limit_lower, limit_upper = read_limits(spec, table)
        given = spec.censoring or CensoringSpec()
        at_lower = same(y, limit_lower, _roundings(spec, table, given.lower))
        at_upper = same(y, limit_upper, _roundings(spec, table, given.upper))
        beyond = (y < limit_lower) & ~at_lower | (y > limit_upper) & ~at_upper
        side = (at_upper | (y > limit_upper)).astype(np.intp) - (at_lower | (y < limit_lower)).astype(np.intp)
        lower, upper = _one_sided(np.where(side < 0, limit_lower, np.where(side > 0, limit_upper, y)), side)
    if spec.limit is not None:
        limit_lower, limit_upper = evaluate(spec.limit, table), np.full(table.n, np.inf)
    lower, upper = open_far(lower, upper)
    limit_lower, limit_upper = open_far(limit_lower, limit_upper)
    entry, exit = open_far(*read_window(spec, table))
    kind = np.select([lower == upper, np.isneginf(lower), np.isposinf(upper)], [0, -1, 1], 2)
    if spec.flag is not None and spec.flag.codes in ("event", "survival"):
        _refuse_late_entry((kind == 1) & (lower <= entry), spec, table)
    if censored == "ignore":
        middle = np.where(kind == 2, 0.5 * lower + 0.5 * upper, np.where(kind < 0, upper, lower))
        lower, upper = middle, middle.copy()
    return CensoredResponse(lower, upper, limit_lower, limit_upper, entry, exit, weight, closed), kind, beyond


def _refuse_late_entry(wrong: BoolArray, spec: ModelSpec, table: Table) -> None:
    """Raise an error for right-censored rows that end at or before their entry, and so were never observed."""
    if wrong.any():
        assert spec.truncation is not None
        time, entry = (end.text if end else "" for end in (spec.response.value, spec.truncation.lower))
        raise DataError(
            f"{time} is not after {entry} in {table.rows(wrong)}: a row that ends at or before its entry "
            "cannot have been observed. Correct or drop such rows."
        )


def _roundings(spec: ModelSpec, table: Table, other: Expression | None) -> Array:
    """Bound of the rounding errors of the response and of what it is compared with, (n,)."""
    return rounding(spec.response.value, table) + rounding(other, table)


def warn_beyond(rows: RowNames) -> None:
    """One warning for values beyond their limits, where there are any."""
    if rows.count:
        have, they = ("value is", "It is") if rows.count == 1 else ("values are", "They are")
        message = f"{rows.count} {have} beyond the limits ({rows}). {they} treated as censored at the limit."
        warnings.warn(message, UserWarning, stacklevel=user_level())


def unknown_rows(spec: ModelSpec, table: Table) -> BoolArray:
    """Rows without information about the response: it is missing, or both ends are open; gives (n,)."""
    if spec.response.kind == "interval":
        return open_rows(spec, table)
    unknown = table.missing(spec.names("response"))
    if spec.flag is not None and spec.limit is not None:
        coded = unknown & ~table.missing(code_names(spec))
        unknown[coded] = read_flag(spec.flag, spec, table.take(coded)) != -1
    return unknown


def read_limits(spec: ModelSpec, table: Table) -> tuple[Array, Array]:
    """Limits of the instrument in every row; gives lower, upper (n,)."""
    if spec.limit is None and (spec.response.kind != "value" or spec.flag is not None):
        raise SpecError(f"{UNKNOWN_LIMITS}.")
    given = (spec.censoring.lower, spec.censoring.upper) if spec.censoring else (None, None)
    lower, upper = (
        _read_limit(limit, side, absent, table)
        for limit, side, absent in zip(given, ("lower", "upper"), (-np.inf, np.inf), strict=True)
    )
    if given[0] is not None and given[1] is not None:
        _check_order(lower, upper, table)
    return lower, upper


def _one_sided(y: Array, side: IntArray) -> tuple[Array, Array]:
    return np.where(side < 0, -np.inf, y), np.where(side > 0, np.inf, y)


def _limits_below(limit: Expression, below: BoolArray, table: Table) -> Array:
    """Limits of the rows, which non-detects need; (n,)."""
    values = evaluate(limit, table)
    wrong = below & ~np.isfinite(values)
    if wrong.any():
        what = f"Non-detects must have a limit, but {limit.text} is not a finite number in {table.rows(wrong)}"
        raise DataError(f"{what}. Correct these rows or leave them out.")
    return values


def _read_text(spec: ModelSpec, table: Table) -> tuple[Array, IntArray, BoolArray]:
    """Values, sides, closed (n,) of text; non-detects without a limit in the text get that of ``censor(limit)``."""
    column = bare_column(spec.response.value, table)
    assert column is not None
    y, side, closed = read_detects(column, table)
    absent = np.isnan(y)
    if absent.any() and spec.limit is None:
        found = (column.levels or ())[int(column.values[absent][0])]
        remedy = "Write | censor(limit), with the column of their limits"
        raise DataError(f"Column {column.name!r} holds {found!r} in {table.rows(absent)}, without a limit. {remedy}.")
    if spec.limit is None:
        return y, side, closed
    limits = _limits_below(spec.limit, absent, table)
    error = EPS * np.abs(y) + rounding(spec.limit, table)
    other = (side < 0) & ~absent & ~same(y, limits, error) & ~np.isnan(limits)
    if other.any():
        pairs = "; ".join(f"<{a:g} and {b:g}" for a, b in zip(y[other][:3], limits[other][:3], strict=True))
        raise DataError(
            f"The limits in column {column.name!r} differ from {spec.limit.text} in {table.rows(other)} ({pairs})."
        )
    return np.where(absent, limits, y), side, closed


def _coded_ends(spec: ModelSpec, flag: Flag, table: Table) -> tuple[Array, Array]:
    """Ends of rows that carry a code."""
    y, kind = _read_value(spec, table), read_flag(flag, spec, table)
    lower, upper = _one_sided(y, np.where(kind == 2, 0, kind).astype(np.intp))
    between = kind == 2
    if not between.any():
        return lower, upper
    if spec.upper_end is None:
        remedy = f"Give the upper end, as in {flag.how}{flag.text}, upper=y2)"
        raise DataError(f"The flag {flag.text} means an interval in {table.rows(between)}. {remedy}.")
    part = table.take(between)
    missing = np.isnan(evaluate(spec.upper_end, part))
    if missing.any():
        raise DataError(f"The upper end {spec.upper_end.text} is missing in {part.rows(missing)}, coded as interval.")
    upper[between] = read_end(spec.upper_end, "upper", np.inf, part)
    check_ends(lower[between], upper[between], part)
    return lower, upper


def _refuse_text_limits(spec: ModelSpec, table: Table) -> None:
    """Raise an error for ``<0.5`` and ``ND`` in a column if censoring is also specified in another way."""
    for name in spec.names("response", "bound"):
        levels = table.columns[name].levels or ()
        limits, absent = any(map(is_limit, levels)), any(map(is_absent, levels))
        if not (limits or absent) or any(map(is_unread, levels)):
            continue
        held = "limits such as '<0.5'" if limits else "non-detects such as 'ND'"
        what = f"Column {name!r} holds text with {held}, which define the censoring"
        alone = f"Write {name} ~ ... | censor(limit)" if absent else f"Write {name} ~ ..."
        if spec.response.kind != "value" or spec.response.flag is not None:
            start = len(spec.formula) - len(spec.formula.lstrip())
            raise FormulaError(f"{what}. {alone} without {spec.response.label}.", spec.formula, start)
        if spec.censoring is not None and not absent:
            raise FormulaError(f"{what}. Leave out '| censor(...)'.", spec.formula, spec.censoring.start)
        if spec.censoring is not None and (spec.flag is not None or spec.censoring.upper is not None):
            raise FormulaError(f"{what}. {alone}.", spec.formula, spec.censoring.start)
        if bare_column(spec.response.value, table) is None:
            remedy = f"{alone}, with family='lognormal' to model its logarithm"
            raise DataError(f"{what}, but only if the response is this column alone. {remedy}.")


def _read_value(spec: ModelSpec, table: Table, seen: BoolArray | bool = True) -> Array:
    """Evaluate the response: finite where observed (n,), and not negative if it is a right-censored time."""
    text = spec.response.value.text
    column = bare_column(spec.response.value, table)
    if column is not None and column.kind == "boolean":
        raise DataError(f"The response {column.name!r} holds True and False. Give numbers.")
    y = finite(np.where(seen, evaluate(spec.response.value, table), 0.0), table, f"The response {text}")
    time = spec.response.flag is not None and spec.response.flag.codes == "event"
    if time and (y < 0).any():
        what = call_by_name("time", spec.response.value, table)
        raise DataError(f"{what} is negative in {table.rows(y < 0)}. Correct or drop such rows.")
    return y


def _read_limit(limit: Expression | None, side: str, absent: float, table: Table) -> Array:
    column = None if limit is None else bare_column(limit, table)
    if limit is not None and column is not None and column.kind == "boolean":
        raise DataError(_flag_for_limit(f"The {side} limit {limit.text} holds True and False", limit.text, side))
    values = read_bound(limit, absent, table, f"{side} limit", "no limit")
    wrong = values == -absent
    if limit is not None and wrong.any():
        where = f"is {-absent} in {table.rows(wrong)}"
        raise DataError(f"The {side} limit {limit.text} {where}. Write {absent} for no {side} limit.")
    return values


def _check_order(lower: Array, upper: Array, table: Table) -> None:
    for wrong, words in ((lower > upper, "above"), (lower == upper, "equal to")):
        if wrong.any():
            pairs = zip(lower[wrong][:3], upper[wrong][:3], strict=True)
            shown = "; ".join(f"{low:g} and {up:g}" for low, up in pairs)
            raise DataError(f"The lower limit is {words} the upper limit in {table.rows(wrong)} ({shown}).")
