"""The columns that a formula names, and those that ``.`` stands for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from tobitgp.errors import FormulaError
from tobitgp.formula.expressions import Found
from tobitgp.formula.functions import nearest
from tobitgp.formula.spec import Role, Variable
from tobitgp.formula.syntax import Syntax
from tobitgp.formula.terms import Terms

_LISTED = 12  # names in a message


def columns_of_dot(
    syntax: Syntax, terms: Terms, columns: Collection[str] | None, used: Iterable[str]
) -> tuple[str, ...]:
    """Columns that ``.`` stands for: all but those used elsewhere and those taken out."""
    formula, place = syntax.formula, _dot(syntax)
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


def collect_variables(
    roles: Iterable[tuple[Role, Found]],
    terms: Terms,
    syntax: Syntax,
    others: Sequence[str],
    plain: tuple[str, ...] | None,
) -> tuple[Variable, ...]:
    """Columns by role, each once for every role, place of dates and difference."""
    terms.found_linear.names.extend((name, _dot(syntax) or 0) for name in others)
    variables: dict[tuple[str, Role, bool, str], Variable] = {}
    for role, item in roles:
        for name, start in item.names:
            date, beside = start in item.dates, item.beside.get(start, "")
            if role != "linear" or plain is None or name in plain:
                variables.setdefault((name, role, date, beside), Variable(name, start, role, date, beside))
    return tuple(variables.values())


def check_columns(formula: str, variables: Iterable[Variable], terms: Terms, columns: Collection[str] | None) -> None:
    """Refuse names that are no columns, the first in the text first."""
    if columns is None:
        return
    known = set(columns)
    named = [(variable.start, variable.name) for variable in variables]
    named += [(start, name) for name, start in terms.removed]
    for start, name in sorted(named):
        if name not in known:
            raise unknown_column(formula, name, start, columns)


def unknown_column(formula: str, name: str, start: int, columns: Iterable[object]) -> FormulaError:
    """Error for a name that is no column, with the nearest that are, or those that are not text."""
    given = list(columns)
    known = [column for column in given if isinstance(column, str)]
    others = [column for column in given if not isinstance(column, str)]
    said = close = nearest(name, known)
    if known and not close:
        said = f"; the columns are {_some(known)}"
    if others and not close:
        said += f"; names of columns must be text, and these are not: {_some(map(repr, others))}"
    return FormulaError(f"The data have no column {name!r}{said}", formula, start)


def _some(names: Iterable[str]) -> str:
    listed = list(names)
    return ", ".join(listed[:_LISTED]) + ", ..." * (len(listed) > _LISTED)


def _dot(syntax: Syntax) -> int | None:
    """Place of the ``.`` that stands for all other columns."""
    return next((token.start for token in syntax.tokens if token.role == "dot"), None)
