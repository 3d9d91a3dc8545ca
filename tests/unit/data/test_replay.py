"""What was learned in training is replayed on new data, whatever their order, rows and types."""

import copy
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest

from tobitgp.data.linear_columns import Independence, check_independence
from tobitgp.data.prepare import prepare
from tobitgp.errors import DataError, SpecError, UnseenLevelError
from tobitgp.formula import parse_formula

N = 40


@pytest.fixture
def frame():
    rng = np.random.default_rng(11)
    return pd.DataFrame(
        {
            "y": rng.normal(size=N),
            "x": rng.normal(size=N),
            "z": rng.uniform(1, 2, size=N),
            "a b": rng.normal(size=N),
            "log": rng.uniform(1, 2, size=N),
            "µ": rng.normal(size=N),
            "class": rng.integers(0, 3, size=N),
            "g": rng.permutation(np.resize(["a", "b", "c"], N)),
            "k": rng.permutation(np.resize([1, 2, 5], N)),
            "b": rng.permutation(np.resize([True, False], N)),
            "l": np.full(N, -9.0),
        }
    )


def ready(formula, data, **options):
    return prepare(parse_formula(formula, list(data)), data, **options)


def same(design, other, rows):
    assert design.columns == other.columns
    np.testing.assert_allclose(design.H, other.H[rows], rtol=0, atol=1e-13)
    np.testing.assert_array_equal(design.offset, other.offset[rows])
    assert len(design.X) == len(other.X)
    for X, X_other in zip(design.X, other.X, strict=True):
        np.testing.assert_array_equal(X, X_other[rows])


FORMULAS = {
    "1": ("Intercept",),
    "0 + gp(x)": (),
    "gp(x, log(z)) + gp(`a b`) + offset(z)": ("Intercept",),
    "z + x": ("Intercept", "z", "x"),
    "0 + z + `a b` + log": ("z", "a b", "log"),
    "b": ("Intercept", "b"),
    "g": ("Intercept", "g[T.b]", "g[T.c]"),
    "0 + g": ("g[a]", "g[b]", "g[c]"),
    "C(k)": ("Intercept", "C(k)[T.2]", "C(k)[T.5]"),
    "C(k, Treatment(2))": ("Intercept", "C(k, Treatment(2))[T.1]", "C(k, Treatment(2))[T.5]"),
    "C(k, Treatment)": ("Intercept", "C(k, Treatment)[T.2]", "C(k, Treatment)[T.5]"),
    "C(g, Sum)": ("Intercept", "C(g, Sum)[S.a]", "C(g, Sum)[S.b]"),
    "C(x > 0)": ("Intercept", "C(x > 0)[T.True]"),
    "I(g == 'a') + {x**2}": ("Intercept", "I(g == 'a')", "x ** 2"),
    "z:g": ("Intercept", "z:g[a]", "z:g[b]", "z:g[c]"),
    "z*x": ("Intercept", "z", "x", "z:x"),
    "(z + x + `a b`)**2 - z:x": ("Intercept", "z", "x", "a b", "z:a b", "x:a b"),
    "bs(z, df=4)": ("Intercept", *(f"bs(z, df=4)[{j}]" for j in (1, 2, 3, 4))),
    "`z` + I(`z` * z) + C(z > 1.5)": ("Intercept", "z", "I(z * z)", "C(z > 1.5)[T.True]"),
    "cs(z, df=3, constraints='center')": ("Intercept", *(f"cs(z, df=3, constraints='center')[{j}]" for j in (1, 2, 3))),
    "cr(z, df=3) - 1": tuple(f"cr(z, df=3)[{j}]" for j in (1, 2, 3)),
    "poly(z, 2) + scale(x) + center(log)": ("Intercept", "poly(z, 2)[1]", "poly(z, 2)[2]", "scale(x)", "center(`log`)"),
    "log(`log`) + `log` + exp(µ) + µ + `class`": ("Intercept", "log(`log`)", "log", "exp(`µ`)", "µ", "class"),
    "`a b`:g": ("Intercept", "a b:g[a]", "a b:g[b]", "a b:g[c]"),
}


@pytest.mark.parametrize("terms", FORMULAS)
def test_columns_and_replay_in_another_order(frame, terms):
    training = ready(f"y ~ {terms} | censor(l)", frame)
    assert sorted(training.design.columns) == sorted(FORMULAS[terms])
    assert training.design.H.dtype == np.float64
    assert training.design.H.flags.c_contiguous
    rows = np.random.default_rng(1).permutation(N)[:17]
    new = frame.iloc[rows].drop(columns=["y", "l"])
    before = new.copy(deep=True)
    design, usable = training.state.replay(new)
    assert usable.all()
    same(design, training.design, rows)
    one, _ = training.state.replay(new[:1])
    same(one, training.design, rows[:1])
    none, _ = training.state.replay(new[:0])
    same(none, training.design, rows[:0])
    pd.testing.assert_frame_equal(new, before)


