"""Inputs of processes: products, varying slopes."""

import numpy as np
import pandas as pd
import pytest

from tobitgp.data.prepare import prepare
from tobitgp.errors import DataError
from tobitgp.formula import parse_formula

FRAME = pd.DataFrame(
    {
        "y": [1.0, 2.0, 3.0, 4.0],
        "x": [0.1, 0.2, 0.3, 0.4],
        "z": [1.0, 2.0, 3.0, 4.0],
        "zero": 0,
        "flag": [True, False, True, False],
        "g": list("abab"),
        "when": pd.date_range("2020-01-01", periods=4),
    }
)


def ready(terms, data=FRAME):
    return prepare(parse_formula(f"y ~ {terms}", list(data)), data)


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        ("gp(x):gp(z)", [FRAME["x"], FRAME["z"]]),
        ("z:gp(x)", [FRAME["z"], FRAME["x"]]),
        ("gp(x):log(z)", [FRAME["x"], np.log(FRAME["z"])]),
        ("flag:gp(x)", [FRAME["flag"], FRAME["x"]]),
        ("{g == 'a'}:gp(x)", [[1, 0, 1, 0], FRAME["x"]]),
        ("gp(decimal_year(when)):C(g)", [2020 + np.arange(4) / 366]),
    ],
)
def test_inputs_are_in_the_order_of_the_factors(terms, expected):
    training = ready(terms)
    np.testing.assert_allclose(training.design.X[0], np.column_stack(expected).astype(float), rtol=1e-12)
    new, _ = training.state.replay(FRAME.drop(columns="y")[::-1])
    np.testing.assert_array_equal(new.X[0], training.design.X[0][::-1])


@pytest.mark.parametrize(
    ("terms", "remedy"),
    [
        ("g:gp(x)", r"Write gp\(x, by=g\)"),
        ("gp(x, z):g", r"Write gp\(x, z, by=g\)"),
        ("gp(x):gp(z):g", r"C\(g\) in the product"),
        ("gp(g, kernel='linear')", r"Write gp\(x, by=g\)"),
    ],
)
def test_text_has_no_slope(terms, remedy):
    with pytest.raises(DataError, match=rf"Column 'g' holds text, so .* cannot have a slope in it. .*{remedy}"):
        ready(terms)


def test_an_input_that_is_always_zero_has_no_slope():
    for terms in ("zero:gp(x)", "gp(x, zero, kernel='linear')", "{g == 'c'}:gp(x)"):
        with pytest.raises(DataError, match=r"is 0 in every row, so it has no slope. Leave it out"):
            ready(terms)
    assert ready("gp(zero)").design.X[0].tolist() == [[0.0]] * 4
    training = ready("z:gp(x)")
    assert not training.state.replay({"x": [1.0], "z": [0.0]})[0].X[0][:, 0].any()
