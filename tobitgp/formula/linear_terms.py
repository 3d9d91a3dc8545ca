"""Linear terms: how they are collected, checked, and written in formulaic's grammar."""

from __future__ import annotations

import ast
import keyword
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from tobitgp.formula.expressions import check_call, check_expression
from tobitgp.formula.functions import CONSTANTS, FUNCTIONS
from tobitgp.formula.spec import Expression, GPTerm, MixtureTerm
from tobitgp.formula.syntax import Syntax, check_depth, is_dot

MAX_PRODUCTS = 10_000


@dataclass(slots=True)
class LinearTerms:
    """The terms of a formula, as they are collected."""

    intercept: bool = True
    linear: list[tuple[int, ast.expr]] = field(default_factory=list)  # sign and tree of each linear term
    gps: list[GPTerm] = field(default_factory=list)
    offsets: list[Expression] = field(default_factory=list)
    removed: dict[int, str] = field(default_factory=dict)  # bare columns taken out by ``- x``, by their places
    mixture: MixtureTerm | None = None


def flatten(node: ast.expr) -> list[tuple[int, ast.expr]]:
    """Signed terms of a sum, from left to right."""
    terms: list[tuple[int, ast.expr]] = []
    stack = [(1, node, True)]
    while stack:
        sign, item, on_spine = stack.pop()
        if isinstance(item, ast.UnaryOp) and isinstance(item.op, ast.USub | ast.UAdd):
            stack.append((-sign if isinstance(item.op, ast.USub) else sign, item.operand, False))
        elif sign > 0 and isinstance(item, ast.BinOp) and isinstance(item.op, ast.Add):
            stack += [(1, item.right, False), (1, item.left, on_spine)]
        elif sign > 0 and on_spine and isinstance(item, ast.BinOp) and isinstance(item.op, ast.Sub):
            stack += [(-1, item.right, False), (1, item.left, True)]
        else:
            terms.append((sign, item))
    return terms


def read_constant(syntax: Syntax, node: ast.Constant) -> bool:
    """1 for the intercept, 0 for none."""
    if isinstance(node.value, str):
        syntax.fail(node, f"A column is written without quotes: {node.value}.")
    if node.value not in (0, 1) or isinstance(node.value, bool | float):
        syntax.fail(node, f"{syntax.text(node)} is not a term. 1 is the intercept, and 0 removes it.")
    return bool(node.value)


def check_linear(syntax: Syntax, terms: LinearTerms, others: Sequence[str]) -> None:
    """Check the linear terms and bound their expansion."""
    total = 0
    for sign, term in terms.linear:
        check_depth(syntax, term)
        met = len(syntax.variables)
        total += _count_products(syntax, term, len(others))
        if sign < 0 and isinstance(term, ast.Name):
            del syntax.variables[met:]
        _check_total(syntax, term, total)


def _count_products(syntax: Syntax, node: ast.expr, n_others: int) -> int:
    """Check a linear term."""
    met = len(syntax.variables)
    match node:
        case ast.Name():
            if is_dot(node):
                return n_others
            if syntax.is_constant(node):
                name = node.id
                syntax.fail(node, f"{name} is a number and no term; a column of that name is written `{name}`.")
            syntax.meet(node, "linear")
            return 1
        case ast.Call():
            check_call(syntax, node, "linear", linear=True)
        case ast.Set(elts=[inner]):
            check_expression(syntax, inner, "linear")
        case ast.BinOp(op=ast.Pow()):
            return _count_power(syntax, node, n_others)
        case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div() | ast.MatMult()):
            left, right = (_count_products(syntax, side, n_others) for side in (node.left, node.right))
            product = 0 if isinstance(node.op, ast.Add | ast.Sub) else left * right
            total = product + (0 if isinstance(node.op, ast.MatMult) else left + right)
            _check_total(syntax, node, total)
            return total
        case ast.Constant():
            remedy = "arithmetic is written in I(), as in I(2 * x)"
            syntax.fail(
                node, f"{syntax.text(node)} cannot be combined with terms: 0 and 1 are separate terms, {remedy}."
            )
        case ast.UnaryOp():
            syntax.fail(node, "A sign is supported only before a whole term. Write arithmetic in I(), as in I(-x).")
        case _:
            syntax.fail(node, "This is not a term. Write arithmetic and comparisons in I(), as in I(x > 1).")
    if len(syntax.variables) == met:
        syntax.fail(node, f"The term {syntax.text(node)} names no column; 1 is the intercept.")
    return 1


