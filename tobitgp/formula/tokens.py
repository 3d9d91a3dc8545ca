"""Formula text -> tokens, with everything refused that is no formula at all."""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass
from typing import Literal, NoReturn

from tobitgp.errors import FormulaError
from tobitgp.formula.functions import FUNCTIONS

MAX_LENGTH = 20_000
MAX_NESTING = 20
MAX_OPERATORS = 1_000
MAX_DIGITS = 40

TokenKind = Literal["quoted", "string", "number", "name", "operator"]

_TOKEN = re.compile(
    r"""(?P<space>\s+)
    |(?P<quoted>`[^`]*`)
    |(?P<string>"[^"\\`]*"|'[^'\\`]*')
    |(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<name>[^\W\d]\w*)
    |(?P<operator>\*\*|//|<=|>=|==|!=|:=|[-+*/%|~<>=:,.()\[\]{}])
    |(?P<bad>.)""",
    re.VERBOSE | re.DOTALL,
)
_PAIRS = {")": "(", "]": "[", "}": "{"}
_COUNTED = frozenset({"+", "-", "*", "/", "**", "//", "%", ":", "|", "<", ">", "<=", ">=", "==", "!="})
_BAD = {
    "^": "Powers are written with '**': I(x**2) for the square of a column, (a + b)**2 for interactions",
    "&": "'&' is not part of the language; multiply comparisons instead, as in (x > 1) * (z < 2)",
    "@": "'@' is not part of the language; an interaction is written a:b",
    "`": "This backtick has no partner; a column name in backticks is written `my column`",
    '"': "This quote is never closed, or the text in it holds a backslash or a backtick, which is not allowed",
    "'": "This quote is never closed, or the text in it holds a backslash or a backtick, which is not allowed",
    "!": "'!' stands only in '!=', not equal",
    "#": "A formula holds no comments",
    ";": "One formula at a time: ';' is not part of the language",
}


@dataclass(frozen=True, slots=True)
class Token:
    """One piece of the formula."""

    kind: TokenKind
    text: str  # as written
    start: int  # offset in the formula
    role: Literal["", "call", "interaction", "dot"] = ""

    @property
    def end(self) -> int:
        """Offset after the last character."""
        return self.start + len(self.text)


def tokenize(formula: str) -> tuple[Token, ...]:
    """Cut a formula into tokens."""
    if len(formula) > MAX_LENGTH:
        raise FormulaError(f"The formula has {len(formula)} characters; at most {MAX_LENGTH} are read")
    raw = _scan(formula)
    tokens: list[Token] = []
    opened: list[Token] = []
    for i, token in enumerate(raw):
        after = raw[i + 1] if i + 1 < len(raw) else None
        _check_neighbours(formula, tokens[-1] if tokens else None, token, after)
        token = _with_role(formula, tokens[-1] if tokens else None, token, after, opened)
        tokens.append(token)
        if token.text in _PAIRS.values():
            opened.append(token)
            if len(opened) > MAX_NESTING:
                _fail(formula, token, f"Brackets are nested more than {MAX_NESTING} deep")
        elif token.text in _PAIRS:
            if not opened or opened[-1].text != _PAIRS[token.text]:
                _fail(formula, token, f"'{token.text}' closes no '{_PAIRS[token.text]}'")
            opened.pop()
    if opened:
        _fail(formula, opened[-1], f"'{opened[-1].text}' is never closed")
    return tuple(tokens)


def _scan(formula: str) -> list[Token]:
    """Tokens without roles; single characters and words that are never allowed are refused."""
    tokens: list[Token] = []
    n_operators = 0
    for match in _TOKEN.finditer(formula):
        kind, text, start = match.lastgroup, match.group(), match.start()
        if kind == "space":
            continue
        if kind == "bad":
            raise FormulaError(_BAD.get(text, f"The character {text!r} is not part of the language"), formula, start)
        token = Token(kind, text, start)  # type: ignore[arg-type]
        if kind == "name":
            _check_word(formula, token)
        elif kind == "quoted" and not text[1:-1].strip():
            _fail(formula, token, "There is no column name between these backticks")
        elif kind == "number" and len(text) > MAX_DIGITS:
            _fail(formula, token, f"This number has {len(text)} digits; at most {MAX_DIGITS} are read")
        elif text == ":=":
            _fail(formula, token, "Nothing can be assigned in a formula; an interaction is written a:b")
        n_operators += text in _COUNTED
        tokens.append(token)
    if n_operators > MAX_OPERATORS:
        raise FormulaError(f"The formula has {n_operators} operators; at most {MAX_OPERATORS} are read")
    return tokens


