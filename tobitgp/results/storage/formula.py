"""The specification of a stored fit: the formula is read again, never believed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from tobitgp.errors import SpecError, TobitGPError
from tobitgp.formula import parse_formula
from tobitgp.formula.spec import ModelSpec, ResponseSpec
from tobitgp.results.storage.codec import MalformedError
from tobitgp.results.storage.fits import field_types, fits

Functions = Mapping[str, Callable[..., Any]]

# Fields that the data, not the text, decide: **a new one is a line here**.
LEARNED: dict[type, tuple[str, ...]] = {ResponseSpec: ("kind",)}


def plain_spec(spec: ModelSpec, columns: Sequence[str]) -> dict[str, Any]:
    """Specification as JSON.

    Parameters
    ----------
    spec : ModelSpec
    columns : sequence of str
        Columns of the data that the formula names or ``.`` stands for.

    Raises
    ------
    SpecError
        If the formula cannot be read again from this.
    """
    learned = _learned(spec)
    document = {
        "formula": spec.formula,
        "columns": list(columns),
        "functions": _called(spec),
        "learned": learned,
        "reads": _reading(spec),
    }
    try:
        known = restore_spec(document, dict(spec.functions)) == spec
    except (MalformedError, TobitGPError):
        known = False
    if not known:
        raise SpecError(f"The formula {spec.formula.strip()!r} cannot be stored: it would not be read again as it was.")
    return document


def restore_spec(document: Any, functions: Functions | None) -> ModelSpec:
    """Specification from its document.

    Raises
    ------
    SpecError
        If the formula calls functions that are not given.
    FormulaError
        If the text is no formula.
    MalformedError
        If it is read otherwise than it was.
    """
    names = {"formula", "columns", "functions", "learned", "reads"}
    if not isinstance(document, dict) or set(document) != names:
        raise MalformedError(f"its specification has not exactly the fields {', '.join(sorted(names))}")
    lists = ("columns", "functions", "reads")
    sound = all(_are_texts(document[name]) for name in lists) and isinstance(document["learned"], list)
    if not sound or not isinstance(document["formula"], str):
        raise MalformedError("its specification is not made of text")
    if functions is not None and not isinstance(functions, Mapping):
        raise SpecError(f"functions= is a dict of functions by name, as {{'f': f}}, not {type(functions).__name__}.")
    lacking = [name for name in document["functions"] if name not in (functions or {})]
    if lacking:
        listed = ", ".join(f"{name!r}: {name}" for name in lacking)
        raise SpecError(
            f"The formula {document['formula'].strip()!r:.200} calls functions of the user, which files do not hold; "
            f"load it with functions={{{listed}}}."
        )
    spec = parse_formula(document["formula"], document["columns"], functions)
    values = iter(document["learned"])
    spec = _relearn(spec, values)
    if list(values) or _reading(spec) != document["reads"]:
        raise MalformedError("its formula is read otherwise by this version of tobitgp")
    return spec


def _called(spec: ModelSpec) -> list[str]:
    """A user's own functions that the formula calls."""
    text = re.sub(r"`[^`]*`", "", spec.formula)
    return [name for name, _ in spec.functions if re.search(rf"(?<![\w.]){name}\s*\(", text)]


def _reading(spec: ModelSpec) -> list[str]:
    """What later numbers rest on: the linear part written out, the processes, the columns and their roles."""
    return [spec.linear, *(term.name for term in spec.gps), *(f"{v.role} {v.name}" for v in spec.variables)]


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
