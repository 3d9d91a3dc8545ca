"""The response left of ``~``, and the parts after ``|``: ``censor(...)`` and ``truncate(...)``."""

from __future__ import annotations

import ast
from typing import NoReturn

from tobitgp.formula.expressions import bind, check_expression, literal, read_column, read_limit
from tobitgp.formula.functions import NOT_YET, nearest
from tobitgp.formula.spec import STATUS_WORDS, CensoringSpec, Expression, Flag, ResponseSpec, TruncationSpec
from tobitgp.formula.syntax import Syntax, called

# Types of ``Surv(...)``: arguments, codes, how they are written, and what to write where arguments are missing.
_SURV = {
    "right": (("time", "event"), "event", "Surv(time, event)", "; without an event column write the time alone"),
    "left": (("time", "event"), "left", 'Surv(time, event, type="left")', ""),
    "counting": (("entry", "time", "event"), "event", "Surv(entry, time, event)", ""),
    "interval": (
        ("time", "time2", "event"),
        "survival",
        'Surv(time, time2, event, type="interval")',
        '; with two ends and no code, Surv(lo, hi, type="interval2")',
    ),
    "interval2": (("time", "time2"), "", 'Surv(lo, hi, type="interval2")', ""),
}
_HELP = "write | censor(lower, upper) or | censor(event=d)"
_FLAGS = {
    "event": "event= is 1 where y was seen and 0 where it was right-censored; it",
    "nondetect": "nondetect= is 1 where y is a detection limit and 0 where it was seen; it",
}


def read_response(syntax: Syntax) -> tuple[ResponseSpec, Expression | None]:
    """Read the left-hand side; gives the entry times of ``Surv(entry, time, event)`` too."""
    node = syntax.tree
    match node:
        case ast.Call() if called(node) == "Surv":
            return _read_surv(syntax, node)
        case ast.Call() if called(node) == "Cen":
            return _read_cen(syntax, node), None
        case ast.Call() if called(node) == "interval":
            given = bind(syntax, node, ("lo", "hi"), "interval() takes two ends: interval(lo, hi)")
            if len(given) < 2:
                syntax.fail(node, "interval() takes two ends, interval(lo, hi); an open end is -inf or inf.")
            return _read_ends(syntax, node, given["lo"], given["hi"], "interval(lo, hi)"), None
        case ast.Call() if called(node) == "mvbind":
            syntax.fail(node, "Several responses, mvbind(...), are for tg.fit(); this takes one.")
        case ast.BinOp(op=ast.BitOr()):
            _refuse_bar(syntax, node.right)
        case ast.Tuple():
            syntax.fail(node.elts[1] if len(node.elts) > 1 else node, "A model has one response.")
        case ast.Compare():
            limit, value = syntax.text(node.comparators[0]), syntax.text(node.left)
            words = (
                f"write {value} ~ x, with | censor({limit}) where it is a limit; predict(what='prob', above={limit})"
            )
            syntax.fail(node, f"The response is a number, not a comparison; {words} gives the probability.")
    if not check_expression(syntax, node, "response"):
        syntax.fail(node, "The response names no column.")
    match node:
        case ast.BinOp(op=ast.Add(), left=ast.Name(), right=ast.Name()):
            left, right = syntax.text(node.left), syntax.text(node.right)
            remedy = f"Surv({left}, {right}) is a time with its event, I({left} + {right}) the sum of two columns"
            syntax.fail(node, f"A model has one response; {remedy}.")
    return ResponseSpec("value", syntax.expression(node), label=syntax.text(node)), None


def _refuse_bar(syntax: Syntax, node: ast.expr) -> NoReturn:
    """Say where the terms belong that brms writes after the response, as in ``y | cens(status) + trunc(lb = 0)``."""
    for item in ast.walk(node):
        if isinstance(item, ast.Call) and called(item) in NOT_YET:
            syntax.fail(item, f"'|' is not supported in the response, before '~'. {NOT_YET[called(item)]}")
    syntax.fail(node, "'|' is not supported in the response, before '~'. Write y ~ ... | censor(lower, upper).")


