"""The whitelist: what may stand inside an expression, node by node."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

from tobitgp.formula.functions import CONSTANTS, FUNCTIONS, NOT_YET, PLACES, SPECIAL_TERMS, Function, nearest
from tobitgp.formula.spec import Expression
from tobitgp.formula.syntax import Syntax, check_depth

MAX_EXPONENT = 100
MAX_OPTION = 100

_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.Mod, ast.FloorDiv)
_COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_ALLOWED = "allowed are columns, numbers, arithmetic, comparisons and the functions of formula_functions()"
_BOUNDED = ("df", "degree", "ddof", "constraints")


@dataclass(slots=True)
class Found:
    """What a walk has met: columns with their places, those of dates, differences, and first arguments of ``C()``."""

    names: list[tuple[str, int]] = field(default_factory=list)
    dates: set[int] = field(default_factory=set)
    beside: dict[int, str] = field(default_factory=dict)
    codings: list[Expression] = field(default_factory=list)


def expression(syntax: Syntax, node: ast.expr) -> Expression:
    """Text and place of a node."""
    first, last = syntax.span(node)
    return Expression(syntax.formula[first:last], first, syntax.functions)


def check_expression(syntax: Syntax, node: ast.expr, found: Found, *, linear: bool = False) -> None:
    """Check an expression that is evaluated row by row."""
    check_depth(syntax, node)
    _check(syntax, node, found, linear)


def _check(syntax: Syntax, node: ast.expr, found: Found, linear: bool) -> None:
    match node:
        case ast.Constant():
            _check_number(syntax, node)
        case ast.Name():
            _check_name(syntax, node, found)
        case ast.UnaryOp(op=ast.USub() | ast.UAdd()):
            _check(syntax, node.operand, found, linear)
        case ast.BinOp(op=ast.MatMult()):
            syntax.fail(node, "':' makes an interaction of terms; inside an expression products are written a * b")
        case ast.BinOp(op=ast.BitOr()):
            syntax.fail(node, "'|' sets off the censoring at the end of the formula and cannot stand here")
        case ast.BinOp(op=op) if isinstance(op, _ARITHMETIC):
            if isinstance(op, ast.Pow):
                _check_power(syntax, node)
            if isinstance(op, ast.Sub) and isinstance(node.left, ast.Name) and isinstance(node.right, ast.Name):
                for side, other in ((node.left, node.right), (node.right, node.left)):
                    found.beside[syntax.span(side)[0]] = syntax.name(other)
            _check(syntax, node.left, found, linear)
            _check(syntax, node.right, found, linear)
        case ast.Compare():
            _check_comparison(syntax, node, found, linear)
        case ast.Call():
            check_call(syntax, node, found, linear=linear)
        case _:
            syntax.fail(node, f"This is not part of the language; {_ALLOWED}")


def _check_number(syntax: Syntax, node: ast.Constant) -> None:
    if isinstance(node.value, str):
        syntax.fail(node, f"A column is written without quotes: {node.value}")
    if not isinstance(node.value, bool | int | float):
        syntax.fail(node, f"{syntax.text(node)} cannot stand here; {_ALLOWED}")


def _check_name(syntax: Syntax, node: ast.Name, found: Found) -> None:
    name = syntax.name(node)
    if syntax.is_quoted(node) or name not in CONSTANTS:
        found.names.append((name, syntax.span(node)[0]))


def _check_comparison(syntax: Syntax, node: ast.Compare, found: Found, linear: bool) -> None:
    if len(node.ops) > 1:
        syntax.fail(node, "Comparisons cannot be chained; write (a < x) * (x < b)")
    if not isinstance(node.ops[0], _COMPARISONS):
        syntax.fail(node, f"This comparison is not part of the language; {_ALLOWED}")
    for side in (node.left, node.comparators[0]):
        if not (isinstance(side, ast.Constant) and isinstance(side.value, str)):
            _check(syntax, side, found, linear)


def _check_power(syntax: Syntax, node: ast.BinOp) -> None:
    """Refuse powers that could be computed to millions of digits."""
    if _has_columns(syntax, node.right):
        return
    exponent = None if any(isinstance(n, ast.Call) for n in ast.walk(node.right)) else constant_value(node.right)
    if exponent is None or abs(exponent) > MAX_EXPONENT:
        syntax.fail(
            node.right, f"An exponent is a number between -{MAX_EXPONENT} and {MAX_EXPONENT}, or holds a column"
        )
    if not _has_columns(syntax, node.left) and any(
        isinstance(n, ast.BinOp) and isinstance(n.op, ast.Pow) for n in ast.walk(node.left)
    ):
        syntax.fail(node, "Powers of powers of numbers are not computed; write the number")


def _has_columns(syntax: Syntax, node: ast.expr) -> bool:
    """Tell whether a column stands in a tree."""
    called = {id(n.func) for n in ast.walk(node) if isinstance(n, ast.Call)}
    return any(
        isinstance(n, ast.Name) and id(n) not in called and (syntax.is_quoted(n) or syntax.name(n) not in CONSTANTS)
        for n in ast.walk(node)
    )


def constant_value(node: ast.expr) -> float | None:
    """Value of a tree of plain numbers, ``pi`` and ``+ - * /``; None for anything else."""
    match node:
        case ast.Name(id="pi"):
            return CONSTANTS["pi"]
        case ast.Constant(value=int() | float()):
            return float(node.value)  # type: ignore[arg-type]
        case ast.UnaryOp(op=ast.USub()):
            inner = constant_value(node.operand)
            return None if inner is None else -inner
        case ast.UnaryOp(op=ast.UAdd()):
            return constant_value(node.operand)
        case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div()):
            left, right = constant_value(node.left), constant_value(node.right)
            if left is None or right is None:
                return None
            return _combine(node.op, left, right)
    return None


def _combine(op: ast.operator, left: float, right: float) -> float | None:
    if isinstance(op, ast.Add):
        return left + right
    if isinstance(op, ast.Sub):
        return left - right
    if isinstance(op, ast.Mult):
        return left * right
    return left / right if right != 0 else None


def called_name(syntax: Syntax, node: ast.Call) -> str:
    """Name of the function that is called."""
    if not isinstance(node.func, ast.Name):
        syntax.fail(node, "Only a function's plain name can be called")
    return syntax.name(node.func)


def check_call(syntax: Syntax, node: ast.Call, found: Found, *, linear: bool) -> None:
    """Check a call of a registered function with its arguments."""
    name = called_name(syntax, node)
    row = FUNCTIONS.get(name)
    if name in dict(syntax.functions):
        _check_own_call(syntax, node, name, found)
        return
    if name in NOT_YET:
        syntax.fail(node, NOT_YET[name])
    if name in SPECIAL_TERMS:
        syntax.fail(node, f"{name}(...) is a term by itself: it cannot stand in a call or be combined with other terms")
    if name in PLACES:
        syntax.fail(node, f"{name}(...) stands {PLACES[name]}")
    if row is None:
        own = [own for own, _ in syntax.functions]
        known = nearest(name, (*own, *FUNCTIONS, *SPECIAL_TERMS, *PLACES))
        allowed = known or f"; the functions are {', '.join((*own, *FUNCTIONS))}."
        remedy = f"One of your own is given beside the formula: functions={{'{name}': {name}}}"
        syntax.fail(node, f"There is no function {name!r}{allowed} {remedy}")
    if row.kind == "contrast":
        syntax.fail(node, f"{name} stands only inside C(), as in C(g, {name})")
    if row.kind != "array" and not linear:
        remedy = "gp() standardises its inputs itself" if row.kind == "basis" else "it makes columns of the linear part"
        syntax.fail(node, f"{name}(...) stands only in the linear part; {remedy}")
    if row.kind == "array":
        _check_array_call(syntax, node, name, row, found, linear)
    else:
        _check_linear_call(syntax, node, name, row, found)


def _check_array_call(syntax: Syntax, node: ast.Call, name: str, row: Function, found: Found, linear: bool) -> None:
    if node.keywords:
        syntax.fail(node.keywords[0], f"{name}() takes no named arguments")
    if len(node.args) != row.n_args:
        count = f"{row.n_args} argument{'s' if row.n_args > 1 else ''}"
        syntax.fail(node, f"{name}() takes {count}, not {len(node.args)}")
    if name == "decimal_year":
        if not isinstance(node.args[0], ast.Name):
            syntax.fail(node.args[0], "decimal_year() takes a column of dates, as in decimal_year(date)")
        found.dates.add(syntax.span(node.args[0])[0])
    for arg in node.args:
        _check(syntax, arg, found, linear)


def _check_own_call(syntax: Syntax, node: ast.Call, name: str, found: Found) -> None:
    """Check a call of a user's own function."""
    if node.keywords:
        syntax.fail(node.keywords[0], f"{name}() takes no named arguments here; its arguments are columns")
    if not node.args:
        syntax.fail(node, f"{name}() needs a column, as in {name}(x)")
    for arg in node.args:
        _check(syntax, arg, found, False)


