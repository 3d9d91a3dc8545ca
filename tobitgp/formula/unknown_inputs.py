"""Processes over inputs that are not known, ``gp(latent(2))``, or were measured with errors, ``gp(x, se=sx)``."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from tobitgp.errors import FormulaError
from tobitgp.formula.formula_terms import split_parts
from tobitgp.formula.mvbind import Wide, read_wide
from tobitgp.formula.parse import cut_formula
from tobitgp.formula.spec import GPTerm, ModelSpec
from tobitgp.formula.syntax import Syntax, called, read_side

_LATENT = re.compile(r"\bgp\s*\(\s*latent\s*\(")
_MEASURED = re.compile(r"\bgp\s*\((?:[^()]|\([^()]*\))*[(,\s]se\s*=(?!=)")
_WRITTEN = "write mvbind(y1, y2, y3) ~ gp(latent(2))"
MOST = 20


@dataclass(frozen=True, slots=True)
class LatentFormula:
    """A formula of responses over latent coordinates; ``print`` says in words what was understood."""

    formula: str
    dimensions: int
    wide: Wide  # the responses and their limits

    def __str__(self) -> str:
        each = [f"  response   {text.replace(' ~ 1', '')}" for text in self.wide.formulas]
        plural = "s" if self.dimensions > 1 else ""
        over = f"{self.dimensions} latent coordinate{plural}"
        process = f"gp(latent({self.dimensions})): a process of each response over {over}"
        return "\n".join([self.formula, *each, f"  process    {process}, one length-scale for each"])


def is_latent(formula: object) -> bool:
    """Whether a formula has latent coordinates."""
    return isinstance(formula, str) and _LATENT.search(formula) is not None


def read_latent(formula: str) -> LatentFormula:
    """Read a formula of several responses over latent coordinates."""
    formula, _, middle, after = cut_formula(formula, _WRITTEN)
    right = read_side(formula, after)
    node, _ = split_parts(right)
    if called(node) != "gp" or not isinstance(node, ast.Call):
        right.fail(
            node, f"gp(latent(...)) is the only term right of '~'. Responses have intercepts anyway; {_WRITTEN}."
        )
    dimensions = _read_dimensions(right, node)
    _, end = right.span(node)
    return LatentFormula(formula, dimensions, read_wide(f"{formula[: middle + 1]} 1{formula[end:]}"))


def _read_dimensions(syntax: Syntax, gp: ast.Call) -> int:
    """The number in ``gp(latent(2))``."""
    inner = gp.args[0] if len(gp.args) == 1 and not gp.keywords else None
    number = inner.args[0] if isinstance(inner, ast.Call) and len(inner.args) == 1 and not inner.keywords else None
    if not isinstance(number, ast.Constant) or type(number.value) is not int:
        syntax.fail(gp, f"gp(latent(...)) takes the number of dimensions and nothing else; {_WRITTEN}.")
    if not 1 <= number.value <= MOST:
        raise FormulaError(f"latent({number.value}) has a number from 1 to {MOST}.", syntax.formula)
    return int(number.value)


def is_measured(formula: object) -> bool:
    """Whether a formula has an input with standard errors."""
    return isinstance(formula, str) and _MEASURED.search(formula) is not None


def measured_term(spec: ModelSpec) -> GPTerm:
    """The process over the measured input, which is the only term."""
    if spec.mixture is not None or len(spec.gps) != 1 or spec.linear != "1" or spec.offsets:
        raise FormulaError(
            "gp(x, se=) must be the only term on the right-hand side; the intercept is always included: "
            "write y ~ gp(x, se=sx).",
            spec.formula,
        )
    if spec.truncation is not None:
        raise FormulaError("truncate() is not supported with gp(x, se=). Leave it out.", spec.formula)
    return spec.gps[0]
