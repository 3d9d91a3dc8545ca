"""The whitelist: which nodes are allowed in an expression, and in the arguments of calls."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

from tobitgp.formula.functions import CONSTANTS, FUNCTIONS, NOT_YET, PLACES, SPECIAL_TERMS, Function, nearest
from tobitgp.formula.spec import Expression, Role
from tobitgp.formula.syntax import Syntax, called, check_depth, is_dot, names_in, operands

MAX_EXPONENT = 100
MAX_OPTION = 100

_ARITHMETIC: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_OPERATORS = (*_ARITHMETIC, ast.Pow, ast.Mod, ast.FloorDiv)
_COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_ALLOWED = "allowed are columns, numbers, arithmetic, comparisons and the functions of formula_functions()"
_BOUNDED = ("df", "degree", "ddof", "constraints")


# -- expressions --------------------------------------------------------------------------------------------------


def check_expression(syntax: Syntax, node: ast.expr, role: Role) -> bool:
    """Check an expression that is evaluated row by row; tell whether it names a column."""
    check_depth(syntax, node)
    before = len(syntax.variables)
    _check(syntax, node, role)
    return len(syntax.variables) > before


def _check(syntax: Syntax, node: ast.expr, role: Role, linear: bool = False) -> None:
    match node:
        case ast.Constant(value=str()):
            _refuse_quotes(syntax, node)
        case ast.Constant(value=bool() | int() | float()):
            return
        case ast.Constant():
            syntax.fail(node, f"{syntax.text(node)} is not supported here; {_ALLOWED}.")
        case ast.Name():
            syntax.meet(node, role)
        case ast.UnaryOp(op=ast.USub() | ast.UAdd()):
            _check(syntax, node.operand, role, linear)
        case ast.BinOp(op=ast.MatMult()):
            syntax.fail(node, "':' makes an interaction of terms; inside an expression products are written a * b.")
        case ast.BinOp(op=ast.BitOr()):
            either = (
                f"; for either of two conditions, write {_either(syntax, node)}" if _holds_comparisons(node) else ""
            )
            syntax.fail(node, f"'|' separates the censoring from the terms, and is not supported here{either}.")
        case ast.BinOp(op=ast.Sub(), left=ast.Name() as left, right=ast.Name() as right):
            syntax.meet(left, role, beside=right.id)
            syntax.meet(right, role, beside=left.id)
        case ast.BinOp(op=op) if isinstance(op, _OPERATORS):
            if isinstance(op, ast.Pow):
                _check_power(syntax, node)
            _check(syntax, node.left, role, linear)
            _check(syntax, node.right, role, linear)
        case ast.Compare():
            if len(node.ops) > 1 and any(isinstance(side, ast.BinOp) for side in node.comparators[:-1]):
                remedy = "for either of two conditions, write maximum(q == 'U', q == 'UJ')"
                syntax.fail(node, f"'|' is not supported between comparisons; {remedy}.")
            if len(node.ops) > 1:
                syntax.fail(node, "Comparisons cannot be chained; write (a < x) * (x < b).")
            if not isinstance(node.ops[0], _COMPARISONS):
                syntax.fail(node, f"This comparison is not part of the language; {_ALLOWED}.")
            for operand in (node.left, node.comparators[0]):
                if not isinstance(literal(operand), str):
                    _check(syntax, operand, role, linear)
        case ast.Call():
            check_call(syntax, node, role, linear=linear)
        case _:
            syntax.fail(node, f"This is not part of the language; {_ALLOWED}.")


def _holds_comparisons(node: ast.expr) -> bool:
    return all(isinstance(side, ast.Compare | ast.Call) for side in operands(node, ast.BitOr))


def _either(syntax: Syntax, node: ast.expr) -> str:
    """The greatest of several comparisons, 1 where any of them holds."""
    first, *others = (syntax.text(side) for side in operands(node, ast.BitOr))
    for other in others:
        first = f"maximum({first}, {other})"
    return first


def _check_power(syntax: Syntax, node: ast.BinOp) -> None:
    """Raise an error for powers that could have millions of digits."""
    if _has_columns(syntax, node.right):
        return
    exponent = constant_value(node.right)
    if exponent is None or abs(exponent) > MAX_EXPONENT:
        message = f"An exponent is a number between -{MAX_EXPONENT} and {MAX_EXPONENT}, or holds a column"
        syntax.fail(node.right, f"{message}.")
    powers = (n for n in ast.walk(node.left) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Pow))
    if not _has_columns(syntax, node.left) and any(powers):
        syntax.fail(node, "Powers of powers of numbers are not computed; write the number.")


def _has_columns(syntax: Syntax, node: ast.expr) -> bool:
    return any(not syntax.is_constant(name) for name in names_in(node))


def constant_value(node: ast.expr) -> float | None:
    """Value of a tree of plain numbers, ``pi`` and ``+ - * /``; None for anything else."""
    match node:
        case ast.Name(id="pi"):
            return CONSTANTS["pi"]
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.UnaryOp(op=ast.USub() | ast.UAdd()):
            inner = constant_value(node.operand)
            return -inner if inner is not None and isinstance(node.op, ast.USub) else inner
        case ast.BinOp() if type(node.op) in _ARITHMETIC:
            left, right = constant_value(node.left), constant_value(node.right)
            if left is None or right is None or (isinstance(node.op, ast.Div) and right == 0):
                return None
            return _ARITHMETIC[type(node.op)](left, right)
    return None


def check_call(syntax: Syntax, node: ast.Call, role: Role, *, linear: bool) -> None:
    """Check a call of a registered function, or of a user's own, with its arguments."""
    name = called(node)
    if not name:
        syntax.fail(node, "Only a function's plain name can be called.")
    if name in syntax.own:
        if node.keywords:
            syntax.fail(node.keywords[0], f"{name}() takes no named arguments here; its arguments are columns.")
        if not node.args:
            syntax.fail(node, f"{name}() needs a column, as in {name}(x).")
        for arg in node.args:
            _check(syntax, arg, role)
        return
    row = FUNCTIONS.get(name)
    if row is None:
        _refuse_call(syntax, node, name)
    if row.kind == "contrast":
        syntax.fail(node, f"{name} is supported only inside C(), as in C(g, {name}).")
    if row.kind == "array":
        _check_array_call(syntax, node, name, row, role, linear)
    elif linear:
        _check_linear_call(syntax, node, name, row, role)
    else:
        remedy = "gp() standardises its inputs itself" if row.kind == "basis" else "it makes columns of the linear part"
        syntax.fail(node, f"{name}(...) is supported only among the linear terms; {remedy}.")


