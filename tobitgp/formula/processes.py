"""``gp(...)`` terms."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NoReturn

from tobitgp.formula.expressions import Found, check_expression, expression
from tobitgp.formula.functions import KERNEL_ALIASES, KERNEL_NAMES, nearest
from tobitgp.formula.spec import GPFactor, GPTerm
from tobitgp.formula.syntax import Syntax

_OPTIONS = ("kernel", "ard", "name")
_NOT_YET = {
    "by": "gp(..., by=) is not offered yet; write gp(x) for one curve, with C(g) beside it for a shift of each level",
    "period": "gp(..., period=) is not offered yet; write gp(sin(2*pi*x/p), cos(2*pi*x/p)) for period p",
    "k": "gp() has no k=; how many features are used is the argument inducing= beside the formula",
    "cov": 'gp() has no cov=; the covariance is kernel=, as in gp(x, kernel="matern52")',
}
_KERNELS_NOT_YET = ("rq", "periodic", "linear")


def read_gp(syntax: Syntax, node: ast.Call, found: Found, taken: Sequence[str]) -> GPTerm:
    """Read ``gp(x, ..., kernel=, ard=, name=)``.

    Parameters
    ----------
    syntax : Syntax
    node : ast.Call
    found : Found
        Columns of the inputs are added here.
    taken : sequence of str
        Labels of the terms before this one.

    Returns
    -------
    GPTerm

    Raises
    ------
    FormulaError
        For unknown arguments or kernels, inputs without a column, and a label that is taken.
    """
    options = _read_options(syntax, node)
    if not node.args:
        syntax.fail(node, "gp() needs at least one input, as in gp(x)")
    texts: list[str] = []
    for arg in node.args:
        before = len(found.names)
        check_expression(syntax, arg, found)
        text = syntax.name(arg) if isinstance(arg, ast.Name) else syntax.text(arg)
        if len(found.names) == before:
            syntax.fail(arg, f"The input {text} of gp() names no column")
        if text in texts:
            syntax.fail(arg, f"The input {text} stands twice in one gp()")
        texts.append(text)
    kernel = _read_kernel(syntax, options["kernel"]) if "kernel" in options else "rbf"
    ard = _read_flag(syntax, "ard", options["ard"]) if "ard" in options else True
    label = _read_name(syntax, options["name"]) if "name" in options else f"gp({', '.join(texts)})"
    if label in taken:
        remedy = "choose another" if "name" in options else f'give this one a name, as in gp({texts[0]}, name="short")'
        syntax.fail(options.get("name", node), f"There is already a term {label!r}; {remedy}")
    return GPTerm((GPFactor(tuple(expression(syntax, arg) for arg in node.args), kernel, ard),), label)


def _read_options(syntax: Syntax, node: ast.Call) -> dict[str, ast.expr]:
    """Keyword arguments by name."""
    options: dict[str, ast.expr] = {}
    for keyword in node.keywords:
        name = keyword.arg
        if name is None:
            syntax.fail(keyword, "Arguments of gp() are written out; '**' cannot stand here")
        if name in _NOT_YET:
            syntax.fail(keyword, _NOT_YET[name])
        if name not in _OPTIONS:
            syntax.fail(
                keyword, f"gp() has no argument {name!r}{nearest(name, _OPTIONS)}; it has: {', '.join(_OPTIONS)}"
            )
        if name in options:
            syntax.fail(keyword, f"{name}= is given twice")
        options[name] = keyword.value
    return options


def _read_kernel(syntax: Syntax, node: ast.expr) -> str:
    kernel = node.value if isinstance(node, ast.Constant) else None
    if not isinstance(kernel, str):
        syntax.fail(node, f"kernel= takes a name in quotes: {', '.join(KERNEL_NAMES)}")
    if kernel in _KERNELS_NOT_YET:
        _fail_kernel(syntax, node, f"The kernel {kernel!r} is not offered yet")
    kernel = KERNEL_ALIASES.get(kernel, kernel)
    if kernel not in KERNEL_NAMES:
        close = nearest(kernel, (*KERNEL_NAMES, *KERNEL_ALIASES))
        _fail_kernel(syntax, node, f"There is no kernel {kernel!r}{close}")
    return kernel


def _fail_kernel(syntax: Syntax, node: ast.expr, message: str) -> NoReturn:
    aliases = ", ".join(f"{alias} for {name}" for alias, name in KERNEL_ALIASES.items())
    syntax.fail(node, f"{message.rstrip('?')}; the kernels are {', '.join(KERNEL_NAMES)} ({aliases})")


def _read_flag(syntax: Syntax, option: str, node: ast.expr) -> bool:
    if not (isinstance(node, ast.Constant) and isinstance(node.value, bool)):
        syntax.fail(node, f"{option}= is True or False")
    return node.value


def _read_name(syntax: Syntax, node: ast.expr) -> str:
    name = node.value if isinstance(node, ast.Constant) else None
    if not isinstance(name, str) or not name.strip():
        syntax.fail(node, 'name= takes text in quotes, as in name="trend"')
    return name