@pytest.mark.parametrize("terms", FORMULAS)
def test_rows_with_missing_inputs_are_not_usable(frame, terms):
    training = ready(f"y ~ {terms}", frame)
    names = training.state.spec.names("linear", "gp", "offset")
    new = frame.copy()
    new["class"], new["b"], new["k"] = (
        new["class"].astype("Float64"),
        new["b"].astype("boolean"),
        new["k"].astype("Int64"),
    )
    for i, name in enumerate(names):
        new.loc[3 * i, name] = None
    design, usable = training.state.replay(new)
    assert np.flatnonzero(~usable).tolist() == [3 * i for i in range(len(names))]
    same(design, training.design, usable)
    if names:
        new[names[0]] = None
        design, usable = training.state.replay(new)
        assert not usable.any()
        assert design.H.shape == (0, len(training.design.columns))


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda state: pickle.loads(pickle.dumps(state))])
def test_states_can_be_copied(frame, copied):
    training = ready("y ~ C(k) + bs(z, df=4) + g:x + gp(x)", frame)
    same(copied(training.state).replay(frame)[0], training.design, np.arange(N))


def test_replay_of_training_data_kept_and_dropped(frame):
    frame.loc[[3, 8], "x"] = np.nan
    with pytest.warns(UserWarning, match="2 of 40"):
        training = ready("y ~ g + gp(x)", frame)
    design, usable = training.state.replay(frame)
    assert (usable == training.kept).all()
    same(design, training.design, np.arange(N - 2))


def test_plain_columns_agree_with_formulaic(frame):
    plain = ready("y ~ z + x + `a b`", frame)
    other = ready("y ~ I(z) + I(x) + I(`a b`)", frame)
    assert plain.state.linear.plain is not None
    assert other.state.linear.plain is None
    np.testing.assert_array_equal(plain.design.H, other.design.H)


@pytest.mark.parametrize("dtype", ["string", "category", object])
def test_text_of_any_type_is_the_same_factor(frame, dtype):
    expected = ready("y ~ g", frame)
    typed = frame.assign(g=frame["g"].astype(dtype))
    training = ready("y ~ g", typed)
    same(training.design, expected.design, np.arange(N))
    same(training.state.replay(frame[5:])[0], expected.design, np.arange(5, N))
    same(expected.state.replay(typed[5:])[0], expected.design, np.arange(5, N))


def test_order_of_categories_is_kept_and_unused_ones_go(frame):
    frame["g"] = pd.Categorical(frame["g"], categories=["c", "zz", "b", "a"])
    training = ready("y ~ g", frame)
    assert training.design.columns == ("Intercept", "g[T.b]", "g[T.a]")
    same(training.state.replay(frame.assign(g=frame["g"].astype(str)))[0], training.design, np.arange(N))


@pytest.mark.parametrize(
    ("terms", "column", "value", "words"),
    [
        (
            "g",
            "g",
            "d",
            r"Column 'g' has levels that were not seen in training: d \(in row 2\)\. The levels of training are a, b",
        ),
        ("0 + g:x", "g", "d", "not seen in training: d"),
        ("C(g, Sum)", "g", "d", "not seen in training: d"),
        (
            "C(k)",
            "k",
            7,
            r"C\(k\) has levels that were not seen in training: 7 \(in row 2\)\. The levels of training are 1, 2, 5",
        ),
        ("C(k + 1)", "k", 7, r"C\(k \+ 1\) .* 8 .* 2, 3, 6"),
    ],
)
def test_unseen_levels(frame, terms, column, value, words):
    training = ready(f"y ~ {terms}", frame)
    new = frame.copy()
    new.loc[2, column] = value
    with pytest.raises(UnseenLevelError, match=words):
        training.state.replay(new)
    new.loc[2, "x"] = np.nan
    if "x" in terms:
        assert not training.state.replay(new)[1][2]


def test_unseen_category_that_no_row_holds(frame):
    training = ready("y ~ g", frame)
    new = frame.assign(g=pd.Categorical(frame["g"], categories=["a", "b", "c", "d"]))
    same(training.state.replay(new)[0], training.design, np.arange(N))