def _check_word(formula: str, token: Token) -> None:
    """Refuse Python's own words and names with two underscores in front."""
    if keyword.iskeyword(token.text) and token.text not in {"None", "True", "False"}:
        remedy = f"a column of that name is written `{token.text}`"
        if token.text == "lambda":
            remedy = "give a function of your own by name beside the formula: functions={'f': f}"
        _fail(formula, token, f"'{token.text}' is a word of Python and not part of the language; {remedy}")
    if token.text.startswith("__"):
        _fail(
            formula, token, f"Names that begin with '__' are refused; a column of that name is written `{token.text}`"
        )


def _check_neighbours(formula: str, before: Token | None, token: Token, after: Token | None) -> None:
    """Refuse attribute access, indexing, ``||``, and operands side by side."""
    if before is not None and before.text == token.text == "|":
        _fail(formula, before, "'||' is not part of the language; a random intercept is written re(g), or (1 | g)")
    if before is None or not _ends_operand(before):
        return
    if token.text == "." and token.kind == "operator":
        _refuse_attribute(formula, before, token, after)
    if token.text == "[":
        remedy = "write the name of the column alone, or make the column in the data frame first"
        _fail(formula, token, f"Indexing is not part of the language: {remedy}")
    if token.kind == "string" and before.kind == "name" and before.end == token.start:
        _fail(formula, before, f"Text in quotes takes no prefix {before.text!r}")
    if token.text == "(" and before.kind == "quoted":
        _fail(
            formula, before, f"{before.text} is a column and cannot be called; functions are written without backticks"
        )
    if token.kind != "operator" or token.text in "([{":
        if token.text == "(" and before.kind == "name":
            return
        names = before.kind == token.kind == "name"
        remedy = f"; a column of that name is written `{before.text} {token.text}`" if names else ""
        _fail(formula, token, f"An operator or a comma is missing between '{before.text}' and '{token.text}'{remedy}")


def _refuse_attribute(formula: str, before: Token, token: Token, after: Token | None) -> NoReturn:
    """Say what to write instead of ``np.log``."""
    name = after.text if after is not None else ""
    place = before if before.kind == "name" else token
    if before.text == "contr":
        _fail(formula, place, 'Contrasts are written C(g, Treatment("b")), C(g, Sum), C(g, Helmert), C(g, Diff)')
    if name in FUNCTIONS:
        _fail(
            formula, place, f"Attributes such as '{before.text}.{name}' are not part of the language; write {name}(...)"
        )
    remedy = f"a column of that name is written `{before.text}.{name}`" if before.kind == "name" else "remove it"
    _fail(formula, place, f"Attribute access with '.' is not part of the language; {remedy}")


def _with_role(formula: str, before: Token | None, token: Token, after: Token | None, opened: list[Token]) -> Token:
    """Decide what an ambiguous sign means."""
    if token.text == "(" and before is not None and before.kind == "name":
        return Token(token.kind, token.text, token.start, "call")
    grouped = all(bracket.text == "(" and bracket.role == "" for bracket in opened)
    if token.text == ":":
        if not grouped:
            _fail(formula, token, "':' makes an interaction of two terms and cannot stand inside a call or {...}")
        return Token(token.kind, token.text, token.start, "interaction")
    if token.text == "=" and grouped:
        _fail(
            formula, token, "'=' only names an argument inside a call; the response is set off by '~', equality is '=='"
        )
    if token.text == "." and token.kind == "operator":
        if after is not None and (after.kind != "operator" or after.text in "([{"):
            _fail(formula, token, "'.' stands for all other columns; an operator is missing after it")
        if not grouped:
            _fail(formula, token, "'.' stands for all other columns as terms, and cannot stand inside a call")
        return Token(token.kind, token.text, token.start, "dot")
    return token


def _ends_operand(token: Token) -> bool:
    """Tell whether an operand can end with this token."""
    return token.kind != "operator" or token.text in ")]}" or token.role == "dot"


def _fail(formula: str, token: Token, message: str) -> NoReturn:
    raise FormulaError(message, formula, token.start)
