"""The codec on its own: values, classes, types."""

import inspect
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tobitgp.errors import SpecError
from tobitgp.storage.archive import MalformedError
from tobitgp.storage.classes import fit_codec
from tobitgp.storage.codec import Codec, describe_type, field_types, fits
from tobitgp.typing import Array, BoolArray, IntArray


class Pair(NamedTuple):
    left: int
    right: float | None


@dataclass(frozen=True)
class Box:
    pair: Pair
    values: Array
    kind: Literal["a", "b"] = "a"


CODEC = Codec({"Pair": Pair, "Box": Box}, {})
NUMBERS = st.none() | st.booleans() | st.integers() | st.floats() | st.text()


def there_and_back(value):
    arrays = []
    return CODEC.decode(CODEC.encode(value, arrays), arrays, set())


@given(
    st.recursive(
        NUMBERS,
        lambda x: st.lists(x) | st.lists(x).map(tuple) | st.dictionaries(st.text() | st.integers(), x),
        max_leaves=9,
    )
)
@pytest.mark.slow
def test_values_come_back(value):
    back = there_and_back(value)
    assert type(back) is type(value)
    np.testing.assert_equal(back, value)


def test_numpy_scalars_become_numbers_and_signs_stay():
    back = there_and_back((np.float64(0.1), np.int64(3), np.bool_(True), -0.0, np.nan))
    assert [type(item) for item in back] == [float, int, bool, float, float]
    assert np.signbit(back[3])


def test_classes_come_back():
    box = Box(Pair(3, None), np.array([[1.0, np.nan]]))
    back = there_and_back(box)
    assert back.pair == box.pair
    assert type(back.pair) is Pair
    assert np.array_equal(back.values, box.values, equal_nan=True)


@pytest.mark.parametrize("value", [object(), {1, 2}, b"x", np.array(["a"]), np.zeros(1, np.float32), len, 1j])
def test_other_values_are_refused(value):
    with pytest.raises(SpecError, match="cannot be saved"):
        CODEC.encode((value,), [])


def test_fields_of_the_wrong_type():
    for fields in (
        {"left": 1.5, "right": None},
        {"left": 1, "right": "x"},
        {"left": 1},
        {"left": 1, "right": 1, "x": 1},
    ):
        with pytest.raises(MalformedError, match="Pair"):
            CODEC.decode({"$class": "Pair", "fields": fields}, [], set())


@runtime_checkable
class Sized(Protocol):
    @property
    def size(self) -> int: ...


@pytest.mark.parametrize(
    ("value", "hint", "expected"),
    [
        (1, int, True),
        (1.0, int, False),
        (True, int, False),
        (True, float, False),
        (1, float, True),
        (None, float | None, True),
        ("a", Literal["a", 1], True),
        (True, Literal["a", 1], False),
        (np.zeros(1), Array, True),
        (np.zeros(1, bool), Array, False),
        (np.zeros(1, bool), BoolArray, True),
        (np.zeros(1, np.intp), IntArray, True),
        ((1, "a"), tuple[int, str], True),
        ((1,), tuple[int, str], False),
        ((1, 2), tuple[int, ...], True),
        ([1, 2], tuple[int, ...], False),
        ([1, 2], list[int], True),
        ({"a": 1}, dict[str, int], True),
        ({1: 1}, dict[str, int], False),
        (np.zeros(1), Sized, True),
        (1, Sized, False),
        (object(), Any, True),
    ],
)
def test_types(value, hint, expected):
    assert fits(value, hint) is expected
    assert describe_type(hint)


@pytest.mark.parametrize("name", fit_codec().classes)
def test_every_listed_class_can_be_checked(name):
    """Class variables aside, every field has a type that ``fits`` knows; functions are those that a user gives."""
    known = fit_codec().classes[name]
    for field, hint in field_types(known).items():
        fits(None, hint)
        assert "Callable" not in str(hint) or field == "functions"
    assert inspect.isclass(known)


@dataclass(frozen=True)
class Table:
    names: tuple[str, ...]
    values: Array
    share: Array | None = None

    shapes = {"names": "values!", "names 2": "share"}  # noqa: RUF012

    def inconsistencies(self):
        if len(set(self.names)) < len(self.names):
            yield "a name is twice there"


@pytest.mark.parametrize(
    ("table", "match"),
    [
        (Table(("a", "b"), np.ones(3)), r"Table.values has the shape \(3,\), not \(2\)"),
        (Table(("a", "b"), np.ones((2, 1))), "Table.values has the shape"),
        (Table(("a",), np.array([np.nan])), "Table.values holds numbers that are not finite"),
        (Table(("a",), np.ones(1), np.ones((1, 3))), r"Table.share has the shape \(1, 3\), not \(1, 2\)"),
        (Table(("a", "a"), np.ones(2)), "twice"),
    ],
)
def test_objects_are_what_their_classes_declare(table, match):
    codec, arrays = Codec({"Table": Table}, {}), []
    document = codec.encode(table, arrays)
    with pytest.raises(MalformedError, match=match):
        codec.decode(document, arrays, set())
    arrays = []
    document = codec.encode(Table(("a", "b"), np.ones(2), np.full((2, 2), np.nan)), arrays)
    assert codec.decode(document, arrays, set()).names == ("a", "b")


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("n", [1, 2, 7])
def test_triangular_matrices_are_packed(rng, n, order):
    L = np.asarray(np.tril(rng.normal(size=(n, n))), order=order)
    L[-1, 0] = np.nan
    arrays = []
    document = CODEC.encode(L, arrays)
    assert arrays[0].size == n * (n + 1) // 2
    back = CODEC.decode(document, arrays, set())
    assert back.tobytes() == L.tobytes()
    assert back.strides == L.strides


def test_matrices_that_are_almost_triangular_are_not_packed():
    for above in (-0.0, 5e-324, np.nan):
        L = np.array([[1.0, above], [2.0, 3.0]])
        arrays = []
        CODEC.encode(L, arrays)
        assert arrays[0].shape == (2, 2)


@pytest.mark.parametrize("payload", [0, [], [0, "K"], [0], [1, "C"], ["a", "C"], [0, []]])
def test_malformed_triangles(payload):
    with pytest.raises(MalformedError):
        CODEC.decode({"$lower": payload}, [np.zeros(3)], set())
    for packed in (np.zeros(2), np.zeros((3, 1)), np.zeros(3, dtype=bool)):
        with pytest.raises(MalformedError, match="packed"):
            CODEC.decode({"$lower": [0, "C"]}, [packed], set())
