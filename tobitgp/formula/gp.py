"""``gp(...)``: one kernel and its inputs."""

from __future__ import annotations

import ast
import math
from dataclasses import dataclass, field

from tobitgp.formula.arguments import is_none, read_flag, read_keywords, read_name
from tobitgp.formula.expressions import Found, called_name, check_expression, constant_value, expression
from tobitgp.formula.functions import KERNEL_ALIASES, KERNEL_NAMES, nearest
from tobitgp.formula.groups import read_group
from tobitgp.formula.spec import Expression, GPFactor, GPTerm
from tobitgp.formula.syntax import Syntax, check_depth

OPTIONS = ("kernel", "ard", "by", "period", "name")
_REMEDIES = {
    "c": "gp() has no c=; it has no boundary, so leave it out",
    "iso": "gp() has no iso=; ard=False gives all inputs one length-scale, and each has its own otherwise",
    "k": "gp() has no k=; how many features are used is the argument inducing= beside the formula",
    "cov": 'gp() has no cov=; the covariance is kernel=, as in gp(x, kernel="matern52")',
}


@dataclass(slots=True)
class ProcessFound:
    """Columns of processes, as they are collected."""

    inputs: Found = field(default_factory=Found)  # one for each role of a column
    by: Found = field(default_factory=Found)  # one for each role of a column
    re: Found = field(default_factory=Found)  # one for each role of a column


def read_gp(syntax: Syntax, node: ast.Call, found: ProcessFound) -> GPTerm:
    """Read ``gp(x, ..., kernel=, ard=, by=, period=, name=)``.

    Its label is ``name=``, else its inputs with ``by=`` and a known ``period=``, so that ``gp(t) + gp(t, period=7)``
    are two terms; a kernel is no part of the label.
    """
    options = read_keywords(syntax, node, OPTIONS, remedies=_REMEDIES)
    options = {name: value for name, value in options.items() if not is_none(value)}
    inputs = read_inputs(syntax, node, found.inputs)
    kernel, period = _read_kernel_and_period(syntax, options)
    if kernel == "periodic" and len(inputs) > 1:
        remedy = f'multiply: gp({inputs[0].text}, kernel="periodic"):gp({inputs[1].text})'
        syntax.fail(node.args[1], f"A periodic kernel takes one input; {remedy}")
    ard = read_flag(syntax, "ard", options["ard"]) if "ard" in options else True
    by = read_group(syntax, options["by"], found.by, "by=") if "by" in options else None
    label = (
        read_name(syntax, options["name"])
        if "name" in options
        else default_label(inputs, by, _written_period(syntax, options))
    )
    return GPTerm((GPFactor(inputs, kernel, ard, period),), label, by)


def read_inputs(syntax: Syntax, node: ast.Call, found: Found) -> tuple[Expression, ...]:
    """Read the arguments without a name, each with a column in it."""
    function = called_name(syntax, node)
    if not node.args:
        syntax.fail(node, f"{function}() needs at least one input, as in {function}(x)")
    inputs: list[Expression] = []
    for arg in node.args:
        before = len(found.names)
        check_expression(syntax, arg, found)
        item = expression(syntax, arg)
        if len(found.names) == before:
            syntax.fail(arg, f"The input {item.text} of {function}() names no column")
        if label_of(item) in [label_of(other) for other in inputs]:
            syntax.fail(arg, f"The input {label_of(item)} stands twice in one {function}()")
        inputs.append(item)
    return tuple(inputs)


def read_kernel(syntax: Syntax, node: ast.expr) -> str:
    """Read the name of a kernel, in any spelling."""
    kernel = node.value if isinstance(node, ast.Constant) else None
    known = f"the kernels are {', '.join(KERNEL_NAMES)}"
    if not isinstance(kernel, str):
        syntax.fail(node, f"kernel= takes a name in quotes; {known}")
    name = KERNEL_ALIASES.get(kernel.lower(), kernel.lower())
    if name not in KERNEL_NAMES:
        close = (nearest(kernel.lower(), KERNEL_NAMES) or nearest(kernel.lower(), KERNEL_ALIASES)).rstrip("?")
        syntax.fail(node, f"There is no kernel {kernel!r}{close}; {known}")
    return name


def default_label(
    inputs: tuple[Expression, ...], by: Expression | None, period: Expression | None = None, kernel: str = ""
) -> str:
    """Label of a process that was given none, blanks and backticks apart as it is written."""
    options = [f"by={label_of(by)}"] if by is not None else []
    options += [f"period={label_of(period)}"] if period is not None else []
    options += [f'kernel="{kernel}"'] if kernel else []
    return f"gp({', '.join([*map(label_of, inputs), *options])})"


def label_of(item: Expression) -> str:
    """Text of an expression for a label: blanks squeezed, a bare column without its backticks."""
    text = " ".join(item.text.split())
    bare = text.startswith("`") and text.count("`") == 2 and text.endswith("`")
    return item.text.strip("`") if bare else text


def _written_period(syntax: Syntax, options: dict[str, ast.expr]) -> Expression | None:
    return expression(syntax, options["period"]) if "period" in options else None


def _read_kernel_and_period(syntax: Syntax, options: dict[str, ast.expr]) -> tuple[str, float | None]:
    kernel = read_kernel(syntax, options["kernel"]) if "kernel" in options else None
    if "period" not in options:
        return kernel or "rbf", None
    node = options["period"]
    if kernel not in (None, "periodic"):
        remedy = f'leave period= out, or multiply: gp(x, period=12):gp(x, kernel="{kernel}")'
        syntax.fail(node, f"period= goes with the periodic kernel, not with {kernel}; {remedy}")
    check_depth(syntax, node)
    period = constant_value(node)
    if period is None or not 0 < period < math.inf:
        syntax.fail(node, 'period= is a positive number; gp(x, kernel="periodic") estimates it')
    return "periodic", period
