"""Values of known classes as JSON with arrays beside it, in one file.

Whole numbers, floats, text, truth values and None stand for themselves, a JSON array for a tuple. Everything else is
an object of one tag: ``{"$list": [...]}``, ``{"$dict": [[key, value], ...]}``, ``{"$float": "nan"}`` (or ``inf``,
``-inf``), ``{"$array": 3}``, ``{"$lower": [3, "F"]}`` for the packed rows of a lower triangular matrix,
``{"$class": "Units", "fields": {...}}``, or the tag of a hook. Classes are those of a table and no others; a class is
only made from exactly its fields, each of the type that it declares. Files of an earlier format may lack fields that
have defaults.
"""

from __future__ import annotations

import io
import json
import math
import types
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from tobitgp.errors import SpecError, TobitGPError
from tobitgp.files import whole_file
from tobitgp.numerics.copies import Lower, packed

_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
DTYPES = ("float64", "int64", "bool")
AnyArray = np.ndarray[Any, Any]


class MalformedError(Exception):
    """A document is not what this package writes; the message says where."""


@dataclass(frozen=True, slots=True)
class Hook:
    """How values of a type are written that are not taken apart field by field."""

    type: type | tuple[type, ...]
    plain: Callable[[Any], Any]  # value -> something the codec knows
    restore: Callable[[Any], Any]  # the way back; raises for what it does not know


@dataclass(frozen=True, slots=True)
class Codec:
    """What may be written and read."""

    classes: Mapping[str, type]  # dataclasses and named tuples by the name they have in the document
    hooks: Mapping[str, Hook]  # by tag
    earlier: bool = False  # whether fields with defaults may be absent, as in files of an earlier format

    def encode(self, value: Any, arrays: list[AnyArray]) -> Any:
        """Document of a value; its arrays are appended to ``arrays``."""
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
                return {tag: self.encode(hook.plain(value), arrays)}
        for name, known in self.classes.items():
            if type(value) is known:
                parts = {field: self.encode(getattr(value, field), arrays) for field in field_names(known)}
                return {"$class": name, "fields": parts}
        if isinstance(value, dict):
            return {"$dict": [[self.encode(item, arrays) for item in pair] for pair in value.items()]}
        if type(value) in (list, tuple):
            items = [self.encode(item, arrays) for item in value]
            return items if type(value) is tuple else {"$list": items}
        raise SpecError(f"A fit that holds a value of the type {type(value).__name__} cannot be saved: {value!r:.60}.")

    def decode(self, document: Any, arrays: Sequence[AnyArray], used: set[int]) -> Any:
        """Value of a document; the arrays that it refers to join those ``used`` already."""
        return _Reader(self, arrays, used).read(document)


def check_used(arrays: Sequence[AnyArray], used: set[int]) -> None:
    """Refuse arrays that no document refers to."""
    if len(used) < len(arrays):
        raise MalformedError("it holds arrays that nothing refers to")


@dataclass(frozen=True, slots=True)
class _Reader:
    codec: Codec
    arrays: Sequence[AnyArray]
    used: set[int]

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
            return self.codec.hooks[tag].restore(self.read(payload))
        if tag == "$float" and isinstance(payload, str) and payload in _NOT_FINITE:
            return _NOT_FINITE[payload]
        if tag == "$array":
            return self._array(payload)
        if tag == "$lower":
            return self._lower(payload)
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
        names, types = field_names(known), field_types(known)
        needed = set(names) - (_with_defaults(known) if self.codec.earlier else set())
        if not isinstance(given, dict) or not needed <= set(given) <= set(names):
            raise MalformedError(f"{name} has not exactly the fields {', '.join(names)}")
        values = {field: self.read(given[field]) for field in names if field in given}
        for field, value in values.items():
            hint = types[field]
            if not fits(value, hint):
                found = type(value).__name__
                raise MalformedError(f"{name}.{field} is of the type {found}, not {describe_type(hint)}")
        try:
            return known(**values)
        except TobitGPError as error:
            raise MalformedError(f"{name} has values that are not allowed: {error}") from error


def field_names(known: type) -> tuple[str, ...]:
    """Fields of a dataclass or a named tuple, in order."""
    if is_dataclass(known):
        return tuple(field.name for field in fields(known) if field.init)
    names: tuple[str, ...] = known._fields  # type: ignore[attr-defined]
    return names


def _with_defaults(known: type) -> set[str]:
    if not is_dataclass(known):
        return set(known._field_defaults)  # type: ignore[attr-defined]
    return {
        field.name for field in fields(known) if field.default is not MISSING or field.default_factory is not MISSING
    }


def _encode_array(value: AnyArray, arrays: list[AnyArray]) -> dict[str, Any]:
    if value.dtype.name not in DTYPES:
        raise SpecError(f"A fit that holds an array of the type {value.dtype} cannot be saved.")
    lower = packed(value)
    if lower is None:
        arrays.append(value)
        return {"$array": len(arrays) - 1}
    arrays.append(lower.rows)
    return {"$lower": [len(arrays) - 1, lower.order]}


@cache
def field_types(known: type) -> dict[str, Any]:
    """Declared types of a class's fields, those of its class variables left out."""
    hints = get_type_hints(known)
    return {name: hints[name] for name in field_names(known)}


