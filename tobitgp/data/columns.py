"""Expressions of a formula as arrays, by a walk over the checked syntax tree; nothing is executed; their rounding."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.table import Column, Table, as_numbers, column_names, holds_numbers
from tobitgp.data.values import EPS
from tobitgp.errors import DataError
from tobitgp.formula.functions import CONSTANTS, FUNCTIONS, nearest
from tobitgp.formula.linear_terms import spelled
from tobitgp.formula.spec import Expression, GPFactor, GPTerm, LinearPart, ModelSpec
from tobitgp.formula.syntax import Syntax, called, names_in, read_expression
from tobitgp.typing import Array, BoolArray, Frame

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.Mod: operator.mod,
    ast.FloorDiv: operator.floordiv,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def evaluate(expression: Expression, table: Table) -> Array:
    """Evaluate an expression in every row; gives (n,)."""
    syntax = read_expression(expression.text, expression.functions)
    with np.errstate(all="ignore"):
        value = _value(syntax, syntax.tree, table)
    result = np.empty(table.n)
    result[:] = value
    return result


def bare_column(expression: Expression, table: Table) -> Column | None:
    """Find the column that an expression consists of, None for anything more."""
    syntax = read_expression(expression.text)
    if isinstance(syntax.tree, ast.Name):
        return table.columns.get(syntax.tree.id)
    return None


def call_by_name(what: str, expression: Expression, table: Table) -> str:
    """Name of a column, or of an expression of columns, in messages."""
    column = bare_column(expression, table)
    return f"The {what} {expression.text!r}" if column is None else f"The {what} column {column.name!r}"


def finite(values: Array, table: Table, what: str) -> Array:
    """Return the values, or raise an error if one is not finite."""
    wrong: BoolArray = ~np.isfinite(values)
    if wrong.any():
        raise DataError(f"{what} is not a finite number in {table.rows(wrong)}. Correct these rows or leave them out.")
    return values


def call_own(name: str, call: Callable[..., Any], table: Table, *args: Any) -> Array:
    """Call a user's own function on copies of its arguments; args (n,); gives (n,)."""
    if table.n == 0:
        return np.empty(0)
    arrays = [np.array(np.broadcast_to(np.asarray(arg, dtype=np.float64), (table.n,))) for arg in args]
    known: BoolArray = np.logical_and.reduce([np.isfinite(values) for values in arrays])
    try:
        result = np.asarray(call(*arrays))
    except Exception as error:
        raise DataError(f"The function {name}() failed: {type(error).__name__}: {error}") from error
    if result.shape != (table.n,) or result.dtype.kind not in "fiub":
        found = f"an array of shape {result.shape} and type {result.dtype}"
        raise DataError(f"The function {name}() returned {found}. Return one number for each of the {table.n} rows.")
    values = result.astype(np.float64)
    finite(np.where(known, values, 0.0), table, f"The result of {name}()")
    return values


def _value(syntax: Syntax, node: ast.expr, table: Table) -> Any:
    match node:
        case ast.Constant():
            return np.float64(node.value)  # type: ignore[arg-type]
        case ast.Name():
            return _name_value(syntax, node, table)
        case ast.UnaryOp():
            value = _value(syntax, node.operand, table)
            return -value if isinstance(node.op, ast.USub) else value
        case ast.BinOp():
            return _BINARY[type(node.op)](_value(syntax, node.left, table), _value(syntax, node.right, table))
        case ast.Compare():
            return _compare(syntax, node, table)
        case ast.Call():
            name, args = called(node), [_value(syntax, arg, table) for arg in node.args]
            own = dict(syntax.functions)
            if name in own:
                return call_own(name, own[name], table, *args)
            call = FUNCTIONS[name].call
            assert call is not None
            return call(*args)
    raise AssertionError(ast.dump(node))


def _name_value(syntax: Syntax, node: ast.Name, table: Table) -> Any:
    name = node.id
    if syntax.is_constant(node):
        return np.float64(CONSTANTS[name])
    column = as_numbers(table.columns[name])
    if column.levels is not None:
        raise DataError(f"Column {name!r} must be numeric but holds text in {_examples(column, table)}.")
    return column.values


