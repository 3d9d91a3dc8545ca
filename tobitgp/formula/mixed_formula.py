"""Formulas of mixtures of regressions, ``y ~ mixture(2, x)``: one of the rows, and the terms of every component."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tobitgp.formula.formula_terms import read_number, split_parts
from tobitgp.formula.linear_terms import flatten
from tobitgp.formula.parse import one_line, split_sides
from tobitgp.formula.syntax import called, read_side

_WRITTEN = "write y ~ mixture(2, x)"


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
    formula = one_line(formula)
    before, _, after = split_sides(formula, f"The formula is empty; {_WRITTEN}", f"The formula has no '~'; {_WRITTEN}")
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
