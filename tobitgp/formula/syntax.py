"""Formula text as tokens, then as a Python syntax tree that can point back into the text; nothing is evaluated."""

from __future__ import annotations

import ast
import itertools
import keyword
import re
from dataclasses import dataclass, field
from typing import Literal, NoReturn

from tobitgp.errors import FormulaError
from tobitgp.formula.functions import CONSTANTS, FUNCTIONS, UserFunctions
from tobitgp.formula.spec import Expression, Role, Variable

MAX_LENGTH = 20_000
MAX_NESTING = 20
MAX_OPERATORS = 1_000
MAX_DIGITS = 40
MAX_DEPTH = 200

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
_UNCLOSED = "This quote is never closed, or the text in it holds a backslash or a backtick, which is not allowed"
_BAD = {
    "^": "Powers are written with '**': I(x**2) for the square of a column, (a + b)**2 for interactions",
    "&": "'&' is not part of the language; multiply comparisons instead, as in (x > 1) * (z < 2)",
    "@": "'@' is not part of the language; an interaction is written a:b",
    "`": "This backtick has no partner; a column name in backticks is written `my column`",
    '"': _UNCLOSED,
    "'": _UNCLOSED,
    "!": "'!' stands only in '!=', not equal",
    "#": "A formula holds no comments",
    ";": "One formula at a time: ';' is not part of the language",
}


@dataclass(frozen=True, slots=True)
class Token:
    """One word, number or sign of the formula."""

    kind: TokenKind
    text: str  # as written
    start: int  # offset in the formula
    role: Literal["", "call", "interaction", "dot"] = ""

    @property
    def end(self) -> int:
        """Offset after the last character."""
        return self.start + len(self.text)


@dataclass(slots=True)
class Syntax:
    """A parsed part of a formula, with the columns that checks have met in it."""

    formula: str  # text the tokens point into
    start: int  # offset of the parsed part in ``formula``
    tokens: tuple[Token, ...]
    tree: ast.expr  # names hold placeholders: read them by :meth:`name`
    offsets: tuple[int, ...] | None  # character offset of every UTF-8 byte of the part; None when all are ASCII
    functions: UserFunctions = ()  # a user's own functions that may be called
    variables: list[Variable] = field(default_factory=list)  # columns of checked expressions, by role
    codings: list[Expression] = field(default_factory=list)  # first arguments of ``C(...)``

    def span(self, node: ast.expr | ast.keyword) -> tuple[int, int]:
        """Start and end of a node in ``formula``."""
        first, last = node.col_offset, node.end_col_offset or node.col_offset
        if self.offsets is not None:
            first, last = self.offsets[first], self.offsets[last]
        return self.start + first, self.start + last

    def text(self, node: ast.expr) -> str:
        """Text of a node as written, blanks squeezed."""
        first, last = self.span(node)
        return " ".join(self.formula[first:last].split())

    def name(self, node: ast.Name) -> str:
        """Name of a column or function, without backticks."""
        first, last = self.span(node)
        return self.formula[first:last].strip("`")

    def called(self, node: ast.AST) -> str:
        """Name of the function that a node calls; empty where it is no call of a name."""
        return self.name(node.func) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""

    def is_quoted(self, node: ast.Name) -> bool:
        """Tell whether a name stands in backticks."""
        return self.formula[self.span(node)[0]] == "`"

    def is_constant(self, node: ast.AST) -> bool:
        """Tell whether a node is the name of a number, as ``pi``."""
        return isinstance(node, ast.Name) and self.name(node) in CONSTANTS and not self.is_quoted(node)

    def is_dot(self, node: ast.AST) -> bool:
        """Tell whether a node is the ``.`` for all other columns."""
        return isinstance(node, ast.Name) and self.name(node) == "."

    def expression(self, node: ast.expr) -> Expression:
        """Text and place of a node."""
        first, last = self.span(node)
        return Expression(self.formula[first:last], first, self.functions)

    def meet(self, node: ast.Name, role: Role, *, date: bool = False, beside: str = "") -> None:
        """Note a column."""
        self.variables.append(Variable(self.name(node), self.span(node)[0], role, date, beside))

    def fail(self, node: ast.expr | ast.keyword, message: str) -> NoReturn:
        """Raise a FormulaError at a node."""
        raise FormulaError(message, self.formula, self.span(node)[0])


def read_expression(text: str, functions: UserFunctions = ()) -> Syntax:
    """Parse one expression by itself, as stored in an :class:`~tobitgp.formula.spec.Expression`."""
    return read_side(text, tokenize(text), functions)


def read_side(formula: str, tokens: tuple[Token, ...], functions: UserFunctions = ()) -> Syntax:
    """Parse tokens of a formula with Python's own parser."""
    start, end = tokens[0].start, tokens[-1].end
    masked = list(formula[start:end])
    for token in tokens:
        if token.kind == "quoted" or token.role == "dot":
            masked[token.start - start : token.end - start] = "_" * len(token.text)
        elif token.role == "interaction":
            masked[token.start - start] = "@"
    text = "".join(masked)
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise _syntax_error(error, formula, tokens) from None
    except (RecursionError, MemoryError, ValueError):
        raise FormulaError("The formula is nested too deeply", formula, start) from None
    offsets = None if text.isascii() else (*(i for i, char in enumerate(text) for _ in char.encode()), len(text))
    syntax = Syntax(formula, start, tokens, tree, offsets, functions)
    for call in ast.walk(tree):  # Python's parser keeps both of two arguments of one name
        names: set[str | None] = set()
        for argument in call.keywords if isinstance(call, ast.Call) else []:
            if argument.arg in names:
                syntax.fail(argument, f"{argument.arg}= is given twice")
            names.add(argument.arg)
    return syntax


