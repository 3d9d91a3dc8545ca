"""The two-step front door: a model that has met its data, then fits."""

import itertools
import re
import warnings

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.errors import BoundaryWarning, DataError, FormulaError, SpecError

FORMULA = "y ~ z + gp(x) | censor(lower)"
FIXED = {"sigma": 0.3, "sd(gp(x))": 1.0, "lengthscale(gp(x))": 0.2}


@pytest.fixture(scope="module")
def data():
    frame = tg.datasets.simulate_groot_lucas(rng=1)
    return frame.assign(z=np.random.default_rng(0).normal(size=len(frame)))


def test_two_steps_are_one(data):
    model = tg.Model(FORMULA, data)
    for options in (
        {"fixed": FIXED},
        {"fixed": FIXED, "method": "vi"},
        {"method": tg.EP(hyper="maximize"), "priors": {}},
    ):
        one, two = tg.fit(FORMULA, data, **options), model.fit(**options)
        assert two.log_evidence == one.log_evidence
        pd.testing.assert_series_equal(two.predict(), one.predict())


def test_what_statsmodels_users_look_up(data):
    model = tg.Model(FORMULA, data)
    assert model.formula == FORMULA
    assert (model.endog_names, model.exog_names) == ("y", ["Intercept", "z"])
    assert model.data.param_names == model.exog_names
    assert list(model.data.frame.columns) == ["z", "x"]
    assert "y <= lower is left-censored there" in str(model.spec)
    left = model.counts["left"]
    assert (
        repr(model) == f"Model: {FORMULA}\n  gaussian: {len(data) - left} rows exact, {left} left-censored, 0 dropped"
    )
    assert model.fit(fixed=FIXED).model.exog_names == model.exog_names


@pytest.mark.parametrize(
    ("formula", "name"),
    [("`my y` ~ x", "my y"), ("log(`my y`) ~ x", "log(`my y`)"), ("interval(lo, hi) ~ x", "interval(lo, hi)")],
)
def test_the_response_as_written(formula, name):
    frame = pd.DataFrame({"my y": [1.0, 2.0, 4.0], "lo": [1.0, 2.0, 4.0], "hi": [2.0, 3.0, 5.0], "x": [0.0, 1.0, 3.0]})
    assert tg.Model(formula, frame).endog_names == name


def test_options_of_the_data(data):
    frame = data.assign(w=2.0, z=data["z"].where(data.index != 3))
    with pytest.warns(UserWarning, match="1 of"):
        model = tg.Model(FORMULA, frame, weights="w", censored="ignore", functions={"f": np.sin})
    assert model.counts["dropped"] == 1
    assert model.fit(fixed=FIXED).nobs == 2.0 * (len(data) - 1)
    assert tg.Model("y ~ .", data.assign(w=1.0)[["y", "z", "w"]], weights="w").exog_names == ["Intercept", "z"]
    with pytest.raises(DataError, match="'z'"):
        tg.Model(FORMULA, frame, missing="raise")


def test_intervals_alone_identify_the_scale(data):
    ends = data.assign(lo=data["y"] - 0.2, hi=data["y"] + 0.2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tg.fit("interval(lo, hi) ~ gp(x)", ends, fixed=FIXED).counts["exact"] == 0
    with pytest.warns(BoundaryWarning, match="No row is exact"):
        tg.fit("interval(lo, hi) ~ gp(x)", ends.assign(lo=-np.inf), fixed=FIXED)


def test_text_is_recognised_in_the_spec(data):
    model = tg.Model("y ~ gp(x)", data.assign(y=["<0.5" if y < 0.5 else str(y) for y in data["y"]]))
    assert "in the text: <0.5 is left-censored" in str(model.spec)
    assert "in the text" in str(model.fit(fixed=FIXED).model.spec)


def test_errors_come_in_the_step_they_belong_to(data):
    with pytest.raises(FormulaError):
        tg.Model("y ~ gp(nothing)", data)
    with pytest.raises(SpecError, match="family"):
        tg.Model(FORMULA, data, family="cauchy")
    model = tg.Model(FORMULA, data)
    with pytest.raises(SpecError, match="method"):
        model.fit(method="mcmc")
    with pytest.raises(SpecError, match="hyper"):
        model.fit(method=tg.EP(hyper="mean"))


def test_warnings_name_the_line_of_the_user(data):
    constant = data.assign(x=1.0)
    for call in (
        lambda: tg.fit(FORMULA, constant, fixed=FIXED),
        lambda: tg.Model(FORMULA, constant).fit(fixed=FIXED),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call()
        assert BoundaryWarning in [warning.category for warning in caught]
        assert {warning.filename for warning in caught} == {__file__}


def test_the_noise_scale_is_part_of_what_was_understood(data, tmp_path):
    """In print, in repr, in summaries, and after a file."""
    model = tg.Model("y ~ x | censor(lower)", data, sigma="~ z + offset(abs(x))")
    words = ["  log(sigma) intercept, z", "  offset     abs(x), coefficient 1"]
    assert str(model.spec).splitlines()[-2:] == words
    written = "y ~ x | censor(lower), sigma='~ z + offset(abs(x))'"
    assert repr(model).startswith(f"Model: {written}\n")
    fit = model.fit()
    fit.save(tmp_path / "fit")
    for results in (fit, tg.load(tmp_path / "fit")):
        assert str(results.model.spec) == str(model.spec)
        assert repr(results).startswith(f"RegressionResults: {written}\n")
        assert "log(sigma):  ~ z + offset(abs(x))" in str(results.summary())
    assert tg.Model("y ~ x | censor(lower)", data).spec.scale is None


def test_functions_of_the_noise_scale_are_listed_once(data):
    model = tg.Model("y ~ f(x) | censor(lower)", data, sigma="~ f(z)", functions={"f": np.tanh})
    assert str(model.spec).count("passed by functions=") == 1


NO_SCALE = [0, -1, np.nan, np.inf, 1e-300, 1e300]
WITHOUT_NOISE = "fixed", "sigma", 0


@pytest.mark.parametrize(
    ("argument", "name", "value"),
    [case for case in itertools.product(["fixed", "start"], FIXED, NO_SCALE) if case != WITHOUT_NOISE],
)
def test_values_on_no_scale_of_the_data_are_refused(data, argument, name, value):
    model = tg.Model(FORMULA, data)
    with pytest.raises(SpecError, match=re.escape(f"{argument}={{{name!r}: {value!r}}}")):
        model.fit(**{argument: {name: value}})


@pytest.mark.parametrize("value", [1e-30, 1e30])
@pytest.mark.parametrize("name", list(FIXED))
def test_starts_far_outside_are_moved_inside(data, value, name):
    fit = tg.Model(FORMULA, data).fit(start={name: value}, method=tg.EP(hyper="maximize", n_starts=1))
    assert np.isfinite(fit.log_evidence)


@pytest.mark.parametrize("priors", [{}, {"sigma_lower": None}])
def test_side_noises_fixed_at_zero_need_no_prior(data, priors):
    model = tg.Model(FORMULA, data)
    fit = model.fit(method=tg.VI(bound="local", hyper="maximize"), fixed={"sigma_lower": 0}, priors=priors)
    assert fit.params["sigma_lower"] == 0.0
    assert np.isfinite(fit.log_evidence)
