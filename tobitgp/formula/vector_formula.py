"""``mvbind(y1, y2) ~ mixture(3)``: responses that are a vector, whose distribution is a mixture."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from tobitgp.errors import FormulaError
from tobitgp.formula.formula_terms import read_terms, split_parts
from tobitgp.formula.mvbind import Wide, is_wide, read_wide
from tobitgp.formula.parse import one_line, split_sides
from tobitgp.formula.spec import MixtureTerm
from tobitgp.formula.syntax import read_side

_MIXTURE = re.compile(r"~\s*mixture\s*\(")
_WRITTEN = "write mvbind(y1, y2) ~ mixture(3)"


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
    formula = one_line(formula)
    _, middle, after = split_sides(formula, f"The formula is empty; {_WRITTEN}", f"The formula has no '~'; {_WRITTEN}")
    right = read_side(formula, after)
    node, _ = split_parts(right)
    text, (_, end) = right.text(node), right.span(node)
    mixture = read_terms(right, node).mixture
    if mixture is None or mixture.process:
        raise FormulaError(
            f"{text}: a mixture of vectors has a number of components, or a range of them; {_WRITTEN}.", formula
        )
    wide = read_wide(f"{formula[: middle + 1]} 1{formula[end:]}")
    return VectorFormula(formula, mixture, replace(wide, terms=replace(wide.terms, alone=text)))
