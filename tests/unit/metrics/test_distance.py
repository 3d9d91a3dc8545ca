import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import mean_absolute_error, mean_squared_error

import tobitgp as tg
from tobitgp.errors import DataError, SpecError
from tobitgp.metrics import mae, mse, rmse

THEIRS = {
    mae: mean_absolute_error,
    mse: mean_squared_error,
    rmse: lambda y, p: mean_squared_error(y, p) ** 0.5,
}
EACH = pytest.mark.parametrize("metric", THEIRS, ids=lambda metric: metric.__name__)


@EACH
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 40))
def test_whole_and_parts_are_those_of_scikit_learn(metric, seed, n):
    rng = np.random.default_rng(seed)
    y, prediction = rng.normal(size=n), rng.normal(size=n)
    assert abs(metric(y, prediction) - THEIRS[metric](y, prediction)) < 1e-12
    found = metric(y, prediction, stratify=(-0.5, 0.5))
    parts = {"all": y == y, "below": y <= -0.5, "inside": abs(y) < 0.5, "above": y >= 0.5}
    assert found.index.tolist() == list(parts)
    assert found.name == metric.__name__
    for name, rows in parts.items():
        want = THEIRS[metric](y[rows], prediction[rows]) if rows.any() else np.nan
        np.testing.assert_allclose(found[name], want, rtol=1e-12)


@pytest.mark.parametrize("metric", [mae, mse])
def test_contributions_add_up(metric, rng):
    y, prediction = rng.normal(size=50), rng.normal(size=50)
    found = metric(y, prediction, stratify=(-0.5, 9.0), contributions=True)
    assert abs(found[1:].sum() - found["all"]) < 1e-12
    assert found["above"] == 0.0


@EACH
def test_labels_and_open_limits(metric):
    y, prediction = np.array([0.0, 1.0, 2.0]), np.array([0.0, 2.0, 4.0])
    assert metric(y, prediction, stratify=["b", "a", "a"]).index.tolist() == ["all", "a", "b"]
    assert metric(y, prediction, stratify=y > 0.5).index.tolist() == ["all", False, True]
    assert metric(y, prediction, stratify=(0.0, None)).index.tolist() == ["all", "below", "inside"]
    assert metric(y, prediction, stratify=(-np.inf, [1.0, 1.0, 3.0])).index.tolist() == ["all", "inside", "above"]


@EACH
def test_tables_of_predictions_are_read(metric):
    tobin = tg.datasets.load("tobin")
    res = tg.fit("durable ~ age | censor(0)", tobin)
    want = metric(tobin["durable"], res.predict(what="uncensored"))
    assert metric(tobin["durable"], res.predict(what="uncensored", se=True)) == want
    assert abs(metric(tobin["durable"], res.get_prediction().summary_frame()) - want) < 1e-12


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"prediction": [1.0]}, DataError, "prediction has 1 rows, but must have 3"),
        ({"prediction": [1.0, np.nan, 2.0]}, DataError, "prediction is missing in row 1"),
        ({"prediction": [1.0, np.inf, 2.0]}, DataError, "prediction is infinite in row 1"),
        (
            {"prediction": pd.DataFrame({"a": [1, 2, 3], "b": 0})},
            SpecError,
            "a table of columns a, b. It must have one column",
        ),
        ({"y": []}, DataError, "y is empty"),
        (
            {"stratify": "censored"},
            SpecError,
            "stratify='censored': must be a tuple of two limits, or one label per row",
        ),
        ({"stratify": True}, SpecError, "stratify=True: must be a tuple"),
        ({"stratify": (1.0, 2.0, 3.0)}, SpecError, "a tuple of two limits, .* not of 3"),
        ({"stratify": (None, None)}, SpecError, "at least one limit"),
        ({"stratify": (2.0, 1.0)}, DataError, "limit lower is not below upper"),
        ({"stratify": ["a", "b"]}, DataError, "stratify= has 2 labels, but must have 3"),
        ({"stratify": ["a", None, "b"]}, DataError, "stratify= is missing in row 1"),
    ],
)
@EACH
def test_bad_input_is_named(metric, given, error, message):
    with pytest.raises(error, match=message):
        metric(**({"y": [1.0, 2.0, 3.0], "prediction": [1.0, 2.0, 3.0]} | given))
