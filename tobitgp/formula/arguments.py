"""Arguments of calls, by position and by name."""

from __future__ import annotations

import ast
from collections.abc import Container, Mapping

from tobitgp.formula.expressions import Found, called_name, check_expression, expression
from tobitgp.formula.functions import CONSTANTS, nearest
from tobitgp.formula.spec import Expression
from tobitgp.formula.syntax import Syntax


def bind(syntax: Syntax, node: ast.Call, parameters: tuple[str, ...]) -> dict[str, ast.expr]:
    """Arguments of a call by name."""
    given = dict(zip(parameters, node.args, strict=False))
    return given | read_keywords(syntax, node, parameters, given=given)


def read_keywords(
    syntax: Syntax,
    node: ast.Call,
    known: tuple[str, ...],
    *,
    given: Container[str] = (),
    remedies: Mapping[str, str] | None = None,
) -> dict[str, ast.expr]:
    """Arguments of a call that are given by name."""
    function = called_name(syntax, node)
    found: dict[str, ast.expr] = {}
    for keyword in node.keywords:
        name = keyword.arg
        if name is None:
            syntax.fail(keyword, f"Arguments of {function}() are written out; '**' cannot stand here")
        if name in (remedies or {}):
            syntax.fail(keyword, (remedies or {})[name])
        if name not in known:
            close = nearest(name, known)
            listed = "" if close else f"; it has: {', '.join(known)}"
            syntax.fail(keyword, f"{function}() has no argument {name!r}{close}{listed}")
        if name in given:
            syntax.fail(keyword, f"{name}= is given twice")
        found[name] = keyword.value
    return found


def is_none(node: ast.expr) -> bool:
    """Tell whether ``None`` is written, as good as leaving the argument out."""
    return isinstance(node, ast.Constant) and node.value is None


def read_flag(syntax: Syntax, option: str, node: ast.expr) -> bool:
    """Read an argument that is ``True`` or ``False``."""
    if not (isinstance(node, ast.Constant) and isinstance(node.value, bool)):
        syntax.fail(node, f"{option}= is True or False")
    return node.value


def read_name(syntax: Syntax, node: ast.expr) -> str:
    """Read the label of a term."""
    name = node.value if isinstance(node, ast.Constant) else None
    if not isinstance(name, str) or not name.strip():
        syntax.fail(node, 'name= takes text in quotes, as in name="trend"')
    return name


def read_column(syntax: Syntax, node: ast.expr, found: Found, what: str) -> Expression:
    """Read an argument that must name a column."""
    if isinstance(node, ast.Name) and syntax.name(node) in CONSTANTS and not syntax.is_quoted(node):
        name = syntax.name(node)
        syntax.fail(node, f"{what} names a column; a column called {name} is written in backticks: `{name}`")
    before = len(found.names)
    check_expression(syntax, node, found)
    if len(found.names) == before:
        syntax.fail(node, f"{what} names a column, and {syntax.text(node)} names none")
    return expression(syntax, node)


def read_limit(syntax: Syntax, node: ast.expr | None, limits: Found) -> Expression | None:
    """Read one limit; None stands for no limit."""
    if node is None or (isinstance(node, ast.Constant) and node.value is None):
        return None
    if isinstance(node, ast.Name) and syntax.name(node).lower() == "nan" and not syntax.is_quoted(node):
        syntax.fail(node, "NaN is no limit; write None, -inf or inf for no limit")
    if isinstance(node, ast.Name) and syntax.name(node) in ("Inf", "Infinity", "NULL") and not syntax.is_quoted(node):
        syntax.fail(node, f"{syntax.name(node)!r} is not part of the language; write inf, -inf or None for no limit")
    check_expression(syntax, node, limits)
    return expression(syntax, node)
