"""Bands of percentiles, after a time survived too, beside predictions and draws that all count the same."""

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.errors import SpecError

pytestmark = pytest.mark.diagonal

NEW = pd.DataFrame({"age": [45.0, 60.0, 75.0], "sex": [1, 2, 1]})
COLUMNS = ["estimate", "median", "lower", "upper"]


@pytest.fixture(scope="module")
def lung():
    return tg.datasets.load("lung")


@pytest.fixture(scope="module")
def process(lung):
    return tg.fit("Surv(time, event) ~ gp(age) + sex", lung, family="weibull")


@pytest.mark.parametrize("rhs", ["gp(age) + sex", "age + sex"])
@pytest.mark.parametrize("family", ["weibull", "lognormal"])
def test_bands_are_those_of_quantiles(lung, rhs, family):
    res = tg.fit(f"Surv(time, event) ~ {rhs}", lung, family=family)
    table, there = res.predict_percentile(NEW, p=0.7, interval=0.9), res.predict(NEW, "quantile", q=0.3, interval=0.9)
    assert list(table.columns) == COLUMNS
    np.testing.assert_allclose(table[["estimate", "lower", "upper"]], there[["estimate", "lower", "upper"]], rtol=1e-9)
    assert (table["lower"] < table["median"]).all()
    assert (table["median"] < table["upper"]).all()
    pd.testing.assert_series_equal(table["estimate"], res.predict_percentile(NEW, p=0.7), check_names=False)
    early = res.predict_percentile(NEW, p=0.7, interval=0.9, conditional_after=1e-9)
    np.testing.assert_allclose(early, table, rtol=2e-3)


def test_of_a_process_every_draw_counts_the_same(lung):
    res = tg.fit("Surv(time, event) ~ gp(age) + sex", lung, family="weibull", method=tg.EP(hyper="maximize"))
    after, sigma = np.array([0.0, 200.0, 600.0]), res.params["sigma"]
    f = res.sample(NEW, 40_000, what="latent", rng=2).to_numpy()
    left = np.exp(f) * ((after[:, None] / np.exp(f)) ** (1 / sigma) + np.log(2.0)) ** sigma - after[:, None]
    table = res.predict_median(NEW, conditional_after=after, interval=0.95)
    np.testing.assert_allclose(table[COLUMNS[1:]], np.quantile(left, [0.5, 0.025, 0.975], axis=1).T, rtol=0.015)


def test_of_a_regression_errors_are_by_the_delta_method(lung):
    res = tg.fit("Surv(time, event) ~ age + sex", lung, family="weibull")
    rng, V = np.random.default_rng(4), res._parts.covariance
    change = rng.standard_normal((40_000, len(V))) @ np.linalg.cholesky(V).T
    x, centre = res._parts.maximum.parameters + change, res._parts.centre
    f, sigma = (np.column_stack([np.ones(3), NEW]) - centre) @ x[:, :3].T, np.exp(x[:, 3])
    left = np.exp(f) * ((300.0 / np.exp(f)) ** (1 / sigma) + np.log(2.0)) ** sigma - 300.0
    table = res.predict_median(NEW, conditional_after=300.0, interval=0.95)
    np.testing.assert_allclose(table[["lower", "upper"]], np.quantile(left, [0.025, 0.975], axis=1).T, rtol=0.03)
    np.testing.assert_allclose(table["estimate"], table["median"])


@pytest.mark.slow
def test_mixtures_have_bands_and_counts_have_none(lung):
    res = tg.fit("Surv(time, event) ~ mixture(2)", lung, family="weibull")
    for after in (None, 200.0):
        table = res.predict_median(interval=0.9, conditional_after=after)
        assert (table["lower"] < table["median"]).all()
        assert (table["median"] < table["upper"]).all()
    there = res.predict(lung.head(1), "median", interval=0.9)
    np.testing.assert_allclose(res.predict_median(interval=0.9)[["lower", "upper"]], there[["lower", "upper"]])
    counts = tg.fit("y ~ mixture(1)", {"y": np.random.default_rng(1).poisson(4.0, 60)}, family="poisson")
    with pytest.raises(SpecError, match="percentile of counts"):
        counts.predict_median(interval=0.9)


def test_missing_rows_and_bad_levels(process):
    table = process.predict_median(NEW.assign(age=[45.0, np.nan, 75.0]), interval=0.9, conditional_after=10.0)
    assert table.isna().all(axis=1).tolist() == [False, True, False]
    with pytest.raises(SpecError, match="interval=2"):
        process.predict_median(NEW, interval=2)
