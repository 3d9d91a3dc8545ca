"""A user's own functions: called by name on whole columns, checked, replayed."""

import numpy as np
import pandas as pd
import pytest

from tobitgp.data.prepare import prepare
from tobitgp.errors import DataError, FormulaError, SpecError
from tobitgp.formula import parse_formula
from tobitgp.formula.functions import FUNCTIONS, NOT_YET, PLACES, SPECIAL_TERMS


def half(x):
    return x / 2


def hypot(x, z):
    return np.hypot(x, z)


DATA = pd.DataFrame({"y": [2.0, 2.0, 4.0, 3.0], "x": [3.0, 6.0, 5.0, 9.0], "z": [4.0, 8.0, 12.0, 12.0], "half": 1.0})


def ready(formula, data=DATA, **functions):
    return prepare(parse_formula(formula, list(data), functions), data)


def test_own_functions_everywhere():
    own = {"half": half, "hypot": hypot}
    training = ready("half(y) ~ half(x) + gp(hypot(x, z)) + offset(half(z)) | censor(half(2 * half))", **own)
    assert training.response.upper.tolist() == [1.0, 1.0, 2.0, 1.5]
    assert training.counts["left"] == 2
    assert training.design.H[:, 1].tolist() == [1.5, 3.0, 2.5, 4.5]
    assert training.design.columns == ("Intercept", "half(x)")
    assert training.design.X[0][:, 0].tolist() == [5.0, 10.0, 13.0, 15.0]
    assert training.design.offset.tolist() == [2.0, 4.0, 6.0, 6.0]
    design, _ = training.state.replay({"x": [8.0], "z": [6.0]})
    assert (design.H[0, 1], design.X[0][0, 0], design.offset[0]) == (4.0, 10.0, 3.0)
    assert training.state.replay({"x": [], "z": []})[0].H.shape == (0, 2)


def test_a_column_of_the_same_name_stays_a_column():
    data = DATA.assign(half=DATA["x"] ** 2)
    training = ready("y ~ half + half(x):z", data, half=half)
    np.testing.assert_allclose(training.design.H[:, 1:], np.column_stack([data["half"], data["x"] / 2 * data["z"]]))


def test_the_spec_says_which_functions_are_the_users():
    spec = parse_formula("y ~ half(x)", functions={"half": half})
    assert "functions  half: passed by functions=" in str(spec)
    assert hash(spec) == hash(parse_formula("y ~ half(x)", functions={"half": half}))


def test_columns_are_not_changed_by_a_function_that_writes_into_its_argument():
    def spoil(x):
        x[:] = 7.0
        return x

    training = ready("y ~ x + gp(spoil(x))", spoil=spoil)
    assert training.design.X[0][:, 0].tolist() == [7.0] * 4
    assert training.design.H[:, 1].tolist() == DATA["x"].tolist()


@pytest.mark.parametrize("term", ["gp(f(x))", "f(x)", "offset(f(x))"])
@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x: x[:2], "shape (2,)"),
        (lambda x: x.mean(), "one number for each of the 4 rows"),
        (lambda x: np.where(x > 5, np.nan, x), "The result of f() is not a finite number in rows 1, 3"),
        (lambda x: x + 1j, "complex"),
        (lambda x: ["a"] * len(x), "one number for each"),
        (lambda x, z: x, "f() failed: TypeError"),
        (lambda x: 1 / 0, "f() failed: ZeroDivisionError"),
    ],
    ids=["short", "scalar", "nan", "complex", "text", "arguments", "error"],
)
def test_results_that_are_no_column_are_refused(term, function, words):
    with pytest.raises(DataError) as caught:
        ready(f"y ~ {term}", f=function)
    assert words in str(caught.value)


def test_open_ends_stay_open_through_a_function():
    data = DATA.assign(lo=[np.nan, 1.0, 2.0, 2.0], hi=[1.0, 2.0, np.nan, 2.0])
    training = ready("interval(half(lo), half(hi)) ~ x", data, half=half)
    assert list(training.counts.values()) == [1, 1, 1, 1, 0]


@pytest.mark.parametrize("name", ["a b", "1f", "lambda", "_f", "__f", "µ", "", 3, "None"])
def test_names_that_cannot_be_called(name):
    with pytest.raises(SpecError, match="one word"):
        parse_formula("y ~ x", functions={name: half})


@pytest.mark.parametrize("name", [*FUNCTIONS, *PLACES, *SPECIAL_TERMS, *NOT_YET, "pi"])
def test_names_that_mean_something_already(name):
    with pytest.raises(SpecError, match="already; choose another name"):
        parse_formula("y ~ x", functions={name: half})


def test_what_is_no_dict_of_functions():
    with pytest.raises(SpecError, match="dict of functions"):
        parse_formula("y ~ x", functions=[half])
    with pytest.raises(SpecError, match=r"float\. It must be a function of arrays"):
        parse_formula("y ~ x", functions={"f": 1.0})


@pytest.mark.parametrize(
    ("marked", "words"),
    [
        ("y ~ ▲hlf(x)", "did you mean 'half'"),
        ("y ~ ▲half()", "half(x)"),
        ("y ~ half(▲x=z)", "no named arguments"),
        ("y ~ half(▲gp(x))", "must be a term"),
        ("y ~ ▲half(1)", "names no column"),
        ("y ~ gp(half(▲open(x)))", "functions={'open': open}"),
        ("y ~ ▲half.real", "Attribute access"),
    ],
)
def test_calls_that_are_refused(marked, words):
    with pytest.raises(FormulaError) as caught:
        parse_formula(marked.replace("▲", ""), list(DATA), {"half": half})
    assert words in str(caught.value)
    assert caught.value.position == marked.index("▲")


@pytest.mark.parametrize("linear", ["f(x)", "z + C(f(x))", "f(x):z"])
@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda x: None,
            r"The function f\(\) returned an array of shape \(\) and type object. Return one number for each of the 4",
        ),
        (lambda x: 1 // 0, r"The function f\(\) failed: ZeroDivisionError: "),
    ],
    ids=["gives nothing", "fails"],
)
def test_complaints_of_functions_in_the_linear_part_stand_alone(linear, call, words):
    with pytest.raises(DataError, match=f"^{words}") as caught:
        ready(f"y ~ {linear}", f=call)
    assert "factor" not in str(caught.value)
