"""Laboratory columns become values and flags, in whichever way limits are written."""

import pandas as pd
import pytest

from tobitgp.errors import DataError, SpecError
from tobitgp.nondetects import plot_ecdf, read, summary, tolerance_limit, upper_confidence_limit

LAB = pd.DataFrame(
    {
        "Pb (ug/L)": ["0.8", "<0.5", "ND", "0.2 U", "0.7 J", None],
        "limit": [0.5, 0.5, 0.2, 0.2, 0.5, 0.5],
        "well": ["a", "a", "a", "a", "a", "b"],
    },
    index=[9, 8, 7, 6, 5, 4],
)


def test_a_bar_with_limits_behind_the_response():
    with pytest.warns(UserWarning, match="1 of 6 rows is dropped"):
        found = read(LAB, "Pb (ug/L) | censor(limit)")
    assert found.index.tolist() == [9, 8, 7, 6, 5]
    assert found["value"].tolist() == [0.8, 0.5, 0.2, 0.2, 0.7]
    assert found["nondetect"].tolist() == [False, True, True, True, False]
    with pytest.warns(UserWarning, match="1 of 6 rows is dropped"):
        table = summary(LAB, "Pb (ug/L) | censor(limit)", by="well", methods="km", percentiles=[0.5])
    assert table.groups[0].name == "a"
    assert table.groups[0].nondetects == 3
    assert "left out" not in str(table)  # that row is of another well


def test_a_column_with_a_bar_in_its_name_is_a_column():
    assert read({"a|b": [1.0, 2.0], "nd": [True, False]}, "a|b", "nd")["nondetect"].tolist() == [True, False]


def test_what_is_refused():
    with pytest.raises(DataError, match="'ND' in row 2, without a limit"):
        read({"y": ["1", "<2", "ND"]}, "y")
    with pytest.raises(SpecError, match=r"read\(\) takes detected values and non-detects"):
        read({"y": ["1", ">2"]}, "y")
    with pytest.raises(SpecError, match="A distribution function takes detected values"):
        plot_ecdf({"y": ["1", "3", ">2"]}, "y")
    with pytest.raises(DataError, match="'y' has no detected value in 2 rows"):
        upper_confidence_limit(["<1", "<2"])


def test_limits_count_rows_without_a_value():
    with pytest.warns(UserWarning, match="1 of 5 rows is dropped"):
        found = tolerance_limit([1.0, 2.0, 3.0, None, 4.0])
    assert found.notes == ("Left out: 1 row without a value.",)
    assert found.samples.loc["y", "n"] == 4


def test_rows_without_a_group_are_told_of():
    data = pd.DataFrame({"y": [0.5, 1, 0.2, 0.3, 0.4, 0.9, 1.2, 2, 0.5], "z": [*"aaaabbbb", None]})
    with pytest.warns(UserWarning, match="1 of 9 rows is dropped: missing values in 'z', the column of groups"):
        found = summary(data, "y", by="z", methods="km", bootstrap=200)
    assert [group.n for group in found.groups] == [4, 4]
