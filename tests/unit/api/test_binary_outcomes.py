"""Binary outcomes as intervals on either side of 0, with a noise of standard deviation 1: the probit model."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.stats import norm
from support.sequential_ep import sequential_ep

import tobitgp as tg
from tobitgp.errors import BoundaryWarning

SD, LENGTHSCALE = 1.3, 0.8
FIXED = {"sigma": 1.0, "sd(gp(x))": SD, "lengthscale(gp(x))": LENGTHSCALE}


def data(n):
    rng = np.random.default_rng(3)
    x = rng.normal(size=n)
    y = 0.4 + x + rng.normal(size=n) > 0.0
    return x, y, pd.DataFrame({"x": x, "low": np.where(y, 0.0, -np.inf), "high": np.where(y, np.inf, 0.0)})


def test_a_regression_is_that_of_statsmodels():
    x, y, frame = data(200)
    res = tg.fit("interval(low, high) ~ x", frame, fixed={"sigma": 1.0})
    theirs = sm.Probit(y.astype(float), sm.add_constant(x)).fit(disp=0)
    np.testing.assert_allclose(res.params[["Intercept", "x"]], theirs.params, rtol=1e-7)
    np.testing.assert_allclose(res.bse[["Intercept", "x"]], theirs.bse, rtol=1e-6)
    assert res.llf == pytest.approx(theirs.llf, rel=1e-10)
    found = res.predict({"x": [0.0, 1.0]}, "prob", above=0.0)
    np.testing.assert_allclose(found, theirs.predict([[1.0, 0.0], [1.0, 1.0]]), rtol=1e-7)


def test_a_process_is_own_ep():
    x, y, frame = data(14)
    with pytest.warns(BoundaryWarning, match="No row is exact"):
        res = tg.fit("interval(low, high) ~ 0 + gp(x, line=False, approximation='dense')", frame, fixed=FIXED)
    K = SD**2 * np.exp(-0.5 * ((x[:, None] - x) / LENGTHSCALE) ** 2)
    own = sequential_ep(K, np.zeros(14), np.where(y, 1, -1), 1.0)
    found = res.predict(None, "latent", se=True)
    np.testing.assert_allclose(found["estimate"], own.mean, atol=1e-6)
    np.testing.assert_allclose(found["se"], np.sqrt(own.var), atol=1e-6)
    assert res.log_evidence == pytest.approx(own.evidence, abs=1e-6)
    expected = norm.cdf(own.mean / np.sqrt(1.0 + own.var))
    np.testing.assert_allclose(res.predict(None, "prob", above=0.0), expected, atol=1e-6)