def _compare(syntax: Syntax, node: ast.Compare, table: Table) -> Any:
    """Compare numbers, or a factor with one of its levels, as 0 and 1; what is missing equals nothing."""
    sides, sign = (node.left, node.comparators[0]), node.ops[0]
    compare, equality = _COMPARE[type(sign)], isinstance(sign, ast.Eq | ast.NotEq)
    for side, other in (sides, sides[::-1]):
        column = table.columns.get(side.id) if isinstance(side, ast.Name) else None
        if column is None or not isinstance(other, ast.Constant):
            continue
        if equality and column.missing.all():
            return np.full(table.n, float(isinstance(sign, ast.NotEq)))
        if column.levels is None or holds_numbers(column.levels):
            continue
        if not equality:
            raise DataError(f"Column {column.name!r} holds text. Text can only be compared by == and !=.")
        if not isinstance(other.value, str):
            what = f"Column {column.name!r} holds text and cannot be compared with {other.value!r}"
            raise DataError(f"{what}. Write {str(other.value)!r} in quotes, or convert the column to numbers first.")
        hits = np.array([*(compare(level, other.value) for level in column.levels), isinstance(sign, ast.NotEq)])
        return hits[column.values.astype(np.intp)].astype(np.float64)
    for side, other in (sides, sides[::-1]):
        if isinstance(side, ast.Constant) and isinstance(side.value, str):
            what = f"Column {syntax.text(other)!r}" if isinstance(other, ast.Name) else syntax.text(other)
            raise DataError(f"{what} holds numbers and cannot be compared with the text {side.value!r}.")
    return np.asarray(compare(_value(syntax, sides[0], table), _value(syntax, sides[1], table)), dtype=np.float64)


def _examples(column: Column, table: Table) -> str:
    """Name the first rows of a factor with their levels: rows that are not numbers, if only some are not."""
    assert column.levels is not None
    words = np.array([not _is_number(level) for level in column.levels], dtype=bool)
    mask = np.append(words if words.any() else ~words, False)[column.values.astype(np.intp)]
    values = dict.fromkeys(repr(column.levels[code]) for code in column.values[mask].astype(np.intp))
    remedy = "" if words.any() else f". Convert it: df[{column.name!r}] = pd.to_numeric(df[{column.name!r}])"
    return f"{table.rows(mask)}: {', '.join(list(values)[:3])}{remedy}"


def _is_number(level: Any) -> bool:
    try:
        return bool(np.isfinite(float(level)))
    except (TypeError, ValueError):
        return False


_LARGEST, _SMALLEST = 1e70, 1e-70  # a coefficient is a ratio of two sizes, its variance the square of that


def check_inputs(names: Iterable[str], table: Table) -> None:
    """Raise an error for infinite inputs."""
    for name in names:
        column = table.columns[name]
        if column.levels is None:
            finite(np.asarray(column.values, dtype=np.float64), table, f"Column {name!r}")


def check_size(what: str, size: float) -> None:
    """Raise an error for sizes at which variances of coefficients may leave the range of floats; 0 passes."""
    if size > _LARGEST or 0.0 < size < _SMALLEST:
        raise DataError(f"The size of {what} is {size:.3g}. Express it in units in which it is nearer to 1.")


def check_dates(spec: LinearPart, table: Table, roles: tuple[str, ...] = ()) -> None:
    """Raise an error for dates outside ``decimal_year`` and differences, and for anything but dates inside."""
    for variable in spec.variables:
        if roles and variable.role not in roles:
            continue
        column = table.columns[variable.name]
        beside = table.columns.get(variable.beside)
        dates = column.kind == "date"
        if dates == variable.date or column.missing.all() or (beside is not None and beside.kind == "date"):
            continue
        name = spelled(variable.name)
        if dates and variable.role in ("by", "re"):
            remedy = f"Convert it to text: df[{variable.name!r}] = df[{variable.name!r}].astype(str)"
            raise DataError(f"Column {variable.name!r} holds dates, which cannot be groups. {remedy}.")
        if dates:
            other = f", or convert {variable.beside!r} to dates, too" if variable.beside else ""
            raise DataError(f"Column {variable.name!r} holds dates. Write decimal_year({name}) in the formula{other}.")
        remedy = f"Convert it by pd.to_datetime(df[{variable.name!r}]), or write {name} alone"
        what = "numbers" if column.levels is None else "text"
        raise DataError(f"decimal_year({name}) requires dates, but column {variable.name!r} holds {what}. {remedy}.")


def require_columns(data: Frame, names: Iterable[str]) -> None:
    """Raise an error for new data that lack a column."""
    names, present = list(names), column_names(data)
    known = set(present)
    lacking = [name for name in names if name not in known]
    if lacking:
        listed = ", ".join(repr(name) for name in lacking)
        plural = "s" * (len(lacking) > 1)
        others = [name for name in present if name not in names]
        raise DataError(f"The new data lack the column{plural} {listed}{nearest(lacking[0], others) or '.'}")


