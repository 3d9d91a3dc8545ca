"""Values and flags become one sample, however they were written."""

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.nondetects.sample import groups_of, read_sample, read_values

SPELLINGS = {
    "flag": ({"my y": [1.0, 2.0, 3.0, 2.0], "nd": [1, 0, 0, 1]}, "my y", "nd"),
    "booleans": ({"my y": [1.0, 2.0, 3.0, 2.0], "nd": [True, False, False, True]}, "my y", "nd"),
    "text": ({"my y": ["<1", "2", "3", "<2"]}, "my y", None),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_spellings_of_one_sample(spelling):
    sample = read_sample(*SPELLINGS[spelling])
    np.testing.assert_array_equal(sample.values, [1, 2, 3, 2])
    np.testing.assert_array_equal(sample.censored, [True, False, False, True])
    np.testing.assert_array_equal(sample.detects, [2, 3])
    np.testing.assert_array_equal(sample.limits, [1, 2])


def test_rows_without_a_value_are_dropped_and_counted():
    with pytest.warns(UserWarning, match="1 of 4 rows is dropped"):
        sample = read_values(pd.Series([1.0, 2.0, np.nan, 2.0], index=list("abcd")), [1, 0, 0, 1])
    assert sample.dropped == 1
    assert list(sample.labels) == ["a", "b", "d"]


def test_codes_that_mean_the_opposite_elsewhere_are_refused():
    with pytest.raises(tg.errors.DataError, match="must be 0 or 1, but holds 1, 2"):
        read_values([1.0, 2.0, 3.0], [1, 2, 1])
    with pytest.raises(tg.errors.DataError, match="no such column; did you mean 'nd'"):
        read_sample({"y": [1.0, 2.0], "nd": [0, 1]}, "y", "ndd")


def test_what_a_method_cannot_use_is_refused():
    with pytest.raises(tg.errors.SpecError, match=r"1 values of 'y' are right-censored .* \(row 2\)"):
        read_values(["<1", "2", ">3"]).check_left("Kaplan-Meier")
    with pytest.raises(tg.errors.DataError, match=r"one distinct detected value in 4 rows.*2 non-detects lie below 2"):
        read_values(["<1", "3", "3", "<2"]).check_detects()


def test_groups_keep_the_order_of_a_categorical():
    labels = pd.Series(pd.Categorical(["b", "a", "b"], categories=["b", "a", "c"]))
    assert {name: rows.tolist() for name, rows in groups_of(labels).items()} == {
        "b": [True, False, True],
        "a": [False, True, False],
    }
