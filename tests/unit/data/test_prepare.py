"""From a formula and a frame to arrays: censoring, missing values, weights, bad input."""

import contextlib
import copy
import time

import numpy as np
import pandas as pd
import pytest

from tobitgp.data.prepare import prepare
from tobitgp.errors import DataError, FormulaError, SpecError
from tobitgp.formula import parse_formula

N = 12


@pytest.fixture
def frame():
    rng = np.random.default_rng(7)
    y = np.array([-2.0, -1.0, -0.5, 0.0, 0.1, 0.4, 0.6, 0.9, 1.0, 1.5, 2.0, 0.3])
    return pd.DataFrame(
        {
            "y": y,
            "time": np.exp(y),
            "x": rng.normal(size=N),
            "z": rng.uniform(1, 2, size=N),
            "a b": rng.normal(size=N),
            "g": list("abcabcabcabc"),
            "d": [0, 1] * 6,
            "lower": -1.0,
            "upper": 1.0,
            "w": [1.0, 2.0, 3.0] * 4,
        },
        index=[f"row{i}" for i in range(N)],
    )


def ready(formula, data, **options):
    return prepare(parse_formula(formula, list(data)), data, **options)


def test_limits(frame):
    with pytest.warns(UserWarning, match="3 values are beyond the limits .rows row0, row9, row10."):
        training = ready("y ~ gp(x) | censor(lower, 1)", frame)
    response = training.response
    assert training.counts == {"exact": 7, "left": 2, "right": 3, "interval": 0, "dropped": 0}
    assert response.lower[[0, 1, 2, 8, 9]].tolist() == [-np.inf, -np.inf, -0.5, 1.0, 1.0]
    assert response.upper[[0, 1, 2, 8, 9]].tolist() == [-1.0, -1.0, -0.5, np.inf, np.inf]
    assert set(response.limit_lower) == {-1.0}
    assert set(response.limit_upper) == {1.0}
    assert set(response.entry) == {-np.inf}
    assert set(response.exit) == {np.inf}
    assert set(response.weight) == {1.0}


@pytest.mark.parametrize(
    ("part", "left", "right"),
    [
        ("censor(-2)", 1, 0),
        ("censor(upper=2)", 0, 1),
        ("censor(None, 2)", 0, 1),
        ("censor(-2, 2)", 1, 1),
        ("censor(-inf, inf)", 0, 0),
        ("censor(None)", 0, 0),
        ("censor(2 * lower, upper * 2)", 1, 1),
    ],
)
def test_ways_to_write_limits(frame, part, left, right):
    counts = ready(f"y ~ gp(x) | {part}", frame).counts
    assert (counts["left"], counts["right"]) == (left, right)


@pytest.mark.parametrize(("off", "left"), [(1e-15, 2), (-1e-15, 2), (1e-12, 1)])
def test_a_value_stands_at_its_limit_within_rounding(frame, off, left):
    frame["y"] = np.maximum(frame["y"], -1.0)
    frame.loc["row0", "y"] = -1.0 + off
    assert ready("y ~ gp(x) | censor(-1)", frame).counts["left"] == left


def test_limits_are_on_the_scale_of_the_response(frame):
    frame["l"] = frame["time"].min()
    response = ready("log(time) ~ gp(x) | censor(log(l))", frame).response
    assert response.upper[0] == -2.0
    assert response.lower[0] == -np.inf


@pytest.mark.parametrize(
    "formula", ["y ~ gp(x) | censor(event=d)", "Surv(y + 2, d) ~ gp(x)", "Surv(time, d == 1) ~ x", "Surv(time, b) ~ x"]
)
def test_event_indicators(frame, formula):
    frame["b"] = frame["d"] == 1
    training = ready(formula, frame)
    assert training.counts == {"exact": 6, "left": 0, "right": 6, "interval": 0, "dropped": 0}
    assert np.isposinf(training.response.upper[0::2]).all()
    assert (training.response.upper[1::2] == training.response.lower[1::2]).all()
    assert np.isfinite(training.response.lower).all()
    assert np.isnan(training.response.limit_lower).all()
    assert np.isnan(training.response.limit_upper).all()


def test_events_by_the_text_of_a_column(frame):
    frame["status"] = ["dead", "alive"] * 6
    assert ready("Surv(time, status == 'dead') ~ x", frame).counts["exact"] == 6


