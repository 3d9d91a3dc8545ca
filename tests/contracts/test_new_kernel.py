"""A kernel registered at run time is fitted, predicts and saves as the others do."""

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import approx_fprime

import tobitgp as tg
from tobitgp.formula.functions import KERNEL_NAMES
from tobitgp.priors.kernels import KERNELS, radial


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    """``1 / (1 + r^2)``, with minus its slope over r."""
    monkeypatch.setitem(KERNELS, "cauchy", radial(lambda r2: 1.0 / (1.0 + r2), lambda r2, k: 2.0 * k * k))
    monkeypatch.setattr("tobitgp.formula.gp.KERNEL_NAMES", [*KERNEL_NAMES, "cauchy"])


@pytest.fixture
def data():
    rng = np.random.default_rng(1)
    x = np.sort(rng.uniform(0.0, 6.0, 40))
    return {"x": x, "y": np.sin(2.0 * x) + 0.2 * rng.standard_normal(40)}


FORMULA = "y ~ 0 + gp(x, kernel='cauchy', line=False)"
FIXED = {"sd(gp(x))": 1.2, "lengthscale(gp(x))": 0.7, "sigma": 0.25}


def covariance(x, z):
    return 1.44 / (1.0 + ((x[:, None] - z) / 0.7) ** 2)


def test_evidence_and_predictions_are_those_of_dense_algebra(data, tmp_path):
    res = tg.fit(FORMULA, data, fixed=FIXED, method=tg.EP(inducing=None))
    x, new = data["x"], np.array([0.3, 2.2, 7.0])
    V = covariance(x, x) + 0.0625 * np.eye(40)
    assert res.log_evidence == pytest.approx(stats.multivariate_normal.logpdf(data["y"], np.zeros(40), V), abs=1e-6)
    C = covariance(new, x)
    found = res.predict({"x": new}, "latent", se=True)
    np.testing.assert_allclose(found["estimate"], C @ np.linalg.solve(V, data["y"]), atol=1e-6)
    left = covariance(new, new) - C @ np.linalg.solve(V, C.T)
    np.testing.assert_allclose(found["se"], np.sqrt(np.diag(left)), atol=1e-6)
    res.save(tmp_path / "cauchy.tgp")
    again = tg.load(tmp_path / "cauchy.tgp").predict({"x": new}, "latent", se=True)
    np.testing.assert_array_equal(again, found)


def test_gradients_are_those_of_differences(data):
    names, model = list(FIXED), tg.Model(FORMULA, data)

    def value(theta):
        return model.evidence(dict(zip(names, theta, strict=True)), method=tg.EP(inducing=None), gradient=False).value

    at = np.array(list(FIXED.values()))
    found = model.evidence(FIXED, method=tg.EP(inducing=None)).gradient
    np.testing.assert_allclose(found[names], approx_fprime(at, value, 1e-6), rtol=1e-3)


def test_a_fit_finds_the_curve(data):
    res = tg.fit("y ~ gp(x, kernel='cauchy') | censor(upper=0.8)", {**data, "y": np.minimum(data["y"], 0.8)})
    error = res.predict(what="latent") - np.sin(2.0 * data["x"])
    assert np.sqrt(np.mean(error**2)) < 0.25
