import numpy as np
import pandas as pd
import pytest

from tobitgp.data.row_warnings import in_common

FRAME = pd.DataFrame(
    {
        "z": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6],
        "g": pd.Categorical(list("aabbcd")),
        "w": [1, 1, 0, 0, 0, 0],
        "day": pd.to_datetime(["2020-01-01"] * 5 + ["2020-01-02"]),
        "name": ["u", "v", "u", "v", "u", "v"],
    }
)


@pytest.mark.parametrize(
    ("rows", "columns", "words"),
    [
        ([2, 3], "zg", "of level 'b' of 'g'"),
        ([2, 3, 4], ["g", "w"], "of levels 'b', 'c' of 'g'"),
        ([0, 1], "zw", "with 'w' = 1"),
        ([2, 3, 4, 5], ["w"], "with 'w' = 0"),
        ([0, 1, 2, 3, 4], ["day"], "with 'day' = 2020-01-01 00:00:00"),
        ([0, 2, 4], ["w", "name"], "of level 'u' of 'name'"),
        ([1, 2], ["g", "w", "name"], None),
        ([3], ["z"], None),
    ],
)
def test_words_for_rows(rows, columns, words):
    assert in_common(FRAME[list(columns)], np.isin(np.arange(6), rows)) == words


def test_no_rows_have_nothing_in_common():
    assert in_common(FRAME, np.zeros(6, dtype=bool)) is None
