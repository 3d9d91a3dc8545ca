"""``Surv(...)`` in the types of R's survival package."""

from __future__ import annotations

import ast

from tobitgp.formula.arguments import bind, read_column
from tobitgp.formula.expressions import Found, check_expression, expression
from tobitgp.formula.functions import nearest
from tobitgp.formula.spec import Expression, Flag, ResponseSpec
from tobitgp.formula.syntax import Syntax

_PARAMETERS = {
    "right": ("time", "event"),
    "left": ("time", "event"),
    "counting": ("entry", "time", "event"),
    "interval": ("time", "time2", "event"),
    "interval2": ("time", "time2"),
}
_FORMS = {
    "right": "Surv(time, event)",
    "left": 'Surv(time, event, type="left")',
    "counting": "Surv(entry, time, event)",
    "interval": 'Surv(time, time2, event, type="interval")',
    "interval2": 'Surv(lo, hi, type="interval2")',
}

_REMEDIES = {
    "right": "; without an event column write the time alone",
    "interval": f"; with two ends and no code, {_FORMS['interval2']}",
}


def read_surv(
    syntax: Syntax, node: ast.Call, values: Found, events: Found, bounds: Found, window: Found
) -> tuple[ResponseSpec, Expression | None]:
    """Read a ``Surv(...)``."""
    kind, plain = _read_type(syntax, node)
    parameters, form = _PARAMETERS[kind], _FORMS[kind]
    if len(plain.args) > len(parameters):
        syntax.fail(plain.args[len(parameters)], f"There are too many arguments; write {form}")
    given = bind(syntax, plain, parameters)
    if len(given) < len(parameters):
        remedy = _REMEDIES.get(kind, "")
        syntax.fail(node, f"Arguments are missing; write {form}{remedy}")
    label = syntax.text(node)
    if kind == "interval2":
        for end in parameters:
            check_expression(syntax, given[end], bounds)
        if not bounds.names:
            syntax.fail(node, "Surv(...) names no column")
        low, high = (expression(syntax, given[end]) for end in parameters)
        return ResponseSpec("interval", low, upper=high, label=label), None
    entry = read_column(syntax, given["entry"], window, "The entry") if kind == "counting" else None
    time = read_column(syntax, given["time"], values, "The time")
    upper = read_column(syntax, given["time2"], bounds, "time2") if kind == "interval" else None
    event = read_column(syntax, given["event"], events, "The event")
    before = f"{upper.text}, " if upper is not None else ""
    codes = "survival" if kind == "interval" else "left" if kind == "left" else "event"
    flag = Flag(event, codes, f"Surv({time.text}, {before}")  # type: ignore[arg-type]
    return ResponseSpec("surv", time, flag, upper, label), entry


def _read_type(syntax: Syntax, node: ast.Call) -> tuple[str, ast.Call]:
    """Type of a ``Surv``, and the call without ``type=``."""
    named = [keyword for keyword in node.keywords if keyword.arg == "type"]
    rest = [keyword for keyword in node.keywords if keyword.arg != "type"]
    plain = ast.copy_location(ast.Call(node.func, node.args, rest), node)
    if not named:
        delayed = len(node.args) > 2 or any(keyword.arg == "entry" for keyword in rest)
        return ("counting" if delayed else "right"), plain
    if len(named) > 1:
        syntax.fail(named[1], "type= is given twice")
    value = named[0].value
    kind = value.value if isinstance(value, ast.Constant) else None
    if kind not in _PARAMETERS:
        close = nearest(str(kind), _PARAMETERS).rstrip("?") if isinstance(kind, str) else ""
        known = ", ".join(f'"{name}"' for name in _PARAMETERS)
        syntax.fail(value, f"Surv(...) has no such type{close}; type= is one of {known}")
    return str(kind), plain
