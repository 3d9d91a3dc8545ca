"""Terms with a process in them: ``gp(...)``, products, and what :mod:`tobitgp.formula.random_effects` reads."""

from __future__ import annotations

import ast
import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import NoReturn

from tobitgp.errors import FormulaError
from tobitgp.formula.aliases import read_alias
from tobitgp.formula.expressions import (
    check_expression,
    constant_value,
    is_none,
    literal,
    read_by,
    read_column,
    read_flag,
    read_group,
    read_inputs,
    read_name,
    read_options,
)
from tobitgp.formula.functions import KERNEL_ALIASES, KERNEL_NAMES, PROCESSES, nearest
from tobitgp.formula.random_effects import read_bar, read_re
from tobitgp.formula.spec import APPROXIMATIONS, Expression, GPFactor, GPTerm, default_label
from tobitgp.formula.syntax import Syntax, called, check_depth, is_dot, operands

OPTIONS = ("kernel", "ard", "by", "cor", "period", "name", "approximation", "neighbours", "line", "se")
_REMEDIES = {
    "c": "gp() has no c=; it has no boundary, so leave it out.",
    "iso": "gp() has no iso=; ard=False gives all inputs one length-scale, and each has its own otherwise.",
    "k": "gp() has no k=; the number of basis functions is a setting of the method, such as method=tg.EP(inducing=20).",
    "cov": 'gp() has no cov=; the covariance is kernel=, as in gp(x, kernel="matern52").',
}
MARKOV = ("matern12", "matern32", "matern52")
MOST_NEIGHBOURS = 200
_BY = "a curve for each group is gp(x, by=g)"


def holds_process(node: ast.expr) -> bool:
    """Tell whether a term is a process, a random effect, or combines one with something by signs."""
    pending = [node]
    while pending:
        match pending.pop():
            case ast.BinOp(op=ast.BitOr() | ast.BitXor()):
                return True
            case ast.BinOp(left=left, right=right):
                pending += [left, right]
            case ast.UnaryOp(operand=operand):
                pending.append(operand)
            case item if called(item) in PROCESSES:
                return True
    return False


def read_process(syntax: Syntax, node: ast.expr, taken: Sequence[str]) -> list[GPTerm]:
    """Read a term for which :func:`holds_process` holds, its labels none of those taken."""
    check_depth(syntax, node)
    match node:
        case ast.BinOp(op=ast.BitOr() | ast.BitXor()):
            terms = read_bar(syntax, node)
            for i, term in enumerate(terms):
                if term.name in (*taken, *(other.name for other in terms[:i])):
                    _refuse_label(syntax, node, term)
            return terms
        case ast.BinOp(op=ast.MatMult()):
            term = _read_product(syntax, node)
        case ast.Call():
            term = {"gp": _read_gp, "re": read_re}.get(called(node), read_alias)(syntax, node)
        case _:
            _refuse_combination(syntax, node)
    first, last = syntax.span(node)
    inputs = [v.name for v in syntax.variables if v.role == "gp" and first <= v.start < last]
    if term.by is not None and term.factors and term.by.text.strip("`") in inputs:
        message = f"The group {term.by.text} is an input of the same process; leave out one of the two."
        raise FormulaError(message, syntax.formula, term.by.start)
    if term.name in taken:
        _refuse_label(syntax, node, term)
    return [term]


def _refuse_label(syntax: Syntax, node: ast.expr, term: GPTerm) -> NoReturn:
    """Raise an error for a label that another term has."""
    given = next((value for item in ast.walk(node) if (value := _given_name(item)) is not None), None)
    remedy = 'give this one a name, as in gp(x, name="short")'
    if given is not None:
        remedy = "choose another"
    elif not term.factors:
        remedy = "leave one of them out"
    elif term.read_as:
        remedy = f'write {term.read_as[:-1]}, name="short") for this one'
    syntax.fail(given or node, f"There is already a term {term.name!r}; {remedy}.")


def _given_name(node: ast.AST) -> ast.expr | None:
    """Find the value of ``name=`` in a call."""
    keywords = node.keywords if isinstance(node, ast.Call) else []
    return next((item.value for item in keywords if item.arg == "name" and not is_none(item.value)), None)


# -- one kernel -----------------------------------------------------------------------------------------------------


