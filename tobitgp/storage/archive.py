"""The file of a fit: one zip of a JSON document and plain arrays, without compression."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tobitgp.files import whole_file

DTYPES = ("float64", "int64", "bool")
AnyArray = np.ndarray[Any, Any]


class MalformedError(Exception):
    """A document is not what this package writes; the message says where."""


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
        raise MalformedError("a name occurs twice in an object of its document")
    return out


def _integer(digits: str) -> int:
    if len(digits) > 20 or not -(2**63) <= int(digits) < 2**63:
        raise MalformedError(f"its document has the whole number {digits:.20}..., which is beyond 64 bits")
    return int(digits)


def _refuse(constant: str) -> Any:
    raise MalformedError(f"its document has the value {constant}, which is not JSON")
