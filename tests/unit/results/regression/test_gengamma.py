"""Generalised gamma regressions: the maximum, what lies inside the family, rows of every kind, and storage."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import gammaincc, gammaln
from support.reference import load

import tobitgp as tg
from tobitgp.errors import BoundaryWarning, SpecError

FORMULA = "Surv(time, event) ~ age + sex + ph_ecog"
CASE = load("event_histories.json")["cases"]["lung_flexsurv_gengamma"]


@pytest.fixture(scope="module")
def lung():
    return tg.datasets.load("lung").dropna(subset=["ph_ecog"])


@pytest.fixture(scope="module")
def res(lung):
    return tg.fit(FORMULA, lung, family="gengamma")


def log_likelihood(data, x):
    """Prentice's formula at coefficients, log sigma and Q > 0."""
    X = np.column_stack([np.ones(len(data)), data[["age", "sex", "ph_ecog"]]])
    t, sigma, Q = data["time"].to_numpy(float), np.exp(x[4]), x[5]
    w, u = (np.log(t) - X @ x[:4]) / sigma, Q**-2.0
    density = np.log(Q / (sigma * t)) + u * np.log(u) - gammaln(u) + u * (Q * w - np.exp(Q * w))
    return np.where(data["event"] == 1, density, np.log(gammaincc(u, u * np.exp(Q * w)))).sum()


def test_the_maximum(lung, res):
    """flexsurv stops 0.007 below it: its own likelihood there, and by Nelder and Mead's method from there."""
    estimates = np.array(CASE["estimates"]["values"])[:, 0]
    theirs = np.array([estimates[0], *estimates[3:], np.log(estimates[1]), estimates[2]])
    assert log_likelihood(lung, theirs) == pytest.approx(CASE["loglik"], abs=1e-8)
    options = {"xatol": 1e-9, "fatol": 1e-12, "maxiter": 20_000, "maxfev": 20_000}
    found = minimize(lambda x: -log_likelihood(lung, x), theirs, method="Nelder-Mead", options=options)
    assert res.llf == pytest.approx(-found.fun, abs=1e-9)
    np.testing.assert_allclose(res.params, [*found.x[:4], np.exp(found.x[4]), found.x[5]], rtol=2e-6)
    np.testing.assert_allclose(
        res.bse[["sex", "ph_ecog", "Q"]], np.array(CASE["estimates"]["values"])[[4, 5, 2], 3], rtol=0.01
    )


def test_predictions_at_the_estimates_of_flexsurv(lung):
    mu, sigma, Q, age, sex, ph_ecog = np.array(CASE["estimates"]["values"])[:, 0]
    fixed = {"Intercept": mu, "age": age, "sex": sex, "ph_ecog": ph_ecog, "sigma": sigma, "Q": Q}
    at, new = tg.fit(FORMULA, lung, family="gengamma", fixed=fixed), pd.DataFrame(CASE["newdata"])
    assert at.llf == pytest.approx(CASE["loglik"], abs=1e-8)
    survival, hazard = at.predict_survival_function(new, CASE["times"]), at.predict_hazard(new, CASE["times"])
    np.testing.assert_allclose(survival.T, list(CASE["survival"].values()), rtol=1e-10)
    np.testing.assert_allclose(hazard.T, list(CASE["hazard"].values()), rtol=1e-10)


@pytest.mark.parametrize(("family", "Q"), [("weibull", 1.0), ("lognormal", 0.0)])
def test_families_inside(lung, res, family, Q):
    inside = tg.fit(FORMULA, lung, family=family)
    for known in (
        tg.fit(FORMULA, lung, family=tg.GenGamma(Q)),
        tg.fit(FORMULA, lung, family="gengamma", fixed={"Q": Q}),
    ):
        assert "Q" not in known.params
        assert known.llf == pytest.approx(inside.llf, abs=1e-9)
        np.testing.assert_allclose(known.params, inside.params, rtol=1e-7)
        np.testing.assert_allclose(known.bse, inside.bse, rtol=1e-6)
    test = res.lr_test(inside)
    assert (test.statistic, test.df) == (pytest.approx(2.0 * (res.llf - inside.llf)), 1)
    with pytest.raises(SpecError, match="not nested"):
        inside.lr_test(res)
    with pytest.raises(SpecError, match="not nested"):
        res.lr_test(tg.fit(FORMULA, lung, family="loglogistic"))


