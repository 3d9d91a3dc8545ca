"""``mvbind(y1, y2) ~ ...``: a formula of several responses as one of each by itself and one of their stacked rows."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tobitgp.errors import FormulaError
from tobitgp.formula.expressions import is_none
from tobitgp.formula.formula_terms import split_parts
from tobitgp.formula.gp import holds_process
from tobitgp.formula.linear_terms import flatten, read_constant
from tobitgp.formula.parse import cut_formula, one_line, split_sides
from tobitgp.formula.syntax import Syntax, called, is_dot, names_in, read_side

RESPONSE, LOWER, UPPER, UNIT = STACKED = ("response", "response_lower", "response_upper", "unit")
EACH = f"C({RESPONSE})"
COLUMN, SCALE_COLUMN = "column{}", "scale_column{}"
_WIDE = re.compile(r"\s*mvbind\s*\(")
TAKEN = re.compile("|".join([*STACKED, r"(scale_)?column\d+"]))
_WRITTEN = "write mvbind(y1, y2) ~ terms"
_LONG = "Stack the rows, and write the formula of one response"


@dataclass(frozen=True, slots=True)
class ResponseTerms:
    """Terms that every response has."""

    linear: str  # as right of '~'
    intercept: bool
    others: tuple[str, ...]  # processes and random effects of the stacked rows
    alone: str  # right of '~' in the formula of one response

    def stacked(self, columns: Sequence[str]) -> str:
        """Right-hand side of the stacked rows, whose linear terms are columns made beforehand."""
        own = [f"{EACH}:({' + '.join(columns)})"] if columns else []
        return " + ".join([*([EACH] if self.intercept else []), *own, *self.others])


@dataclass(frozen=True, slots=True)
class Wide:
    """A formula of several responses."""

    formula: str
    labels: tuple[str, ...]  # (J,), of the responses as written
    formulas: tuple[str, ...]  # (J,), of each by itself, without covariates
    linear: str  # formula of the first response by its linear terms
    terms: ResponseTerms
    scale: ResponseTerms  # of log sigma
    sigma: str | None  # its formula as written
    rescor: bool  # whether residuals of a row may correlate

    def alone(self, j: int) -> str:
        """The formula of one response."""
        left, _, limits = self.formulas[j].partition(" ~ 1")
        return f"{left} ~ {self.terms.alone}{limits}"

    @property
    def scale_linear(self) -> str:
        """Formula of log sigma by its linear terms."""
        return f"~ {self.scale.linear}"

    def stacked(self, p: int) -> str:
        """The formula of the stacked rows, with p linear columns."""
        return f"interval({LOWER}, {UPPER}) ~ 0 + {self.terms.stacked([COLUMN.format(i) for i in range(p)])}"

    def stacked_scale(self, q: int) -> str:
        """The formula of log sigma of the stacked rows, with q columns."""
        return f"~ {self.scale.stacked([SCALE_COLUMN.format(i) for i in range(q)])}"


def is_wide(formula: object) -> bool:
    """Whether a formula has several responses."""
    return isinstance(formula, str) and _WIDE.match(formula) is not None


def read_wide(formula: str, sigma: str | None = None, *, rescor: bool = False) -> Wide:
    """Read a formula of several responses and that of their log sigma; ``rescor`` lets residuals of a row correlate."""
    formula, before, _, after = cut_formula(formula, _WRITTEN)
    if not after:
        raise FormulaError("The terms are missing right of '~'; write 1 for the intercepts alone.", formula)
    left, right = read_side(formula, before), read_side(formula, after)
    responses, labels = _read_responses(left)
    node, parts = split_parts(right)
    limits = _read_limits(right, parts, labels)
    terms = _read_terms(right, node)
    if not (terms.intercept or terms.others or "+" in terms.linear):
        right.fail(node, "Nothing is left of the responses but noise; write 1 for the intercepts.")
    if rescor:
        terms = replace(terms, others=(*terms.others, f"(0 + {EACH} | {UNIT})"))
    alone = tuple(f"{y} ~ 1{part}" for y, part in zip(responses, limits, strict=True))
    linear, scale = f"{responses[0]} ~ {terms.linear}", _read_scale(sigma)
    return Wide(formula, tuple(labels), alone, linear, terms, scale, sigma, rescor)


def _read_responses(syntax: Syntax) -> tuple[list[str], list[str]]:
    """The responses as written, and their labels."""
    call = syntax.tree
    if called(call) != "mvbind" or not isinstance(call, ast.Call):
        syntax.fail(call, f"mvbind() must be the whole response; {_WRITTEN}.")
    if call.keywords or len(call.args) < 2:
        syntax.fail(call, "mvbind() takes two responses or more, as in mvbind(y1, log(y2)).")
    labels = [syntax.expression(arg).label for arg in call.args]
    for i, label in enumerate(labels):
        if label in labels[:i]:
            syntax.fail(call.args[i], f"The response {label} occurs twice. Leave one of them out.")
    return [syntax.text(arg) for arg in call.args], labels


def _read_limits(syntax: Syntax, parts: Sequence[ast.expr], labels: Sequence[str]) -> list[str]:
    """The censoring part of every response, empty where there is none."""
    found = dict.fromkeys(labels, "")
    for part in parts:
        if called(part) != "censor" or not isinstance(part, ast.Call) or len(parts) > 1:
            syntax.fail(part, "For several responses, write one censor(...) after '|', with a limit for each response.")
        if part.args and len(part.args) != len(labels):
            words = f"censor() takes one lower limit for each of {len(labels)} responses, None where there is none"
            syntax.fail(part, f"{words}; or censor({labels[0]}=(lower, upper)).")
        for label, limit in zip(labels, part.args, strict=False):
            if not is_none(limit):
                found[label] = _limits(syntax, limit)
        for keyword in part.keywords:
            label = (keyword.arg or "").strip("`")
            if label not in found:
                syntax.fail(keyword, f"censor() has no response {label!r}; they are {', '.join(labels)}.")
            if found[label]:
                syntax.fail(keyword, f"The response {label} has a limit already; give both as (lower, upper).")
            found[label] = _limits(syntax, keyword.value)
    return list(found.values())


def _limits(syntax: Syntax, node: ast.expr) -> str:
    """The censoring part of a response with a lower limit, or ``(lower, upper)``."""
    ends = node.elts if isinstance(node, ast.Tuple) else [node]
    if len(ends) > 2:
        syntax.fail(node, "A response has two limits at most: (lower, upper).")
    return f" | censor({', '.join(syntax.text(end) for end in ends)})"


def _read_scale(sigma: str | None) -> ResponseTerms:
    """Terms of log sigma, of which every response has its own."""
    if sigma is None:
        return ResponseTerms("1", True, (), "1")
    if not isinstance(sigma, str):
        raise FormulaError(
            f"sigma={sigma!r:.60}: the formula of the noise scales of mvbind() must be a text, e.g. sigma='~ z'. Leave "
            "it out for one noise scale of each response."
        )
    text = one_line(sigma)
    before, _, after = split_sides(text, "sigma= is empty; write sigma='~ z'", "sigma= begins with '~', as in '~ z'")
    if before or not after:
        raise FormulaError("sigma= has nothing left of '~' and terms right of it, as in sigma='~ z'.", text)
    syntax = read_side(text, after)
    terms = _read_terms(syntax, syntax.tree)
    if not terms.intercept:
        syntax.fail(syntax.tree, "Every response has its own noise scale. Leave out '0 +'.")
    return terms


def _read_terms(syntax: Syntax, node: ast.expr) -> ResponseTerms:
    """Linear terms as written; processes and random effects as those of the stacked rows."""
    intercept, linear, others, alone = True, "", [], ""
    for name in names_in(node):
        if TAKEN.fullmatch(name.id):
            syntax.fail(name, f"Several responses are stacked under names such as {name.id!r}; rename the column.")
    for sign, term in flatten(node):
        text = syntax.text(term)
        if isinstance(term, ast.Constant):
            intercept = read_constant(syntax, term) == (sign > 0)
        elif holds_process(term):
            others.append(_of_each(syntax, term))
            alone += f" + {_of_one(syntax, term)}"
        elif called(term) in ("offset", "mixture") or any(is_dot(item) for item in ast.walk(term)):
            syntax.fail(
                term, f"{text} is not supported for several responses. Write columns out, and subtract offsets from y."
            )
        else:
            linear += f" {'+' if sign > 0 else '-'} {text}"
    linear = f"{int(intercept)}{linear}"
    return ResponseTerms(linear, intercept, tuple(others), linear + alone)


def _of_one(syntax: Syntax, term: ast.expr) -> str:
    """A process or random effect of one response, in which ``(1 | p | g)`` has no letter."""
    match term:
        case ast.BinOp(left=ast.BinOp(left=left, op=ast.BitOr()), op=ast.BitOr(), right=right):
            return f"({syntax.text(left)} | {syntax.text(right)})"
        case ast.BinOp(left=left, op=ast.BitOr() | ast.BitXor() as bar, right=right):
            return f"({syntax.text(left)} {'|' * (1 + isinstance(bar, ast.BitXor))} {syntax.text(right)})"
    return syntax.text(term)


def _of_each(syntax: Syntax, term: ast.expr) -> str:
    """A process or random effect of every response."""
    text = syntax.text(term)
    match term:
        case ast.BinOp(left=left, op=ast.BitOr() | ast.BitXor() as bar, right=right):
            return f"({_columns_of_each(syntax, left)} {'|' * (1 + isinstance(bar, ast.BitXor))} {syntax.text(right)})"
        case ast.Call() if called(term) == "re" and len(term.args) == 1 and not term.keywords:
            return f"(0 + {EACH} | {syntax.text(term.args[0])})"
        case ast.Call() if called(term) == "gp" and not {k.arg for k in term.keywords} & {"by", "cor"}:
            inside = text[:-1].rstrip(", ")
            name = "" if any(k.arg == "name" for k in term.keywords) else f", name={_quoted(f'{inside})')}"
            return f"{inside}, by={RESPONSE}, cor=True{name})"
    syntax.fail(term, f"{text} is not supported for several responses; gp(x), re(g) and (1 + z | g) are. {_LONG}.")


def _quoted(text: str) -> str:
    """The text of a term in quotes, without its backticks, which no text in quotes holds."""
    bare = text.replace("`", "")
    return f"'{bare}'" if "'" not in bare else '"{}"'.format(bare.replace('"', "'"))


def _columns_of_each(syntax: Syntax, left: ast.expr) -> str:
    """What differs between groups, of every response; all of ``(1 | p | g)`` is correlated without the letter too."""
    if isinstance(left, ast.BinOp) and isinstance(left.op, ast.BitOr):
        left = left.left
    intercept, slopes = True, ""
    for sign, term in flatten(left):
        if isinstance(term, ast.Constant):
            intercept = read_constant(syntax, term) == (sign > 0)
        elif sign > 0:
            slopes += f" + {syntax.text(term)}"
        else:
            syntax.fail(term, "Leave out the terms that are taken away.")
    return " + ".join(["0", *([EACH] if intercept else []), *([f"{EACH}:({slopes[3:]})"] if slopes else [])])