def _read_gp(syntax: Syntax, node: ast.Call) -> GPTerm:
    """Read ``gp(x, ..., kernel=, ard=, by=, cor=, period=, line=, se=, name=)``.

    Its label is ``name=``, otherwise its inputs with ``by=`` and a known ``period=``, so that
    ``gp(t) + gp(t, period=7)`` are two terms. The kernel is not part of the label.
    """
    options = read_options(syntax, node, OPTIONS, _REMEDIES)
    inputs = read_inputs(syntax, node)
    kernel, period = _read_kernel_and_period(syntax, options)
    if kernel == "periodic" and len(inputs) > 1:
        remedy = f'multiply: gp({inputs[0].text}, kernel="periodic"):gp({inputs[1].text})'
        syntax.fail(node.args[1], f"A periodic kernel takes one input; {remedy}.")
    ard, by = read_flag(syntax, options, "ard"), read_by(syntax, options)
    if "name" in options:
        label = read_name(syntax, options["name"])
    else:
        written = syntax.expression(options["period"]) if "period" in options else None
        label = default_label(inputs, by, written)
    factors = (GPFactor(inputs, kernel, ard, period),)
    how, neighbours = _read_approximation(syntax, options, factors[0])
    cor = read_flag(syntax, options, "cor", default=False)
    if cor and (by is None or how in ("markov", "vecchia")):
        remedy = "it requires by=, as in gp(x, by=g, cor=True)" if by is None else "leave approximation= out"
        syntax.fail(options["cor"], f"cor=True gives the curves of the levels correlations; {remedy}.")
    se = _read_errors(syntax, options, factors[0])
    line = se is None and _read_line(syntax, options, factors[0], by)
    return GPTerm(
        factors, label, by, approximation="low_rank" if cor else how, neighbours=neighbours, cor=cor, line=line, se=se
    )


def _read_errors(syntax: Syntax, options: dict[str, ast.expr], factor: GPFactor) -> Expression | None:
    """Standard error of the input, of an rbf kernel of one input and nothing else."""
    node = options.get("se")
    if node is None:
        return None
    beside = [name for name in options if name not in ("se", "kernel", "name", "ard")]
    if factor.kernel != "rbf" or beside:
        what = f"{beside[0]}=" if beside else f"the {factor.kernel} kernel"
        syntax.fail(node, f"se= requires the rbf kernel and no other options; leave {what} out.")
    if len(factor.inputs) > 1:
        syntax.fail(node, "se= is the standard error of one input, as in gp(x, se=sx); leave the other inputs out.")
    if isinstance(literal(node), str | bool):
        syntax.fail(node, "se= is a column, by its name without quotes, or a number.")
    number = constant_value(node)
    if number is None:
        return read_column(syntax, node, "se", "se=")
    if not 0.0 <= number < math.inf:
        syntax.fail(node, "se= is a standard error, a number that is not negative.")
    return syntax.expression(node)


def _read_line(syntax: Syntax, options: dict[str, ast.expr], factor: GPFactor, by: Expression | None) -> bool:
    """Whether the term includes a line: by default if it has one input, no by=, and no periodic or linear kernel."""
    possible = len(factor.inputs) == 1 and factor.kernel not in ("periodic", "linear")
    wanted = read_flag(syntax, options, "line", default=possible and by is None)
    if wanted and not possible:
        remedy = "leave line= out, and add the linear term to the formula"
        syntax.fail(options["line"], f"line=True requires one input and no {factor.kernel} kernel; {remedy}.")
    return bool(wanted)


def settle_lines(terms: Sequence[GPTerm], linear: Collection[str]) -> list[GPTerm]:
    """Terms of which none has a line of an input that is linear elsewhere: a column, a linear kernel, a term before."""
    by_kernel = [
        term.inputs for term in terms if term.by is None and [each.kernel for each in term.factors] == ["linear"]
    ]
    taken, out = {*linear, *(each.label for inputs in by_kernel for each in inputs)}, list[GPTerm]()
    for term in terms:
        label = term.inputs[0].label if len(term.inputs) == 1 else None
        out.append(replace(term, line=False) if label in taken else term)
        taken |= {label} if term.line and label is not None else set()
    return out


