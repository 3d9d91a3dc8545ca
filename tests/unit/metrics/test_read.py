import numpy as np
import pandas as pd
import pytest

from tobitgp.errors import DataError, SpecError
from tobitgp.metrics.metric_arguments import check_order, read_bounds, read_column, read_event, read_survival


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float32", "Int64", "Float64", object])
def test_numbers_of_any_type_are_taken(dtype):
    column = pd.Series([1, 2, 3], dtype=dtype)
    found = read_column("x", column)
    assert found.dtype == np.float64
    assert found.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("values", [[1, pd.NA], [1.0, None], pd.Series([1, None], dtype="Int64"), [np.nan, 2.0]])
def test_what_is_missing_is_named(values):
    with pytest.raises(DataError, match="x is missing in row"):
        read_column("x", values)


@pytest.mark.parametrize("values", [[True, False], ["1", "2"], [1, "2"], pd.Series(["a"], dtype="category")])
def test_what_is_no_number_is_named(values):
    with pytest.raises(DataError, match=r"x holds .*: values must be numbers"):
        read_column("x", values)


@pytest.mark.parametrize("event", [[1, 0], [1.0, 0.0], [True, False], np.array([True, False], object)])
def test_events_of_any_type_are_taken(event):
    assert read_event(event, 2).tolist() == [True, False]


def test_structured_arrays_of_scikit_survival_are_taken():
    rows = np.array([(True, 2.0), (False, 3.0)], dtype=[("dead", bool), ("days", float)])
    time, event, *_ = read_survival("train", rows)
    assert (time.tolist(), event.tolist()) == ([2.0, 3.0], [True, False])
    turned = np.array([(2.0, True), (3.0, False)], dtype=[("days", float), ("dead", bool)])
    assert read_survival("train", turned)[0].tolist() == [2.0, 3.0]


def test_columns_of_a_frame_are_taken_as_a_pair():
    frame = pd.DataFrame({"time": [1.0, 2.0], "event": [1, 0]})
    assert read_survival("train", [frame["time"], frame["event"]])[1].tolist() == [True, False]
    with pytest.raises(SpecError, match=r'e.g. train=\(df\["time"\], df\["event"\]\)'):
        read_survival("train", frame)


def test_limits_beyond_all_rows_censor_none():
    low, high = read_bounds([1.0, 2.0], None, -5.0, [9.0, np.inf], 2)
    assert low.tolist() == high.tolist() == [1.0, 2.0]


def test_labels_that_differ_are_matched_by_position():
    check_order(a=pd.Series([1, 2], index=[0, 1]), b=pd.Series([1, 2], index=[1, 2]), c=[1, 2], d=None)
    check_order(a=pd.Series([1, 2], index=[0, 0]), b=pd.Series([1, 2], index=[0, 0]))
    with pytest.raises(DataError, match="a and c hold the same row labels in different orders"):
        check_order(a=pd.Series([1, 2]), b=np.ones(2), c=pd.DataFrame({"x": [1, 2]}, index=[1, 0]))
    check_order(a=pd.Series([1, 2], index=[0, "a"]), b=pd.Series([1, 2], index=["a", 1]))
