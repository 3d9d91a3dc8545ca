"""``y ~ gp(x, se=sx)``: a process over an input that was measured with known standard errors."""

from __future__ import annotations

import re

from tobitgp.errors import FormulaError
from tobitgp.formula.spec import GPTerm, ModelSpec

_MEASURED = re.compile(r"\bgp\s*\((?:[^()]|\([^()]*\))*[(,\s]se\s*=(?!=)")
_WRITTEN = "write y ~ gp(x, se=sx)"


def is_measured(formula: object) -> bool:
    """Whether a formula has an input with standard errors."""
    return isinstance(formula, str) and _MEASURED.search(formula) is not None


def measured_term(spec: ModelSpec) -> GPTerm:
    """The process over the measured input, which is the only term."""
    if spec.mixture is not None or len(spec.gps) != 1 or spec.linear != "1" or spec.offsets:
        raise FormulaError(
            f"gp(x, se=) must be the only term on the right-hand side; the intercept is always included: {_WRITTEN}.",
            spec.formula,
        )
    if spec.truncation is not None:
        raise FormulaError("truncate() is not supported with gp(x, se=). Leave it out.", spec.formula)
    return spec.gps[0]