def _read_ends(syntax: Syntax, node: ast.Call, low: ast.expr, high: ast.expr, what: str) -> ResponseSpec:
    """Read a response that is known to lie between two ends."""
    found = [check_expression(syntax, end, "bound") for end in (low, high)]
    if not any(found):
        syntax.fail(node, f"{what} names no column.")
    return ResponseSpec("interval", syntax.expression(low), upper=syntax.expression(high), label=syntax.text(node))


def _read_surv(syntax: Syntax, node: ast.Call) -> tuple[ResponseSpec, Expression | None]:
    """Read ``Surv(...)`` in the types of R's survival package."""
    kind, plain = _read_type(syntax, node)
    parameters, codes, form, remedy = _SURV[kind]
    given = bind(syntax, plain, parameters, f"There are too many arguments; write {form}")
    if len(given) < len(parameters):
        syntax.fail(node, f"Arguments are missing; write {form}{remedy}.")
    if kind == "interval2":
        return _read_ends(syntax, node, given["time"], given["time2"], "Surv(...)"), None
    entry = read_column(syntax, given["entry"], "window", "The entry") if kind == "counting" else None
    time = read_column(syntax, given["time"], "response", "The time")
    upper = read_column(syntax, given["time2"], "bound", "time2") if kind == "interval" else None
    event = read_column(syntax, given["event"], "event", "The event")
    before = f"{upper.text}, " if upper is not None else ""
    flag = Flag(event, codes, f"Surv({time.text}, {before}")  # type: ignore[arg-type]
    return ResponseSpec("surv", time, flag, upper, syntax.text(node)), entry


def _read_cen(syntax: Syntax, node: ast.Call) -> ResponseSpec:
    """Read ``Cen(y, flag)`` of NADA, whose flag is true where y is a detection limit."""
    what = "Cen() takes a value and a flag, Cen(y, flag), TRUE or 1 where y is a detection limit"
    given = bind(syntax, node, ("obs", "censored"), what)
    if len(given) < 2:
        syntax.fail(node, f"{what}.")
    value = read_column(syntax, given["obs"], "response", "The value")
    flag = read_column(syntax, given["censored"], "event", "The flag")
    return ResponseSpec("value", value, Flag(flag, "nondetect", f"Cen({value.text}, "), label=syntax.text(node))


def _read_type(syntax: Syntax, node: ast.Call) -> tuple[str, ast.Call]:
    """Type of a ``Surv``, and the call without ``type=``."""
    named = [keyword for keyword in node.keywords if keyword.arg == "type"]
    rest = [keyword for keyword in node.keywords if keyword.arg != "type"]
    plain = ast.copy_location(ast.Call(node.func, node.args, rest), node)
    if not named:
        delayed = len(node.args) > 2 or any(keyword.arg == "entry" for keyword in rest)
        return ("counting" if delayed else "right"), plain
    kind = literal(named[0].value)
    if kind not in _SURV:
        close = nearest(kind, _SURV).rstrip("?") if isinstance(kind, str) else ""
        known = ", ".join(f'"{name}"' for name in _SURV)
        syntax.fail(named[0].value, f"Surv(...) has no such type{close}; type= is one of {known}.")
    return kind, plain


def read_parts(
    syntax: Syntax, parts: list[ast.expr], response: ResponseSpec, entry: Expression | None
) -> tuple[CensoringSpec | None, TruncationSpec | None]:
    """Read the parts after the first ``|``, in any order."""
    calls: dict[str, ast.Call] = {}
    for part in parts:
        name, call = _part(syntax, part)
        if name in calls:
            what = "limits in one: | censor" if name == "censor" else "ends in one: | truncate"
            syntax.fail(part, f"There is more than one {name}(...); give both {what}(lower, upper).")
        calls[name] = call
    censoring, truncation = None, None if entry is None else TruncationSpec(entry)
    if "censor" in calls:
        if response.kind != "value" or response.flag is not None:
            written = response.label.partition("(")[0]
            syntax.fail(calls["censor"], f"{written}(...) already says what is censored; leave out '| censor(...)'.")
        censoring = _read_censor(syntax, calls["censor"])
    if "truncate" in calls:
        if entry is not None:
            remedy = "leave out one of them"
            syntax.fail(calls["truncate"], f"Surv(entry, time, event) already says where rows enter; {remedy}.")
        truncation = _read_truncate(syntax, calls["truncate"])
    return censoring, truncation


