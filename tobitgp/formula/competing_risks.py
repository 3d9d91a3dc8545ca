"""``Surv(time, cause)``: a formula of competing risks as an ordinary one for each cause."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from tobitgp.errors import DataError, FormulaError
from tobitgp.formula.expressions import literal
from tobitgp.formula.parse import one_line, split_sides
from tobitgp.formula.syntax import Syntax, called, read_side

Cause = str | int
_WRITTEN = "write Surv(time, cause, censored='alive') or Surv(start, stop, cause, censored='alive')"


@dataclass(frozen=True, slots=True)
class CauseFormula:
    """A formula whose event may be one of several causes."""

    formula: str  # as written
    times: str  # of Surv(...), as written
    column: str  # of the causes
    written: str  # the same as in the formula
    censored: Cause | None  # value that is no cause, where it is given
    terms: str  # right of '~'
    all_seen: bool = False  # whether it says that no row is censored

    def of(self, cause: Cause) -> str:
        """The formula in which one cause is the event, and the others are censoring."""
        return f"Surv({self.times}, {self.written} == {quoted(self.column, cause)}) ~ {self.terms}"


def quoted(column: str, cause: Cause) -> str:
    """A cause as in a formula."""
    if not isinstance(cause, str):
        return str(cause)
    mark = '"' if "'" in cause else "'"
    if mark in cause or "\\" in cause or "`" in cause:
        raise DataError(f"The cause {cause!r} of {column!r} cannot be written in a formula; rename it, without quotes.")
    return f"{mark}{cause}{mark}"


def read_causes(formula: object) -> CauseFormula | None:
    """A formula whose event is a column by itself; None of others, and of what cannot be read."""
    if not isinstance(formula, str) or "Surv" not in formula:
        return None
    formula = one_line(formula)
    try:
        before, tilde, after = split_sides(formula, "", "")
        if not before or not after:
            return None
        syntax = read_side(formula, before)
    except FormulaError:
        return None
    call = syntax.tree
    if not isinstance(call, ast.Call) or called(call) != "Surv":
        return None
    (censored, all_seen), named = _read_censored(syntax, call), [k for k in call.keywords if k.arg != "censored"]
    event = call.args[-1] if call.args else None
    if named or len(call.args) not in (2, 3) or not isinstance(event, ast.Name) or syntax.is_constant(event):
        if censored is not None or all_seen:
            syntax.fail(call, f"With censored=, the last argument must be the column of the causes; {_WRITTEN}.")
        return None
    listed = ", ".join(syntax.text(time) for time in call.args[:-1])
    terms = formula[tilde + 1 :].strip()
    return CauseFormula(formula, listed, event.id, syntax.text(event), censored, terms, all_seen)


def _read_censored(syntax: Syntax, call: ast.Call) -> tuple[Cause | None, bool]:
    """The value of a censored row, and whether there is said to be none."""
    given = next((k for k in call.keywords if k.arg == "censored"), None)
    if given is None:
        return None, False
    if isinstance(given.value, ast.Constant) and given.value.value is None:
        return None, True
    value = literal(given.value)
    if not isinstance(value, str | int) or isinstance(value, bool):
        syntax.fail(
            given, f"censored= is a text in quotes or a whole number, or None where no row is censored; {_WRITTEN}."
        )
    return value, False
