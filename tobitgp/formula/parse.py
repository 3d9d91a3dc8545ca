"""Formula text -> ModelSpec."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from tobitgp.errors import FormulaError
from tobitgp.formula.censoring import read_parts
from tobitgp.formula.expressions import Found
from tobitgp.formula.functions import nearest, read_functions
from tobitgp.formula.response import ResponseFound, read_response
from tobitgp.formula.spec import INPUT_ROLES, ModelSpec, Role, Variable
from tobitgp.formula.syntax import Syntax, one_line, read_side
from tobitgp.formula.terms import Terms, check_linear, linear_text, plain_columns, read_terms, split_parts
from tobitgp.formula.tokens import Token, tokenize


def parse_formula(
    text: str,
    columns: Collection[str] | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> ModelSpec:
    """Read a formula.

    The text is checked against a whitelist on its own syntax tree; nothing in it is ever executed.

    Parameters
    ----------
    text : str
        ``response ~ terms | censoring``.
    columns : collection of str, optional
        Columns of the data. With them, unknown names are refused here, and ``.`` can be written out.
    functions : mapping of str to callable, optional
        A user's own functions, which the formula may call by these names: (n,) arrays -> (n,) array, row by row.

    Returns
    -------
    ModelSpec

    Raises
    ------
    FormulaError
        If the formula cannot be read; the message shows the place and says what is allowed.

    Examples
    --------
    >>> spec = parse_formula("y ~ z + gp(x) | censor(0, inf)")
    >>> spec.linear, spec.gps[0].name, spec.censoring.lower.text
    ('1 + z', 'gp(x)', '0')
    >>> print(parse_formula("y ~ gp(x)"))
    y ~ gp(x)
      response   y
      censoring  none
      linear     intercept
      process    gp(x): zero-mean Gaussian process over x, kernel rbf, one length-scale
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
    others = _other_columns(
        formula, right, terms, columns, [name for _, item in _roles(found, terms) for name, _ in item.names]
    )
    check_linear(right, terms, others)
    plain = plain_columns(right, terms, others)
    variables = _variables(found, terms, right, others)
    if plain is not None:
        # A column that is taken out again is not needed.
        variables = tuple(v for v in variables if v.role != "linear" or v.name in plain)
    _check_columns(formula, variables, terms, columns)
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
    )


def unknown_column(formula: str, name: str, start: int, columns: Iterable[object]) -> FormulaError:
    """Error for a name that is no column, with the nearest that are."""
    known = [column for column in columns if isinstance(column, str)]
    close = nearest(name, known)
    listed = "" if close else f"; the columns are {', '.join(known[:12])}{', ...' if len(known) > 12 else ''}"
    return FormulaError(f"The data have no column {name!r}{close}{listed}", formula, start)


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


def _other_columns(
    formula: str, syntax: Syntax, terms: Terms, columns: Collection[str] | None, used: Sequence[str]
) -> tuple[str, ...]:
    """Columns that ``.`` stands for."""
    place = next((token.start for token in syntax.tokens if token.role == "dot"), None)
    if place is None:
        return ()
    if columns is None:
        raise FormulaError("'.' stands for all other columns, but no columns are known here", formula, place)
    unusable = [column for column in columns if not isinstance(column, str) or "`" in column or not column.strip()]
    if unusable:
        message = f"'.' stands for all other columns, but the name {unusable[0]!r} cannot stand in a formula; rename it"
        raise FormulaError(message, formula, place)
    left_out = {*used, *(name for name, _ in terms.removed)}
    others = tuple(column for column in dict.fromkeys(columns) if column not in left_out)
    if not others:
        raise FormulaError("'.' stands for all other columns, but none is left", formula, place)
    return others


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


def _variables(found: ResponseFound, terms: Terms, syntax: Syntax, others: Sequence[str]) -> tuple[Variable, ...]:
    """Columns by role; a response that is also an input is refused."""
    place = next((token.start for token in syntax.tokens if token.role == "dot"), 0)
    terms.found_linear.names.extend((name, place) for name in others)
    responses = {name for name, _ in found.values.names + found.bounds.names}
    variables: dict[tuple[str, Role, bool], Variable] = {}
    for role, item in _roles(found, terms):
        for name, start in item.names:
            if role in INPUT_ROLES and name in responses:
                raise FormulaError(f"The response {name!r} cannot stand among the terms too", syntax.formula, start)
            date = start in item.dates
            variables.setdefault((name, role, date), Variable(name, start, role, date))
    return tuple(variables.values())


def _check_names(syntax: Syntax, terms: Terms, variables: Iterable[Variable]) -> None:
    """Refuse a process that was given the name of another term."""
    others = {"Intercept", "offset", *(v.name for v in variables if v.role == "linear")}
    others |= {syntax.text(term) for _, term in terms.linear}
    for term in terms.gps:
        if term.name in others:
            start = next((t.start for t in syntax.tokens if t.text[1:-1] == term.name and t.text[0] in "'\""), 0)
            raise FormulaError(f"There is already a term {term.name!r}; choose another", syntax.formula, start)


def _check_columns(formula: str, variables: Iterable[Variable], terms: Terms, columns: Collection[str] | None) -> None:
    """Refuse names that are no columns, the first in the text first."""
    if columns is None:
        return
    known = set(columns)
    named = [(variable.start, variable.name) for variable in variables]
    named += [(start, name) for name, start in terms.removed]
    for start, name in sorted(named):
        if name not in known:
            raise unknown_column(formula, name, start, columns)
