"""Hypotheses about positive parameters, against own likelihoods and R's numbers."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import chi2

import tobitgp as tg
from tobitgp.errors import SpecError

REFERENCE = Path(__file__).parents[2] / "reference"
CASE = json.loads((REFERENCE / "event_histories.json").read_text())["cases"]["lung_weibull_hr"]
LINEAR = "Surv(time, event) ~ age + sex + ph_ecog"


@pytest.fixture(scope="module")
def lung():
    return tg.datasets.load("lung").dropna(subset=["ph_ecog"])


@pytest.fixture(scope="module")
def weibull(lung):
    return tg.fit(LINEAR, lung, family="weibull")


def test_log_of_sigma_as_in_survreg(weibull):
    found = weibull.t_test("sigma = 1")
    error = CASE["aft_se"]["Log(scale)"]
    np.testing.assert_allclose([found.effect[0], found.sd[0]], [np.log(CASE["scale"]), error], rtol=1e-5)
    np.testing.assert_allclose(
        weibull.wald_test("sigma = 1").statistic, (np.log(CASE["scale"]) / error) ** 2, rtol=1e-5
    )
    assert found.names == ["log(sigma) = 0"]
    np.testing.assert_allclose(weibull.t_test("2*sigma = 3").tvalue, weibull.t_test("sigma = 1.5").tvalue)


def test_wald_and_likelihood_ratio_of_an_exponential_time_by_an_own_likelihood(lung, weibull):
    X = np.column_stack([np.ones(len(lung)), lung[["age", "sex", "ph_ecog"]]])
    centre = X.mean(axis=0) * [0, 1, 1, 1]
    y, d = np.log(lung["time"].to_numpy()), lung["event"].to_numpy()

    def minus(b, held=None):
        tau = b[4] if held is None else held
        z = (y - (X - centre) @ b[:4]) / np.exp(tau)
        return -(d * (z - tau) - np.exp(z)).sum()

    whole = minimize(minus, [6, 0, 0, 0, 0], method="BFGS", options={"gtol": 1e-6})
    held = minimize(minus, [6, 0, 0, 0], args=(0.0,), method="BFGS", options={"gtol": 1e-6})
    ratio = 2.0 * (held.fun - whole.fun)
    for smaller in (
        tg.fit(LINEAR, lung, family="exponential"),
        tg.fit(LINEAR, lung, family="weibull", fixed={"sigma": 1}),
    ):
        test = weibull.lr_test(smaller)
        np.testing.assert_allclose([test.statistic, test.pvalue], [ratio, chi2.sf(ratio, 1)], rtol=1e-5)
    # Two hypotheses together need the covariance of both, here by differences of the likelihood.
    H, h = np.empty((5, 5)), np.array([1e-3, 1e-4, 1e-3, 1e-3, 1e-3])
    for i in range(5):
        for j in range(5):
            step = [
                minus(whole.x + a * h[i] * np.eye(5)[i] + b * h[j] * np.eye(5)[j]) for a in (1, -1) for b in (1, -1)
            ]
            H[i, j] = (step[0] - step[1] - step[2] + step[3]) / (4.0 * h[i] * h[j])
    gap, V = whole.x[[2, 4]], np.linalg.inv(H)[np.ix_([2, 4], [2, 4])]
    np.testing.assert_allclose(
        weibull.wald_test("sex = 0, sigma = 1").statistic, gap @ np.linalg.solve(V, gap), rtol=1e-3
    )


def test_shape_of_hazards_is_one_over_sigma(lung, weibull):
    hazards = tg.fit(LINEAR, lung, family=tg.PH("weibull"))
    np.testing.assert_allclose(hazards.t_test("shape = 1").tvalue, -weibull.t_test("sigma = 1").tvalue, rtol=1e-5)


def test_scales_of_causes_are_compared(lung):
    causes = lung.assign(cause=lung["event"] * (1 + (lung["age"] > 65)))
    res = tg.fit("Surv(time, cause) ~ sex", causes, family="weibull")
    found = res.t_test("sigma[1] = sigma[2], sigma[2] = 1")
    one, two = (res[cause].t_test("sigma = 1") for cause in (1, 2))
    np.testing.assert_allclose(found.effect, [one.effect[0] - two.effect[0], two.effect[0]])
    np.testing.assert_allclose(found.sd, [np.hypot(one.sd[0], two.sd[0]), two.sd[0]])


def test_degrees_of_freedom_and_processes(lung):
    res = tg.fit("time ~ age", lung, family="student")
    np.testing.assert_allclose(res.t_test("df = 5").effect, np.log(res.params["df"]))
    process = tg.fit("Surv(time, event) ~ gp(age)", lung.head(80), family="weibull", method=tg.EP(hyper="maximize"))
    found, low_high = process.t_test("sigma = 1"), process.conf_int().loc["sigma"]
    np.testing.assert_allclose(found.conf_int()[0], np.log(low_high), rtol=1e-6)


def test_a_scale_that_the_family_fixes_is_not_tested(lung):
    """A Weibull time with sigma held at 1 is the exponential one; neither has an error of sigma."""
    for how in ({"family": "exponential"}, {"family": "weibull", "fixed": {"sigma": 1}}):
        res = tg.fit(LINEAR, lung, **how)
        for test in (res.t_test, res.wald_test, res.f_test):
            for text in ("sigma = 1", "sex = 0, sigma = 1"):
                with pytest.raises(SpecError, match="The hypothesis 'sigma = 1' is about parameters that are fixed"):
                    test(text)
            test("sex = 0")


@pytest.mark.parametrize("hypothesis", ["sigma = -1", "sigma = 0", "sigma = 2*age", "sigma", "sigma + age = 1"])
def test_hypotheses_without_a_meaning_on_the_log_scale(weibull, hypothesis):
    with pytest.raises(SpecError, match="must be positive"):
        weibull.t_test(hypothesis)
