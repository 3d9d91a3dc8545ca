"""Processes in the spelling of other programs: ``s(x, bs="gp")`` of mgcv and ``hsgp(x)`` of bambi."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from tobitgp.formula.arguments import is_none, read_flag, read_keywords
from tobitgp.formula.expressions import called_name
from tobitgp.formula.gp import ProcessFound, default_label, read_inputs
from tobitgp.formula.groups import read_group
from tobitgp.formula.spec import Expression, GPFactor, GPTerm
from tobitgp.formula.syntax import Syntax

_S = ("bs", "k", "by", "m")
_HSGP = ("m", "c", "L", "by", "cov", "share_cov", "iso", "centered", "scale", "drop_first", "k")
_UNUSED = {"s": ("k",), "hsgp": ("k", "m", "c", "L", "centered", "scale", "drop_first")}
_COVARIANCES = {"ExpQuad": "rbf", "Matern32": "matern32", "Matern52": "matern52"}
_CORRELATIONS = {2: "matern12", 3: "matern32", 4: "matern52"}
_CYCLIC = 'gp({0}, period=12), the period in units of {0}, or gp({0}, kernel="periodic") to estimate it'
_BASES = {"re": "re({0})", "cc": _CYCLIC, "cp": _CYCLIC}


def read_alias(syntax: Syntax, node: ast.Call, found: ProcessFound) -> GPTerm:
    """Read ``s(x, bs="gp", k=, by=, m=)`` or ``hsgp(x, cov=, by=, ...)``."""
    function = called_name(syntax, node)
    options = read_keywords(syntax, node, _S if function == "s" else _HSGP)
    options = {name: value for name, value in options.items() if not is_none(value)}
    if function == "s":
        _check_basis(syntax, node, options)
    inputs = read_inputs(syntax, node, found.inputs)
    notes: list[str] = []
    if function == "s":
        kernel, isotropic = _read_correlation(syntax, options, inputs, notes), True
    else:
        kernel, isotropic = _read_covariance(syntax, options)
    by = read_group(syntax, options["by"], found.by, "by=") if "by" in options else None
    unused = [name for name in _UNUSED[function] if name in options]
    for name in unused:
        _check_literal(syntax, name, options[name])
    if unused:
        notes.insert(0, _unused_words(unused))
    ard = not isotropic or len(inputs) == 1
    spelling = _spell(inputs, kernel, ard, by)
    factor = GPFactor(inputs, kernel, ard)
    return GPTerm((factor,), default_label(inputs, by), by, spelling, syntax.text(node), "; ".join(notes))


def _check_basis(syntax: Syntax, node: ast.Call, options: dict[str, ast.expr]) -> None:
    """Refuse smooths that are no processes."""
    inputs = ", ".join(syntax.text(arg) for arg in node.args) or "x"
    by = f", by={syntax.text(options['by'])}" if "by" in options else ""
    remedy = f"write gp({inputs}{by}) for a smooth curve, or bs(x, df=5) for a spline"
    if "bs" not in options:
        syntax.fail(node, f'Of the smooths of mgcv s(x, bs="gp") is read; {remedy}')
    basis = options["bs"].value if isinstance(options["bs"], ast.Constant) else None
    if basis != "gp":
        if isinstance(basis, str) and basis in _BASES and len(node.args) == 1:
            remedy = f"write {_BASES[basis].format(inputs)}"
        syntax.fail(options["bs"], f'Of the smooths of mgcv s(x, bs="gp") is read; {remedy}')


def _read_correlation(
    syntax: Syntax, options: dict[str, ast.expr], inputs: tuple[Expression, ...], notes: list[str]
) -> str:
    """Kernel that ``m=`` stands for; mgcv adds a linear trend unless it is negative."""
    node = options.get("m")
    negative = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
    literal = node.operand if isinstance(node, ast.UnaryOp) else node
    number = literal.value if isinstance(literal, ast.Constant) else None
    if node is not None and (type(number) is not int or number not in _CORRELATIONS):
        known = ", ".join(f"{m} {kernel}" for m, kernel in _CORRELATIONS.items())
        syntax.fail(node, f"m= is one number here: {known}; the range is estimated")
    if not negative:
        trend = " + ".join(item.text for item in inputs)
        notes.append(f"the linear trend that mgcv adds is written + {trend}")
    return _CORRELATIONS[number] if isinstance(number, int) else "matern32"


def _read_covariance(syntax: Syntax, options: dict[str, ast.expr]) -> tuple[str, bool]:
    """Kernel of ``hsgp``, and whether one length-scale serves all inputs."""
    kernel = "rbf"
    if "cov" in options:
        cov = options["cov"].value if isinstance(options["cov"], ast.Constant) else None
        if not isinstance(cov, str) or cov not in _COVARIANCES:
            known = ", ".join(f'"{name}"' for name in _COVARIANCES)
            syntax.fail(options["cov"], f"cov= is one of {known}; gp(x, kernel=) has more")
        kernel = _COVARIANCES[cov]
    if "share_cov" in options and not read_flag(syntax, "share_cov", options["share_cov"]):
        remedy = "by= shares them; for curves with their own write I(g == 'a'):gp(x) for each level"
        syntax.fail(options["share_cov"], f"Hyper-parameters of each level are not offered; {remedy}")
    return kernel, read_flag(syntax, "iso", options["iso"]) if "iso" in options else True


def _check_literal(syntax: Syntax, option: str, node: ast.expr) -> None:
    """Refuse anything but plain values in an argument that is not used."""
    for value in node.elts if isinstance(node, ast.List | ast.Tuple) else [node]:
        literal = value.operand if isinstance(value, ast.UnaryOp) else value
        if not isinstance(literal, ast.Constant):
            syntax.fail(value, f"{option}= takes plain values: numbers, True or False, or a list of them")


def _unused_words(names: Iterable[str]) -> str:
    listed = [f"{name}=" for name in names]
    joined = f"{', '.join(listed[:-1])} and {listed[-1]}" if len(listed) > 1 else listed[0]
    return f"{joined} {'set' if len(listed) > 1 else 'sets'} a basis that is not used here"


def _spell(inputs: tuple[Expression, ...], kernel: str, ard: bool, by: Expression | None) -> str:
    """Write a process as a user would."""
    pieces = [item.text for item in inputs]
    pieces += [] if kernel == "rbf" else [f'kernel="{kernel}"']
    pieces += [] if ard else ["ard=False"]
    pieces += [] if by is None else [f"by={by.text}"]
    return f"gp({', '.join(pieces)})"