def process_inputs(term: GPTerm, table: Table) -> Array:
    """Evaluate the inputs of one process, and the standard error of one that has it; gives (n, d), or (n, 2)."""
    X = np.empty((table.n, len(term.inputs)))
    for j, (factor, item) in enumerate(_pairs(term)):
        column = bare_column(item, table)
        if factor.kernel == "linear" and column is not None and column.levels is not None:
            what = f"Column {column.name!r} holds text, so {term.name} cannot have a slope in it"
            raise DataError(f"{what}. {_remedy(term, item)}.")
        X[:, j] = finite(evaluate(item, table), table, f"The input {item.text} of {term.name}")
    if term.se is None:
        return X
    errors = finite(evaluate(term.se, table), table, f"The standard error {term.se.text} of {term.name}")
    if (errors < 0.0).any():
        what = f"The standard error {term.se.text} of {term.name} is negative in {table.rows(errors < 0.0)}"
        raise DataError(f"{what}; correct these rows or leave them out.")
    return np.column_stack([X, errors])


def known_inputs(spec: ModelSpec, new: Frame) -> Frame:
    """New rows, with standard errors of 0 where these are left out: their inputs are known."""
    present = set(column_names(new))
    lacking = [name for name in errors_of_inputs(spec) if name not in present]
    return pd.DataFrame(new).assign(**dict.fromkeys(lacking, 0.0)) if lacking else new


def errors_of_inputs(spec: ModelSpec) -> list[str]:
    """Columns that are nothing but standard errors of inputs."""
    used = {v.name for v in spec.variables if v.role != "se"}
    return [name for name in spec.names("se") if name not in used]


def check_slopes(spec: ModelSpec, slopes: tuple[BoolArray, ...]) -> None:
    """Raise an error for a linear kernel of an input that is always 0; slopes (d_t,)."""
    for term, inputs in zip(spec.processes, slopes, strict=True):
        if term.effects is not None or term.se is not None:
            continue
        for (factor, item), there in zip(_pairs(term), inputs, strict=True):
            if factor.kernel == "linear" and not there:
                what = f"The input {item.text} of {term.name} is 0 in every row"
                raise DataError(f"{what}, so it has no slope. Leave it out.")


def _pairs(term: GPTerm) -> list[tuple[GPFactor, Expression]]:
    """Every input with the factor it belongs to."""
    return [(factor, item) for factor in term.factors for item in factor.inputs]


def _remedy(term: GPTerm, item: Expression) -> str:
    """How to write a curve for each level of a column of text."""
    others = [factor for factor in term.factors if item not in factor.inputs]
    if len(others) > 1 or term.by is not None:
        return f"For a curve for each level, write by={item.text} in gp(), or C({item.text}) in the product"
    inputs = ", ".join(other.text for factor in others for other in factor.inputs) or "x"
    return f"Write gp({inputs}, by={item.text}) for one curve per level"


_ULPS = 4.0  # of each column, and of what is computed
_MOST = 64.0  # of the largest value, where a function jumps


def rounding(expression: Expression | None, table: Table) -> Array:
    """Bound of the rounding error of an expression in every row, to first order; gives (n,)."""
    if expression is None:
        return np.zeros(table.n)
    syntax, value = read_expression(expression.text, expression.functions), evaluate(expression, table)
    names = {name.id for name in names_in(syntax.tree)} & set(table.columns)
    own = {called(node) for node in ast.walk(syntax.tree)} & set(syntax.own)
    finest = max([EPS, *(table.columns[name].precision for name in names)])
    error = _ULPS * EPS * np.abs(value)
    for name in () if own else names:
        column = table.columns[name]
        if column.levels is None:
            with np.errstate(all="ignore"):
                values: Array = np.multiply(column.values, 1.0 + _ULPS * column.precision, dtype=np.float64)
                nudged = replace(column, values=values)
                moved = evaluate(expression, replace(table, columns={**table.columns, name: nudged}))
                error = error + np.abs(moved - value)
    largest = float(np.max(np.abs(value), where=np.isfinite(value), initial=0.0))
    with np.errstate(over="ignore"):
        return np.minimum(np.where(np.isfinite(error), error, 0.0), _MOST * finest * largest)


def same(a: Array, b: Array, error: Array) -> BoolArray:
    """Where two values are equal but for rounding; shapes: a, b, error (n,)."""
    with np.errstate(invalid="ignore"):
        return np.asarray((a == b) | (np.abs(a - b) <= error))
