"""Products with a process in them: ``gp(x):gp(z)``, ``gp(x):C(g)`` and ``z:gp(x)``."""

from __future__ import annotations

import ast
from typing import NoReturn

from tobitgp.formula.aliases import read_alias
from tobitgp.formula.expressions import called_name, check_expression, expression
from tobitgp.formula.functions import PROCESSES
from tobitgp.formula.gp import ProcessFound, default_label, label_of, read_gp
from tobitgp.formula.groups import read_group
from tobitgp.formula.spec import GPFactor, GPTerm
from tobitgp.formula.syntax import Syntax


def read_product(syntax: Syntax, node: ast.BinOp, found: ProcessFound) -> GPTerm:
    """Read a product of kernels, at most one of its leaves a group."""
    leaves = _leaves(node)
    parts = [_read_leaf(syntax, leaf, found) for leaf in leaves]
    named = [leaf for leaf in leaves if name_node(leaf) is not None]
    if len(named) > 1:
        syntax.fail(named[1], "A product has one name; leave out one name=")
    groups = [(leaf, part.by) for leaf, part in zip(leaves, parts, strict=True) if part.by is not None]
    if len(groups) > 1:
        remedy = "leave this one out, or make a column of both in the data first"
        syntax.fail(groups[1][0], f"A product has one group; {remedy}")
    factors: list[GPFactor] = []
    for leaf, part in zip(leaves, parts, strict=True):
        if any(_same(factor, other) for factor in part.factors for other in factors):
            syntax.fail(leaf, f"The factor {part.name} stands twice in one product; leave one of them out")
        factors += part.factors
    label = next((part.name for leaf, part in zip(leaves, parts, strict=True) if leaf in named), None)
    by = groups[0][1] if groups else None
    return GPTerm(tuple(factors), label or ":".join(_labels(parts)), by)


def refuse_combination(syntax: Syntax, node: ast.expr) -> NoReturn:
    """Say what to write instead of a process under any sign but ``+`` and ``:``."""
    if not isinstance(node, ast.BinOp) or isinstance(node.op, ast.Add | ast.Sub):
        syntax.fail(node, "A process cannot stand in brackets with '-'; take the brackets away")
    calls = [name for item in ast.walk(node) if (name := syntax.called(item))]
    if "re" in calls or any(isinstance(item, ast.BitOr) for item in ast.walk(node)):
        syntax.fail(node, "A random intercept is a term by itself, added by '+'; a curve for each group is gp(x, by=g)")
    simple = calls and not any(isinstance(side, ast.BinOp) for side in (node.left, node.right))
    left, right = (syntax.text(node.left), syntax.text(node.right)) if simple else ("gp(x)", "z")
    match node.op:
        case ast.Pow():
            syntax.fail(node, "A process has no powers; a product of two is written gp(x):gp(z)")
        case ast.Mult():
            remedy = f"write {left}:{right} for the product, or {left} + {right} + {left}:{right}"
            syntax.fail(node, f"'*' cannot stand beside a process; {remedy}")
        case ast.Div():
            syntax.fail(node, f"'/' cannot stand beside a process; write {left} + {left}:{right}")
    syntax.fail(node, "This sign cannot stand beside a process; processes are added by '+' and multiplied by ':'")


def name_node(node: ast.expr) -> ast.expr | None:
    """Find the value of ``name=`` in a call of a process."""
    keywords = node.keywords if isinstance(node, ast.Call) else []
    values = [item.value for item in keywords if item.arg == "name"]
    return next((value for value in values if not (isinstance(value, ast.Constant) and value.value is None)), None)


def _labels(parts: list[GPTerm]) -> list[str]:
    """Labels of the factors, no two the same."""
    names = [part.name for part in parts]
    return [
        default_label(part.inputs, part.by, kernel=part.factors[0].kernel)
        if names.count(part.name) > 1 and part.factors[0].kernel != "rbf"
        else part.name
        for part in parts
    ]


def _leaves(node: ast.expr) -> list[ast.expr]:
    """Factors of a product, from left to right."""
    leaves: list[ast.expr] = []
    pending = [node]
    while pending:
        item = pending.pop()
        if isinstance(item, ast.BinOp) and isinstance(item.op, ast.MatMult):
            pending += [item.right, item.left]
        else:
            leaves.append(item)
    return leaves


def _read_leaf(syntax: Syntax, node: ast.expr, found: ProcessFound) -> GPTerm:
    """Read one factor of a product."""
    name = called_name(syntax, node) if isinstance(node, ast.Call) else ""
    if isinstance(node, ast.Call) and name == "gp":
        return read_gp(syntax, node, found)
    if isinstance(node, ast.Call) and name == "C":
        return _read_coding(syntax, node, found)
    if isinstance(node, ast.Call) and name in PROCESSES:
        curve = "a curve for each group is gp(x, by=g)"
        remedy = curve if name == "re" else f"write {read_alias(syntax, node, found).read_as}"
        syntax.fail(node, f"{name}(...) cannot stand in a product; {remedy}")
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.Add | ast.Sub):
            syntax.fail(
                node, "A sum cannot stand in a product with a process; write the products out: z:gp(x) + w:gp(x)"
            )
        refuse_combination(syntax, node)
    return _read_slope(syntax, node, found)


def _read_coding(syntax: Syntax, node: ast.Call, found: ProcessFound) -> GPTerm:
    """Read ``C(g)``, a group."""
    if len(node.args) != 1 or node.keywords:
        syntax.fail(node, "In a product with a process, C() holds one column and nothing else: gp(x):C(g)")
    by = read_group(syntax, node.args[0], found.by, "C() in a product with a process")
    return GPTerm((), f"C({label_of(by)})", by)


def _read_slope(syntax: Syntax, node: ast.expr, found: ProcessFound) -> GPTerm:
    """Read a leaf without a process: its slope varies along the others."""
    if syntax.is_dot(node):
        syntax.fail(node, "'.' cannot stand in a product with a process; write the columns out")
    if isinstance(node, ast.UnaryOp):
        syntax.fail(node, "A sign stands only before a whole term; arithmetic is written in I(), as in I(-x)")
    inner = node.elts[0] if isinstance(node, ast.Set) and len(node.elts) == 1 else node
    before = len(found.inputs.names)
    check_expression(syntax, inner, found.inputs)
    item = expression(syntax, inner)
    if len(found.inputs.names) == before:
        syntax.fail(node, f"The factor {item.text} names no column; the height of a process is estimated anyway")
    return GPTerm((GPFactor((item,), "linear", True),), syntax.text(node) if inner is not node else label_of(item))


def _same(factor: GPFactor, other: GPFactor) -> bool:
    texts = [[label_of(item) for item in side.inputs] for side in (factor, other)]
    return texts[0] == texts[1] and (factor.kernel, factor.period) == (other.kernel, other.period)
