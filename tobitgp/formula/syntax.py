"""One side of a formula as a Python syntax tree that can point back into the text."""

from __future__ import annotations

import ast
import itertools
from dataclasses import dataclass
from typing import NoReturn

from tobitgp.errors import FormulaError
from tobitgp.formula.functions import UserFunctions
from tobitgp.formula.tokens import Token, tokenize

MAX_DEPTH = 200


@dataclass(frozen=True, slots=True)
class Syntax:
    """A parsed piece of formula."""

    formula: str  # text the tokens point into
    start: int  # offset of the parsed piece in ``formula``
    tokens: tuple[Token, ...]  # tokens of the piece
    tree: ast.expr  # names hold placeholders: read them by :meth:`name`
    offsets: tuple[int, ...] | None  # character offset of every UTF-8 byte of the piece; None when all are ASCII
    functions: UserFunctions = ()  # A user's own functions that may be called

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

    def is_dot(self, node: ast.AST) -> bool:
        """Tell whether a node is the ``.`` that stands for all other columns."""
        return isinstance(node, ast.Name) and self.name(node) == "."

    def fail(self, node: ast.expr | ast.keyword, message: str) -> NoReturn:
        """Raise a FormulaError at a node."""
        raise FormulaError(message, self.formula, self.span(node)[0])


def one_line(text: str) -> str:
    """Replace every white space by a blank, so that offsets stay."""
    return "".join(" " if char.isspace() else char for char in text)


def read_expression(text: str, functions: UserFunctions = ()) -> Syntax:
    """Parse one expression by itself, as stored in an :class:`~tobitgp.formula.spec.Expression`."""
    return read_side(text, tokenize(text), functions)


def read_side(formula: str, tokens: tuple[Token, ...], functions: UserFunctions = ()) -> Syntax:
    """Parse tokens of a formula with Python's own parser; nothing is evaluated."""
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
    syntax = Syntax(formula, start, tokens, tree, None if text.isascii() else _byte_offsets(text), functions)
    _refuse_repeats(syntax)
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


def _refuse_repeats(syntax: Syntax) -> None:
    """Refuse arguments that a call has twice by name, of which Python's parser keeps both."""
    for call in ast.walk(syntax.tree):
        names: set[str | None] = set()
        for keyword in call.keywords if isinstance(call, ast.Call) else []:
            if keyword.arg in names:
                syntax.fail(keyword, f"{keyword.arg}= is given twice")
            names.add(keyword.arg)


def _byte_offsets(text: str) -> tuple[int, ...]:
    """Character offset of every byte of a text in UTF-8, and of its end."""
    offsets = [i for i, char in enumerate(text) for _ in char.encode()]
    return (*offsets, len(text))


def _syntax_error(error: SyntaxError, formula: str, tokens: tuple[Token, ...]) -> FormulaError:
    """Turn Python's complaint into ours, at the token it points to."""
    start, end = tokens[0].start, tokens[-1].end
    last = tokens[-1]
    if last.kind == "operator" and last.text not in ")]}" and last.role != "dot":
        return FormulaError(
            f"Something is missing after '{last.text}'; complete it or take it out", formula, last.start
        )
    first = tokens[0]
    if first.kind == "operator" and first.text not in "([{+-" and first.role != "dot":
        return FormulaError(f"Something is missing before '{first.text}'", formula, first.start)
    position = min(max(start + (error.offset or 1) - 1, start), end - 1)
    for before, token in itertools.pairwise(tokens):
        if token.start == position and before.kind == token.kind == "operator":
            return FormulaError(f"Something is missing between '{before.text}' and '{token.text}'", formula, position)
    message = error.msg if error.msg != "invalid syntax" else "This cannot be read as a formula"
    return FormulaError(message, formula, position)
