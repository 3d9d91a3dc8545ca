"""Saved fits that were tampered with: an error that names the file, or a fit that answers; nothing else happens."""

import io
import itertools
import json
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.audit import bounded
from support.escapes import ESCAPES
from support.hostile_files import (
    DATA,
    FITS,
    MADE,
    NOISES,
    RICH,
    STRUCTURED,
    Saved,
    in_spec,
    is_same,
    leaves,
    load,
    npy,
    places,
    replaced,
    tags,
    tried,
    zipped,
)

import tobitgp as tg
from tobitgp.errors import SpecError, TobitGPError
from tobitgp.formula import parse_formula
from tobitgp.storage.classes import REGISTRIES, fit_codec
from tobitgp.storage.codec import Surroundings, field_names
from tobitgp.storage.specification import plain_spec

RICHER = pytest.mark.parametrize("saved", [*RICH, *MADE, *STRUCTURED, "mixture"], indirect=True)
TAGS = tags()
CLASSES = fit_codec().classes
PLACE = st.floats(0, 1, exclude_max=True)


def test_every_cut_is_refused(saved):
    size = len(saved.data)
    for keep in {*range(0, 60, 3), *range(0, size, max(size // 100, 1)), *range(size - 60, size)}:
        assert tried(saved.data[:keep], saved) is None, keep


@pytest.mark.slow
@settings(max_examples=270)
@given(changes=st.lists(st.tuples(PLACE, st.integers(1, 255)), min_size=1, max_size=4))
def test_bytes_that_are_changed_are_found_or_carry_nothing(saved, changes):
    data = bytearray(saved.data)
    for place, change in changes:
        data[int(place * len(data))] ^= change
    results = tried(data, saved)
    assert results is None or is_same(results, saved)


@pytest.mark.slow
def test_bytes_of_the_table_of_entries(saved):
    """Headers hold no checksum of their own: each byte of the last entries' and of the end is tried."""
    start = saved.data.find(b"PK\x01\x02")
    ends = [*range(0, 38), *range(start, start + 110), *range(len(saved.data) - 80, len(saved.data))]
    for at in ends:
        data = bytearray(saved.data)
        data[at] ^= (1, 128, 255)[at % 3]
        results = tried(data, saved)
        assert results is None or is_same(results, saved), at


VALUES = (None, "a", [], [1], {}, -1, 0, 10**9, 10**30, 10**400, 1e308, True, {"$float": "nan"}, {"$list": ["a"]})


def check_leaves(saved, values):
    for route in leaves(saved.document):
        for value in values(route):
            data = saved.rewrite(replaced(saved.document, route, value))
            try:
                tried(data, saved)
            except Exception as error:
                raise AssertionError(f"{route}: {value!r:.60}") from error


@pytest.mark.slow
def test_a_leaf_of_the_document_is_of_another_type(saved):
    """A wrong value for each leaf, another one for the next."""
    order = itertools.cycle(VALUES)
    check_leaves(saved, lambda _: [next(order)])


@pytest.mark.slow
@pytest.mark.parametrize("saved", STRUCTURED, indirect=True)
def test_a_leaf_of_a_structure_is_of_another_type(saved):
    order = itertools.cycle(VALUES)
    check_leaves(saved, lambda _: [next(order), next(order)])


@pytest.mark.study
def test_every_leaf_of_the_document_is_of_another_type(saved):
    check_leaves(saved, lambda _: VALUES)


def test_the_tags_that_are_tried_are_those_of_files(saved):
    written = {key for _, value in places(saved.document) if isinstance(value, dict) for key in value}
    assert {key for key in written if key.startswith("$")} <= {*TAGS}


def tagged(inner):
    """A value of a tag: of any, and of those of the codec itself in the form that it writes."""
    pairs = st.lists(st.tuples(inner, inner), max_size=2)
    objects = st.tuples(st.sampled_from(sorted(CLASSES)), st.lists(inner, min_size=1, max_size=3))
    return (
        st.builds(lambda tag, value: {tag: value}, st.sampled_from(TAGS), inner)
        | st.builds(lambda items: {"$list": items}, st.lists(inner, max_size=2))
        | st.builds(lambda items: {"$dict": items}, pairs)
        | objects.map(lambda made: {"$class": made[0], "fields": filled(*made)})
    )


def filled(name, values):
    """All fields of a class, with some values in turn."""
    return dict(zip(field_names(CLASSES[name]), itertools.cycle(values), strict=False))


WORDS = sorted({"nan", "inf", "C", "F", *(name for _, rows in REGISTRIES.values() for name in rows)})
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | NUMBERS | st.text(max_size=5) | st.sampled_from(WORDS)
ANYTHING = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | tagged(inner), max_leaves=6)


@pytest.mark.slow
@RICHER
@settings(max_examples=200)
@given(place=PLACE, value=ANYTHING)
def test_anything_anywhere_in_the_document(saved, place, value):
    tried(saved.rewrite(replaced(saved.document, saved.routes[int(place * len(saved.routes))], value)), saved)


@pytest.mark.slow
@RICHER
@settings(max_examples=120)
@given(
    place=PLACE,
    shape=st.lists(st.integers(0, 4), max_size=3),
    dtype=st.sampled_from(["f8", "i8", "?"]),
    value=st.sampled_from([0.0, 1.0, np.nan, np.inf, -1e300]),
)
def test_any_array_in_place_of_another(saved, place, shape, dtype, value):
    at = int(place * (len(saved.parts) - 1))
    old = np.load(io.BytesIO(saved.parts[f"arrays/{at}.npy"]))
    if len(shape) == 2:
        shape, dtype = old.shape, old.dtype
    with np.errstate(all="ignore"):
        new = np.full(shape, value).astype(dtype)
    tried(saved.rewrite(**{f"a{at}": npy(new)}), saved)


@pytest.mark.parametrize("scale", [0, -1.0, 1e308, {"$float": "nan"}])
def test_units_that_cannot_be_computed_with(tmp_path, scale):
    saved = Saved("mixture", tmp_path)
    (route,) = (at for at in leaves(saved.document) if at[-1] == "scale" and "units" in at)
    assert tried(saved.rewrite(replaced(saved.document, route, scale)), saved) is None


@pytest.mark.slow
def test_hyper_parameters_are_those_of_the_formula(tmp_path):
    saved = Saved("rich process", tmp_path)
    routes = [at for at in leaves(saved.document) if at[:3] == ("fit", "fields", "fitted") and "parameters" in at]
    routes = [at for at in routes if {"names", "roles"} & {*at}]
    assert len(routes) == 2 * 4
    for route in routes:
        for value in ("sd", "group", "sigma", "sigma_lower", "df"):
            results = tried(saved.rewrite(replaced(saved.document, route, value)), saved)
            assert results is None or is_same(results, saved), (route, value)


@pytest.mark.slow
@pytest.mark.parametrize("saved", NOISES, indirect=True)
def test_hyper_parameters_of_the_noise_are_those_of_their_roles(saved):
    """Each once; the file as it was is loaded."""
    assert is_same(load(saved.path), saved)
    at = ("fit", "fields", "fitted", "fields", "parameters", "fields")
    for place in range(2, len(saved.results.hyperparameters)):
        for field, value in [("names", "lengthscale(gp(x))"), ("names", "x\n"), ("roles", "arc")]:
            assert tried(saved.rewrite(replaced(saved.document, (*at, field, place), value)), saved) is None
        for field in ("names", "roles"):
            for value in ("sigma", "sigma_lower", "sigma_upper", "df"):
                results = tried(saved.rewrite(replaced(saved.document, (*at, field, place), value)), saved)
                assert results is None or is_same(results, saved), (field, place, value)


def escaped(saved, formula):
    """Bytes of a file with a formula, and what a patient attacker would write beside it."""
    texts = {"formula": formula}
    try:
        spec = parse_formula(formula, [*DATA.columns])
    except TobitGPError:
        pass
    else:
        texts = plain_spec(spec, Surroundings(columns=[*DATA.columns]))
    return saved.rewrite(in_spec(**texts)(saved.document))


@pytest.mark.slow
def test_escapes_in_the_formula(saved):
    """Each in the file of one kind, which all read formulas by the same way."""
    path = saved.path.with_name("tried.tgp")
    for formula in ESCAPES[list(FITS).index(saved.kind) :: len(FITS)]:
        path.write_bytes(escaped(saved, formula))
        with bounded():
            assert load(path) is None, formula


@pytest.mark.slow
def test_escapes_in_the_formula_of_the_noise_scale(tmp_path):
    saved = Saved("regression", tmp_path)
    (pair,) = (route for route, value in places(saved.document) if route[-1:] == (0,) and value == "scale")
    route = (*pair[:-1], 1, 1)
    for formula in ESCAPES:
        scale = formula[formula.find("~") :]
        assert tried(saved.rewrite(replaced(saved.document, route, scale)), saved) is None, formula


def test_functions_of_the_user_come_from_the_user_alone(tmp_path):
    path = tmp_path / "own.tgp"
    tg.fit("y ~ twice(x)", DATA, functions={"twice": lambda x: 2 * x}).save(path)
    assert load(path) is None
    with pytest.raises(SpecError, match=r"own.tgp: .* Load it with functions=\{'twice': twice\}"):
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
        text = json.dumps(replaced(saved.document, ("fit",), "HERE")).encode()
        value = b'{"$dict": [["state", ' + before * depth + b"1" + after * depth + b"]]}"
        assert tried(saved.rewrite(text.replace(b'"HERE"', value)), saved) is None
