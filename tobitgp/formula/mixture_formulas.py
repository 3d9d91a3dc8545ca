"""Formulas of mixtures of vectors, ``mvbind(y1, y2) ~ mixture(3)``, and of regressions, ``y ~ mixture(2, x)``."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from tobitgp.errors import FormulaError
from tobitgp.formula.formula_terms import read_number, read_terms, split_parts
from tobitgp.formula.linear_terms import flatten
from tobitgp.formula.mvbind import Wide, is_wide, read_wide
from tobitgp.formula.parse import cut_formula
from tobitgp.formula.spec import MixtureTerm
from tobitgp.formula.syntax import called, read_side

_MIXTURE = re.compile(r"~\s*mixture\s*\(")
_VECTORS, _REGRESSIONS = "write mvbind(y1, y2) ~ mixture(3)", "write y ~ mixture(2, x)"


@dataclass(frozen=True, slots=True)
class VectorFormula:
    """A formula of a mixture of vectors; ``print`` says in words what was understood."""

    formula: str
    mixture: MixtureTerm
    wide: Wide  # the responses and their limits

    def __str__(self) -> str:
        each = [f"  response   {text.replace(' ~ 1', '')}" for text in self.wide.formulas]
        numbers = ", ".join(map(str, self.mixture.numbers))
        words = f"{numbers} components" if len(self.mixture.numbers) == 1 else f"components, of {numbers} by the BIC"
        return "\n".join([self.formula, *each, f"  mixture    {words}, normal vectors"])


def is_vectors(formula: object) -> bool:
    """Whether a formula is one of a mixture of vectors."""
    return is_wide(formula) and _MIXTURE.search(str(formula)) is not None


def read_vectors(formula: str) -> VectorFormula:
    """Read the formula of a mixture of vectors."""
    formula, _, middle, after = cut_formula(formula, _VECTORS)
    right = read_side(formula, after)
    node, _ = split_parts(right)
    text, (_, end) = right.text(node), right.span(node)
    mixture = read_terms(right, node).mixture
    if mixture is None or mixture.process:
        raise FormulaError(
            f"{text}: a mixture of vectors has a number of components, or a range of them; {_VECTORS}.", formula
        )
    wide = read_wide(f"{formula[: middle + 1]} 1{formula[end:]}")
    return VectorFormula(formula, mixture, replace(wide, terms=replace(wide.terms, alone=text)))


@dataclass(frozen=True, slots=True)
class MixedFormula:
    """A formula whose one term is ``mixture(k, terms)``."""

    formula: str  # as written
    linear: str  # of the rows, with the terms instead of the mixture
    terms: str
    components: int

    @property
    def called(self) -> str:
        """The term as written."""
        return f"mixture({self.components}, {self.terms})"


def read_mixed(formula: Any) -> MixedFormula | None:
    """Read the formula of a mixture of regressions; None of another."""
    if not isinstance(formula, str) or "mixture" not in formula:
        return None
    formula, before, _, after = cut_formula(formula, _REGRESSIONS)
    if not before or not after:
        return None
    right = read_side(formula, after)
    node, parts = split_parts(right)
    (sign, term), *more = flatten(node)
    if more or sign < 0 or called(term) != "mixture" or len(term.args) != 2 or term.keywords:  # type: ignore[attr-defined]
        return None
    number, terms = term.args  # type: ignore[attr-defined]
    if called(number) == "range":
        right.fail(
            number,
            "A mixture of regressions has one number of components. Fit mixture(2, x) and mixture(3, x), and compare "
            "their bic.",
        )
    components = read_number(right, number, "The number of components of mixture()")
    left = formula[before[0].start : before[-1].start + len(before[-1].text)]
    text = right.text(terms)
    if components == 1:
        right.fail(term, f"A mixture of one regression is a regression. Write {left} ~ {text}.")
    linear = " | ".join([f"{left} ~ {text}", *(right.text(part) for part in parts)])
    return MixedFormula(formula, linear, text, components)
