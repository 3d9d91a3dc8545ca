"""Values of known classes as JSON, with separate arrays.

Whole numbers, floats, text, truth values and None stand for themselves, a JSON array for a tuple. Everything else is
an object of one tag: ``{"$list": [...]}``, ``{"$dict": [[key, value], ...]}``, ``{"$float": "nan"}`` (or ``inf``,
``-inf``), ``{"$array": 3}``, ``{"$lower": [3, "F"]}`` for the packed rows of a lower triangular matrix,
``{"$class": "Units", "fields": {...}}``, or the tag of a hook. Classes are those of a table and no others; an instance
is only made from exactly its fields, each of the type that it declares, and is checked by what its class declares of
itself: ``shapes`` and ``inconsistencies``.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from operator import attrgetter
from types import SimpleNamespace
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tobitgp.errors import SpecError, TobitGPError
from tobitgp.formula.functions import NamedFunctions
from tobitgp.formula.spec import ModelSpec
from tobitgp.numerics.copies import Lower, packed
from tobitgp.storage.archive import DTYPES, AnyArray, MalformedError

_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


@dataclass(slots=True)
class Surroundings:
    """The context of a value: an object that holds a specification makes it that of the values after it."""

    spec: ModelSpec | None = None
    columns: Sequence[str] = ()  # of the data, while writing
    levels: Mapping[str, Any] = field(default_factory=dict)  # of the factors among the inputs, while writing
    functions: NamedFunctions = None  # given by the user who reads
    results_of: Callable[[Any], Any] = lambda parts: parts  # of the parts of a fit within another, while reading

    @property
    def read(self) -> ModelSpec:
        """The specification, which must come before values that refer to it."""
        if self.spec is None:
            raise MalformedError("it refers to a formula that it does not hold")
        return self.spec

    @contextmanager
    def within(self) -> Iterator[None]:
        """The inside of an object."""
        outside = self.spec, self.columns, self.levels
        yield
        self.spec, self.columns, self.levels = outside


@dataclass(frozen=True, slots=True)
class Hook:
    """How values of a type are written that are not taken apart field by field."""

    type: type | tuple[type, ...]
    plain: Callable[[Any, Surroundings], Any]  # value -> something the codec knows
    restore: Callable[[Any, Surroundings], Any]  # the way back; raises for what it does not know


@dataclass(frozen=True, slots=True)
class Codec:
    """What may be written and read."""

    classes: Mapping[str, type]  # dataclasses and named tuples by the name they have in the document
    hooks: Mapping[str, Hook]  # by tag

    def encode(self, value: Any, arrays: list[AnyArray], around: Surroundings | None = None) -> Any:
        """Document of a value; its arrays are appended to ``arrays``."""
        around = Surroundings() if around is None else around
        if value is None or isinstance(value, (bool, np.bool_)):
            return None if value is None else bool(value)
        if isinstance(value, (int, np.integer)):
            return int(value)
        if isinstance(value, (float, np.floating)):
            return float(value) if math.isfinite(value) else {"$float": repr(float(value))}
        if isinstance(value, str):
            return str(value)
        if isinstance(value, np.ndarray):
            return _encode_array(value, arrays)
        for tag, hook in self.hooks.items():
            if isinstance(value, hook.type):
                return {tag: self.encode(hook.plain(value, around), arrays, around)}
        for name, known in self.classes.items():
            if type(value) is known:
                return {"$class": name, "fields": self._fields(value, arrays, around)}
        if isinstance(value, dict) and value and all(map(callable, value.values())):
            return {"$functions": None}  # the user's own, which are given again
        if isinstance(value, dict):
            return {"$dict": [[self.encode(item, arrays, around) for item in pair] for pair in value.items()]}
        if type(value) in (list, tuple):
            items = [self.encode(item, arrays, around) for item in value]
            return items if type(value) is tuple else {"$list": items}
        raise SpecError(f"A fit that holds a value of the type {type(value).__name__} cannot be saved: {value!r:.60}.")

    def _fields(self, value: Any, arrays: list[AnyArray], around: Surroundings) -> dict[str, Any]:
        with around.within():
            around.columns = getattr(getattr(value, "facts", None), "names", ())
            names = field_names(type(value))
            around.levels = value.levels if "levels" in names else {}
            return {name: self.encode(getattr(value, name), arrays, around) for name in names}

    def decode(
        self, document: Any, arrays: Sequence[AnyArray], used: set[int], around: Surroundings | None = None
    ) -> Any:
        """Value of a document; the arrays that it refers to join those ``used`` already."""
        return _Reader(self, arrays, used, Surroundings() if around is None else around).read(document)


def check_used(arrays: Sequence[AnyArray], used: set[int]) -> None:
    """Raise an error for arrays that no document refers to."""
    if len(used) < len(arrays):
        raise MalformedError("it holds arrays that nothing refers to")


@dataclass(frozen=True, slots=True)
class _Reader:
    codec: Codec
    arrays: Sequence[AnyArray]
    used: set[int]
    around: Surroundings

    def read(self, document: Any) -> Any:
        if document is None or isinstance(document, (bool, int, float, str)):
            return document
        if isinstance(document, list):
            return tuple(map(self.read, document))
        if not isinstance(document, dict) or not document:
            raise MalformedError("a value has no tag")
        if set(document) == {"$class", "fields"}:
            return self._object(document["$class"], document["fields"])
        tag, payload = next(iter(document.items()))
        if len(document) > 1:
            raise MalformedError(f"a value has the unknown form {', '.join(map(str, document))}")
        if tag in self.codec.hooks:
            return self.codec.hooks[tag].restore(self.read(payload), self.around)
        if tag == "$float" and isinstance(payload, str) and payload in _NOT_FINITE:
            return _NOT_FINITE[payload]
        if tag == "$array":
            return self._array(payload)
        if tag == "$lower":
            return self._lower(payload)
        if tag == "$functions" and payload is None:
            return self.around.functions
        if tag == "$list" and isinstance(payload, list):
            return [self.read(item) for item in payload]
        if tag == "$dict" and isinstance(payload, list):
            return self._dict(payload)
        raise MalformedError(f"a value has the unknown form {tag!r:.60}")

    def _array(self, at: Any) -> AnyArray:
        if type(at) is not int or not 0 <= at < len(self.arrays) or at in self.used:
            raise MalformedError(f"a value refers to the array {at!r:.20}, which is not there or taken")
        self.used.add(at)
        return self.arrays[at]

    def _lower(self, payload: Any) -> AnyArray:
        if not isinstance(payload, list) or len(payload) != 2 or payload[1] not in ("C", "F"):
            raise MalformedError("a triangular matrix is not an array and its order")
        rows = self._array(payload[0])
        n = math.isqrt(2 * rows.size)
        if rows.ndim != 1 or rows.dtype != np.float64 or n * (n + 1) != 2 * rows.size:
            raise MalformedError("a triangular matrix is not packed into an array of its size")
        return Lower(rows, n, payload[1]).unpacked()

    def _dict(self, pairs: list[Any]) -> dict[Any, Any]:
        out: dict[Any, Any] = {}
        for pair in pairs:
            if not isinstance(pair, list) or len(pair) != 2:
                raise MalformedError("a dict is not made of pairs")
            key, value = map(self.read, pair)
            if not isinstance(key, (str, int)) or key in out:
                raise MalformedError(
                    f"a dict has the key {key!r:.60}, which is twice there or neither text nor a number"
                )
            out[key] = value
        return out

    def _object(self, name: Any, given: Any) -> Any:
        known = self.codec.classes.get(name) if isinstance(name, str) else None
        if known is None:
            raise MalformedError(f"it holds the unknown class {name!r:.60}")
        names, hints = field_names(known), field_types(known)
        if not isinstance(given, dict) or set(given) != set(names):
            raise MalformedError(f"{name} has not exactly the fields {', '.join(names)}")
        with self.around.within():
            values = {own: self.read(given[own]) for own in names}
        for own, value in values.items():
            if not fits(value, hints[own]):
                found = type(value).__name__
                raise MalformedError(f"{name}.{own} is of the type {found}, not {describe_type(hints[own])}")
        try:
            made = known(**values)
            wrong = next(inconsistencies(made), None)
        except TobitGPError as error:
            raise MalformedError(f"{name} has values that are not allowed: {error}") from error
        except Exception as error:
            raise MalformedError(f"the parts of {name} do not belong together: {error}") from error
        if wrong is not None:
            raise MalformedError(wrong)
        return made


def inconsistencies(made: Any) -> Iterator[str]:
    """What does not belong together in an object, by what its classes declare.

    ``shapes`` map a shape to names of arrays: ``{"names 2": "ends weights!"}`` declares ``ends`` and ``weights`` as
    (k, 2), k being the attribute ``names`` of the object, or its length, and the latter as finite. ``*`` is any length.
    The method ``inconsistencies`` of a class says in words what else is wrong.
    """
    for known in reversed(type(made).__mro__):
        for shape, names in vars(known).get("shapes", {}).items():
            for name in names.split():
                yield from _wrong_array(made, name.strip("!"), shape, finite=name.endswith("!"))
        yield from vars(known).get("inconsistencies", lambda _: ())(made)


def _wrong_array(made: Any, name: str, shape: str, *, finite: bool) -> Iterator[str]:
    values = attrgetter(name)(made)
    if values is None:
        return
    wanted, found = tuple(_length(made, axis) for axis in shape.split()), np.shape(values)
    if len(found) != len(wanted) or any(n not in (None, m) for n, m in zip(wanted, found, strict=True)):
        words = ", ".join("any" if n is None else str(n) for n in wanted)
        yield f"{type(made).__name__}.{name} has the shape {found}, not ({words})"
    elif finite and not np.isfinite(values).all():
        yield f"{type(made).__name__}.{name} holds numbers that are not finite"


def _length(made: Any, axis: str) -> int | None:
    """Length of an axis; None where any will do."""
    if axis == "*" or axis.isdigit():
        return None if axis == "*" else int(axis)
    length = attrgetter(axis)(made)
    return length if isinstance(length, int) else len(length)


def field_names(known: type) -> tuple[str, ...]:
    """Fields of a dataclass or a named tuple, in order."""
    if is_dataclass(known):
        return tuple(field.name for field in fields(known) if field.init)
    names: tuple[str, ...] = known._fields  # type: ignore[attr-defined]
    return names


def _encode_array(value: AnyArray, arrays: list[AnyArray]) -> dict[str, Any]:
    if value.dtype.name not in DTYPES:
        raise SpecError(f"A fit that holds an array of the type {value.dtype} cannot be saved.")
    lower = packed(value)
    if lower is None:
        arrays.append(value)
        return {"$array": len(arrays) - 1}
    arrays.append(lower.rows)
    return {"$lower": [len(arrays) - 1, lower.order]}


class _AnySeries:
    """``pd.Series[int]`` of annotations, which pandas does not know at run time."""

    def __getitem__(self, _: Any) -> type:
        return pd.Series


@cache
def field_types(known: type) -> dict[str, Any]:
    """Declared types of a class's fields, those of its class variables left out."""
    hints = get_type_hints(known, localns={"pd": SimpleNamespace(**vars(pd) | {"Series": _AnySeries()})})
    return {name: hints[name] for name in field_names(known)}


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of a type."""
    origin, args = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if hint is None or hint is types.NoneType:
        return value is None
    if hint in (int, float):
        return isinstance(value, (int, hint)) and not isinstance(value, bool)
    if isinstance(hint, type) and not args:
        return _has_members(value, hint) if getattr(hint, "_is_protocol", False) else isinstance(value, hint)
    if origin in (Union, types.UnionType):
        return any(fits(value, arg) for arg in args)
    if origin is Literal:
        return any(type(value) is type(arg) and value == arg for arg in args)
    if origin in (np.ndarray, NDArray):
        # In numpy 2.5, NDArray is a separate alias, with the type of its entries alone.
        entries = args[0] if origin is NDArray else get_args(args[1])[0]
        return isinstance(value, np.ndarray) and value.dtype == np.dtype(entries)
    if origin is Callable:
        return callable(value)  # one of the user's own: no document makes any
    if origin in (list, Sequence) or (origin is tuple and args[1:] == (Ellipsis,)):
        return isinstance(value, (list, tuple) if origin is Sequence else origin) and all(
            fits(item, args[0]) for item in value
        )
    if origin is tuple:
        return isinstance(value, tuple) and len(value) == len(args) and all(map(fits, value, args))
    if origin in (dict, Mapping):
        return isinstance(value, dict) and all(fits(k, args[0]) and fits(v, args[1]) for k, v in value.items())
    raise TypeError(f"{hint} cannot be checked")


def describe_type(hint: Any) -> str:
    """Words for a declared type."""
    return hint.__name__ if isinstance(hint, type) and not get_args(hint) else str(hint).replace("typing.", "")


def _has_members(value: Any, protocol: type) -> bool:
    names = {name for base in protocol.__mro__ if getattr(base, "_is_protocol", False) for name in vars(base)}
    return all(hasattr(value, name) for name in names if not name.startswith("_"))
