"""A user's own noise distribution: against the same one of the package, quadrature, and wrong densities."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, log_expit, log_ndtr

import tobitgp as tg
from tobitgp.errors import SpecError
from tobitgp.likelihoods.custom_noise import FunctionNoise


def logistic_density(z):
    return log_expit(z) + log_expit(-z)


def logistic_survival(z):
    return log_expit(-z)


LOGISTIC = tg.CustomNoise("mine", logistic_density, logistic_survival, log_expit)


def skewed_density(z):
    return np.log(2.0) + 2.0 * log_expit(z) + log_expit(-z)


def skewed_survival(z):
    return log_expit(-z) + np.log1p(expit(z))


SKEWED = tg.CustomNoise("skewed", skewed_density, skewed_survival)


def data(n=80):
    rng = np.random.default_rng(2)
    x = rng.uniform(-1.0, 1.0, n)
    y = np.maximum(np.sin(2.0 * x) + 0.3 * rng.logistic(size=n), -0.4)
    return {"x": x, "y": y, "t": np.exp(y)}


def test_regressions_are_those_of_the_known_family():
    for formula, name, positive in (("y ~ x | censor(-0.4)", "logistic", False), ("t ~ x", "loglogistic", True)):
        noise = tg.CustomNoise("mine", logistic_density, logistic_survival, log_expit, positive=positive)
        own, known = (tg.fit(formula, data(), family=family) for family in (noise, name))
        assert own.llf == pytest.approx(known.llf, abs=1e-8)
        np.testing.assert_allclose(own.bse, known.bse, rtol=1e-4)
        np.testing.assert_allclose(own.predict(None, "uncensored"), known.predict(None, "uncensored"), rtol=1e-7)
        assert own.parts.family.name == "mine"


@pytest.mark.parametrize("method", ["ep", pytest.param("vi", marks=pytest.mark.slow), "laplace"])
def test_processes_are_those_of_the_known_family(method):
    at = {"sd(gp(x))": 1.0, "lengthscale(gp(x))": 0.8, "sigma": 0.3}
    own, known = (
        tg.fit("y ~ gp(x) | censor(-0.4)", data(40), family=family, method=method, fixed=at)
        for family in (LOGISTIC, "logistic")
    )
    assert own.log_evidence == pytest.approx(known.log_evidence, abs=1e-6)
    np.testing.assert_allclose(own.predict(None, "median"), known.predict(None, "median"), atol=1e-6)


def test_lower_tails_are_integrals_of_the_density():
    """Far out too, where 1 - survival has no digits left."""
    z = np.array([-300.0, -80.0, -20.0, -5.0, -1.0, 0.0, 2.0, 40.0])
    np.testing.assert_allclose(FunctionNoise(SKEWED).log_cdf(z), 2.0 * log_expit(z), rtol=1e-9, atol=1e-14)
    normal = tg.CustomNoise("normal", lambda z: -0.5 * z * z - 0.5 * np.log(2.0 * np.pi), lambda z: log_ndtr(-z))
    np.testing.assert_allclose(FunctionNoise(normal).log_cdf(z[1:7]), log_ndtr(z[1:7]), rtol=1e-9)


def test_left_censored_rows_without_a_log_cdf():
    res = tg.fit("y ~ x | censor(-0.4)", data(), family=SKEWED)
    y, eta, sigma = data()["y"], res.predict(None, "latent").to_numpy(), res.params["sigma"]
    z = (y - eta) / sigma
    wanted = np.where(y > -0.4, skewed_density(z) - np.log(sigma), 2.0 * log_expit(z)).sum()
    assert res.llf == pytest.approx(wanted, abs=1e-9)
    mean = sum(quad(lambda z: z * np.exp(skewed_density(z)), *ends)[0] for ends in ((-60, 0), (0, 60)))
    np.testing.assert_allclose(res.predict(None, "uncensored"), eta + sigma * mean, rtol=1e-8)


@pytest.mark.parametrize(
    ("functions", "words"),
    [
        ((lambda z: skewed_density(z) + 0.1, skewed_survival), "integrates to 1.10517"),
        ((skewed_density, lambda z: log_expit(-z)), r"logsf=.*above z = -3"),
        ((skewed_density, skewed_survival, log_expit), r"logcdf=.*below z"),
        (
            (lambda z: np.logaddexp(-2 * (z - 2) ** 2, -2 * (z + 2) ** 2) - 0.5 * np.log(2 * np.pi), skewed_survival),
            "modes",
        ),
        ((lambda z: np.log(z), skewed_survival), "finite between -3 and 3"),
        ((lambda z: float(z), skewed_survival), "fails for an array"),
        ((1.0, skewed_survival), "a function of an array"),
    ],
)
def test_wrong_functions_give_one_error(functions, words):
    with pytest.raises(SpecError, match=words):
        tg.CustomNoise("wrong", *functions)


def test_such_fits_are_not_saved(tmp_path):
    res = tg.fit("y ~ x | censor(-0.4)", data(), family=LOGISTIC)
    with pytest.raises(SpecError, match="cannot be saved"):
        res.save(tmp_path / "fit.tgp")
