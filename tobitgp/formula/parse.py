"""Formula text -> ModelSpec."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from tobitgp.errors import FormulaError
from tobitgp.formula.censoring import read_parts
from tobitgp.formula.expressions import Found
from tobitgp.formula.functions import read_functions
from tobitgp.formula.response import ResponseFound, read_response
from tobitgp.formula.spec import INPUT_ROLES, ModelSpec, Role, Variable
from tobitgp.formula.syntax import Syntax, one_line, read_side
from tobitgp.formula.terms import Terms, check_linear, linear_text, plain_columns, read_terms, split_parts
from tobitgp.formula.tokens import Token, tokenize
from tobitgp.formula.variables import check_columns, collect_variables, columns_of_dot


def parse_formula(
    text: str,
    columns: Collection[str] | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> ModelSpec:
    """Read a formula.

    The text is checked against a whitelist on its own syntax tree; nothing in it is ever executed.
    """
    if not isinstance(text, str):
        raise FormulaError(f"A formula is text such as 'y ~ gp(x)', not {type(text).__name__}")
    formula = one_line(text)
    left_tokens, right_tokens = _split_sides(formula, tokenize(formula))
    own = read_functions(functions)
    left, right = read_side(formula, left_tokens, own), read_side(formula, right_tokens, own)
    found = ResponseFound()
    response, entry = read_response(left, found)
    node, parts = split_parts(right)
    censoring, truncation = read_parts(right, parts, response, entry, found)
    terms = read_terms(right, node)
    roles = _roles(found, terms)
    others = columns_of_dot(right, terms, columns, [name for _, item in roles for name, _ in item.names])
    check_linear(right, terms, others)
    plain = plain_columns(right, terms, others)
    variables = collect_variables(roles, terms, right, others, plain)
    _refuse_response(formula, roles, found)
    check_columns(formula, variables, terms, columns)
    _check_names(right, terms, variables)
    return ModelSpec(
        formula=formula,
        response=response,
        censoring=censoring,
        linear=linear_text(right, terms, others),
        offsets=tuple(terms.offsets),
        gps=tuple(terms.gps),
        variables=variables,
        plain=plain,
        codings=tuple(terms.found_linear.codings),
        truncation=truncation,
        functions=own,
        mixture=terms.mixture,
    )


def _split_sides(formula: str, tokens: tuple[Token, ...]) -> tuple[tuple[Token, ...], tuple[Token, ...]]:
    """Tokens left and right of the one ``~``."""
    tildes = [i for i, token in enumerate(tokens) if token.text == "~"]
    if not tokens:
        raise FormulaError("The formula is empty; write response ~ terms, as in y ~ gp(x)", formula, 0)
    if not tildes:
        start = tokens[0].start
        raise FormulaError("The formula has no '~'; write response ~ terms, as in y ~ gp(x)", formula, start)
    if len(tildes) > 1:
        raise FormulaError("A formula has one '~'", formula, tokens[tildes[1]].start)
    middle = tildes[0]
    left, right = tokens[:middle], tokens[middle + 1 :]
    if not left:
        raise FormulaError("The response is missing left of '~', as in y ~ gp(x)", formula, tokens[middle].start)
    if not right:
        remedy = "write 1 for the intercept alone"
        raise FormulaError(f"The terms are missing right of '~'; {remedy}", formula, tokens[middle].start)
    return left, right


def _roles(found: ResponseFound, terms: Terms) -> list[tuple[Role, Found]]:
    """Columns that were met, by role; those of the linear terms once they are checked."""
    return [
        ("response", found.values),
        ("event", found.events),
        ("bound", found.bounds),
        ("limit", found.limits),
        ("window", found.window),
        ("linear", terms.found_linear),
        ("gp", terms.found_process.inputs),
        ("by", terms.found_process.by),
        ("re", terms.found_process.re),
        ("offset", terms.found_offset),
    ]


def _check_names(syntax: Syntax, terms: Terms, variables: Iterable[Variable]) -> None:
    """Refuse a process that was given the name of another term."""
    others = {"Intercept", "offset", *(v.name for v in variables if v.role == "linear")}
    others |= {syntax.text(term) for _, term in terms.linear}
    for term in terms.gps:
        if term.name in others:
            start = next((t.start for t in syntax.tokens if t.text[1:-1] == term.name and t.text[0] in "'\""), 0)
            raise FormulaError(f"There is already a term {term.name!r}; choose another", syntax.formula, start)


def _refuse_response(formula: str, roles: Iterable[tuple[Role, Found]], found: ResponseFound) -> None:
    """Refuse a response that is also an input."""
    responses = {name for name, _ in found.values.names + found.bounds.names}
    for role, item in roles:
        for name, start in item.names:
            if role in INPUT_ROLES and name in responses:
                raise FormulaError(f"The response {name!r} cannot stand among the terms too", formula, start)
