"""Arguments of ``Surv``, ``interval``, ``censor`` and ``truncate``."""

from __future__ import annotations

import ast

from tobitgp.formula.expressions import Found, called_name, check_expression, expression
from tobitgp.formula.functions import CONSTANTS, nearest
from tobitgp.formula.spec import Expression
from tobitgp.formula.syntax import Syntax


def bind(syntax: Syntax, node: ast.Call, parameters: tuple[str, ...]) -> dict[str, ast.expr]:
    """Arguments of a call by name.

    Parameters
    ----------
    syntax : Syntax
    node : ast.Call
        With no more positional arguments than there are parameters.
    parameters : tuple of str
        In the order in which they may be given without a name.

    Returns
    -------
    dict of ast.expr

    Raises
    ------
    FormulaError
        For unknown names, and arguments given twice.
    """
    function = called_name(syntax, node)
    given = dict(zip(parameters, node.args, strict=False))
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
    return given


def read_column(syntax: Syntax, node: ast.expr, found: Found, what: str) -> Expression:
    """Read an argument that must name a column.

    Parameters
    ----------
    syntax : Syntax
    node : ast.expr
    found : Found
        Its columns are added here.
    what : str
        Start of the message when it names none.

    Returns
    -------
    Expression
    """
    if isinstance(node, ast.Name) and syntax.name(node) in CONSTANTS and not syntax.is_quoted(node):
        name = syntax.name(node)
        syntax.fail(node, f"{what} names a column; a column called {name} is written in backticks: `{name}`")
    before = len(found.names)
    check_expression(syntax, node, found)
    if len(found.names) == before:
        syntax.fail(node, f"{what} names a column, and {syntax.text(node)} names none")
    return expression(syntax, node)


def read_limit(syntax: Syntax, node: ast.expr | None, limits: Found) -> Expression | None:
    """Read one limit; None stands for no limit.

    Parameters
    ----------
    syntax : Syntax
    node : ast.expr or None
    limits : Found
        Its columns are added here.

    Returns
    -------
    Expression or None
    """
    if node is None or (isinstance(node, ast.Constant) and node.value is None):
        return None
    if isinstance(node, ast.Name) and syntax.name(node).lower() == "nan" and not syntax.is_quoted(node):
        syntax.fail(node, "NaN is no limit; write None, -inf or inf for no limit")
    if isinstance(node, ast.Name) and syntax.name(node) in ("Inf", "Infinity", "NULL") and not syntax.is_quoted(node):
        syntax.fail(node, f"{syntax.name(node)!r} is not part of the language; write inf, -inf or None for no limit")
    check_expression(syntax, node, limits)
    return expression(syntax, node)
