"""Calibration slopes, against Poisson regressions of statsmodels, models whose slope is known, and a likelihood."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.optimize import minimize
from scipy.stats import norm

import tobitgp as tg
from tobitgp.errors import DataError, SpecError
from tobitgp.metrics import calibration_slope


def sample(n, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1.5, 1.5, n)
    T, C = rng.exponential(np.exp(-x)), rng.exponential(1.5, size=n)
    return x, np.minimum(T, C), (T <= C).astype(int)


def frame(rate, last=2.5):
    grid = np.linspace(0.001, last, 2000)
    return pd.DataFrame(np.exp(-np.outer(grid, rate)), index=grid)


@pytest.mark.parametrize("late", [False, True])
def test_slope_is_that_of_a_poisson_regression(late):
    x, t, e = sample(300)
    rate, entry = np.exp(2.0 * x - 0.3), 0.5 * t * late
    found = calibration_slope((t, e), frame(rate, 8.0), 1.5, entry=entry if late else None)
    used = entry < 1.5  # of the others nothing is known by then
    d, E, eta = e * (t <= 1.5), (np.minimum(t, 1.5) - entry) * rate, 2.0 * x
    d, E, eta = d[used], E[used], eta[used]
    how = {"family": sm.families.Poisson()}
    slope = sm.GLM(d, sm.add_constant(eta), offset=np.log(E) - eta, **how).fit(tol=1e-12)
    large = sm.GLM(d, np.ones(len(d)), offset=np.log(E), **how).fit(tol=1e-12)
    # Linear interpolation between 2000 times is exact to four digits.
    np.testing.assert_allclose(found["estimate"], [large.params[0], slope.params[1]], rtol=3e-3)
    np.testing.assert_allclose(found["se"], [large.bse[0], slope.bse[1]], rtol=1e-3)


def test_slopes_that_are_known():
    x, t, e = sample(4000, 2)
    rows = np.minimum(t, 2.4), e * (t <= 2.4)
    right = calibration_slope(rows, frame(np.exp(x)), 2.0)
    assert (np.abs(right["estimate"] - [0.0, 1.0]) < 2.5 * right["se"]).all()
    too_far = calibration_slope(rows, frame(0.5 * np.exp(2.0 * x)), 2.0)
    assert abs(too_far.loc["slope", "estimate"] - 0.5) < 2.5 * too_far.loc["slope", "se"]
    high = calibration_slope(rows, frame(2.0 * np.exp(x)), 2.0)
    assert abs(high.loc["in the large", "estimate"] + np.log(2.0)) < 2.5 * high.loc["in the large", "se"]


def test_copies_are_rows_and_messages():
    x, t, e = sample(60)
    t, e = np.minimum(t, 2.4), e * (t <= 2.4)
    w = np.tile([1, 2, 0], 20)
    copies = np.repeat(np.arange(60), w)
    one = calibration_slope((t, e), frame(np.exp(x)), 2.0, weights=w)
    np.testing.assert_allclose(one, calibration_slope((t[copies], e[copies]), frame(np.exp(x))[copies], 2.0), rtol=1e-9)
    for rate, time, words in ((np.exp(x), 1e-9, "no row had its event"), (np.ones(60), 2.0, "the same for all rows")):
        with pytest.raises(DataError, match=words):
            calibration_slope((t, e), frame(rate), time)


@pytest.mark.parametrize("time", [[1.0, 2.0], np.array([1.0]), "1", None, True, np.nan, np.inf])
def test_one_time_is_asked_for(time):
    x, t, e = sample(60)
    with pytest.raises(SpecError, match=r"time=.*: must be one number\. For several times, call once for each"):
        calibration_slope((t, e), frame(np.exp(x)), time)


def test_slope_of_a_censored_regression_is_a_fit_of_the_response_on_predictions():
    rng = np.random.default_rng(4)
    x = rng.normal(size=300)
    y = np.maximum(0.5 + x + rng.normal(size=300), 0.0)
    m = 0.2 + 1.5 * x  # predictions that go too far
    res = tg.fit("y ~ predicted | censor(0)", {"y": y, "predicted": m})

    def minus(b):
        z = (y - b[0] - b[1] * m) / np.exp(b[2])
        return -np.where(y > 0.0, norm.logpdf(z) - b[2], norm.logcdf(z)).sum()

    own = minimize(minus, np.zeros(3), method="BFGS", options={"gtol": 1e-7})
    np.testing.assert_allclose(res.params.iloc[:2], own.x[:2], atol=1e-5)
    np.testing.assert_allclose(res.bse["predicted"], np.sqrt(own.hess_inv[1, 1]), rtol=0.05)
    assert res.wald_test("Intercept = 0, predicted = 1").pvalue < 1e-6
