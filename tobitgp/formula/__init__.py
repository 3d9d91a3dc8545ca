"""From formula text to a :class:`~tobitgp.formula.spec.ModelSpec`: syntax only, no data."""

from tobitgp.formula.functions import KERNEL_ALIASES, KERNEL_NAMES, formula_functions
from tobitgp.formula.parse import parse_formula, parse_scale_formula
from tobitgp.formula.spec import (
    CensoringSpec,
    Expression,
    Flag,
    GPTerm,
    ModelSpec,
    ParameterSpec,
    ResponseSpec,
    ScaleSpec,
    TruncationSpec,
    Variable,
)

__all__ = [
    "KERNEL_ALIASES",
    "KERNEL_NAMES",
    "CensoringSpec",
    "Expression",
    "Flag",
    "GPTerm",
    "ModelSpec",
    "ParameterSpec",
    "ResponseSpec",
    "ScaleSpec",
    "TruncationSpec",
    "Variable",
    "formula_functions",
    "parse_formula",
    "parse_scale_formula",
]
