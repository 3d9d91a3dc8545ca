import bz2
import gzip
import lzma

import numpy as np
import pytest
from support.datasets import save_as_r

from tobitgp.datasets.downloads import read_saved, sample


def test_a_saved_data_frame_is_read():
    columns = {
        "site": ["a", None, "é"],
        "day": [1.5, float("nan"), -2.0],
        "flag": [True, False, True],
        "x": [0.0, 1.0, 2.0],
    }
    (name, frame), *others = read_saved(save_as_r("data.frame.1", columns)).items()
    assert (name, others, list(frame)) == ("data.frame.1", [], list(columns))
    assert frame["site"] == ["a", None, "é"]
    assert frame["flag"].tolist() == [1, 0, 1]
    for column in ("day", "x"):
        np.testing.assert_array_equal(frame[column], columns[column])


def test_an_older_version_packed_with_xz_is_read():
    saved = gzip.decompress(save_as_r("x", {"y": [1.0, 2.0]}))
    encoding = int.from_bytes(saved[19:23], "big")
    older = b"RDX2" + saved[4:19] + saved[23 + encoding :]
    assert read_saved(lzma.compress(older))["x"]["y"].tolist() == [1.0, 2.0]


def test_slots_of_an_object_packed_with_bzip2_are_read():
    """An object of an S4 class is its attributes: type 25 without a body instead of the data frame's two columns."""
    saved = gzip.decompress(save_as_r("x", {"data": [1.0, 2.0]}))
    frame = (19 | 768).to_bytes(4, "big") + (1).to_bytes(4, "big")
    head, body = saved.split(frame)
    pair, symbol, end = ((2 | 1024).to_bytes(4, "big"), (1).to_bytes(4, "big"), (254).to_bytes(4, "big"))
    name = (9 | 64 << 12).to_bytes(4, "big") + (5).to_bytes(4, "big") + b"table"
    slots = (25 | 256 | 512 | 1 << 16).to_bytes(4, "big") + pair + symbol + name + frame + body[:-4] + end
    packed = bz2.compress(head + slots + end)
    found = read_saved(packed)["x"]
    assert list(found) == ["table"]
    assert found["table"]["data"].tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"RDX1\nX\n" + bytes(99), "version 2 or 3"),
        (b"RDX3\nX\n" + bytes(16) + (238).to_bytes(4, "big") + bytes(4), "type 238 has no reader"),
    ],
    ids=["older version", "unknown type"],
)
def test_other_files_are_refused(content, message):
    with pytest.raises(ValueError, match=message):
        read_saved(gzip.compress(content))


@pytest.mark.parametrize(
    ("seed", "rows", "size", "drawn"),
    [(123, 10, 10, [3, 10, 2, 8, 6, 9, 1, 7, 5, 4]), (42, 100, 5, [49, 65, 25, 74, 18])],
)
def test_rows_are_those_that_r_draws(seed, rows, size, drawn):
    """What R 3.6 and later print for ``set.seed(seed); sample(rows, size)``."""
    assert [row + 1 for row in sample(seed, rows, size)] == drawn


def test_no_row_is_drawn_twice():
    assert sorted(sample(1, 5000, 5000)) == list(range(5000))