def _check_linear_call(syntax: Syntax, node: ast.Call, name: str, row: Function, found: Found) -> None:
    """Check ``bs(x, ...)`` and ``C(g, ...)``: first an expression, then literals."""
    if not node.args:
        syntax.fail(node, f"{name}() needs a column first, as in {name}(x)")
    if name == "C":
        found.codings.append(expression(syntax, node.args[0]))
    _check(syntax, node.args[0], found, False)
    if len(node.args) > 1 + len(row.options):
        syntax.fail(
            node.args[1 + len(row.options)], f"{name}() takes no more arguments than x, {', '.join(row.options)}"
        )
    for option, value in zip(row.options, node.args[1:], strict=False):
        _check_option(syntax, name, option, value)
    for keyword in node.keywords:
        if keyword.arg not in row.options:
            known = ", ".join(row.options) or "none"
            syntax.fail(keyword, f"{name}() has no argument {keyword.arg!r}; it has: {known}")
        if keyword.arg in row.options[: len(node.args) - 1]:
            syntax.fail(keyword, f"{keyword.arg}= is given twice")
        _check_option(syntax, name, keyword.arg, keyword.value)


def _check_option(syntax: Syntax, function: str, option: str, node: ast.expr) -> None:
    """Check an argument after the first: a literal, or a contrast."""
    if option == "contrasts":
        _check_contrast(syntax, node)
        return
    values = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
    for value in values:
        literal = value.operand if isinstance(value, ast.UnaryOp) else value
        if not isinstance(literal, ast.Constant) or isinstance(literal.value, bytes | complex):
            syntax.fail(
                value, f"{option}= of {function}() takes plain values: numbers, text in quotes, True, False, None"
            )
        number: Any = literal.value
        if option in _BOUNDED and isinstance(number, int | float) and number > MAX_OPTION:
            syntax.fail(value, f"{option}= of {function}() is at most {MAX_OPTION}")


def _check_contrast(syntax: Syntax, node: ast.expr) -> None:
    contrasts = [name for name, row in FUNCTIONS.items() if row.kind == "contrast"]
    root = node.func if isinstance(node, ast.Call) else node
    name = syntax.name(root) if isinstance(root, ast.Name) else ""
    if name not in contrasts:
        syntax.fail(node, f"The second argument of C() is a contrast: {', '.join(contrasts)}")
    if not isinstance(node, ast.Call):
        return
    options = FUNCTIONS[name].options
    if len(node.args) > len(options):
        syntax.fail(node, f"{name}() takes at most {len(options)} argument(s)")
    for value in node.args:
        _check_option(syntax, name, options[0], value)
    for keyword in node.keywords:
        if keyword.arg not in options:
            syntax.fail(keyword, f"{name}() has no argument {keyword.arg!r}; it has: {', '.join(options) or 'none'}")
        _check_option(syntax, name, keyword.arg, keyword.value)