def _read_approximation(syntax: Syntax, options: dict[str, ast.expr], factor: GPFactor) -> tuple[str, int | None]:
    """What stands for the process in computations, and the number of neighbours of Vecchia's prior."""
    node, number = options.get("approximation"), options.get("neighbours")
    how = "auto" if node is None else literal(node)
    if node is not None and how not in APPROXIMATIONS:
        syntax.fail(node, f"approximation= is one of {', '.join(map(repr, APPROXIMATIONS))}.")
    if node is not None and how == "markov" and (factor.kernel not in MARKOV or len(factor.inputs) != 1):
        syntax.fail(node, f"A Markov process has one input and one of the kernels {', '.join(MARKOV)}.")
    if node is not None and how == "vecchia" and factor.kernel in ("periodic", "linear"):
        syntax.fail(node, f"Neighbours do not stand for a {factor.kernel} kernel; leave approximation= out.")
    if number is None:
        return str(how), None
    neighbours = literal(number)
    if how != "vecchia":
        syntax.fail(number, 'neighbours= needs approximation="vecchia".')
    if type(neighbours) is not int or not 1 <= neighbours <= MOST_NEIGHBOURS:
        syntax.fail(number, f"neighbours= is a whole number from 1 to {MOST_NEIGHBOURS}.")
    return how, neighbours


def _read_kernel_and_period(syntax: Syntax, options: dict[str, ast.expr]) -> tuple[str, float | None]:
    kernel, node = _read_kernel(syntax, options.get("kernel")), options.get("period")
    if node is None:
        return kernel or "rbf", None
    if kernel not in (None, "periodic"):
        remedy = f'leave period= out, or multiply: gp(x, period=12):gp(x, kernel="{kernel}")'
        syntax.fail(node, f"period= needs the periodic kernel, not {kernel}; {remedy}.")
    check_depth(syntax, node)
    period = constant_value(node)
    if period is None or not 0 < period < math.inf:
        syntax.fail(node, 'period= is a positive number; gp(x, kernel="periodic") estimates it.')
    return "periodic", period


def _read_kernel(syntax: Syntax, node: ast.expr | None) -> str | None:
    """Read the name of a kernel, in any spelling."""
    if node is None:
        return None
    kernel = literal(node)
    known = f"the kernels are {', '.join(KERNEL_NAMES)}"
    if not isinstance(kernel, str):
        syntax.fail(node, f"kernel= takes a name in quotes; {known}.")
    name = KERNEL_ALIASES.get(kernel.lower(), kernel.lower())
    if name not in KERNEL_NAMES:
        close = (nearest(kernel.lower(), KERNEL_NAMES) or nearest(kernel.lower(), KERNEL_ALIASES)).rstrip("?")
        syntax.fail(node, f"There is no kernel {kernel!r}{close}; {known}.")
    return name


# -- products -------------------------------------------------------------------------------------------------------


def _read_product(syntax: Syntax, node: ast.BinOp) -> GPTerm:
    """Read a product of kernels, at most one of its factors a group."""
    leaves = list(operands(node, ast.MatMult))
    parts = [_read_leaf(syntax, leaf) for leaf in leaves]
    measured = next((leaf for leaf, part in zip(leaves, parts, strict=True) if part.se is not None), None)
    if measured is not None:
        syntax.fail(measured, "se= is not supported in a product. Leave it out.")
    joined = next((leaf for leaf, part in zip(leaves, parts, strict=True) if part.cor), None)
    if joined is not None:
        syntax.fail(
            joined, "cor=True is not supported in a product. Leave it out, or use several inputs: gp(x, z, by=g)."
        )
    for leaf, part in zip(leaves, parts, strict=True):
        if part.line and isinstance(leaf, ast.Call) and any(word.arg == "line" for word in leaf.keywords):
            remedy = "leave it out, and add the linear term to the formula: z:x + z:gp(x)"
            syntax.fail(leaf, f"line=True is not supported in a product; {remedy}.")
    named = [leaf for leaf in leaves if _given_name(leaf) is not None]
    if len(named) > 1:
        syntax.fail(named[1], "A product has one name; leave out one name=.")
    groups = [(leaf, part.by) for leaf, part in zip(leaves, parts, strict=True) if part.by is not None]
    if len(groups) > 1:
        remedy = "leave this one out, or make a column of both in the data first"
        syntax.fail(groups[1][0], f"A product has one group; {remedy}.")
    factors: list[GPFactor] = []
    for leaf, part in zip(leaves, parts, strict=True):
        if any(_same(factor, other) for factor in part.factors for other in factors):
            syntax.fail(leaf, f"The factor {part.name} occurs twice in one product. Leave one of them out.")
        factors += part.factors
    names = [part.name for part in parts]
    for i, part in enumerate(parts):
        if names.count(part.name) > 1 and part.factors[0].kernel != "rbf":
            names[i] = default_label(part.inputs, part.by, kernel=part.factors[0].kernel)
    label = parts[leaves.index(named[0])].name if named else ":".join(names)
    chosen = next((part for part in parts if part.approximation != "auto"), parts[0])
    if chosen.approximation == "markov" and len(factors) > 1:
        syntax.fail(node, "A product is not Markov; leave approximation= out.")
    by, how = groups[0][1] if groups else None, chosen.approximation
    return GPTerm(tuple(factors), label, by, approximation=how, neighbours=chosen.neighbours)


