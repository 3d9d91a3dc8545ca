"""Random effects: ``re(g)``, ``(1 + z | g)``, ``(z || g)`` and ``(1 | a/b)``."""

from __future__ import annotations

import ast
from dataclasses import replace

from tobitgp.formula.expressions import read_group, read_name, read_options
from tobitgp.formula.functions import PLACES, PROCESSES
from tobitgp.formula.linear_terms import LinearTerms, check_linear, flatten, linear_text, plain_columns, read_constant
from tobitgp.formula.spec import EffectsPart, Expression, GPTerm
from tobitgp.formula.syntax import Syntax, called, is_dot, operands

_INTERCEPT = "before '|', write 1 for the random intercept, and columns with random slopes, as in (1 + z | g)"


def read_re(syntax: Syntax, node: ast.Call) -> GPTerm:
    """Read ``re(g, name=)``."""
    options = read_options(syntax, node, ("name",), {"by": "re() has no by=; write gp(x, by=g)"})
    if not node.args:
        syntax.fail(node, "re() needs a column of groups, as in re(g).")
    if len(node.args) > 1:
        g, h = (syntax.text(arg) for arg in node.args[:2])
        syntax.fail(node.args[1], f"re() takes one column; a group of two is written (1 | {g}:{h}).")
    by = read_group(syntax, node.args[0], "re", "re()")
    return GPTerm((), read_name(syntax, options["name"]) if "name" in options else _label(by.label), by)


def _label(group: str) -> str:
    return f"re({group})"


def read_bar(syntax: Syntax, node: ast.BinOp) -> list[GPTerm]:
    """Read ``(1 + z | g)``; several terms where groups are nested. ``||`` leaves out correlations."""
    left = node.left
    if isinstance(left, ast.BinOp) and isinstance(left.op, ast.BitOr | ast.BitXor):
        remedy = f"write ({syntax.text(left.left)} | {syntax.text(node.right)})"
        syntax.fail(left.right, f"One '|' sets off the group; {remedy}.")
    groups, columns = _read_groups(syntax, node.right), _read_columns(syntax, left)
    alone = columns.linear == "1"
    terms = []
    for by, crossed in groups:
        group = ":".join(part.label for part in crossed) or by.label
        label = _label(group if columns.intercept else f"{columns.linear} | {group}")
        effects = None if alone else columns
        terms.append(GPTerm((), label, by, effects=effects, correlated=isinstance(node.op, ast.BitOr), crossed=crossed))
    return terms


def _read_groups(syntax: Syntax, node: ast.expr) -> list[tuple[Expression, tuple[Expression, ...]]]:
    """The groups right of the bar, each with the columns that make it up where these are several."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        outer, parts = _read_groups(syntax, node.left), _read_crossed(syntax, node.right)
        by, crossed = outer[-1]
        twice = next((part for part in parts if part.label in [other.label for other in crossed or (by,)]), None)
        if twice is not None:
            syntax.fail(node.right, f"The group {twice.label} occurs twice. Leave one of them out.")
        parts = (*(crossed or (by,)), *parts)
        return [*outer, (replace(by, text=":".join(part.text for part in parts)), parts)]
    parts = _read_crossed(syntax, node)
    if len(parts) == 1:
        return [(parts[0], ())]
    return [(replace(parts[0], text=":".join(part.text for part in parts)), parts)]


def _read_crossed(syntax: Syntax, node: ast.expr) -> tuple[Expression, ...]:
    """The columns of ``a:b``."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mult):
        a, b = syntax.text(node.left), syntax.text(node.right)
        also = f" + (1 | {a}:{b})" if isinstance(node.op, ast.Mult) else ""
        syntax.fail(node, f"Crossed groups must be separate terms. Write (1 | {a}) + (1 | {b}){also}.")
    found = []
    for part in operands(node, ast.MatMult):
        if called(part) in PLACES:
            syntax.fail(part, f"{called(part)}(...) must be {PLACES[called(part)]}, outside brackets.")
        found.append(read_group(syntax, part, "re", "A random effect"))
        if any(found[-1].label == other.label for other in found[:-1]):
            syntax.fail(part, f"The group {found[-1].label} occurs twice. Leave one of them out.")
    return tuple(found)


def _read_columns(syntax: Syntax, node: ast.expr) -> EffectsPart:
    """The columns whose coefficients differ between groups, as a linear part."""
    met, coded = len(syntax.variables), len(syntax.codings)
    terms = LinearTerms()
    for sign, term in flatten(node):
        if isinstance(term, ast.Constant):
            terms.intercept = read_constant(syntax, term) == (sign > 0)
            continue
        _refuse_others(syntax, term)
        terms.linear.append((sign, term))
    check_linear(syntax, terms, ())
    own = syntax.variables[met:]
    text = linear_text(syntax, terms, ())
    if text == "0":
        syntax.fail(node, f"Nothing differs between the groups; {_INTERCEPT}.")
    part = EffectsPart(
        formula=syntax.text(node),
        linear=text,
        variables=tuple({v.name: v for v in own}.values()),
        plain=plain_columns(syntax, terms, ()),
        codings=tuple(syntax.codings[coded:]),
        functions=syntax.functions,
    )
    del syntax.codings[coded:]
    syntax.variables[met:] = [replace(v, role="slope") for v in own]
    return part


def _refuse_others(syntax: Syntax, term: ast.expr) -> None:
    name = called(term)
    if name in (*PROCESSES, "offset", "mixture"):
        remedy = "a curve for each group is gp(x, by=g)" if name in PROCESSES else _INTERCEPT
        syntax.fail(term, f"{name}(...) is not supported in a random effect; {remedy}.")
    if any(is_dot(item) for item in ast.walk(term)):
        syntax.fail(term, "'.' is not supported in a random effect. Write the columns out.")
