"""Formula text as tokens, then as a Python syntax tree that can point back into the text; nothing is evaluated."""

from __future__ import annotations

import ast
import itertools
import keyword
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, NamedTuple, NoReturn

from tobitgp.errors import FormulaError
from tobitgp.formula.functions import CONSTANTS, FUNCTIONS, UserFunctions
from tobitgp.formula.spec import Expression, Role, Variable, squeezed

MAX_LENGTH = 20_000
MAX_NESTING = 20
MAX_OPERATORS = 1_000
MAX_DIGITS = 40
MAX_DEPTH = 200

_TOKEN = re.compile(
    r"""(?P<space>\s+)
    |(?P<quoted>`[^`]*`)
    |(?P<string>"[^"\\`]*"|'[^'\\`]*')
    |(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<name>[^\W\d]\w*)
    |(?P<operator>\*\*|//|<=|>=|==|!=|:=|\|\||[-+*/%|~<>=:,.()\[\]{}])
    |(?P<bad>.)""",
    re.VERBOSE | re.DOTALL,
)
_PAIRS = {")": "(", "]": "[", "}": "{"}
_COUNTED = frozenset({"+", "-", "*", "/", "**", "//", "%", ":", "|", "||", "<", ">", "<=", ">=", "==", "!="})
_UNCLOSED = "This quote is never closed, or the text in it holds a backslash or a backtick, which is not allowed"
_BAD = {
    "^": "Powers are written with '**': I(x**2) for the square of a column, (a + b)**2 for interactions",
    "&": "'&' is not part of the language; multiply comparisons instead, as in (x > 1) * (z < 2)",
    "@": "'@' is not part of the language; an interaction is written a:b",
    "`": "This backtick has no partner; a column name in backticks is written `my column`",
    '"': _UNCLOSED,
    "'": _UNCLOSED,
    "!": "'!' is supported only in '!=', not equal",
    "#": "A formula holds no comments; an interaction is written a:b, and a*b with its main effects",
    ";": "One formula at a time: ';' is not part of the language",
}
_WORDS = {
    "lambda": "pass your function by name: functions={'f': f}",
    "in": "write (q == 'U') + (q == 'UJ'), a comparison with each value",
    "or": "write maximum(x > 1, z < 2), which is 1 where either holds",
    "and": "write (x > 1) * (z < 2), which is 1 where both hold",
    "not": "write x != 1, or 1 - (x > 1)",
}
# Stata's operators on columns.
_STATA = {
    "i": "A factor is written C({name}); a column of that name `i.{name}`",
    "c": "A column of numbers is written {name}; a column of that name `c.{name}`",
    **dict.fromkeys("LFD", "Lags, leads and differences are made in the data frame, by groupby().shift()"),
}


class Token(NamedTuple):
    """One word, number or sign of the formula."""

    kind: str  # a group of the pattern above
    text: str  # as written
    start: int  # offset in the formula
    role: Literal["", "call", "interaction", "dot"] = ""

    @property
    def end(self) -> int:
        """Offset after the last character."""
        return self.start + len(self.text)

    @property
    def ends_operand(self) -> bool:
        """Whether a term or a factor may end here, so that an operator must follow."""
        return self.kind != "operator" or self.text in ")]}" or self.role == "dot"

    @property
    def begins_operand(self) -> bool:
        """Whether a term or a factor begins here, or a call."""
        return self.kind != "operator" or self.text in "([{"


@dataclass(slots=True)
class Syntax:
    """A parsed part of a formula, with the columns that checks have met in it."""

    formula: str  # text the tokens point into
    start: int  # offset of the parsed part in ``formula``
    tokens: tuple[Token, ...]
    tree: ast.expr  # names are those of columns and functions, without backticks
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
        return squeezed(self.formula[first:last])

    def argument_name(self, node: ast.keyword) -> str:
        """Name of an argument as written, with its backticks."""
        first = self.span(node)[0]
        return next(token.text for token in self.tokens if token.start == first)

    def is_quoted(self, node: ast.Name) -> bool:
        """Whether a name is written in backticks."""
        return self.formula[self.span(node)[0]] == "`"

    def is_constant(self, node: ast.AST) -> bool:
        """Tell whether a node is the name of a number, as ``pi``."""
        return isinstance(node, ast.Name) and node.id in CONSTANTS and not self.is_quoted(node)

    def expression(self, node: ast.expr) -> Expression:
        """Text and place of a node."""
        first, last = self.span(node)
        return Expression(self.formula[first:last], first, self.functions)

    @property
    def own(self) -> tuple[str, ...]:
        """Names of a user's own functions."""
        return tuple(name for name, _ in self.functions)

    def meet(self, node: ast.Name, role: Role, *, date: bool = False, beside: str = "") -> None:
        """Note a column; constants are none."""
        if self.is_constant(node):
            return
        self.variables.append(Variable(node.id, self.span(node)[0], role, date, beside))

    def fail(self, node: ast.expr | ast.keyword, message: str) -> NoReturn:
        """Raise a FormulaError at a node."""
        raise FormulaError(message, self.formula, self.span(node)[0])


