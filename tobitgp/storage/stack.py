"""How rows of several responses are stacked, written and read again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tobitgp.formula.mvbind import read_wide
from tobitgp.kinds.process import ProcessParts
from tobitgp.results.multivariate.multivariate_parts import MultivariateParts
from tobitgp.results.multivariate.multivariate_results import MultivariateResults
from tobitgp.results.multivariate.stacked_rows import Stack
from tobitgp.storage.archive import MalformedError, check_fields, field_types, fits
from tobitgp.storage.classes import fit_codec
from tobitgp.storage.specification import Functions, check_names, plain_spec, restore_spec

AnyArray = np.ndarray[Any, Any]
_NAMES = ("made", "formula", "sigma", "rescor", "specification", "parts")
_BESIDE = ("exact", "dropped")
_STORED = {name: hint for name, hint in field_types(Stack).items() if name not in ("wide", "functions")}
_STORED |= {name: field_types(MultivariateParts)[name] for name in _BESIDE}


def plain_stack(parts: MultivariateParts, arrays: list[AnyArray]) -> dict[str, Any]:
    """Document of a stack and of what is known of its values."""
    stack, wide, spec = parts.stack, parts.stack.wide, parts.stack.state.spec
    values = {name: getattr(parts if name in _BESIDE else stack, name) for name in _STORED}
    return {
        "formula": wide.formula,
        "sigma": wide.sigma,
        "rescor": wide.rescor,
        "specification": plain_spec(spec, ()),
        "parts": fit_codec(spec, stack.state.levels).encode(values, arrays),
    }


def restore_stack(document: Any, functions: Functions, arrays: Sequence[AnyArray], used: set[int]) -> dict[str, Any]:
    """A stack from its document, and what is known of its values: parts of ``MultivariateParts``."""
    check_names(document, _NAMES, "stack")
    if not all(fits(document[name], hint) for name, hint in zip(_NAMES, (str, str, str | None, bool), strict=False)):
        raise MalformedError("its stack is not made of text")
    wide = read_wide(document["formula"], document["sigma"], rescor=document["rescor"])
    spec = restore_spec(document["specification"], functions)
    values = fit_codec(spec, {}).decode(document["parts"], arrays, used)
    check_fields(values, _STORED)
    beside = {name: values.pop(name) for name in _BESIDE}
    return {"stack": Stack(wide=wide, functions=functions, **values), **beside}


def stacked_results(stack: dict[str, Any], stacked: Any) -> MultivariateResults:
    """Results of several responses, by the fit of the stacked rows."""
    parts = MultivariateParts(stacked=stacked, **stack)
    _check(parts)
    results = MultivariateResults(parts)
    results.summary_frame()
    return results


def _check(parts: MultivariateParts) -> None:
    """Compare what the stack says of the responses with the fit of its rows."""
    stack, stacked = parts.stack, parts.stacked
    spec = stack.state.spec
    if (
        not isinstance(stacked, ProcessParts)
        or spec.scale is None
        or stack.state.scale is None
        or stacked.spec.scale is None
    ):
        raise MalformedError("its stack is not that of a process")
    read = (spec.formula, spec.scale.formula, stacked.spec.formula, stacked.spec.scale.formula)
    if read != (stack.wide.linear, stack.wide.scale_linear, stack.formula, stack.scale_formula):
        raise MalformedError("the formula of its stack is read otherwise by this version of tobitgp")
    J, p, q = len(stack.wide.labels), len(stack.columns), len(stack.scale_columns)
    sizes = {"centre": J, "scale": J, "means": p, "constant": p, "scale_means": q}
    arrays = {name: getattr(stack, name) for name in sizes} | {"exact": parts.exact}
    sound = all(values.shape == (sizes.get(name, J),) and np.isfinite(values).all() for name, values in arrays.items())
    positive = (stack.scale > 0.0).all() and (parts.exact >= 0.0).all()
    sound = sound and stack.basis.shape == (p, p) and bool(np.isfinite(stack.basis).all())
    if not sound or not positive or parts.dropped < 0 or stack.log_time != stacked.family.log_time:
        raise MalformedError("the parts of its stack do not belong together")
