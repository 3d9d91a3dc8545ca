"""The model that lifelines' tools take as one of their fitters."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from lifelines import WeibullAFTFitter
from lifelines.calibration import survival_probability_calibration
from lifelines.utils import concordance_index, k_fold_cross_validation, median_survival_times, qth_survival_times

import tobitgp as tg
from tobitgp.errors import DataError, NotFittedError, SpecError

mpl.use("Agg")


@pytest.fixture(scope="module")
def data():
    return tg.datasets.load("lung")[["time", "event", "age", "sex"]].astype(np.float64)


@pytest.fixture(scope="module")
def odd(data):
    """Names that no expression could hold without quotes."""
    return data.rename(columns={"time": "t (days)", "event": "dead?", "age": "age at entry", "sex": "männlich/2"})


def folds(model, data, **options):
    with np.errstate(all="ignore"):
        return k_fold_cross_validation(model, data, "time", "event", k=3, seed=1, **options)


def test_it_is_the_fit_of_the_formula(data):
    model = tg.SurvivalModel("age + sex")
    assert repr(model) == "SurvivalModel: age + sex (not fitted)"
    assert model.fit(data, "time", "event") is model
    res = tg.fit("Surv(time, event) ~ age + sex", data, family="weibull")
    np.testing.assert_array_equal(model.params_["lambda_"], res.params[:3])
    rows = data.head(3)
    for name in ("survival_function", "cumulative_hazard", "hazard"):
        options = {"times": [5.0, 90.0], "conditional_after": 4.0, "interval": 0.8}
        mine, theirs = (getattr(one, f"predict_{name}")(rows, **options) for one in (model, res))
        pd.testing.assert_frame_equal(mine, theirs)
    for name in ("percentile", "median", "expectation"):
        mine, theirs = (getattr(one, f"predict_{name}")(rows) for one in (model, res))
        pd.testing.assert_series_equal(mine, theirs)
    pd.testing.assert_series_equal(model.predict_restricted_mean(rows, 9.0), res.predict_restricted_mean(rows, 9.0))
    assert model.score(data) == res.score(data)
    np.testing.assert_array_equal(model.summary["se(coef)"]["lambda_"], res.bse[:3])
    assert "Surv(`time`, `event`) ~ age + sex" in repr(model)


@pytest.mark.slow
@pytest.mark.parametrize("rhs", ["age + sex", ".", "gp(age) + sex", "mixture(2)"])
def test_cross_validation_by_likelihood(data, rhs):
    options = {"method": tg.EP(hyper="maximize")} if "gp" in rhs else {}
    found = folds(tg.SurvivalModel(rhs, **options), data, scoring_method="log_likelihood")
    theirs = folds(WeibullAFTFitter(), data, scoring_method="log_likelihood")
    np.testing.assert_allclose(found, theirs, rtol=1e-6 if rhs in (".", "age + sex") else 0.02)


def test_cross_validation_by_order(data):
    pytest.importorskip("tobitgp.metrics")
    found = folds(tg.SurvivalModel("age + sex"), data, scoring_method="concordance_index")
    theirs = folds(WeibullAFTFitter(), data, scoring_method="concordance_index")
    np.testing.assert_allclose(found, theirs, rtol=1e-10)
    model = tg.SurvivalModel("age + sex").fit(data, "time", "event")
    want = concordance_index(data["time"], model.predict_median(data), data["event"])
    np.testing.assert_allclose(model.concordance_index_, want)


@pytest.mark.slow
@pytest.mark.parametrize("rhs", ["age + sex", "gp(age)", "mixture(2)"])
def test_calibration(data, rhs):
    import matplotlib.pyplot as plt

    plt.close("all")  # lifelines draws into whatever figure is open
    model = tg.SurvivalModel(rhs, **({"method": tg.EP(hyper="maximize")} if "gp" in rhs else {})).fit(
        data, "time", "event"
    )
    with np.errstate(all="ignore"):
        _, ici, _ = survival_probability_calibration(model, data, 365.0)
    if rhs == "age + sex":
        with np.errstate(all="ignore"):
            fitter = WeibullAFTFitter().fit(data, "time", "event")
            np.testing.assert_allclose(ici, survival_probability_calibration(fitter, data, 365.0)[1], rtol=1e-2)


def test_curves_go_through_the_tools(data):
    model = tg.SurvivalModel("age + sex").fit(data, "time", "event")
    curves = model.predict_survival_function(data.head(3), np.linspace(0.0, 2000.0, 4001))
    np.testing.assert_allclose(median_survival_times(curves).iloc[0], model.predict_median(data.head(3)), atol=0.5)
    found = qth_survival_times(0.9, curves)
    np.testing.assert_allclose(np.ravel(found), model.predict_percentile(data.head(3), p=0.9), atol=0.5)


def test_odd_names(data, odd):
    model = tg.SurvivalModel("`age at entry` + `männlich/2`").fit(odd, "t (days)", "dead?")
    plain = tg.SurvivalModel("age + sex").fit(data, "time", "event")
    np.testing.assert_allclose(model.params_, plain.params_)
    found = k_fold_cross_validation(model, odd, "t (days)", "dead?", k=3, seed=1, scoring_method="log_likelihood")
    np.testing.assert_allclose(found, folds(plain, data, scoring_method="log_likelihood"), rtol=1e-9)


@pytest.mark.slow
def test_entries_and_weights(data):
    late = data.assign(entry=0.5 * data["time"], n=np.arange(len(data)) % 3 + 1.0)
    with np.errstate(all="ignore"):
        fitter = WeibullAFTFitter().fit(late, "time", "event", entry_col="entry", weights_col="n", robust=True)
    model = tg.SurvivalModel(".").fit(late, "time", "event", entry_col="entry", weights_col="n")
    sigma = np.exp(-fitter.params_["rho_"]["Intercept"])
    np.testing.assert_allclose(
        model.params_["lambda_"][["age", "sex"]], fitter.params_["lambda_"][["age", "sex"]], rtol=1e-3
    )
    np.testing.assert_allclose(model.results_.params["sigma"], sigma, rtol=1e-4)
    np.testing.assert_allclose(model.score(late), fitter.score(late), rtol=1e-6)
    np.testing.assert_allclose(model.score(late), model.results_.llf / late["n"].sum(), rtol=1e-10)
    rows, median = late["time"], model.predict_median(late)
    order = tg.metrics.concordance_index(rows, median, late["event"], entry=late["entry"], weights=late["n"])
    found = model.concordance_index_, model.score(late, "concordance_index")
    np.testing.assert_allclose(found, order, rtol=1e-12)
    assert abs(order - concordance_index(rows, median, late["event"])) > 0.01
    without = tg.SurvivalModel("age").fit(late.query("event == 1"), "time", entry_col="entry")
    same = tg.SurvivalModel("age").fit(late.query("event == 1"), "time", "event", entry_col="entry")
    np.testing.assert_allclose(without.params_, same.params_, rtol=1e-8)


def test_left_and_interval_censoring(data):
    from lifelines.utils import CensoringType

    left = data.assign(event=np.where(data["time"] < 100.0, 0.0, 1.0), time=data["time"].clip(lower=100.0))
    with np.errstate(all="ignore"):
        fitter = WeibullAFTFitter().fit_left_censoring(left, "time", "event")
    model = tg.SurvivalModel("age + sex").fit_left_censoring(left, "time", "event")
    np.testing.assert_allclose(model.params_["lambda_"]["age"], fitter.params_["lambda_"]["age"], rtol=1e-2)
    np.testing.assert_allclose(model.score(left), fitter.score(left), rtol=1e-6)
    assert CensoringType.is_left_censoring(model)
    ends = data.assign(low=data["time"], high=np.where(data["event"] == 1, data["time"] + 30.0, np.inf))
    ends = ends.drop(columns=["time", "event"])
    with np.errstate(all="ignore"):
        fitter = WeibullAFTFitter().fit_interval_censoring(ends, "low", "high")
    model.fit_interval_censoring(ends, "low", "high")
    np.testing.assert_allclose(model.score(ends), fitter.score(ends), rtol=1e-6)
    assert CensoringType.is_interval_censoring(model)
    assert (model.duration_col, model.lower_bound_col) == (None, "low")
    assert CensoringType.is_right_censoring(model.fit(data, "time", "event"))


def test_before_a_fit():
    model = tg.SurvivalModel("age")
    for ask in (model.predict_median, model.predict_survival_function, model.print_summary):
        with pytest.raises(NotFittedError, match="fit"):
            ask()
    with pytest.raises(NotFittedError):
        _ = model.concordance_index_


@pytest.mark.parametrize("rhs", ["", 3, "y ~ x", None])
def test_only_a_right_hand_side(rhs):
    with pytest.raises(SpecError, match="rhs="):
        tg.SurvivalModel(rhs)


def test_what_makes_no_sense(data):
    with pytest.raises(SpecError, match="weights_col"):
        tg.SurvivalModel("age", weights="n")
    for columns in (("tim", "event"), ("time", "dead"), (3, "event")):
        with pytest.raises(DataError, match="is not a column"):
            tg.SurvivalModel("age").fit(data, *columns)
    with pytest.raises(DataError, match="weights_col="):
        tg.SurvivalModel("age").fit(data, "time", "event", weights_col="n")
    with pytest.raises(DataError, match="backtick"):
        tg.SurvivalModel("age").fit(data.rename(columns={"time": "a`b"}), "a`b", "event")
    with pytest.raises(TypeError, match="no_such"):
        tg.SurvivalModel("age", no_such=1).fit(data, "time", "event")


def test_a_failed_fit_leaves_the_last_one(data):
    model = tg.SurvivalModel("age").fit(data, "time", "event")
    before = model.params_
    with pytest.raises(DataError):
        model.fit(data, "time", "none")
    assert model.params_.equals(before)
    assert model.event_col == "event"


def test_weights_come_out_of_a_dict_of_columns_too(data):
    weighted = data.assign(w=np.arange(len(data)) % 3 + 1.0)
    model = tg.SurvivalModel(".").fit(weighted, "time", "event", weights_col="w")
    again = tg.SurvivalModel(".").fit(weighted.to_dict("list"), "time", "event", weights_col="w")
    pd.testing.assert_series_equal(again.params_, model.params_)


@pytest.mark.parametrize("form", ["frame", "dict"])
@pytest.mark.parametrize(
    ("values", "words"),
    [
        (list("ab"), "The weights 'g' hold text"),
        ([1.0, -2.0], "The weights 'g' are negative, .* row"),
    ],
)
def test_weights_that_are_none_are_named_by_their_column(data, values, words, form):
    bad = data.head(40).assign(g=values * 20)
    good = bad.assign(g=1.0)
    if form == "dict":
        bad, good = bad.to_dict("list"), good.to_dict("list")
    model = tg.SurvivalModel("age")
    with pytest.raises(DataError, match=words):
        model.fit(bad, "time", "event", weights_col="g")
    model.fit(good, "time", "event", weights_col="g")
    with pytest.raises(DataError, match=words):
        model.score(bad)
