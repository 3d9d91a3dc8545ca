"""The specification of a fit as text: its formulas are read again, never trusted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from tobitgp.errors import SpecError, TobitGPError
from tobitgp.formula import parse_formula
from tobitgp.formula.functions import NamedFunctions
from tobitgp.formula.parse import parse_scale_formula
from tobitgp.formula.spec import CureSpec, ModelSpec, ParameterSpec, ResponseSpec, ScaleSpec, line_names
from tobitgp.results.views import columns_of
from tobitgp.storage.archive import MalformedError
from tobitgp.storage.codec import Surroundings, field_types, fits

_TEXTS = tuple[str, ...]
_FORMULA = tuple[str, str, _TEXTS, _TEXTS, str, str]
_FIELDS = {
    "formula": str,
    "columns": _TEXTS,
    "functions": _TEXTS,
    "learned": tuple,
    "reads": _TEXTS,
    "scale": _FORMULA | None,
    "formulas": tuple[_FORMULA, ...],
}

# Fields that the data, not the text, decide: **a new one is a line here**.
LEARNED: dict[type, tuple[str, ...]] = {ResponseSpec: ("kind", "duration")}


def plain_spec(spec: ModelSpec, around: Surroundings) -> dict[str, Any] | None:
    """Specification as texts; None if it is the specification of its context."""
    if spec == around.spec:
        return None
    scale = spec.scale
    others = [*([] if scale is None else [scale]), *spec.formulas]
    called = [*_called(spec), *(name for each in others for name in _called(each))]
    document: dict[str, Any] = {
        "formula": spec.formula,
        "columns": tuple(columns_of(spec, around.columns)),
        "functions": tuple(dict.fromkeys(called)),
        "learned": tuple(_learned(spec)),
        "reads": _reading(spec),
        "scale": None,
        "formulas": tuple(_plain_formula(each, around.columns) for each in spec.formulas),
    }
    if scale is not None:
        document["scale"] = _plain_formula(scale, around.columns)
    try:
        known = restore_spec(document, Surroundings(functions=dict(spec.functions))) == spec
    except (MalformedError, TobitGPError):
        known = False
    if not known:
        raise SpecError(f"The formula {spec.written} cannot be stored, because it would be read differently.")
    around.spec = spec
    return document


def _plain_formula(spec: ScaleSpec, columns: Sequence[str]) -> tuple[Any, ...]:
    """Formula of a parameter of the rows: its argument, text, columns and reading, its name and label."""
    named = (spec.parameter, spec.label) if isinstance(spec, ParameterSpec) else ("", "")
    return spec.argument, spec.formula, tuple(columns_of(spec, columns)), _reading(spec), *named


def restore_spec(document: Any, around: Surroundings) -> ModelSpec:
    """Specification from its texts, which becomes the context of the values after it."""
    if document is None:
        return around.read
    if not isinstance(document, dict) or set(document) != set(_FIELDS):
        raise MalformedError(f"its specification has not exactly the fields {', '.join(_FIELDS)}")
    for name, hint in _FIELDS.items():
        if not fits(document[name], hint):
            raise MalformedError(f"its specification is not made of text: {name}")
    _check_functions(document, around.functions)
    spec = parse_formula(document["formula"], list(document["columns"]), around.functions)
    values = iter(document["learned"])
    spec = _relearn(spec, values)
    if list(values) or _reading(spec) != document["reads"]:
        raise MalformedError("its formula is read differently by this version of tobitgp")
    formulas: Any = tuple(_restore_formula(each, spec, around.functions) for each in document["formulas"])
    spec = replace(spec, formulas=formulas)
    if document["scale"] is not None:
        spec = replace(spec, scale=_restore_formula(document["scale"], spec, around.functions))
    around.spec = spec
    return spec


def _restore_formula(document: Any, spec: ModelSpec, functions: NamedFunctions) -> ScaleSpec:
    """Formula of a parameter of the rows, read again."""
    argument, formula, columns, reads, parameter, label = document
    kind = next((kind for kind in (ScaleSpec, CureSpec, ParameterSpec) if kind.argument == argument), None)
    if kind is None:
        raise MalformedError(f"it has a formula for the unknown parameter {argument!r:.60}")
    try:
        scale = parse_scale_formula(formula, list(columns), functions, beside=spec, kind=kind)
    except SpecError as error:
        raise MalformedError(str(error)) from error
    if _reading(scale) != reads:
        raise MalformedError("the formula of its noise scale is read differently by this version of tobitgp")
    return replace(scale, parameter=parameter, label=label) if isinstance(scale, ParameterSpec) else scale


def _check_functions(document: dict[str, Any], functions: NamedFunctions) -> None:
    """Ask for the functions of the user that the formulas call."""
    if functions is not None and not isinstance(functions, Mapping):
        raise SpecError(f"functions= must be a dict by name, e.g. {{'f': f}}, not {type(functions).__name__}.")
    lacking = [name for name in document["functions"] if name not in (functions or {})]
    if lacking:
        listed = ", ".join(f"{name!r}: {name}" for name in lacking)
        raise SpecError(
            f"The formula {document['formula'].strip()!r:.200} calls your functions, which files do not contain. "
            f"Load it with functions={{{listed}}}."
        )


def _called(spec: ModelSpec | ScaleSpec) -> list[str]:
    """A user's own functions that a formula calls."""
    text = re.sub(r"`[^`]*`", "", spec.formula)
    return [name for name, _ in spec.functions if re.search(rf"(?<![\w.]){name}\s*\(", text)]


def _reading(spec: ModelSpec | ScaleSpec) -> tuple[str, ...]:
    """What later numbers depend on: the linear part written out, the processes, the columns and their roles."""
    mixture = spec.mixture if isinstance(spec, ModelSpec) else None
    names = [term.name for term in spec.gps]
    reads = [spec.linear, *names, *line_names(spec.gps).values(), *(f"{v.role} {v.name}" for v in spec.variables)]
    return (*reads, f"mixture {mixture.process:d} {mixture.numbers}") if mixture is not None else tuple(reads)


def _learned(part: Any) -> list[Any]:
    if isinstance(part, tuple):
        return [value for item in part for value in _learned(item)]
    if not is_dataclass(part):
        return []
    own = LEARNED.get(type(part), ())
    values = [getattr(part, name) for name in own]
    return values + [v for f in fields(part) if f.name not in own for v in _learned(getattr(part, f.name))]


def _relearn(part: Any, values: Iterator[Any]) -> Any:
    """Put learned values back, in the order in which ``_learned`` took them."""
    if isinstance(part, tuple):
        return tuple(_relearn(item, values) for item in part)
    if not is_dataclass(part) or isinstance(part, type):
        return part
    own = LEARNED.get(type(part), ())
    changes = {name: next(values, None) for name in own}
    for name, value in changes.items():
        if not fits(value, field_types(type(part))[name]):
            raise MalformedError(f"its specification has the value {value!r:.60} for {name}")
    changes |= {f.name: _relearn(getattr(part, f.name), values) for f in fields(part) if f.name not in own}
    return replace(part, **changes)