def test_wald_interval_and_test_of_the_shape(res):
    """On its own scale: it may hold 0 and 1, and z is against 0, log-normal times."""
    frame = res.summary_frame()
    coef, error = frame.loc["Q", ["coef", "std err"]]
    assert frame.loc["Q", "z"] == pytest.approx(coef / error)
    np.testing.assert_allclose(
        frame.loc["Q", ["lower", "upper"]], coef + 1.959964 * error * np.array([-1.0, 1.0]), rtol=1e-6
    )
    assert frame.loc["Q", "lower"] < 1.0 < frame.loc["Q", "upper"]
    assert np.isnan(frame.loc["sigma", "z"])
    assert "the interval of sigma is formed on the log scale" in " ".join(str(res.summary()).split())


@pytest.mark.parametrize("Q", [-0.8, 0.0, 0.7])
def test_shapes_of_every_sign_are_found(Q):
    rng = np.random.default_rng(11)
    n = 1500
    x = rng.normal(size=n)
    t = np.exp(1.0 + 0.5 * x + 0.6 * tg.likelihoods.families.GenGammaNoise(Q).ppf(rng.random(n)))
    low = np.where(t < 1.0, 0.0, np.where(t < 6.0, t, 6.0))
    high = np.where(t < 1.0, 1.0, np.where(t < 6.0, t, np.inf))
    low, high = np.where((t > 2.0) & (t < 4.0), 2.0, low), np.where((t > 2.0) & (t < 4.0), 4.0, high)
    fit = tg.fit("interval(lo, hi) ~ x", pd.DataFrame({"x": x, "lo": low, "hi": high}), family="gengamma")
    assert min(fit.counts[kind] for kind in ("exact", "right", "interval")) > 50
    for name, value in {"Intercept": 1.0, "x": 0.5, "sigma": 0.6, "Q": Q}.items():
        assert abs(fit.params[name] - value) < 3.5 * fit.bse[name]


@pytest.mark.slow
def test_errors_of_the_shape_are_its_spread_over_samples():
    """Late entry and right censoring; 120 samples."""
    rng, found, errors = np.random.default_rng(5), [], []
    for _ in range(120):
        t = np.exp(1.0 + 0.8 * tg.likelihoods.families.GenGammaNoise(0.4).ppf(rng.random(900)))
        entry = rng.uniform(0.0, 2.0, 900)
        data = pd.DataFrame({"t": np.minimum(t, 8.0), "e": t < 8.0, "entry": entry})[t > entry]
        fit = tg.fit("Surv(entry, t, e) ~ 1", data, family="gengamma")
        found.append(fit.params["Q"])
        errors.append(fit.bse["Q"])
    assert np.mean(found) == pytest.approx(0.4, abs=0.08)
    assert np.mean(errors) == pytest.approx(np.std(found), rel=0.25)


def test_a_shape_without_a_finite_estimate_is_held_at_its_bound():
    """Times of density rising like t^3 up to a sharp end."""
    t = 10.0 * np.random.default_rng(2).random(300) ** 0.25
    with pytest.warns(BoundaryWarning, match="Q grew beyond 10, where it is held: times have a sharp upper end"):
        fit = tg.fit("Surv(t, e) ~ 1", pd.DataFrame({"t": t, "e": True}), family="gengamma")
    assert fit.params["Q"] == pytest.approx(10.0)
    assert "(at bound)" in str(fit.summary())


@pytest.mark.parametrize("Q", [None, "1", np.nan, 11.0, True])
def test_what_is_no_shape(lung, Q):
    with pytest.raises(SpecError, match=r"Q must be a number from -10 to 10"):
        tg.GenGamma(Q)