def _part(syntax: Syntax, part: ast.expr) -> tuple[str, ast.Call]:
    """Name and call of a part."""
    if not isinstance(part, ast.Call):
        text = syntax.text(part)
        factors = " + ".join(f"C({name})" for name in text.split(" + "))
        group = f", {factors}, or (1 | {text}) in brackets" if isinstance(part, (ast.Name, ast.BinOp)) else ""
        hint = f"did you mean sigma='~ {text}'{group}? " if not isinstance(part, ast.Constant) else ""
        syntax.fail(part, f"Only censor(...) and truncate(...) are supported after '|'; {hint}For censoring {_HELP}.")
    name = called(part)
    if name in NOT_YET:
        syntax.fail(part, NOT_YET[name])
    if name not in ("censor", "truncate"):
        close = nearest(name, ("censor", "truncate"))
        syntax.fail(part, f"Only censor(...) and truncate(...) are supported after '|'{close or f'; {_HELP}.'}")
    return name, part


def _read_truncate(syntax: Syntax, node: ast.Call) -> TruncationSpec:
    given = bind(syntax, node, ("lower", "upper"), "truncate() takes two ends: truncate(lower, upper)")
    lower, upper = (read_limit(syntax, given.get(side), "window") for side in ("lower", "upper"))
    if lower is None and upper is None:
        syntax.fail(node, "truncate() needs an end: truncate(lower), truncate(upper=u) or truncate(lower, upper).")
    return TruncationSpec(lower, upper)


def _read_censor(syntax: Syntax, node: ast.Call) -> CensoringSpec:
    for keyword in node.keywords:
        if keyword.arg == "type":
            syntax.fail(keyword, "censor() has no type=; write censor(lower, upper), or censor(status=, upper=).")
    names = ("event", "nondetect", "status")
    given = bind(syntax, node, ("lower", "upper"), "censor() takes two limits: censor(lower, upper)", names)
    start = syntax.span(node)[0]
    if not given:
        forms = "censor(lower), censor(upper=u), censor(lower, upper), or censor(event=d)"
        syntax.fail(node, f"censor() needs a limit: {forms}.")
    flags = [name for name in names if name in given]
    if len(flags) > 1:
        syntax.fail(node, f"{flags[0]}= and {flags[1]}= cannot be given together: each says which rows are censored.")
    if not flags:
        lower, upper = (read_limit(syntax, given.get(side), "limit") for side in ("lower", "upper"))
        return CensoringSpec(lower, upper, start=start)
    how = f"censor({flags[0]}="
    if flags == ["status"]:
        flag = Flag(_read_status(syntax, given["status"]), "status", how)
        if "lower" in given:
            remedy = "the response is the lower end, and upper= the upper end of interval rows"
            syntax.fail(given["lower"], f"censor(status=) takes no lower limit: {remedy}.")
        end = read_column(syntax, given["upper"], "bound", "upper=") if "upper" in given else None
        return CensoringSpec(upper=end, flag=flag, start=start)
    column = given.pop(flags[0])
    if flags == ["event"] and given:
        syntax.fail(node, f"{how}) and limits cannot be given together; the rows are censored at y itself.")
    if "upper" in given:
        syntax.fail(given["upper"], f"{how}) needs a lower limit: censor(limit, nondetect=flag).")
    lower = read_limit(syntax, given.get("lower"), "limit")
    flag = Flag(
        read_column(syntax, column, "event", _FLAGS[flags[0]]), "nondetect" if flags == ["nondetect"] else "event", how
    )
    return CensoringSpec(lower, flag=flag, start=start)


def _read_status(syntax: Syntax, node: ast.expr) -> Expression:
    """Codes of each row: a column, an expression, or one code for all rows."""
    code = literal(node)
    if code is None and not (isinstance(node, ast.Constant)):
        return read_column(syntax, node, "event", "status=")
    number = isinstance(code, int) and syntax.text(node) in {str(known) for known in STATUS_WORDS.values()}
    if not (number or (isinstance(code, str) and code in STATUS_WORDS)):
        known = ", ".join(f'"{word}" or {value}' for word, value in STATUS_WORDS.items())
        syntax.fail(node, f"status= is a column, or for all rows {known}.")
    return syntax.expression(node)
