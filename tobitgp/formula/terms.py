"""The terms right of ``~``: what is linear, what is a Gaussian process, what is an offset."""

from __future__ import annotations

import ast
import keyword
from collections.abc import Sequence
from dataclasses import dataclass, field

from tobitgp.formula.expansion import check_total, count_products, terms_names
from tobitgp.formula.expressions import Found, check_expression, expression
from tobitgp.formula.functions import CONSTANTS, FUNCTIONS
from tobitgp.formula.gp import ProcessFound
from tobitgp.formula.mixture import read_mixture
from tobitgp.formula.processes import holds_process, read_process
from tobitgp.formula.spec import Expression, GPTerm, MixtureTerm
from tobitgp.formula.syntax import Syntax, check_depth


@dataclass(slots=True)
class Terms:
    """The terms of a formula, as they are collected."""

    intercept: bool = True
    linear: list[tuple[int, ast.expr]] = field(default_factory=list)  # sign and tree of each linear term
    gps: list[GPTerm] = field(default_factory=list)
    offsets: list[Expression] = field(default_factory=list)
    removed: list[tuple[str, int]] = field(default_factory=list)  # bare columns taken out by ``- x``, with their places
    found_linear: Found = field(default_factory=Found)
    found_process: ProcessFound = field(default_factory=ProcessFound)
    found_offset: Found = field(default_factory=Found)
    mixture: MixtureTerm | None = None


def split_parts(syntax: Syntax) -> tuple[ast.expr, list[ast.expr]]:
    """Cut the right-hand side at its top-level ``|``: the terms, then the other parts."""
    node, parts = syntax.tree, []
    if syntax.span(node)[0] != syntax.tokens[0].start:
        return node, []
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        parts.append(node.right)
        grouped = node.left.col_offset != node.col_offset
        node = node.left
        if grouped:
            break
    return node, parts[::-1]


def read_terms(syntax: Syntax, node: ast.expr) -> Terms:
    """Sort the terms, checking all but those that stand for other columns."""
    terms, signed = Terms(), _flatten(node)
    mixed = [term for _, term in signed if syntax.called(term) == "mixture"]
    if mixed:
        terms.mixture, terms.intercept = _read_lone_mixture(syntax, mixed[0], signed), False
        return terms
    for sign, term in signed:
        if isinstance(term, ast.Constant):
            terms.intercept = _read_constant(syntax, term) == (sign > 0)
            continue
        name = syntax.called(term)
        process = holds_process(syntax, term)
        if (process or name == "offset") and sign < 0:
            what = f"{name}(...)" if name else "A process"
            syntax.fail(term, f"{what} cannot be taken out with '-'{'' if process else '; write offset(-x)'}")
        if process:
            taken = [gp.name for gp in terms.gps]
            terms.gps.append(read_process(syntax, term, terms.found_process, taken))
        elif name == "offset":
            assert isinstance(term, ast.Call)
            terms.offsets.append(_read_offset(syntax, term, terms.found_offset))
        elif sign < 0 and isinstance(term, ast.Name) and not syntax.is_dot(term):
            terms.removed.append((syntax.name(term), syntax.span(term)[0]))
            terms.linear.append((sign, term))
        else:
            terms.linear.append((sign, term))
    return terms


def check_linear(syntax: Syntax, terms: Terms, others: Sequence[str]) -> None:
    """Check the linear terms and bound their expansion."""
    total = 0
    for sign, term in terms.linear:
        check_depth(syntax, term)
        found = Found() if sign < 0 and isinstance(term, ast.Name) else terms.found_linear
        total += count_products(syntax, term, found, len(others))
        check_total(syntax, term, total)


def linear_text(syntax: Syntax, terms: Terms, others: Sequence[str]) -> str:
    """Write the linear part in formulaic's grammar, intercept first."""
    pieces = ["1" if terms.intercept else "0"]
    for sign, term in terms.linear:
        text = _rewrite(syntax, term, others)
        if isinstance(term, ast.BinOp) and isinstance(term.op, ast.Add | ast.Sub):
            text = f"({text})"
        pieces.append(f"{'+' if sign > 0 else '-'} {text}")
    return " ".join(pieces)


def plain_columns(syntax: Syntax, terms: Terms, others: Sequence[str]) -> tuple[str, ...] | None:
    """Columns of a linear part that holds nothing but bare columns, else None."""
    names: list[str] = []
    removed = {name for name, _ in terms.removed}
    for sign, term in terms.linear:
        if not isinstance(term, ast.Name):
            return None
        if sign > 0:
            names.extend(others if syntax.is_dot(term) else [syntax.name(term)])
    return tuple(name for name in dict.fromkeys(names) if name not in removed)


def _flatten(node: ast.expr) -> list[tuple[int, ast.expr]]:
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


def _read_lone_mixture(syntax: Syntax, node: ast.expr, signed: list[tuple[int, ast.expr]]) -> MixtureTerm:
    """Read a mixture that has the right-hand side for itself."""
    assert isinstance(node, ast.Call)
    for sign, term in signed:
        if term is not node:
            reason = "components whose means or weights depend on covariates are not offered"
            syntax.fail(term, f"mixture(...) stands alone right of '~'; {reason}, so leave {syntax.text(term)} out")
        if sign < 0:
            syntax.fail(term, "mixture(...) cannot be taken out with '-'")
    return read_mixture(syntax, node)


def _read_constant(syntax: Syntax, node: ast.Constant) -> bool:
    """1 for the intercept, 0 for none."""
    if isinstance(node.value, str):
        syntax.fail(node, f"A column is written without quotes: {node.value}")
    if node.value not in (0, 1) or isinstance(node.value, bool | float):
        syntax.fail(node, f"{syntax.text(node)} alone is no term; 1 is the intercept, 0 takes it out")
    return bool(node.value)


def _read_offset(syntax: Syntax, node: ast.Call, found: Found) -> Expression:
    if len(node.args) != 1 or node.keywords:
        syntax.fail(node, "offset() takes one expression, as in offset(log(exposure))")
    check_expression(syntax, node.args[0], found)
    return expression(syntax, node.args[0])


def _rewrite(syntax: Syntax, node: ast.expr, others: Sequence[str]) -> str:
    """Text of a term with ``.`` written out and unusual column names in backticks."""
    first, last = syntax.span(node)
    columns = {start for _, start in terms_names(syntax, node)}
    own = [name for name, _ in syntax.functions]
    pieces: list[str] = []
    end = first
    for token in syntax.tokens:
        if not first <= token.start < last:
            continue
        text = token.text
        if token.role == "dot":
            text = f"({' + '.join(spelled(name, own) for name in others)})"
        elif token.start in columns:
            text = spelled(text.strip("`"), own)
        gap = " " if pieces and token.start > end and token.role != "call" else ""
        pieces.append(gap + text)
        end = token.end
    return "".join(pieces)


def spelled(name: str, own: Sequence[str] = ()) -> str:
    """Write a column's name so that formulaic reads it safely, beside a user's own functions."""
    safe = name.isascii() and name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("__")
    return name if safe and name not in own and name not in FUNCTIONS and name not in CONSTANTS else f"`{name}`"
