"""Binary outcomes as intervals on either side of 0, with a noise of standard deviation 1: the probit model."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.stats import norm

import tobitgp as tg
from tobitgp.errors import BoundaryWarning

SD, LENGTHSCALE = 1.3, 0.8
FIXED = {"sigma": 1.0, "sd(gp(x))": SD, "lengthscale(gp(x))": LENGTHSCALE}


def data(n):
    rng = np.random.default_rng(3)
    x = rng.normal(size=n)
    y = 0.4 + x + rng.normal(size=n) > 0.0
    return x, y, pd.DataFrame({"x": x, "low": np.where(y, 0.0, -np.inf), "high": np.where(y, np.inf, 0.0)})


def own_ep(K, sign, sweeps=200):
    """Sequential EP of the probit likelihood (Rasmussen and Williams 2006, algorithm 3.5): mean, variance, log Z."""
    n = len(sign)
    tau, nu, S, m = np.zeros(n), np.zeros(n), K.copy(), np.zeros(n)
    for _ in range(sweeps):
        for i in range(n):
            cavity = 1.0 / S[i, i] - tau[i]
            mean, var = (m[i] / S[i, i] - nu[i]) / cavity, 1.0 / cavity
            z = sign[i] * mean / np.sqrt(1.0 + var)
            ratio = np.exp(norm.logpdf(z) - norm.logcdf(z))
            new_mean = mean + sign[i] * var * ratio / np.sqrt(1.0 + var)
            new_var = var - var**2 * ratio * (z + ratio) / (1.0 + var)
            tau[i], nu[i] = 1.0 / new_var - cavity, new_mean / new_var - mean * cavity
            S = np.linalg.inv(np.linalg.inv(K) + np.diag(tau))
            m = S @ nu
    cavity = 1.0 / np.diag(S) - tau
    mean, var = (m / np.diag(S) - nu) / cavity, 1.0 / cavity
    log_Z = norm.logcdf(sign * mean / np.sqrt(1.0 + var)) + 0.5 * np.log1p(tau * var)
    log_Z += 0.5 * (mean - nu / tau) ** 2 / (var + 1.0 / tau)
    normal = -0.5 * np.linalg.slogdet(np.eye(n) + tau[:, None] * K)[1]
    target = nu / tau
    fit = -0.5 * target @ np.linalg.solve(K + np.diag(1.0 / tau), target)
    return m, np.diag(S), log_Z.sum() + normal + fit


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
    mean, var, log_Z = own_ep(K + 1e-10 * np.eye(14), np.where(y, 1.0, -1.0))
    found = res.predict(None, "latent", se=True)
    np.testing.assert_allclose(found["estimate"], mean, atol=1e-4)
    np.testing.assert_allclose(found["se"], np.sqrt(var), atol=1e-4)
    assert res.log_evidence == pytest.approx(log_Z, abs=1e-4)
    expected = norm.cdf(mean / np.sqrt(1.0 + var))
    np.testing.assert_allclose(res.predict(None, "prob", above=0.0), expected, atol=1e-4)