@pytest.mark.parametrize(
    ("terms", "change", "error", "words"),
    [
        ("z + gp(x)", {"x": ["a"] * N}, DataError, "'x' held numbers in training and holds text now"),
        ("z", {"z": ["a"] * N}, DataError, "'z' held numbers in training and holds text now"),
        ("g", {"g": range(N)}, DataError, "'g' held text in training and holds numbers now"),
        ("C(k)", {"k": ["1"] * N}, DataError, "'k' held numbers"),
        ("gp(x)", {"x": [np.inf] * N}, DataError, "'x' is not a finite number in rows 0, 1"),
        ("gp(log(z))", {"z": [-1.0] * N}, DataError, "input log.z. of gp.log.z.. is not a finite number"),
        ("gp(x)", {"x": pd.date_range("2020", periods=N)}, DataError, "dates"),
        ("bs(z, df=4)", {"z": np.full(N, 9.0)}, DataError, "extrapolation='extend'"),
    ],
)
def test_new_data_of_another_kind(frame, terms, change, error, words):
    training = ready(f"y ~ {terms}", frame)
    with pytest.raises(error, match=words):
        training.state.replay(frame.assign(**change))


def test_new_data_that_lack_a_column(frame):
    training = ready("y ~ z + gp(x)", frame)
    with pytest.raises(DataError, match="lack the columns 'z', 'x'; did you mean 'zz'"):
        training.state.replay(frame[["y"]].assign(zz=1))
    with pytest.raises(DataError, match="DataFrame or a dict"):
        training.state.replay([1, 2])


def test_columns_that_the_model_uses_are_not_offered_for_others(frame):
    training = ready("y ~ x1 + x2", frame.assign(x1=frame["x"], x2=frame["z"]))
    with pytest.raises(DataError, match=r"lack the column 'x1'\.$"):
        training.state.replay(frame[["y"]].assign(x2=1.0))
    with pytest.raises(DataError, match=r"lack the column 'x1'; did you mean 'X_1'\?$"):
        training.state.replay(frame[["y"]].assign(x2=1.0, X_1=1.0, x10=1.0))


def test_new_data_as_a_dict(frame):
    training = ready("y ~ g + gp(x)", frame)
    design, usable = training.state.replay({"g": ["c", None, "a"], "x": [1, 2, None]})
    assert usable.tolist() == [True, False, False]
    assert design.H.tolist() == [[1.0, 0.0, 1.0]]
    assert ready("y ~ 1", frame).state.replay({"x": [1, 2]})[0].H.tolist() == [[1.0], [1.0]]


def test_a_factor_of_one_level_warns(frame):
    frame["g"] = "a"
    with pytest.warns(UserWarning, match="'g' has only the level 'a'"):
        training = ready("y ~ x + g", frame)
    assert training.design.columns == ("Intercept", "x")
    same(training.state.replay(frame)[0], training.design, np.arange(N))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ready("y ~ 0 + g", frame).design.columns == ("g[a]",)


def test_limits_are_replayed(frame):
    state = ready("y ~ gp(x) | censor(-8, inf)", frame).state
    lower, upper = state.limits(frame[["x"]][:3])
    assert (lower.tolist(), upper.tolist()) == ([-8.0] * 3, [np.inf] * 3)
    state = ready("y ~ gp(x)", frame).state
    lower, upper = state.limits(frame[:2])
    assert (lower.tolist(), upper.tolist()) == ([-np.inf] * 2, [np.inf] * 2)


def test_limits_that_are_columns_must_be_there(frame):
    state = ready("y ~ gp(x) | censor(2 * l)", frame).state
    new = frame.assign(l=np.arange(N, dtype=float))
    assert state.limits(new)[0].tolist() == (2.0 * np.arange(N)).tolist()
    with pytest.raises(SpecError, match="Add 'l' to the new data"):
        state.limits(frame[["x"]])
    new.loc[4, "l"] = np.nan
    with pytest.raises(DataError, match="missing in row 4"):
        state.limits(new)
    assert len(state.limits(new, np.arange(N) != 4)[0]) == N - 1


@pytest.mark.parametrize("formula", ["Surv(z, b) ~ x", "y ~ x | censor(event=b)"])
def test_unknown_limits(frame, formula):
    with pytest.raises(SpecError, match="limits are unknown"):
        ready(formula, frame).state.limits(frame)


def check_rank(H, columns):
    check_independence(Independence.of(H), columns)


def test_rank_does_not_depend_on_scale():
    rng = np.random.default_rng(3)
    H = np.column_stack([np.ones(50), rng.normal(size=(50, 3))]) * [1.0, 1e-12, 1e12, 1.0]
    check_rank(H, ("Intercept", "a", "b", "c"))
    check_rank(np.column_stack([np.ones(50), 1.6e9 + rng.uniform(size=50)]), ("Intercept", "epoch"))
    with pytest.raises(DataError, match="'d' of the linear part is determined by 'a', 'b'"):
        check_rank(np.column_stack([H, H[:, 1] * 1e12 + H[:, 2] * 1e-12]), ("Intercept", "a", "b", "c", "d"))
