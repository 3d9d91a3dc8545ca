"""Formula text -> ModelSpec, and those of the log noise scale and the cured fraction -> ScaleSpec, CureSpec."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

from tobitgp.errors import FormulaError
from tobitgp.formula.formula_response import read_parts, read_response
from tobitgp.formula.formula_terms import read_terms, split_parts
from tobitgp.formula.functions import NamedFunctions, nearest, read_functions
from tobitgp.formula.gp import settle_lines
from tobitgp.formula.linear_terms import LinearTerms, check_linear, linear_text, main_effects, plain_columns
from tobitgp.formula.spec import INPUT_ROLES, ROLES, ModelSpec, ParameterSpec, ScaleSpec, Variable
from tobitgp.formula.syntax import Syntax, Token, read_side, tokenize

_LISTED = 12  # names in a message


def parse_formula(
    text: str,
    columns: Collection[str] | None = None,
    functions: NamedFunctions = None,
) -> ModelSpec:
    """Read a formula.

    The text is checked against a whitelist on its own syntax tree; nothing in it is ever executed.
    """
    if not isinstance(text, str):
        raise FormulaError(f"A formula is text such as 'y ~ gp(x)', not {type(text).__name__}.")
    formula, before, tilde, after = cut_formula(text, "write response ~ terms, as in y ~ gp(x)")
    if not before:
        raise FormulaError("The response is missing left of '~', as in y ~ gp(x).", formula, tilde)
    if not after:
        raise FormulaError("The terms are missing right of '~'; write 1 for the intercept alone.", formula, tilde)
    own = read_functions(functions)
    left, right = read_side(formula, before, own), read_side(formula, after, own)
    response, entry = read_response(left)
    node, parts = split_parts(right)
    censoring, truncation = read_parts(right, parts, response, entry)
    terms = read_terms(right, node)
    fields, met = _linear_fields(right, terms, columns, left.variables)
    responses = _responses(met)
    for variable in met:
        if variable.role in INPUT_ROLES and variable.name in responses:
            message = f"The response {variable.name!r} cannot also be a term"
            raise FormulaError(f"{message}.", formula, variable.start)
    _check_columns(formula, fields["variables"], terms, columns)
    _check_names(right, terms, fields["variables"])
    return ModelSpec(
        **fields,
        response=response,
        censoring=censoring,
        truncation=truncation,
        gps=tuple(settle_lines(terms.gps, main_effects(right, terms))),
        mixture=terms.mixture,
    )


def parse_scale_formula(
    text: str,
    columns: Collection[str] | None = None,
    functions: NamedFunctions = None,
    *,
    beside: ModelSpec | None = None,
    kind: type[ScaleSpec] = ScaleSpec,
    parameter: str = "",
) -> ScaleSpec:
    """Read the formula of the log noise scale, or of another ``parameter`` of the rows, in the grammar of terms."""
    part = f"parameter {parameter!r}" if parameter else kind.part

    def written(terms: str) -> str:
        return f"write formulas={{{parameter!r}: '{terms}'}}" if parameter else f"write {kind.argument}='{terms}'"

    example = f"{written('~ z')}, or {kind.known.partition(',')[0]}"
    if not isinstance(text, str):
        number = kind is ScaleSpec and isinstance(text, int | float) and not isinstance(text, bool)
        remedy = f"a known scale is fixed={{'sigma': {text!r}}}" if number else example
        raise FormulaError(f"The {part} is a formula in text, not {type(text).__name__}; {remedy}.")
    own = read_functions(functions)
    formula = one_line(text)
    what = f"The formula of the {part}"
    begins = f"{what} begins with '~'; {written(f'~ {formula.strip()}')}"
    before, tilde, after = split_sides(formula, f"{what} is empty; {example}", begins)
    if not after:
        raise FormulaError(f"The terms are missing right of '~'; {example}.", formula, tilde)
    if before:
        remedy = written(f"~ {formula[after[0].start :].strip()}")
        models = parameter or kind.of
        message = f"{what} has nothing left of '~': it models {models}; {remedy}"
        raise FormulaError(f"{message}.", formula, before[0].start)
    syntax = read_side(formula, after, own)
    node, parts = split_parts(syntax)
    if parts:
        remedy = "write censoring and truncation in the formula of the model"
        syntax.fail(parts[0], f"{what} has no '|'; {remedy}.")
    terms = read_terms(syntax, node)
    outside = () if beside is None else beside.names(*(role for role in ROLES if role not in INPUT_ROLES))
    fields, _ = _linear_fields(syntax, terms, columns, (), outside)
    measured = next((term for term in terms.gps if term.se is not None), None)
    if measured is not None:
        raise FormulaError(
            f"{what}: {measured.name} has se=, which is supported in the formula of the model only. Leave it out.",
            formula,
        )
    spec = kind(
        **fields, gps=tuple(replace(term, name=f"{kind.argument}: {term.name}", line=False) for term in terms.gps)
    )
    if spec.linear == "0" and not terms.offsets and not terms.gps:
        syntax.fail(node, f"Nothing is left of the {part}; write {kind.known}.")
    _check_columns(formula, spec.variables, terms, columns)
    _check_names(syntax, terms, spec.variables)
    responses = set() if beside is None else _responses(beside.variables)
    for variable in spec.variables:
        if variable.name in responses:
            message = f"The response {variable.name!r} cannot be in the formula of its {part}"
            raise FormulaError(f"{message}.", formula, variable.start)
    return spec


def parse_parameter_formula(
    parameter: str,
    label: str,
    text: str,
    columns: Collection[str] | None = None,
    functions: NamedFunctions = None,
    *,
    beside: ModelSpec | None = None,
) -> ParameterSpec:
    """Read the formula of a parameter of the rows; ``label`` is what is linear in its terms, ``log(shape)``."""
    spec = parse_scale_formula(text, columns, functions, beside=beside, kind=ParameterSpec, parameter=parameter)
    assert isinstance(spec, ParameterSpec)
    if spec.gps:
        raise FormulaError(
            f"formulas={{{parameter!r}: {text!r}}}: {spec.gps[0].name.partition(': ')[2]} is a process, and other "
            "parameters of the rows are fitted by maximum likelihood to linear terms. Leave it out."
        )
    return replace(spec, parameter=parameter, label=label)


def _responses(variables: Iterable[Variable]) -> set[str]:
    """Columns that no term may use: those of the response, unless it is the difference of one to another."""
    return {v.name for v in variables if v.role in ("response", "bound") and not v.beside}


def one_line(text: str) -> str:
    """Replace every white space by a blank, names in backticks apart, so that offsets stay."""
    return re.sub(r"(`[^`]*`)|\s", lambda match: match[1] or " ", text)


def as_written(error: FormulaError, formula: str) -> FormulaError:
    """An error about a version of a formula, shown in the formula itself, on one line, where both agree."""
    message, read, at = str(error).partition("\n")[0], error.formula, error.position
    if read is None or at is None:
        return FormulaError(message)
    if formula.startswith(read[: at + 1]):
        return FormulaError(message, formula, at)
    return FormulaError(message, formula, len(formula) - len(read[at:]) if formula.endswith(read[at:]) else None)


def cut_formula(text: str, written: str) -> tuple[str, tuple[Token, ...], int, tuple[Token, ...]]:
    """A formula of a model on one line, cut at its ``~``; ``written`` says how to write one."""
    formula = one_line(text)
    return formula, *split_sides(formula, f"The formula is empty; {written}", f"The formula has no '~'; {written}")


def split_sides(formula: str, empty: str, no_tilde: str) -> tuple[tuple[Token, ...], int, tuple[Token, ...]]:
    """Tokens left of the one ``~``, its place, and the tokens right of it."""
    tokens = tokenize(formula)
    if not tokens:
        raise FormulaError(f"{empty}.", formula, 0)
    middle, *more = [i for i, token in enumerate(tokens) if token.text == "~"] or [-1]
    if middle < 0:
        raise FormulaError(f"{no_tilde}.", formula, tokens[0].start)
    if more:
        bars = any(token.text == "|" for token in tokens[middle : more[0]])
        hint = "; instruments enter by the residuals of a first regression, y ~ x + residual" if bars else ""
        raise FormulaError(f"A formula has one '~'{hint}.", formula, tokens[more[0]].start)
    return tokens[:middle], tokens[middle].start, tokens[middle + 1 :]


def _linear_fields(
    syntax: Syntax,
    terms: LinearTerms,
    columns: Collection[str] | None,
    left: Sequence[Variable],
    outside: Iterable[str] = (),
) -> tuple[dict[str, Any], list[Variable]]:
    """Fields of a :class:`LinearPart`, and all columns that were met, left of ``~`` and here."""
    dot = next((token.start for token in syntax.tokens if token.role == "dot"), None)
    # What has coefficients of its own in each group has one of all too.
    used = (v.name for v in (*left, *syntax.variables) if v.role != "slope")
    taken = {*outside, *used, *terms.removed.values()}
    others = () if dot is None else _columns_of_dot(syntax.formula, dot, columns, taken)
    check_linear(syntax, terms, others)
    plain = plain_columns(syntax, terms, others)
    met = [*left, *syntax.variables, *(Variable(name, dot or 0, "linear") for name in others)]
    met.sort(key=lambda v: ROLES.index(v.role))
    variables: dict[tuple[object, ...], Variable] = {}
    for v in met:
        if v.role != "linear" or plain is None or v.name in plain:
            variables.setdefault((v.name, v.role, v.date, v.beside), v)
    fields = {
        "formula": syntax.formula,
        "linear": linear_text(syntax, terms, others),
        "offsets": tuple(terms.offsets),
        "variables": tuple(variables.values()),
        "plain": plain,
        "codings": tuple(syntax.codings),
        "functions": syntax.functions,
    }
    return fields, met


def _columns_of_dot(formula: str, dot: int, columns: Collection[str] | None, taken: set[str]) -> tuple[str, ...]:
    """All columns but those used elsewhere and those taken out."""
    said = "'.' means all other columns, but"
    if columns is None:
        raise FormulaError(f"{said} no columns are known here.", formula, dot)
    for column in columns:
        if not isinstance(column, str) or "`" in column or not column.strip():
            raise FormulaError(f"{said} the name {column!r} is not supported in a formula. Rename it.", formula, dot)
    others = tuple(column for column in dict.fromkeys(columns) if column not in taken)
    if not others:
        raise FormulaError(f"{said} none is left.", formula, dot)
    return others


def _check_columns(
    formula: str, variables: Iterable[Variable], terms: LinearTerms, columns: Collection[str] | None
) -> None:
    """Raise an error for the first name that is not a column, with the nearest columns, or those that are not text."""
    named = [*((v.start, v.name) for v in variables), *terms.removed.items()]
    unknown = [] if columns is None else sorted(item for item in named if item[1] not in set(columns))
    if not unknown:
        return
    start, name = unknown[0]
    known = [column for column in columns or () if isinstance(column, str)]
    others = [repr(column) for column in columns or () if not isinstance(column, str)]
    said = close = nearest(name, known)
    if known and not close:
        said = f"; the columns are {_some(known)}"
    if others and not close:
        said += f"; names of columns must be text, and these are not: {_some(others)}"
    raise FormulaError(f"The data have no column {name!r}{said}{'' if close else '.'}", formula, start)


def _some(names: list[str]) -> str:
    return ", ".join(names[:_LISTED]) + ", ..." * (len(names) > _LISTED)


def _check_names(syntax: Syntax, terms: LinearTerms, variables: Iterable[Variable]) -> None:
    """Raise an error for a process that was given the name of another term."""
    others = {"Intercept", "offset", *(v.name for v in variables if v.role == "linear")}
    others |= {syntax.text(term) for _, term in terms.linear}
    for term in terms.gps:
        if term.name in others:
            start = next((t.start for t in syntax.tokens if t.text[1:-1] == term.name and t.text[0] in "'\""), 0)
            raise FormulaError(f"There is already a term {term.name!r}; choose another.", syntax.formula, start)
