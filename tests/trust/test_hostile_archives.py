"""Zip files and arrays that are none of ours: refused, without the memory that they claim, and nothing is executed."""

import io
import pickle
import re
import struct
import zipfile

import numpy as np
import pytest
from support.audit import bounded
from support.hostile_files import DATA, header, is_same, npy, tried, zipped


class Trap:
    """What pickle would run."""

    def __reduce__(self):
        return open, ("escaped", "w")


def with_header(descr="'<f8'", shape="(3,)", more=""):
    return header(f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}{more}}}\n") + bytes(24)


TYPES = (
    "'|O'",
    "'O'",
    "'<M8[ns]'",
    "'<U3'",
    "'|V24'",
    "'<f16'",
    "'>f8'",
    "'<c16'",
    "'<f4'",
    "'|S8'",
    "'f8,f8'",
    "'@'",
)
TYPES += (
    "'__import__(\"os\")'",
    "[('a', '|O')]",
    "[('a', '<f8')]",
    "[('a', '<f8', (3, 10**9))]",
    "('<f8', (3,))",
    "'m8'",
)
TYPES += (
    "None",
    "{'names': ['a'], 'formats': ['|O'], 'offsets': [-8]}",
    "'<f8' * 10**9",
    "9" * 400,
    "'" + "<" * 9000 + "'",
)
SHAPES = (
    "(10**18,)",
    "(9223372036854775807,)",
    "(4294967296, 4294967296)",
    "(-1,)",
    "(3, 0)",
    "()",
    "(3.0,)",
    "3",
    "None",
)
SHAPES += (
    "(0, 10**30)",
    "(True, 3)",
    "(" + "1," * 100 + "3)",
    "(3,) * 10**9",
    "__import__('os')",
    "('3',)",
)
HOSTILE_ARRAYS = {
    **{f"type {text:.40}": with_header(descr=text) for text in TYPES},
    **{f"shape {text:.40}": with_header(shape=text) for text in SHAPES},
    "objects": npy(np.array([Trap()] * 3, dtype=object)),
    "objects in fields": npy(np.array([(Trap(),)] * 3, dtype=[("a", object)])),
    "pickle": pickle.dumps(Trap()),
    "zip": zipped([("a", b"b")]),
    "more keys": with_header(more=", 'run': 1"),
    "key twice": with_header(more=", 'descr': '|O'"),
    "nested": header("[" * 9000),
    "no end": header("{'descr': '<f8', 'fortran_order': False, 'shape': (3,"),
    "expression": header("__import__('os').system('touch escaped')"),
    "newlines": header("\n" * 60_000),
    "version 2": header("{'descr': '<f8', 'fortran_order': False, 'shape': (3,)}\n", b"\x02\x00"),
    "version 3": header("{'descr': '<f8', 'fortran_order': False, 'shape': (3,)}\n", b"\x03\x00"),
    "version 255": header("", b"\xff\xff"),
    "header beyond the end": b"\x93NUMPY\x01\x00\xff\xff{",
    "nothing": b"",
}


@pytest.mark.parametrize("name", HOSTILE_ARRAYS)
def test_hostile_arrays(saved, name):
    with bounded():
        assert tried(saved.rewrite(a0=HOSTILE_ARRAYS[name]), saved) is None


NAMES = (
    "../evil.npy",
    "/etc/passwd",
    "C:\\evil",
    "arrays/../a.npy",
    "arrays/",
    "arrays/00.npy",
    "ARRAYS/0.npy",
    "a" * 60_000,
)
NAMES += (
    "fit.json",
    "arrays/1.npy",
    "arrays/0.npy/",
    "./arrays/0.npy",
    "arrays//0.npy",
    "arrays/\u0660.npy",
    "fit.pickle",
)


@pytest.mark.parametrize("name", NAMES, ids=lambda name: ascii(name)[:40])
def test_names_of_entries(saved, name):
    entries = [(name if old == "arrays/0.npy" else old, content) for old, content in saved.parts.items()]
    assert tried(zipped(entries), saved) is None
    assert tried(zipped([*saved.parts.items(), (name, b"")]), saved) is None


def link(saved, content):
    """A file whose first array says that it is a link on the disk."""
    entries = {zipfile.ZipInfo(name): data for name, data in saved.parts.items()}
    first = [*entries][1]
    first.external_attr = 0o120777 << 16
    return zipped((entries | {first: content}).items())


def test_links_are_no_links(saved):
    """What is no array is refused, and an array is one whatever its entry says of itself."""
    assert tried(link(saved, b"/etc/passwd"), saved) is None
    assert is_same(tried(link(saved, saved.parts["arrays/0.npy"]), saved), saved)


def test_what_stands_around_the_entries_carries_nothing(saved):
    archive = bytearray(saved.data)
    assert is_same(tried(b"#!/bin/sh\ntouch escaped\n" + archive, saved), saved)
    struct.pack_into("<H", archive, len(archive) - 2, 11)
    assert is_same(tried(archive + b"<script src", saved), saved)


def packed(saved, method, megabytes):
    """A file whose last array unpacks to many megabytes."""
    out = io.BytesIO()
    *others, last = saved.parts
    entry = zipfile.ZipInfo(last)
    entry.compress_type = method
    with zipfile.ZipFile(out, "w") as archive:
        for name in others:
            archive.writestr(name, saved.parts[name])
        with archive.open(entry, "w") as file:
            for _ in range(megabytes):
                file.write(bytes(2**20))
    return out.getvalue()


@pytest.mark.slow
def test_bombs(saved):
    """What unpacks to more than the file holds is not unpacked."""
    bombs = [packed(saved, zipfile.ZIP_DEFLATED, 100), packed(saved, zipfile.ZIP_BZIP2, 100)]
    bombs.append(zipped([("fit.json", b" " * 10**8)], compression=zipfile.ZIP_DEFLATED))
    bombs.append(zipped([*saved.parts.items(), *((f"arrays/{i}.npy", b"") for i in range(len(saved.parts), 5000))]))
    for data in bombs:
        with bounded(megabytes=30):
            assert tried(data, saved) is None


def test_entries_that_share_their_bytes(saved):
    """A thousand entries that all point to the first array's bytes, as in bombs that nest nothing."""
    names = [*saved.parts]
    start = saved.data.find(b"PK\x01\x02")
    ends = [at.start() for at in re.finditer(b"PK\x01\x02", saved.data)] + [saved.data.rfind(b"PK\x05\x06")]
    table, first = saved.data[start : ends[-1]], saved.data[ends[1] : ends[2]]
    for i in range(len(names) - 1, 1000):
        name = f"arrays/{i}.npy".encode()
        table += first[:28] + struct.pack("<H", len(name)) + first[30:46] + name
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1001, 1001, len(table), start, 0)
    assert tried(saved.data[:start] + table + end, saved) is None


@pytest.mark.slow
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e308, -1.0], ids=str)
@pytest.mark.filterwarnings("ignore")
def test_numbers_that_no_fit_has(saved, value):
    """An array that holds one is refused, or no prediction rests on it."""
    places = [name for name in saved.parts if name.startswith("arrays/")]
    for place in places:
        numbers = np.load(io.BytesIO(saved.parts[place]))
        if numbers.dtype != np.float64 or not numbers.size:
            continue
        numbers[(0,) * numbers.ndim] = value
        name = "a" + place.removeprefix("arrays/").removesuffix(".npy")
        results = tried(saved.rewrite(**{name: npy(numbers)}), saved)
        if results is not None and not np.isfinite(value):
            assert np.isfinite(results.predict(DATA.head(3), "median")).all(axis=None), place
