"""The design of the noise scale: made as the linear part is, from the same rows."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tobitgp.data.outcome import outcome
from tobitgp.data.prepare import prepare
from tobitgp.data.restore import plain_linear, restore_linear
from tobitgp.data.training_summary import constant_column
from tobitgp.errors import DataError, FormulaError, UnseenLevelError
from tobitgp.formula import parse_formula, parse_scale_formula
from tobitgp.regression import maximise

N = 24


@pytest.fixture
def frame():
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "y": rng.normal(size=N),
            "x": rng.normal(size=N),
            "z": rng.uniform(1, 2, size=N),
            "g": np.resize(["a", "b", "c"], N),
            "k": np.resize([1, 2, 1, 5], N),
            "day": pd.date_range("2020-01-01", periods=N, freq="MS"),
            "one": 1.0,
        },
        index=[f"row{i}" for i in range(N)],
    )


def ready(formula, sigma, data, **options):
    spec = parse_formula(formula, list(data))
    return prepare(spec, data, scale=parse_scale_formula(sigma, list(data), beside=spec), **options)


SCALES = ["1", "z", "0 + z + x", "g", "C(k)", "g * z", "bs(z, df=4)", "poly(x, 2)", "decimal_year(day)", "log(z) + x:z"]


@pytest.mark.parametrize("terms", SCALES)
def test_columns_are_those_of_a_linear_part(frame, terms):
    training = ready("y ~ x", f"~ {terms}", frame)
    linear = prepare(parse_formula(f"y ~ {terms}", list(frame)), frame).design
    scale = training.design.scale
    np.testing.assert_array_equal(scale.W, linear.H)
    assert scale.columns == tuple(f"log(sigma)[{name}]" for name in linear.columns)
    np.testing.assert_array_equal(scale.offset, np.zeros(N))


@pytest.mark.parametrize("terms", SCALES)
def test_replay(frame, terms):
    training = ready("y ~ x", f"~ {terms} + offset(z)", frame)
    rows = [7, 3, 3, 11]
    design, usable = training.state.replay(frame.iloc[rows].drop(columns="y"))
    assert usable.all()
    np.testing.assert_allclose(design.scale.W, training.design.scale.W[rows], rtol=0, atol=1e-13)
    assert design.scale.columns == training.design.scale.columns
    np.testing.assert_array_equal(design.scale.offset, frame["z"].to_numpy()[rows])
    assert training.state.replay(frame.iloc[:0])[0].scale.W.shape == (0, training.design.scale.W.shape[1])


@pytest.mark.parametrize("terms", SCALES)
def test_as_plain_data_and_back(frame, terms):
    state = ready("y ~ x + g", f"~ {terms}", frame).state
    scale = state.scale
    again = restore_linear(plain_linear(scale.linear, scale.spec, state.levels), scale.spec)
    restored = replace(state, scale=replace(scale, linear=again))
    np.testing.assert_array_equal(restored.replay(frame)[0].scale.W, state.replay(frame)[0].scale.W)


def test_a_formula_of_another_scale_does_not_fit_what_was_learned(frame):
    state = ready("y ~ x", "~ z", frame).state
    with pytest.raises(DataError, match="The columns of the noise scale are not those of the formula"):
        restore_linear(plain_linear(state.scale.linear, state.scale.spec, state.levels), parse_scale_formula("~ x"))


def test_without_a_formula_there_is_none(frame):
    training = prepare(parse_formula("y ~ x", list(frame)), frame)
    assert training.design.scale is None
    assert training.state.scale is None
    assert training.state.input_names == ("x",)
    assert training.state.replay(frame)[0].scale is None


def test_some_rows(frame):
    design = ready("y ~ x", "~ z + offset(x)", frame).design
    at = np.arange(N) % 3 == 0
    some = design.rows(at)
    np.testing.assert_array_equal(some.scale.W, design.scale.W[at])
    np.testing.assert_array_equal(some.scale.offset, design.scale.offset[at])
    assert some.scale.columns == ("log(sigma)[Intercept]", "log(sigma)[z]")


def test_missing_values_drop_the_row(frame):
    frame.loc["row3", "z"] = np.nan
    frame.loc["row5", "g"] = None
    with pytest.warns(UserWarning, match=r"2 of 24 rows are dropped: missing values in 'z' \(1\), 'g' \(1\)"):
        training = ready("y ~ x", "~ z + g", frame)
    assert training.counts["dropped"] == 2
    assert training.design.H.shape[0] == training.design.scale.W.shape[0] == N - 2
    with pytest.raises(DataError, match="missing values in 'z'"):
        ready("y ~ x", "~ z", frame, missing="raise")
    _, usable = training.state.replay(frame)
    np.testing.assert_array_equal(usable, training.kept)


def test_columns_of_both_formulas_are_read_once(frame):
    training = ready("y ~ x + g", "~ g + x", frame)
    assert training.state.input_names == ("x", "g")
    assert training.state.levels == {"x": None, "g": ("a", "b", "c")}
    assert training.state.parts[1] is training.state.scale


def test_rows_left_out_are_left_out_of_the_scale(frame):
    weights = np.where(np.arange(N) < 4, 0.0, 1.0)
    frame["y"] = frame["y"].clip(lower=0)
    training = ready("y ~ x | censor(0)", "~ z", frame, weights=weights, censored="drop")
    assert 0 < training.kept.sum() < N - 4
    np.testing.assert_array_equal(training.design.scale.W[:, 1], frame["z"].to_numpy()[training.kept])


@pytest.mark.parametrize(
    ("sigma", "message"),
    [
        ("~ z + I(2 * z)", r"'I\(2 \* z\)' of the noise scale is determined by 'z'"),
        ("~ one", "'one' of the noise scale is constant, like the intercept"),
        ("~ 0 + I(0 * z)", "of the noise scale is 0 in every row"),
        ("~ log(x)", r"log\(x\) of the noise scale is not a finite number in row"),
        ("~ offset(log(x))", r"offset\(log\(x\)\)"),
        ("~ day", r"Write decimal_year\(day\)"),
        ("~ C(g, Treatment('q'))", "The noise scale .* cannot be computed: there is no level"),
    ],
)
def test_data_that_do_not_do(frame, sigma, message):
    with pytest.raises(DataError, match=message):
        ready("y ~ x", sigma, frame)


def test_infinite_inputs(frame):
    frame.loc["row2", "z"] = np.inf
    with pytest.raises(DataError, match=r"'z' .*row2"):
        ready("y ~ x", "~ z", frame)


def test_unseen_levels_and_missing_columns(frame):
    state = ready("y ~ x", "~ g + C(k)", frame).state
    with pytest.raises(UnseenLevelError, match="'g'"):
        state.replay(frame.assign(g="d"))
    with pytest.raises(UnseenLevelError, match=r"C\(k\)"):
        state.replay(frame.assign(k=3))
    with pytest.raises(DataError, match="lack the column 'g'"):
        state.replay(frame.drop(columns="g"))


def test_columns_that_are_not_there_or_are_the_response(frame):
    with pytest.raises(FormulaError, match=r"no column 'zz'; did you mean 'z'\?\n  ~ zz"):
        ready("y ~ x", "~ zz", frame)
    with pytest.raises(FormulaError, match="The response 'y' cannot be in the formula of its noise scale"):
        ready("y ~ x", "~ y", frame)


def test_facts_know_the_inputs_of_the_scale(frame):
    training = ready("y ~ x", "~ g + C(k) + decimal_year(day)", frame)
    names = list(training.state.input_names)
    facts = training.facts(names, frame[names])
    assert [facts.columns[name].kind for name in names] == ["number", "factor", "number", "date"]
    assert facts.columns["k"].typical == 1.0
    new = {
        name: constant_column(training.state, facts.columns[name], name, facts.columns[name].example, 2)
        for name in names
    }
    assert training.state.replay(new)[0].scale.W.shape == (2, 6)


def test_feeds_the_regression(frame):
    rng = np.random.default_rng(3)
    data = pd.DataFrame({"x": rng.normal(size=4000), "z": rng.uniform(-1, 1, size=4000)})
    data["y"] = np.maximum(1 + 2 * data.x + np.exp(-0.5 + 0.8 * data.z) * rng.normal(size=4000), 0)
    training = ready("y ~ x | censor(0)", "~ z", data)
    design = training.design
    fit = maximise(outcome(training.response), design.H, W=design.scale.W, scale_offset=design.scale.offset)
    assert fit.converged
    np.testing.assert_allclose(fit.gamma, [-0.5, 0.8], atol=0.1)


def test_known_scales(frame):
    training = ready("y ~ x", "~ 0 + offset(log(z))", frame)
    scale = training.design.scale
    assert (scale.W.shape, scale.columns) == ((N, 0), ())
    fit = maximise(outcome(training.response), training.design.H, W=scale.W, scale_offset=scale.offset)
    root = 1 / frame["z"].to_numpy()[:, None]
    wls = np.linalg.lstsq(training.design.H * root, frame["y"].to_numpy() * root[:, 0], rcond=None)[0]
    np.testing.assert_allclose(fit.coefficients, wls, rtol=1e-8)
