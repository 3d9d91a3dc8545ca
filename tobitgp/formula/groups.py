"""Groups: the column of ``by=`` and ``C(g)``, and random intercepts ``re(g)`` and ``(1 | g)``."""

from __future__ import annotations

import ast

from tobitgp.formula.arguments import is_none, read_keywords, read_name
from tobitgp.formula.expressions import Found, called_name, expression
from tobitgp.formula.functions import CONSTANTS, PLACES
from tobitgp.formula.spec import Expression, GPTerm
from tobitgp.formula.syntax import Syntax


def read_group(syntax: Syntax, node: ast.expr, found: Found, what: str) -> Expression:
    """Read a group, which is a bare column."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        syntax.fail(node, f"A column is written without quotes: {node.value}")
    if isinstance(node, ast.Name) and not syntax.is_dot(node):
        name = syntax.name(node)
        if name in CONSTANTS and not syntax.is_quoted(node):
            syntax.fail(node, f"{name} is a number; a column of that name is written `{name}`")
        found.names.append((name, syntax.span(node)[0]))
        return expression(syntax, node)
    if isinstance(node, ast.Call) and called_name(syntax, node) == "C" and node.args:
        syntax.fail(node, f"{what} takes the column itself: write {syntax.text(node.args[0])} without C()")
    syntax.fail(node, f"{what} takes one column by its name; make the column in the data first")


def read_re(syntax: Syntax, node: ast.Call, found: Found) -> GPTerm:
    """Read ``re(g, name=)``."""
    options = read_keywords(syntax, node, ("name",), remedies={"by": "re() has no by=; write gp(x, by=g)"})
    if not node.args:
        syntax.fail(node, "re() needs a column of groups, as in re(g)")
    if len(node.args) > 1:
        syntax.fail(node.args[1], f"re() takes one column; {_column_of_both(syntax, node.args[0], node.args[1])}")
    by = read_group(syntax, node.args[0], found, "re()")
    given = "name" in options and not is_none(options["name"])
    return GPTerm((), read_name(syntax, options["name"]) if given else _label(by), by)


def read_bar(syntax: Syntax, node: ast.BinOp, found: Found) -> GPTerm:
    """Read ``(1 | g)``."""
    left, right = node.left, node.right
    match right:
        case ast.Call(func=ast.Name()) if called_name(syntax, right) in PLACES:
            name = called_name(syntax, right)
            syntax.fail(right, f"{name}(...) stands {PLACES[name]}, outside brackets")
        case ast.BinOp(op=ast.Div() | ast.MatMult() | ast.Mult()):
            also = f"re({syntax.text(right.left)}) + " if isinstance(right.op, ast.Div) else ""
            syntax.fail(right, f"A group is one column; {_column_of_both(syntax, right.left, right.right, also)}")
        case ast.BinOp(op=ast.Add()):
            remedy = f"write (1 | {syntax.text(right.left)}) + (1 | {syntax.text(right.right)})"
            syntax.fail(right, f"A group is one column; {remedy}")
    group = syntax.text(right)
    if isinstance(left, ast.BinOp) and isinstance(left.op, ast.BitOr):
        syntax.fail(left.right, f"One '|' sets off the group; write (1 | {group})")
    if not (isinstance(left, ast.Constant) and left.value == 1 and type(left.value) is int):
        _refuse_slopes(syntax, left, group)
    by = read_group(syntax, right, found, "A random intercept")
    return GPTerm((), _label(by), by)


def _label(by: Expression) -> str:
    return f"re({by.text.strip('`')})"


def _refuse_slopes(syntax: Syntax, node: ast.expr, group: str) -> None:
    """Say what can be had instead of ``(1 + z | g)``."""
    slopes: list[str] = []
    pending = [node]
    while pending:
        item = pending.pop()
        if isinstance(item, ast.BinOp) and isinstance(item.op, ast.Sub) and isinstance(item.right, ast.Constant):
            pending.append(item.left)
        elif isinstance(item, ast.BinOp) and isinstance(item.op, ast.Add):
            pending += [item.right, item.left]
        elif not isinstance(item, ast.Constant | ast.UnaryOp):
            slopes.append(syntax.text(item))
    if not slopes:
        syntax.fail(node, f"Left of '|' stands 1, the random intercept: (1 | {group})")
    remedy = f"{' + '.join(slopes)} + (1 | {group}) has a slope common to all groups"
    syntax.fail(node, f"Random slopes are not offered yet; {remedy}")


def _column_of_both(syntax: Syntax, first: ast.expr, second: ast.expr, also: str = "") -> str:
    """Remedy for a group of two columns."""
    names = [syntax.name(side) if isinstance(side, ast.Name) else "" for side in (first, second)]
    g, h = names if all(name.isidentifier() for name in names) else ("g", "h")
    both = f'df["{g}{h}"] = df["{g}"].astype(str) + "/" + df["{h}"].astype(str)'
    return f"make a column of both, {both}, and write {also}re({g}{h})"
