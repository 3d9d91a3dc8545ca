"""The response left of ``~`` and the parts after ``|``."""

from __future__ import annotations

import ast

from tobitgp.formula.expressions import Found, called_name, check_expression, expression
from tobitgp.formula.functions import CONSTANTS, NOT_YET, nearest
from tobitgp.formula.spec import CensoringSpec, Expression, ResponseSpec
from tobitgp.formula.syntax import Syntax

_CENSOR_HELP = "write | censor(lower, upper) or | censor(event=d)"
_CENSOR_NOT_YET = {
    "status": "censor(status=) is not offered yet; write censor(lower, upper) or censor(event=d)",
    "nondetect": "censor(nondetect=) is not offered yet; write censor(lower) with the detection limit of each row",
    "type": "censor() has no type=; write censor(lower, upper) or censor(event=d)",
}


def read_response(syntax: Syntax, values: Found, events: Found) -> ResponseSpec:
    """Read the left-hand side.

    Parameters
    ----------
    syntax : Syntax
    values, events : Found
        Columns of the response and of the event indicator are added here.

    Returns
    -------
    ResponseSpec

    Raises
    ------
    FormulaError
        For anything but an expression with a column in it, or ``Surv(time, event)``.
    """
    node = syntax.tree
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        syntax.fail(
            node.right, "Nothing stands behind '|' left of '~'; censoring is written y ~ ... | censor(lower, upper)"
        )
    if isinstance(node, ast.Call) and called_name(syntax, node) == "Surv":
        return _read_surv(syntax, node, values, events)
    if isinstance(node, ast.Tuple):
        syntax.fail(node.elts[1], "A model has one response")
    check_expression(syntax, node, values)
    if not values.names:
        syntax.fail(node, "The response names no column")
    return ResponseSpec("value", expression(syntax, node))


def _read_surv(syntax: Syntax, node: ast.Call, values: Found, events: Found) -> ResponseSpec:
    for keyword in node.keywords:
        if keyword.arg == "type":
            syntax.fail(
                keyword, f"Surv(..., type=) is not offered yet; write Surv(time, event), or y ~ ... {_CENSOR_HELP[6:]}"
            )
    if len(node.args) > 2:
        syntax.fail(node.args[2], "Surv(entry, time, event) is not offered yet; write Surv(time, event)")
    given = _bind(syntax, node, ("time", "event"))
    if "time" not in given or "event" not in given:
        syntax.fail(node, "Surv takes two columns: Surv(time, event); without an event column write the time alone")
    check_expression(syntax, given["time"], values)
    check_expression(syntax, given["event"], events)
    if not values.names or not events.names:
        syntax.fail(node, "Surv takes two columns: Surv(time, event)")
    return ResponseSpec("surv", expression(syntax, given["time"]), expression(syntax, given["event"]))


def read_censoring(
    syntax: Syntax, parts: list[ast.expr], response: ResponseSpec, limits: Found, events: Found
) -> CensoringSpec | None:
    """Read the parts after the first ``|``.

    Parameters
    ----------
    syntax : Syntax
        Right-hand side.
    parts : list of ast.expr
    response : ResponseSpec
    limits, events : Found
        Columns of the limits and of the event indicator are added here.

    Returns
    -------
    CensoringSpec or None

    Raises
    ------
    FormulaError
        For parts other than one ``censor(...)``, and for ``censor`` beside ``Surv``.
    """
    if not parts:
        return None
    for part in parts:
        if not isinstance(part, ast.Call):
            hint = f"did you mean sigma='~ {syntax.text(part)}'? " if not isinstance(part, ast.Constant) else ""
            syntax.fail(part, f"Only censor(...) stands after '|'; {hint}For censoring {_CENSOR_HELP}")
        name = called_name(syntax, part)
        if name in NOT_YET:
            syntax.fail(part, NOT_YET[name])
        if name != "censor":
            close = nearest(name, ("censor",))
            syntax.fail(part, f"Only censor(...) stands after '|'{close or f'; {_CENSOR_HELP}'}")
    if len(parts) > 1:
        syntax.fail(parts[1], "There is more than one censor(...); give both limits in one: | censor(lower, upper)")
    if response.kind == "surv":
        syntax.fail(parts[0], "Surv(...) already says what is censored; leave out '| censor(...)'")
    assert isinstance(parts[0], ast.Call)
    return _read_censor(syntax, parts[0], limits, events)


def _read_censor(syntax: Syntax, node: ast.Call, limits: Found, events: Found) -> CensoringSpec:
    for keyword in node.keywords:
        if keyword.arg in _CENSOR_NOT_YET:
            syntax.fail(keyword, _CENSOR_NOT_YET[keyword.arg])
    if len(node.args) > 2:
        syntax.fail(node.args[2], "censor() takes two limits: censor(lower, upper)")
    given = _bind(syntax, node, ("lower", "upper", "event"))
    if not given:
        syntax.fail(
            node, "censor() needs a limit: censor(lower), censor(upper=u), censor(lower, upper), or censor(event=d)"
        )
    if "event" in given and len(given) > 1:
        syntax.fail(node, "censor(event=) and limits cannot be given together")
    if "event" in given:
        check_expression(syntax, given["event"], events)
        if not events.names:
            syntax.fail(given["event"], "event= names a column that is 1 where y was seen and 0 where it was censored")
        return CensoringSpec(event=expression(syntax, given["event"]))
    return CensoringSpec(*(_read_limit(syntax, given.get(side), limits) for side in ("lower", "upper")))


def _read_limit(syntax: Syntax, node: ast.expr | None, limits: Found) -> Expression | None:
    """One limit; None stands for no limit."""
    if node is None or (isinstance(node, ast.Constant) and node.value is None):
        return None
    if isinstance(node, ast.Name) and syntax.name(node).lower() == "nan" and not syntax.is_quoted(node):
        syntax.fail(node, "NaN is no limit; write None, -inf or inf for no limit")
    if isinstance(node, ast.Name) and syntax.name(node) in ("Inf", "Infinity", "NULL") and not syntax.is_quoted(node):
        syntax.fail(node, f"{syntax.name(node)!r} is not part of the language; write inf, -inf or None for no limit")
    check_expression(syntax, node, limits)
    return expression(syntax, node)


def _bind(syntax: Syntax, node: ast.Call, parameters: tuple[str, ...]) -> dict[str, ast.expr]:
    """Arguments of a call by name."""
    function = called_name(syntax, node)
    given: dict[str, ast.expr] = {}
    for name, value in zip(parameters, node.args, strict=False):
        given[name] = value
    for keyword in node.keywords:
        if keyword.arg is None or keyword.arg not in parameters:
            if keyword.arg is None:
                syntax.fail(keyword, f"Arguments of {function}() are written out; '**' cannot stand here")
            close = nearest(keyword.arg, parameters)
            known = "" if close else f"; it has: {', '.join(parameters)}"
            syntax.fail(keyword, f"{function}() has no argument {keyword.arg!r}{close}{known}")
        if keyword.arg in given:
            syntax.fail(keyword, f"{keyword.arg}= is given twice")
        given[keyword.arg] = keyword.value
    for name, value in given.items():
        if isinstance(value, ast.Name) and syntax.name(value) in CONSTANTS and name in ("time", "event"):
            syntax.fail(value, f"{name} names a column; a column called {syntax.name(value)} is written in backticks")
    return given