def called(node: ast.AST) -> str:
    """Name of the function that a node calls; empty if it is not a call of a name."""
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""


_DOT = "`.`"  # no name of a column holds backticks


def is_dot(node: ast.AST) -> bool:
    """Tell whether a node is the ``.`` for all other columns."""
    return isinstance(node, ast.Name) and node.id == _DOT


def operands(node: ast.expr, *signs: type[ast.operator]) -> Iterator[ast.expr]:
    """Operands of some signs, from left to right, at any depth."""
    pending = [node]
    while pending:
        item = pending.pop()
        if isinstance(item, ast.BinOp) and isinstance(item.op, signs):
            pending += [item.right, item.left]
        else:
            yield item


def read_expression(text: str, functions: UserFunctions = ()) -> Syntax:
    """Parse one expression by itself, as stored in an :class:`~tobitgp.formula.spec.Expression`."""
    known = _read_alone(text)
    return Syntax(known.formula, known.start, known.tokens, known.tree, known.offsets, functions)


@lru_cache(maxsize=256)
def _read_alone(text: str) -> Syntax:
    return read_side(text, tokenize(text))


def read_side(formula: str, tokens: tuple[Token, ...], functions: UserFunctions = ()) -> Syntax:
    """Parse tokens of a formula with Python's own parser."""
    start, end = tokens[0].start, tokens[-1].end
    masked = list(formula[start:end])
    for token in tokens:
        if token.kind == "quoted" or token.role == "dot":
            masked[token.start - start : token.end - start] = "_" * len(token.text)
        elif token.role == "interaction":
            masked[token.start - start] = "@"
        elif token.text == "||":  # binds as loosely as "|", and is no sign of the language
            masked[token.start - start : token.end - start] = "^ "
    text = "".join(masked)
    try:
        tree = _parse(text)
    except SyntaxError as error:
        raise _syntax_error(error, formula, tokens) from None
    except (RecursionError, MemoryError, ValueError):
        raise FormulaError("The formula is nested too deeply.", formula, start) from None
    offsets = None if text.isascii() else (*(i for i, char in enumerate(text) for _ in char.encode()), len(text))
    syntax = Syntax(formula, start, tokens, tree, offsets, functions)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):  # as written: masked names are placeholders, others normalised by Python
            first, last = syntax.span(node)
            written = formula[first:last]
            node.id = _DOT if written == "." else written.strip("`")
        arguments = node.keywords if isinstance(node, ast.Call) else []
        for argument in arguments:
            argument.arg = argument.arg and syntax.argument_name(argument)
        for i, argument in enumerate(arguments):  # Python's parser keeps both of two arguments of one name
            if argument.arg in [other.arg for other in arguments[:i]]:
                syntax.fail(argument, f"{argument.arg}= is given twice.")
    return syntax


def _parse(text: str) -> ast.expr:
    try:
        return ast.parse(text, mode="eval").body
    except SystemError:  # CPython to 3.11.7 miscounts the depth where threads parse at once (gh-106905)
        return ast.parse(text, mode="eval").body


def names_in(tree: ast.expr) -> list[ast.Name]:
    """Names in an expression that are not called: its columns, and constants."""
    functions = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return [node for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in functions]


def check_depth(syntax: Syntax, node: ast.expr) -> None:
    """Raise an error for a tree that is too deep to be walked by recursion."""
    level: list[ast.AST] = [node]
    for _ in range(MAX_DEPTH):
        level = [child for parent in level for child in ast.iter_child_nodes(parent)]
        if not level:
            return
    syntax.fail(node, f"This term is nested more than {MAX_DEPTH} operations deep; make the column in the data first.")


def tokenize(formula: str) -> tuple[Token, ...]:
    """Cut a formula into tokens, with an error for text that is not a formula at all."""
    if len(formula) > MAX_LENGTH:
        raise FormulaError(f"The formula has {len(formula)} characters; at most {MAX_LENGTH} are read.")
    raw = _scan(formula)
    tokens: list[Token] = []
    opened: list[Token] = []
    for token, after in itertools.zip_longest(raw, raw[1:]):
        before = tokens[-1] if tokens else None
        if before is not None:
            _check_neighbours(formula, before, token, after)
        token = _with_role(formula, before, token, after, opened)
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
    """Tokens without roles; single characters and words that are never allowed raise an error."""
    tokens = [Token(match.lastgroup or "", match.group(), match.start()) for match in _TOKEN.finditer(formula)]
    tokens = [token for token in tokens if token.kind != "space"]
    for token in tokens:
        text = token.text
        if token.kind == "bad":
            _fail(formula, token, _BAD.get(text, f"The character {text!r} is not part of the language"))
        if token.kind == "quoted" and not text[1:-1].strip():
            _fail(formula, token, "There is no column name between these backticks")
        if token.kind == "number" and len(text) > MAX_DIGITS:
            _fail(formula, token, f"This number has {len(text)} digits; at most {MAX_DIGITS} are read")
        if text == ":=":
            _fail(formula, token, "Nothing can be assigned in a formula; an interaction is written a:b")
        remedy = f"a column of that name is written `{text}`"
        if token.kind == "name" and text.startswith("__"):
            _fail(formula, token, f"Names that begin with '__' are not supported; {remedy}")
        if token.kind == "name" and keyword.iskeyword(text) and text not in ("None", "True", "False"):
            remedy = _WORDS.get(text, remedy)
            _fail(formula, token, f"'{text}' is a word of Python and not part of the language; {remedy}")
    n_operators = sum(token.text in _COUNTED for token in tokens)
    if n_operators > MAX_OPERATORS:
        raise FormulaError(f"The formula has {n_operators} operators; at most {MAX_OPERATORS} are read.")
    return tokens


