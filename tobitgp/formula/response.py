"""The response left of ``~``."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import NoReturn

from tobitgp.formula.arguments import bind
from tobitgp.formula.expressions import Found, called_name, check_expression, expression
from tobitgp.formula.functions import NOT_YET
from tobitgp.formula.spec import Expression, ResponseSpec
from tobitgp.formula.surv import read_surv
from tobitgp.formula.syntax import Syntax


@dataclass(slots=True)
class ResponseFound:
    """Columns of the response and its censoring, as they are collected."""

    values: Found = field(default_factory=Found)  # one for each role of a column
    events: Found = field(default_factory=Found)  # one for each role of a column
    bounds: Found = field(default_factory=Found)  # one for each role of a column
    limits: Found = field(default_factory=Found)  # one for each role of a column
    window: Found = field(default_factory=Found)  # one for each role of a column


def read_response(syntax: Syntax, found: ResponseFound) -> tuple[ResponseSpec, Expression | None]:
    """Read the left-hand side."""
    node = syntax.tree
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        _refuse_bar(syntax, node.right)
    if isinstance(node, ast.Call) and called_name(syntax, node) == "Surv":
        return read_surv(syntax, node, found.values, found.events, found.bounds, found.window)
    if isinstance(node, ast.Call) and called_name(syntax, node) == "interval":
        return _read_interval(syntax, node, found.bounds), None
    if isinstance(node, ast.Tuple):
        syntax.fail(node.elts[1] if len(node.elts) > 1 else node, "A model has one response")
    _refuse_comparison(syntax, node)
    check_expression(syntax, node, found.values)
    if not found.values.names:
        syntax.fail(node, "The response names no column")
    _refuse_sum(syntax, node)
    return ResponseSpec("value", expression(syntax, node), label=syntax.text(node)), None


def _refuse_bar(syntax: Syntax, node: ast.expr) -> NoReturn:
    """Say where that stands which brms writes behind the response, as in ``y | cens(status) + trunc(lb = 0)``."""
    for item in ast.walk(node):
        if isinstance(item, ast.Call) and syntax.called(item) in NOT_YET:
            syntax.fail(item, f"Nothing stands behind '|' left of '~'. {NOT_YET[syntax.called(item)]}")
    syntax.fail(node, "Nothing stands behind '|' left of '~'; censoring is written y ~ ... | censor(lower, upper)")


def _refuse_comparison(syntax: Syntax, node: ast.expr) -> None:
    """Say what is written instead of ``y > 0 ~ x``."""
    if not isinstance(node, ast.Compare):
        return
    limit, value = syntax.text(node.comparators[0]), syntax.text(node.left)
    words = f"write {value} ~ x, with | censor({limit}) where it is a limit; predict(what='prob', above={limit})"
    syntax.fail(node, f"The response is a number, not a comparison; {words} gives the probability")


def _refuse_sum(syntax: Syntax, node: ast.expr) -> None:
    """Say what is written instead of ``y + time ~ x``; a sum that is meant stands in ``I()``."""
    match node:
        case ast.BinOp(op=ast.Add(), left=ast.Name(), right=ast.Name()):
            left, right = syntax.text(node.left), syntax.text(node.right)
            remedy = f"Surv({left}, {right}) is a time with its event, I({left} + {right}) the sum of two columns"
            syntax.fail(node, f"A model has one response; {remedy}")


def _read_interval(syntax: Syntax, node: ast.Call, bounds: Found) -> ResponseSpec:
    if len(node.args) > 2:
        syntax.fail(node.args[2], "interval() takes two ends: interval(lo, hi)")
    given = bind(syntax, node, ("lo", "hi"))
    if len(given) < 2:
        syntax.fail(node, "interval() takes two ends, interval(lo, hi); an open end is -inf or inf")
    for end in ("lo", "hi"):
        check_expression(syntax, given[end], bounds)
    if not bounds.names:
        syntax.fail(node, "interval(lo, hi) names no column")
    low, high = (expression(syntax, given[end]) for end in ("lo", "hi"))
    return ResponseSpec("interval", low, upper=high, label=syntax.text(node))