def _same(factor: GPFactor, other: GPFactor) -> bool:
    first, second = ((*(item.label for item in f.inputs), f.kernel, f.period) for f in (factor, other))
    return first == second


def _read_leaf(syntax: Syntax, node: ast.expr) -> GPTerm:
    """Read one factor of a product."""
    name = called(node)
    match node:
        case ast.Call() if name == "gp":
            return _read_gp(syntax, node)
        case ast.Call() if name == "C":
            if len(node.args) != 1 or node.keywords:
                syntax.fail(node, "In a product with a process, C() holds one column and nothing else: gp(x):C(g).")
            by = read_group(syntax, node.args[0], "by", "C() in a product with a process")
            return GPTerm((), f"C({by.label})", by)
        case ast.Call() if name in PROCESSES:
            remedy = _BY if name == "re" else f"write {read_alias(syntax, node).read_as}"
            syntax.fail(node, f"{name}(...) is not supported in a product; {remedy}.")
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            remedy = "write the products out: z:gp(x) + w:gp(x)"
            syntax.fail(node, f"A sum is not supported in a product with a process; {remedy}.")
        case ast.BinOp():
            _refuse_combination(syntax, node)
        case ast.UnaryOp():
            syntax.fail(node, "A sign is supported only before a whole term. Write arithmetic in I(), as in I(-x).")
    if is_dot(node):
        syntax.fail(node, "'.' is not supported in a product with a process. Write the columns out.")
    # A factor without a process: its slope varies along the others.
    inner = node.elts[0] if isinstance(node, ast.Set) and len(node.elts) == 1 else node
    slope = syntax.expression(inner)
    if not check_expression(syntax, inner, "gp"):
        syntax.fail(node, f"{_no_column(slope.text)}.")
    return GPTerm((GPFactor((slope,), "linear", True),), slope.label if inner is node else syntax.text(node))


def _no_column(factor: str) -> str:
    return f"The factor {factor} names no column; the height of a process is estimated anyway"


def _refuse_combination(syntax: Syntax, node: ast.expr) -> NoReturn:
    """Say what to write instead of a process under any sign but ``+`` and ``:``."""
    if not isinstance(node, ast.BinOp) or isinstance(node.op, ast.Add | ast.Sub):
        syntax.fail(node, "A process is not supported in brackets with '-'. Remove the brackets.")
    calls = [name for item in ast.walk(node) if (name := called(item))]
    if "re" in calls or any(isinstance(item, ast.BitOr | ast.BitXor) for item in ast.walk(node)):
        syntax.fail(node, f"A random effect is a term by itself, added by '+'; {_BY}.")
    number = next((side for side in (node.left, node.right) if isinstance(side, ast.Constant)), None)
    if number and isinstance(node.op, ast.Mult | ast.Div):
        syntax.fail(node, f"{_no_column(syntax.text(number))}.")
    simple = calls and not any(isinstance(side, ast.BinOp) for side in (node.left, node.right))
    left, right = (syntax.text(node.left), syntax.text(node.right)) if simple else ("gp(x)", "z")
    remedies: dict[type[ast.operator], str] = {
        ast.Pow: "A process has no powers; a product of two is written gp(x):gp(z)",
        ast.Mult: f"'*' cannot be combined with a process; write {left}:{right} for the product, or {left} + {right} + "
        f"{left}:{right}",
        ast.Div: f"'/' cannot be combined with a process; write {left} + {left}:{right}",
    }
    other = "This sign cannot be combined with a process; processes are added by '+' and multiplied by ':'"
    syntax.fail(node, f"{remedies.get(type(node.op), other)}.")