def _count_power(syntax: Syntax, node: ast.BinOp, n_others: int) -> int:
    exponent = node.right.value if isinstance(node.right, ast.Constant) else None
    if not isinstance(exponent, int) or isinstance(exponent, bool) or exponent < 1:
        syntax.fail(node.right, "The exponent of a sum of terms is a whole number from 1, as in (a + b)**2.")
    if isinstance(node.left, ast.Name | ast.Call) and not is_dot(node.left):
        text = syntax.text(node.left)
        syntax.fail(node, f"The power of one term is the term itself; for the square write I({text}**2).")
    base = _count_products(syntax, node.left, n_others)
    if base > 1 and exponent * math.log10(base) > 15:
        what = f"This power would form {base}**{exponent} products of terms"
        syntax.fail(node, f"{what}; at most {MAX_PRODUCTS:,} are formed.")
    total = int(base**exponent)
    _check_total(syntax, node, total)
    return total


def _check_total(syntax: Syntax, node: ast.expr, total: int) -> None:
    if total > MAX_PRODUCTS:
        syntax.fail(node, f"The terms would expand to {total:,} products; at most {MAX_PRODUCTS:,} are formed.")


def linear_text(syntax: Syntax, terms: LinearTerms, others: Sequence[str]) -> str:
    """Write the checked linear terms in formulaic's grammar, intercept first."""
    text = "1" if terms.intercept else "0"
    columns = {v.start for v in syntax.variables if v.role == "linear"} | set(terms.removed)
    for sign, term in terms.linear:
        written = _rewrite(syntax, term, columns, others)
        if isinstance(term, ast.BinOp) and isinstance(term.op, ast.Add | ast.Sub):
            written = f"({written})"
        text += f" {'+' if sign > 0 else '-'} {written}"
    return text


def _rewrite(syntax: Syntax, node: ast.expr, columns: set[int], others: Sequence[str]) -> str:
    """Text of a term with ``.`` written out and unusual column names in backticks."""
    first, last = syntax.span(node)
    text, end = "", first
    for token in syntax.tokens:
        if not first <= token.start < last:
            continue
        written = token.text
        if token.role == "dot":
            written = f"({' + '.join(spelled(name, syntax.own) for name in others)})"
        elif token.start in columns:
            written = spelled(written.strip("`"), syntax.own)
        gap = " " if text and token.start > end and token.role != "call" else ""
        text, end = text + gap + written, token.end
    return text


def plain_columns(syntax: Syntax, terms: LinearTerms, others: Sequence[str]) -> tuple[str, ...] | None:
    """Columns of a linear part that holds nothing but bare columns, else None."""
    names: list[str] = []
    for sign, term in terms.linear:
        if not isinstance(term, ast.Name):
            return None
        if sign > 0:
            names.extend(others if is_dot(term) else [term.id])
    return tuple(name for name in dict.fromkeys(names) if name not in terms.removed.values())


def main_effects(syntax: Syntax, terms: LinearTerms) -> set[str]:
    """Labels of the linear terms that occur alone, or in a product that also includes its factors."""
    found, pending = set[str](), [term for sign, term in terms.linear if sign > 0]
    while pending:
        match pending.pop():
            case ast.BinOp(left=left, op=ast.Add() | ast.Mult(), right=right):
                pending += [left, right]
            case ast.BinOp(left=left, op=ast.Sub() | ast.Div() | ast.Pow()):
                pending.append(left)
            case node if not is_dot(node):
                found.add(syntax.expression(node).label)
    return found.difference(terms.removed.values())


def spelled(name: str, own: Sequence[str] = ()) -> str:
    """Write a column's name so that formulaic reads it safely, given a user's own functions."""
    safe = name.isascii() and name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("__")
    return name if safe and name not in own and name not in FUNCTIONS and name not in CONSTANTS else f"`{name}`"


def mentions(text: str, column: str) -> bool:
    """Whether an expression uses a column."""
    if text == column or f"`{column}`" in text:
        return True
    return re.search(rf"(?<![\w.]){re.escape(column)}(?![\w.])", re.sub(r"`[^`]*`", "", text)) is not None
