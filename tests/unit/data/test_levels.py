"""Levels of by= and re(), and the codes of rows in training and on new data."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest

from tobitgp.data.prepare import prepare
from tobitgp.errors import DataError, FormulaError, SpecError, UnseenLevelError
from tobitgp.formula import parse_formula

N = 24


@pytest.fixture
def frame():
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "y": rng.normal(size=N),
            "x": rng.normal(size=N),
            "z": rng.uniform(1, 2, size=N),
            "g": rng.permutation(np.resize(["b", "a", "c"], N)),
            "k": rng.permutation(np.resize([5, 1, 2], N)),
            "half": rng.permutation(np.resize([0.5, 1.0], N)),
            "flag": rng.permutation(np.resize([True, False], N)),
            "id": np.arange(N) * 7,
            "when": pd.date_range("2020-01-01", periods=N),
        }
    )


def ready(terms, data):
    return prepare(parse_formula(f"y ~ {terms}", list(data)), data)


@pytest.mark.parametrize(
    ("term", "levels"),
    [
        ("re(g)", ("a", "b", "c")),
        ("gp(x, by=g)", ("a", "b", "c")),
        ("gp(x):C(g)", ("a", "b", "c")),
        ("gp(x, by=k)", (1, 2, 5)),
        ("re(k)", (1, 2, 5)),
        ("gp(x, by=half)", (0.5, 1)),
        ("gp(x, by=flag)", (False, True)),
        ("re(id)", tuple(range(0, 7 * N, 7))),
    ],
)
def test_levels_and_codes(frame, term, levels):
    training = ready(term, frame)
    (group,) = training.design.groups
    assert training.state.group_levels == (levels,)
    assert tuple(json.loads(json.dumps(levels))) == levels
    assert (group.size, group.code.dtype) == (len(levels), np.intp)
    column = training.state.spec.names("by", "re")[0]
    assert [levels[code] for code in group.code] == frame[column].tolist()


def test_processes_without_a_group_have_none(frame):
    training = ready("gp(x) + re(g) + gp(z, by=k)", frame)
    assert training.design.groups[0] is None
    assert training.state.group_levels == (None, ("a", "b", "c"), (1, 2, 5))
    assert [X.shape for X in training.design.X] == [(N, 1), (N, 0), (N, 1)]


def test_categories_keep_their_order_and_drop_what_does_not_occur(frame):
    frame["g"] = pd.Categorical(frame["g"], categories=["c", "z", "a", "b"])
    training = ready("gp(x, by=g)", frame)
    assert training.state.group_levels == (("c", "a", "b"),)
    frame["g"] = pd.cut(frame["x"], [-9, 0, 9])
    assert ready("re(g)", frame).state.group_levels == (("(-9, 0]", "(0, 9]"),)


@pytest.mark.parametrize("term", ["re(g)", "gp(x, by=g)", "z:gp(x):C(k)", "re(k)", "gp(x, by=flag)", "g + re(g)"])
def test_replay_in_another_order(frame, term):
    training = ready(term, frame)
    state = pickle.loads(pickle.dumps(training.state))
    rows = np.random.default_rng(1).permutation(N)[:9]
    design, usable = state.replay(frame.iloc[rows].drop(columns="y"))
    assert usable.all()
    for part, other in zip(design.groups, training.design.groups, strict=True):
        assert part.size == other.size
        np.testing.assert_array_equal(part.code, other.code[rows])
    for X, other in zip(design.X, training.design.X, strict=True):
        np.testing.assert_array_equal(X, other[rows])
    assert state.replay(frame[:0])[0].groups[0].code.shape == (0,)


@pytest.mark.parametrize(("column", "new"), [("g", ["zz", "a", "q", "zz"]), ("k", [9, 1, 8.5, 9])])
def test_unseen_groups_of_a_random_intercept(frame, column, new):
    training = ready(f"re({column})", frame)
    design, _ = training.state.replay({column: new})
    code = design.groups[0].code
    assert code[1] == 0
    assert code[0] == code[3]
    assert {code[0], code[2]} == {-1, -2}
    assert design.groups[0].size == 3


@pytest.mark.parametrize(("column", "new", "level"), [("g", "zz", "zz"), ("k", 9, "9"), ("flag", 2, "2")])
def test_unseen_levels_of_curves_are_refused(frame, column, new, level):
    training = ready(f"gp(x, by={column})", frame)
    data = {"x": [0.0, 1.0], column: [type(new)(frame[column][0]), new]}
    with pytest.raises(UnseenLevelError, match=rf"{column}.*training: {level} .in row 1.. The levels of training are"):
        training.state.replay(data)


def test_unseen_levels_stay_an_error_where_the_column_is_linear_too(frame):
    with pytest.raises(UnseenLevelError, match="zz"):
        ready("g + re(g)", frame).state.replay({"g": ["zz"]})


@pytest.mark.parametrize("term", ["{}", "re({})", "gp(x, by={})"])
@pytest.mark.parametrize("new", [["1"], pd.Categorical(["1"])])
def test_categories_of_numbers_are_not_text(frame, term, new):
    state = ready(term.format("k"), frame.assign(k=pd.Categorical(frame["k"]))).state
    with pytest.raises(DataError, match=r"'k' held numbers in training and holds text now\. Convert it to numbers"):
        state.replay({"x": [0.0], "k": new})


@pytest.mark.parametrize("term", ["re({})", "gp(x, by={})"])
def test_numbers_and_text_are_not_mixed_up(frame, term):
    with pytest.raises(DataError, match="'k' held numbers in training and holds text now"):
        ready(term.format("k"), frame).state.replay({"x": [0.0], "k": ["1"]})
    with pytest.raises(DataError, match="'g' held text in training and holds numbers now"):
        ready(term.format("g"), frame).state.replay({"x": [0.0], "g": [1]})


def test_categories_that_are_numbers_match_numbers(frame):
    training = ready("re(k)", frame.assign(k=pd.Categorical(frame["k"])))
    assert training.state.group_levels == ((1, 2, 5),)
    assert training.state.replay({"k": [5, 1]})[0].groups[0].code.tolist() == [2, 0]


def test_whole_numbers_match_whatever_their_type(frame):
    training = ready("gp(x, by=flag) + re(k)", frame)
    design, _ = training.state.replay({"x": [0.0, 0.0], "flag": [1, 0], "k": np.array([2.0, 5.0], dtype=np.float32)})
    assert [group.code.tolist() for group in design.groups] == [[1, 0], [1, 2]]


def test_rows_without_a_group_are_not_used(frame):
    frame.loc[[2, 5], "g"] = None
    with pytest.warns(UserWarning, match=r"missing values in 'g' \(2\)"):
        training = ready("re(g)", frame)
    assert np.flatnonzero(~training.kept).tolist() == [2, 5]
    _, usable = training.state.replay({"g": ["a", None]})
    assert usable.tolist() == [True, False]
    assert training.state.replay({"g": [None, None]})[0].groups[0].code.shape == (0,)


def test_columns_of_groups_must_be_there(frame):
    with pytest.raises(FormulaError, match="no column 'g'"):
        ready("re(g)", frame[["y"]])
    with pytest.raises(DataError, match="lack the column 'g'"):
        ready("gp(x, by=g)", frame).state.replay({"x": [0.0]})


def test_many_numbers_make_no_curves(frame):
    with pytest.raises(SpecError, match=r"gp\(x, by=id\) has a curve for each number in column 'id': 24.*id:gp\(x\)"):
        ready("gp(x, by=id)", frame)
    assert ready("gp(x, by=id)", frame[:20]).design.groups[0].size == 20
    text = frame.assign(id=frame["id"].astype(str))
    assert ready("gp(x, by=id)", text).design.groups[0].size == N


def test_by_a_number_is_a_slope_in_mgcv(frame):
    with pytest.raises(SpecError, match=r"varying slope in mgcv. Write k:gp\(x\).*gp\(x, kernel=\"matern32\", by=k\)"):
        ready("s(x, bs='gp', by=k)", frame)
    assert ready("s(x, bs='gp', by=g)", frame).design.groups[0].size == 3
    assert ready("hsgp(x, by=k)", frame).design.groups[0].size == 3


def test_groups_that_cannot_be_told_apart(frame):
    for term in ("re(when)", "gp(x, by=when)", "gp(decimal_year(when)) + re(when)"):
        with pytest.raises(DataError, match=r"'when' holds dates, which cannot be groups. Convert it to text"):
            ready(term, frame)
    with pytest.raises(DataError, match="too large to distinguish groups"):
        ready("re(id)", frame.assign(id=frame["id"] + 2**60))
    with pytest.raises(DataError, match="'half' is not a finite number in row 3"):
        ready("re(half)", frame.assign(half=frame["half"].where(frame.index != 3, np.inf)))


def test_text_of_a_group_needs_no_linear_part(frame):
    training = ready("z + re(g)", frame)
    assert training.design.columns == ("Intercept", "z")
    assert training.state.levels["g"] == ("a", "b", "c")
