"""A question registered at run time, one row of the registry, is answered by every kind of fit."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import tobitgp as tg
from tobitgp.posterior.questions import QUESTIONS, Question

ORDERS = np.linspace(0.01, 0.99, 50)
GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)


def mode_of(y):
    """Where the density is largest, between neighbours of the best of some quantiles by golden sections."""
    x = np.stack([np.atleast_1d(y.ppf(float(p))) for p in ORDERS])
    best = np.argmax(np.stack([y.logpdf(row) for row in x]), axis=0)[None]
    low, high = (np.take_along_axis(x, np.clip(best + step, 0, len(x) - 1), 0)[0] for step in (-1, 1))
    for _ in range(80):
        step = GOLDEN * (high - low)
        left = y.logpdf(high - step) >= y.logpdf(low + step)
        low, high = np.where(left, low, high - step), np.where(left, low + step, high)
    return 0.5 * (low + high)


def mode(positive):
    if positive:
        return Question(lambda y: np.log(mode_of(y)), "log")
    return Question(mode_of)


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setitem(QUESTIONS, "mode", mode)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    x = rng.uniform(0.0, 4.0, 120)
    time, limit = np.exp(1.0 + np.sin(x)) * rng.weibull(2.5, 120), rng.exponential(12.0, 120)
    y = np.sin(x) + 0.3 * rng.standard_normal(120)
    return {"x": x, "y": np.minimum(y, 0.9), "time": np.minimum(time, limit), "event": time <= limit}


NEW = {"x": [0.5, 2.0, 3.5]}


def test_regressions(data):
    res = tg.fit("y ~ x | censor(upper=0.9)", data)
    found, latent = (res.predict(NEW, what, interval=0.9) for what in ("mode", "latent"))
    np.testing.assert_allclose(found, latent, rtol=1e-5, atol=1e-6)
    weibull = tg.fit("Surv(time, event) ~ x", data, family="weibull")
    sigma = weibull.params["sigma"]
    found, median = weibull.predict(NEW, "mode", se=True), weibull.predict(NEW, "median")
    np.testing.assert_allclose(found["estimate"], median * ((1.0 - sigma) / np.log(2.0)) ** sigma, rtol=1e-6)
    slope = np.log1p(-sigma) - sigma / (1.0 - sigma)  # of its logarithm in sigma
    G = np.column_stack([np.ones(3), NEW["x"], np.full(3, slope)])
    error = np.sqrt(np.einsum("ni,ij,nj->n", G, weibull.cov_params().to_numpy(), G))
    np.testing.assert_allclose(found["se"], error * found["estimate"], rtol=1e-5)


@pytest.mark.slow
def test_processes(data):
    res = tg.fit("Surv(time, event) ~ gp(x)", data, family="lognormal", fixed={"sigma": 0.4})
    f = res.predict(NEW, "latent", se=True)
    assert len(res.parts.fitted.points) > 1
    exact = res.predict(NEW, "mode", interval=0.9)
    for i in range(3):
        row = {"x": [NEW["x"][i]]}

        def minus_density(log_t, row=row):
            at = np.exp(log_t) * np.array([1.0 - 1e-4, 1.0 + 1e-4])
            S = res.predict_survival_function(row, at)[0].to_numpy()
            return -(S[0] - S[1]) / (at[1] - at[0])

        want = np.exp(
            minimize_scalar(minus_density, bounds=(f["estimate"][i] - 2.0, f["estimate"][i] + 2.0), method="bounded").x
        )
        np.testing.assert_allclose(exact["estimate"][i], want, rtol=1e-3)
    # given f and sigma the mode is exp(f - sigma^2)
    ends = np.exp(res.predict(NEW, "latent", interval=0.9)[["lower", "upper"]] - 0.16)
    np.testing.assert_allclose(exact["lower"], np.minimum(ends["lower"], exact["estimate"]), rtol=1e-5)
    np.testing.assert_allclose(exact["upper"], ends["upper"], rtol=1e-5)
    median = res.predict(NEW, "median", se=True)["se"]
    np.testing.assert_allclose(exact["se"], median * np.exp(-0.16), rtol=1e-6)


@pytest.mark.slow
def test_mixtures(data):
    res = tg.fit("y ~ mixture(2)", {"y": np.random.default_rng(4).normal([-2.0, 1.0, 1.0], 0.7, (60, 3)).ravel()})
    found = res.predict(what="mode", se=True)
    grid = np.linspace(-5.0, 5.0, 100_001)
    np.testing.assert_allclose(found["estimate"], grid[np.argmax(res.predictive.pdf(grid))], atol=2e-4)
    assert (found["se"] > 0.0).all()


def test_an_unknown_question_is_still_refused(data):
    with pytest.raises(tg.errors.SpecError, match="'mode'"):
        tg.fit("y ~ x", data).predict(NEW, "modus")