def test_censored_rows_left_out_or_taken_as_exact(frame):
    frame["y"] = frame["y"].clip(-1, 1)
    formula = "y ~ z + gp(x) | censor(-1, 1)"
    modelled, dropped, ignored = (ready(formula, frame, censored=how) for how in ("model", "drop", "ignore"))
    assert modelled.counts == dropped.counts == ignored.counts
    exact = modelled.response.lower == modelled.response.upper
    assert (dropped.kept == exact).all()
    assert dropped.response.lower.tolist() == modelled.response.lower[exact].tolist()
    assert dropped.response.limit_lower.tolist() == [-1.0] * exact.sum()
    np.testing.assert_array_equal(dropped.design.H, modelled.design.H[exact])
    assert ignored.response.lower.tolist() == ignored.response.upper.tolist() == frame["y"].tolist()


def test_rows_with_missing_values_are_dropped_together(frame):
    frame.loc["row1", "x"] = np.nan
    frame.loc["row2", "y"] = np.nan
    frame.loc["row2", "g"] = None
    frame.loc["row3", "d"] = -999
    with pytest.warns(
        UserWarning, match=r"2 of 12 rows are dropped: missing values in 'y' \(1\), 'g' \(1\), 'x' \(1\)"
    ):
        training = ready("y ~ g + gp(x) | censor(-2)", frame, weights="w")
    assert training.counts["dropped"] == 2
    assert training.kept.tolist() == [True, False, False] + [True] * 9
    assert training.index.equals(frame.index)
    assert training.response.weight.tolist() == frame["w"][training.kept].tolist()
    assert training.design.X[0][:, 0].tolist() == frame["x"][training.kept].tolist()
    with pytest.raises(DataError, match="first in rows row1, row2"):
        ready("y ~ g + gp(x)", frame, missing="raise")


def test_columns_that_the_model_does_not_use_may_be_anything(frame):
    frame["other"] = np.nan
    frame["when"] = pd.date_range("2020", periods=N)
    frame[3] = [object()] * N
    frame[("a", 1)] = 0
    assert ready("y ~ z - other + gp(x)", frame).counts["dropped"] == 0


def test_weights(frame):
    weights = np.arange(N, dtype=float)
    training = ready("y ~ gp(x)", frame, weights=weights)
    assert training.response.weight.tolist() == weights[1:].tolist()
    assert training.counts["dropped"] == 1
    for bad in (-1.0, np.inf):
        weights[3] = bad
        with pytest.raises(DataError, match="negative, missing or infinite in row 3"):
            ready("y ~ gp(x)", frame, weights=weights)
    with pytest.raises(DataError, match="The weights have 11 values for 12 rows"):
        ready("y ~ gp(x)", frame, weights=np.ones(11))
    with pytest.raises(DataError, match="no column 'ww'"):
        ready("y ~ gp(x)", frame, weights="ww")
    with pytest.raises(DataError, match="hold text"):
        ready("y ~ gp(x)", frame, weights="g")


