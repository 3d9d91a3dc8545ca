"""The specification of a fit as text: its formulas are read again, never trusted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from tobitgp.errors import SpecError, TobitGPError
from tobitgp.formula import parse_formula
from tobitgp.formula.parse import parse_scale_formula
from tobitgp.formula.spec import ModelSpec, ParameterSpec, ResponseSpec, ScaleSpec, line_names
from tobitgp.results.views import columns_of
from tobitgp.storage.archive import MalformedError, field_types, fits

Functions = Mapping[str, Callable[..., Any]] | None

# Fields that the data, not the text, decide: **a new one is a line here**.
LEARNED: dict[type, tuple[str, ...]] = {ResponseSpec: ("kind", "duration")}


def plain_spec(spec: ModelSpec, columns: Sequence[str]) -> dict[str, Any]:
    """Specification as JSON."""
    scale = spec.scale
    others = [*([] if scale is None else [scale]), *spec.formulas]
    called = [*_called(spec), *(name for each in others for name in _called(each))]
    document: dict[str, Any] = {
        "formula": spec.formula,
        "columns": columns_of(spec, columns),
        "functions": list(dict.fromkeys(called)),
        "learned": _learned(spec),
        "reads": _reading(spec),
        "scale": None,
        "formulas": [_plain_formula(each, columns) for each in spec.formulas],
    }
    if scale is not None:
        document["scale"] = _plain_formula(scale, columns)
    try:
        known = restore_spec(document, dict(spec.functions), ScaleSpec if scale is None else type(scale)) == spec
    except (MalformedError, TobitGPError):
        known = False
    if not known:
        raise SpecError(f"The formula {spec.written} cannot be stored: it would not be read again as it was.")
    return document


def _plain_formula(spec: ScaleSpec, columns: Sequence[str]) -> dict[str, Any]:
    """Formula of a parameter of the rows as JSON."""
    document = {"formula": spec.formula, "columns": columns_of(spec, columns), "reads": _reading(spec)}
    return document | ({"of": [spec.parameter, spec.label]} if isinstance(spec, ParameterSpec) else {})


def restore_spec(document: Any, functions: Functions, scale_kind: type[ScaleSpec] = ScaleSpec) -> ModelSpec:
    """Specification from its document; ``scale_kind`` is that of the formula beside that of the model."""
    document = {"formulas": [], **document} if isinstance(document, dict) else document  # files of old hold none
    check_names(document, ("columns", "formula", "formulas", "functions", "learned", "reads", "scale"), "specification")
    lists = ("columns", "functions", "reads")
    sound = all(_are_texts(document[name]) for name in lists) and isinstance(document["learned"], list)
    if not sound or not isinstance(document["formula"], str):
        raise MalformedError("its specification is not made of text")
    _check_functions(document, functions)
    spec = parse_formula(document["formula"], document["columns"], functions)
    values = iter(document["learned"])
    spec = _relearn(spec, values)
    if _reading(spec) != document["reads"]:  # of an earlier tobitgp, in which no process had a line
        spec = replace(spec, gps=tuple(replace(term, line=False) for term in spec.gps))
    if list(values) or _reading(spec) != document["reads"]:
        raise MalformedError("its formula is read otherwise by this version of tobitgp")
    if not isinstance(document["formulas"], list):
        raise MalformedError("its formulas are no list")
    spec = replace(spec, formulas=tuple(_restore_formula(each, spec, functions) for each in document["formulas"]))
    if document["scale"] is None:
        return spec
    return replace(spec, scale=_restore_scale(document["scale"], spec, functions, scale_kind))


def _restore_formula(document: Any, spec: ModelSpec, functions: Functions) -> ParameterSpec:
    """Formula of another parameter of the rows, read again."""
    of: Any = document.get("of") if isinstance(document, dict) else None
    if not _are_texts(of) or len(of) != 2:
        raise MalformedError("a formula does not say of which parameter it is")
    rest = {name: value for name, value in document.items() if name != "of"}
    found = _restore_scale(rest, spec, functions, ParameterSpec)
    assert isinstance(found, ParameterSpec)
    return replace(found, parameter=of[0], label=of[1])


def _restore_scale(document: Any, spec: ModelSpec, functions: Functions, kind: type[ScaleSpec]) -> ScaleSpec:
    """Formula of the noise scale or the cured fraction, read again."""
    check_names(document, ("columns", "formula", "reads"), "noise scale")
    if not isinstance(document["formula"], str) or not all(_are_texts(document[name]) for name in ("columns", "reads")):
        raise MalformedError("its noise scale is not made of text")
    try:
        scale = parse_scale_formula(document["formula"], document["columns"], functions, beside=spec, kind=kind)
    except SpecError as error:
        raise MalformedError(str(error)) from error
    if _reading(scale) != document["reads"]:
        raise MalformedError("the formula of its noise scale is read otherwise by this version of tobitgp")
    return scale


def check_names(document: Any, names: tuple[str, ...], what: str) -> None:
    """Refuse a document that has not exactly these fields."""
    if not isinstance(document, dict) or set(document) != set(names):
        raise MalformedError(f"its {what} has not exactly the fields {', '.join(names)}")


def _check_functions(document: dict[str, Any], functions: Functions) -> None:
    """Ask for the functions of the user that the formulas call."""
    if functions is not None and not isinstance(functions, Mapping):
        raise SpecError(f"functions= is a dict of functions by name, as {{'f': f}}, not {type(functions).__name__}.")
    lacking = [name for name in document["functions"] if name not in (functions or {})]
    if lacking:
        listed = ", ".join(f"{name!r}: {name}" for name in lacking)
        raise SpecError(
            f"The formula {document['formula'].strip()!r:.200} calls functions of the user, which files do not hold; "
            f"load it with functions={{{listed}}}."
        )


def _called(spec: ModelSpec | ScaleSpec) -> list[str]:
    """A user's own functions that a formula calls."""
    text = re.sub(r"`[^`]*`", "", spec.formula)
    return [name for name, _ in spec.functions if re.search(rf"(?<![\w.]){name}\s*\(", text)]


def _reading(spec: ModelSpec | ScaleSpec) -> list[str]:
    """What later numbers rest on: the linear part written out, the processes, the columns and their roles."""
    mixture = spec.mixture if isinstance(spec, ModelSpec) else None
    names = [term.name for term in spec.gps]
    reads = [spec.linear, *names, *line_names(spec.gps).values(), *(f"{v.role} {v.name}" for v in spec.variables)]
    return [*reads, f"mixture {mixture.process:d} {mixture.numbers}"] if mixture is not None else reads


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


def _are_texts(items: Any) -> bool:
    return isinstance(items, list) and all(isinstance(item, str) for item in items)
