"""``mvbind(y1, y2) ~ ...``: a formula of several responses as one of each by itself and one of their stacked rows."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass

from tobitgp.formula.expressions import is_none
from tobitgp.formula.gp import holds_process
from tobitgp.formula.linear import flatten, read_constant
from tobitgp.formula.parse import one_line, split_sides
from tobitgp.formula.syntax import Syntax, called, is_dot, read_side
from tobitgp.formula.terms import split_parts

RESPONSE, LOWER, UPPER, UNIT = STACKED = ("response", "response_lower", "response_upper", "unit")
EACH = f"C({RESPONSE})"
_WIDE = re.compile(r"\s*mvbind\s*\(")
_WRITTEN = "write mvbind(y1, y2) ~ terms"
_LONG = f"stack the rows, and write it with {RESPONSE} as a column of the data"


@dataclass(frozen=True, slots=True)
class Wide:
    """A formula of several responses."""

    formula: str
    labels: tuple[str, ...]  # (J,), of the responses as written
    formulas: tuple[str, ...]  # (J,), of each by itself, without covariates
    stacked: str  # of the stacked rows
    scale: str  # of log sigma of these


def is_wide(formula: object) -> bool:
    """Whether a formula has several responses."""
    return isinstance(formula, str) and _WIDE.match(formula) is not None


def read_wide(formula: str, sigma: str | None = None, *, rescor: bool = False) -> Wide:
    """Read a formula of several responses and that of their log sigma; ``rescor`` lets residuals of a row correlate."""
    formula = one_line(formula)
    before, _, after = split_sides(formula, f"The formula is empty; {_WRITTEN}", f"The formula has no '~'; {_WRITTEN}")
    left = read_side(formula, before)
    responses, labels = _read_responses(left)
    right = read_side(formula, after)
    node, parts = split_parts(right)
    limits = _read_limits(right, parts, labels)
    terms = _stacked(right, node) + (f" + (0 + {EACH} | {UNIT})" if rescor else "")
    alone = tuple(f"{y} ~ 1{part}" for y, part in zip(responses, limits, strict=True))
    stacked = f"interval({LOWER}, {UPPER}) ~ {terms}"
    return Wide(formula, tuple(labels), alone, stacked, _read_scale(sigma))


def _read_responses(syntax: Syntax) -> tuple[list[str], list[str]]:
    """The responses as written, and their labels."""
    call = syntax.tree
    if called(call) != "mvbind" or not isinstance(call, ast.Call):
        syntax.fail(call, f"mvbind() stands alone left of '~'; {_WRITTEN}")
    if call.keywords or len(call.args) < 2:
        syntax.fail(call, "mvbind() takes two responses or more, as in mvbind(y1, log(y2))")
    labels = [syntax.expression(arg).label for arg in call.args]
    for i, label in enumerate(labels):
        if label in labels[:i]:
            syntax.fail(call.args[i], f"The response {label} stands twice; leave one of them out")
    return [syntax.text(arg) for arg in call.args], labels


def _read_limits(syntax: Syntax, parts: Sequence[ast.expr], labels: Sequence[str]) -> list[str]:
    """The censoring part of every response, empty where there is none."""
    found = dict.fromkeys(labels, "")
    for part in parts:
        if called(part) != "censor" or not isinstance(part, ast.Call) or len(parts) > 1:
            syntax.fail(part, "Of several responses one censor(...) stands after '|', and no truncate(...)")
        if part.args and len(part.args) != len(labels):
            words = f"censor() takes one lower limit for each of {len(labels)} responses, None where there is none"
            syntax.fail(part, f"{words}; or censor({labels[0]}=(lower, upper))")
        for label, limit in zip(labels, part.args, strict=False):
            if not is_none(limit):
                found[label] = f" | censor({syntax.text(limit)})"
        for keyword in part.keywords:
            if keyword.arg not in found:
                syntax.fail(keyword, f"censor() has no response {keyword.arg!r}; they are {', '.join(labels)}")
            value = keyword.value
            ends = value.elts if isinstance(value, ast.Tuple) else [value]
            if len(ends) > 2:
                syntax.fail(value, "A response has two limits at most: (lower, upper)")
            found[keyword.arg] = f" | censor({', '.join(syntax.text(end) for end in ends)})"
    return list(found.values())


def _read_scale(sigma: str | None) -> str:
    """The formula of log sigma of the stacked rows: every response has its own."""
    if sigma is None:
        return f"~ {EACH}"
    text = one_line(sigma)
    _, _, after = split_sides(text, "sigma= is empty; write sigma='~ z'", "sigma= begins with '~', as in '~ z'")
    syntax = read_side(text, after)
    return "~ " + _stacked(syntax, syntax.tree).removeprefix("0 + ")


def _stacked(syntax: Syntax, node: ast.expr) -> str:
    """Terms of the stacked rows: coefficients and curves of every response, the latter correlated."""
    intercept, linear, others = True, "", []
    for sign, term in flatten(node):
        text = syntax.text(term)
        if isinstance(term, ast.Constant):
            intercept = read_constant(syntax, term) == (sign > 0)
        elif holds_process(term):
            others.append(_of_each(syntax, term))
        elif called(term) in ("offset", "mixture") or any(is_dot(item) for item in ast.walk(term)):
            syntax.fail(term, f"{text} does not go with several responses; write columns out, and take offsets from y")
        else:
            linear += f" {'+' if sign > 0 else '-'} {text}"
    terms = ["0", *([EACH] if intercept else [])]
    if linear:
        terms.append(f"{EACH}:({linear.removeprefix(' +').strip()})")
    return " + ".join([*terms, *others])


def _of_each(syntax: Syntax, term: ast.expr) -> str:
    """A process or random effect of every response."""
    text = syntax.text(term)
    match term:
        case ast.BinOp(op=ast.BitOr() | ast.BitXor(), left=left, right=right):
            bar = "|" if isinstance(term.op, ast.BitOr) else "||"
            columns = _stacked(syntax, left)
            return f"({columns} {bar} {syntax.text(right)})"
        case ast.Call() if called(term) == "re" and len(term.args) == 1 and not term.keywords:
            return f"(0 + {EACH} | {syntax.text(term.args[0])})"
        case ast.Call() if called(term) == "gp" and not {k.arg for k in term.keywords} & {"by", "cor"}:
            name = "" if any(k.arg == "name" for k in term.keywords) else f", name={text!r}"
            return f"{text[:-1]}, by={RESPONSE}, cor=True{name})"
    syntax.fail(term, f"{text} does not go with several responses, only gp(x), re(g) and (1 | g) do; {_LONG}")