def _check_neighbours(formula: str, before: Token, token: Token, after: Token | None) -> None:
    """Raise an error for attribute access, indexing, and operands side by side."""
    if not before.ends_operand:
        return
    if token.text == "." and token.kind == "operator":
        _refuse_attribute(formula, before, token, "" if after is None else after.text)
    if token.text == "[":
        remedy = "write the name of the column alone, or make the column in the data frame first"
        _fail(formula, token, f"Indexing is not part of the language: {remedy}")
    if token.kind == "string" and before.kind == "name" and before.end == token.start:
        _fail(formula, before, f"Text in quotes takes no prefix {before.text!r}")
    if token.text == "(" and before.kind == "quoted":
        remedy = "functions are written without backticks"
        _fail(formula, before, f"{before.text} is a column and cannot be called; {remedy}")
    if token.begins_operand and not (token.text == "(" and before.kind == "name"):
        names = before.kind == token.kind == "name"
        remedy = f"; a column of that name is written `{before.text} {token.text}`" if names else ""
        _fail(formula, token, f"An operator or a comma is missing between '{before.text}' and '{token.text}'{remedy}")


def _refuse_attribute(formula: str, before: Token, token: Token, name: str) -> NoReturn:
    """Say what to write instead of ``np.log``."""
    place = before if before.kind == "name" else token
    if before.text == "contr":
        _fail(formula, place, 'Contrasts are written C(g, Treatment("b")), C(g, Sum), C(g, Helmert), C(g, Diff)')
    if name in FUNCTIONS:
        what = f"Attributes such as '{before.text}.{name}' are not part of the language"
        _fail(formula, place, f"{what}; write {name}(...)")
    if before.text in _STATA and name:
        _fail(formula, place, _STATA[before.text].format(name=name))
    remedy = f"a column of that name is written `{before.text}.{name}`" if before.kind == "name" else "remove it"
    if name == "isin":
        values = re.findall(r"'[^']*'|\"[^\"]*\"|-?\d+\.?\d*", formula[token.start :].partition(")")[0])
        remedy = f"write {' + '.join(f'({before.text} == {value})' for value in values or ['...'])}"
    _fail(formula, place, f"Attribute access with '.' is not part of the language; {remedy}")


def _with_role(formula: str, before: Token | None, token: Token, after: Token | None, opened: list[Token]) -> Token:
    """Decide what an ambiguous sign means."""
    grouped = all(bracket.text == "(" and bracket.role == "" for bracket in opened)
    match token.text:
        case "(" if before is not None and before.kind == "name":
            return token._replace(role="call")
        case ":" if grouped:
            return token._replace(role="interaction")
        case ":":
            _fail(formula, token, "':' makes an interaction of two terms, and is not supported inside a call or {...}")
        case "=" if grouped:
            remedy = "the response is set off by '~', equality is '=='"
            _fail(formula, token, f"'=' only names an argument inside a call; {remedy}")
        case "||" if not opened:
            _fail(formula, token, "'||' must be in brackets, as in (z || g): random effects without correlations")
        case "." if after is not None and after.begins_operand:
            _fail(formula, token, "'.' means all other columns; an operator is missing after it")
        case "." if grouped:
            return token._replace(role="dot")
        case ".":
            _fail(formula, token, "'.' means all other columns as terms, and is not supported inside a call")
    return token


def _fail(formula: str, token: Token, message: str) -> NoReturn:
    raise FormulaError(f"{message}.", formula, token.start)


def _syntax_error(error: SyntaxError, formula: str, tokens: tuple[Token, ...]) -> FormulaError:
    """Turn Python's complaint into ours, at the token it points to."""
    first, last = tokens[0], tokens[-1]
    if not last.ends_operand:
        message = f"Something is missing after '{last.text}'; complete it or take it out"
        return FormulaError(f"{message}.", formula, last.start)
    if not first.begins_operand and first.text not in "+-" and first.role != "dot":
        return FormulaError(f"Something is missing before '{first.text}'.", formula, first.start)
    position = min(max(first.start + (error.offset or 1) - 1, first.start), last.end - 1)
    for before, token in itertools.pairwise(tokens):
        if token.start == position and before.kind == token.kind == "operator":
            return FormulaError(f"Something is missing between '{before.text}' and '{token.text}'.", formula, position)
    message = error.msg if error.msg != "invalid syntax" else "This cannot be read as a formula"
    return FormulaError(f"{message}.", formula, position)