def _refuse_call(syntax: Syntax, node: ast.Call, name: str) -> NoReturn:
    """Say of a name that calls nothing here what to write instead."""
    if name in NOT_YET:
        syntax.fail(node, NOT_YET[name])
    if name in SPECIAL_TERMS:
        syntax.fail(node, f"{name}(...) must be a term: it cannot be part of a call or be combined with other terms.")
    if name in PLACES:
        syntax.fail(node, f"{name}(...) must be {PLACES[name]}.")
    known = nearest(name, (*syntax.own, *FUNCTIONS, *SPECIAL_TERMS, *PLACES))
    allowed = known or f"; the functions are {', '.join((*syntax.own, *FUNCTIONS))}."
    remedy = f"To use your function, pass functions={{'{name}': {name}}}"
    syntax.fail(node, f"There is no function {name!r}{allowed} {remedy}.")


def _check_array_call(syntax: Syntax, node: ast.Call, name: str, row: Function, role: Role, linear: bool) -> None:
    if node.keywords:
        syntax.fail(node.keywords[0], f"{name}() takes no named arguments.")
    if len(node.args) != row.n_args:
        count = f"{row.n_args} argument{'s' if row.n_args > 1 else ''}"
        syntax.fail(node, f"{name}() takes {count}, not {len(node.args)}.")
    for arg in node.args:
        if name != "decimal_year":
            _check(syntax, arg, role, linear)
        elif isinstance(arg, ast.Name):
            syntax.meet(arg, role, date=True)
        else:
            syntax.fail(arg, "decimal_year() takes a column of dates, as in decimal_year(date).")


