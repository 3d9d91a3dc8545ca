"""Linear terms: what may stand in them, and how many products they expand to."""

from __future__ import annotations

import ast
import math

from tobitgp.formula.expressions import Found, check_call, check_expression
from tobitgp.formula.functions import CONSTANTS
from tobitgp.formula.syntax import Syntax

MAX_PRODUCTS = 10_000


def count_products(syntax: Syntax, node: ast.expr, found: Found, n_others: int) -> int:
    """Check a linear term."""
    before = len(found.names)
    match node:
        case ast.Name():
            return _count_name(syntax, node, found, n_others)
        case ast.Call():
            check_call(syntax, node, found, linear=True)
            return _require_column(syntax, node, found, before)
        case ast.Set(elts=[inner]):
            check_expression(syntax, inner, found)
            return _require_column(syntax, node, found, before)
        case ast.BinOp(op=ast.Pow()):
            return _count_power(syntax, node, found, n_others)
        case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div() | ast.MatMult()):
            left = count_products(syntax, node.left, found, n_others)
            right = count_products(syntax, node.right, found, n_others)
            product = 0 if isinstance(node.op, ast.Add | ast.Sub) else left * right
            total = product + (0 if isinstance(node.op, ast.MatMult) else left + right)
            check_total(syntax, node, total)
            return total
        case ast.Constant():
            remedy = "arithmetic is written in I(), as in I(2 * x)"
            syntax.fail(node, f"{syntax.text(node)} cannot be combined with terms: 0 and 1 stand alone, {remedy}")
        case ast.UnaryOp():
            syntax.fail(node, "A sign stands only before a whole term; arithmetic is written in I(), as in I(-x)")
        case _:
            syntax.fail(node, "This is no term; arithmetic and comparisons are written in I(), as in I(x > 1)")


def _require_column(syntax: Syntax, node: ast.expr, found: Found, before: int) -> int:
    """Refuse a term that is the same number in every row."""
    if len(found.names) == before:
        syntax.fail(node, f"The term {syntax.text(node)} names no column; 1 is the intercept")
    return 1


def _count_name(syntax: Syntax, node: ast.Name, found: Found, n_others: int) -> int:
    if syntax.is_dot(node):
        return n_others
    name = syntax.name(node)
    if name in CONSTANTS and not syntax.is_quoted(node):
        syntax.fail(node, f"{name} is a number and no term; a column of that name is written `{name}`")
    found.names.append((name, syntax.span(node)[0]))
    return 1


def _count_power(syntax: Syntax, node: ast.BinOp, found: Found, n_others: int) -> int:
    exponent = node.right.value if isinstance(node.right, ast.Constant) else None
    if not isinstance(exponent, int) or isinstance(exponent, bool) or exponent < 1:
        syntax.fail(node.right, "The exponent of a sum of terms is a whole number from 1, as in (a + b)**2")
    if isinstance(node.left, ast.Name | ast.Call) and not syntax.is_dot(node.left):
        text = syntax.text(node.left)
        syntax.fail(node, f"The power of one term is the term itself; for the square write I({text}**2)")
    base = count_products(syntax, node.left, found, n_others)
    if base > 1 and exponent * math.log10(base) > 15:
        syntax.fail(
            node, f"This power would form {base}**{exponent} products of terms; at most {MAX_PRODUCTS:,} are formed"
        )
    total = int(base**exponent)
    check_total(syntax, node, total)
    return total


def check_total(syntax: Syntax, node: ast.expr, total: int) -> None:
    """Refuse more products than are ever formed."""
    if total > MAX_PRODUCTS:
        syntax.fail(node, f"The terms would expand to {total:,} products; at most {MAX_PRODUCTS:,} are formed")


def terms_names(syntax: Syntax, node: ast.expr) -> list[tuple[str, int]]:
    """Columns of a checked term with their places."""
    found = Found()
    count_products(syntax, node, found, 1)
    return found.names
