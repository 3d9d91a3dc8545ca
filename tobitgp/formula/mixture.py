"""``mixture(...)``: the response is a mixture of components."""

from __future__ import annotations

import ast

from tobitgp.formula.arguments import bind
from tobitgp.formula.spec import MixtureTerm
from tobitgp.formula.syntax import Syntax

MOST_NUMBERS = 100
DEFAULT_MOST = 10
_FAR = 10**9
_ALLOWED = 'write mixture(2), mixture(range(1, 7)), or mixture("dp", max_components=10)'


def read_mixture(syntax: Syntax, node: ast.Call) -> MixtureTerm:
    """Read ``mixture(k)``, ``mixture(range(1, 7))`` or ``mixture("dp", max_components=10)``."""
    if len(node.args) > 1:
        syntax.fail(node.args[1], f"mixture() takes one number, range or name; {_ALLOWED}")
    given = bind(syntax, node, ("k", "max_components"))
    if "k" not in given:
        syntax.fail(node, f"mixture() needs the number of components; {_ALLOWED}")
    k, most = given["k"], given.get("max_components")
    start, end = syntax.span(node)
    if isinstance(k, ast.Constant) and isinstance(k.value, str):
        if k.value != "dp":
            syntax.fail(k, f'mixture({k.value!r}) is not offered; "dp" is the Dirichlet process: {_ALLOWED}')
        number = DEFAULT_MOST if most is None else _read_number(syntax, most, "max_components=")
        return MixtureTerm((number,), process=True, start=start, end=end)
    if most is not None:
        syntax.fail(most, 'max_components= goes with mixture("dp"); a number or range of components is exact')
    if isinstance(k, ast.Call) and isinstance(k.func, ast.Name) and syntax.name(k.func) == "range":
        return MixtureTerm(_read_range(syntax, k), start=start, end=end)
    return MixtureTerm((_read_number(syntax, k, "The number of components of mixture()"),), start=start, end=end)


def _read_range(syntax: Syntax, node: ast.Call) -> tuple[int, ...]:
    ends = [_whole(arg) for arg in node.args]
    if node.keywords or not 1 <= len(ends) <= 3 or None in ends or ends[-1] == 0:
        syntax.fail(node, "range() takes whole numbers, and ends before the last: range(1, 7) is 1, 2, 3, 4, 5, 6")
    found = range(*(max(-_FAR, min(end, _FAR)) for end in ends if end is not None))
    if not found or min(found[0], found[-1]) < 1:
        syntax.fail(node, f"{syntax.text(node)} must hold whole numbers of at least 1 only, as range(1, 7) does")
    if len(found) > MOST_NUMBERS:
        syntax.fail(node, f"{syntax.text(node)} holds {len(found)} numbers; up to {MOST_NUMBERS} are tried in one fit")
    return tuple(sorted(found))


def _read_number(syntax: Syntax, node: ast.expr, what: str) -> int:
    number = _whole(node)
    if number is None or number < 1:
        syntax.fail(node, f"{what} is a whole number of at least 1, and {syntax.text(node)} is not; {_ALLOWED}")
    return number


def _whole(node: ast.expr) -> int | None:
    """A whole number as written, None for anything else."""
    sign = -1 if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else 1
    literal = node.operand if isinstance(node, ast.UnaryOp) and sign < 0 else node
    value = literal.value if isinstance(literal, ast.Constant) else None
    return sign * value if isinstance(value, int) and not isinstance(value, bool) else None
