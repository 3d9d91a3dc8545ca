"""Processes in the spelling of other programs: ``s(x, bs="gp")`` of mgcv and ``hsgp(x)`` of bambi."""

from __future__ import annotations

import ast

from tobitgp.formula.expressions import literal, literals, read_by, read_flag, read_inputs, read_options
from tobitgp.formula.spec import GPFactor, GPTerm, default_label
from tobitgp.formula.syntax import Syntax, called

_S = ("bs", "k", "by", "m")
_HSGP = ("m", "c", "L", "by", "cov", "share_cov", "iso", "centered", "scale", "drop_first", "k")
_UNUSED = {"s": ("k",), "hsgp": ("k", "m", "c", "L", "centered", "scale", "drop_first")}
_COVARIANCES = {"ExpQuad": "rbf", "Matern32": "matern32", "Matern52": "matern52"}
_CORRELATIONS = {2: "matern12", 3: "matern32", 4: "matern52"}
_CYCLIC = 'gp({0}, period=12), the period in units of {0}, or gp({0}, kernel="periodic") to estimate it'
_BASES = {"re": "re({0})", "cc": _CYCLIC, "cp": _CYCLIC}


def read_alias(syntax: Syntax, node: ast.Call) -> GPTerm:
    """Read ``s(x, bs="gp", k=, by=, m=)`` or ``hsgp(x, cov=, by=, ...)``."""
    function, notes = called(node), []
    options = read_options(syntax, node, _S if function == "s" else _HSGP)
    if function == "s":
        _check_basis(syntax, node, options)
    inputs = read_inputs(syntax, node)
    by = read_by(syntax, options)
    line = len(inputs) == 1 and by is None and not isinstance(options.get("m"), ast.UnaryOp)
    if function == "s":
        kernel, isotropic = _read_correlation(syntax, options.get("m")), True
        # mgcv takes the trend out where m= is negative.
        if not line and not isinstance(options.get("m"), ast.UnaryOp):
            notes.append(f"the linear trend that mgcv adds is written + {' + '.join(item.text for item in inputs)}")
    else:
        kernel = _read_covariance(syntax, options)
        isotropic = read_flag(syntax, options, "iso")
    unused = [name for name in _UNUSED[function] if name in options]
    for name in unused:
        list(literals(syntax, options[name], f"{name}= takes plain values: numbers, True or False, or a list of them"))
    if unused:
        *first, last = (f"{name}=" for name in unused)
        listed = f"{', '.join(first)} and {last} set" if first else f"{last} sets"
        notes.insert(0, f"{listed} a basis that is not used here")
    ard = not isotropic or len(inputs) == 1
    words = [item.text for item in inputs]
    words += [] if kernel == "rbf" else [f'kernel="{kernel}"']
    words += [] if ard else ["ard=False"]
    words += [] if by is None else [f"by={by.text}"]
    words += [] if line or len(inputs) > 1 or by is not None else ["line=False"]
    factor, spelling = GPFactor(inputs, kernel, ard), f"gp({', '.join(words)})"
    label, written = default_label(inputs, by), syntax.text(node)
    return GPTerm((factor,), label, by, spelling, written, "; ".join(notes), line=line)


def _check_basis(syntax: Syntax, node: ast.Call, options: dict[str, ast.expr]) -> None:
    """Raise an error for smooths that are not Gaussian processes."""
    basis = literal(options.get("bs"))
    if basis == "gp":
        return
    inputs = ", ".join(syntax.text(arg) for arg in node.args) or "x"
    by = f", by={syntax.text(options['by'])}" if "by" in options else ""
    remedy = f"write gp({inputs}{by}) for a smooth curve, or bs(x, df=5) for a spline"
    if isinstance(basis, str) and basis in _BASES and len(node.args) == 1:
        remedy = f"write {_BASES[basis].format(inputs)}"
    syntax.fail(options.get("bs", node), f'The only smooth of mgcv that is supported is s(x, bs="gp"); {remedy}.')


def _read_correlation(syntax: Syntax, node: ast.expr | None) -> str:
    """Kernel of ``m=``, whose sign says nothing about it."""
    if node is None:
        return "matern32"
    number = literal(node)
    if type(number) is not int or abs(number) not in _CORRELATIONS:
        known = ", ".join(f"{m} {kernel}" for m, kernel in _CORRELATIONS.items())
        syntax.fail(node, f"m= is one number here: {known}; the range is estimated.")
    return _CORRELATIONS[abs(number)]


def _read_covariance(syntax: Syntax, options: dict[str, ast.expr]) -> str:
    """Kernel of ``hsgp``, whose hyper-parameters all levels share."""
    cov = literal(options["cov"]) if "cov" in options else "ExpQuad"
    if not isinstance(cov, str) or cov not in _COVARIANCES:
        known = ", ".join(f'"{name}"' for name in _COVARIANCES)
        syntax.fail(options["cov"], f"cov= is one of {known}; gp(x, kernel=) has more.")
    if not read_flag(syntax, options, "share_cov"):
        remedy = "by= shares them; for curves with their own write I(g == 'a'):gp(x) for each level"
        syntax.fail(options["share_cov"], f"Hyper-parameters of each level are not supported; {remedy}.")
    return _COVARIANCES[cov]