# column to overwrite, its values (one is put into row4, several make the column), formula, words of the error
BAD = [
    ("y", np.inf, "y ~ gp(x)", "response y is not a finite number in row row4"),
    ("y", -1.0, "log(y) ~ gp(x)", "response log(y) is not a finite number"),
    ("y", [True, False] * 6, "y ~ gp(x)", "True and False"),
    ("y", [1j] * N, "y ~ gp(x)", "complex"),
    ("y", ["<0.5"] * N, "log(y) ~ gp(x)", "family='lognormal'"),
    ("y", ["<0.5", "n.d."] * 6, "y ~ gp(x)", "'n.d.' in rows row1, row3"),
    ("y", ["0.5"] * N, "y ~ gp(x) | censor(0)", "must be numeric but holds text"),
    ("time", -1.0, "Surv(time, d) ~ gp(x)", "negative in row row4"),
    ("x", np.inf, "y ~ gp(x)", "Column 'x' is not a finite number in row row4"),
    ("x", np.inf, "y ~ x", "Column 'x' is not a finite number in row row4"),
    ("x", -np.inf, "y ~ gp(exp(x))", "Column 'x' is not a finite number in row row4"),
    ("z", -1.0, "y ~ gp(log(z))", "log(z) of gp(log(z)) is not a finite number in row row4"),
    ("z", -1.0, "y ~ log(z)", "log(z) of the linear part is not a finite number in row row4"),
    ("z", 0.0, "y ~ offset(1/z)", "offset(1/z) is not a finite number in row row4"),
    ("x", ["a"] * N, "y ~ gp(x)", "'x' must be numeric but holds text"),
    ("x", ["a"] * N, "y ~ offset(x)", "'x' must be numeric but holds text"),
    ("x", pd.Series([1] * N, dtype=object), "y ~ x", "pd.to_numeric"),
    ("lower", np.nan, "y ~ gp(x) | censor(lower)", "lower limit lower is missing in row row4"),
    ("lower", -1.0, "y ~ gp(x) | censor(log(lower))", "missing in rows row0"),
    ("lower", np.inf, "y ~ gp(x) | censor(lower)", "is inf in row row4"),
    ("upper", -np.inf, "y ~ gp(x) | censor(lower, upper)", "is -inf in row row4"),
    ("lower", 3.0, "y ~ gp(x) | censor(lower, upper)", "above the upper limit in row row4 (3 and 1)"),
    ("lower", 1.0, "y ~ gp(x) | censor(lower, upper)", "equal to the upper limit in row row4"),
    ("lower", 3.0, "y ~ gp(x) | censor(1, 0)", "rows row0, row1, row2, row3, row4 and 7 more"),
    ("lower", 3.0, "y ~ gp(x) | censor(0, 0)", "equal"),
    ("lower", 3.0, "y ~ gp(x) | censor(inf)", "Write -inf for no lower limit"),
    ("lower", ["a"] * N, "y ~ gp(x) | censor(lower)", "'lower' must be numeric but holds text"),
    ("d", 2, "y ~ gp(x) | censor(event=d)", "censor(event=d == 2)"),
    ("d", [1, 2] * 6, "Surv(time, d) ~ gp(x)", "Surv(time, d == 2)"),
    ("d", ["no", "yes"] * 6, "Surv(time, d) ~ gp(x)", "d == 'yes'"),
    ("x", 1.0, "y ~ lower", "'lower' of the linear part is constant"),
    ("x", 1.0, "y ~ z + I(2 * z)", "'I(2 * z)' of the linear part is determined by 'z'"),
    ("x", 1.0, "y ~ z + x + I(x + z - 1)", "determined by 'Intercept', 'z', 'x'"),
    ("x", 1.0, "y ~ cr(z, df=3)", "constraints='center'"),
    ("x", 1.0, "y ~ (x - x) / C(g)", "cannot be computed"),
    ("x", [0] * N, "y ~ 0 + x", "'x' of the linear part is 0 in every row"),
    ("x", list(range(N)), "y ~ C(x)*z", "24 columns, but there are only 12 rows"),
    ("Intercept", list(range(N)), "y ~ Intercept", "called 'Intercept'"),
]


@pytest.mark.parametrize(("column", "values", "formula", "words"), BAD)
def test_bad_input_is_named(frame, column, values, formula, words):
    if np.ndim(values):
        frame[column] = getattr(values, "values", values)
    else:
        frame[column] = frame[column].astype(float)
        frame.loc["row4", column] = values
    before = frame.copy(deep=True)
    with pytest.raises(DataError) as caught:
        ready(formula, frame)
    assert words in str(caught.value)
    pd.testing.assert_frame_equal(frame, before)


def test_unknown_columns_are_found(frame):
    with pytest.raises(FormulaError, match="did you mean 'x'") as caught:
        ready("y ~ z + gp(xx)", frame)
    assert caught.value.position == 11


def test_nothing_to_fit(frame):
    with pytest.raises(DataError, match="no rows"):
        ready("y ~ gp(x)", frame[:0])
    empty = frame.assign(x=np.nan)
    with pytest.raises(DataError, match=r"No row is left: missing values in 'x' \(12\)"):
        ready("y ~ gp(x)", empty)
    with pytest.raises(DataError, match=r"No row is left: all 12 have weight 0\. Give"):
        ready("y ~ gp(x)", frame, weights=np.zeros(N))
    with pytest.raises(DataError, match=r"missing values in 'x' \(7\), and 5 rows of weight 0\.$"):
        ready("y ~ gp(x)", empty, weights=np.r_[np.zeros(5), np.ones(N - 5)])
    with pytest.raises(DataError, match="all 12 are censored"):
        ready("y ~ gp(x) | censor(2)", frame.assign(y=2.0), censored="drop")