def _check_linear_call(syntax: Syntax, node: ast.Call, name: str, row: Function, role: Role) -> None:
    """Check ``bs(x, ...)`` and ``C(g, ...)``: first an expression, then literals."""
    if not node.args:
        syntax.fail(node, f"{name}() needs a column first, as in {name}(x).")
    column, *others = node.args
    if name == "C":
        syntax.codings.append(syntax.expression(column))
    _check(syntax, column, role)
    too_many = f"{name}() takes no more arguments than {', '.join(('x', *row.options))}"
    for option, value in bind(syntax, node, row.options, too_many, args=others).items():
        if option == "contrasts":
            _check_contrast(syntax, value)
        else:
            _check_option(syntax, name, option, value)


def _check_option(syntax: Syntax, function: str, option: str, node: ast.expr) -> None:
    """Check a literal argument after the first."""
    words = f"{option}= of {function}()"
    message = f"{words} takes plain values: numbers, text in quotes, True, False, None"
    for value, number in literals(syntax, node, message):
        if option in _BOUNDED and isinstance(number, int | float) and number > MAX_OPTION:
            syntax.fail(value, f"{words} is at most {MAX_OPTION}.")


def _check_contrast(syntax: Syntax, node: ast.expr) -> None:
    contrasts = {name: row.options for name, row in FUNCTIONS.items() if row.kind == "contrast"}
    name = node.id if isinstance(node, ast.Name) else called(node)
    if name not in contrasts:
        syntax.fail(node, f"The second argument of C() is a contrast: {', '.join(contrasts)}.")
    if isinstance(node, ast.Call):
        options = contrasts[name]
        given = bind(syntax, node, options[:1], f"{name}() takes at most {len(options)} argument(s)", options[1:])
        for option, value in given.items():
            _check_option(syntax, name, option, value)


# -- arguments ----------------------------------------------------------------------------------------------------


def bind(
    syntax: Syntax,
    node: ast.Call,
    positional: tuple[str, ...] = (),
    too_many: str = "",
    named: tuple[str, ...] = (),
    *,
    args: Sequence[ast.expr] | None = None,
    remedies: Mapping[str, str] | None = None,
) -> dict[str, ast.expr]:
    """Arguments of a call by name: some of ``args`` by position too, others by name alone."""
    args = node.args if args is None else args
    if len(args) > len(positional):
        syntax.fail(args[len(positional)], f"{too_many}.")
    found, known = dict(zip(positional, args, strict=False)), (*positional, *named)
    for keyword in node.keywords:
        name = keyword.arg
        if name is None:
            syntax.fail(keyword, f"Arguments of {called(node)}() must be written out; '**' is not supported here.")
        if remedies and name in remedies:
            syntax.fail(keyword, remedies[name])
        if name not in known:
            close = nearest(name, known)
            listed = close or f"; it has: {', '.join(known) or 'none'}."
            syntax.fail(keyword, f"{called(node)}() has no argument {name!r}{listed}")
        if name in found:
            syntax.fail(keyword, f"{name}= is given twice.")
        found[name] = keyword.value
    return found


def read_options(
    syntax: Syntax, node: ast.Call, known: tuple[str, ...], remedies: Mapping[str, str] | None = None
) -> dict[str, ast.expr]:
    """Arguments that are given by name; ``None`` is as good as leaving one out."""
    options = bind(syntax, node, named=known, args=(), remedies=remedies)
    return {name: value for name, value in options.items() if not is_none(value)}


def is_none(node: ast.expr) -> bool:
    """Tell whether ``None`` is written."""
    return isinstance(node, ast.Constant) and node.value is None


def literal(node: ast.expr | None) -> Any:
    """Value of a constant, numbers with their sign; None for anything else."""
    match node:
        case ast.Constant():
            return node.value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -number
    return None


