"""The terms right of ``~``: linear terms with their expansion, offsets, processes, or a lone mixture."""

from __future__ import annotations

import ast

from tobitgp.formula.expressions import bind, check_expression, literal
from tobitgp.formula.gp import holds_process, read_process
from tobitgp.formula.linear_terms import LinearTerms, flatten, read_constant
from tobitgp.formula.spec import MixtureTerm
from tobitgp.formula.syntax import Syntax, called, is_dot

MOST_NUMBERS = 100
DEFAULT_MOST = 10
_FAR = 10**9
_MIXTURES = 'write mixture(2), mixture(range(1, 7)), or mixture("dp", max_components=10)'


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


def read_terms(syntax: Syntax, node: ast.expr) -> LinearTerms:
    """Sort the terms; linear ones are checked by :func:`check_linear`, once ``.`` is known."""
    terms, signed = LinearTerms(), flatten(node)
    mixed = [term for _, term in signed if called(term) == "mixture"]
    if mixed:
        terms.mixture, terms.intercept = _read_mixture(syntax, mixed[0], signed), False
        return terms
    for sign, term in signed:
        name = called(term)
        process = holds_process(term)
        if (process or name == "offset") and sign < 0:
            what = f"{name}(...)" if name else "A process"
            syntax.fail(term, f"{what} cannot be taken out with '-'{'' if process else '; write offset(-x)'}.")
        if isinstance(term, ast.Constant):
            terms.intercept = read_constant(syntax, term) == (sign > 0)
        elif process:
            terms.gps += read_process(syntax, term, [gp.name for gp in terms.gps])
        elif name == "offset":
            assert isinstance(term, ast.Call)
            if len(term.args) != 1 or term.keywords:
                syntax.fail(term, "offset() takes one expression, as in offset(log(exposure)).")
            check_expression(syntax, term.args[0], "offset")
            terms.offsets.append(syntax.expression(term.args[0]))
        else:
            terms.linear.append((sign, term))
            if sign < 0 and isinstance(term, ast.Name) and not is_dot(term):
                terms.removed[syntax.span(term)[0]] = term.id
    return terms


# -- mixtures ---------------------------------------------------------------------------------------------------------


def _read_mixture(syntax: Syntax, node: ast.expr, signed: list[tuple[int, ast.expr]]) -> MixtureTerm:
    """Read ``mixture(k)``, ``mixture(range(1, 7))`` or ``mixture("dp", max_components=10)``, the only term."""
    assert isinstance(node, ast.Call)
    for sign, term in signed:
        if term is not node:
            linear = not (
                holds_process(term) or isinstance(term, ast.Constant) or called(term) in ("mixture", "offset")
            )
            remedy = f"Leave {syntax.text(term)} out."
            if linear and node.args:
                inside = f"mixture({syntax.text(node.args[0])}, {syntax.text(term)})"
                remedy = f"For a mixture of regressions write {inside}."
            syntax.fail(term, f"mixture(...) must be the only term. {remedy}")
        if sign < 0:
            syntax.fail(term, "mixture(...) cannot be taken out with '-'.")
    too_many = f"mixture() takes one number, range or name; {_MIXTURES}"
    given = bind(syntax, node, ("k",), too_many, ("max_components",))
    if "k" not in given:
        syntax.fail(node, f"mixture() needs the number of components; {_MIXTURES}.")
    k, most = given["k"], given.get("max_components")
    name, span = literal(k), syntax.span(node)
    if isinstance(name, str):
        if name != "dp":
            syntax.fail(k, f'mixture({name!r}) is not supported; "dp" is the Dirichlet process: {_MIXTURES}.')
        number = DEFAULT_MOST if most is None else read_number(syntax, most, "max_components=")
        return MixtureTerm((number,), True, *span)
    if most is not None:
        syntax.fail(most, 'max_components= needs mixture("dp"); a number or range of components is exact.')
    if isinstance(k, ast.Call) and called(k) == "range":
        return MixtureTerm(_read_range(syntax, k), False, *span)
    return MixtureTerm((read_number(syntax, k, "The number of components of mixture()"),), False, *span)


def _read_range(syntax: Syntax, node: ast.Call) -> tuple[int, ...]:
    ends = [literal(arg) for arg in node.args]
    if node.keywords or not 1 <= len(ends) <= 3 or any(type(end) is not int for end in ends) or ends[-1] == 0:
        syntax.fail(node, "range() takes whole numbers, and ends before the last: range(1, 7) is 1, 2, 3, 4, 5, 6.")
    found = range(*(max(-_FAR, min(end, _FAR)) for end in ends))
    if not found or min(found[0], found[-1]) < 1:
        syntax.fail(node, f"{syntax.text(node)} must hold whole numbers of at least 1 only, as range(1, 7) does.")
    if len(found) > MOST_NUMBERS:
        syntax.fail(node, f"{syntax.text(node)} holds {len(found)} numbers; up to {MOST_NUMBERS} are tried in one fit.")
    return tuple(sorted(found))


def read_number(syntax: Syntax, node: ast.expr, what: str) -> int:
    """A number of components."""
    number = literal(node)
    if type(number) is not int or number < 1:
        syntax.fail(node, f"{what} is a whole number of at least 1, and {syntax.text(node)} is not; {_MIXTURES}.")
    return number
