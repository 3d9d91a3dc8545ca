"""Saved fits that were tampered with: an error that names the file, or a fit that answers; nothing else happens."""

import copy
import itertools
import json
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.audit import bounded
from support.escapes import ESCAPES
from support.hostile_files import DATA, Saved, is_same, load, replaced, tried, zipped

import tobitgp as tg
from tobitgp.errors import SpecError, TobitGPError
from tobitgp.formula import parse_formula
from tobitgp.results.storage.formula import plain_spec


def test_every_cut_is_refused(saved):
    size = len(saved.data)
    for keep in {*range(0, 60, 3), *range(0, size, max(size // 100, 1)), *range(size - 60, size)}:
        assert tried(saved.data[:keep], saved) is None, keep


@settings(max_examples=150)
@given(place=st.floats(0, 1, exclude_max=True), change=st.integers(1, 255))
def test_a_byte_that_is_changed_is_found_or_carries_nothing(saved, place, change):
    data = bytearray(saved.data)
    data[int(place * len(data))] ^= change
    results = tried(data, saved)
    assert results is None or is_same(results, saved)


def test_bytes_of_the_table_of_entries(saved):
    """Headers hold no checksum of their own: each byte of the last entries' and of the end is tried."""
    start = saved.data.find(b"PK\x01\x02")
    ends = [*range(0, 38), *range(start, start + 110), *range(len(saved.data) - 80, len(saved.data))]
    for at in ends:
        data = bytearray(saved.data)
        data[at] ^= (1, 128, 255)[at % 3]
        results = tried(data, saved)
        assert results is None or is_same(results, saved), at


def leaves(document, route=()):
    if isinstance(document, dict | list) and document:
        for key, item in document.items() if isinstance(document, dict) else enumerate(document):
            yield from leaves(item, (*route, key))
    else:
        yield route


VALUES = (None, "a", [], [1], {}, -1, 0, 10**9, 10**30, 10**400, 1e308, True, {"$float": "nan"}, {"$list": ["a"]})


def check_leaves(saved, values):
    for route in leaves(saved.document):
        for value in values(route):
            data = saved.rewrite(replaced(saved.document, route, value))
            try:
                tried(data, saved)
            except Exception as error:
                raise AssertionError(f"{route}: {value!r:.60}") from error


def test_a_leaf_of_the_document_is_of_another_type(saved):
    """A wrong value for each leaf, another one for the next."""
    order = itertools.cycle(VALUES)
    check_leaves(saved, lambda _: [next(order)])


@pytest.mark.slow
def test_every_leaf_of_the_document_is_of_another_type(saved):
    check_leaves(saved, lambda _: VALUES)


@pytest.mark.parametrize("scale", [0, -1.0, 1e308, {"$float": "nan"}])
def test_units_that_cannot_be_computed_with(tmp_path, scale):
    saved = Saved("mixture", tmp_path)
    (route,) = (at for at in leaves(saved.document) if at[-1] == "scale" and "units" in at)
    assert tried(saved.rewrite(replaced(saved.document, route, scale)), saved) is None


def escaped(saved, formula):
    """Bytes of a file with a formula, and what a patient attacker would write beside it."""
    document = copy.deepcopy(saved.document)
    specification = document["specification"]
    specification["formula"] = formula
    try:
        spec = parse_formula(formula, [*DATA.columns])
    except TobitGPError:
        pass
    else:
        specification |= plain_spec(spec, [*DATA.columns])
    return saved.rewrite(document)


def test_escapes_in_the_formula(saved):
    path = saved.path.with_name("tried.tgp")
    for formula in ESCAPES:
        path.write_bytes(escaped(saved, formula))
        with bounded():
            assert load(path) is None, formula


def test_escapes_in_the_formula_of_the_noise_scale(tmp_path):
    saved = Saved("regression", tmp_path)
    route = ("specification", "scale", "formula")
    for formula in ESCAPES:
        scale = formula[formula.find("~") :]
        assert tried(saved.rewrite(replaced(saved.document, route, scale)), saved) is None, formula


def test_functions_of_the_user_come_from_the_user_alone(tmp_path):
    path = tmp_path / "own.tgp"
    tg.fit("y ~ twice(x)", DATA, functions={"twice": lambda x: 2 * x}).save(path)
    assert load(path) is None
    with pytest.raises(SpecError, match=r"own.tgp: .* load it with functions=\{'twice': twice\}"):
        tg.load(path, functions={"once": np.sin})
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    for name in ("exec", "__import__", "open", "os.system", "print"):
        parts["fit.json"] = parts["fit.json"].replace(b"twice", name.encode())
        path.write_bytes(zipped(parts.items()))
        assert load(path) is None


DOCUMENTS = {
    "deep lists": b"[" * 100_000 + b"]" * 100_000,
    "deep objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "long number": b"9" * 100_000,
    "small number": b"-" + b"9" * 30,
    "long float": b"1" + b"0" * 100_000 + b".0",
    "not a number": b"NaN",
    "infinite": b"-Infinity",
    "key twice": b'{"format": 1, "format": 2}',
    "null": b"null",
    "byte order": b"\xef\xbb\xbf{}",
    "utf-16": "{}".encode("utf-16"),
    "null byte": b"{}\x00",
    "lone half": b'"\\ud800"',
    "nothing": b"",
    "comment": b"{} // more",
    "many": b"[" + b"[]," * 300_000 + b"[]]",
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_hostile_documents(saved, name):
    with bounded():
        assert tried(saved.rewrite(DOCUMENTS[name]), saved) is None


@pytest.mark.parametrize("depth", [50, 900, 5000])
def test_nested_values(saved, depth):
    """Deep values where any would do, as tuples, lists and dicts."""
    for before, after in ((b"[", b"]"), (b'{"$list":[', b"]}"), (b'{"$dict":[["a",', b"]]}")):
        text = json.dumps(replaced(saved.document, ("parts",), "HERE")).encode()
        value = b'{"$dict": [["state", ' + before * depth + b"1" + after * depth + b"]]}"
        assert tried(saved.rewrite(text.replace(b'"HERE"', value)), saved) is None
