"""A noise distribution registered at run time, with nothing but its density and tails, answers every question."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import expit, log_expit
from support.methods import having

import tobitgp as tg
from tobitgp.distributions.standard_noise import Distribution
from tobitgp.likelihoods import FAMILIES, Family

LIMIT = 0.5


@dataclass(frozen=True, slots=True)
class SkewedLogistic(Distribution):
    """``F(z) = expit(z) ** 2``."""

    name: ClassVar[str] = "skewed"

    def logpdf(self, z):
        return np.log(2.0) + 2.0 * log_expit(z) + log_expit(-z)

    def log_cdf(self, z):
        return 2.0 * log_expit(z)

    def log_sf(self, z):
        return log_expit(-z) + np.log1p(expit(z))


def pdf(z):
    return float(np.exp(SkewedLogistic().logpdf(np.asarray(z))))


def cdf(z):
    return float(np.exp(SkewedLogistic().log_cdf(np.asarray(z))))


def expected(g):
    """E g(Z)."""
    return sum(quad(lambda z: g(z) * pdf(z), *ends, epsabs=1e-13, limit=400)[0] for ends in ((-60, 0), (0, 60)))


@pytest.fixture(scope="module")
def registered():
    with pytest.MonkeyPatch.context() as patch:
        for name, log_time in (("skewed", False), ("logskewed", True)):
            patch.setitem(FAMILIES, name, Family(name, SkewedLogistic(), log_time=log_time))
        yield


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    x = rng.uniform(-1.0, 1.0, 200)
    z = -np.log(rng.uniform(size=200) ** (-1.0 / 2.0) - 1.0)
    return pd.DataFrame({"x": x, "y": np.maximum(1.0 + x + 0.5 * z, LIMIT), "t": np.exp(1.0 + x + 0.3 * z)})


@pytest.fixture(scope="module")
def regression(registered, data):
    return tg.fit(f"y ~ x | censor({LIMIT})", data, family="skewed")


@pytest.fixture(scope="module")
def process(registered, data):
    fixed = {"sd(gp(x))": 1.0, "lengthscale(gp(x))": 0.8, "sigma": 0.5}
    return tg.fit(f"y ~ gp(x) | censor({LIMIT})", data, family="skewed", fixed=fixed)


NEW = {"x": [-0.9, 0.0, 0.7]}
QUESTIONS = {
    "uncensored": ({}, lambda f, s: f + s * expected(lambda z: z)),
    "median": ({}, lambda f, s: f + s * brentq(lambda z: cdf(z) - 0.5, -9, 9, xtol=1e-14)),
    "quantile": ({"q": 0.9}, lambda f, s: f + s * brentq(lambda z: cdf(z) - 0.9, -9, 9, xtol=1e-14)),
    "prob": ({"above": 1.7}, lambda f, s: 1.0 - cdf((1.7 - f) / s)),
    "observed": ({}, lambda f, s: expected(lambda z: max(f + s * z, LIMIT))),
}


@pytest.mark.parametrize("what", QUESTIONS)
def test_a_regression_predicts_by_quadrature(regression, what):
    options, truth = QUESTIONS[what]
    eta, sigma = regression.predict(NEW, "latent"), regression.params["sigma"]
    found = regression.predict(NEW, what, se=True, **options)
    if what == "observed":  # kinks are where quadrature is told
        truth = lambda f, s: LIMIT + s * quad(lambda z: 1.0 - cdf(z), (LIMIT - f) / s, 60, epsabs=1e-13, limit=400)[0]  # noqa: E731
    np.testing.assert_allclose(found["estimate"], [truth(f, sigma) for f in eta], rtol=1e-8)
    moved = [[truth(f + h, sigma) for f in eta] for h in (-1e-4, 1e-4)]
    assert np.isfinite(found["se"]).all()
    assert (np.diff(moved, axis=0) != 0).all()


def test_a_regression_is_at_the_maximum_of_its_likelihood(regression, data):
    y, exact = data["y"].to_numpy(), data["y"].to_numpy() > LIMIT

    def log_likelihood(p):
        z = (y - p[0] - p[1] * data["x"].to_numpy()) / p[2]
        distribution = SkewedLogistic()
        return float(np.where(exact, distribution.logpdf(z) - np.log(p[2]), distribution.log_cdf(z)).sum())

    best = regression.params.to_numpy()
    assert np.isclose(regression.llf, log_likelihood(best), rtol=1e-12)
    for k in range(3):
        step = np.eye(3)[k] * 1e-3
        assert log_likelihood(best + step) < regression.llf > log_likelihood(best - step)


@pytest.mark.parametrize("what", QUESTIONS)
def test_a_process_predicts_by_quadrature_over_f(process, what):
    options, truth = QUESTIONS[what]
    latent = process.predict(NEW, "latent", se=True)
    found = process.predict(NEW, what, **options)
    if what == "observed":
        truth = lambda f, s: LIMIT + s * quad(lambda z: 1.0 - cdf(z), (LIMIT - f) / s, 60, epsabs=1e-12, limit=400)[0]  # noqa: E731

    def over_f(m, s, g):
        nodes, weights = np.polynomial.hermite_e.hermegauss(80)
        return float(np.sum(weights * [g(m + s * x) for x in nodes]) / weights.sum())

    for m, s, value in zip(latent["estimate"], latent["se"], found, strict=True):
        if what in ("median", "quantile"):
            q = options.get("q", 0.5)
            assert np.isclose(over_f(m, s, lambda f, v=value: cdf((v - f) / 0.5)), q, rtol=1e-8)
        else:
            assert np.isclose(value, over_f(m, s, lambda f: truth(f, 0.5)), rtol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["ep", "vi", "laplace"])
def test_every_method_fits(registered, data, method):
    res = tg.fit(
        f"y ~ gp(x) | censor({LIMIT})", data.head(80), family="skewed", method=having(method, hyper="maximize")
    )
    assert res.converged
    assert abs(res.hyperparameters["sigma"] - 0.5) < 0.2


def test_times_have_its_exponential(registered, data):
    res = tg.fit("t ~ x", data, family="logskewed")
    eta, sigma = res.predict(NEW, "latent"), res.params["sigma"]
    truth = [np.exp(f) * expected(lambda z: np.exp(sigma * z)) for f in eta]
    np.testing.assert_allclose(res.predict(NEW, "uncensored"), truth, rtol=1e-8)
    curve = res.predict_survival_function(NEW, [2.0, 5.0])
    wanted = [[1.0 - cdf((np.log(t) - f) / sigma) for f in eta] for t in (2.0, 5.0)]
    np.testing.assert_allclose(curve, wanted, rtol=1e-10)
    y = res.sample({"x": [0.0]}, draws=20_000, rng=1).to_numpy().ravel()
    assert np.isclose(np.median(y), res.predict({"x": [0.0]}, "median")[0], rtol=0.02)


@pytest.mark.slow
def test_residuals_and_check_judge_it(regression, process):
    for res in (regression, process):
        scores = res.residuals("quantile")
        assert abs(scores.mean()) < 0.2
        assert 0.8 < scores.std() < 1.2
        assert res.residuals("deviance" if res is regression else "pearson").notna().all()
        assert "calibration" in res.check().table.index