def check_fields(values: Any, hints: Mapping[str, Any]) -> None:
    """Refuse what are not exactly these fields, of their types."""
    if not isinstance(values, dict) or set(values) != set(hints):
        raise MalformedError(f"it has not exactly the parts {', '.join(hints)}")
    for name, hint in hints.items():
        if not fits(values[name], hint):
            raise MalformedError(f"its part {name!r} is no {describe_type(hint)}")


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
        # numpy 2.5 made NDArray an alias of its own, with the type of its entries alone.
        entries = args[0] if origin is NDArray else get_args(args[1])[0]
        return isinstance(value, np.ndarray) and value.dtype == np.dtype(entries)
    if origin is list or (origin is tuple and args[1:] == (Ellipsis,)):
        return isinstance(value, origin) and all(fits(item, args[0]) for item in value)
    if origin is tuple:
        return isinstance(value, tuple) and len(value) == len(args) and all(map(fits, value, args))
    if origin is dict:
        return isinstance(value, dict) and all(fits(k, args[0]) and fits(v, args[1]) for k, v in value.items())
    raise TypeError(f"{hint} cannot be checked")


def describe_type(hint: Any) -> str:
    """Words for a declared type."""
    return hint.__name__ if isinstance(hint, type) and not get_args(hint) else str(hint).replace("typing.", "")


def _has_members(value: Any, protocol: type) -> bool:
    names = {name for base in protocol.__mro__ if getattr(base, "_is_protocol", False) for name in vars(base)}
    return all(hasattr(value, name) for name in names if not name.startswith("_"))


DOCUMENT = "fit.json"
MAX_ENTRIES = 100_000
MAX_DOCUMENT = 2**27
_DATE = (1980, 1, 1, 0, 0, 0)
_DESCRIPTIONS = {np.dtype(name).newbyteorder("<").str: np.dtype(name) for name in DTYPES}


def entry_name(i: int) -> str:
    """Name of array i in the file."""
    return f"arrays/{i}.npy"


def write_archive(path: Path, document: Any, arrays: Sequence[AnyArray]) -> None:
    """Write a file as a whole or not at all.

    The bytes depend on the arguments alone.
    """
    text = json.dumps(document, indent=1, ensure_ascii=True, allow_nan=False)
    with whole_file(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(_entry(DOCUMENT), text.encode("ascii"))
        for i, values in enumerate(arrays):
            archive.writestr(_entry(entry_name(i)), _array_bytes(values))


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _DATE)
    entry.create_system, entry.external_attr = 3, 0o644 << 16
    return entry


def _array_bytes(values: AnyArray) -> bytes:
    buffer = io.BytesIO()
    little = np.array(values, dtype=values.dtype.newbyteorder("<"), order="K")
    np.lib.format.write_array(buffer, little, version=(1, 0), allow_pickle=False)
    return buffer.getvalue()


def read_document(archive: zipfile.ZipFile, size: int) -> Any:
    """JSON document of a file, once its list of entries has been found harmless."""
    entries = archive.infolist()
    if len(entries) > MAX_ENTRIES:
        raise MalformedError(f"it has more than {MAX_ENTRIES} entries")
    expected = [DOCUMENT, *(entry_name(i) for i in range(len(entries) - 1))]
    found = [entry.filename for entry in entries]
    if found != expected:
        wrong = next((name for name in found if name not in set(expected)), None)
        raise MalformedError(f"it has the unknown entry {wrong!r:.80}" if wrong else "entries are missing or repeated")
    for entry in entries:
        if entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & ~0x800:
            raise MalformedError(f"the entry {entry.filename} is compressed or encrypted")
    if sum(entry.file_size for entry in entries) > size or entries[0].file_size > MAX_DOCUMENT:
        raise MalformedError("its entries are larger than the file")
    text = archive.read(entries[0]).decode("ascii")
    return json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse, parse_int=_integer)


def read_arrays(archive: zipfile.ZipFile) -> list[AnyArray]:
    """Arrays of a file that ``read_document`` has passed."""
    return [_read_array(archive.read(entry), entry.filename) for entry in archive.infolist()[1:]]


def _read_array(data: bytes, name: str) -> AnyArray:
    buffer = io.BytesIO(data)
    if np.lib.format.read_magic(buffer) != (1, 0):
        raise MalformedError(f"{name} is of an unknown version of the npy format")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(buffer)
    if dtype.str not in _DESCRIPTIONS:
        raise MalformedError(f"{name} holds values of the type {dtype}; {', '.join(DTYPES)} are allowed")
    size = dtype.itemsize
    for length in shape:
        if type(length) is not int or length < 0:
            raise MalformedError(f"{name} has the shape {shape!r:.60}")
        size *= length
    if size != len(data) - buffer.tell() or len(shape) > 8:
        raise MalformedError(f"{name} says it has the shape {shape!r:.60}, and holds {len(data) - buffer.tell()} bytes")
    values = np.frombuffer(data, dtype=dtype, offset=buffer.tell()).astype(_DESCRIPTIONS[dtype.str])
    return values.reshape(shape, order="F" if fortran else "C")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) < len(pairs):
        raise MalformedError("a name stands twice in an object of its document")
    return out


def _integer(digits: str) -> int:
    if len(digits) > 20 or not -(2**63) <= int(digits) < 2**63:
        raise MalformedError(f"its document has the whole number {digits:.20}..., which is beyond 64 bits")
    return int(digits)


def _refuse(constant: str) -> Any:
    raise MalformedError(f"its document has the value {constant}, which is no JSON")