def used_names(syntax: Syntax) -> tuple[str, ...]:
    """Names in an expression that are not called: its columns, and constants."""
    called = {id(node.func) for node in ast.walk(syntax.tree) if isinstance(node, ast.Call)}
    names = [node for node in ast.walk(syntax.tree) if isinstance(node, ast.Name) and id(node) not in called]
    return tuple(dict.fromkeys(syntax.name(node) for node in names))


def check_depth(syntax: Syntax, node: ast.expr) -> None:
    """Refuse a tree too deep to be walked by recursion."""
    level: list[ast.AST] = [node]
    for _ in range(MAX_DEPTH):
        level = [child for parent in level for child in ast.iter_child_nodes(parent)]
        if not level:
            return
    syntax.fail(node, f"This term is nested more than {MAX_DEPTH} operations deep; make the column in the data first")


def tokenize(formula: str) -> tuple[Token, ...]:
    """Cut a formula into tokens, refusing what is no formula at all."""
    if len(formula) > MAX_LENGTH:
        raise FormulaError(f"The formula has {len(formula)} characters; at most {MAX_LENGTH} are read")
    raw = _scan(formula)
    tokens: list[Token] = []
    opened: list[Token] = []
    for before, token, after in zip([None, *raw], raw, [*raw[1:], None], strict=False):
        previous = tokens[-1] if before is not None else None
        _check_neighbours(formula, previous, token, after)
        token = _with_role(formula, previous, token, after, opened)
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
    remedy = f"a column of that name is written `{token.text}`"
    if token.text.startswith("__"):
        _fail(formula, token, f"Names that begin with '__' are refused; {remedy}")
    if keyword.iskeyword(token.text) and token.text not in {"None", "True", "False"}:
        if token.text == "lambda":
            remedy = "give a function of your own by name beside the formula: functions={'f': f}"
        _fail(formula, token, f"'{token.text}' is a word of Python and not part of the language; {remedy}")


def _check_neighbours(formula: str, before: Token | None, token: Token, after: Token | None) -> None:
    """Refuse attribute access, indexing, ``||``, and operands side by side."""
    if before is None:
        return
    if before.text == token.text == "|":
        _fail(formula, before, "'||' is not part of the language; a random intercept is written re(g), or (1 | g)")
    if before.kind == "operator" and before.text not in ")]}" and before.role != "dot":
        return
    if token.text == "." and token.kind == "operator":
        _refuse_attribute(formula, before, token, after)
    if token.text == "[":
        remedy = "write the name of the column alone, or make the column in the data frame first"
        _fail(formula, token, f"Indexing is not part of the language: {remedy}")
    if token.kind == "string" and before.kind == "name" and before.end == token.start:
        _fail(formula, before, f"Text in quotes takes no prefix {before.text!r}")
    if token.text == "(" and before.kind == "quoted":
        remedy = "functions are written without backticks"
        _fail(formula, before, f"{before.text} is a column and cannot be called; {remedy}")
    if token.text == "(" and before.kind == "name":
        return
    if token.kind != "operator" or token.text in "([{":
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
        what = f"Attributes such as '{before.text}.{name}' are not part of the language"
        _fail(formula, place, f"{what}; write {name}(...)")
    remedy = f"a column of that name is written `{before.text}.{name}`" if before.kind == "name" else "remove it"
    _fail(formula, place, f"Attribute access with '.' is not part of the language; {remedy}")


def _with_role(formula: str, before: Token | None, token: Token, after: Token | None, opened: list[Token]) -> Token:
    """Decide what an ambiguous sign means."""
    if token.kind != "operator":
        return token
    if token.text == "(" and before is not None and before.kind == "name":
        return Token("operator", "(", token.start, "call")
    grouped = all(bracket.text == "(" and bracket.role == "" for bracket in opened)
    if token.text == ":":
        if not grouped:
            _fail(formula, token, "':' makes an interaction of two terms and cannot stand inside a call or {...}")
        return Token("operator", ":", token.start, "interaction")
    if token.text == "=" and grouped:
        remedy = "the response is set off by '~', equality is '=='"
        _fail(formula, token, f"'=' only names an argument inside a call; {remedy}")
    if token.text == ".":
        if after is not None and (after.kind != "operator" or after.text in "([{"):
            _fail(formula, token, "'.' means all other columns; an operator is missing after it")
        if not grouped:
            _fail(formula, token, "'.' means all other columns as terms, and cannot stand inside a call")
        return Token("operator", ".", token.start, "dot")
    return token


def _fail(formula: str, token: Token, message: str) -> NoReturn:
    raise FormulaError(message, formula, token.start)


def _syntax_error(error: SyntaxError, formula: str, tokens: tuple[Token, ...]) -> FormulaError:
    """Turn Python's complaint into ours, at the token it points to."""
    first, last = tokens[0], tokens[-1]
    if last.kind == "operator" and last.text not in ")]}" and last.role != "dot":
        message = f"Something is missing after '{last.text}'; complete it or take it out"
        return FormulaError(message, formula, last.start)
    if first.kind == "operator" and first.text not in "([{+-" and first.role != "dot":
        return FormulaError(f"Something is missing before '{first.text}'", formula, first.start)
    position = min(max(first.start + (error.offset or 1) - 1, first.start), last.end - 1)
    for before, token in itertools.pairwise(tokens):
        if token.start == position and before.kind == token.kind == "operator":
            return FormulaError(f"Something is missing between '{before.text}' and '{token.text}'", formula, position)
    message = error.msg if error.msg != "invalid syntax" else "This cannot be read as a formula"
    return FormulaError(message, formula, position)
