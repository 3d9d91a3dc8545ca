"""Columns given beside the formula: clusters (weights are in test_prepare)."""

import numpy as np
import pandas as pd
import pytest

from tobitgp.data.frames import read_clusters, read_weights
from tobitgp.errors import DataError

ALL = np.ones(6, dtype=bool)
DATA = pd.DataFrame({"school": list("bbacca"), "x": range(6)}, index=list("uvwxyz"))


@pytest.mark.parametrize(
    "groups",
    [
        "school",
        DATA["school"],
        DATA["school"].to_numpy(),
        list("bbacca"),
        pd.Categorical(list("bbacca"), categories=list("qabcd")),
        [2.0, 2.0, -1.0, 7.5, 7.5, -1.0],
        np.array([2, 2, 1, 9, 9, 1], dtype=np.int8),
        pd.to_datetime(["2021-01-01", "2021-01-01", "2020-01-01", "2022-01-01", "2022-01-01", "2020-01-01"]),
    ],
)
def test_codes(groups):
    np.testing.assert_array_equal(read_clusters(groups, DATA, ALL), [1, 1, 0, 2, 2, 0])


def test_rows_that_are_not_used():
    kept = np.array([False, False, True, True, True, False])
    codes = read_clusters("school", DATA, kept)
    np.testing.assert_array_equal(codes, [0, 1, 1])
    assert codes.dtype.kind == "i"
    assert read_clusters(["a", None, "b", "b", "a", None], DATA, kept).tolist() == [1, 1, 0]


def test_data_in_a_dict():
    assert read_clusters("g", {"g": [3, 1, 3], "x": [1, 2, 3]}, ALL[:3]).tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ("scool", "no column 'scool' for the groups; did you mean 'school'"),
        (list("ab"), "The groups have 2 values for 6 rows"),
        (
            ["a", None, "b", "b", "a", "a"],
            "The groups 'groups' are missing in row 1. Every row that is used must have a group",
        ),
        ([1.0, np.nan, 2, 2, 1, np.nan], "missing in rows 1, 5"),
        (np.ones((6, 2)), "2 dimensions"),
        (5, "single value"),
        ([1, "a", 2, "b", 1, 1], "mixed"),
    ],
)
def test_what_are_no_groups(groups, message):
    with pytest.raises(DataError, match=message):
        read_clusters(groups, DATA, ALL)


def test_missing_groups_are_named_by_the_labels_of_the_data():
    with pytest.raises(DataError, match="'school' are missing in row v"):
        read_clusters("school", DATA.assign(school=["a", None, "b", "b", "a", "a"]), ALL)


def test_series_find_their_rows_by_label():
    order = list("zyxwvu")
    np.testing.assert_array_equal(read_clusters(DATA["school"].loc[order], DATA, ALL), [1, 1, 0, 2, 2, 0])
    weights = pd.Series(np.arange(6.0), index=order)
    np.testing.assert_array_equal(read_weights(weights, DATA, 6), [5, 4, 3, 2, 1, 0])
    np.testing.assert_array_equal(read_weights(weights, DATA.to_dict("list"), 6), [0, 1, 2, 3, 4, 5])
    twice = DATA.set_axis(list("uuwxyz"))
    np.testing.assert_array_equal(read_weights(weights.set_axis(twice.index), twice, 6), [0, 1, 2, 3, 4, 5])


@pytest.mark.parametrize(
    ("index", "words"),
    [
        (range(6), r"weights are a Series with labels that are not in the data, e.g. 0. .*weights.to_numpy\(\)"),
        (list("vvwxyz"), "with repeated labels: v occurs twice"),
        (list("uvwxy"), "The weights have 5 values for 6 rows"),
    ],
)
def test_series_of_other_rows(index, words):
    with pytest.raises(DataError, match=words):
        read_weights(pd.Series(1.0, index=list(index)), DATA, 6)
