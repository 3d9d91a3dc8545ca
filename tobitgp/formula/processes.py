"""Terms with a process in them, in every spelling."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from tobitgp.errors import FormulaError
from tobitgp.formula.aliases import read_alias
from tobitgp.formula.functions import PROCESSES
from tobitgp.formula.gp import ProcessFound, read_gp
from tobitgp.formula.groups import read_bar, read_re
from tobitgp.formula.products import name_node, read_product, refuse_combination
from tobitgp.formula.spec import GPTerm
from tobitgp.formula.syntax import Syntax, check_depth


def holds_process(syntax: Syntax, node: ast.expr) -> bool:
    """Tell whether a term is a process, a random intercept, or combines one with something by signs."""
    pending = [node]
    while pending:
        item = pending.pop()
        if isinstance(item, ast.BinOp):
            if isinstance(item.op, ast.BitOr):
                return True
            pending += [item.left, item.right]
        elif isinstance(item, ast.UnaryOp):
            pending.append(item.operand)
        elif syntax.called(item) in PROCESSES:
            return True
    return False


def read_process(syntax: Syntax, node: ast.expr, found: ProcessFound, taken: Sequence[str]) -> GPTerm:
    """Read a term for which :func:`holds_process` holds."""
    check_depth(syntax, node)
    before = len(found.inputs.names)
    term = _read(syntax, node, found)
    inputs = [name for name, _ in found.inputs.names[before:]]
    if term.by is not None and term.factors and term.by.text.strip("`") in inputs:
        message = f"The group {term.by.text} is an input of the same process; leave out one of the two"
        raise FormulaError(message, syntax.formula, term.by.start)
    _check_label(syntax, node, term, taken)
    return term


def _read(syntax: Syntax, node: ast.expr, found: ProcessFound) -> GPTerm:
    match node:
        case ast.BinOp(op=ast.MatMult()):
            return read_product(syntax, node, found)
        case ast.BinOp(op=ast.BitOr()):
            return read_bar(syntax, node, found.re)
        case ast.Call():
            name = syntax.called(node)
            if name == "gp":
                return read_gp(syntax, node, found)
            return read_re(syntax, node, found.re) if name == "re" else read_alias(syntax, node, found)
    refuse_combination(syntax, node)


def _check_label(syntax: Syntax, node: ast.expr, term: GPTerm, taken: Sequence[str]) -> None:
    """Refuse a label that another term has."""
    if term.name not in taken:
        return
    given = next((value for item in ast.walk(node) if isinstance(item, ast.Call) and (value := name_node(item))), None)
    remedy = 'give this one a name, as in gp(x, name="short")'
    if given is not None:
        remedy = "choose another"
    elif not term.factors:
        remedy = "leave one of them out"
    elif term.read_as:
        remedy = f'write {term.read_as[:-1]}, name="short") for this one'
    syntax.fail(given or node, f"There is already a term {term.name!r}; {remedy}")
