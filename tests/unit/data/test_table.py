"""Columns are typed once, and what is neither numbers nor text is refused."""

import datetime

import numpy as np
import pandas as pd
import pytest

from tobitgp.data.table import column_names, read_table
from tobitgp.errors import DataError

NUMBERS = {
    "int64": pd.Series([1, 2, 3]),
    "int8": pd.Series([1, 2, 3], dtype="int8"),
    "uint16": pd.Series([1, 2, 3], dtype="uint16"),
    "float32": pd.Series([1, 2, 3], dtype="float32"),
    "Int64": pd.Series([1, 2, 3], dtype="Int64"),
    "Float64": pd.Series([1, 2, 3], dtype="Float64"),
    "sparse": pd.Series(pd.arrays.SparseArray([1.0, 2.0, 3.0])),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_become_float64(name):
    column = read_table(pd.DataFrame({"x": NUMBERS[name]}), ["x"]).columns["x"]
    assert column.kind == "number"
    assert column.values.dtype == np.float64
    assert column.values.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("dtype", ["bool", "boolean"])
def test_booleans_become_0_and_1(dtype):
    column = read_table(pd.DataFrame({"x": pd.Series([True, False], dtype=dtype)}), ["x"]).columns["x"]
    assert column.kind == "boolean"
    assert column.values.tolist() == [1.0, 0.0]


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "boolean", "float64"])
def test_missing_numbers_are_nan(dtype):
    column = read_table(pd.DataFrame({"x": pd.Series([1, None], dtype=dtype)}), ["x"]).columns["x"]
    assert column.missing.tolist() == [False, True]
    assert np.isnan(column.values[1])


@pytest.mark.parametrize(
    ("series", "levels"),
    [
        (pd.Series(["b", "a", None], dtype=object), ("a", "b")),
        (pd.Series(["b", "a", None], dtype="string"), ("a", "b")),
        (pd.Series(["b", "a", None], dtype="category"), ("a", "b")),
        (pd.Series(pd.Categorical(["b", "a", None], categories=["b", "c", "a"])), ("b", "c", "a")),
        (pd.Series(pd.Categorical([2, 1, None])), (1, 2)),
    ],
)
def test_text_and_categories_become_factors(series, levels):
    column = read_table(pd.DataFrame({"g": series}), ["g"]).columns["g"]
    assert column.kind == "factor"
    assert column.levels == levels
    assert [column.levels[code] for code in column.values[:2]] == list(series[:2])
    assert column.missing.tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (pd.Series([1, 2.5, None], dtype=object), "pd.to_numeric"),
        (pd.Series([True, None], dtype=object), "object"),
        (pd.Series([[1], [2]], dtype=object), "holds list. Give numbers or text"),
        (pd.Series([1, "a", 2, "b"], dtype=object), "rows 1, 3"),
        (pd.Series([datetime.date(2020, 1, 1), "a"], dtype=object), "date, str mixed"),
        (pd.Series([datetime.date(2020, 1, 1), 1.0], dtype=object), "date, float mixed"),
        (pd.Series([datetime.timedelta(1), 1.0], dtype=object), "timedelta"),
        (pd.period_range("2020", periods=3, freq="M"), "periods"),
        (np.array([1 + 2j, 3]), "complex"),
    ],
)
def test_other_types_are_refused(values, words):
    with pytest.raises(DataError, match="'x'") as caught:
        read_table(pd.DataFrame({"x": values}), ["x"])
    assert words in str(caught.value)


def test_a_column_without_any_value_is_missing_numbers():
    column = read_table(pd.DataFrame({"x": [None, None]}), ["x"]).columns["x"]
    assert column.kind == "number"
    assert column.missing.all()


def test_duplicated_names():
    frame = pd.DataFrame([[1, 2, 3]], columns=["x", "x", "z"])
    with pytest.raises(DataError, match="several columns named 'x'"):
        read_table(frame, ["x"])
    assert read_table(frame, ["z"]).n == 1


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"x": [1, 2], "z": [1]}, "unequal lengths: 'x' 2, 'z' 1"),
        ({"x": 1.0, "z": [1]}, "single value"),
        ({"x": "abc", "z": [1, 2, 3]}, "single value"),
        ({"x": np.ones((2, 2)), "z": [1, 2]}, "2 dimensions"),
        ({"x": pd.Series([1, 2], index=[3, 4]), "z": pd.Series([1, 2])}, "unequal indices"),
        ({"x": [1, "a"], "z": [1, 2]}, "mixed"),
    ],
)
def test_dicts_that_are_no_table(data, words):
    with pytest.raises(DataError, match=words):
        read_table(data, ["x", "z"])


def test_dicts_of_columns():
    table = read_table({"x": [1, 2], "g": ["a", "b"], "h": np.array(["c", "d"]), "odd": 3}, ["x", "g", "h"])
    assert [column.kind for column in table.columns.values()] == ["number", "factor", "factor"]
    index = pd.Index(["p", "q"])
    assert read_table({"x": pd.Series([1, 2], index=index), "z": [3, 4]}, ["z", "x"]).index.equals(index)


@pytest.mark.parametrize("data", [[1, 2], None, "data.csv", np.ones((2, 2)), pd.Series([1.0])])
def test_other_kinds_of_data_are_refused(data):
    with pytest.raises(DataError, match="DataFrame or a dict"):
        column_names(data)


def test_rows_are_named_by_label():
    table = read_table(pd.DataFrame({"x": range(8)}, index=list("abcdefgh")), ["x"])
    assert table.rows(np.arange(8) == 2) == "row c"
    assert table.rows(np.arange(8) > 0) == "rows b, c, d, e, f and 2 more"
