"""The formula of the log noise scale, ``sigma="~ z"`` -> ScaleSpec."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping
from typing import Any

from tobitgp.errors import FormulaError, SpecError
from tobitgp.formula.expressions import Found
from tobitgp.formula.functions import PROCESSES, UserFunctions, read_functions
from tobitgp.formula.spec import INPUT_ROLES, ModelSpec, Role, ScaleSpec
from tobitgp.formula.syntax import Syntax, one_line, read_side
from tobitgp.formula.terms import Terms, check_linear, linear_text, plain_columns, read_terms, split_parts
from tobitgp.formula.tokens import tokenize
from tobitgp.formula.variables import check_columns, collect_variables, columns_of_dot

_HELP = "write sigma='~ z', or '~ 1' for one scale"
_CURVE = "bs(z, df=5) makes a smooth curve"
_LEVELS = "a column of groups, as in '~ g', gives each its own scale"


def parse_scale_formula(
    text: str,
    columns: Collection[str] | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    *,
    beside: ModelSpec | None = None,
) -> ScaleSpec:
    """Read the formula of the log noise scale, in the grammar of the linear part."""
    if not isinstance(text, str):
        raise FormulaError(f"The noise scale is a formula in text, not {type(text).__name__}; {_remedy(text)}")
    own = read_functions(functions)
    syntax = _read_right_side(one_line(text), own)
    node, parts = split_parts(syntax)
    if parts:
        remedy = "censoring and truncation stand in the formula of the model"
        syntax.fail(parts[0], f"The formula of the noise scale has no '|'; {remedy}")
    _refuse_processes(syntax, node)
    terms = read_terms(syntax, node)
    used = [name for name, _ in terms.found_offset.names] + _outside(beside)
    others = columns_of_dot(syntax, terms, columns, used)
    spec = _assemble(syntax, node, terms, others)
    check_columns(syntax.formula, spec.variables, terms, columns)
    if beside is not None:
        refuse_response(spec, beside)
    return spec


def refuse_response(scale: ScaleSpec, spec: ModelSpec) -> None:
    """Refuse a noise scale that depends on the response."""
    responses = spec.names("response", "bound")
    for variable in scale.variables:
        if variable.name in responses:
            message = f"The response {variable.name!r} cannot stand in the formula of its noise scale"
            raise FormulaError(message, scale.formula, variable.start)


def _remedy(value: object) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"a known scale is fixed={{'sigma': {value!r}}}"
    return _HELP


def _read_right_side(formula: str, own: UserFunctions) -> Syntax:
    """Terms right of the one ``~``, with nothing left of it."""
    tokens = tokenize(formula)
    tildes = [i for i, token in enumerate(tokens) if token.text == "~"]
    if not tokens:
        raise FormulaError(f"The formula of the noise scale is empty; {_HELP}", formula, 0)
    if not tildes:
        message = f"The formula of the noise scale begins with '~'; write sigma='~ {formula.strip()}'"
        raise FormulaError(message, formula, tokens[0].start)
    if len(tildes) > 1:
        raise FormulaError("A formula has one '~'", formula, tokens[tildes[1]].start)
    right = tokens[tildes[0] + 1 :]
    if not right:
        raise FormulaError(f"The terms are missing right of '~'; {_HELP}", formula, tokens[tildes[0]].start)
    if tildes[0] > 0:
        remedy = f"write sigma='~ {formula[right[0].start :].strip()}'"
        message = f"The formula of the noise scale has nothing left of '~': it models log(sigma); {remedy}"
        raise FormulaError(message, formula, tokens[0].start)
    return read_side(formula, right, own)


def _refuse_processes(syntax: Syntax, root: ast.expr) -> None:
    """Refuse ``gp(...)``, ``re(...)``, their aliases and ``(1 | g)``, wherever they stand."""
    places: list[tuple[int, str, str]] = []
    for node in ast.walk(root):
        start = syntax.span(node)[0] if isinstance(node, ast.expr) else 0
        name = syntax.called(node)
        if name in PROCESSES:
            places.append((start, f"{name}(...)", _LEVELS if name == "re" else _CURVE))
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            places.append((start, f"({syntax.text(node)})", _LEVELS))
    if places:
        start, what, remedy = min(places)
        message = f"{what} in the formula of the noise scale is not offered for now; {remedy}"
        raise SpecError(str(FormulaError(message, syntax.formula, start)))


def _outside(spec: ModelSpec | None) -> list[str]:
    """Columns of response, censoring and truncation, which ``.`` leaves out."""
    return [] if spec is None else [v.name for v in spec.variables if v.role not in INPUT_ROLES]


def _assemble(syntax: Syntax, node: ast.expr, terms: Terms, others: tuple[str, ...]) -> ScaleSpec:
    """Specification of terms, once they are checked."""
    check_linear(syntax, terms, others)
    plain = plain_columns(syntax, terms, others)
    roles: tuple[tuple[Role, Found], ...] = (("linear", terms.found_linear), ("offset", terms.found_offset))
    variables = collect_variables(roles, terms, syntax, others, plain)
    linear = linear_text(syntax, terms, others)
    if linear == "0" and not terms.offsets:
        syntax.fail(node, "Nothing is left of the noise scale; write '~ 1' for one scale, fixed={'sigma': 1} for known")
    return ScaleSpec(
        formula=syntax.formula,
        linear=linear,
        offsets=tuple(terms.offsets),
        variables=variables,
        plain=plain,
        codings=tuple(terms.found_linear.codings),
        functions=syntax.functions,
    )