def test_unknown_options(frame):
    with pytest.raises(SpecError, match="'drop', 'raise'"):
        ready("y ~ gp(x)", frame, missing="ignore")
    with pytest.raises(SpecError, match="'model', 'drop', 'ignore'"):
        ready("y ~ gp(x)", frame, censored="keep")


def test_data_are_never_modified(frame):
    frame.loc["row1", "x"] = np.nan
    frame["y"] = frame["y"].clip(-1, 1)
    before = frame.copy(deep=True)
    for formula in ("y ~ C(g) + bs(z, df=4) + gp(x) + offset(z) | censor(lower, upper)", "y ~ z + gp(z) | censor(-1)"):
        with (
            pytest.warns(UserWarning, match="1 of 12 rows is dropped")
            if "gp(x)" in formula
            else contextlib.nullcontext()
        ):
            training = ready(formula, frame, weights="w")
        for array in (training.design.H, *training.design.X, training.design.offset, training.response.limit_lower):
            array[:] = 99.0
        training.response.lower[:] = training.response.weight[:] = 99.0
    pd.testing.assert_frame_equal(frame, before)


def test_dicts_are_never_modified():
    data = {"y": np.arange(5.0), "x": np.arange(5.0) ** 2, "g": ["a", "b", "a", "b", "a"]}
    before = copy.deepcopy(data)
    training = ready("y ~ g + x + gp(x) | censor(0)", data, weights=data["x"])
    training.design.H[:] = training.design.X[0][:] = training.response.lower[:] = training.response.weight[:] = 9
    for name in data:
        np.testing.assert_array_equal(data[name], before[name])


@pytest.mark.parametrize(
    "index", [[0] * N, pd.MultiIndex.from_product([[1, 2], range(6)]), pd.date_range("2020", periods=N)[::-1]]
)
def test_any_index_will_do(frame, index):
    expected = ready("y ~ C(g) + gp(x)", frame)
    frame.index = index
    training = ready("y ~ C(g) + gp(x)", frame)
    assert training.index.equals(frame.index)
    np.testing.assert_array_equal(training.design.H, expected.design.H)


@pytest.mark.parametrize("n", [1, 2])
def test_few_rows(frame, n):
    training = ready("y ~ gp(x) | censor(-3)", frame[:n])
    assert training.design.H.tolist() == [[1.0]] * n


def test_small_problems_are_prepared_at_once(frame):
    def once():
        start = time.perf_counter()
        ready("y ~ gp(x) | censor(-3)", frame)
        return time.perf_counter() - start

    assert min(once() for _ in range(20)) < 0.05


@pytest.mark.parametrize("formula", ["interval(lo, hi) ~ x", "Surv(t, d) ~ x", "t ~ x | censor(upper=cap)"])
def test_rows_that_say_nothing_of_a_time_are_dropped(frame, formula):
    """It is positive: that it lies above 0, or above less, adds nothing to what is known."""
    data = frame.assign(lo=frame["time"], hi=frame["time"], t=frame["time"], cap=np.inf)
    data.loc[["row2", "row6"], ["lo", "hi", "t", "d", "cap"]] = [0.0, np.inf, 0.0, 0, 0.0]
    data.loc["row6", "lo"] = -1.0
    with pytest.warns(
        UserWarning, match=r"2 rows have no information about a positive response \(rows row2, row6\).*dropped"
    ):
        training = ready(formula, data, log_time=True)
    assert training.counts["dropped"] == 2
    assert sum(training.counts.values()) == N
    assert list(np.flatnonzero(~training.kept)) == [2, 6]
    assert len(training.response.lower) == N - 2
    assert ready(formula, data).counts["dropped"] == 0
    with pytest.raises(DataError, match="rows row2, row6"):
        ready(formula, data, log_time=True, missing="raise")


def test_no_row_that_says_anything_of_a_time(frame):
    with pytest.raises(DataError, match="No row is left: 12 rows have no information"):
        ready("interval(zero, d) ~ x", frame.assign(zero=0.0, d=np.inf), log_time=True)