def literals(syntax: Syntax, node: ast.expr, message: str) -> Iterator[tuple[ast.expr, Any]]:
    """Constants in an argument, one or a list of them, with their values without a sign."""
    for item in node.elts if isinstance(node, ast.List | ast.Tuple) else [node]:
        constant = item.operand if isinstance(item, ast.UnaryOp) else item
        if not isinstance(constant, ast.Constant):
            syntax.fail(item, f"{message}.")
        yield item, constant.value


def read_flag(syntax: Syntax, options: Mapping[str, ast.expr], option: str, *, default: bool = True) -> bool:
    """Read an option that is ``True`` or ``False``."""
    value = literal(options[option]) if option in options else default
    if not isinstance(value, bool):
        syntax.fail(options[option], f"{option}= is True or False.")
    return value


def read_name(syntax: Syntax, node: ast.expr) -> str:
    """Read the label of a term."""
    name = literal(node)
    if not isinstance(name, str) or not name.strip():
        syntax.fail(node, 'name= takes text in quotes, as in name="trend".')
    return name


def read_column(syntax: Syntax, node: ast.expr, role: Role, what: str) -> Expression:
    """Read an argument that must name a column."""
    name = syntax.text(node)
    if syntax.is_constant(node):
        syntax.fail(node, f"{what} names a column; a column called {name} is written in backticks: `{name}`.")
    if not check_expression(syntax, node, role):
        syntax.fail(node, f"{what} names a column, and {name} names none.")
    return syntax.expression(node)


def read_limit(syntax: Syntax, node: ast.expr | None, role: Role) -> Expression | None:
    """Read one limit; None means that there is no limit."""
    if node is None or is_none(node):
        return None
    name = node.id if isinstance(node, ast.Name) and not syntax.is_quoted(node) else ""
    if name.lower() == "nan":
        syntax.fail(node, "NaN is not a limit. Write None, -inf or inf for no limit.")
    if name in ("Inf", "Infinity", "NULL"):
        syntax.fail(node, f"{name!r} is not part of the language; write inf, -inf or None for no limit.")
    check_expression(syntax, node, role)
    return syntax.expression(node)


def read_inputs(syntax: Syntax, node: ast.Call) -> tuple[Expression, ...]:
    """Read the inputs of a process, its arguments without a name."""
    function = called(node)
    if not node.args:
        syntax.fail(node, f"{function}() needs at least one input, as in {function}(x).")
    inputs: list[Expression] = []
    for arg in node.args:
        item = syntax.expression(arg)
        if not check_expression(syntax, arg, "gp"):
            syntax.fail(arg, f"The input {item.text} of {function}() names no column.")
        if item.label in [other.label for other in inputs]:
            syntax.fail(arg, f"The input {item.label} occurs twice in one {function}(). Leave one of them out.")
        inputs.append(item)
    return tuple(inputs)


def read_group(syntax: Syntax, node: ast.expr, role: Role, what: str) -> Expression:
    """Read a group, which is a bare column."""
    if isinstance(literal(node), str):
        _refuse_quotes(syntax, node)
    if isinstance(node, ast.Name) and not is_dot(node):
        if syntax.is_constant(node):
            syntax.fail(node, f"{node.id} is a number; a column of that name is written `{node.id}`.")
        syntax.meet(node, role)
        return syntax.expression(node)
    if isinstance(node, ast.Call) and called(node) == "C" and node.args:
        syntax.fail(node, f"{what} takes the column itself: write {syntax.text(node.args[0])} without C().")
    syntax.fail(node, f"{what} takes one column by its name; make the column in the data first.")


def read_by(syntax: Syntax, options: Mapping[str, ast.expr]) -> Expression | None:
    """Read ``by=`` of a process."""
    return read_group(syntax, options["by"], "by", "by=") if "by" in options else None


def _refuse_quotes(syntax: Syntax, node: ast.expr) -> NoReturn:
    syntax.fail(node, f"A column is written without quotes: {literal(node)}.")
