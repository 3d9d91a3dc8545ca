"""The parts after ``|``: ``censor(...)`` and ``truncate(...)``."""

from __future__ import annotations

import ast

from tobitgp.formula.arguments import bind, read_column, read_limit
from tobitgp.formula.expressions import called_name
from tobitgp.formula.expressions import expression as text_of
from tobitgp.formula.functions import NOT_YET, nearest
from tobitgp.formula.response import ResponseFound
from tobitgp.formula.spec import STATUS_WORDS, CensoringSpec, Expression, Flag, ResponseSpec, TruncationSpec
from tobitgp.formula.syntax import Syntax

_HELP = "write | censor(lower, upper) or | censor(event=d)"
_FLAGS = {
    "event": "event= is 1 where y was seen and 0 where it was right-censored; it",
    "nondetect": "nondetect= is 1 where y is a detection limit and 0 where it was seen; it",
}


def read_parts(
    syntax: Syntax, parts: list[ast.expr], response: ResponseSpec, entry: Expression | None, found: ResponseFound
) -> tuple[CensoringSpec | None, TruncationSpec | None]:
    """Read the parts after the first ``|``, in any order."""
    calls: dict[str, ast.Call] = {}
    for part in parts:
        name, call = _part(syntax, part)
        if name == "censor" and name in calls:
            syntax.fail(part, "There is more than one censor(...); give both limits in one: | censor(lower, upper)")
        if name in calls:
            syntax.fail(part, "There is more than one truncate(...); give both ends in one: | truncate(lower, upper)")
        calls[name] = call
    censoring = truncation = None
    if "censor" in calls:
        if response.kind != "value":
            written = "Surv" if response.kind == "surv" or response.label.startswith("Surv") else "interval"
            syntax.fail(calls["censor"], f"{written}(...) already says what is censored; leave out '| censor(...)'")
        censoring = _read_censor(syntax, calls["censor"], response, found)
    if "truncate" in calls:
        if entry is not None:
            remedy = "leave out one of them"
            syntax.fail(calls["truncate"], f"Surv(entry, time, event) already says where rows enter; {remedy}")
        truncation = _read_truncate(syntax, calls["truncate"], found)
    elif entry is not None:
        truncation = TruncationSpec(entry)
    return censoring, truncation


def _part(syntax: Syntax, part: ast.expr) -> tuple[str, ast.Call]:
    """Name and call of a part."""
    if not isinstance(part, ast.Call):
        text = syntax.text(part)
        group = f", or (1 | {text}) in brackets" if isinstance(part, ast.Name) else ""
        hint = f"did you mean sigma='~ {text}'{group}? " if not isinstance(part, ast.Constant) else ""
        syntax.fail(part, f"Only censor(...) and truncate(...) stand after '|'; {hint}For censoring {_HELP}")
    name = called_name(syntax, part)
    if name in NOT_YET:
        syntax.fail(part, NOT_YET[name])
    if name not in ("censor", "truncate"):
        close = nearest(name, ("censor", "truncate"))
        syntax.fail(part, f"Only censor(...) and truncate(...) stand after '|'{close or f'; {_HELP}'}")
    return name, part


def _read_truncate(syntax: Syntax, node: ast.Call, found: ResponseFound) -> TruncationSpec:
    if len(node.args) > 2:
        syntax.fail(node.args[2], "truncate() takes two ends: truncate(lower, upper)")
    given = bind(syntax, node, ("lower", "upper"))
    ends = [read_limit(syntax, given.get(side), found.window) for side in ("lower", "upper")]
    if ends == [None, None]:
        syntax.fail(node, "truncate() needs an end: truncate(lower), truncate(upper=u) or truncate(lower, upper)")
    return TruncationSpec(*ends)


def _read_censor(syntax: Syntax, node: ast.Call, response: ResponseSpec, found: ResponseFound) -> CensoringSpec:
    for keyword in node.keywords:
        if keyword.arg == "type":
            syntax.fail(keyword, "censor() has no type=; write censor(lower, upper), or censor(status=, upper=)")
    if len(node.args) > 2:
        syntax.fail(node.args[2], "censor() takes two limits: censor(lower, upper)")
    given = bind(syntax, node, ("lower", "upper", "event", "nondetect", "status"))
    start = syntax.span(node)[0]
    if not given:
        syntax.fail(
            node, "censor() needs a limit: censor(lower), censor(upper=u), censor(lower, upper), or censor(event=d)"
        )
    flags = [name for name in ("event", "nondetect", "status") if name in given]
    if len(flags) > 1:
        syntax.fail(node, f"{flags[0]}= and {flags[1]}= cannot be given together: each says which rows are censored")
    if not flags:
        lower, upper = (read_limit(syntax, given.get(side), found.limits) for side in ("lower", "upper"))
        return CensoringSpec(lower, upper, start=start)
    how = f"censor({flags[0]}="
    if flags == ["status"]:
        return _read_status(syntax, node, given, found, Flag(_status(syntax, given["status"], found), "status", how))
    if len(given) > 1:
        syntax.fail(node, f"{how}) and limits cannot be given together; the rows are censored at y itself")
    flag = read_column(syntax, given[flags[0]], found.events, _FLAGS[flags[0]])
    return CensoringSpec(flag=Flag(flag, "event" if flags == ["event"] else "nondetect", how), start=start)


def _read_status(
    syntax: Syntax, node: ast.Call, given: dict[str, ast.expr], found: ResponseFound, flag: Flag
) -> CensoringSpec:
    if "lower" in given:
        remedy = "the response is the lower end, and upper= the upper end of interval rows"
        syntax.fail(given["lower"], f"censor(status=) takes no lower limit: {remedy}")
    upper = read_column(syntax, given["upper"], found.bounds, "upper=") if "upper" in given else None
    return CensoringSpec(upper=upper, flag=flag, start=syntax.span(node)[0])


def _status(syntax: Syntax, node: ast.expr, found: ResponseFound) -> Expression:
    """Codes of each row: a column, an expression, or one code for all rows."""
    literal = node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else node
    if isinstance(literal, ast.Constant):
        known = ", ".join(f'"{word}" or {code}' for word, code in STATUS_WORDS.items())
        words = isinstance(literal.value, str) and literal is node and literal.value in STATUS_WORDS
        number = isinstance(literal.value, int) and syntax.text(node) in {str(code) for code in STATUS_WORDS.values()}
        if not (words or number):
            syntax.fail(node, f"status= is a column, or for all rows {known}")
        return text_of(syntax, node)
    return read_column(syntax, node, found.events, "status=")
