"""Measures on rows that a fit has not seen, beside tobitgp.metrics, lifelines and scipy."""

import warnings

import numpy as np
import pandas as pd
import pytest
from lifelines import WeibullAFTFitter
from lifelines.utils import concordance_index
from scipy.stats import norm

import tobitgp as tg
from tobitgp.errors import SpecError
from tobitgp.selection.held_out import MEASURES, HeldOut, read_measures


@pytest.fixture(scope="module")
def lung():
    data = tg.datasets.load("lung")[["time", "event", "age", "sex"]]
    return data.iloc[::2], data.iloc[1::2]


@pytest.fixture(scope="module")
def held(lung):
    return HeldOut(tg.fit("Surv(time, event) ~ age + sex", lung[0], family="weibull"), lung[1], None)


@pytest.fixture(scope="module")
def lifelines(lung):
    return WeibullAFTFitter().fit(lung[0], "time", "event")


def test_lifelines_finds_the_same(held, lifelines, lung):
    test = lung[1]
    found = {name: MEASURES[name](held) for name in ("log_likelihood", "concordance_index")}
    assert np.isclose(found["log_likelihood"], lifelines.score(test), rtol=1e-6)
    assert MEASURES["nlpd"](held) == -found["log_likelihood"]
    theirs = concordance_index(test["time"], lifelines.predict_median(test), test["event"])
    assert np.isclose(found["concordance_index"], theirs, rtol=1e-12)


def test_curves_of_lifelines_score_the_same(held, lifelines, lung):
    train, test = ((part["time"], part["event"]) for part in lung)
    first, last = np.quantile(train[0][train[1] == 1], [0.1, 0.9], method="inverted_cdf")
    times = np.linspace(first, last, 100)
    curves = lifelines.predict_survival_function(lung[1], times=times)
    brier = tg.metrics.integrated_brier_score(train, test, curves, times)
    assert np.isclose(MEASURES["integrated_brier_score"](held), brier, rtol=1e-5)
    area = tg.metrics.cumulative_dynamic_auc(train, test, curves, times).mean
    assert np.isclose(MEASURES["cumulative_dynamic_auc"](held), area, rtol=1e-5)
    uno = tg.metrics.concordance_ipcw(train, test, lifelines.predict_median(lung[1]), tau=last)
    assert np.isclose(MEASURES["concordance_ipcw"](held), uno, rtol=1e-12)


def test_late_test_rows_do_not_spoil_a_fold(lung):
    """Uno's weights are unknown after the last training row; in one fold of each split the last event is a test row."""
    last = lung[1]["time"].idxmax()
    test = lung[1].assign(time=lung[1]["time"].where(lung[1].index != last, 5000.0), event=1)
    held = HeldOut(tg.fit("Surv(time, event) ~ age + sex", lung[0], family="weibull"), test, None)
    for name in ("concordance_ipcw", "integrated_brier_score", "cumulative_dynamic_auc"):
        assert 0.0 < MEASURES[name](held) < 1.0


def test_rows_with_missing_inputs_are_left_out(held, lung):
    test = lung[1].copy()
    test.loc[test.index[::7], "age"] = np.nan
    for name in ("concordance_ipcw", "integrated_brier_score", "log_likelihood"):
        some, fewer = (MEASURES[name](held._replace(test=rows)) for rows in (test, test.dropna()))
        assert np.isclose(some, fewer, rtol=1e-12)


def test_weights_repeat_test_rows(held, lung):
    weight = 1.0 + np.arange(len(lung[1])) % 2
    repeated = lung[1].iloc[np.repeat(np.arange(len(weight)), weight.astype(int))]
    for name in ("log_likelihood", "concordance_index"):
        want = MEASURES[name](held._replace(test=repeated))
        assert np.isclose(MEASURES[name](held._replace(weight=weight)), want, rtol=1e-12)


@pytest.fixture(scope="module")
def clipped():
    rng = np.random.default_rng(3)
    x = rng.normal(size=200)
    data = pd.DataFrame({"x": x, "full": 1.0 + x + rng.normal(0.0, 0.8, 200)})
    data["y"] = data["full"].clip(lower=0.0)
    return data.iloc[:150], data.iloc[150:]


def test_errors_are_of_what_the_instrument_shows(clipped):
    train, test = clipped
    res = tg.fit("y ~ x | censor(0)", train, method="mle")
    a, b, s = (res.params[name] for name in ("Intercept", "x", "sigma"))
    eta = a + b * test["x"]
    shown = eta * norm.cdf(eta / s) + s * norm.pdf(eta / s)
    held = HeldOut(res, test, None)
    assert np.isclose(MEASURES["mae"](held), (test["y"] - shown).abs().mean(), rtol=1e-6)
    assert np.isclose(MEASURES["rmse"](held), np.sqrt(((test["y"] - shown) ** 2).mean()), rtol=1e-6)


def test_errors_without_limits_are_those_of_the_mean(clipped):
    train, test = clipped
    res = tg.fit("full ~ gp(x)", train, method=tg.EP(hyper="maximize"))
    error = test["full"] - res.predict(test, "uncensored")
    held = HeldOut(res, test, None)
    assert np.isclose(MEASURES["mae"](held), error.abs().mean(), rtol=1e-12)
    assert np.isclose(MEASURES["rmse"](held), np.sqrt((error**2).mean()), rtol=1e-12)


def test_metrics_of_right_censored_times_refuse_others():
    data = tg.datasets.load("nh4")
    held = HeldOut(tg.fit("nh4 ~ time | censor(limit)", data.iloc[::2], family="lognormal"), data.iloc[1::2], None)
    for name in ("concordance_ipcw", "integrated_brier_score", "cumulative_dynamic_auc"):
        with pytest.raises(SpecError, match="right-censored times"):
            MEASURES[name](held)
    assert np.isfinite(MEASURES["log_likelihood"](held))
    assert 0.0 < MEASURES["concordance_index"](held) < 1.0


def test_intervals_have_no_errors():
    data = tg.datasets.load("diabetes").iloc[::5]
    held = HeldOut(tg.fit("interval(left, right) ~ sex", data, family="weibull"), data, None)
    for name in ("mae", "rmse"):
        with pytest.raises(SpecError, match="interval-censored rows have none"):
            MEASURES[name](held)


def test_folds_without_times_say_so(held, lung):
    early = lung[1][lung[1]["time"] < 20]
    with pytest.raises(SpecError, match="Use fewer folds"):
        MEASURES["integrated_brier_score"](held._replace(test=early))


def test_measures_are_named_as_asked(held):
    def width(results, test):
        return len(test.columns)

    asked = read_measures(["mae", width])
    assert list(asked) == ["mae", "width"]
    assert asked["width"](held) == 4.0
    assert list(read_measures({"a": "rmse", "b": width})) == ["a", "b"]
    assert list(read_measures("rmse")) == ["rmse"]
    assert list(read_measures(width)) == ["width"]


@pytest.mark.parametrize("asked", ["brier", ["mae", "brier"], [1], {"a": 2}])
def test_unknown_measures_are_listed(asked):
    with pytest.raises(SpecError, match="'log_likelihood', 'nlpd', 'concordance_index'"):
        read_measures(asked)


def test_all_measures_of_a_split_are_to_be_had(lung):
    data = pd.concat(lung).sort_index()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = tg.cross_validate(
            "Surv(time, event) ~ age", data, folds=5, family="lognormal",
            metrics=["concordance_ipcw", "integrated_brier_score", "cumulative_dynamic_auc"],
        )  # fmt: skip
    assert found.notna().all(axis=None)
